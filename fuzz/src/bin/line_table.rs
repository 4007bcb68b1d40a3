//! Line tables of debug information.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| code::fuzzed::line_table(bytes));
