//! A healthy program: it computes, in one function, and nothing else.

use crate::work::compute;
use crate::{Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "computes",
    title: "arithmetic in one function",
    cause: None,
    size: Size { unit: "million rounds", usual: 400, least: 200, most: 400 },
    ways: &[Way { name: "plain", what: "arithmetic", run: Run::Native(plain) }],
    source: include_str!("computes.rs"),
    needs: &[],
    lesson: "The program is what it has to be: its CPU time is its own arithmetic. What could be claimed is only that this \
             function has the time, which is true of any program that computes.",
    writing: None,
};

fn plain(setting: &Setting) -> io::Result<()> {
    compute(setting.size * 1_000_000);
    Ok(())
}
