//! Which sites are watched: those that have a hundredth of the time so far, over all threads.
//!
//! A site's clock begins when it has that share, and ends when it has less than half of it, so what
//! it had before is not in its clock. That is less than a hundredth of the time until then, over
//! all threads, unless sites with more time left no room. What is kept here does not grow
//! with the number of sites: of those with least time only the most that one of them can have had
//! is remembered, and a site that comes (again) begins with that.

use super::activity::ActivityId;
use super::places::{ClockSlot, Places, Reading};
use super::site_keys::{SiteId, SiteKey};
use crate::keys::{CallKey, ReasonKey, WaitKey};
use model::recording::Comm;
use model::{Call, Ns, Pid, State};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Sites that are watched at once.
const WATCHED: usize = 64;

/// A site is watched from this part of the time on.
const SHARE: Ns = 100;
/// And no longer with less than this.
const SHARE_KEPT: Ns = 2 * SHARE;

/// Sites whose time is counted.
const SITES: usize = 4096;

/// Programs among them, which are never forgotten: threads have their numbers.
const PROGRAMS: usize = 512;

/// No site.
const NONE: SiteId = SiteId::MAX;

/// Calls with lower numbers than this are found without a search.
const CALLS: usize = 1024;

/// A site's time so far.
#[derive(Debug, Clone, Copy)]
struct Tally {
    /// Of all threads. At least that: it is more where the site may have been forgotten before.
    ns: Ns,
    /// While it is watched.
    place: Option<ClockSlot>,
}

/// What else is known of it: apart, since each stretch of time changes several tallies.
#[derive(Debug, Clone, Copy)]
struct About {
    key: SiteKey,
    /// What it had before it was watched.
    before_ns: Ns,
    /// The part of it that samples stand for.
    sampled_ns: Ns,
}

/// A site at the end of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched {
    pub(crate) key: SiteKey,
    /// Its place, and its time of all threads before it was watched, as far as there was room.
    pub(crate) place: Option<(ClockSlot, Ns)>,
    /// Its time of all threads, and how much of that is what samples stand for.
    pub(crate) ns: Ns,
    pub(crate) sampled_ns: Ns,
}

/// All sites.
#[derive(Debug)]
pub(crate) struct Sites {
    start: Ns,
    ids: FxHashMap<SiteKey, SiteId>,
    /// Those of calls, which are never forgotten; [`NONE`] where none has come yet.
    calls: Vec<SiteId>,
    /// What each kind of wait is for, as it was found when this many sites had been forgotten.
    targets: Vec<Option<(SiteId, u32)>>,
    tallies: Vec<Tally>,
    about: Vec<About>,
    free: Vec<SiteId>,
    places: Places,
    programs: usize,
    /// How often sites were forgotten; none that is not counted had more.
    forgotten: u32,
    forgotten_ns: Ns,
    /// Until this time has passed, each watched site has its share.
    full_until_ns: Ns,
    /// Until then nobody looks which of them have less.
    thinned_until: Ns,
}

impl Default for Sites {
    fn default() -> Self {
        let mut sites = Self {
            start: 0,
            ids: FxHashMap::default(),
            calls: Vec::new(),
            targets: Vec::new(),
            tallies: Vec::new(),
            about: Vec::new(),
            free: Vec::new(),
            places: Places::default(),
            programs: 0,
            forgotten: 0,
            forgotten_ns: 0,
            full_until_ns: 0,
            thinned_until: 0,
        };
        for state in State::ALL {
            let id = sites.id(SiteKey::State(state));
            debug_assert_eq!(id, Self::state(state));
        }
        sites
    }
}

impl Sites {
    /// The time begins.
    pub(crate) fn begins(&mut self, at: Ns) {
        self.start = at;
    }

    /// The places of watched sites.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// The number of a site.
    pub(crate) fn id(&mut self, key: SiteKey) -> SiteId {
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        if self.ids.len() >= SITES {
            self.forget();
        }
        let ns = if key.is_of_many() { self.forgotten_ns } else { 0 };
        let tally = Tally { ns, place: None };
        let about = About { key, before_ns: 0, sampled_ns: 0 };
        let id = self.free.pop().unwrap_or(self.tallies.len() as SiteId);
        if id as usize == self.tallies.len() {
            self.tallies.push(tally);
            self.about.push(about);
        } else {
            (self.tallies[id as usize], self.about[id as usize]) = (tally, about);
        }
        self.ids.insert(key, id);
        id
    }

    /// The number of a state.
    pub(crate) fn state(state: State) -> SiteId {
        state as SiteId
    }

    /// Whether it is that of a state.
    pub(crate) fn is_state(site: SiteId) -> bool {
        (site as usize) < State::ALL.len()
    }

    /// The number of a call.
    #[inline]
    pub(crate) fn call(&mut self, call: Call) -> SiteId {
        match self.calls.get(usize::from(call.0)) {
            Some(id) if *id != NONE => *id,
            _ => self.find_call(call),
        }
    }

    #[cold]
    fn find_call(&mut self, call: Call) -> SiteId {
        let (id, place) = (self.id(SiteKey::Call(call)), usize::from(call.0));
        if place < CALLS {
            self.calls.resize(self.calls.len().max(place + 1), NONE);
            self.calls[place] = id;
        }
        id
    }

    /// The number of a program; none if there are too many.
    pub(crate) fn program(&mut self, name: Comm) -> Option<SiteId> {
        let key = SiteKey::Program(name);
        if !self.ids.contains_key(&key) {
            if self.programs == PROGRAMS {
                return None;
            }
            self.programs += 1;
        }
        Some(self.id(key))
    }

    /// The sites of a wait, of a thread of this process, that no thread of the tree ended.
    /// `activity`: the number that this kind of wait has, where it is of this process alone.
    pub(crate) fn of_wait(
        &mut self,
        pid: Pid,
        (state, reason): WaitKey,
        activity: Option<ActivityId>,
    ) -> SmallVec<[SiteId; 3]> {
        let mut all = SmallVec::new();
        if matches!(state, State::Sleep | State::Disk | State::Runqueue | State::Throttled) {
            all.push(Self::state(state));
        }
        let ReasonKey::Wait(call, _) = reason else { return all };
        match call {
            CallKey::Syscall(call) => all.push(self.call(call)),
            CallKey::Fault => all.push(Self::state(State::Fault)),
            CallKey::Unseen => {}
        }
        let place = activity.map_or(usize::MAX, |activity| activity as usize);
        match self.targets.get(place) {
            Some(Some((site, forgotten))) if *forgotten == self.forgotten => all.push(*site),
            _ => {
                if let Some(key) = SiteKey::of_target(pid, reason) {
                    let site = self.id(key);
                    all.push(site);
                    if activity.is_some() {
                        self.targets.resize(self.targets.len().max(place + 1), None);
                        self.targets[place] = Some((site, self.forgotten));
                    }
                }
            }
        }
        all
    }

    /// A site has been spent all time since a reading: `ns` over all threads. Its place, if there
    /// is room.
    pub(crate) fn was_all(&mut self, site: SiteId, from: Reading, ns: Ns) {
        self.tallies[site as usize].ns += ns;
        if self.places.sites().count() < WATCHED {
            self.tallies[site as usize].place = Some(self.places.take_whole(site, from));
        }
    }

    /// Forgets the half of the sites that has least time.
    fn forget(&mut self) {
        let (tallies, about) = (&self.tallies, &self.about);
        let can_go =
            |id: &SiteId| tallies[*id as usize].place.is_none() && about[*id as usize].key.is_of_many();
        let time = |id: &SiteId| tallies[*id as usize].ns;
        let mut times: Vec<Ns> = self.ids.values().filter(|id| can_go(id)).map(time).collect();
        if times.is_empty() {
            return;
        }
        let middle = times.len() / 2;
        let (_, most_ns, _) = times.select_nth_unstable(middle);
        let most_ns = *most_ns;
        self.forgotten += 1;
        self.forgotten_ns = self.forgotten_ns.max(most_ns);
        let free = &mut self.free;
        self.ids.retain(|_, id| {
            let goes = can_go(id) && time(id) <= most_ns;
            if goes {
                free.push(*id);
            }
            !goes
        });
    }

    /// The place of a site that is watched: a thread spends time at it.
    #[inline]
    pub(crate) fn watched(&mut self, site: SiteId, ns: Ns) -> Option<ClockSlot> {
        let tally = &mut self.tallies[site as usize];
        let place = tally.place?;
        tally.ns += ns;
        Some(place)
    }

    /// A thread spends time at a site, up to `at`. Its place if it is watched, this time included:
    /// it may be so from now on.
    pub(crate) fn spends(&mut self, site: SiteId, ns: Ns, at: Ns) -> Option<ClockSlot> {
        self.thin_out(at);
        let tally = &mut self.tallies[site as usize];
        tally.ns += ns;
        if tally.place.is_some() || ns == 0 {
            return tally.place;
        }
        let elapsed_ns = at.saturating_sub(self.start);
        if tally.ns < elapsed_ns / SHARE { None } else { self.watch(site, ns, elapsed_ns) }
    }

    /// Takes time of a site as what samples stand for.
    pub(crate) fn sampled(&mut self, site: SiteId, ns: Ns) {
        self.about[site as usize].sampled_ns += ns;
    }

    /// A site that has just had `ns` and its share with them.
    #[cold]
    fn watch(&mut self, site: SiteId, ns: Ns, elapsed_ns: Ns) -> Option<ClockSlot> {
        if self.places.sites().count() == WATCHED {
            if elapsed_ns < self.full_until_ns {
                return None;
            }
            let time = |site: &SiteId| self.tallies[*site as usize].ns;
            let least = self.places.sites().min_by_key(time)?;
            let least_ns = time(&least);
            if least_ns >= elapsed_ns / SHARE {
                self.full_until_ns = least_ns.saturating_mul(SHARE);
                return None;
            }
            self.unwatch(least);
        }
        let place = Some(self.places.take(site));
        let tally = &mut self.tallies[site as usize];
        tally.place = place;
        self.about[site as usize].before_ns = tally.ns - ns;
        place
    }

    fn unwatch(&mut self, site: SiteId) {
        if let Some(place) = self.tallies[site as usize].place.take() {
            self.places.leave(place);
        }
    }

    /// Sites that have too little time are watched no longer: looked at each time when an eighth
    /// more of it has passed.
    #[inline]
    pub(crate) fn thin_out(&mut self, at: Ns) {
        if at >= self.thinned_until {
            self.thin_out_now(at);
        }
    }

    #[cold]
    fn thin_out_now(&mut self, at: Ns) {
        let elapsed_ns = at.saturating_sub(self.start);
        self.thinned_until = at.saturating_add(elapsed_ns / 8 + 1);
        let has_less = |site: &SiteId| self.tallies[*site as usize].ns < elapsed_ns / SHARE_KEPT;
        let few: Vec<SiteId> = self.places.sites().filter(has_less).collect();
        few.into_iter().for_each(|site| self.unwatch(site));
    }

    /// The sites that had their share of a run of this length.
    pub(crate) fn at_end(&self, wall_ns: Ns) -> impl Iterator<Item = Watched> + '_ {
        let all = self.ids.values().map(|id| (&self.tallies[*id as usize], &self.about[*id as usize]));
        all.filter(move |(tally, _)| tally.ns > 0 && tally.ns >= wall_ns / SHARE).map(|(tally, about)| {
            let place = tally.place.map(|place| (place, about.before_ns));
            Watched { key: about.key, place, ns: tally.ns, sampled_ns: about.sampled_ns }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{FileId, TargetKey};

    fn lock(number: u64) -> SiteKey {
        SiteKey::Lock(1, number)
    }

    fn is_watched(sites: &Sites, id: SiteId) -> bool {
        sites.places.sites().any(|site| site == id)
    }

    #[test]
    fn a_site_is_watched_from_a_hundredth_of_the_time_on() {
        let mut sites = Sites::default();
        sites.begins(1000);
        let id = sites.id(lock(1));
        assert_eq!(sites.spends(id, 0, 1000), None, "nothing is no part of anything");
        assert_eq!(sites.spends(id, 40, 11_000), None);
        assert_eq!(sites.spends(id, 59, 11_000), None);
        assert_eq!(sites.spends(id, 1, 11_000), Some(0));
        assert_eq!(sites.spends(id, 1, 21_000), Some(0));
        let mut thinned = |at| {
            sites.thin_out(at);
            !is_watched(&sites, id)
        };
        assert!(!thinned(21_000), "and as long as it has half of that");
        assert!(!thinned(23_000), "nobody looks before an eighth more has passed");
        assert!(thinned(24_000));
        assert_eq!(sites.spends(id, 1, 24_000), None);
        assert_eq!(sites.spends(id, 200, 24_000), Some(0), "once more");
        let end: Vec<Watched> = sites.at_end(10_000).collect();
        assert_eq!((end.len(), end[0].place), (1, Some((0, 102))));
        assert_eq!(sites.at_end(1_000_000).count(), 0);
    }

    #[test]
    fn one_that_has_less_than_its_share_makes_room_and_no_other_does() {
        let mut sites = Sites::default();
        let ids: Vec<_> = (0..WATCHED as u64).map(|number| sites.id(lock(number))).collect();
        for (id, more) in ids.iter().zip(0..) {
            assert!(sites.spends(*id, 100 + more, 1000).is_some());
        }
        let more = sites.id(lock(1000));
        assert_eq!(sites.spends(more, 500, 10_000), None, "all have a hundredth of 10,000");
        assert_eq!(sites.spends(more, 500, 10_099), None);
        let then = sites.places.now();
        assert_eq!(sites.spends(more, 500, 10_100), Some(0), "the first one has less than a hundredth now");
        assert!(sites.places.is_newer(0, then), "and what threads have in its place is not the other's");
        assert!([ids[1], more].iter().all(|id| is_watched(&sites, *id)) && !is_watched(&sites, ids[0]));
        let crowded = sites.id(lock(0));
        assert_eq!(sites.spends(crowded, 100, 10_100), None);
        let end = sites.at_end(10_100).find(|watched| watched.key == lock(0)).expect("it has its share");
        assert_eq!(end.place, None);
    }

    #[test]
    fn sites_that_are_forgotten_had_no_more_than_those_that_come_begin_with() {
        let mut sites = Sites::default();
        let mut truth = FxHashMap::<u64, Ns>::default();
        // A few that come again and again, and many that come once.
        for step in 0..40_000_u64 {
            let number = if step % 3 == 0 { step % 21 } else { 100 + step };
            let id = sites.id(lock(number));
            sites.spends(id, 1 + step % 7, 1_000_000 + step * 1000);
            *truth.entry(number).or_default() += 1 + step % 7;
        }
        assert!(sites.ids.len() <= SITES && sites.tallies.len() <= SITES + 1);
        for (number, ns) in truth {
            let known = sites.ids.get(&lock(number)).map(|id| sites.tallies[*id as usize].ns);
            assert!(known.unwrap_or(sites.forgotten_ns) >= ns, "{number}: {known:?} of {ns}");
        }
        assert!(sites.forgotten_ns < 100, "{}", sites.forgotten_ns);
    }

    #[test]
    fn programs_are_bounded_and_never_forgotten() {
        let mut sites = Sites::default();
        let name = |number: usize| Comm::from(number.to_string().as_str());
        let ids: Vec<_> = (0..PROGRAMS).map(|number| sites.program(name(number))).collect();
        assert_eq!(sites.program(name(PROGRAMS)), None);
        for number in 0..2 * SITES as u64 {
            sites.id(lock(number));
        }
        assert_eq!(ids, (0..PROGRAMS).map(|number| sites.program(name(number))).collect::<Vec<_>>());
    }

    #[test]
    fn a_wait_is_of_all_the_sites_that_it_is_a_part_of() {
        let (file, fsync) = (FileId(7), Call(74));
        let reason = ReasonKey::Wait(CallKey::Syscall(fsync), TargetKey::File(file));
        let mut sites = Sites::default();
        let mut of = |pid, state, reason| {
            let all = sites.of_wait(pid, (state, reason), None);
            all.into_iter().map(|id| sites.about[id as usize].key).collect::<Vec<_>>()
        };
        let expected = [SiteKey::State(State::Disk), SiteKey::Call(fsync), SiteKey::File(file)];
        assert_eq!(of(1, State::Disk, reason), expected);
        let timed = ReasonKey::Wait(CallKey::Unseen, TargetKey::TimedFutex(16));
        let expected = [SiteKey::State(State::Sleep), SiteKey::Lock(9, 16)];
        assert_eq!(of(9, State::Sleep, timed), expected);
        let unknown = ReasonKey::Wait(CallKey::Fault, TargetKey::Futex(0));
        assert_eq!(of(9, State::Lock, unknown), [SiteKey::State(State::Fault)]);
    }

    #[test]
    fn what_a_kind_of_wait_is_for_is_found_once_until_sites_are_forgotten() {
        let wait = |address| (State::Lock, ReasonKey::Wait(CallKey::Unseen, TargetKey::TimedFutex(address)));
        let mut sites = Sites::default();
        let first = sites.of_wait(9, wait(16), Some(3));
        assert_eq!(sites.of_wait(9, wait(16), Some(3)), first);
        assert_ne!(sites.of_wait(8, wait(16), None), first, "another process's");
        for number in 0..SITES as u64 {
            let more = sites.id(lock(number));
            sites.spends(more, 9, 1000);
        }
        let again = sites.of_wait(9, wait(16), Some(3));
        assert_eq!(again[..], [sites.id(SiteKey::Lock(9, 16))]);
    }
}
