//! Perf maps and jitdump files.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| code::fuzzed::made(bytes));
