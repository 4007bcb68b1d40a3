//! Processes that commands left behind: the starter is their parent once their own has ended.

use model::Pid;
use rustix::process::{WaitOptions, getpid, wait};
use std::collections::BTreeSet;
use std::fs;

/// The living processes below the starter, with their own children; those that have ended are
/// waited for. To be called without a command in hand.
pub(super) fn living() -> BTreeSet<Pid> {
    let mut found = BTreeSet::new();
    if !reap() {
        return found;
    }
    let mut next = vec![getpid().as_raw_nonzero().get().unsigned_abs()];
    while let Some(parent) = next.pop() {
        next.extend(children(parent).into_iter().filter(|child| found.insert(*child)));
    }
    // A kernel without lists of children: there is one at least.
    if found.is_empty() {
        found.insert(0);
    }
    found
}

/// Waits for all children that have ended; whether there are others.
fn reap() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// The children of all threads of a process; none where the kernel has no list of them
/// (`CONFIG_PROC_CHILDREN`).
fn children(parent: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else { return Vec::new() };
    let lists =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}
