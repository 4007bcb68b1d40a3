//! For how long no thread of the tree was under way, and for how long only one was.
//!
//! `progress_clock` says in which way any thread was under way; this says whether another was than
//! the one that is asked about.

use model::Ns;

/// The clock.
#[derive(Debug, Default)]
pub(crate) struct SoloClock {
    /// Threads that are under way.
    threads: u32,
    /// Time with no thread under way, and with one.
    sums: [Ns; 2],
    at: Ns,
}

/// How a thread reads it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mark {
    under_way: bool,
    /// What the sum that counts for the thread was when it was last read. It wraps.
    sum: Ns,
}

impl SoloClock {
    #[inline]
    fn advance(&mut self, at: Ns) {
        // Clocks of two CPUs may be a few hundred nanoseconds apart.
        let Some(ns) = at.checked_sub(self.at) else { return };
        self.at = at;
        if let Some(sum) = self.sums.get_mut(self.threads as usize) {
            *sum += ns;
        }
    }

    /// Time with no thread under way but one that is, or is not.
    fn sum(&self, under_way: bool) -> Ns {
        self.sums[usize::from(under_way)]
    }
}

impl Mark {
    /// A clock of a new thread.
    pub(crate) fn new(alone: &mut SoloClock, at: Ns, under_way: bool) -> Self {
        let mut mark = Self::default();
        mark.becomes(alone, at, under_way);
        alone.advance(at);
        Self { sum: alone.sum(under_way), ..mark }
    }

    /// The thread comes to be under way, or no longer is. Its time up to here may be read later.
    #[inline]
    pub(crate) fn becomes(&mut self, alone: &mut SoloClock, at: Ns, under_way: bool) {
        if self.under_way != under_way {
            alone.advance(at);
            let unread = alone.sum(self.under_way).wrapping_sub(self.sum);
            alone.threads = if under_way { alone.threads + 1 } else { alone.threads.saturating_sub(1) };
            *self = Self { under_way, sum: alone.sum(under_way).wrapping_sub(unread) };
        }
    }

    /// The part of the time from `from`, when it was last read, to `to` in which no other thread
    /// was under way. Up to where the clock was read later than `to`, that time is taken as evenly
    /// spread.
    #[inline]
    pub(crate) fn read(&mut self, alone: &mut SoloClock, from: Ns, to: Ns) -> Ns {
        alone.advance(to);
        let sum = alone.sum(self.under_way);
        let (mut unread, ns) = (sum.wrapping_sub(self.sum), to.saturating_sub(from));
        if alone.at > to {
            unread = part(unread, ns, alone.at.saturating_sub(from));
        }
        self.sum = self.sum.wrapping_add(unread);
        unread.min(ns)
    }
}

/// As much of `of` as `ns` is of `span`.
#[inline]
pub(crate) fn part(of: Ns, ns: Ns, span: Ns) -> Ns {
    // Mostly all of the time was alone, or none.
    match (of, ns) {
        (0, _) => 0,
        _ if ns >= span => of,
        _ if of == span => ns,
        _ => of.checked_mul(ns).map_or_else(|| long_part(of, ns, span), |product| product / span),
    }
}

#[cold]
fn long_part(of: Ns, ns: Ns, span: Ns) -> Ns {
    (u128::from(of) * u128::from(ns) / u128::from(span)) as Ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_alone_while_no_other_is_under_way() {
        let mut alone = SoloClock::default();
        let mut runs = Mark::new(&mut alone, 100, true);
        let mut sleeps = Mark::new(&mut alone, 100, false);
        let mut other = Mark::new(&mut alone, 130, true);
        other.becomes(&mut alone, 150, false);
        assert_eq!(runs.read(&mut alone, 100, 160), 30 + 10, "but for the 20 that another had");
        assert_eq!(sleeps.read(&mut alone, 100, 160), 0);
        runs.becomes(&mut alone, 170, false);
        assert_eq!(sleeps.read(&mut alone, 160, 200), 30);
    }

    #[test]
    fn what_a_thread_becomes_does_not_change_what_it_was() {
        let mut alone = SoloClock::default();
        let mut stops = Mark::new(&mut alone, 0, false);
        let mut other = Mark::new(&mut alone, 20, true);
        stops.becomes(&mut alone, 50, true);
        assert_eq!(stops.read(&mut alone, 0, 50), 20, "until the other came");
        other.becomes(&mut alone, 60, false);
        assert_eq!(stops.read(&mut alone, 50, 90), 30);
    }

    #[test]
    fn a_part_is_the_same_however_long_the_product() {
        assert_eq!([part(7, 30, 30), part(30, 7, 30), part(0, 7, 30), part(7, 0, 0)], [7, 7, 0, 7]);
        assert_eq!(part(20, 15, 30), 10);
        assert_eq!(part(1 << 40, 1 << 40, 1 << 41), 1 << 39);
    }

    #[test]
    fn what_the_clock_has_counted_beyond_is_spread_evenly() {
        let mut alone = SoloClock::default();
        let mut mark = Mark::new(&mut alone, 0, true);
        let mut other = Mark::new(&mut alone, 60, true);
        other.becomes(&mut alone, 100, false);
        assert_eq!(mark.read(&mut alone, 0, 50), 30);
        assert_eq!(mark.read(&mut alone, 50, 100), 30);
        assert_eq!(mark.read(&mut alone, 100, 90), 0, "clocks may be apart");
        assert_eq!(mark.read(&mut alone, 100, 110), 10);
    }
}
