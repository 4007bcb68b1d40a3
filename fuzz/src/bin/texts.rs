//! Texts of `/proc` and `/sys`, answers of a Java machine.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| observe::fuzzed::texts(bytes));
