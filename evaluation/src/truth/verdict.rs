//! Whether what dwell says agrees with the oracles: figure by figure, and the class with the one
//! that was judged beforehand.
//!
//! A trace of the scheduler does not know the critical path. It knows when all threads of the tree
//! were blocked, and then so was the path; the path never rests where the tree works, so it was
//! blocked at no other time, but where a thread waited for a disk. While one thread ran and another
//! waited for a CPU or a disk, the path may be either's.

mod charged;
mod class;

use super::dwell_result::{Calls, DwellResult, Kind};
use super::program::{Class, Program};
use super::sched::{Ledger, Wall};
use model::State;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How far a share may be off where its own interval does not allow for more, in percentage points.
const POINTS: f64 = 3.0;

/// The same of a count or a CPU time, as a share of it.
const PART: f64 = 0.03;

/// What an idle CPU of a virtual machine takes to wake up for a thread, at most as a rule.
const WAKING_NS_MAX: u64 = 10_000;

/// Half of the time, from which a class is decided by it.
const HALF: f64 = 50.0;

/// From as many CPUs wanted on, a server is not idle.
const AWAKE_MIN: f64 = 0.1;

/// A share in percent, and between what it may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub(crate) value: f64,
    pub(crate) lo: f64,
    pub(crate) hi: f64,
}

impl Range {
    pub(crate) fn exactly(value: f64) -> Self {
        Self { value, lo: value, hi: value }
    }

    fn around(value: f64, half: f64) -> Self {
        Self { value, lo: value - half, hi: value + half }
    }

    fn scaled(self, by: f64) -> Self {
        Self { value: self.value * by, lo: self.lo * by, hi: self.hi * by }
    }

    /// It may be that as well.
    fn widened(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi), ..self }
    }

    /// With the interval where it is wider than what is allowed anyway.
    fn shown(self) -> String {
        if self.hi - self.value > POINTS || self.value - self.lo > POINTS {
            format!("{:.1} ({:.0}–{:.0})", self.value, self.lo.max(0.0), self.hi)
        } else {
            format!("{:.1}", self.value)
        }
    }
}

/// A word that the page has to have, and what it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) what: &'static str,
    pub(crate) word: String,
}

/// What the oracles say of one run or window.
#[derive(Debug, Clone, Default)]
pub(crate) struct Truth {
    /// On a CPU, runnable, blocked.
    pub(crate) kinds: Option<[Range; 3]>,
    /// Behind other programs or a quota; of a window, of what is not blocked at least.
    pub(crate) starved: Option<Range>,
    /// By all threads.
    pub(crate) cpus_used: Option<Range>,
    /// What the kernel charged for that, in nanoseconds.
    pub(crate) charged_ns: Option<Range>,
    /// How much of all charges was for no time on a CPU; negative where less was charged.
    pub(crate) over_ns: i64,
    /// Of all CPUs' time.
    pub(crate) stolen_ns: u64,
    /// User time, of the time on CPUs, with half the width of its interval.
    pub(crate) user_percent: Option<(f64, f64)>,
    /// What user code has at the least, of the time that the kernel charged.
    pub(crate) user_percent_min: Option<f64>,
    /// Only those that are to be compared.
    pub(crate) calls: BTreeMap<String, u64>,
    pub(crate) throttled_ns: Option<u64>,
    pub(crate) lock_percent: Option<f64>,
    /// By the program's own clock.
    pub(crate) cpu_ns: Option<u64>,
    /// A function with one of these words in its name has half of the samples.
    pub(crate) function: Option<Vec<String>>,
    pub(crate) named: Vec<Named>,
    /// What the reader should know of the oracles.
    pub(crate) notes: Vec<String>,
}

impl Truth {
    /// These may be right as well.
    pub(crate) fn widen(&mut self, cpus_used: Range, kinds: Option<[Range; 3]>) {
        self.cpus_used = self.cpus_used.map(|known| known.widened(cpus_used));
        for (known, other) in self.kinds.iter_mut().flatten().zip(kinds.into_iter().flatten()) {
            *known = known.widened(other);
        }
    }
}

/// The wall clock of a tree as shares, and what of it was behind others.
pub(crate) fn of_wall(wall: &Wall) -> (Option<[Range; 3]>, Option<Range>) {
    let percent = |ns: u64| ns as f64 / wall.whole_ns().max(1) as f64 * 100.0;
    let on = percent(wall.on_ns());
    let contended = percent(wall.on_behind_own_ns + wall.on_behind_others_ns);
    let runnable = percent(wall.only_runnable_ns);
    let blocked = percent(wall.all_blocked_ns);
    let disk = percent(wall.beside_disk_ns);
    let waking = percent(wall.wakes_unseen * WAKING_NS_MAX).min(blocked);
    let kinds = [
        Range { value: on, lo: (on - contended - disk).max(0.0), hi: on },
        Range { value: runnable, lo: (runnable - disk).max(0.0), hi: runnable + contended + waking },
        Range { value: blocked, lo: blocked - waking, hi: blocked + disk },
    ];
    // While none of the tree has a CPU, it waits behind others, or its group has used up its quota.
    let starved = Range { hi: runnable + percent(wall.on_behind_others_ns), ..Range::exactly(runnable) };
    (Some(kinds), Some(starved))
}

/// The time of all threads as shares of their lives in a window of this length, and what of it was
/// behind others.
pub(crate) fn of_ledger(sum: &Ledger, window_ns: u64) -> (Option<[Range; 3]>, Option<Range>) {
    let awake = sum.on_ns + sum.runnable_ns;
    let percent = |ns: u64, whole: u64| ns as f64 / whole.max(1) as f64 * 100.0;
    let whole = sum.whole_ns();
    let kinds = [sum.on_ns, sum.runnable_ns, sum.blocked_ns].map(|ns| Range::exactly(percent(ns, whole)));
    let mut starved = Range::exactly(percent(sum.behind_others_ns, whole));
    // Waits for work are no part of what bounds a window, and the trace does not know them apart.
    // But who hardly wants a CPU at all is idle.
    if awake as f64 >= AWAKE_MIN * window_ns as f64 {
        starved.hi = percent(sum.behind_others_ns, awake);
    }
    (Some(kinds), Some(starved))
}

/// One figure of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Check {
    pub(crate) what: String,
    pub(crate) dwell: String,
    pub(crate) oracle: String,
    pub(crate) agrees: bool,
}

/// A program's row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    #[serde(skip)]
    pub(crate) program: String,
    pub(crate) class: Class,
    /// The classes that are right.
    pub(crate) right: Vec<Class>,
    pub(crate) checks: Vec<Check>,
    pub(crate) notes: Vec<String>,
}

impl Verdict {
    pub(crate) fn class_agrees(&self) -> bool {
        self.right.contains(&self.class)
    }

    pub(crate) fn agrees(&self) -> bool {
        self.class_agrees() && self.checks.iter().all(|check| check.agrees)
    }
}

/// Compares the two.
pub(crate) fn judge(program: &Program, said: &DwellResult, truth: &Truth) -> Verdict {
    let right = class::right(program, truth);
    let checks = [account(said, truth), times(said, truth), names(said, truth)].concat();
    let mut notes = truth.notes.clone();
    if let Some(lost) = said.run.coverage.lost_events.value().filter(|lost| **lost > 0) {
        notes.push(format!("dwell lost {lost} events"));
    }
    let mut verdict =
        Verdict { program: program.name.clone(), class: said.run.bound.class, right, checks, notes };
    if !verdict.class_agrees() {
        let starved = verdict.right == [Class::Starved] && program.class != verdict.right;
        let why = if starved { "it waited for a CPU behind other programs" } else { &program.why };
        verdict.notes.push(format!("why this class is right: {why}"));
    }
    verdict
}

/// The account by kinds of time, and states of it that an oracle knows.
fn account(said: &DwellResult, truth: &Truth) -> Vec<Check> {
    let whole = said.whole_ns().max(1) as f64;
    let of = |ns: u64| Range::exactly(ns as f64 / whole * 100.0);
    let mut checks = Vec::new();
    for (kind, range) in Kind::ALL.into_iter().zip(truth.kinds.into_iter().flatten()) {
        let [value, lo, hi] = said.percent(kind);
        checks.push(share(kind.name(), Range { value, lo, hi }, range));
    }
    // It counts as blocked above, where it would hide behind what is.
    let unexplained = share("unexplained", of(said.run.time_in(State::Unexplained)), Range::exactly(0.0));
    checks.extend(Some(unexplained).filter(|check| !check.agrees));
    let throttled = |ns| share("throttled", of(said.run.time_in(State::Throttled)), of(ns));
    checks.extend(truth.throttled_ns.map(throttled));
    let lock = |percent| share("lock", of(said.run.time_in(State::Lock)), Range::exactly(percent));
    checks.extend(truth.lock_percent.map(lock));
    checks
}

/// CPU times and counts, of all threads.
fn times(said: &DwellResult, truth: &Truth) -> Vec<Check> {
    let (on_ns, user_ns) = said.cpu_ns();
    let mut checks = Vec::new();
    checks.extend(truth.user_percent.map(|(percent, half)| {
        let value = user_ns as f64 / on_ns.max(1) as f64 * 100.0;
        let of_samples = Range::around(percent, half);
        let of_charges = truth.user_percent_min.map(|percent| Range::around(percent, half));
        let oracle = of_charges.map_or(of_samples, |least| of_samples.widened(least));
        share("user", Range::around(value, said.user_doubt_percent()), oracle)
    }));
    checks.extend(charged::cpus(on_ns, said.run.wall_ns, truth));
    checks.extend(charged::cpu_ms(on_ns, said.run.wall_ns, truth));
    checks.extend(truth.calls.iter().map(|(name, &made)| count(name, said.calls(name), made)));
    checks
}

/// What has to be named: functions, holders of locks, control groups.
fn names(said: &DwellResult, truth: &Truth) -> Vec<Check> {
    let function = truth.function.as_ref().map(|words| {
        let known =
            said.functions().filter(|(name, _)| words.iter().any(|word| name.contains(word.as_str())));
        let percent = known.map(|(_, percent)| percent).fold(0.0, f64::max);
        let shown = |percent: f64| format!("{} {percent:.0} %", words.join(" or "));
        Check {
            what: "function".to_owned(),
            dwell: shown(percent),
            oracle: "half or more".to_owned(),
            agrees: percent >= HALF,
        }
    });
    let named = truth.named.iter().map(|Named { what, word }| {
        let agrees = said.names(word);
        let dwell = if agrees { word.clone() } else { "not named".to_owned() };
        Check { what: (*what).to_owned(), dwell, oracle: word.clone(), agrees }
    });
    // What a hostile name may hold, and a page must not.
    let control = said.page.chars().find(|c| c.is_control() && *c != '\n').map(|c| Check {
        what: "control characters".to_owned(),
        dwell: format!("{c:?}"),
        oracle: "none".to_owned(),
        agrees: false,
    });
    function.into_iter().chain(named).chain(control).collect()
}

/// Agrees where the oracle's interval meets dwell's own, or comes near its value.
fn share(what: &str, dwell: Range, oracle: Range) -> Check {
    let (lo, hi) = (dwell.lo.min(dwell.value - POINTS), dwell.hi.max(dwell.value + POINTS));
    let agrees = lo <= oracle.hi && hi >= oracle.lo;
    Check { what: what.to_owned(), dwell: dwell.shown(), oracle: oracle.shown(), agrees }
}

/// Agrees where the number of calls is within what dwell says, or near it.
fn count(name: &str, said: Option<Calls>, made: u64) -> Check {
    let near = made as f64 * PART;
    let agrees = said.is_some_and(|said| {
        let (least, most) = (said.lo as f64, said.hi.map_or(f64::INFINITY, |hi| hi as f64));
        let within = least <= made as f64 && most >= made as f64;
        within || (said.hi.is_some() && said.calls.abs_diff(made) as f64 <= near)
    });
    let dwell = match said {
        None => "none".to_owned(),
        Some(Calls { lo, hi: None, .. }) => format!("at least {lo}"),
        Some(Calls { calls, lo, hi: Some(hi) }) if lo < hi => format!("{calls} ({lo}–{hi})"),
        Some(said) => said.calls.to_string(),
    };
    Check { what: name.to_owned(), dwell, oracle: made.to_string(), agrees }
}

#[cfg(test)]
mod tests;
