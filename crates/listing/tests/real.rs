//! A real program, compiled here: instructions and blocks agree with another disassembler.

use dwell_listing::{blocks, disassemble};
use model::Arch;
use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

const SOURCE: &str = "
    #include <stdio.h>
    #include <string.h>
    __attribute__((noinline)) int sort(int *a, int n) {
        int swaps = 0;
        for (int i = 1; i < n; i++)
            for (int k = i; k > 0 && a[k - 1] > a[k]; k--) { int t = a[k]; a[k] = a[k - 1]; a[k - 1] = t; swaps++; }
        return swaps;
    }
    __attribute__((noinline)) int words(const char *s) {
        int in = 0, n = 0;
        for (; *s; s++) { if (strchr(\" \\t\\n\", *s)) in = 0; else if (!in) { in = 1; n++; } }
        return n;
    }
    int main(int c, char **v) { int a[] = {3, 1, 2}; return sort(a, 3) + words(v[0]); }";

#[cfg(target_arch = "x86_64")]
const ARCH: Arch = Arch::X86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: Arch = Arch::Aarch64;

/// An instruction of objdump.
struct Theirs {
    address: u64,
    code: Vec<u8>,
    text: String,
}

#[test]
fn blocks_of_a_compiled_function_begin_where_objdump_says_that_jumps_go() {
    let dir = tempfile::tempdir().unwrap();
    let (source, path) = (dir.path().join("a.c"), dir.path().join("a"));
    fs::write(&source, SOURCE).unwrap();
    assert!(Command::new("cc").arg("-O1").arg("-o").arg(&path).arg(&source).status().unwrap().success());
    for name in ["sort", "words", "main"] {
        let theirs = objdump(&path, name);
        let code: Vec<u8> = theirs.iter().flat_map(|instruction| instruction.code.clone()).collect();
        let start = theirs[0].address;
        let instructions = disassemble(&code, start, ARCH);
        let ours: Vec<u64> = instructions.iter().map(|instruction| instruction.address).collect();
        assert_eq!(ours, theirs.iter().map(|instruction| instruction.address).collect::<Vec<_>>(), "{name}");
        let starts: BTreeSet<u64> = blocks(&instructions, &[]).iter().map(|block| block.start).collect();
        assert_eq!(starts, expected(&theirs, start..start + code.len() as u64), "{name}");
        assert!(name == "main" || starts.len() > 4, "{starts:x?}");
    }
}

/// Starts of blocks: the first instruction, targets of jumps, and instructions after jumps.
fn expected(theirs: &[Theirs], function: Range<u64>) -> BTreeSet<u64> {
    let mut expected = BTreeSet::from([function.start]);
    for (index, instruction) in theirs.iter().enumerate() {
        let after = theirs.get(index + 1).map(|instruction| instruction.address);
        let word = instruction.text.split_whitespace().next().unwrap_or("");
        // Jumps of both architectures; calls (`bl`) are none.
        let jumps = word.starts_with('j')
            || word == "b"
            || word.starts_with("b.")
            || word.starts_with("cb")
            || word.starts_with("tb");
        if jumps {
            let mut words = instruction.text.split_whitespace().rev();
            let target = words.find_map(|word| u64::from_str_radix(word, 16).ok());
            expected.extend(target.filter(|target| function.contains(target)));
        }
        if jumps || word.starts_with("ret") {
            expected.extend(after);
        }
    }
    expected
}

/// A function's instructions: `  1139:\tf3 0f 1e fa \tendbr64`. The bytes of aarch64 are a word
/// (`d65f03c0`).
fn objdump(path: &Path, name: &str) -> Vec<Theirs> {
    let output = Command::new("objdump").args(["-d", "-w"]).arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let body = text.lines().skip_while(|line| !line.ends_with(&format!("<{name}>:"))).skip(1);
    body.take_while(|line| !line.is_empty())
        .filter_map(|line| {
            let mut fields = line.trim().split('\t');
            let address = u64::from_str_radix(fields.next()?.strip_suffix(':')?, 16).ok()?;
            let code = fields.next()?.split_whitespace().flat_map(raw).collect();
            let text = fields.collect::<Vec<_>>().join(" ");
            let text = text.split('<').next().unwrap_or(&text).trim().to_owned();
            Some(Theirs { address, code, text })
        })
        .collect()
}

/// The bytes of a group of digits: one, or a little-endian word.
fn raw(digits: &str) -> Vec<u8> {
    let word = u32::from_str_radix(digits, 16).unwrap();
    word.to_le_bytes()[..digits.len() / 2].to_vec()
}
