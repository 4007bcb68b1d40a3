//! A buffer of the kernel half.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| observe::fuzzed::buffer(bytes));
