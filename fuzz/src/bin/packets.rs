//! Packets of name lookups.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| observe::fuzzed::packets(bytes));
