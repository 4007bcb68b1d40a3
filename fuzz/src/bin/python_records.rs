//! Records of Python frames from the kernel half.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| python::fuzzed::records(bytes));
