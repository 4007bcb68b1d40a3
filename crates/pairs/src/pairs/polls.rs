//! Processes that are looked for every 100 ms, or waited for.

use crate::work::{child, compute, ended, wait};
use crate::{Pair, Run, Setting, Size, Way};
use std::io;
use std::thread::sleep;
use std::time::Duration;

pub(super) static PAIR: Pair = Pair {
    name: "polls",
    title: "a look every 100 ms whether a process has ended, or a wait for it",
    cause: Some("sleep-polling"),
    size: Size { unit: "processes", usual: 8, least: 5, most: 10 },
    ways: &[
        Way { name: "look", what: "a look every 100 ms", run: Run::Native(look) },
        Way { name: "wait-for-each", what: "a wait for its end", run: Run::Native(wait_for_each) },
    ],
    source: include_str!("polls.rs"),
    needs: &[],
    lesson: "Who sleeps and looks goes on at the end of a sleep, and not when the thing has happened: half a sleep later on \
             average, each time. A shorter sleep costs CPU time instead. Nearly everything can be waited for: the end of a \
             process (waitpid, pidfd_open and poll), of a thread (join), a change of a file (inotify), an item (a queue).",
    writing: None,
};

fn look(setting: &Setting) -> io::Result<()> {
    for _ in 0..setting.size {
        let child = child(|| compute(40_000_000))?;
        while !ended(child)? {
            sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}

fn wait_for_each(setting: &Setting) -> io::Result<()> {
    for _ in 0..setting.size {
        let child = child(|| compute(40_000_000))?;
        wait(child)?;
    }
    Ok(())
}
