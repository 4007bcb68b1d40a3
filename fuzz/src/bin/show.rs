//! Recordings with right checksums, through the analysis and every form of the report.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| golden::fuzzed::show(bytes));

libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    dwell_fuzz::recording::mutate(bytes, size, most, seed)
});
