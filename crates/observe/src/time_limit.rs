//! The time that a program has: then it is asked to end, as Ctrl-C does, and ended if it goes on.

use model::{Ns, Pid};
use std::time::Duration;
use sys::signals::{interrupt, kill};

/// The time that a program has to end in order.
const GRACE_NS: Ns = 2_000_000_000;

/// When to do what.
#[derive(Debug)]
pub(crate) struct TimeLimit {
    next: Option<(Ns, Step)>,
}

/// What is done to a program that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Interrupt,
    Kill,
}

impl TimeLimit {
    /// The time begins now.
    pub(crate) fn begin(now: Ns, after: Duration) -> Self {
        let after = u64::try_from(after.as_nanos()).unwrap_or(Ns::MAX);
        Self { next: Some((now.saturating_add(after), Step::Interrupt)) }
    }

    /// How long there is nothing to do; none if there is nothing left to be done.
    pub(crate) fn left(&self, now: Ns) -> Option<Duration> {
        self.next.map(|(at, _)| Duration::from_nanos(at.saturating_sub(now)))
    }

    /// What is to be done now, once.
    pub(crate) fn due(&mut self, now: Ns) -> Option<Step> {
        let (_, step) = self.next.filter(|(at, _)| now >= *at)?;
        self.next = match step {
            Step::Interrupt => Some((now + GRACE_NS, Step::Kill)),
            Step::Kill => None,
        };
        Some(step)
    }
}

impl Step {
    /// Does it to all of these: Ctrl-C reaches the children of a program as well.
    pub(crate) fn take(self, processes: &[Pid]) {
        let send = match self {
            Self::Interrupt => interrupt,
            Self::Kill => kill,
        };
        processes.iter().for_each(|pid| send(*pid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_asked_first_and_killed_later_and_each_once() {
        let mut limit = TimeLimit::begin(5, Duration::from_nanos(10));
        assert_eq!((limit.due(14), limit.left(14)), (None, Some(Duration::from_nanos(1))));
        assert_eq!(limit.due(15), Some(Step::Interrupt));
        assert_eq!((limit.due(16), limit.left(15)), (None, Some(Duration::from_nanos(GRACE_NS))));
        assert_eq!(limit.due(15 + GRACE_NS), Some(Step::Kill));
        assert_eq!((limit.due(Ns::MAX), limit.left(Ns::MAX)), (None, None));
    }
}
