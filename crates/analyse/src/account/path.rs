//! The path so far: where the wall clock went, as one thread would tell it.
//!
//! Every thread carries one, and a wake-up hands the waker's to the woken. So handing over must be
//! cheap and memory must not grow with the run (`layers`).

use super::activity::ActivityId;
use super::layers::{Key, Layers};
use super::slicing::Slicing;
use super::split::KINDS;
use crate::counted::{CounterHitId, Sampled};
use model::Ns;
use smallvec::SmallVec;
use std::ops::AddAssign;

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

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        self.ns += other.ns;
        self.count += other.count;
        for (sum, more) in self.samples.iter_mut().zip(other.samples) {
            *sum += more;
        }
    }
}

/// One thread's path so far. Cloning it shares all but the newest entries.
#[derive(Debug, Default)]
pub(crate) struct Path {
    time: Layers<Amount>,
    /// What the processor's counters counted on it, by place, in one slice.
    counts: Layers<Sampled>,
}

impl Clone for Path {
    fn clone(&self) -> Self {
        Self { time: self.time.clone(), counts: self.counts.clone() }
    }

    /// Allocates nothing as a rule.
    fn clone_from(&mut self, other: &Self) {
        self.time.clone_from(&other.time);
        self.counts.clone_from(&other.counts);
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
                    self.time.put(
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
                self.time.put(
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
        self.time.put(slicing, Key { activity, slice: slicing.slice_of(at) }, amount);
    }

    /// All of its time, each key once and in their order, in the given slicing.
    pub(crate) fn entries(&self, slicing: Slicing) -> Vec<(Key, Amount)> {
        self.time.entries(slicing)
    }

    /// Notes a sample of a counter that struck there.
    pub(crate) fn counts(&mut self, place: CounterHitId, sum: Sampled) {
        self.counts.put(Slicing::fine(0), Key { activity: place, slice: 0 }, sum);
    }

    /// What was counted on it.
    pub(crate) fn counted(&self) -> Vec<(CounterHitId, Sampled)> {
        let entries = self.counts.entries(Slicing::fine(0));
        entries.into_iter().map(|(key, sum)| (key.activity, sum)).collect()
    }
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
            let chunks = path.time.chunks();
            assert!(chunks <= 16, "{chunks} for {places} places");
        }
    }
}
