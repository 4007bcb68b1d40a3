//! How the time of polled threads divides by states: by samples and by the kernel's counters.

use super::mix::{Mix, UserShare};
use super::thread::Thread;
use crate::account::{Activity, Divide, Portion, Portions, Slot, Total};
use crate::keys::ReasonKey;
use model::{Ns, State};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// What is known of the threads of a run.
#[derive(Debug)]
pub(super) struct Division<'a> {
    pub(super) threads: &'a [Thread],
    pub(super) user: UserShare<'a>,
    /// There is nothing but snapshots: no switch was seen.
    pub(super) by_looks: bool,
    /// A thread's samples that fell into what is divided.
    pub(super) mix: fn(&Thread) -> Mix,
    /// A thread's time on a CPU in what is divided.
    pub(super) on_cpu_ns: FxHashMap<Slot, Ns>,
}

impl Divide for Division<'_> {
    fn divide(&self, activity: Activity, total: &Total) -> Portions {
        let ns = total.ns;
        let Some(thread) = self.threads.get(activity.thread as usize) else {
            return Portion::whole(activity, ns);
        };
        let queued = |ns| Portion { state: State::Runqueue, reason: ReasonKey::PreemptedUnseen, ns };
        let divided = match activity.state {
            State::User => {
                let on_cpu_ns = self.on_cpu_ns.get(&activity.thread).copied().unwrap_or(0);
                let late = part(ns, self.queued_share(thread));
                let user = part(ns - late, self.user.of((self.mix)(thread), on_cpu_ns));
                let mode = |state, ns| Portion { state, reason: ReasonKey::None, ns };
                smallvec![mode(State::User, user), mode(State::Kernel, ns - late - user), queued(late)]
            }
            _ => Portion::whole(activity, ns),
        };
        divided.into_iter().filter(|portion| portion.ns > 0).collect()
    }
}

impl Division<'_> {
    /// Share of run queue in a thread's time that snapshots, which cannot tell them apart, saw as
    /// on a CPU.
    fn queued_share(&self, thread: &Thread) -> f64 {
        let (queued, on_cpu) = thread.runnable_ns;
        if self.by_looks || thread.by_looks { share(queued, queued + on_cpu) } else { 0.0 }
    }
}

/// A share of a duration.
pub(super) fn part(of: Ns, share: f64) -> Ns {
    ((of as f64 * share) as Ns).min(of)
}

/// How much of a whole; none of nothing.
pub(super) fn share(part: Ns, whole: Ns) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
}
