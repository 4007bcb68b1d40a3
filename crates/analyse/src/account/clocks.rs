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

use model::Ns;
use std::rc::Rc;

/// A watched site, by number. One that is watched later has a higher number.
pub(crate) type Watch = u32;

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

/// A thread's clocks. Cloning shares them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clocks {
    /// B.
    at: Ns,
    /// By number; those that are not here are 0.
    sites: Rc<Vec<(Watch, SiteClock)>>,
}

impl Clocks {
    /// Of a thread that has no creator in the tree.
    pub(crate) fn new(at: Ns) -> Self {
        Self { at, ..Self::default() }
    }

    /// The unedited clock.
    pub(crate) fn at(&self) -> Ns {
        self.at
    }

    pub(crate) fn of(&self, watch: Watch) -> SiteClock {
        self.place(watch).map(|place| self.sites[place].1).unwrap_or_default()
    }

    fn place(&self, watch: Watch) -> Result<usize, usize> {
        self.sites.binary_search_by_key(&watch, |(known, _)| *known)
    }

    /// A stretch of the thread's time.
    pub(crate) fn passes(&mut self, ns: Ns) {
        self.at += ns;
    }

    /// So much of that was spent at a site, `alone_ns` of it while no other thread was under way.
    pub(crate) fn spends(&mut self, watch: Watch, ns: Ns, alone_ns: Ns) {
        let place = self.place(watch);
        let sites = Rc::make_mut(&mut self.sites);
        let place = place.unwrap_or_else(|place| {
            sites.insert(place, (watch, SiteClock::default()));
            place
        });
        let clock = &mut sites[place].1;
        clock.path_ns += ns;
        clock.saved_ns += ns;
        clock.alone_ns += alone_ns.min(ns);
    }

    /// Another thread held this one up. `dropped`: it did so by a lock, whose site this is; its
    /// wait is this thread's own.
    pub(crate) fn held_up(&mut self, by: &Clocks, dropped: Option<Watch>) {
        let at = self.at.max(by.at);
        let (wait_ns, others_ns, moves) = (at - self.at, at - by.at, by.at > self.at);
        self.at = at;
        if self.sites.is_empty() && by.sites.is_empty() {
            return;
        }
        let go_on = |watch: Watch, own: SiteClock, other: SiteClock| {
            if dropped == Some(watch) {
                return own;
            }
            let saved_ns = (own.saved_ns + wait_ns).min(other.saved_ns + others_ns);
            SiteClock { saved_ns, ..if moves { other } else { own } }
        };
        match Rc::get_mut(&mut self.sites) {
            // As a rule threads that hold each other up have been at the same sites.
            Some(sites) if are_of_the_same(sites, &by.sites) => {
                for ((watch, own), (_, other)) in sites.iter_mut().zip(by.sites.iter()) {
                    *own = go_on(*watch, *own, *other);
                }
            }
            Some(sites) => *sites = merged(sites, &by.sites, go_on),
            None => self.sites = Rc::new(merged(&self.sites, &by.sites, go_on)),
        }
    }

    /// Another thread ends this one, wherever it is: it goes on with that one's clocks.
    pub(crate) fn led_out(&mut self, by: &Clocks) {
        self.clone_from(by);
    }

    /// Forgets the other sites.
    pub(crate) fn keep(&mut self, is_watched: impl Fn(Watch) -> bool) {
        if !self.sites.iter().all(|(watch, _)| is_watched(*watch)) {
            Rc::make_mut(&mut self.sites).retain(|(watch, _)| is_watched(*watch));
        }
    }
}

/// Whether two lists have the same sites.
fn are_of_the_same(own: &[(Watch, SiteClock)], other: &[(Watch, SiteClock)]) -> bool {
    own.len() == other.len() && own.iter().zip(other).all(|((a, _), (b, _))| a == b)
}

/// Each site of two lists once, in order, where it has anything.
fn merged(
    own: &[(Watch, SiteClock)],
    other: &[(Watch, SiteClock)],
    with: impl Fn(Watch, SiteClock, SiteClock) -> SiteClock,
) -> Vec<(Watch, SiteClock)> {
    let mut merged = Vec::with_capacity(own.len().max(other.len()));
    let (mut own, mut other) = (own, other);
    loop {
        let first = |list: &[(Watch, SiteClock)]| list.first().map_or(Watch::MAX, |(watch, _)| *watch);
        let watch = first(own).min(first(other));
        if watch == Watch::MAX {
            return merged;
        }
        let clock = with(watch, take(&mut own, watch), take(&mut other, watch));
        if clock != SiteClock::default() {
            merged.push((watch, clock));
        }
    }
}

/// Takes the first of a list, if it is of this site.
fn take(list: &mut &[(Watch, SiteClock)], watch: Watch) -> SiteClock {
    match list.split_first() {
        Some(((first, clock), rest)) if *first == watch => {
            *list = rest;
            *clock
        }
        _ => SiteClock::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: Watch = 3;
    const LOCK: Watch = 4;

    /// A thread that has spent so much of its time at these, all of it alone.
    fn clocks(at: Ns, sites: &[(Watch, Ns)]) -> Clocks {
        let mut clocks = Clocks::new(0);
        clocks.passes(at);
        sites.iter().for_each(|(watch, ns)| clocks.spends(*watch, *ns, *ns));
        clocks
    }

    fn saved(clocks: &Clocks, watch: Watch) -> Ns {
        clocks.of(watch).saved_ns
    }

    #[test]
    fn who_is_held_up_saves_what_the_later_of_two_clocks_saves() {
        // The other is at 100, or at 60 without its reads; this one was at 70, and waited for 30.
        let mut own = clocks(70, &[]);
        own.held_up(&clocks(100, &[(READS, 40)]), None);
        assert_eq!((own.at(), saved(&own, READS), own.of(READS).path_ns), (100, 30, 40));
        // It saves 20 itself: it is at 50, and the other at 60.
        let mut own = clocks(70, &[(READS, 20)]);
        own.held_up(&clocks(100, &[(READS, 40)]), None);
        assert_eq!((saved(&own, READS), own.of(READS).path_ns), (40, 40));
        // The other saves nothing, so nothing is saved, and no read is on the path.
        let mut own = clocks(70, &[(READS, 20)]);
        own.held_up(&clocks(100, &[]), None);
        assert!(own.sites.is_empty());
    }

    #[test]
    fn what_was_there_first_still_holds_up_who_would_be_earlier() {
        let mut own = clocks(100, &[(READS, 60)]);
        own.held_up(&clocks(90, &[(READS, 5)]), None);
        assert_eq!((own.at(), saved(&own, READS)), (100, 15), "at 85, when the other is there");
        assert_eq!(own.of(READS).path_ns, 60, "the path is its own");
    }

    #[test]
    fn a_lock_that_is_dropped_holds_nobody_up() {
        let mut own = clocks(70, &[(READS, 10), (LOCK, 5)]);
        own.held_up(&clocks(100, &[(READS, 40), (LOCK, 50)]), Some(LOCK));
        own.spends(LOCK, 30, 0);
        assert_eq!(own.of(LOCK), SiteClock { path_ns: 35, saved_ns: 35, alone_ns: 5 });
        assert_eq!(saved(&own, READS), 40, "other sites as ever");
    }

    #[test]
    fn a_copy_is_its_own_from_then_on() {
        let creator = clocks(50, &[(READS, 10)]);
        let mut child = creator.clone();
        child.passes(20);
        child.spends(READS, 20, 7);
        assert_eq!((saved(&creator, READS), saved(&child, READS)), (10, 30));
        assert_eq!((child.at(), child.of(READS).alone_ns), (70, 17));
        child.keep(|watch| watch != READS);
        assert_eq!((saved(&creator, READS), saved(&child, READS)), (10, 0));
    }
}
