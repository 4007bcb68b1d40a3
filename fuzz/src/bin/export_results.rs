//! Results of dwell as JSON, in every format of `dwell export` and as a page.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| golden::exports::export_results(bytes));

libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    dwell_fuzz::json::mutate(bytes, size, most, seed)
});
