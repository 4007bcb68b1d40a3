//! The sampling period of wait stacks, in blocked time: short at first, longer where there are many
//! waits.

use super::maps;
use super::wire::Setting;
use aya::Ebpf;
use model::Ns;

/// At first, and at most.
const SHORTEST_NS: Ns = 500_000;
const LONGEST_NS: Ns = 1_000_000_000;
/// The shortest time between two changes of the period.
const WINDOW_NS: Ns = 250_000_000;
/// The number of stacks in that time that is too high (800 per second), and the number below which
/// the period is shortened.
const MANY: u64 = 200;
const FEW: u64 = 50;

/// The period, and the number of stacks that it gives.
#[derive(Debug)]
pub(super) struct WaitPeriod {
    period_ns: Ns,
    since: Ns,
    /// Stacks of waits since the last check.
    pub(super) taken: u64,
}

impl WaitPeriod {
    pub(super) fn new(now: Ns) -> Self {
        Self { period_ns: SHORTEST_NS, since: now, taken: 0 }
    }

    /// Adapts the period. Returns whether it has changed.
    pub(super) fn fit(&mut self, now: Ns) -> bool {
        if now.saturating_sub(self.since) < WINDOW_NS {
            return false;
        }
        let before = self.period_ns;
        if self.taken > MANY {
            // In proportion at once: ten thousand threads may start to block.
            self.period_ns = (before * (self.taken / MANY + 1)).min(LONGEST_NS);
        } else if self.taken < FEW {
            self.period_ns = (before / 2).max(SHORTEST_NS);
        }
        self.taken = 0;
        self.since = now;
        self.period_ns != before
    }

    /// Sets the period for the kernel half. None when the map lacks the entry.
    pub(super) fn set(&self, ebpf: &mut Ebpf) -> Option<()> {
        maps::set(ebpf, Setting::WaitPeriodNs, self.period_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_many_and_shrinks_with_few() {
        let mut waits = WaitPeriod::new(0);
        waits.taken = 10 * MANY;
        assert!(!waits.fit(WINDOW_NS - 1));
        assert!(waits.fit(WINDOW_NS));
        assert_eq!((waits.period_ns, waits.taken), (11 * SHORTEST_NS, 0));
        waits.taken = (FEW + MANY) / 2;
        assert!(!waits.fit(2 * WINDOW_NS));
        assert!(waits.fit(3 * WINDOW_NS));
        for window in 4..10 {
            waits.fit(window * WINDOW_NS);
        }
        assert_eq!(waits.period_ns, SHORTEST_NS);
        waits.taken = u64::from(u32::MAX);
        assert!(waits.fit(20 * WINDOW_NS));
        assert_eq!(waits.period_ns, LONGEST_NS);
    }
}
