//! A healthy program: it writes large files in order, and reads each once, 1 MiB at a time.

use crate::work::{filled, keep};
use crate::{Pair, Run, Setting, Size, Way};
use std::fs::{self, File};
use std::io::{self, Read, Write};

pub(super) static PAIR: Pair = Pair {
    name: "large-file",
    title: "files of 64 MiB written in order and read once",
    cause: None,
    size: Size { unit: "files", usual: 16, least: 8, most: 16 },
    ways: &[Way { name: "plain", what: "1 MiB at a time", run: Run::Native(plain) }],
    source: include_str!("large_file.rs"),
    needs: &[],
    lesson: "Large pieces, in order, each byte once: what is left is copying, which is the work.",
    writing: None,
};

/// Size of a file.
const MIB: usize = 64;

fn plain(setting: &Setting) -> io::Result<()> {
    let mut bytes = filled(1 << 20);
    for _ in 0..setting.size {
        let mut file = File::create("large")?;
        for _ in 0..MIB {
            file.write_all(&bytes)?;
        }
        let mut file = File::open("large")?;
        for _ in 0..MIB {
            file.read_exact(&mut bytes)?;
            keep(&bytes);
        }
        fs::remove_file("large")?;
    }
    Ok(())
}
