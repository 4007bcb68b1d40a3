//! How often each instrument of the kernel half ran, what that takes at least, and what tracing
//! calls took.

use model::Ns;

/// The cost of one run of each instrument, within the ranges of [`super::Bpf::cost`].
const SWITCH_NS: Ns = 150;
const WAKE_NS: Ns = 150;
const SAMPLE_NS: Ns = 2000;
const FAULT_NS: Ns = 8000;

/// What tracing one call takes: least, estimate, most.
pub(super) const CALL_NS: (f64, f64, f64) = (90.0, 200.0, 290.0);
/// The same while the kernel times it.
pub(super) const TIMED_CALL_NS: (f64, f64, f64) = (190.0, 300.0, 400.0);

/// What a call costs besides the two programs' run time, as long as the kernel times them: from
/// loops of `getppid` with and without them. The range is that of different machines, and of one
/// that is slower at times.
const AROUND_NS: (f64, f64, f64) = (40.0, 100.0, 160.0);

/// The run time of both, as the kernel times them, for a call of a thread that is not in the tree:
/// mostly the clock read that timing adds. The kernel sums up all threads.
const OUTSIDE_NS: (f64, f64) = (40.0, 115.0);
/// With more calls of others for each of the tree's, less is known than without timing.
const OTHERS_MAX: u64 = 3;

/// Runs of each instrument so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InstrumentRuns {
    pub(super) calls: u64,
    pub(super) switches: u64,
    pub(super) wakes: u64,
    pub(super) samples: u64,
    /// Samples of page faults.
    pub(super) faults: u64,
    /// Of the programs that trace calls, where the kernel times them.
    pub(super) timed: Option<TimedRuns>,
}

/// The runs of the two programs that trace calls, of all threads of the host, while the kernel
/// timed them: how many pairs, and how long they took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TimedRuns {
    pub(super) pairs: u64,
    pub(super) ns: Ns,
}

/// What tracing calls took of the tree's CPU time: estimate, low and high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Overhead {
    pub(super) ns: f64,
    pub(super) lo_ns: f64,
    pub(super) hi_ns: f64,
}

impl InstrumentRuns {
    /// The overhead that cannot be avoided.
    pub(super) fn fixed_ns(self) -> Ns {
        self.switches * SWITCH_NS + self.wakes * WAKE_NS + self.samples * SAMPLE_NS + self.faults * FAULT_NS
    }

    /// What tracing the calls since then took.
    pub(super) fn overhead_since(self, then: Self) -> Overhead {
        let calls = self.calls.saturating_sub(then.calls);
        let of_each = |(lo, each, hi): (f64, f64, f64)| {
            let of = |each: f64| calls as f64 * each;
            Overhead { ns: of(each), lo_ns: of(lo), hi_ns: of(hi) }
        };
        match self.timed.zip(then.timed) {
            Some((now, then)) => now.since(then).overhead(calls).unwrap_or_else(|| of_each(TIMED_CALL_NS)),
            None => of_each(CALL_NS),
        }
    }
}

impl TimedRuns {
    fn since(self, then: Self) -> Self {
        Self { pairs: self.pairs.saturating_sub(then.pairs), ns: self.ns.saturating_sub(then.ns) }
    }

    /// What the tree has of it with so many calls; none among many calls of others.
    fn overhead(self, calls: u64) -> Option<Overhead> {
        let others = self.pairs.saturating_sub(calls) as f64;
        let (outside_lo, outside_hi) = OUTSIDE_NS;
        let (around_lo, around, around_hi) = AROUND_NS;
        let of = |outside: f64, around: f64| self.ns as f64 - others * outside + calls as f64 * around;
        let known = others <= (OTHERS_MAX * calls) as f64 && self.ns as f64 >= others * outside_hi;
        known.then(|| Overhead {
            ns: of(f64::midpoint(outside_lo, outside_hi), around),
            lo_ns: of(outside_hi, around_lo),
            hi_ns: of(outside_lo, around_hi),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overhead(calls: u64, pairs: u64, ns: Ns) -> Overhead {
        let then = InstrumentRuns { calls: 7, timed: Some(TimedRuns { pairs: 9, ns: 10 }), ..<_>::default() };
        let timed = Some(TimedRuns { pairs: 9 + pairs, ns: 10 + ns });
        InstrumentRuns { calls: 7 + calls, timed, ..then }.overhead_since(then)
    }

    #[test]
    fn calls_of_other_programs_do_not_make_those_of_the_tree_dear() {
        let alone = overhead(1000, 1000, 180_000);
        assert_eq!((alone.ns, alone.lo_ns, alone.hi_ns), (280e3, 220e3, 340e3));
        let beside = overhead(1000, 2000, 180_000 + 77_500);
        assert_eq!((beside.ns, beside.lo_ns, beside.hi_ns), (280e3, 182_500.0, 377_500.0));
        let untimed = overhead(400, 10_000, 700_000);
        assert_eq!((untimed.ns, untimed.lo_ns, untimed.hi_ns), (120e3, 76e3, 160e3), "mostly others'");
        // Others' may take longer than they do as a rule.
        let none = Overhead { ns: 0.0, lo_ns: 0.0, hi_ns: 0.0 };
        assert_eq!([70_000, 150_000].map(|ns| overhead(0, 1000, ns)), [none, none]);
    }
}
