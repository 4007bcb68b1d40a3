//! A process for each item, or none.

use crate::work::compute;
use crate::{Need, Pair, Run, Setting, Size, Way};
use std::io;
use std::process::Command;

pub(super) static PAIR: Pair = Pair {
    name: "spawns",
    title: "a process for each small item, or none",
    cause: Some("process-spawning"),
    size: Size { unit: "items", usual: 500, least: 250, most: 500 },
    ways: &[
        Way { name: "process", what: "a process for each item", run: Run::Native(process) },
        Way { name: "call", what: "all of it in one process", run: Run::Native(call) },
    ],
    source: include_str!("spawns.rs"),
    needs: &[Need::Program("true")],
    lesson: "A process that does nothing still takes about a millisecond: it is created, finds its program, maps it and its \
             libraries, resolves their symbols, and is taken apart again. A shell script that calls a small program for \
             each line does little else. One call for many items (xargs, find -exec … +), the shell's own commands or a \
             library do without.",
    writing: None,
};

fn process(setting: &Setting) -> io::Result<()> {
    for _ in 0..setting.size {
        Command::new("true").status()?;
        item();
    }
    Ok(())
}

fn call(setting: &Setting) -> io::Result<()> {
    for _ in 0..setting.size {
        item();
    }
    Ok(())
}

/// What there is to do besides.
fn item() {
    compute(100_000);
}
