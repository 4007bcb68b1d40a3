//! A list that is walked in the order of its addresses, or all over memory.

use crate::work::{keep, shuffled};
use crate::{Pair, Run, Setting, Size, Way};
use std::io;

pub(super) static PAIR: Pair = Pair {
    name: "chase",
    title: "a list of 128 MiB walked all over memory, or in order",
    cause: Some("memory-latency"),
    size: Size { unit: "rounds", usual: 3, least: 2, most: 4 },
    ways: &[
        Way { name: "scattered", what: "the next place is anywhere", run: Run::Native(scattered) },
        Way { name: "in-order", what: "the next place is beside", run: Run::Native(in_order) },
    ],
    source: include_str!("chase.rs"),
    needs: &[],
    lesson: "The same instructions, the same places, each visited once a round. Where the next address is known only when \
             the last load has come, and lies anywhere, each step waits for memory: some 100 ns. In order the CPU has \
             fetched the line before it is asked for. Put what is used together side by side: arrays in place of lists, \
             indices of 4 bytes in place of pointers, an order that follows memory.",
    writing: None,
};

/// Bytes of a place: a cache line.
const LINE: usize = 64;
/// Places: 128 MiB, more than the last cache has.
const PLACES: usize = (128 << 20) / LINE;

fn scattered(setting: &Setting) -> io::Result<()> {
    let list = linked(&shuffled(PLACES));
    walk(&list, setting.size);
    Ok(())
}

fn in_order(setting: &Setting) -> io::Result<()> {
    let _ = shuffled(PLACES);
    let list = linked(&(0..PLACES as u32).collect::<Vec<_>>());
    walk(&list, setting.size);
    Ok(())
}

/// In each line where the next one is.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Cell(u32);

/// A ring through all places in that order.
fn linked(order: &[u32]) -> Vec<Cell> {
    let mut list = vec![Cell(0); order.len()];
    for (at, place) in order.iter().enumerate() {
        list[*place as usize] = Cell(order[(at + 1) % order.len()]);
    }
    list
}

#[inline(never)]
fn walk(list: &[Cell], rounds: u64) {
    let mut at = 0;
    for _ in 0..rounds * list.len() as u64 {
        at = list[at as usize].0;
    }
    keep(at);
}
