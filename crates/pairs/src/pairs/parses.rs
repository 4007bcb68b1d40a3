//! A healthy program: it reads a text by large pieces and counts its words.

use crate::work::{keep, random};
use crate::{Pair, Run, Setting, Size, Way};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};

pub(super) static PAIR: Pair = Pair {
    name: "parses",
    title: "words of a text counted",
    cause: None,
    size: Size { unit: "thousand lines", usual: 600, least: 300, most: 600 },
    ways: &[Way { name: "count", what: "a count of words", run: Run::Native(count) }],
    source: include_str!("parses.rs"),
    needs: &[],
    lesson: "The file is written and read through buffers, so calls are few; a word is allocated when it is seen for the \
             first time. What is left is the parsing itself.",
    writing: None,
};

fn count(setting: &Setting) -> io::Result<()> {
    write(setting.size * 1000)?;
    let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
    let (mut text, mut line) = (BufReader::with_capacity(1 << 16, File::open("text")?), Vec::new());
    while text.read_until(b'\n', &mut line)? > 0 {
        for word in line.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
            match counts.get_mut(word) {
                Some(count) => *count += 1,
                None => drop(counts.insert(word.to_vec(), 1)),
            }
        }
        line.clear();
    }
    keep(counts);
    fs::remove_file("text")
}

/// Lines of eight words.
fn write(lines: u64) -> io::Result<()> {
    let mut text = BufWriter::with_capacity(1 << 16, File::create("text")?);
    let mut random = random();
    for _ in 0..lines {
        let mut word = || random.next().unwrap_or(0) % 5000;
        let words = [(); 8].map(|()| word());
        let [a, b, c, d, e, f, g, h] = words;
        writeln!(text, "w{a} w{b} w{c} w{d} w{e} w{f} w{g} w{h}")?;
    }
    text.flush()
}
