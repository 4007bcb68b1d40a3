//! A real program, compiled here: blocks begin where another disassembler says that jumps go.

use dwell_listing::{Arch, Elf, Kind, blocks, disassemble};
use std::collections::BTreeSet;
use std::fs;
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

#[test]
fn blocks_of_a_compiled_function_begin_where_objdump_says_that_jumps_go() {
    let dir = tempfile::tempdir().unwrap();
    let (source, path) = (dir.path().join("a.c"), dir.path().join("a"));
    fs::write(&source, SOURCE).unwrap();
    assert!(Command::new("cc").arg("-O1").arg("-o").arg(&path).arg(&source).status().unwrap().success());
    let data = fs::read(&path).unwrap();
    let elf = Elf::parse(&*data).unwrap();
    for name in ["sort", "words", "main"] {
        let found = elf.find(name);
        assert_eq!(found.len(), 1, "{found:?}");
        let function = &found[0];
        assert_eq!(elf.at(function.code.start + 3).as_ref(), Some(function));
        let bytes = elf.code(&function.code).unwrap();
        let offset = elf.offset_of(function.code.start).unwrap();
        assert_eq!(&data[offset as usize..][..bytes.len()], bytes);
        assert_eq!(elf.address_of(offset), Some(function.code.start));
        let instructions = disassemble(bytes, function.code.start, elf.arch());
        let theirs = objdump(&path, name);
        let ours: Vec<u64> = instructions.iter().map(|instruction| instruction.address).collect();
        assert_eq!(ours, theirs.iter().map(|(address, _)| *address).collect::<Vec<_>>(), "{name}");
        let starts: BTreeSet<u64> = blocks(&instructions, &[]).iter().map(|block| block.start).collect();
        let mut expected = BTreeSet::from([function.code.start]);
        for (index, (_, text)) in theirs.iter().enumerate() {
            let after = theirs.get(index + 1).map(|(address, _)| *address);
            let word = text.split_whitespace().next().unwrap_or("");
            // Jumps of both machines; calls (`bl`) are none.
            let jumps = word.starts_with('j')
                || word == "b"
                || word.starts_with("b.")
                || word.starts_with("cb")
                || word.starts_with("tb");
            if jumps {
                let target =
                    text.split_whitespace().rev().find_map(|word| u64::from_str_radix(word, 16).ok());
                expected.extend(target.filter(|target| function.code.contains(target)));
            }
            if jumps || word.starts_with("ret") {
                expected.extend(after);
            }
        }
        assert_eq!(starts, expected, "{name}");
        assert!(name == "main" || starts.len() > 4, "{starts:x?}");
    }
}

/// Addresses and texts of a function's instructions.
/// Kept whole, as one of these tests looks for it.
#[inline(never)]
fn objdump(path: &std::path::Path, name: &str) -> Vec<(u64, String)> {
    let output = Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let body = text.lines().skip_while(|line| !line.ends_with(&format!("<{name}>:"))).skip(1);
    body.take_while(|line| !line.is_empty())
        .filter_map(|line| {
            let (address, text) = line.trim().split_once(':')?;
            let text = text.split('<').next().unwrap_or(text);
            Some((u64::from_str_radix(address, 16).ok()?, text.trim().to_owned()))
        })
        .collect()
}

#[test]
fn this_test_itself_is_found_by_its_name_in_the_source() {
    let data = fs::read(std::env::current_exe().unwrap()).unwrap();
    let elf = Elf::parse(&*data).unwrap();
    let found = elf.find("real::objdump");
    assert!(found.iter().any(|function| function.name.contains("objdump")), "{found:?}");
    let code = elf.code(&found[0].code).unwrap();
    let instructions = disassemble(code, found[0].code.start, elf.arch());
    assert!(instructions.iter().any(|instruction| instruction.kind == Kind::Return));
    assert!(matches!(elf.arch(), Arch::X86_64 | Arch::Aarch64));
}
