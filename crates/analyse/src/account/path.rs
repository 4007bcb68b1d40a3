//! The path so far: where the wall clock went, as one thread would tell it.
//!
//! Every thread carries one, and a wake-up hands the waker's to the woken. So handing over must be
//! cheap and memory must not grow with the run: a path is a short list of what is new, upon shared
//! frozen chunks. A chunk that is not much larger than the one above it is merged into it, as in a
//! log-structured merge tree, so that a path has few chunks (the logarithm of its distinct keys)
//! and each entry is copied few times.

use super::activity::ActivityId;
use super::slicing::{Slicing, coarse};
use super::split::KINDS;
use model::Ns;
use smallvec::SmallVec;
use std::rc::Rc;

/// Entries a path holds before they are frozen.
const FRESH: usize = 16;

/// What is known of an activity within a slice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    /// Time.
    pub(crate) ns: Ns,
    /// How often it began.
    pub(crate) count: u64,
    /// Samples taken there, as `split` counts them.
    pub(crate) samples: [u32; KINDS],
}

impl Amount {
    pub(super) fn add(&mut self, other: Amount) {
        self.ns += other.ns;
        self.count += other.count;
        for (sum, more) in self.samples.iter_mut().zip(other.samples) {
            *sum += more;
        }
    }
}

/// An activity within a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    /// What.
    pub(crate) activity: ActivityId,
    /// When.
    pub(crate) slice: u32,
}

type Entry = (Key, Amount);

#[derive(Debug)]
struct Chunk {
    older: Option<Rc<Chunk>>,
    /// In the order of their keys.
    entries: Vec<Entry>,
    /// The slicing its keys are in.
    shift: u32,
}

/// One thread's path so far. Cloning it shares all but the newest entries.
#[derive(Debug, Default)]
pub(crate) struct Path {
    frozen: Option<Rc<Chunk>>,
    fresh: Vec<Entry>,
    shift: u32,
}

impl Clone for Path {
    fn clone(&self) -> Self {
        Self { frozen: self.frozen.clone(), fresh: self.fresh.clone(), shift: self.shift }
    }

    /// Allocates nothing as a rule: paths are handed over again and again.
    fn clone_from(&mut self, other: &Self) {
        self.frozen.clone_from(&other.frozen);
        self.fresh.clone_from(&other.fresh);
        self.shift = other.shift;
    }
}

impl Path {
    /// Adds the time from `from` to `to`: `inside` of it in some activities, the rest in `around`.
    /// The sum is exact, in total and in every slice; within the interval the activities are taken
    /// as evenly spread.
    ///
    /// `begun` says whether `around` counts as begun again.
    pub(crate) fn add(
        &mut self,
        slicing: Slicing,
        from: Ns,
        to: Ns,
        inside: &[(ActivityId, Ns, u64)],
        around: ActivityId,
        begun: bool,
    ) {
        let mut at = from;
        let mut rest: SmallVec<[(ActivityId, Ns, u64); 8]> = SmallVec::from_slice(inside);
        let mut begun = u64::from(begun);
        let mut slice = slicing.slice_of(from);
        while at < to || rest.iter().any(|(_, _, count)| *count > 0) {
            let end = slicing.end_of(slice).clamp(at, to);
            let (length, left) = (end - at, to - at);
            let mut around_ns = length;
            for (activity, ns, count) in &mut rest {
                let share = if left == 0 {
                    0
                } else {
                    (u128::from(*ns) * u128::from(length) / u128::from(left)) as Ns
                };
                let share = share.min(around_ns);
                if share > 0 || *count > 0 {
                    self.put(
                        slicing,
                        Key { activity: *activity, slice },
                        Amount { ns: share, count: *count, samples: [0; KINDS] },
                    );
                }
                around_ns -= share;
                *ns -= share;
                *count = 0;
            }
            if around_ns > 0 {
                self.put(
                    slicing,
                    Key { activity: around, slice },
                    Amount { ns: around_ns, count: begun, samples: [0; KINDS] },
                );
                begun = 0;
            }
            at = end;
            slice += 1;
        }
    }

    /// Notes a sample taken at `at` in `activity`.
    pub(crate) fn sample(&mut self, slicing: Slicing, at: Ns, activity: ActivityId, sample: [u32; KINDS]) {
        let amount = Amount { samples: sample, ..Amount::default() };
        self.put(slicing, Key { activity, slice: slicing.slice_of(at) }, amount);
    }

    fn put(&mut self, slicing: Slicing, key: Key, amount: Amount) {
        if self.shift != slicing.shift() {
            let coarser = slicing.shift().saturating_sub(self.shift);
            self.fresh.iter_mut().for_each(|(key, _)| key.slice = coarse(key.slice, coarser));
            self.shift = slicing.shift();
        }
        if let Some((_, sum)) = self.fresh.iter_mut().rev().find(|(known, _)| *known == key) {
            sum.add(amount);
            return;
        }
        if self.fresh.len() == FRESH {
            self.freeze();
        }
        self.fresh.push((key, amount));
    }

    fn freeze(&mut self) {
        let mut entries = std::mem::take(&mut self.fresh);
        entries.sort_unstable_by_key(|(key, _)| *key);
        let mut older = self.frozen.take();
        while let Some(chunk) = older {
            if chunk.entries.len() > 2 * entries.len() {
                older = Some(chunk);
                break;
            }
            entries = merge(&chunk, entries, self.shift);
            older = chunk.older.clone();
        }
        self.frozen = Some(Rc::new(Chunk { older, entries, shift: self.shift }));
    }

    /// All of it, each key once and in their order, in the given slicing.
    pub(crate) fn entries(&self, slicing: Slicing) -> Vec<(Key, Amount)> {
        let chunks = || std::iter::successors(self.frozen.as_deref(), |chunk| chunk.older.as_deref());
        let frozen: usize = chunks().map(|chunk| chunk.entries.len()).sum();
        let mut all: Vec<Entry> = Vec::with_capacity(self.fresh.len() + frozen);
        let mut put = |entries: &[Entry], shift: u32| {
            let coarser = slicing.shift() - shift;
            let of = |key: &Key| Key { activity: key.activity, slice: coarse(key.slice, coarser) };
            all.extend(entries.iter().map(|(key, amount)| (of(key), *amount)));
        };
        put(&self.fresh, self.shift);
        chunks().for_each(|chunk| put(&chunk.entries, chunk.shift));
        // Chunks are in order, which a stable sort finds.
        all.sort_by_key(|(key, _)| *key);
        all.dedup_by(|(key, amount), (before, sum)| {
            let alike = key == before;
            if alike {
                sum.add(*amount);
            }
            alike
        });
        all
    }
}

/// The entries of an older chunk with newer ones, each key once, in slices of `shift`. Both are in
/// the order of their keys, and so is what comes of them.
fn merge(older: &Chunk, newer: Vec<Entry>, shift: u32) -> Vec<Entry> {
    let coarser = shift.saturating_sub(older.shift);
    let mut all: Vec<Entry> = Vec::with_capacity(older.entries.len() + newer.len());
    let mut put = |key: Key, amount: Amount| match all.last_mut() {
        Some((last, sum)) if *last == key => sum.add(amount),
        _ => all.push((key, amount)),
    };
    let mut newer = newer.into_iter().peekable();
    for (key, amount) in &older.entries {
        let key = Key { activity: key.activity, slice: coarse(key.slice, coarser) };
        while let Some((before, more)) = newer.next_if(|(newer, _)| *newer < key) {
            put(before, more);
        }
        put(key, *amount);
    }
    newer.for_each(|(key, amount)| put(key, amount));
    // Of two that are much the same half is left.
    if all.len() * 4 < all.capacity() * 3 {
        all.shrink_to_fit();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(path: &Path, slicing: Slicing) -> Ns {
        path.entries(slicing).iter().map(|(_, amount)| amount.ns).sum()
    }

    #[test]
    fn a_path_handed_over_is_the_same_to_both_and_then_their_own() {
        let mut slicing = Slicing::fine(0);
        slicing.fit(100);
        let mut waker = Path::default();
        waker.add(slicing, 0, 60, &[(1, 20, 3)], 0, true);
        let mut woken = waker.clone();
        woken.add(slicing, 60, 100, &[], 2, true);
        waker.add(slicing, 60, 100, &[], 0, false);
        assert_eq!(sum(&waker, slicing), 100);
        let entries: std::collections::BTreeMap<Key, Amount> = woken.entries(slicing).into_iter().collect();
        assert_eq!(entries[&Key { activity: 0, slice: 0 }], Amount { ns: 40, count: 1, samples: [0; KINDS] });
        assert_eq!(entries[&Key { activity: 1, slice: 0 }], Amount { ns: 20, count: 3, samples: [0; KINDS] });
        assert_eq!(entries[&Key { activity: 2, slice: 0 }], Amount { ns: 40, count: 1, samples: [0; KINDS] });
    }

    proptest! {
        #[test]
        fn nothing_is_gained_or_lost_however_long_the_run(
            steps in prop::collection::vec((0_u64..3_000_000_000, 0_u32..40, 0_u64..100), 1..400),
        ) {
            let mut slicing = Slicing::fine(1000);
            let mut path = Path::default();
            let mut kept = Vec::new();
            let mut at = 1000;
            for (length, place, percent) in steps {
                slicing.fit(at + length);
                path.add(slicing, at, at + length, &[(100, length * percent / 100, 1)], place, true);
                at += length;
                if place == 7 {
                    kept.push((at - 1000, path.clone()));
                }
            }
            prop_assert_eq!(sum(&path, slicing), at - 1000);
            for (length, earlier) in kept {
                prop_assert_eq!(sum(&earlier, slicing), length);
            }
            let mut by_slice = std::collections::BTreeMap::<u32, Ns>::new();
            for (key, amount) in path.entries(slicing) {
                *by_slice.entry(key.slice).or_default() += amount.ns;
            }
            let last = by_slice.keys().max().copied();
            for (slice, ns) in &by_slice {
                prop_assert!(*slice < 256);
                prop_assert!(Some(*slice) == last || *ns == slicing.slice_ns() || *ns == 0, "slice {slice} has {ns}");
            }
        }

    }

    #[test]
    fn chunks_stay_few() {
        for places in [1, 17, 300, 5000] {
            let mut slicing = Slicing::fine(0);
            let mut path = Path::default();
            for step in 0..20_000_u64 {
                slicing.fit(step * 10 + 10);
                path.add(slicing, step * 10, step * 10 + 10, &[], step as u32 % places, true);
            }
            let mut chunks = 0;
            let mut next = path.frozen.as_deref();
            while let Some(chunk) = next {
                chunks += 1;
                next = chunk.older.as_deref();
            }
            assert!(chunks <= 16, "{chunks} for {places} places");
        }
    }
}
