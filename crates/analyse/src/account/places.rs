//! Which place of each thread's clocks is for which site.
//!
//! A place that goes to another site is not emptied in all threads at once: since when it is that
//! site's is kept here, and clocks that are older forget what they have there when they are next
//! asked for (`clocks`).

use super::site_keys::SiteId;
use model::Ns;

/// A watched site's place in the clocks.
pub(crate) type ClockSlot = u8;

/// How often any place has gone to another site.
pub(crate) type Epoch = u32;

/// A place whose site is spent all time since then: its clock is not kept before it has a place.
#[derive(Debug, Clone, Copy)]
struct Whole {
    place: ClockSlot,
    /// The epoch that began when it got the place.
    since: Epoch,
    from: Reading,
}

/// What clocks show at some time: the unedited one, and the part of it while no other thread was
/// under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) at: Ns,
    pub(crate) alone_ns: Ns,
}

/// All places.
#[derive(Debug, Default)]
pub(crate) struct Places {
    sites: Vec<Option<SiteId>>,
    /// The epoch that began when it went to this site.
    since: Vec<Epoch>,
    now: Epoch,
    whole: Option<Whole>,
}

impl Places {
    /// A site takes the first one that is free: clocks are as long as the last one that they need.
    pub(super) fn take(&mut self, site: SiteId) -> ClockSlot {
        let free = self.sites.iter().position(Option::is_none);
        let place = free.unwrap_or(self.sites.len());
        if free.is_some() {
            self.now += 1;
            (self.sites[place], self.since[place]) = (Some(site), self.now);
        } else {
            // Nobody has anything there yet.
            self.sites.push(Some(site));
            self.since.push(0);
        }
        place as ClockSlot
    }

    /// A site takes one that has been spent all time from a reading on.
    pub(super) fn take_whole(&mut self, site: SiteId, from: Reading) -> ClockSlot {
        let place = self.take(site);
        self.now += 1;
        self.since[usize::from(place)] = self.now;
        self.whole = Some(Whole { place, since: self.now, from });
        place
    }

    pub(super) fn leave(&mut self, place: ClockSlot) {
        self.sites[usize::from(place)] = None;
    }

    /// The sites that have a place.
    pub(super) fn sites(&self) -> impl Iterator<Item = SiteId> + '_ {
        self.sites.iter().flatten().copied()
    }

    pub(super) fn now(&self) -> Epoch {
        self.now
    }

    /// Whether what clocks of that epoch have at this place is another site's.
    pub(super) fn is_newer(&self, place: usize, than: Epoch) -> bool {
        self.since[place] > than
    }

    /// The place, with the reading from which on it was all that was spent, where that is not in
    /// clocks of that epoch.
    pub(super) fn whole(&self, than: Epoch) -> Option<(usize, Reading)> {
        let of_place = self.whole.filter(|whole| whole.since > than)?;
        let place = usize::from(of_place.place);
        (self.since[place] == of_place.since).then_some((place, of_place.from))
    }
}
