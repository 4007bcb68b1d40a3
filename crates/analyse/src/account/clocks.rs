//! The clocks that a thread carries beside its path: when it would be where it is, had a site cost
//! nothing.
//!
//! # What is carried
//!
//! Let B be a thread's unedited clock and V its clock with one site edited away. Both begin with
//! the creator's. A stretch of the thread's time adds its length to B, and to V as well unless it
//! is spent at the site. Where a thread was held up by another one of the tree, each clock goes on
//! from the later of the two threads':
//!
//! ```text
//! B' = max(B_own, B_other)      V' = max(V_own, V_other)
//! ```
//!
//! B is the time of the events: it shows that nothing is left out. V is kept as what is saved,
//! s = B - V. With w = B' - B_own, the wait of the one that was held up, and w_other = B' -
//! B_other, which is 0 unless the other one was there first:
//!
//! ```text
//! s' = B' - max(B_own - s_own, B_other - s_other) = min(s_own + w, s_other + w_other)
//! ```
//!
//! A lock that is edited away holds nobody up: its wait is a stretch at the site, and
//! s' = s_own + w.
//!
//! # What follows
//!
//! Let P be the site's time on the path: it grows with s at each stretch, and a hand-over that
//! moves the path takes the other's P. Since s' is at most the s of the one whose P is taken, and
//! with a dropped lock both grow by w, 0 <= s <= P always. P sums stretches of one path that
//! do not overlap, so P is at most the time since the beginning. The same holds for A, the part of
//! P while no other thread was under way: A <= P. Of A and s either may be more.
//!
//! The wall clock is a maximum of sums of stretches: convex in the length that a site's stretches
//! keep. So by the dependencies that were seen, removing a part x of them saves x s at least and
//! x P at most.

use super::places::{ClockSlot, Epoch, Places, Reading};
use model::Ns;

/// What a thread carries of one site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SiteClock {
    /// P: its time on the thread's path.
    pub(crate) path_ns: Ns,
    /// s: how much earlier the thread would be here.
    pub(crate) saved_ns: Ns,
    /// A: its time on the path while no other thread was under way.
    pub(crate) alone_ns: Ns,
}

/// A thread's clocks.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// B, and the part of it while no other thread was under way.
    now: Reading,
    /// By place, up to the last that the thread or its path has met.
    sites: Vec<SiteClock>,
    /// When the places were these sites'.
    epoch: Epoch,
}

impl Clone for Clocks {
    fn clone(&self) -> Self {
        Self { sites: self.sites.clone(), ..*self }
    }

    /// Allocates nothing where there is room.
    fn clone_from(&mut self, other: &Self) {
        self.sites.clone_from(&other.sites);
        (self.now, self.epoch) = (other.now, other.epoch);
    }
}

impl Clocks {
    /// The clocks of a thread that has no creator in the tree.
    pub(crate) fn new(at: Ns) -> Self {
        Self { now: Reading { at, alone_ns: 0 }, ..Self::default() }
    }

    /// The unedited clock.
    #[inline]
    pub(crate) fn at(&self) -> Ns {
        self.now.at
    }

    pub(crate) fn now(&self) -> Reading {
        self.now
    }

    /// The clock at a place that is taken.
    pub(crate) fn of(&self, place: ClockSlot) -> SiteClock {
        self.sites.get(usize::from(place)).copied().unwrap_or_default()
    }

    /// A stretch of the thread's time, `alone_ns` of it while no other thread was under way.
    #[inline]
    pub(crate) fn passes(&mut self, ns: Ns, alone_ns: Ns) {
        self.now.at += ns;
        self.now.alone_ns += alone_ns;
    }

    /// Takes time of that stretch as spent at a site.
    #[inline]
    pub(crate) fn spends(&mut self, place: ClockSlot, ns: Ns, alone_ns: Ns) {
        let place = usize::from(place);
        if place >= self.sites.len() {
            self.grow(place + 1);
        }
        let clock = &mut self.sites[place];
        clock.path_ns += ns;
        clock.saved_ns += ns;
        clock.alone_ns += alone_ns;
    }

    /// Another thread held this one up. `dropped`: it did so by a lock, whose site this is; its
    /// wait is this thread's own.
    pub(crate) fn held_up(&mut self, by: &Clocks, dropped: Option<ClockSlot>, places: &Places) {
        if by.epoch != places.now() {
            let mut renewed = by.clone();
            renewed.renew(places);
            return self.held_up(&renewed, dropped, places);
        }
        self.renew(places);
        let at = self.at().max(by.at());
        let (wait_ns, others_ns, moves) = (at - self.at(), at - by.at(), by.at() > self.at());
        if moves {
            self.now = by.now;
            if by.sites.len() > self.sites.len() {
                self.grow(by.sites.len());
            }
        }
        let (own, others) = (&mut self.sites[..], &by.sites[..]);
        let dropped = dropped.map(usize::from);
        let as_before = dropped.and_then(|place| Some((place, *own.get(place)?)));
        let (both, rest) = own.split_at_mut(others.len().min(own.len()));
        if moves {
            for (own, other) in both.iter_mut().zip(others) {
                let saved_ns = (own.saved_ns + wait_ns).min(other.saved_ns);
                *own = SiteClock { saved_ns, ..*other };
            }
            rest.fill(SiteClock::default());
        } else {
            for (own, other) in both.iter_mut().zip(others) {
                own.saved_ns = own.saved_ns.min(other.saved_ns + others_ns);
            }
            rest.iter_mut().for_each(|own| own.saved_ns = own.saved_ns.min(others_ns));
        }
        if let Some((place, clock)) = as_before {
            own[place] = clock;
        }
    }

    /// Goes over to the sites that have the places now.
    #[inline]
    pub(crate) fn renew(&mut self, places: &Places) {
        if self.epoch != places.now() {
            self.go_over(places);
        }
    }

    #[cold]
    fn go_over(&mut self, places: &Places) {
        let then = std::mem::replace(&mut self.epoch, places.now());
        for (place, clock) in self.sites.iter_mut().enumerate() {
            if places.is_newer(place, then) {
                *clock = SiteClock::default();
            }
        }
        if let Some((place, from)) = places.whole(then) {
            if place >= self.sites.len() {
                self.grow(place + 1);
            }
            let (ns, alone_ns) = (self.now.at - from.at, self.now.alone_ns - from.alone_ns);
            self.sites[place] = SiteClock { path_ns: ns, saved_ns: ns, alone_ns };
        }
    }

    /// Makes room for this many places, and no more: there are many threads.
    #[cold]
    fn grow(&mut self, len: usize) {
        self.sites.reserve_exact(len - self.sites.len());
        self.sites.resize(len, SiteClock::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: ClockSlot = 0;
    const LOCK: ClockSlot = 1;

    fn places() -> Places {
        let mut places = Places::default();
        assert_eq!((places.take(30), places.take(40)), (READS, LOCK));
        places
    }

    /// A thread that has spent so much of its time at these, all of it alone.
    fn clocks(at: Ns, sites: &[(ClockSlot, Ns)]) -> Clocks {
        let mut clocks = Clocks::new(0);
        clocks.passes(at, at);
        sites.iter().for_each(|(place, ns)| clocks.spends(*place, *ns, *ns));
        clocks
    }

    fn of(clocks: &Clocks, place: ClockSlot) -> SiteClock {
        clocks.of(place)
    }

    fn saved(clocks: &Clocks, place: ClockSlot) -> Ns {
        of(clocks, place).saved_ns
    }

    #[test]
    fn who_is_held_up_saves_what_the_later_of_two_clocks_saves() {
        // The other is at 100, or at 60 without its reads; this one was at 70, and waited for 30.
        let mut own = clocks(70, &[]);
        own.held_up(&clocks(100, &[(READS, 40)]), None, &places());
        assert_eq!((own.at(), saved(&own, READS), of(&own, READS).path_ns), (100, 30, 40));
        // It saves 20 itself: it is at 50, and the other at 60.
        let mut own = clocks(70, &[(READS, 20)]);
        own.held_up(&clocks(100, &[(READS, 40)]), None, &places());
        assert_eq!((saved(&own, READS), of(&own, READS).path_ns), (40, 40));
        // The other saves nothing, so nothing is saved, and no read is on the path.
        let mut own = clocks(70, &[(READS, 20)]);
        own.held_up(&clocks(100, &[]), None, &places());
        assert_eq!(of(&own, READS), SiteClock::default());
    }

    #[test]
    fn what_was_there_first_still_holds_up_who_would_be_earlier() {
        let mut own = clocks(100, &[(READS, 60), (LOCK, 20)]);
        own.held_up(&clocks(90, &[(READS, 5)]), None, &places());
        assert_eq!((own.at(), saved(&own, READS)), (100, 15), "at 85, when the other is there");
        assert_eq!((of(&own, READS).path_ns, saved(&own, LOCK)), (60, 10), "the path is its own");
    }

    #[test]
    fn a_lock_that_is_dropped_holds_nobody_up() {
        let mut own = clocks(70, &[(READS, 10), (LOCK, 5)]);
        own.held_up(&clocks(100, &[(READS, 40), (LOCK, 50)]), Some(LOCK), &places());
        own.spends(LOCK, 30, 0);
        assert_eq!(of(&own, LOCK), SiteClock { path_ns: 35, saved_ns: 35, alone_ns: 5 });
        assert_eq!(saved(&own, READS), 40, "other sites as ever");
        let mut own = clocks(70, &[]);
        own.held_up(&clocks(100, &[(LOCK, 50)]), Some(LOCK), &places());
        assert_eq!(of(&own, LOCK), SiteClock::default(), "also one that it was never held up by");
    }

    #[test]
    fn a_copy_is_its_own_from_then_on() {
        let creator = clocks(50, &[(READS, 10)]);
        let mut child = creator.clone();
        child.passes(20, 7);
        child.spends(READS, 20, 7);
        assert_eq!((saved(&creator, READS), saved(&child, READS)), (10, 30));
        assert_eq!((child.at(), of(&child, READS).alone_ns), (70, 17));
    }

    #[test]
    fn a_place_that_goes_to_another_site_begins_empty_in_all_clocks() {
        let mut places = places();
        let (mut own, other) = (clocks(50, &[(READS, 10), (LOCK, 5)]), clocks(70, &[(READS, 40)]));
        let unused = own.clone();
        places.leave(READS);
        assert_eq!(places.take(50), READS);
        own.renew(&places);
        assert_eq!(of(&own, READS), SiteClock::default());
        own.spends(READS, 1, 1);
        assert_eq!((of(&own, READS).path_ns, of(&own, LOCK).path_ns), (1, 5));
        own.held_up(&other, None, &places);
        assert_eq!(of(&own, READS), SiteClock::default(), "the other never was there");
        own.held_up(&unused, None, &places);
        assert_eq!(of(&own, READS), SiteClock::default());
    }

    #[test]
    fn a_site_that_was_spent_all_time_gets_it_with_its_place() {
        let mut places = places();
        let (mut first, mut next) = (clocks(50, &[(READS, 10)]), clocks(70, &[(READS, 40)]));
        let from = Reading { at: 30, alone_ns: 25 };
        let place = places.take_whole(50, from);
        first.renew(&places);
        next.renew(&places);
        let all = |ns, alone_ns| SiteClock { path_ns: ns, saved_ns: ns, alone_ns };
        assert_eq!([&first, &next].map(|clocks| of(clocks, place)), [all(20, 25), all(40, 45)]);
        assert_eq!(of(&first, READS).path_ns, 10, "others as ever");
        let late = first.clone();
        first.passes(5, 0);
        first.spends(place, 5, 0);
        first.held_up(&late, None, &places);
        assert_eq!(of(&first, place), all(25, 25), "once only");
        places.leave(place);
        places.take(60);
        let mut old = clocks(50, &[]);
        old.renew(&places);
        assert_eq!(of(&old, place), SiteClock::default(), "and not once it is another's");
    }

    #[test]
    fn clocks_are_as_long_as_the_last_place_that_was_met() {
        let none = clocks(50, &[]);
        assert_eq!(none.sites.capacity(), 0, "nothing is allocated for nothing");
        let mut own = clocks(20, &[(READS, 10)]);
        own.held_up(&none, None, &places());
        assert_eq!(own.sites.capacity(), 1);
        own.held_up(&clocks(60, &[(LOCK, 5)]), None, &places());
        assert_eq!(own.sites.capacity(), 2);
        assert_eq!((size_of::<Clocks>(), size_of::<SiteClock>()), (48, 24));
    }
}
