//! By how much what the kernel charges to threads is off the time that they had a CPU.
//!
//! Where a thread that is woken preempts another one, or the idle task, the kernel does not look at
//! its clock again (`rq_clock_skip_update`): the time from the wake-up to the switch is charged to
//! the thread that comes, not to the one that has the CPU until then. And stolen time is charged to
//! nobody. Of a turn whose begin and end are known the trace has both times.

use super::line::What;
use super::{Tid, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// A thread since its last switch.
#[derive(Default)]
struct Turn {
    /// When it got its CPU; none where it has none, or that was not traced.
    since_ns: Option<u64>,
    charged_ns: u64,
}

impl Trace {
    /// What was charged to these threads for their turns from one time to another, less the time of
    /// these turns. Only of turns that were traced from begin to end.
    pub(crate) fn overcharged_ns(&self, tree: &BTreeSet<Tid>, from_ns: u64, to_ns: u64) -> i64 {
        let mut turns = BTreeMap::<Tid, Turn>::new();
        let (mut charged_ns, mut on_ns) = (0, 0);
        let mut unseen = None;
        for event in self.0.iter().take_while(|event| event.at_ns <= to_ns) {
            match event.what {
                What::WakeUnseen { tid, by_charge, .. } => unseen = by_charge.then_some(tid),
                What::Ran { tid, ns } if tree.contains(&tid) => {
                    turns.entry(tid).or_default().charged_ns += ns;
                }
                What::Switch { from, to, .. } => {
                    if let Some(turn) = turns.remove(&from)
                        && let Some(since_ns) = turn.since_ns.filter(|since_ns| *since_ns >= from_ns)
                    {
                        charged_ns += turn.charged_ns;
                        on_ns += event.at_ns - since_ns;
                    }
                    if tree.contains(&to) {
                        // It is placed by what is charged.
                        let was_seen = unseen.take() != Some(to);
                        let since_ns = was_seen.then_some(event.at_ns);
                        turns.insert(to, Turn { since_ns, charged_ns: 0 });
                    }
                }
                _ => {}
            }
        }
        charged_ns.cast_signed() - on_ns.cast_signed()
    }
}
