//! Compressed sections of ELF files.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| code::fuzzed::packed(bytes));
