//! Which threads of the tree ended whose waits, and how soon those ran then.
//!
//! What goes with a path from thread to thread is up to `handover`; as what waits count, to
//! `tree`.

use crate::account::{Slot, Verdicts};
use crate::bounded::{Bounded, Room, Together, leave_out, rows_size, texts};
use crate::keys::{WaitKey, Who};
use crate::lookups::Sums;
use crate::names::Names;
use model::hand_overs::{HandOverEnd, HandOverRow, HandOvers};
use model::{Ns, Seen};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::hash::Hash;

/// Pairs of threads, and what for, that are kept apart; the same by name.
const DISTINCT: usize = 1024;
const BY_NAME: usize = 2 * DISTINCT;
/// Rows that differ by their numbers only.
const NAMESAKES: usize = 8;
/// Rows in the end.
const ROWS: usize = 64;

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Handed {
    numbers: FxHashMap<Key, u32>,
    rows: Vec<(Key, Sum)>,
    other_times: u64,
}

/// What is counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    from: Who,
    to: Who,
    /// The ledger that the waits count in.
    ledger: Slot,
    wait: WaitKey,
}

#[derive(Debug, Default)]
struct Sum {
    waited: Sums,
    until_run: Sums,
}

/// A wait that a thread of the tree has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct HandedOver {
    pub(super) from: Who,
    pub(super) to: Who,
    pub(super) ledger: Slot,
    pub(super) wait: WaitKey,
    pub(super) waited_ns: Ns,
}

impl Handed {
    /// One more; the number of its row.
    pub(super) fn adds(&mut self, one: HandedOver) -> Option<u32> {
        let HandedOver { from, to, ledger, wait, waited_ns } = one;
        let mut key = Key { from, to, ledger, wait };
        if self.rows.len() >= DISTINCT && !self.numbers.contains_key(&key) {
            key = key.by_name().of_many();
            if self.rows.len() >= BY_NAME && !self.numbers.contains_key(&key) {
                self.other_times += 1;
                return None;
            }
        }
        let next = self.rows.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.rows.push((key, Sum::default()));
        }
        self.rows[number as usize].1.waited.record(waited_ns);
        Some(number)
    }

    /// Who was woken by one of this row has a CPU.
    pub(super) fn runs(&mut self, row: u32, after_ns: Ns) {
        if let Some((_, sum)) = self.rows.get_mut(row as usize) {
            sum.until_run.record(after_ns);
        }
    }

    /// The table, with the waits as they turned out.
    pub(super) fn table(self, verdicts: &Verdicts, names: &Names) -> HandOvers {
        let settled = self.rows.into_iter().map(|(key, sum)| {
            let wait = verdicts.of(key.wait, key.ledger);
            // Threads with a shared ledger are told apart by their numbers all the same.
            (Key { wait, ledger: 0, ..key }, sum)
        });
        let rows = folded(folded(together(settled), Key::of_many), Key::by_name);
        let mut rows: Vec<HandOverRow> = rows.into_iter().map(|(key, sum)| key.row(&sum, names)).collect();
        rows.sort_by_cached_key(|row| {
            let ends = [&row.from, &row.to].map(|end| (end.name.clone(), end.tid.value().copied()));
            (Reverse(row.times), Reverse(row.waited.total_ns), ends, row.reason, row.through.to_string())
        });
        let rest = rows.split_off(rows.len().min(ROWS));
        let other_times = self.other_times + rest.iter().map(|row| row.times).sum::<u64>();
        HandOvers { rows, other_times }
    }
}

impl Key {
    /// For any of the files and futexes.
    fn of_many(self) -> Self {
        Key { wait: (self.wait.0, self.wait.1.of_many()), ..self }
    }

    /// Any threads of these names.
    fn by_name(self) -> Self {
        let any = |who: Who| Who { pid: 0, tid: 0, ..who };
        Key { from: any(self.from), to: any(self.to), ledger: 0, ..self }
    }

    fn row(self, sum: &Sum, names: &Names) -> HandOverRow {
        let (call, through) = names.wait(self.wait);
        let unseen = || Seen::unseen("none of the woken was seen to run");
        HandOverRow {
            from: end(self.from),
            to: end(self.to),
            reason: self.wait.0,
            call,
            through,
            times: sum.waited.count(),
            waited: sum.waited.lengths().unwrap_or_default(),
            until_run: sum.until_run.lengths().map_or_else(unseen, Seen::Value),
        }
    }
}

fn end(who: Who) -> HandOverEnd {
    let number = |number: u32| if who.tid == 0 { Seen::Absent } else { Seen::Value(number) };
    HandOverEnd { name: who.name.to_text(), pid: number(who.pid), tid: number(who.tid) }
}

/// Rows that have become the same.
fn together<K: Eq + Hash + Copy>(rows: impl Iterator<Item = (K, Sum)>) -> Vec<(K, Sum)> {
    let (mut numbers, mut all) = (FxHashMap::<K, usize>::default(), Vec::<(K, Sum)>::new());
    for (key, sum) in rows {
        match numbers.get(&key) {
            Some(number) => {
                all[*number].1.waited.add_all(&sum.waited);
                all[*number].1.until_run.add_all(&sum.until_run);
            }
            None => {
                numbers.insert(key, all.len());
                all.push((key, sum));
            }
        }
    }
    all
}

/// Puts rows together that differ only in numbers, where there are many.
fn folded(rows: Vec<(Key, Sum)>, coarser: fn(Key) -> Key) -> Vec<(Key, Sum)> {
    let mut alike = FxHashMap::<Key, usize>::default();
    rows.iter().for_each(|(key, _)| *alike.entry(coarser(*key)).or_default() += 1);
    let is_one_of_many = |key: Key| alike[&coarser(key)] > NAMESAKES;
    together(rows.into_iter().map(|(key, sum)| (if is_one_of_many(key) { coarser(key) } else { key }, sum)))
}

impl Bounded for HandOvers {
    fn cut_texts(&mut self) {
        for row in &mut self.rows {
            texts::target(&mut row.through);
            texts::text(&mut row.from.name);
            texts::text(&mut row.to.name);
        }
    }

    fn size(&self) -> usize {
        rows_size(&self.rows)
    }

    fn shrink(&mut self, room: Room) -> Option<Together> {
        leave_out(&mut self.rows, room, |row| self.other_times += row.times)
    }
}
