//! How long threads had been woken before they had a CPU, in tier `perf`: the kernel counts it, and
//! no event says when.
//!
//! What was counted between two snapshots of a thread is of the waits that ended between them: it
//! is taken off their ends, from each as much, and no more than there is. A wait that goes on, or
//! ended in a time of which nothing was counted, had none. Which of several it was is not known:
//! that is what the intervals of the account say.

use super::thread::{PolledState, Thread};
use model::recording::{SwitchOutState, ThreadSnapshot as Snapshot};
use model::{Event, Ns, State, Tid};
use rustc_hash::FxHashMap;

/// A wait that ended in the run queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Late {
    /// From here on the thread was ready.
    pub(super) at: Ns,
    pub(super) tid: Tid,
    pub(super) ns: Ns,
    /// As much of the wait can have been.
    pub(super) most_ns: Ns,
}

/// A thread between two snapshots.
#[derive(Debug)]
struct Between {
    /// Ready or blocked since.
    off_cpu: Option<(Ns, bool)>,
    /// By the kernel's count, what events do not tell.
    untold_ns: Ns,
    /// Waits that ended: when, and since when the thread may have been ready.
    woken: Vec<(Ns, Ns)>,
}

/// Which waits ended late, oldest first, by the events between the last snapshot and this one.
pub(super) fn late<'a>(
    events: &[Event],
    last_look: Option<Ns>,
    looked: &'a [Snapshot],
    thread: impl Fn(Tid) -> Option<&'a Thread>,
) -> Vec<Late> {
    let mut between: FxHashMap<Tid, Between> = FxHashMap::default();
    for now in looked {
        let Some(thread) = thread(now.tid) else { continue };
        if let Some(of) = Between::begins(thread, now, last_look) {
            between.insert(now.tid, of);
        }
    }
    for event in events {
        let Event::Switch { at, out, into, .. } = event else { continue };
        if let Some(into) = into
            && let Some(of) = between.get_mut(&into.tid)
        {
            of.comes(*at);
        }
        if let Some(out) = out
            && let Some(of) = between.get_mut(&out.tid)
        {
            let ready = matches!(out.left, SwitchOutState::Runnable);
            let blocked = matches!(out.left, SwitchOutState::Blocked(_));
            of.off_cpu = (ready || blocked).then_some((*at, ready));
        }
    }
    let mut all: Vec<Late> = between.into_iter().flat_map(|(tid, of)| of.divided(tid)).collect();
    all.sort_unstable_by_key(|late| (late.at, late.tid));
    all
}

impl Between {
    fn begins(thread: &Thread, now: &Snapshot, last_look: Option<Ns>) -> Option<Self> {
        let before = thread.looked.as_ref().and_then(|last| last.runqueue_ns.value());
        let untold_ns = now.runqueue_ns.value()?.checked_sub(*before?)?;
        let off_cpu = match thread.doing {
            PolledState::Runnable => Some((thread.since, true)),
            // The snapshot saw it wait: until then it was not ready.
            PolledState::Blocked(_) => Some((thread.since.max(last_look.unwrap_or(0)), false)),
            _ => None,
        };
        (untold_ns > 0).then_some(Self { off_cpu, untold_ns, woken: Vec::new() })
    }

    fn comes(&mut self, at: Ns) {
        match self.off_cpu.take() {
            Some((since, true)) => self.untold_ns = self.untold_ns.saturating_sub(at.saturating_sub(since)),
            Some((since, false)) if at > since => self.woken.push((at, since)),
            _ => {}
        }
    }

    /// Divided among the waits that ended, the shortest first: what one has no room for the longer
    /// ones have.
    fn divided(mut self, tid: Tid) -> Vec<Late> {
        self.woken.sort_unstable_by_key(|(at, since)| at - since);
        let (mut left_ns, mut left) = (self.untold_ns, self.woken.len() as u64);
        let mut all = Vec::new();
        for (at, since) in self.woken {
            let most_ns = at - since;
            let ns = (left_ns / left.max(1)).min(most_ns);
            (left_ns, left) = (left_ns - ns, left - 1);
            if ns > 0 {
                all.push(Late { at: at - ns, tid, ns, most_ns });
            }
        }
        all
    }
}

/// By how much the time of states may be other than it was booked.
#[derive(Debug, Default)]
pub(super) struct Unsure {
    of: FxHashMap<State, (Ns, Ns)>,
    /// What was taken off waits.
    pub(super) late_ns: Ns,
}

impl Unsure {
    /// Of waits of one thread between two snapshots, by state: how much was taken off them, and how
    /// much can have been.
    pub(super) fn add(&mut self, waits: &[(State, Late)]) {
        let all: Ns = waits.iter().map(|(_, late)| late.ns).sum();
        self.late_ns += all;
        let mut of: FxHashMap<State, (Ns, Ns)> = FxHashMap::default();
        for (state, late) in waits {
            let sums = of.entry(*state).or_default();
            *sums = (sums.0 + late.ns, sums.1 + late.most_ns);
        }
        for (state, (ns, most_ns)) in of {
            let sums = self.of.entry(state).or_default();
            sums.0 += ns;
            sums.1 += (all - ns).min(most_ns - ns);
        }
    }

    /// How much more than was booked a state can have had, and how much less.
    pub(super) fn more_and_less(&self, state: State) -> (Ns, Ns) {
        self.of.get(&state).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_short_wait_has_no_room_for_the_longer_ones_have() {
        let of =
            Between { off_cpu: None, untold_ns: 100, woken: vec![(1000, 900), (2000, 1990), (3000, 2900)] };
        let all: Vec<_> = of.divided(7).into_iter().map(|late| (late.at, late.ns, late.most_ns)).collect();
        assert_eq!(all, [(1990, 10, 10), (955, 45, 100), (2955, 45, 100)]);
    }

    #[test]
    fn a_state_can_have_had_all_that_others_gave() {
        let mut unsure = Unsure::default();
        let late = |ns, most_ns| Late { at: 0, tid: 7, ns, most_ns };
        unsure.add(&[(State::Disk, late(30, 40)), (State::Sleep, late(20, 500))]);
        assert_eq!(unsure.more_and_less(State::Disk), (30, 10));
        assert_eq!(unsure.more_and_less(State::Sleep), (20, 30));
        assert_eq!((unsure.more_and_less(State::Lock), unsure.late_ns), ((0, 0), 50));
    }
}
