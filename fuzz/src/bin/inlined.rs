//! Functions of debug information, and what is inlined into them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| code::fuzzed::inlined(bytes));
