//! The time of single threads within a window.

use super::cpus::Cpus;
use super::{Doing, Tid, Trace, Turn, turns};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Sum;

/// A thread's time within a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) on_ns: u64,
    pub(crate) runnable_ns: u64,
    /// Runnable time in which another program had the CPU that it waited for.
    pub(crate) behind_others_ns: u64,
    pub(crate) blocked_ns: u64,
}

impl Ledger {
    pub(crate) fn whole_ns(&self) -> u64 {
        self.on_ns + self.runnable_ns + self.blocked_ns
    }
}

impl Sum for Ledger {
    fn sum<I: Iterator<Item = Self>>(ledgers: I) -> Self {
        ledgers.fold(Self::default(), |sum, ledger| Self {
            on_ns: sum.on_ns + ledger.on_ns,
            runnable_ns: sum.runnable_ns + ledger.runnable_ns,
            behind_others_ns: sum.behind_others_ns + ledger.behind_others_ns,
            blocked_ns: sum.blocked_ns + ledger.blocked_ns,
        })
    }
}

impl Trace {
    /// What these threads did from one time to another, each for as long as it lived.
    pub(crate) fn ledgers(&self, threads: &BTreeSet<Tid>, from: u64, to: u64) -> BTreeMap<Tid, Ledger> {
        let mut lives: BTreeMap<Tid, Life> = threads.iter().map(|&tid| (tid, Life::default())).collect();
        let mut cpus = Cpus::new(threads, from, to);
        for event in self.0.iter().take_while(|event| event.at_ns < to) {
            for turn in turns(event).iter().flatten() {
                if let Some(life) = lives.get_mut(&turn.tid) {
                    life.turn(turn, event.at_ns, from, &cpus);
                }
            }
            cpus.advance(event);
        }
        // Nothing happened to a thread that is not in the trace: it waited.
        let end = |mut life: Life| {
            life.add(life.doing.unwrap_or(Doing::Blocked), from, to, &cpus);
            life.ledger
        };
        lives.into_iter().map(|(tid, life)| (tid, end(life))).collect()
    }
}

/// One thread within a window.
#[derive(Default)]
struct Life {
    since_ns: u64,
    /// Not known before its first event.
    doing: Option<Doing>,
    /// For how long others had had the CPU that it waits for, when it began to.
    others_ns: u64,
    ledger: Ledger,
}

impl Life {
    fn turn(&mut self, turn: &Turn, at_ns: u64, from: u64, cpus: &Cpus<'_>) {
        let before = self.doing.unwrap_or(turn.before);
        self.add(before, from, at_ns, cpus);
        let now = turn.after(before);
        if let Doing::Runnable(cpu) = now {
            self.others_ns = cpus.others_ns(cpu, at_ns);
        }
        self.since_ns = at_ns;
        self.doing = Some(now);
    }

    /// Adds the time from its last turn, as far as it is in the window.
    fn add(&mut self, doing: Doing, from: u64, to: u64, cpus: &Cpus<'_>) {
        let ns = to.saturating_sub(self.since_ns.max(from));
        match doing {
            Doing::On => self.ledger.on_ns += ns,
            Doing::Runnable(cpu) => {
                self.ledger.runnable_ns += ns;
                self.ledger.behind_others_ns += ns.min(cpus.others_ns(cpu, to) - self.others_ns);
            }
            Doing::Blocked | Doing::Uninterruptible => self.ledger.blocked_ns += ns,
            Doing::Gone => {}
        }
    }
}
