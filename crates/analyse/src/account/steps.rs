//! The account's steps: who did what for which reason, those that read alike as one.

use super::activity::Slot;
use model::recording::Comm;
use model::wait::Reason;
use model::{Ns, Pid, State, Step, Tid};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Steps as they are added up.
#[derive(Debug, Default)]
pub(super) struct Steps(BTreeMap<(Slot, State, String), Sum>);

#[derive(Debug)]
struct Sum {
    reason: Reason,
    ns: Ns,
    count: u64,
}

/// What a step says of its thread.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StepThread {
    pub(crate) pid: Pid,
    pub(crate) tid: Tid,
    /// Its process's name.
    pub(crate) process: Comm,
}

impl Steps {
    pub(super) fn add(&mut self, thread: Slot, state: State, reason: Reason, ns: Ns, count: u64) {
        let key = (thread, state, reason.to_string());
        let sum = self.0.entry(key).or_insert(Sum { reason, ns: 0, count: 0 });
        sum.ns += ns;
        sum.count += count;
    }

    /// All of them, the longest first.
    pub(super) fn rows(self, thread: impl Fn(Slot) -> StepThread) -> Vec<Step> {
        let step = |((slot, state, text), sum): ((Slot, State, String), Sum)| {
            let StepThread { pid, tid, process } = thread(slot);
            let process = process.to_text();
            (
                text,
                Step {
                    pid,
                    tid,
                    process,
                    state,
                    reason: sum.reason,
                    ns: sum.ns,
                    count: sum.count,
                    together: None,
                },
            )
        };
        let mut rows: Vec<_> = self.0.into_iter().map(step).collect();
        rows.sort_by(|(a_text, a), (b_text, b)| {
            (Reverse(a.ns), a.pid, a.tid, a_text).cmp(&(Reverse(b.ns), b.pid, b.tid, b_text))
        });
        rows.into_iter().map(|(_, step)| step).collect()
    }
}
