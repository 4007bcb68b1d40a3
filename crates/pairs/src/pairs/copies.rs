//! A healthy program: it copies a file from its beginning to its end, and sums it up.

use crate::work::{filled, keep};
use crate::{Pair, Run, Setting, Size, Way};
use std::fs::{self, File};
use std::io::{self, Read, Write};

pub(super) static PAIR: Pair = Pair {
    name: "copies",
    title: "a file copied in large pieces, with a sum",
    cause: None,
    size: Size { unit: "MiB", usual: 96, least: 60, most: 120 },
    ways: &[Way { name: "copy", what: "a copy in pieces of 256 KiB", run: Run::Native(copy) }],
    source: include_str!("copies.rs"),
    needs: &[],
    lesson: "Each byte is read once and written once, in pieces that make calls few, from the page cache and into it. The \
             time is that of copying and of the sum.",
    writing: None,
};

/// Bytes of a piece.
const BYTES: usize = 256 << 10;

fn copy(setting: &Setting) -> io::Result<()> {
    let mut piece = filled(BYTES);
    let pieces = setting.size * (1 << 20) / BYTES as u64;
    let mut from = File::create("from")?;
    for _ in 0..pieces {
        from.write_all(&piece)?;
    }
    let (mut from, mut to, mut sum) = (File::open("from")?, File::create("to")?, 0);
    for _ in 0..pieces {
        from.read_exact(&mut piece)?;
        sum = summed(sum, &piece);
        to.write_all(&piece)?;
    }
    keep(sum);
    fs::remove_file("from")?;
    fs::remove_file("to")
}

#[inline(never)]
fn summed(sum: u64, piece: &[u8]) -> u64 {
    piece.iter().fold(sum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
