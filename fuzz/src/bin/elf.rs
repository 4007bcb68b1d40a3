//! ELF files: headers, symbols, functions.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| code::fuzzed::elf(bytes));
