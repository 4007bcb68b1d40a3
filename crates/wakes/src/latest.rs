//! Which wake-ups are told as late while the measurement runs.

use model::Ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// As many are of interest at a time.
const LATEST: usize = 16;

/// From which lateness on a wake-up is told.
#[derive(Debug)]
pub(crate) enum Latest {
    /// As asked.
    From(Ns),
    /// One of the latest so far, and at least twice the median: of a machine that is always equally late, none.
    Of(BinaryHeap<Reverse<Ns>>),
}

impl Latest {
    pub(crate) fn new(given_ns: Option<Ns>) -> Self {
        given_ns.map_or_else(|| Self::Of(BinaryHeap::with_capacity(LATEST + 1)), Self::From)
    }

    /// Before anything is known, every wake-up is a candidate.
    pub(crate) fn threshold_ns(&self, median_ns: Ns) -> Ns {
        match self {
            Self::From(given_ns) => *given_ns,
            Self::Of(latest) => {
                let full = latest.len() == LATEST;
                let least_ns = latest.peek().filter(|_| full).map_or(0, |Reverse(ns)| ns + 1);
                least_ns.max(2 * median_ns)
            }
        }
    }

    /// Whether a wake-up so late is told; if so, it is one of the latest from now on.
    pub(crate) fn take(&mut self, late_ns: Ns, median_ns: Ns) -> bool {
        if late_ns < self.threshold_ns(median_ns) {
            return false;
        }
        if let Self::Of(latest) = self {
            latest.push(Reverse(late_ns));
            if latest.len() > LATEST {
                latest.pop();
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_told_and_the_bar_rises() {
        let mut latest = Latest::new(None);
        assert!(!latest.take(19, 10) && latest.take(20, 10));
        (0..15).for_each(|more| assert!(latest.take(100 + more, 10)));
        assert_eq!(latest.threshold_ns(10), 21);
        assert!(!latest.take(20, 10) && latest.take(500, 10));
        assert_eq!(latest.threshold_ns(10), 101);
        assert_eq!(latest.threshold_ns(300), 600);
    }

    #[test]
    fn what_is_given_holds() {
        let mut latest = Latest::new(Some(50));
        (0..100).for_each(|_| assert!(latest.take(50, 1_000)));
        assert!(!latest.take(49, 1));
    }
}
