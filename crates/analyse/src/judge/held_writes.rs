//! Writers that the kernel holds back so that a disk can catch up with what was written to memory
//! (dirty throttling).
//!
//! `balance_dirty_pages` of the kernel has who writes faster than the disk sleep for a while, as a
//! wait for IO that a timer ends. What else waits for a disk in a call that writes is woken by who
//! has done what it waits for: a device, or a thread of the kernel.

use super::file_calls::WRITES;
use model::run::WaitRow;
use model::sentence::Piece::{Count, Ns as Time};
use model::wait::WakerKind;
use model::{Ns, Sentence, State, say};

/// How often, and for how long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct HeldWrites {
    pub times: u64,
    pub ns: Ns,
}

impl HeldWrites {
    /// Of these waits.
    pub(super) fn of<'a>(waits: impl IntoIterator<Item = &'a WaitRow>) -> Self {
        let writes = |wait: &&WaitRow| {
            let call = wait.call.syscall();
            wait.reason == State::Disk && call.is_some_and(|call| WRITES.contains(&&*call.name))
        };
        let rows = waits.into_iter().filter(writes).flat_map(|wait| &wait.by);
        rows.filter(|waker| waker.kind == WakerKind::Timer).fold(Self::default(), |sum, waker| Self {
            times: sum.times + waker.times,
            ns: sum.ns + waker.ns,
        })
    }

    /// In words, if there was any.
    pub(super) fn said(self) -> Option<Sentence> {
        (self.times > 0).then(|| {
            say!(
                "the kernel held writers back ",
                Count(self.times, "time".into()),
                ", for ",
                Time(self.ns),
                ", until the disk had caught up with writes in memory (dirty throttling)"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::wait;
    use model::Seen;
    use model::wait::WaitTarget;

    const MS: Ns = 1_000_000;

    fn of(reason: State, call: &'static str, waker: WakerKind) -> HeldWrites {
        let file = WaitTarget::File(Seen::Value("/data".into()));
        HeldWrites::of([&wait(reason, call, file, 24, 230 * MS, waker)])
    }

    #[test]
    fn a_writer_is_held_where_a_timer_ends_its_wait_for_the_disk() {
        let held = of(State::Disk, "write", WakerKind::Timer);
        assert_eq!(held, HeldWrites { times: 24, ns: 230 * MS });
        let said = held.said().expect("it was held");
        assert!(format!("{said:?}").contains("230000000"), "its figures stay typed: {said:?}");
    }

    #[test]
    fn waits_that_others_end_and_those_of_other_calls_are_none() {
        for (reason, call, waker) in [
            (State::Disk, "write", WakerKind::Device),
            (State::Disk, "fsync", WakerKind::Timer),
            (State::Disk, "read", WakerKind::Timer),
            (State::Pipe, "write", WakerKind::Timer),
        ] {
            let held = of(reason, call, waker);
            assert_eq!((held, held.said()), (HeldWrites::default(), None), "{reason:?} {call} {waker:?}");
        }
    }
}
