//! Waits of a thread that a time limit ended, kept until it is known who had what it waited for, or
//! what they were for (`held`).

use crate::account::CompletedWait;
use crate::keys::{ReasonKey, TargetKey, WaitKey};
use model::Ns;
use smallvec::SmallVec;

/// Kinds of waits of one thread that are remembered.
const KINDS: usize = 4;

/// Waits of one thread that a limit ended, since it last worked.
#[derive(Debug, Default)]
pub(super) struct Limited {
    pub(super) waits: SmallVec<[LimitedWait; 2]>,
    /// Its time on a CPU when its last wait ended.
    pub(super) cpu_ns: Ns,
    /// Its last wait, of any kind.
    pub(super) last: Option<WaitKey>,
}

/// Such waits of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct LimitedWait {
    pub(super) wait: WaitKey,
    /// 0 where it was on none.
    pub(super) futex: u64,
    /// When the first of them began.
    pub(super) since: Ns,
    pub(super) times: u64,
    pub(super) ns: Ns,
}

impl Limited {
    pub(super) fn add(&mut self, begin: Ns, futex: u64, ended: CompletedWait) {
        let CompletedWait { wait, ns, .. } = ended;
        if let Some(known) = self.waits.iter_mut().find(|known| known.wait == wait) {
            known.times += 1;
            known.ns += ns;
        } else if self.waits.len() < KINDS {
            self.waits.push(LimitedWait { wait, futex, since: begin, times: 1, ns });
        }
    }

    /// The thread sends something: what it polls for from now on may be the answer.
    pub(super) fn asks(&mut self) {
        self.waits.retain(|wait| !is_of_several(wait.wait));
    }
}

/// Whether it polled several things until its time was up.
pub(super) fn is_of_several((_, reason): WaitKey) -> bool {
    matches!(reason, ReasonKey::Wait(_, TargetKey::TimeLimitOrTimer))
}
