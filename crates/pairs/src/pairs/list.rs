//! Processes one after another, or as many at a time as there are CPUs.

use crate::work::{child, compute, cpus, keep, random, wait, wait_for_any};
use crate::{Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "list",
    title: "eight processes one after another, or one for each CPU at a time",
    cause: Some("single-thread"),
    size: Size { unit: "thousand records each", usual: 1_000, least: 500, most: 1_000 },
    ways: &[
        Way { name: "one-by-one", what: "one process at a time", run: Run::Native(one_by_one) },
        Way { name: "side-by-side", what: "as many as there are CPUs", run: Run::Native(side_by_side) },
    ],
    source: include_str!("list.rs"),
    needs: &[],
    lesson: "Each process computes all the time, so a tool that looks at one program finds it busy. The list of them keeps \
             one CPU busy and leaves the others idle. If they do not need each other's results they can run side by side: \
             xargs -P, make -j, a pool. Two that share caches and memory are somewhat slower than each alone.",
    writing: None,
};

/// Processes.
const MANY: usize = 8;

fn one_by_one(setting: &Setting) -> io::Result<()> {
    for _ in 0..MANY {
        wait(child(|| job(setting.size * 1000))?)?;
    }
    Ok(())
}

fn side_by_side(setting: &Setting) -> io::Result<()> {
    // A pool: the next begins when any has ended, since beside other programs one of two equal
    // processes may take three times as long as the other.
    let (at_a_time, mut running) = (cpus(), 0);
    for _ in 0..MANY {
        if running == at_a_time {
            wait_for_any()?;
            running -= 1;
        }
        child(|| job(setting.size * 1000))?;
        running += 1;
    }
    (0..running).try_for_each(|_| wait_for_any())
}

/// Of each process: it makes records, orders and sums them.
fn job(records: u64) {
    let mut made: Vec<u64> = random().take(records as usize).collect();
    made.sort_unstable();
    keep(made.iter().fold(0, |sum: u64, record| sum.rotate_left(5) ^ record));
    compute(records * 40);
}
