//! The threshold from which a wake-up is reported as late during the measurement.

use model::Ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The number of largest latencies to report by default.
const LARGEST: usize = 16;

/// The threshold of spikes.
#[derive(Debug)]
pub(crate) enum Threshold {
    /// Given by the user.
    Given(Ns),
    /// The largest latencies so far, but at least twice the median, so that a machine with constant
    /// latency has no spikes.
    Largest(BinaryHeap<Reverse<Ns>>),
}

impl Threshold {
    pub(crate) fn new(given_ns: Option<Ns>) -> Self {
        given_ns.map_or_else(|| Self::Largest(BinaryHeap::with_capacity(LARGEST + 1)), Self::Given)
    }

    /// The threshold now. At first every wake-up passes it.
    pub(crate) fn ns(&self, median_ns: Ns) -> Ns {
        match self {
            Self::Given(given_ns) => *given_ns,
            Self::Largest(largest) => {
                let full = largest.len() == LARGEST;
                let least_ns = largest.peek().filter(|_| full).map_or(0, |Reverse(ns)| ns + 1);
                least_ns.max(2 * median_ns)
            }
        }
    }

    /// Whether a wake-up with this latency is reported; if so, it counts for the threshold.
    pub(crate) fn take(&mut self, late_ns: Ns, median_ns: Ns) -> bool {
        if late_ns < self.ns(median_ns) {
            return false;
        }
        if let Self::Largest(largest) = self {
            largest.push(Reverse(late_ns));
            if largest.len() > LARGEST {
                largest.pop();
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_reported_and_the_threshold_rises() {
        let mut threshold = Threshold::new(None);
        assert!(!threshold.take(19, 10) && threshold.take(20, 10));
        (0..15).for_each(|more| assert!(threshold.take(100 + more, 10)));
        assert_eq!(threshold.ns(10), 21);
        assert!(!threshold.take(20, 10) && threshold.take(500, 10));
        assert_eq!(threshold.ns(10), 101);
        assert_eq!(threshold.ns(300), 600);
    }

    #[test]
    fn a_given_threshold_stays() {
        let mut threshold = Threshold::new(Some(50));
        (0..100).for_each(|_| assert!(threshold.take(50, 1_000)));
        assert!(!threshold.take(49, 1));
    }
}
