//! A store of results, and what is packed in it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| store::fuzzed::store(bytes));
