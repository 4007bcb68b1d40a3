//! Threads that compute on one CPU, or on all.

use crate::work::{compute, cpus};
use crate::{Pair, Run, Setting, Size, Way};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;
use std::thread::scope;

pub(super) static PAIR: Pair = Pair {
    name: "one-cpu",
    title: "as many threads as CPUs, all bound to one of them or to none",
    cause: Some("cpu-contention"),
    size: Size { unit: "million rounds a thread", usual: 200, least: 100, most: 200 },
    ways: &[
        Way { name: "bound", what: "all threads on one CPU", run: Run::Native(bound) },
        Way { name: "free", what: "threads on all CPUs", run: Run::Native(free) },
    ],
    source: include_str!("one_cpu.rs"),
    needs: &[],
    lesson: "A thread inherits the CPUs that it may use: from taskset, a container's cpuset, or code that bound itself for \
             speed. Then all of them share these few, however many the machine has, and each one is ready to run most of \
             the time without running. Nothing in the program's own code is slow.",
    writing: None,
};

fn bound(setting: &Setting) -> io::Result<()> {
    bind_to_one()?;
    threads(|| compute(setting.size * 1_000_000));
    Ok(())
}

fn free(setting: &Setting) -> io::Result<()> {
    threads(|| compute(setting.size * 1_000_000));
    Ok(())
}

/// To the first that this thread may use.
fn bind_to_one() -> io::Result<()> {
    let mine = sched_getaffinity(None)?;
    let first = (0..CpuSet::MAX_CPU).find(|cpu| mine.is_set(*cpu)).unwrap_or(0);
    let mut one = CpuSet::new();
    one.set(first);
    Ok(sched_setaffinity(None, &one)?)
}

/// Two at least.
fn threads(each: impl Fn() + Sync) {
    scope(|scope| {
        for _ in 0..cpus().max(2) {
            scope.spawn(&each);
        }
    });
}
