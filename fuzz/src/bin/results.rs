//! Results of dwell as JSON, compared and shown.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| golden::fuzzed::results(bytes));

libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    dwell_fuzz::json::mutate(bytes, size, most, seed)
});
