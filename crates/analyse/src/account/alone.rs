//! For how long no thread of the tree was under way, and for how long only one was.
//!
//! `cover` says in which way any thread was under way; this says whether another was than the one
//! that is asked about.

use model::Ns;

/// Time with no thread under way, and with one.
type Few = [Ns; 2];

/// The clock.
#[derive(Debug, Default)]
pub(crate) struct Alone {
    /// Threads that are under way.
    threads: u32,
    sums: Few,
    at: Ns,
}

/// Up to when it has been asked for a thread, and what the clock showed then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mark {
    at: Ns,
    sums: Few,
}

impl Alone {
    /// A thread comes to be under way, or no longer is.
    pub(crate) fn change(&mut self, at: Ns, was: bool, is: bool) {
        if was == is {
            return;
        }
        self.advance(at);
        self.threads = if is { self.threads + 1 } else { self.threads.saturating_sub(1) };
    }

    fn advance(&mut self, at: Ns) {
        // Clocks of two CPUs may be a few hundred nanoseconds apart.
        let Some(ns) = at.checked_sub(self.at) else { return };
        self.at = at;
        if let Some(sum) = self.sums.get_mut(self.threads as usize) {
            *sum += ns;
        }
    }
}

impl Mark {
    pub(crate) fn new(alone: &mut Alone, at: Ns) -> Self {
        alone.advance(at);
        Self { at, sums: alone.sums }
    }

    /// Goes on to `to`: the part of the time in which no other thread was under way.
    /// `under_way`: whether the thread itself is. Up to where the clock was read later than `to`,
    /// that time is taken as evenly spread.
    pub(crate) fn go_on(&mut self, alone: &mut Alone, to: Ns, under_way: bool) -> Ns {
        alone.advance(to);
        let (ns, span) = (to.saturating_sub(self.at), alone.at.saturating_sub(self.at));
        let share = |(now, then): (Ns, Ns)| part(now.saturating_sub(then), ns, span);
        let shares = [0, 1].map(|few: usize| share((alone.sums[few], self.sums[few])));
        self.sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
        self.at = to.max(self.at);
        shares[usize::from(under_way)].min(ns)
    }
}

/// As much of `of` as `ns` is of `span`.
pub(crate) fn part(of: Ns, ns: Ns, span: Ns) -> Ns {
    // Mostly all of the time was alone, or none; and few products are longer than a word.
    match of.checked_mul(ns) {
        _ if ns >= span => of,
        _ if of == span => ns,
        Some(0) => 0,
        Some(product) => product / span,
        None => (u128::from(of) * u128::from(ns) / u128::from(span)) as Ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_alone_while_no_other_is_under_way() {
        let mut alone = Alone::default();
        alone.change(100, false, true);
        let mut runs = Mark::new(&mut alone, 100);
        let mut sleeps = Mark::new(&mut alone, 100);
        alone.change(130, false, true);
        alone.change(150, true, false);
        assert_eq!(runs.go_on(&mut alone, 160, true), 30 + 10, "but for the 20 that another had");
        assert_eq!(sleeps.go_on(&mut alone, 160, false), 0);
        alone.change(170, true, false);
        assert_eq!(sleeps.go_on(&mut alone, 200, false), 30);
    }

    #[test]
    fn a_part_is_the_same_however_long_the_product() {
        assert_eq!([part(7, 30, 30), part(30, 7, 30), part(0, 7, 30), part(7, 0, 0)], [7, 7, 0, 7]);
        assert_eq!(part(20, 15, 30), 10);
        assert_eq!(part(1 << 40, 1 << 40, 1 << 41), 1 << 39);
    }

    #[test]
    fn what_the_clock_has_counted_beyond_is_spread_evenly() {
        let mut alone = Alone::default();
        alone.change(0, false, true);
        let mut mark = Mark::new(&mut alone, 0);
        alone.change(60, false, true);
        alone.change(100, true, false);
        assert_eq!(mark.go_on(&mut alone, 50, true), 30);
        assert_eq!(mark.go_on(&mut alone, 100, true), 30);
        assert_eq!(mark.go_on(&mut alone, 90, true), 0, "clocks may be apart");
        assert_eq!(mark.go_on(&mut alone, 110, true), 10);
    }
}
