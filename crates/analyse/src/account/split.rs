//! Time on a CPU outside calls, split by samples: a thread's own code, its faults, interrupts over
//! both, its ways into calls and out. While calls are not traced, the calls themselves.
//!
//! No event marks the end of a fault on a stock kernel, and the events of a call come after its
//! entry and before its exit; so this is the one split that is sampled.

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
    /// In a call, or in a softirq during one. Without BPF, any code of the kernel: which is not
    /// known there.
    Call,
}

impl From<SampleMode> for Kind {
    fn from(mode: SampleMode) -> Self {
        match mode {
            SampleMode::User => Kind::User,
            // Which of an old recording's softirqs were in calls is not known. Most are: loopback
            // receives in the sender's call.
            SampleMode::Call(_)
            | SampleMode::Kernel
            | SampleMode::InterruptInCall(_)
            | SampleMode::Interrupt => Kind::Call,
            SampleMode::Fault => Kind::Fault,
            SampleMode::InterruptOutside => Kind::Interrupt,
            SampleMode::Entry => Kind::Entry,
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

/// All weights squared.
pub(crate) fn squares(counts: Counts) -> u64 {
    counts[SQUARES]
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
    pub(crate) interrupt: Ns,
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
    let (fault, interrupt) = (share(Kind::Fault), share(Kind::Interrupt));
    let (entry, call) = (share(Kind::Entry), share(Kind::Call));
    Own { user: ns - fault - interrupt - entry - call, fault, interrupt, entry, call }
}

/// What may have been sampled as user code though it was not, in nanoseconds. The way back to user
/// code has interrupts off, so a sample that is due there is taken a moment later, in user code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Late {
    /// Ends of faults.
    pub(crate) faults_ns: Ns,
    /// Exits of calls.
    pub(crate) calls_ns: Ns,
}

/// The end of a fault. Seen here: 230 ns, in a virtual machine, where returning is expensive.
const LATE_FAULT_NS: Ns = 500;
/// The exit of a call. Seen here: 45 ns (perf's clock has 50 ns of each getppid in user code that
/// has 5), on a CPU that need not change page tables there.
const LATE_CALL_NS: Ns = 120;

impl Late {
    /// After this many faults and calls.
    pub(crate) fn after(faults: u64, calls: u64) -> Self {
        Self { faults_ns: faults * LATE_FAULT_NS, calls_ns: calls * LATE_CALL_NS }
    }

    /// The part of it that `part_ns` of `own_ns` have.
    pub(crate) fn in_part(self, part_ns: Ns, own_ns: Ns) -> Self {
        let part = |late: Ns| {
            let part = (u128::from(late) * u128::from(part_ns)).checked_div(u128::from(own_ns));
            part.unwrap_or(0).min(u128::from(part_ns)) as Ns
        };
        Self { faults_ns: part(self.faults_ns), calls_ns: part(self.calls_ns) }
    }

    /// The interval of a part of `own_ns` that may have more, or less, by this.
    fn widen(self, state: Option<State>, (mut lo, mut hi): (Ns, Ns), own_ns: Ns) -> (Ns, Ns) {
        match state {
            Some(State::Fault) => hi += self.faults_ns,
            Some(State::Kernel) => hi += self.calls_ns,
            Some(State::User) => lo = lo.saturating_sub(self.faults_ns + self.calls_ns),
            _ => {}
        }
        (lo, hi.min(own_ns))
    }
}

/// The 95 % interval of the part of `own_ns` that is `ns` by estimate: the samples' interval,
/// stretched to hold the estimate, which is made thread by thread, and by what may have been
/// sampled `late`.
pub(crate) fn interval(state: State, ns: Ns, own_ns: Ns, counts: Counts, late: Late) -> (Ns, Ns) {
    let hits = match state {
        State::Fault => counts[Kind::Fault as usize],
        State::Interrupt => counts[Kind::Interrupt as usize],
        State::Kernel => counts[Kind::Entry as usize] + counts[Kind::Call as usize],
        _ => counts[Kind::User as usize],
    };
    let share = hits as f64 / sum(counts).max(1) as f64;
    late.widen(Some(state), interval_of(share, ns, own_ns, counts), own_ns)
}

/// The same of a part that is known by the time that its samples stand for. `state`: the one that
/// it is, if it is one.
pub(crate) fn interval_of_time(
    state: Option<State>,
    ns: Ns,
    own_ns: Ns,
    counts: Counts,
    late: Late,
) -> (Ns, Ns) {
    let ns = ns.min(own_ns);
    let share = ns as f64 / own_ns.max(1) as f64;
    late.widen(state, interval_of(share, ns, own_ns, counts), own_ns)
}

/// The interval of a share of the samples as time, stretched to hold `ns`.
fn interval_of(share: f64, ns: Ns, own_ns: Ns, counts: Counts) -> (Ns, Ns) {
    let Proportion { lo, hi, .. } = match (sum(counts) as f64, counts[SQUARES] as f64) {
        (0.0, _) => wilson(0, 0),
        (all, squares) => wilson_of(share, all * all / squares),
    };
    let scaled = |share: f64| (share * own_ns as f64).round() as Ns;
    (scaled(lo).min(ns), scaled(hi).max(ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Counts = [0; KINDS];

    #[test]
    fn without_samples_everything_is_user_and_nothing_is_known() {
        assert_eq!(split(100, [NONE; 3]), Own { user: 100, fault: 0, interrupt: 0, entry: 0, call: 0 });
        assert_eq!(interval(State::User, 100, 100, NONE, Late::default()), (0, 100));
        assert_eq!(interval(State::Fault, 0, 100, NONE, Late::default()), (0, 100));
    }

    #[test]
    fn what_may_have_been_sampled_late_widens_both_intervals_towards_each_other() {
        let counts = [20, 70, 0, 10, 0, 100];
        let late = Late { faults_ns: 30, calls_ns: 7 };
        let of = |state, ns, late| interval(state, ns, 1000, counts, late);
        let (lo, hi) = of(State::Fault, 700, Late::default());
        assert_eq!(of(State::Fault, 700, late), (lo, hi + 30));
        let (lo, hi) = of(State::Kernel, 100, Late::default());
        assert_eq!(of(State::Kernel, 100, late), (lo, hi + 7));
        let (lo, hi) = of(State::User, 200, Late::default());
        assert_eq!(of(State::User, 200, late), (lo - 37, hi));
        assert_eq!(Late::after(1 << 40, 2).in_part(1000, 1000), Late { faults_ns: 1000, calls_ns: 240 });
        assert_eq!(Late::after(2, 4).in_part(1000, 10_000), Late { faults_ns: 100, calls_ns: 48 });
        assert_eq!(Late::after(1, 1).in_part(0, 0), Late::default());
    }

    #[test]
    fn samples_of_a_slower_clock_count_for_more_and_are_not_surer_for_it() {
        let of = |counts| interval(State::Fault, 500, 1000, counts, Late::default());
        let fast = of([50, 50, 0, 0, 0, 100]);
        let slow = of([300, 300, 0, 0, 0, 100 * 36]);
        assert_eq!(fast, slow);
        assert_eq!(one(Kind::Fault, 6), [0, 6, 0, 0, 0, 36]);
    }

    #[test]
    fn time_that_samples_stand_for_is_as_sure_as_they_are() {
        let counts = [20, 70, 0, 10, 0, 100];
        let late = Late { faults_ns: 30, calls_ns: 7 };
        let of = |state, ns| interval_of_time(state, ns, 1000, counts, late);
        assert_eq!(of(Some(State::Fault), 700), interval(State::Fault, 700, 1000, counts, late));
        assert_eq!(of(Some(State::User), 200), interval(State::User, 200, 1000, counts, late));
        assert_eq!(of(None, 100), interval(State::Kernel, 100, 1000, counts, Late::default()));
        assert_eq!(of(Some(State::User), 1007), of(Some(State::User), 1000), "no more than there is");
        assert_eq!(interval_of_time(None, 10, 1000, NONE, late), (0, 1000), "nothing is known");
        let all: Vec<_> = (0..=1000).map(|ns| of(None, ns)).collect();
        assert!(all.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 <= two[1].1), "{all:?}");
    }

    #[test]
    fn the_nearest_samples_decide_and_the_parts_sum() {
        let own = split(1001, [NONE, [1, 1, 0, 1, 1, 4], [100, 0, 0, 0, 0, 100]]);
        assert_eq!(own, Own { user: 251, fault: 250, interrupt: 0, entry: 250, call: 250 });
    }

    #[test]
    fn interrupts_are_not_the_programs_code() {
        let counts = [50, 0, 50, 0, 0, 100];
        let own = split(1000, [counts; 3]);
        assert_eq!((own.user, own.interrupt), (500, 500));
        let (lo, hi) = interval(State::User, 500, 1000, counts, Late::default());
        assert!(lo > 390 && hi < 610, "{lo} {hi}");
        // One in a call is time of the call, which is measured.
        assert_eq!(Kind::from(SampleMode::InterruptInCall(model::Call(1))), Kind::Call);
    }
}
