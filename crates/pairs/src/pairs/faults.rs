//! Memory that is given back to the kernel and asked for again, or kept.

use crate::work::{compute, keep};
use crate::{Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "faults",
    title: "a buffer of 8 MiB for each item, or one that is kept",
    cause: Some("page-faults"),
    size: Size { unit: "items", usual: 150, least: 80, most: 160 },
    ways: &[
        Way { name: "fresh", what: "a new buffer for each item", run: Run::Native(fresh) },
        Way { name: "kept", what: "one buffer for all", run: Run::Native(kept) },
    ],
    source: include_str!("faults.rs"),
    needs: &[],
    lesson: "Allocators give large blocks back to the kernel when they are freed. The next one is new memory: at the first \
             touch of each page the program traps into the kernel, which finds a page and clears it. Nothing in the \
             source shows that, and it is charged to the line that writes. A buffer that is kept is paid for once.",
    writing: None,
};

const BYTES: usize = 8 << 20;

fn fresh(setting: &Setting) -> io::Result<()> {
    for item in 0..setting.size {
        let mut buffer = Vec::with_capacity(BYTES);
        work(&mut buffer, item);
    }
    Ok(())
}

fn kept(setting: &Setting) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(BYTES);
    for item in 0..setting.size {
        work(&mut buffer, item);
    }
    Ok(())
}

/// Writes a word in each cache line's place of the buffer.
#[inline(never)]
fn work(buffer: &mut Vec<u8>, item: u64) {
    let spare = buffer.spare_capacity_mut();
    for at in (0..BYTES).step_by(256) {
        spare[at].write(item as u8);
    }
    keep(buffer);
    compute(500_000);
}
