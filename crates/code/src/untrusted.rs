//! Damaged and made-up files: nothing may panic or run on, whatever they contain.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::cfi::Cfi;
use crate::image::Image;
use crate::registers::Registers;
use crate::rule::StackCopy;
use crate::symbols::everything;

const SOURCE: &str = "static int square(int n) { return n * n; }\n\
    int f(int n) { volatile char room[99]; room[n] = 1; return square(n) + room[n]; }\n\
    int main(int n, char **all) { return f(n) + f(n + 1); }\n";

/// A small program with tables, symbols and debug information; none, with a message, without a
/// compiler.
fn program() -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let (source, to) = (dir.path().join("x.c"), dir.path().join("x"));
    std::fs::write(&source, SOURCE).unwrap();
    match Command::new("gcc").args(["-O1", "-g", "-o"]).arg(&to).arg(&source).status() {
        Ok(status) => assert!(status.success()),
        Err(error) => {
            #[expect(clippy::print_stderr)]
            {
                eprintln!("NOT TESTED, no gcc: {error}");
            }
            return None;
        }
    }
    Some(std::fs::read(to).unwrap())
}

/// Runs all operations on a file. Returns the number of rules and names found.
fn use_up(content: Vec<u8>) -> (usize, usize) {
    let Ok(image) = Image::of_memory(content) else { return (0, 0) };
    let mut cfi = Cfi::new(&image);
    let addresses: Vec<u64> = (0x1000..0x1200).step_by(8).chain([0, 1 << 40, u64::MAX]).collect();
    let mut rules = 0;
    for address in &addresses {
        let Some(rule) = cfi.rule(*address) else { continue };
        rules += 1;
        for sp in [0x7000, u64::MAX - 4, 0] {
            let mut registers = Registers::x86_64(*address, sp, sp);
            let _ = rule.apply(&mut registers, StackCopy { sp, bytes: &[7; 64] });
        }
    }
    let _ = (image.address_of(u64::MAX), image.offset_of(u64::MAX));
    let _ = (image.find("main"), image.at(0x1100), image.needs("libc"));
    (rules, everything(&image, &addresses, Instant::now() + Duration::from_secs(5)))
}

/// Deterministic pseudorandom numbers, so that a failure can be reproduced (the xorshift of
/// Marsaglia 2003).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

#[test]
fn a_whole_program_has_rules_and_names() {
    let Some(program) = program() else { return };
    let (rules, names) = use_up(program);
    assert!(rules > 10 && names > 10, "{rules} rules, {names} names");
}

#[test]
fn a_file_cut_anywhere_does_no_harm() {
    let Some(program) = program() else { return };
    for end in (0..program.len()).step_by(97) {
        use_up(program[..end].to_vec());
    }
}

#[test]
fn a_file_with_changed_bytes_does_no_harm() {
    let Some(program) = program() else { return };
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for _ in 0..500 {
        let mut changed = program.clone();
        for _ in 0..=numbers.below(20) {
            let at = numbers.below(changed.len());
            changed[at] = [0, 0xff, 0x7f, 0x80, numbers.below(256) as u8][numbers.below(5)];
        }
        // The headers matter most.
        for _ in 0..numbers.below(4) {
            changed[numbers.below(1_000)] = numbers.below(256) as u8;
        }
        use_up(changed);
    }
}

#[test]
fn random_bytes_behind_an_elf_header_do_no_harm() {
    let Some(program) = program() else { return };
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    for _ in 0..200 {
        let mut made: Vec<u8> = (0..20_000).map(|_| numbers.below(256) as u8).collect();
        made[..64].copy_from_slice(&program[..64]);
        if numbers.below(2) == 0 {
            made[64..1_000].copy_from_slice(&program[64..1_000]);
        }
        use_up(made);
    }
}
