//! What a thread did most recently: when it takes up a request, what held it up before.

use super::ledger::Part;
use crate::keys::ReasonKey;
use model::requests::RequestTime;
use model::{Ns, State};
use std::collections::VecDeque;

/// Stretches that are remembered of each thread.
const STRETCHES: usize = 32;

/// A number that a request has while it is followed.
pub(super) type RequestId = u32;

/// What a thread did in a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    /// This, for a request.
    Request(RequestId, Part),
    /// It waited for a CPU.
    Queued(State),
    /// It ran, for none.
    Ran,
    /// It waited for whatever comes.
    Waited,
    /// It waited for something else, for none.
    HeldUp(Part),
}

/// The last stretches of a thread, each from the end of the one before.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    from: Ns,
    stretches: VecDeque<(Ns, Did)>,
}

impl History {
    pub(super) fn add(&mut self, from: Ns, to: Ns, did: Did) {
        match self.stretches.back_mut() {
            Some((last, known)) if *last == from && *known == did => *last = to,
            Some((last, _)) if *last != from => {
                self.stretches.clear();
                self.from = from;
                self.stretches.push_back((to, did));
            }
            None => {
                self.from = from;
                self.stretches.push_back((to, did));
            }
            Some(_) => self.stretches.push_back((to, did)),
        }
        if self.stretches.len() > STRETCHES
            && let Some((to, _)) = self.stretches.pop_front()
        {
            self.from = to;
        }
    }

    /// Tells, stretch by stretch from `from` on, what a request waited for that this thread took up
    /// afterwards: `tell` is given the end of each. What was before is not remembered. From `own`
    /// on, whatever the thread was thought to work for, it worked for this one; before that, for
    /// others. None: it is not known to have worked for it.
    pub(super) fn since(
        &self,
        (from, own): (Ns, Option<Ns>),
        request: RequestId,
        before: Part,
        mut tell: impl FnMut(Ns, Part),
    ) {
        tell(self.from, before);
        let mut begin = self.from;
        for (to, did) in &self.stretches {
            let started = std::mem::replace(&mut begin, *to);
            if *to <= from {
                continue;
            }
            let Some(own) = own else {
                tell(*to, did.part(request, before));
                continue;
            };
            // One that began before has a part of either kind.
            if started < own {
                tell(own.min(*to), did.for_another(before));
            }
            if own < *to {
                tell(*to, did.for_this(before));
            }
        }
    }

    /// When the last wait for whatever comes ended, if it did after `since`.
    pub(super) fn last_woken(&self, since: Ns) -> Option<Ns> {
        let waits = self.stretches.iter().rev().find(|(_, did)| *did == Did::Waited);
        waits.map(|(to, _)| *to).filter(|to| *to > since)
    }
}

impl Did {
    /// What a request waited for that was taken up afterwards.
    fn part(self, request: RequestId, before: Part) -> Part {
        match self {
            Did::Request(of, part) if of == request => part,
            Did::Request(..) => self.for_another(before),
            _ => self.for_this(before),
        }
    }

    fn for_this(self, before: Part) -> Part {
        match self {
            Did::Request(_, part) | Did::HeldUp(part) => part,
            Did::Queued(state) => (RequestTime::Thread(state), ReasonKey::None),
            Did::Ran => (RequestTime::OnCpu, ReasonKey::None),
            Did::Waited => before,
        }
    }

    fn for_another(self, before: Part) -> Part {
        match self {
            Did::Request(_, (_, reason)) | Did::HeldUp((_, reason)) => (RequestTime::OtherRequest, reason),
            Did::Ran => (RequestTime::OtherRequest, ReasonKey::None),
            Did::Queued(_) | Did::Waited => self.for_this(before),
        }
    }
}
