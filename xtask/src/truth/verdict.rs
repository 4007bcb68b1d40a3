//! Whether what dwell says agrees with the oracles: figure by figure, and the class with the one
//! that was judged beforehand.
//!
//! A trace of the scheduler does not know the critical path. It knows when all threads of the tree
//! were blocked, and then so was the path; the path never rests where the tree works, so it was
//! blocked at no other time. While one thread ran and another waited for a CPU, the path may be
//! either's.

use super::program::{Class, Program};
use super::said::{Calls, Kind, Said};
use super::sched::{Ledger, Wall};
use std::collections::BTreeMap;

/// How far a share may be beside its own interval, in percentage points.
const POINTS: f64 = 3.0;

/// The same of a count or a CPU time, as a share of it.
const PART: f64 = 0.03;

/// Half of the time, from which a class is decided by it.
const HALF: f64 = 50.0;

/// A share in percent, and between what it may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub(crate) value: f64,
    pub(crate) lo: f64,
    pub(crate) hi: f64,
}

impl Range {
    fn exactly(value: f64) -> Self {
        Self { value, lo: value, hi: value }
    }

    fn around(value: f64, half: f64) -> Self {
        Self { value, lo: value - half, hi: value + half }
    }
}

/// What the oracles say of one run or window.
#[derive(Debug, Clone, Default)]
pub(crate) struct Truth {
    /// On a CPU, runnable, blocked.
    pub(crate) kinds: Option<[Range; 3]>,
    /// Of the time on CPUs, with half the width of its interval.
    pub(crate) user_percent: Option<(f64, f64)>,
    /// Only those that are to be compared.
    pub(crate) calls: BTreeMap<String, u64>,
    pub(crate) throttled_ns: Option<u64>,
    pub(crate) lock_percent: Option<f64>,
    pub(crate) cpu_ns: Option<u64>,
    /// What the reader should know of the oracles.
    pub(crate) notes: Vec<String>,
}

/// The wall clock of a tree as shares.
pub(crate) fn of_wall(wall: &Wall) -> [Range; 3] {
    let percent = |ns: u64| ns as f64 / wall.whole_ns().max(1) as f64 * 100.0;
    let contended = wall.on_contended_ns;
    let on = percent(wall.on_alone_ns + contended);
    let runnable = percent(wall.only_runnable_ns);
    [
        Range { value: on, lo: percent(wall.on_alone_ns), hi: on },
        Range { value: runnable, lo: runnable, hi: percent(wall.only_runnable_ns + contended) },
        Range::exactly(percent(wall.all_blocked_ns)),
    ]
}

/// The time of threads as shares of their lives.
pub(crate) fn of_ledgers<'a>(ledgers: impl Iterator<Item = &'a Ledger>) -> [Range; 3] {
    let mut sum = Ledger::default();
    for ledger in ledgers {
        sum.on_ns += ledger.on_ns;
        sum.runnable_ns += ledger.runnable_ns;
        sum.blocked_ns += ledger.blocked_ns;
    }
    let whole = (sum.on_ns + sum.runnable_ns + sum.blocked_ns).max(1) as f64;
    [sum.on_ns, sum.runnable_ns, sum.blocked_ns].map(|ns| Range::exactly(ns as f64 / whole * 100.0))
}

/// One figure of both.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Check {
    pub(crate) what: String,
    pub(crate) dwell: String,
    pub(crate) oracle: String,
    pub(crate) agrees: bool,
}

/// A program's row.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    pub(crate) program: &'static str,
    pub(crate) class: String,
    /// The classes that are right.
    pub(crate) right: Vec<Class>,
    pub(crate) checks: Vec<Check>,
    pub(crate) notes: Vec<String>,
}

impl Verdict {
    pub(crate) fn class_agrees(&self) -> bool {
        self.right.iter().any(|class| class.name() == self.class)
    }

    pub(crate) fn agrees(&self) -> bool {
        self.class_agrees() && self.checks.iter().all(|check| check.agrees)
    }
}

/// Compares the two. Beside other programs, `starved` may be what is right; `busy` says that there
/// is one on each CPU.
pub(crate) fn judge(program: &Program, said: &Said, truth: &Truth, busy: bool) -> Verdict {
    let mut checks = Vec::new();
    if let Some(kinds) = truth.kinds {
        checks.extend(Kind::ALL.into_iter().zip(kinds).map(|(kind, range)| {
            let [value, lo, hi] = said.percent(kind);
            share(kind.name(), Range { value, lo, hi }, range)
        }));
    }
    checks.extend(user(said, truth));
    checks.extend(truth.calls.iter().map(|(name, &made)| count(name, said.calls.get(name), made)));
    let whole = said.whole_ns().max(1) as f64;
    let of_state = |state| Range::exactly(said.in_state(state) as f64 / whole * 100.0);
    checks.extend(
        truth
            .throttled_ns
            .map(|ns| share("throttled", of_state("throttled"), Range::exactly(ns as f64 / whole * 100.0))),
    );
    checks.extend(truth.lock_percent.map(|percent| share("lock", of_state("lock"), Range::exactly(percent))));
    checks.extend(truth.cpu_ns.map(|own| {
        let cpu = said.cpu_ns().0;
        let agrees = (cpu as f64 - own as f64).abs() <= own as f64 * PART;
        Check { what: "CPU ms".to_owned(), dwell: milliseconds(cpu), oracle: milliseconds(own), agrees }
    }));
    let mut notes = truth.notes.clone();
    if said.lost_events > 0 {
        notes.push(format!("dwell lost {} events", said.lost_events));
    }
    let right = right_classes(program, said, truth, busy);
    let mut verdict = Verdict { program: program.name, class: said.class.clone(), right, checks, notes };
    if !verdict.class_agrees() {
        let starved = verdict.right == [Class::Starved] && program.class != verdict.right;
        let why = if starved { "it waited for a CPU behind other programs" } else { program.why };
        verdict.notes.push(format!("the class: {why}"));
    }
    verdict
}

/// User code, of the time on CPUs of all threads.
fn user(said: &Said, truth: &Truth) -> Option<Check> {
    let (percent, half) = truth.user_percent?;
    let (on, user) = said.cpu_ns();
    let value = user as f64 / on.max(1) as f64 * 100.0;
    Some(share("user", Range::around(value, said.user_doubt_percent()), Range::around(percent, half)))
}

/// Agrees where the two intervals come as near as is allowed.
fn share(what: &str, dwell: Range, oracle: Range) -> Check {
    let agrees = dwell.lo - POINTS <= oracle.hi && dwell.hi + POINTS >= oracle.lo;
    let shown = |range: Range| format!("{:.1}", range.value);
    Check { what: what.to_owned(), dwell: shown(dwell), oracle: shown(oracle), agrees }
}

/// Agrees where the number of calls is within what dwell says, or near it.
fn count(name: &str, said: Option<&Calls>, made: u64) -> Check {
    let near = made as f64 * PART;
    let agrees = said.is_some_and(|said| {
        let most = said.hi.map_or(f64::INFINITY, |hi| hi as f64);
        said.lo as f64 <= made as f64 + near && most >= made as f64 - near
    });
    let dwell = said.map_or_else(|| "none".to_owned(), |said| said.calls.to_string());
    Check { what: name.to_owned(), dwell, oracle: made.to_string(), agrees }
}

/// What was judged beforehand; or `starved`, once waiting for a CPU behind other programs is half
/// of the time, and either where it is about half.
fn right_classes(program: &Program, said: &Said, truth: &Truth, busy: bool) -> Vec<Class> {
    let judged = program.class.to_vec();
    // The wall clock of a tree waits for a CPU only while none of its threads has one: behind
    // others. Threads of a window may wait for one another, so theirs counts only where others are
    // known.
    let Some([_, runnable, _]) = truth.kinds.filter(|_| busy || !said.is_window) else { return judged };
    match runnable.value {
        share if share >= HALF + POINTS => vec![Class::Starved],
        share if share >= HALF - POINTS => [judged, vec![Class::Starved]].concat(),
        _ => judged,
    }
}

fn milliseconds(ns: u64) -> String {
    format!("{:.0}", ns as f64 / 1e6)
}

#[cfg(test)]
mod tests;
