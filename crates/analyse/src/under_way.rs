//! How many waits are under way at once, of the whole tree or for one peer: for how long one, two
//! and so on.
//!
//! What a wait was for is known when it ends, so it is counted then, back to when it began. The
//! time since is kept in stretches, each with the waits in it that have ended so far; the oldest
//! are added up. What a wait has of the time before is told by itself.

use crate::bounded::Bounded;
use model::waits_at_once::{AtOnce, WaitsAtOnce};
use model::{Ns, State};
use std::collections::{BTreeMap, VecDeque};

/// Stretches that are kept of the whole tree.
const OF_TREE: usize = 1024;
/// The same of each peer, of which there may be thousands.
const OF_PEER: usize = 256;

/// Waits for one peer.
pub(crate) type PeerWaits = Waits<OF_PEER>;

/// Waits for the network and for disks, which end in the order of time.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    network: Waits<OF_TREE>,
    disk: Waits<OF_TREE>,
}

impl UnderWay {
    /// A wait has ended, or lasts to the end.
    pub(crate) fn waited(&mut self, state: State, from: Ns, to: Ns) {
        match state {
            State::Network => self.network.waited(from, to),
            State::Disk => self.disk.waited(from, to),
            _ => {}
        }
    }

    /// Of all that have ended.
    pub(crate) fn table(self) -> WaitsAtOnce {
        WaitsAtOnce { network: self.network.sum(), disk: self.disk.sum() }
    }
}

/// Waits for one thing, with this many stretches.
#[derive(Debug, Default)]
pub(crate) struct Waits<const STRETCHES: usize> {
    waits: u64,
    /// In order of time, without overlaps.
    last: VecDeque<Stretch>,
    /// Up to where they are added up.
    added_to: Ns,
    /// Time by how many were under way.
    added: BTreeMap<u32, Ns>,
    untold_ns: Ns,
}

/// Time with this many waits under way.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: Ns,
    to: Ns,
    waits: u32,
}

impl<const STRETCHES: usize> Waits<STRETCHES> {
    /// One has ended: later than all before it.
    pub(crate) fn waited(&mut self, from: Ns, to: Ns) {
        self.waits += 1;
        let told = from.max(self.added_to).min(to);
        self.untold_ns += told - from;
        let mut over = Vec::new();
        while let Some(stretch) = self.last.pop_back_if(|stretch| stretch.to > told) {
            over.push(stretch);
        }
        // Up to where this one is counted.
        let mut at = told;
        for stretch in over.into_iter().rev() {
            let Stretch { from: began, to: ended, waits } = stretch;
            let (first, last) = (began.max(told), ended.min(to));
            self.push(Stretch { to: told, ..stretch });
            self.push(Stretch { from: at, to: first.min(to), waits: 1 });
            self.push(Stretch { from: first, to: last, waits: waits + 1 });
            self.push(Stretch { from: first.max(to), ..stretch });
            at = at.max(last);
        }
        self.push(Stretch { from: at, to, waits: 1 });
        while self.last.len() > STRETCHES {
            self.add_up();
        }
    }

    /// One more, after all others.
    fn push(&mut self, stretch: Stretch) {
        if stretch.from >= stretch.to {
            return;
        }
        match self.last.back_mut() {
            Some(last) if last.to == stretch.from && last.waits == stretch.waits => last.to = stretch.to,
            _ => self.last.push_back(stretch),
        }
    }

    fn add_up(&mut self) {
        if let Some(Stretch { from, to, waits }) = self.last.pop_front() {
            *self.added.entry(waits).or_default() += to - from;
            self.added_to = to;
        }
    }

    /// The most that were under way at once, as far as that is told.
    pub(crate) fn most(&self) -> u32 {
        let last = self.last.iter().map(|stretch| stretch.waits);
        last.chain(self.added.keys().next_back().copied()).max().unwrap_or(0)
    }

    /// For how long one was or more.
    pub(crate) fn any_ns(&self) -> Ns {
        let last = self.last.iter().map(|stretch| stretch.to - stretch.from);
        last.chain(self.added.values().copied()).sum()
    }

    fn sum(mut self) -> AtOnce {
        while !self.last.is_empty() {
            self.add_up();
        }
        let any_ns: Ns = self.added.values().sum();
        let all_ns: f64 = self.added.iter().map(|(waits, ns)| f64::from(*waits) * *ns as f64).sum();
        AtOnce {
            waits: self.waits,
            any_ns,
            one_ns: self.added.get(&1).copied().unwrap_or(0),
            mean: if any_ns > 0 { all_ns / any_ns as f64 } else { 0.0 },
            most: self.added.keys().next_back().copied().unwrap_or(0),
            untold_ns: self.untold_ns,
        }
    }
}

impl Bounded for WaitsAtOnce {}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(waits: &[(Ns, Ns)]) -> AtOnce {
        let mut all = UnderWay::default();
        waits.iter().for_each(|(from, to)| all.waited(State::Disk, *from, *to));
        let table = all.table();
        assert_eq!(table.network, AtOnce::default());
        table.disk
    }

    #[test]
    fn one_after_the_other_are_one_at_once() {
        assert_eq!(of(&[]), AtOnce::default());
        let one = AtOnce { waits: 3, any_ns: 25, one_ns: 25, mean: 1.0, most: 1, untold_ns: 0 };
        assert_eq!(of(&[(0, 10), (10, 20), (25, 30)]), one);
        let many: Vec<_> = (0..5000).map(|i| (i * 10, i * 10 + 4)).collect();
        let many = of(&many);
        assert_eq!((many.any_ns, many.one_ns, many.most, many.untold_ns), (20_000, 20_000, 1, 0));
    }

    #[test]
    fn time_is_told_by_how_many_overlap() {
        // Two from 5 to 10 and from 20 to 30, else one.
        let all = of(&[(0, 10), (20, 30), (5, 40)]);
        assert_eq!((all.any_ns, all.one_ns, all.most), (40, 25, 2));
        assert!((all.mean - 55.0 / 40.0).abs() < 1e-9, "{}", all.mean);
        // Three from 12 to 20.
        let all = of(&[(10, 20), (12, 25), (0, 40), (30, 45)]);
        assert_eq!((all.any_ns, all.one_ns, all.most), (45, 10 + 5 + 5, 3));
    }

    /// A second way: each moment by itself.
    fn by_moments(waits: &[(Ns, Ns)]) -> (Ns, Ns, u32) {
        let end = waits.iter().map(|(_, to)| *to).max().unwrap_or(0);
        let at = |moment| waits.iter().filter(|(from, to)| (*from..*to).contains(&moment)).count() as u32;
        let depths: Vec<u32> = (0..end).map(at).collect();
        let number = |is: fn(u32) -> bool| depths.iter().filter(|depth| is(**depth)).count() as Ns;
        (number(|depth| depth > 0), number(|depth| depth == 1), depths.iter().copied().max().unwrap_or(0))
    }

    #[test]
    fn any_waits_are_as_each_moment_by_itself() {
        let mut seed = 1_u64;
        let mut drawn = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let mut waits: Vec<(Ns, Ns)> = (0..30)
                .map(|_| {
                    let from = drawn(200);
                    (from, from + drawn(40))
                })
                .collect();
            waits.sort_by_key(|(_, to)| *to);
            let all = of(&waits);
            assert_eq!((all.any_ns, all.one_ns, all.most), by_moments(&waits), "{waits:?}");
        }
    }

    fn of_peer(waits: &[(Ns, Ns)]) -> (u32, Ns) {
        let mut all = PeerWaits::default();
        waits.iter().for_each(|(from, to)| all.waited(*from, *to));
        (all.most(), all.any_ns())
    }

    #[test]
    fn those_for_one_peer_are_counted_where_most_are_under_way() {
        assert_eq!(of_peer(&[]), (0, 0));
        assert_eq!(of_peer(&[(0, 10), (10, 20), (25, 30)]), (1, 25));
        let many: Vec<_> = (0..1000).map(|i| (i * 10, i * 10 + 4)).collect();
        assert_eq!(of_peer(&many), (1, 4000));
        // Three at 12, which is known when the longest ends; two at 30.
        assert_eq!(of_peer(&[(10, 20), (12, 25), (0, 40), (30, 45)]), (3, 45));
        assert_eq!(of_peer(&[(0, 10), (20, 30), (5, 40)]), (2, 40));
        // At 199 all are.
        let all: Vec<_> = (0..200).map(|i| (i, 1000 + i)).collect();
        assert_eq!(of_peer(&all), (200, 1199));
    }

    #[test]
    fn it_can_be_asked_while_waits_go_on() {
        let mut waits = PeerWaits::default();
        assert_eq!((waits.most(), waits.any_ns()), (0, 0));
        for (from, to) in [(10, 20), (12, 25), (0, 40), (30, 45)] {
            waits.waited(from, to);
        }
        // Three at 12, which is known when the longest ends; two at 30.
        assert_eq!((waits.most(), waits.any_ns()), (3, 45));
        (0..1000).map(|i| (100 + i * 10, 104 + i * 10)).for_each(|(from, to)| waits.waited(from, to));
        assert_eq!((waits.most(), waits.any_ns()), (3, 4045), "also of what is added up");
    }

    #[test]
    fn what_began_before_the_oldest_stretch_is_untold_up_to_there() {
        let mut waits: Vec<(Ns, Ns)> = (0..3000).map(|i| (i * 10, i * 10 + 5)).collect();
        waits.push((0, 30_000));
        let all = of(&waits);
        assert_eq!(all.waits, 3001);
        assert!(all.untold_ns > 10_000 && all.untold_ns < 25_000, "{all:?}");
        // The gaps of the time that is told are filled, and no others.
        let untold_gaps = 3000 * 5 - (all.any_ns - 3000 * 5);
        assert!(all.most == 2 && untold_gaps > 5_000, "{all:?}");
        assert!(all.mean > 1.0 && all.mean < 2.0);
    }
}
