//! Records of the ring of wake-ups.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| observe::fuzzed::spikes(bytes));
