//! Recordings with right checksums, through a replay with edits.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| golden::fuzzed::what_if(bytes));

libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    dwell_fuzz::recording::mutate(bytes, size, most, seed)
});
