//! Records of perf events.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| observe::fuzzed::perf(bytes));
