//! Samples of the processor's counters, added up by the place that they struck.

use model::Event;
use model::counters::Counter;
use rustc_hash::FxHashMap;
use std::ops::AddAssign;

/// A place by number.
pub(crate) type CounterHitId = u32;

/// Places that are told apart on paths; what strikes later ones is known by its mode only.
const PLACES: usize = 100_000;

/// Counts, estimated from samples.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Sampled {
    pub(crate) count: f64,
    /// The sum of the squares of what samples stand for.
    squares: f64,
    pub(crate) samples: u64,
}

impl Sampled {
    /// One sample, which stands for this many.
    pub(crate) fn one(count: u64) -> Self {
        let count = count as f64;
        Self { count, squares: count * count, samples: 1 }
    }

    /// For how many equal samples these are worth (Kish).
    pub(crate) fn worth(&self) -> f64 {
        if self.squares > 0.0 { self.count * self.count / self.squares } else { 0.0 }
    }

    /// A part of them, taken to be as the whole.
    pub(crate) fn part(self, part: f64) -> Self {
        let samples = (self.samples as f64 * part).round() as u64;
        Self { count: self.count * part, squares: self.squares * part, samples }
    }
}

impl AddAssign for Sampled {
    fn add_assign(&mut self, other: Sampled) {
        self.count += other.count;
        self.squares += other.squares;
        self.samples += other.samples;
    }
}

/// Where a sample struck, and of which counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CounterHit {
    /// The node of the code; 0: it is not known.
    pub(crate) node: u32,
    /// In the kernel.
    pub(crate) kernel: bool,
    pub(crate) counter: Counter,
}

impl CounterHit {
    /// Where this event struck, and what it stands for, if it is a counter's.
    pub(crate) fn of(event: &Event) -> Option<(Self, Sampled)> {
        let Event::Counted { counter, count, kernel, node, .. } = event else { return None };
        Some((Self { node: node.unwrap_or(0), kernel: *kernel, counter: *counter }, Sampled::one(*count)))
    }
}

/// Numbers of places.
#[derive(Debug, Default)]
pub(crate) struct Places {
    ids: FxHashMap<CounterHit, CounterHitId>,
    all: Vec<CounterHit>,
}

impl Places {
    pub(crate) fn id(&mut self, place: CounterHit) -> CounterHitId {
        let room = self.all.len() < PLACES || self.ids.contains_key(&place);
        let place = if room { place } else { CounterHit { node: 0, ..place } };
        *self.ids.entry(place).or_insert_with(|| {
            self.all.push(place);
            (self.all.len() - 1) as CounterHitId
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn get(&self, id: CounterHitId) -> CounterHit {
        self.all[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_numbers_and_later_ones_are_known_by_their_mode() {
        let mut places = Places::default();
        let place = |node, kernel| CounterHit { node, kernel, counter: Counter::Cycles };
        let first = places.id(place(1, false));
        (2..=PLACES as u32).for_each(|node| assert!(places.id(place(node, false)) > first));
        let late = places.id(place(u32::MAX, true));
        assert_eq!((places.get(first), places.get(late)), (place(1, false), place(0, true)));
        assert_eq!((places.id(place(1, false)), places.id(place(7_000_000, true))), (first, late));
    }

    #[test]
    fn a_part_is_worth_as_much_of_the_samples() {
        let mut sum = Sampled::default();
        (0..10).for_each(|_| sum += Sampled::one(5));
        let half = sum.part(0.5);
        assert_eq!((half.count, half.samples, half.worth()), (25.0, 5, 5.0));
    }
}
