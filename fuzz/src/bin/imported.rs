//! Results of cyclictest, jitterdebugger and rtla.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| golden::fuzzed::imported(bytes));
