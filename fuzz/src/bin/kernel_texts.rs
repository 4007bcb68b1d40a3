//! `/proc/kallsyms` and `/proc/PID/maps`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| code::fuzzed::kernel_texts(bytes));
