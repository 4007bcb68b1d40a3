//! What rows of the path and of threads have in common, and what several come to.

use crate::account::{NO_REASON, StepRef};
use crate::bounded::Row;
use model::run::{ThreadLedger, TimedWaits};
use model::together::{PlacesTogether, ThreadsTogether};
use model::{Ns, Pid, Seen, State, Tid};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What all of them have; none where they differ.
pub(super) fn common<R, T: PartialEq>(rows: &[&R], of: impl Fn(&R) -> T) -> Option<T> {
    let first = of(rows.first()?);
    rows.iter().all(|row| of(row) == first).then_some(first)
}

pub(super) fn sum<R>(rows: &[&R], of: impl Fn(&R) -> u64) -> u64 {
    rows.iter().map(|row| of(row)).sum()
}

/// A sum, as far as each is known.
pub(super) fn sum_seen<R>(rows: &[&R], of: impl Fn(&R) -> &Seen<u64>) -> Seen<u64> {
    let all = rows.iter().map(|row| of(row).clone());
    all.reduce(|sum, more| sum.zip(more).map(|(sum, more)| sum + more)).unwrap_or(Seen::Absent)
}

/// Time by state.
pub(super) fn sum_states<'a>(all: impl Iterator<Item = &'a Vec<(State, Ns)>>) -> Vec<(State, Ns)> {
    let mut sums: BTreeMap<State, Ns> = BTreeMap::new();
    all.flatten().for_each(|(state, ns)| *sums.entry(*state).or_default() += ns);
    sums.into_iter().collect()
}

/// By process, program, state and reason; then without the process; then without the name in the
/// reason, without the reason, and by state only.
impl<'a> Row for StepRef<'a> {
    type Key = (Pid, &'a str, State, &'a str);
    const LEVELS: usize = 5;

    fn rank(&self, _: usize) -> impl Ord + use<'a> {
        self.ns
    }

    fn key(&self, level: usize) -> Self::Key {
        let pid = if level == 0 { self.pid } else { 0 };
        let process = if level < 4 { self.process } else { "" };
        let reason = match level {
            0 | 1 => &self.reason.text,
            2 => &self.reason.nameless().text,
            _ => "",
        };
        (pid, process, self.state, reason)
    }

    fn of_many(rows: &[&Self]) -> Self {
        let reason = common(rows, |row| row.reason)
            .or_else(|| common(rows, |row| row.reason.nameless()))
            .unwrap_or(&NO_REASON);
        let mut whose: Vec<(Pid, Tid)> = rows.iter().map(|row| (row.pid, row.tid)).collect();
        whose.sort_unstable();
        whose.dedup();
        let more = |row: &Self| row.together.unwrap_or(PlacesTogether { places: 1, threads: 1 });
        let threads = match rows.iter().all(|row| row.together.is_none()) {
            true => whose.len() as u64,
            false => sum(rows, |row| more(row).threads),
        };
        StepRef {
            pid: common(rows, |row| row.pid).unwrap_or(0),
            tid: common(rows, |row| (row.pid, row.tid)).map_or(0, |(_, tid)| tid),
            process: common(rows, |row| row.process).unwrap_or_default(),
            state: rows[0].state,
            reason,
            ns: sum(rows, |row| row.ns),
            count: sum(rows, |row| row.count),
            together: Some(PlacesTogether { places: sum(rows, |row| more(row).places), threads }),
        }
    }

    fn arrange(rows: &mut [Self]) {
        rows.sort_by_key(|row| (Reverse(row.ns), row.pid, row.tid, &*row.reason.text));
    }
}

/// By process and name; then by name, and by nothing. Those that lead a process, and idle ones, are
/// apart.
impl Row for ThreadLedger {
    type Key = (Pid, String, bool, bool);
    const LEVELS: usize = 3;

    /// The first is the root: pages begin with it.
    fn rank(&self, at: usize) -> impl Ord + use<> {
        (at == 0, !self.idle, self.ns_in(State::on_cpu), self.life_ns)
    }

    fn key(&self, level: usize) -> Self::Key {
        let pid = if level == 0 { self.pid } else { 0 };
        let name = if level < 2 { self.name.clone() } else { String::new() };
        (pid, name, self.processes() > 0, self.idle)
    }

    fn of_many(rows: &[&Self]) -> Self {
        ThreadLedger {
            pid: common(rows, |row| row.pid).unwrap_or(0),
            tid: 0,
            name: common(rows, |row| row.name.clone()).unwrap_or_default(),
            command: common(rows, |row| row.command.clone()).flatten(),
            life_ns: sum(rows, |row| row.life_ns),
            outlived: rows.iter().any(|row| row.outlived),
            idle: rows[0].idle,
            states: sum_states(rows.iter().map(|row| &row.states)),
            timed_waits: rows.iter().filter_map(|row| row.timed_waits).reduce(both),
            minor_faults: sum_seen(rows, |row| &row.minor_faults),
            major_faults: sum_seen(rows, |row| &row.major_faults),
            together: Some(ThreadsTogether {
                threads: sum(rows, ThreadLedger::threads),
                processes: sum(rows, ThreadLedger::processes),
            }),
        }
    }

    /// As they began; what stands for many comes last.
    fn arrange(rows: &mut [Self]) {
        rows.sort_by_key(|row| row.together.is_some());
    }
}

fn both(a: TimedWaits, b: TimedWaits) -> TimedWaits {
    TimedWaits {
        times: a.times + b.times,
        total_ns: a.total_ns + b.total_ns,
        others_on_cpu_ns: a.others_on_cpu_ns + b.others_on_cpu_ns,
        others_runnable_ns: a.others_runnable_ns + b.others_runnable_ns,
        others_waiting_ns: a.others_waiting_ns + b.others_waiting_ns,
    }
}
