//! When the next snapshot is due, by what the last ones cost.

use model::Ns;

/// The interval between two snapshots, at first.
const PERIOD_NS_MIN: Ns = 1_000_000;
/// The longest interval between two snapshots.
const PERIOD_NS_MAX: Ns = 50_000_000;
/// The shortest interval holds for this time, within [`COST_SHARE_FIRST`]: most commands are short.
const EAGER_NS: Ns = 1_000_000_000;
/// Snapshots may take one part in this many of a CPU.
const COST_SHARE: Ns = 50;
/// The same in the first second.
const COST_SHARE_FIRST: Ns = 4;

/// The times of snapshots.
#[derive(Debug)]
pub(super) struct Pace {
    first_at: Option<Ns>,
    period_ns: Ns,
    due: Ns,
    random: u64,
}

impl Pace {
    /// The first snapshot is due at once. `seed` is of the program: two are not in step.
    pub(super) fn new(seed: u64) -> Self {
        Self { first_at: None, period_ns: PERIOD_NS_MIN, due: 0, random: 0x9e37_79b9_7f4a_7c15 ^ seed }
    }

    /// The current nominal interval between snapshots.
    pub(super) fn period(&self) -> Ns {
        self.period_ns
    }

    /// When the next snapshot is due, `CLOCK_MONOTONIC`.
    pub(super) fn due(&self) -> Ns {
        self.due
    }

    /// Schedules the next snapshot, from the cost of this one.
    pub(super) fn adapt(&mut self, at: Ns, took: Ns) {
        let first = *self.first_at.get_or_insert(at);
        let share = if at - first < EAGER_NS { COST_SHARE_FIRST } else { COST_SHARE };
        // One step at a time, so that one slow snapshot does not delay the next ones much.
        let wanted = (took * share).clamp(PERIOD_NS_MIN, PERIOD_NS_MAX);
        self.period_ns = wanted.clamp(self.period_ns / 2, self.period_ns * 2);
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let quarter = self.period_ns / 4;
        self.due = at + self.period_ns - quarter + self.random % (2 * quarter).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_cost_a_fiftieth_of_a_cpu_after_the_first_second() {
        let mut pace = Pace::new(1);
        // Expensive ones: at most a quarter at first, a fiftieth later.
        for at in 0..100 {
            pace.adapt(at, 1_000_000);
        }
        assert_eq!(pace.period(), 4_000_000);
        for at in 0..100 {
            pace.adapt(EAGER_NS + 1 + at, 1_000_000);
        }
        assert_eq!(pace.period(), PERIOD_NS_MAX);
        // Cheap ones: at the shortest interval.
        for at in 0..100 {
            pace.adapt(EAGER_NS + 1 + at, 10_000);
        }
        assert_eq!(pace.period(), PERIOD_NS_MIN);
        let distance = pace.due() - (EAGER_NS + 100);
        assert!((750_000..=1_250_000).contains(&distance), "{distance}");
    }
}
