//! Line tables of real modules, compared with the interpreter's own results.

use crate::support::{pythons, script};
use dwell_python::Version;
use dwell_python::lines::line_of;
use std::process::Command;

const MODULES: &[&str] = &["argparse", "asyncio.base_events", "dataclasses", "tempfile"];

fn bytes(hex: &str) -> Vec<u8> {
    let digits = if hex == "-" { "" } else { hex };
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| {
            let pair = std::str::from_utf8(pair).expect("hexadecimal");
            u8::from_str_radix(pair, 16).expect("hexadecimal")
        })
        .collect()
}

#[test]
fn lines_of_whole_modules_are_those_that_the_interpreter_says() {
    for (name, python) in pythons() {
        let output =
            Command::new(&python).arg(script("line_tables.py")).args(MODULES).output().expect("it runs");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("numbers");
        let mut lines = text.lines();
        let version =
            Version { minor: lines.next().and_then(|minor| minor.parse().ok()).expect("a version") };
        let mut instructions = 0;
        for code in lines {
            let mut words = code.split(' ');
            let table = bytes(words.next().expect("a table"));
            let first: u32 = words.next().and_then(|first| first.parse().ok()).expect("a first line");
            for (at, expected) in words.enumerate() {
                let offset = i32::try_from(at * 2).expect("a small module");
                let found = line_of(version, &table, first, offset);
                assert_eq!(found, expected.parse().ok(), "{name}, {offset} in\n{code}");
                instructions += 1;
            }
        }
        assert!(instructions > 5_000, "{name} said the lines of only {instructions} instructions");
    }
}
