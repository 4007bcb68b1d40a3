//! A file that is read again for each question, or once.

use crate::work::{filled, keep};
use crate::{Pair, Run, Setting, Size, Way};
use std::fs::{self, File};
use std::io::{self, Read};

pub(super) static PAIR: Pair = Pair {
    name: "repeated-reads",
    title: "a file of 4 MiB read for each question, or once",
    cause: Some("repeated-reads"),
    size: Size { unit: "questions", usual: 2_500, least: 1_500, most: 3_000 },
    ways: &[
        Way { name: "again", what: "the file is read for each question", run: Run::Native(again) },
        Way { name: "once", what: "it is read once and kept", run: Run::Native(once) },
    ],
    source: include_str!("repeated_reads.rs"),
    needs: &[],
    lesson: "That a file is in the kernel's memory does not make it free: its bytes are copied to the program each time. A \
             table, a template or a configuration is read once and kept; stat tells whether it has changed.",
    writing: None,
};

const BYTES: usize = 4 << 20;

fn again(setting: &Setting) -> io::Result<()> {
    fs::write("table", filled(BYTES))?;
    let mut bytes = Vec::with_capacity(BYTES + 1);
    for question in 0..setting.size {
        bytes.clear();
        File::open("table")?.read_to_end(&mut bytes)?;
        keep(answer(&bytes, question));
    }
    fs::remove_file("table")
}

fn once(setting: &Setting) -> io::Result<()> {
    fs::write("table", filled(BYTES))?;
    let mut bytes = Vec::with_capacity(BYTES + 1);
    File::open("table")?.read_to_end(&mut bytes)?;
    for question in 0..setting.size {
        keep(answer(&bytes, question));
    }
    fs::remove_file("table")
}

/// The sum of some of the bytes.
fn answer(bytes: &[u8], question: u64) -> u64 {
    let from = question as usize * 997 % bytes.len() / 2;
    bytes[from..from + bytes.len() / 64].iter().map(|byte| u64::from(*byte)).sum()
}
