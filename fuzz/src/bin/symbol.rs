//! Mangled names.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| code::fuzzed::symbol(bytes));
