//! Names that are looked for from the beginning of a list, or by halves.

use crate::work::keep;
use crate::{Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "scans",
    title: "each key looked for from the beginning, or in an ordered list",
    cause: Some("hot-code"),
    size: Size { unit: "keys", usual: 60_000, least: 40_000, most: 80_000 },
    ways: &[
        Way { name: "scan", what: "from the beginning, key by key", run: Run::Native(scan) },
        Way { name: "halve", what: "by halves", run: Run::Native(halve) },
    ],
    source: include_str!("scans.rs"),
    needs: &[],
    lesson: "One function has nearly all of the time, and its line does little: it is run too often. That is where a better \
             algorithm pays, and nothing else does. To look for each of n keys from the beginning takes n/2 looks; in an \
             ordered list the binary logarithm of n, in a hash table one or two.",
    writing: None,
};

fn scan(setting: &Setting) -> io::Result<()> {
    let (keys, mut sum) = (keys(setting.size), 0);
    for key in &keys {
        sum += from_the_beginning(&keys, *key);
    }
    keep(sum);
    Ok(())
}

fn halve(setting: &Setting) -> io::Result<()> {
    let (keys, mut sum) = (keys(setting.size), 0);
    for key in &keys {
        sum += keys.binary_search(key).unwrap_or(0);
    }
    keep(sum);
    Ok(())
}

/// In order.
fn keys(many: u64) -> Vec<u64> {
    (0..many).map(|at| 7 * at).collect()
}

#[inline(never)]
fn from_the_beginning(keys: &[u64], key: u64) -> usize {
    let mut at = 0;
    while at < keys.len() && keys[at] != key {
        at += 1;
    }
    at
}
