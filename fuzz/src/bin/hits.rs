//! The count files of `dwell run --hits`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dwell_fuzz::hits(bytes));
