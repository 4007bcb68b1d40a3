//! Recordings with right checksums, in every format of `dwell export` and as a page.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| golden::exports::export_recordings(bytes));

libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    dwell_fuzz::recording::mutate(bytes, size, most, seed)
});
