//! An item to another thread and back at a time, or a hundred.

use crate::work::compute;
use crate::{Pair, Run, Setting, Size, Way};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

pub(super) static PAIR: Pair = Pair {
    name: "switches",
    title: "each byte handed to another thread and back, or a hundred at a time",
    cause: Some("context-switching"),
    size: Size { unit: "bytes", usual: 60_000, least: 30_000, most: 60_000 },
    ways: &[
        Way { name: "each", what: "a byte at a time", run: Run::Native(each) },
        Way { name: "hundred", what: "a hundred bytes at a time", run: Run::Native(hundred) },
    ],
    source: include_str!("switches.rs"),
    needs: &[],
    lesson: "To hand something to another thread takes two system calls, a wake-up and a switch: some microseconds each \
             way, in which neither of the two gets anything done. The work between two hand-overs must be worth that. \
             Hand over many items at a time, or do the small step where the item is.",
    writing: None,
};

fn each(setting: &Setting) -> io::Result<()> {
    hand_over(setting.size, 1)
}

fn hundred(setting: &Setting) -> io::Result<()> {
    hand_over(setting.size, 100)
}

/// Hands bytes over, `together` at a time, to a thread that gives them back.
fn hand_over(bytes: u64, together: usize) -> io::Result<()> {
    let (mut here, mut there) = UnixStream::pair()?;
    let echo = thread::spawn(move || {
        let mut bytes = vec![0; together];
        while there.read_exact(&mut bytes).is_ok() && there.write_all(&bytes).is_ok() {}
    });
    let mut items = vec![1; together];
    for _ in 0..bytes / together as u64 {
        compute(2_000 * together as u64);
        here.write_all(&items)?;
        here.read_exact(&mut items)?;
    }
    drop(here);
    echo.join().map_err(|_| io::Error::other("the other thread failed"))
}
