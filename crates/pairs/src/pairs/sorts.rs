//! A healthy program: it sorts numbers in memory.

use crate::work::{keep, random};
use crate::{Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "sorts",
    title: "a sort of numbers in memory",
    cause: None,
    size: Size { unit: "million numbers", usual: 12, least: 6, most: 12 },
    ways: &[Way { name: "sort", what: "a sort", run: Run::Native(sort) }],
    source: include_str!("sorts.rs"),
    needs: &[],
    lesson: "Each page of the numbers is touched for the first time once, which is what memory costs, and the rest is the \
             sort's own work. That a function has the time is true of any program that computes.",
    writing: None,
};

fn sort(setting: &Setting) -> io::Result<()> {
    let mut numbers: Vec<u64> = random().take(setting.size as usize * 1_000_000).collect();
    numbers.sort_unstable();
    keep(numbers);
    Ok(())
}
