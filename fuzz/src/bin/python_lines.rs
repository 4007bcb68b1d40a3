//! Python's line tables.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| python::fuzzed::line_table(bytes));
