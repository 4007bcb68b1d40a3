//! Time on a CPU outside calls, split by samples: a thread's own code, its faults, its ways into
//! calls and out. While calls are not traced, the calls themselves.
//!
//! No event marks the end of a fault on a stock kernel, and the events of a call come after its
//! entry and before its exit; so this is the one split that is sampled. Interrupts that came in a
//! thread's own time count with its code (states have no other place for them); how many there were
//! is said in the coverage.

use model::profile::Activity;
use model::recording::SampleMode;
use model::{Ns, State};
use stats::{Proportion, wilson, wilson_of};

/// What a sample fell into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    User,
    Fault,
    Interrupt,
    Entry,
    /// In a call. Without BPF, any code of the kernel: which is not known there.
    Call,
}

impl From<SampleMode> for Kind {
    fn from(mode: SampleMode) -> Self {
        match mode {
            SampleMode::User => Kind::User,
            SampleMode::Call(_) | SampleMode::Kernel => Kind::Call,
            SampleMode::Fault => Kind::Fault,
            SampleMode::Interrupt => Kind::Interrupt,
            SampleMode::Entry => Kind::Entry,
        }
    }
}

impl Kind {
    /// Whose code it is, for the tree of calls. None where it is neither the thread's nor done for
    /// it.
    pub(crate) fn doing(self) -> Option<Activity> {
        match self {
            Kind::User => Some(Activity::User),
            Kind::Fault | Kind::Entry | Kind::Call => Some(Activity::Kernel),
            Kind::Interrupt => None,
        }
    }
}

/// How many kinds there are, and one more: the sum of the squared weights.
pub(crate) const KINDS: usize = 6;
const SQUARES: usize = 5;

/// Samples by [`Kind`], each with its weight: the time it stands for, in periods of the fastest
/// clock.
pub(crate) type Counts = [u64; KINDS];

/// One sample of this weight.
pub(crate) fn one(kind: Kind, weight: u32) -> [u32; KINDS] {
    let mut counts = [0; KINDS];
    counts[kind as usize] = weight;
    counts[SQUARES] = weight.saturating_mul(weight);
    counts
}

/// All weights.
pub(crate) fn sum(counts: Counts) -> u64 {
    counts[..SQUARES].iter().sum()
}

/// Adds counts.
pub(crate) fn add<T: Copy + Into<u64>>(sum: &mut Counts, more: [T; KINDS]) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more.into());
}

/// An interval of a thread's own time, split. Sums to the interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) user: Ns,
    pub(crate) fault: Ns,
    pub(crate) entry: Ns,
    pub(crate) call: Ns,
}

/// Splits `ns` by the first of these counts that has a sample. Without any, all of it is taken for
/// user, and the interval says how little that is known.
pub(crate) fn split(ns: Ns, counts: [Counts; 3]) -> Own {
    let counts = counts.into_iter().find(|counts| sum(*counts) > 0).unwrap_or_default();
    let all = sum(counts);
    let share = |kind: Kind| match all {
        0 => 0,
        all => (u128::from(ns) * u128::from(counts[kind as usize]) / u128::from(all)) as Ns,
    };
    let (fault, entry, call) = (share(Kind::Fault), share(Kind::Entry), share(Kind::Call));
    Own { user: ns - fault - entry - call, fault, entry, call }
}

/// How much of a fault may be taken for what follows it. It ends with interrupts off, so a sample
/// that is due then is taken a moment later, in user code. Seen here: 230 ns a fault, in a virtual
/// machine, where returning is expensive.
const LATE_NS: Ns = 500;

/// How much of `own_ns` may be faults though it was sampled as user, after this number of faults.
pub(crate) fn late(faults: u64, own_ns: Ns) -> Ns {
    (faults * LATE_NS).min(own_ns)
}

/// The 95 % interval of the part of `own_ns` that is `ns` by estimate: the samples' interval,
/// stretched to hold the estimate, which is made thread by thread, and by what may have been
/// sampled `late`.
pub(crate) fn interval(state: State, ns: Ns, own_ns: Ns, counts: Counts, late: Ns) -> (Ns, Ns) {
    let all = sum(counts);
    let hits = match state {
        State::Fault => counts[Kind::Fault as usize],
        State::Kernel => counts[Kind::Entry as usize] + counts[Kind::Call as usize],
        _ => counts[Kind::User as usize] + counts[Kind::Interrupt as usize],
    };
    let Proportion { lo, hi, .. } = match (all as f64, counts[SQUARES] as f64) {
        (0.0, _) => wilson(0, 0),
        (all, squares) => wilson_of(hits as f64 / all, all * all / squares),
    };
    let scaled = |share: f64| (share * own_ns as f64).round() as Ns;
    let (mut lo, mut hi) = (scaled(lo).min(ns), scaled(hi).max(ns));
    match state {
        State::Fault => hi += late,
        State::User => lo = lo.saturating_sub(late),
        _ => {}
    }
    (lo, hi.min(own_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Counts = [0; KINDS];

    #[test]
    fn without_samples_everything_is_user_and_nothing_is_known() {
        assert_eq!(split(100, [NONE; 3]), Own { user: 100, fault: 0, entry: 0, call: 0 });
        assert_eq!(interval(State::User, 100, 100, NONE, 0), (0, 100));
        assert_eq!(interval(State::Fault, 0, 100, NONE, 0), (0, 100));
    }

    #[test]
    fn what_may_have_been_sampled_late_widens_both_intervals_towards_each_other() {
        let counts = [20, 80, 0, 0, 0, 100];
        let (lo, hi) = interval(State::Fault, 800, 1000, counts, 0);
        assert_eq!(interval(State::Fault, 800, 1000, counts, 30), (lo, hi + 30));
        let (lo, hi) = interval(State::User, 200, 1000, counts, 0);
        assert_eq!(interval(State::User, 200, 1000, counts, 30), (lo - 30, hi));
        assert_eq!(late(1 << 40, 1000), 1000);
    }

    #[test]
    fn samples_of_a_slower_clock_count_for_more_and_are_not_surer_for_it() {
        let fast = interval(State::Fault, 500, 1000, [50, 50, 0, 0, 0, 100], 0);
        let slow = interval(State::Fault, 500, 1000, [300, 300, 0, 0, 0, 100 * 36], 0);
        assert_eq!(fast, slow);
        assert_eq!(one(Kind::Fault, 6), [0, 6, 0, 0, 0, 36]);
    }

    #[test]
    fn the_nearest_samples_decide_and_the_parts_sum() {
        let own = split(1001, [NONE, [1, 1, 0, 1, 1, 4], [100, 0, 0, 0, 0, 100]]);
        assert_eq!(own, Own { user: 251, fault: 250, entry: 250, call: 250 });
    }
}
