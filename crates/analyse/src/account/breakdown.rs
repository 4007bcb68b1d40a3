//! The two ledgers of an account, from time by activity: its parts and its steps.

use super::activity::{Activity, Certainty, Slot};
use super::divide::{Divide, Portion, Total};
use super::steps::{StepTable, StepThread, Steps};
use crate::names::Names;
use model::{AccountPart, Basis, Ns, State};
use std::collections::BTreeMap;

/// What an account is about, by state and by step; both sum to the same.
#[derive(Debug, Default)]
pub(crate) struct Breakdown {
    states: BTreeMap<State, Sum>,
    steps: Steps,
}

/// One state's time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) ns: Ns,
    /// Of activities that were observed.
    pub(crate) seen_ns: Ns,
    /// Of activities that were of this state; the rest was divided off others.
    pub(crate) own_ns: Ns,
}

impl Breakdown {
    /// Of these activities, divided.
    pub(crate) fn new(totals: &[(Activity, Total)], divide: &dyn Divide, names: &Names) -> Self {
        let mut all = Self { states: BTreeMap::new(), steps: Steps::of_activities(totals.len()) };
        for (activity, total) in totals {
            for portion in divide.divide(*activity, total) {
                let sum = all.states.entry(portion.state).or_default();
                sum.ns += portion.ns;
                sum.seen_ns += if activity.certainty == Certainty::Seen { portion.ns } else { 0 };
                sum.own_ns += if activity.state == portion.state { portion.ns } else { 0 };
                let reason = (portion.reason, names);
                // Calls that samples have divided off were begun elsewhere.
                let begun = if portion.reason.is_call() && portion.reason != activity.reason {
                    0
                } else {
                    total.count
                };
                all.steps.add(activity.thread, portion.state, reason, portion.ns, begun);
            }
        }
        all
    }

    /// One state's time; nothing where it did not occur.
    pub(crate) fn of(&self, state: State) -> Sum {
        self.states.get(&state).copied().unwrap_or_default()
    }

    /// What there is of such states.
    pub(crate) fn ns(&self, which: impl Fn(State) -> bool) -> Ns {
        self.states.iter().filter(|(state, _)| which(**state)).map(|(_, sum)| sum.ns).sum()
    }

    /// What was not seen, and only taken to be like something that was.
    pub(crate) fn inferred_ns(&self) -> Ns {
        self.states.values().map(|sum| sum.ns - sum.seen_ns).sum()
    }

    /// By state. `known` says how a figure is known and its interval, which is extended to hold
    /// the figure.
    pub(crate) fn parts(&self, known: impl Fn(State, &Sum) -> (Basis, (Ns, Ns))) -> Vec<AccountPart> {
        let all = self.ns(|_| true);
        let part = |(state, sum): (&State, &Sum)| {
            let (basis, (lo, hi)) = known(*state, sum);
            let ns = sum.ns;
            AccountPart { state: *state, ns, basis, lo_ns: lo.min(ns), hi_ns: hi.clamp(ns, all) }
        };
        self.states.iter().map(part).collect()
    }

    /// A portion of one of its activities is in this slice of time.
    pub(super) fn in_slice(&mut self, thread: Slot, portion: Portion, slice: u32) {
        self.steps.in_slice(thread, portion, slice);
    }

    /// By step, the longest first.
    pub(crate) fn steps(self, thread: impl Fn(Slot) -> StepThread) -> StepTable {
        self.steps.table(thread)
    }
}
