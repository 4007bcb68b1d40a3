//! How often each instrument of the kernel half ran, what one run takes, and what tracing calls
//! took.

use model::Ns;

/// The cost of one sample of page faults.
const FAULT_NS: f64 = 8000.0;

/// What tracing one call takes: least, estimate, most.
pub(super) const CALL_NS: (f64, f64, f64) = (90.0, 200.0, 290.0);
/// What counting one call at its exit takes.
pub(super) const COUNT_NS: (f64, f64, f64) = (15.0, 45.0, 110.0);
/// What tracing one call takes while the kernel times it.
const TIMED_CALL_NS: (f64, f64, f64) = (190.0, 300.0, 400.0);

/// What that adds.
pub(super) const TIMING_NS: f64 = TIMED_CALL_NS.1 - CALL_NS.1;

/// What a call costs besides the two programs' run time, as long as the kernel times them: from
/// loops of `getppid` with and without them. The range is that of different machines, and of one
/// that is slower at times.
pub(super) const AROUND_NS: AroundNs = (40.0, 100.0, 160.0);
/// What entering and leaving the two programs takes: least, estimate, most.
pub(super) type AroundNs = (f64, f64, f64);

/// The run time of both, as the kernel times them, for a call of a thread that is not in the tree:
/// mostly the clock read that timing adds. The kernel sums up all threads.
const OUTSIDE_NS: (f64, f64) = (40.0, 115.0);
/// What entering and leaving them takes, of what a call of a thread outside the tree was seen to
/// take in all. Most of that is the kernel's way of calling them, which is the same for the tree's.
pub(super) fn around(outside_ns: f64) -> AroundNs {
    let (lo, hi) = OUTSIDE_NS;
    let less = |ns: f64| (outside_ns - ns).max(0.0);
    (less(hi), less(f64::midpoint(lo, hi)), less(lo))
}

/// With more calls of others for each of the tree's, less is known than without timing.
const OTHERS_MAX: u64 = 3;

/// Runs of each instrument so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InstrumentRuns {
    /// Calls whose entry and exit were traced.
    pub(super) calls: u64,
    /// All calls that were counted, those among them.
    pub(super) counted: u64,
    pub(super) switches: u64,
    pub(super) wakes: u64,
    pub(super) samples: u64,
    /// Samples of page faults.
    pub(super) faults: u64,
    /// Sends on sockets, with what goes through the network for them.
    pub(super) sends: u64,
    /// Runs of the programs that trace calls, where the kernel times them.
    pub(super) timed: Option<TimedRuns>,
}

/// The runs of the two programs that trace calls, of all threads of the host, while the kernel
/// timed them: how many pairs, and how long they took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TimedRuns {
    pub(super) pairs: u64,
    pub(super) ns: Ns,
}

/// Runs of the programs for switches, wake-ups, samples and sends.
pub(super) type Others = [TimedRuns; 4];

/// What tracing calls took of the tree's CPU time: estimate, low and high.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Overhead {
    pub(super) ns: f64,
    pub(super) lo_ns: f64,
    pub(super) hi_ns: f64,
}

impl InstrumentRuns {
    /// What it took to count calls that were not traced.
    pub(super) fn counting_ns(self, each: &EachNs) -> f64 {
        self.counted.saturating_sub(self.calls) as f64 * each.count
    }

    /// The overhead that cannot be avoided.
    pub(super) fn fixed_ns(self, each: &EachNs) -> f64 {
        let runs = [self.switches, self.wakes, self.samples, self.sends];
        let others = [each.switch, each.wake, each.sample, each.send];
        let sum: f64 = runs.iter().zip(others).map(|(runs, ns)| *runs as f64 * ns).sum();
        sum + self.faults as f64 * FAULT_NS
    }

    /// What tracing the calls since then took.
    pub(super) fn overhead_since(self, then: Self, around: AroundNs) -> Overhead {
        let calls = self.calls.saturating_sub(then.calls);
        let of_each = |(lo, each, hi): (f64, f64, f64)| {
            let of = |each: f64| calls as f64 * each;
            Overhead { ns: of(each), lo_ns: of(lo), hi_ns: of(hi) }
        };
        match self.timed.zip(then.timed) {
            Some((now, then)) => {
                now.since(then).overhead(calls, around).unwrap_or_else(|| of_each(TIMED_CALL_NS))
            }
            None => of_each(CALL_NS),
        }
    }
}

/// The cost of one run of each instrument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EachNs {
    /// A call while the kernel does not time it.
    pub(super) call: f64,
    /// The same where its exit alone is counted.
    pub(super) count: f64,
    pub(super) switch: f64,
    pub(super) wake: f64,
    pub(super) sample: f64,
    pub(super) send: f64,
}

impl EachNs {
    /// Where nothing is in a cache it takes up to ten times as long as in a loop, and not more.
    const TIMES_MAX: f64 = 10.0;
    /// Of fewer runs the mean is not known.
    const RUNS_MIN: u64 = 50;
    /// What entering a program takes, less the clock read that the kernel's timing has in it.
    const AROUND_NS: f64 = 20.0;

    /// The costs before anything is timed.
    pub(super) const TYPICAL: Self =
        Self { call: CALL_NS.1, count: COUNT_NS.1, switch: 150.0, wake: 150.0, sample: 2000.0, send: 400.0 };

    /// The costs as the kernel timed them between two moments.
    pub(super) fn measured(
        (from, others_from): (InstrumentRuns, Others),
        (to, others_to): (InstrumentRuns, Others),
    ) -> Self {
        let calls = to.calls.saturating_sub(from.calls);
        let of_call = to.overhead_since(from, AROUND_NS).ns / calls.max(1) as f64 - TIMING_NS;
        let typical = Self::TYPICAL;
        let within = |ns: f64, usual: f64| ns.clamp(usual / Self::TIMES_MAX, usual * Self::TIMES_MAX);
        let of_other = |place: usize, runs: u64, usual: f64| {
            if runs < Self::RUNS_MIN {
                return usual;
            }
            let TimedRuns { pairs, ns } = others_to[place].since(others_from[place]);
            let of_others = pairs.saturating_sub(runs) as f64 * f64::midpoint(OUTSIDE_NS.0, OUTSIDE_NS.1);
            within((ns as f64 - of_others) / runs as f64 + Self::AROUND_NS, usual)
        };
        Self {
            count: typical.count,
            call: if calls < Self::RUNS_MIN { typical.call } else { within(of_call, typical.call) },
            switch: of_other(0, to.switches.saturating_sub(from.switches), typical.switch),
            wake: of_other(1, to.wakes.saturating_sub(from.wakes), typical.wake),
            sample: of_other(2, to.samples.saturating_sub(from.samples), typical.sample),
            send: of_other(3, to.sends.saturating_sub(from.sends), typical.send),
        }
    }
}

impl TimedRuns {
    fn since(self, then: Self) -> Self {
        Self { pairs: self.pairs.saturating_sub(then.pairs), ns: self.ns.saturating_sub(then.ns) }
    }

    /// What the tree has of it with this many calls; none among many calls of others.
    fn overhead(self, calls: u64, (around_lo, around, around_hi): AroundNs) -> Option<Overhead> {
        let others = self.pairs.saturating_sub(calls) as f64;
        let (outside_lo, outside_hi) = OUTSIDE_NS;
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
        InstrumentRuns { calls: 7 + calls, timed, ..then }.overhead_since(then, AROUND_NS)
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

    #[test]
    fn costs_are_those_of_this_program_and_others_are_taken_off() {
        let timed = |pairs, ns| TimedRuns { pairs, ns };
        let from = InstrumentRuns { timed: Some(timed(0, 0)), ..InstrumentRuns::default() };
        let to = InstrumentRuns {
            calls: 1000,
            switches: 200,
            wakes: 100,
            samples: 49,
            sends: 100,
            timed: Some(timed(1000, 500_000)),
            ..from
        };
        let others =
            [timed(300, 200 * 600 + 100 * 77), timed(100, 100), timed(49, 900_000), timed(100, 90_000)];
        let each = EachNs::measured((from, Others::default()), (to, others));
        // 500 ns in both programs and 100 around them, less the 100 of timing; of 100 switches of
        // others 77 ns; 49 samples are too few.
        assert_eq!((each.call, each.wake, each.sample), (500.0, 21.0, EachNs::TYPICAL.sample));
        assert!((each.switch - 620.0).abs() < 1.0 && (each.send - 920.0).abs() < 1.0, "{each:?}");
        assert_eq!(EachNs::measured((from, Others::default()), (from, others)), EachNs::TYPICAL);
        let all = to.fixed_ns(&each);
        assert!((all - (200.0 * each.switch + 2100.0 + 49.0 * 2000.0 + 92_000.0)).abs() < 100.0, "{all}");
    }
}
