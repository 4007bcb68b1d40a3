//! Which sites are watched: those that have a hundredth of the time so far, over all threads.
//!
//! A site's clock begins when it has that share, and ends when it has less than half of it, so what
//! it had before is not in its clock. That is less than a hundredth of the time until then, over
//! all threads, unless so many had more that there was no room. What is kept here does not grow
//! with the number of sites: of those with least time only the most that one of them can have had
//! is remembered, and a site that comes (again) begins with that.

use super::clocks::Watch;
use crate::keys::{CallKey, FileId, ReasonKey, TargetKey};
use model::recording::Comm;
use model::{Call, Ns, Pid, State};
use rustc_hash::FxHashMap;

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

/// A [`model::prediction::Site`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SiteKey {
    Call(Call),
    Lock(Pid, u64),
    Peer(TargetKey),
    NameLookups,
    File(FileId),
    Program(Comm),
    State(State),
}

/// A site by number, while it is counted.
pub(crate) type SiteId = u32;

/// Calls with lower numbers than this are found without a search.
const CALLS: u16 = 1024;

/// A site's time so far.
#[derive(Debug, Clone, Copy)]
struct Tally {
    key: SiteKey,
    /// Of all threads. At least that: it is more where the site may have been forgotten before.
    ns: Ns,
    /// What of it was before it was watched.
    before_ns: Ns,
    /// While it is watched.
    watch: Option<Watch>,
    /// Part of it is known by samples.
    sampled: bool,
}

/// A site at the end of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched {
    pub(crate) key: SiteKey,
    /// Its number, and its time of all threads before it was watched, as far as there was room.
    pub(crate) watch: Option<(Watch, Ns)>,
    pub(crate) sampled: bool,
}

/// All sites.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    start: Ns,
    ids: FxHashMap<SiteKey, SiteId>,
    /// Those of calls, which are never forgotten.
    calls: Vec<Option<SiteId>>,
    tallies: Vec<Tally>,
    free: Vec<SiteId>,
    watched: Vec<SiteId>,
    programs: usize,
    next: Watch,
    /// No site that is not counted had more.
    forgotten_ns: Ns,
    /// Until so much time has passed, each of those that are watched has its share.
    full_until_ns: Ns,
    /// Until then nobody looks which of them have less.
    thinned_until: Ns,
}

impl SiteKey {
    /// Whether there may be any number of its kind.
    fn is_of_many(self) -> bool {
        matches!(self, SiteKey::Lock(..) | SiteKey::Peer(_) | SiteKey::File(_))
    }

    /// The lock that a wait is for.
    pub(crate) fn lock(pid: Pid, reason: ReasonKey) -> Option<Self> {
        match reason {
            ReasonKey::Wait(_, TargetKey::Futex(address) | TargetKey::TimedFutex(address)) if address > 0 => {
                Some(SiteKey::Lock(pid, address))
            }
            _ => None,
        }
    }

    /// Gives the sites of a wait, of a thread of this process, that no thread of the tree ended.
    pub(crate) fn of_wait(pid: Pid, state: State, reason: ReasonKey, mut give: impl FnMut(Self)) {
        if matches!(state, State::Sleep | State::Disk) {
            give(SiteKey::State(state));
        }
        let ReasonKey::Wait(call, target) = reason else { return };
        match call {
            CallKey::Syscall(call) => give(SiteKey::Call(call)),
            CallKey::Fault => give(SiteKey::State(State::Fault)),
            CallKey::Unseen => {}
        }
        match target {
            TargetKey::File(file) if file.is_one() => give(SiteKey::File(file)),
            TargetKey::Tcp(_) | TargetKey::Udp(_) | TargetKey::Local(_) => give(SiteKey::Peer(target)),
            TargetKey::Answer(_) => give(SiteKey::NameLookups),
            _ => Self::lock(pid, reason).into_iter().for_each(give),
        }
    }
}

impl Sites {
    /// The time begins.
    pub(crate) fn begins(&mut self, at: Ns) {
        self.start = at;
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
        let tally = Tally { key, ns, before_ns: 0, watch: None, sampled: false };
        let id = self.free.pop().unwrap_or(self.tallies.len() as SiteId);
        match self.tallies.get_mut(id as usize) {
            Some(free) => *free = tally,
            None => self.tallies.push(tally),
        }
        self.ids.insert(key, id);
        id
    }

    /// The number of a call.
    pub(crate) fn call(&mut self, call: Call) -> SiteId {
        let place = usize::from(call.0);
        if let Some(Some(id)) = self.calls.get(place) {
            return *id;
        }
        let id = self.id(SiteKey::Call(call));
        if call.0 < CALLS {
            self.calls.resize(self.calls.len().max(place + 1), None);
            self.calls[place] = Some(id);
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

    /// Forgets the half of the sites that has least time.
    fn forget(&mut self) {
        let can_go = |tally: &Tally| tally.watch.is_none() && tally.key.is_of_many();
        let of = |id: &SiteId| &self.tallies[*id as usize];
        let mut times: Vec<Ns> =
            self.ids.values().map(of).filter(|tally| can_go(tally)).map(|tally| tally.ns).collect();
        if times.is_empty() {
            return;
        }
        let middle = times.len() / 2;
        let (_, most_ns, _) = times.select_nth_unstable(middle);
        let most_ns = *most_ns;
        self.forgotten_ns = self.forgotten_ns.max(most_ns);
        let (tallies, free) = (&self.tallies, &mut self.free);
        self.ids.retain(|_, id| {
            let tally = &tallies[*id as usize];
            let goes = can_go(tally) && tally.ns <= most_ns;
            if goes {
                free.push(*id);
            }
            !goes
        });
    }

    /// A thread spends time at a site, up to `at`. Its number if it is watched, this time included.
    pub(crate) fn spends(&mut self, site: SiteId, ns: Ns, at: Ns) -> Option<Watch> {
        let elapsed_ns = at.saturating_sub(self.start);
        let tally = &mut self.tallies[site as usize];
        let before_ns = tally.ns;
        tally.ns += ns;
        if tally.watch.is_some() || ns == 0 || tally.ns < elapsed_ns / SHARE {
            return tally.watch;
        }
        self.watch(site, before_ns, elapsed_ns)
    }

    /// The same of time that samples stand for.
    pub(crate) fn is_sampled(&mut self, site: SiteId) {
        self.tallies[site as usize].sampled = true;
    }

    fn watch(&mut self, site: SiteId, before_ns: Ns, elapsed_ns: Ns) -> Option<Watch> {
        if self.watched.len() == WATCHED {
            if elapsed_ns < self.full_until_ns {
                return None;
            }
            let times = self.watched.iter().map(|site| self.tallies[*site as usize].ns).enumerate();
            let (place, least_ns) = times.min_by_key(|(_, ns)| *ns)?;
            if least_ns >= elapsed_ns / SHARE {
                self.full_until_ns = least_ns.saturating_mul(SHARE);
                return None;
            }
            let least = self.watched.swap_remove(place);
            self.tallies[least as usize].watch = None;
        }
        self.watched.push(site);
        let watch = Some(self.next);
        self.next += 1;
        let tally = &mut self.tallies[site as usize];
        (tally.watch, tally.before_ns) = (watch, before_ns);
        watch
    }

    /// Whether some sites are watched no longer since they have too little time: looked at each
    /// time when an eighth more of it has passed.
    pub(crate) fn thin_out(&mut self, at: Ns) -> bool {
        if at < self.thinned_until {
            return false;
        }
        let elapsed_ns = at.saturating_sub(self.start);
        self.thinned_until = at + elapsed_ns / 8 + 1;
        let (before, tallies) = (self.watched.len(), &mut self.tallies);
        self.watched.retain(|site| {
            let tally = &mut tallies[*site as usize];
            let stays = tally.ns >= elapsed_ns / SHARE_KEPT;
            if !stays {
                tally.watch = None;
            }
            stays
        });
        self.watched.len() < before
    }

    pub(crate) fn is_watched(&self, watch: Watch) -> bool {
        self.watched.iter().any(|site| self.tallies[*site as usize].watch == Some(watch))
    }

    /// Those that had their share of a run of this length.
    pub(crate) fn at_end(&self, wall_ns: Ns) -> impl Iterator<Item = Watched> + '_ {
        let tallies = self.ids.values().map(|id| &self.tallies[*id as usize]);
        tallies.filter(move |tally| tally.ns > 0 && tally.ns >= wall_ns / SHARE).map(|tally| Watched {
            key: tally.key,
            watch: tally.watch.map(|watch| (watch, tally.before_ns)),
            sampled: tally.sampled,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(number: u64) -> SiteKey {
        SiteKey::Lock(1, number)
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
        assert!(!sites.thin_out(21_000), "and as long as it has half of that");
        assert!(!sites.thin_out(23_000), "nobody looks before an eighth more has passed");
        assert!(sites.thin_out(24_000));
        assert_eq!(sites.spends(id, 1, 24_000), None);
        assert_eq!(sites.spends(id, 200, 24_000), Some(1), "once more");
        let end: Vec<Watched> = sites.at_end(10_000).collect();
        assert_eq!((end.len(), end[0].watch), (1, Some((1, 102))));
        assert_eq!(sites.at_end(1_000_000).count(), 0);
    }

    #[test]
    fn one_that_has_less_than_its_share_makes_room_and_no_other_does() {
        let mut sites = Sites::default();
        for number in 0..WATCHED as u64 {
            let id = sites.id(lock(number));
            assert!(sites.spends(id, 100 + number, 1000).is_some());
        }
        let more = sites.id(lock(1000));
        assert_eq!(sites.spends(more, 500, 10_000), None, "all have a hundredth of 10,000");
        assert_eq!(sites.spends(more, 500, 10_099), None);
        let watch = sites.spends(more, 500, 10_100);
        assert_eq!(watch, Some(WATCHED as Watch), "the first one has less than a hundredth now");
        assert!(!sites.is_watched(0) && sites.is_watched(1) && sites.is_watched(WATCHED as Watch));
        let crowded = sites.id(lock(0));
        assert_eq!(sites.spends(crowded, 100, 10_100), None);
        let end = sites.at_end(10_100).find(|watched| watched.key == lock(0)).expect("it has its share");
        assert_eq!(end.watch, None);
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
        let of = |pid, state, reason| {
            let mut sites = Vec::new();
            SiteKey::of_wait(pid, state, reason, |site| sites.push(site));
            sites
        };
        let expected = [SiteKey::State(State::Disk), SiteKey::Call(fsync), SiteKey::File(file)];
        assert_eq!(of(1, State::Disk, reason), expected);
        let timed = ReasonKey::Wait(CallKey::Unseen, TargetKey::TimedFutex(16));
        let expected = [SiteKey::State(State::Sleep), SiteKey::Lock(9, 16)];
        assert_eq!(of(9, State::Sleep, timed), expected);
        let unknown = ReasonKey::Wait(CallKey::Fault, TargetKey::Futex(0));
        assert_eq!(of(9, State::Lock, unknown), [SiteKey::State(State::Fault)]);
    }
}
