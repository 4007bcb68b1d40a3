//! What rungs are measured with: their time, the machine, and the sampling.

use model::Ns;
use model::ladder::{LadderRequest, Machine, Samples, Unmeasured};
use std::cell::Cell;
use sys::clock::monotonic_ns;

/// The least length of a sample: the clock's cost is small against it, and most samples are free of
/// interrupts.
const SAMPLE_NS: Ns = 20_000;
/// The most samples; if there is time for more, each is longer.
const SAMPLES_MAX: u64 = 20_000;
/// The least samples: a rung may exceed its time for them, but by no more than `OVERTIME_NS`.
const SAMPLES_LEAST: usize = 5;
const OVERTIME_NS: Ns = 50_000_000;
/// The part of a rung's time that is warm-up, without samples.
const WARM_UP: u64 = 8;
/// The interval of checks for an early end: each is a system call, which disturbs the measurement.
const CHECK_NS: Ns = 20_000_000;

/// The bench of one rung.
pub struct Bench<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// What was asked for.
    pub asked: &'a LadderRequest,
    /// Time for the samples of this rung, its warm-up included.
    pub budget_ns: Ns,
    /// The cost of one reading of the clock.
    pub clock_cost_ns: f64,
    stop: &'a dyn Fn() -> bool,
    next_check: Cell<Ns>,
    stopped: Cell<bool>,
}

impl std::fmt::Debug for Bench<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bench").field("budget_ns", &self.budget_ns).finish_non_exhaustive()
    }
}

impl<'a> Bench<'a> {
    /// A bench for one rung; `stop` is true if it should end early.
    pub fn new(
        machine: &'a Machine,
        asked: &'a LadderRequest,
        budget_ns: Ns,
        clock_cost_ns: f64,
        stop: &'a dyn Fn() -> bool,
    ) -> Self {
        let (next_check, stopped) = (Cell::new(0), Cell::new(false));
        Self { machine, asked, budget_ns, clock_cost_ns, stop, next_check, stopped }
    }

    /// The same bench with a part of the time: for a rung of several parts.
    pub fn with_budget(&self, budget_ns: Ns) -> Bench<'a> {
        Bench::new(self.machine, self.asked, budget_ns, self.clock_cost_ns, self.stop)
    }

    /// Whether it should end now. Cheap enough for a call after each sample.
    pub fn stopped(&self) -> bool {
        let now = monotonic_ns();
        if now >= self.next_check.get() && !self.stopped.get() {
            self.next_check.set(now + CHECK_NS);
            self.stopped.set((self.stop)());
        }
        self.stopped.get()
    }

    /// Times `batch`, which does a given number of operations, repeatedly.
    ///
    /// # Errors
    /// What the batch says, or that it was stopped before there was anything.
    pub fn sample(
        &self,
        mut batch: impl FnMut(u64) -> Result<(), Unmeasured>,
    ) -> Result<Samples, Unmeasured> {
        self.sample_timed(|ops| {
            let from = monotonic_ns();
            batch(ops)?;
            Ok(monotonic_ns() - from)
        })
    }

    /// The same for a batch that says itself how long its operations took: where there is something
    /// to prepare before each, or another clock. Of another clock, set `clock_cost_ns` of the
    /// samples to 0.
    ///
    /// # Errors
    /// As above.
    pub fn sample_timed(
        &self,
        mut batch: impl FnMut(u64) -> Result<Ns, Unmeasured>,
    ) -> Result<Samples, Unmeasured> {
        let begun = monotonic_ns();
        let sample_ns = SAMPLE_NS.max(self.budget_ns / SAMPLES_MAX);
        let ops = self.calibrate(sample_ns, &mut batch)?;
        while monotonic_ns() - begun < self.budget_ns / WARM_UP && !self.stopped() {
            batch(ops)?;
        }
        let mut samples =
            Samples { ops_per_sample: ops, clock_cost_ns: self.clock_cost_ns, ..Samples::default() };
        samples.per_op_ns.reserve(SAMPLES_MAX as usize);
        loop {
            if self.stopped() {
                break;
            }
            samples.per_op_ns.push(batch(ops)? as f64 / ops as f64);
            let spent = monotonic_ns() - begun;
            let enough =
                samples.per_op_ns.len() >= SAMPLES_LEAST || spent >= 4 * self.budget_ns + OVERTIME_NS;
            if spent >= self.budget_ns && enough {
                break;
            }
        }
        if samples.per_op_ns.is_empty() { Err(interrupted()) } else { Ok(samples) }
    }

    /// Times two batches in alternation, so that drift affects both: the second is the baseline.
    ///
    /// # Errors
    /// As above.
    pub fn sample_against(
        &self,
        mut batch: impl FnMut(u64) -> Result<Ns, Unmeasured>,
        mut baseline: impl FnMut(u64) -> Result<Ns, Unmeasured>,
    ) -> Result<Samples, Unmeasured> {
        let mut baselines = Vec::with_capacity(SAMPLES_MAX as usize);
        let mut samples = self.sample_timed(|ops| {
            baselines.push(baseline(ops)? as f64 / ops as f64);
            batch(ops)
        })?;
        // Baselines of the warm-up and the calibration have no sample.
        samples.baseline_ns = baselines.split_off(baselines.len() - samples.per_op_ns.len());
        Ok(samples)
    }

    /// The number of operations for a sample of the given length; at least one.
    fn calibrate(
        &self,
        sample_ns: Ns,
        batch: &mut impl FnMut(u64) -> Result<Ns, Unmeasured>,
    ) -> Result<u64, Unmeasured> {
        let mut ops = 1;
        // The first time is always slow: pages, caches, name lookups.
        batch(ops)?;
        loop {
            // The smallest of three, since an interrupted one would seem long enough.
            let mut took = Ns::MAX;
            for _ in 0..3 {
                took = took.min(batch(ops)?.max(1));
                if took < sample_ns || self.stopped() {
                    break;
                }
            }
            if took >= sample_ns || self.stopped() {
                return Ok(ops);
            }
            // Grown in steps: an estimate from a few operations is rough.
            let wanted = (ops as f64 * sample_ns as f64 / took as f64).ceil() as u64;
            ops = wanted.clamp(ops + 1, ops * 16);
        }
    }
}

/// Ended before there was a sample.
pub(crate) fn interrupted() -> Unmeasured {
    Unmeasured::Unseen("interrupted before its turn".into())
}

/// The system refused a thread.
pub(crate) fn without_thread(error: &std::io::Error) -> Unmeasured {
    Unmeasured::Unseen(format!("cannot start a thread: {error}"))
}

/// The cost of one reading of the clock in ns: the median over short series.
pub(crate) fn clock_cost_ns() -> f64 {
    const READS: u32 = 64;
    let mut costs: Vec<f64> = (0..200)
        .map(|_| {
            let from = monotonic_ns();
            let mut last = from;
            for _ in 0..READS {
                last = monotonic_ns();
            }
            (last - from) as f64 / f64::from(READS)
        })
        .collect();
    costs.sort_unstable_by(f64::total_cmp);
    costs[costs.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;

    fn bench<T>(budget_ns: Ns, stop: &dyn Fn() -> bool, of: impl FnOnce(&Bench) -> T) -> T {
        let (machine, asked) = (machine(), LadderRequest::default());
        of(&Bench::new(&machine, &asked, budget_ns, clock_cost_ns(), stop))
    }

    #[test]
    fn what_is_slow_is_measured_one_by_one_and_what_is_fast_in_batches() {
        bench(30_000_000, &|| false, |bench| {
            let slow = bench.sample_timed(|ops| Ok(ops * 1_000_000)).unwrap();
            assert_eq!(slow.ops_per_sample, 1);
            assert!(slow.per_op_ns.iter().all(|ns| *ns == 1e6));
            let fast = bench.sample_timed(Ok).unwrap();
            assert!((SAMPLE_NS..SAMPLE_NS * 2).contains(&fast.ops_per_sample), "{}", fast.ops_per_sample);
        });
    }

    #[test]
    fn a_baseline_belongs_to_the_sample_of_its_turn() {
        let turn = Cell::new(0);
        bench(20_000_000, &|| false, |bench| {
            let samples = bench
                .sample_against(
                    |_| Ok(SAMPLE_NS + turn.get()),
                    |_| {
                        turn.set(turn.get() + 1);
                        Ok(turn.get())
                    },
                )
                .unwrap();
            assert_eq!(samples.baseline_ns.len(), samples.per_op_ns.len());
            let pairs = samples.per_op_ns.iter().zip(&samples.baseline_ns);
            assert!(pairs.into_iter().all(|(ns, less)| ns - less == SAMPLE_NS as f64));
        });
    }

    #[test]
    fn what_is_stopped_before_its_first_sample_says_so() {
        bench(1 << 40, &|| true, |bench| {
            assert_eq!(bench.sample(|_| Ok(())), Err(interrupted()));
        });
    }

    #[test]
    fn reading_the_clock_costs_something() {
        assert!(clock_cost_ns() > 0.5, "{}", clock_cost_ns());
    }
}
