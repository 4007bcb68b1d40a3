//! Memory of a Python process.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| python::fuzzed::memory(bytes));
