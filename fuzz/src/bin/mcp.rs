//! What a client sends to `dwell mcp`, from its bytes to the calls of verbs.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dwell_fuzz::mcp(bytes));

libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    dwell_fuzz::json::mutate_lines(bytes, size, most, seed)
});
