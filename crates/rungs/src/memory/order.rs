//! Orders that no prefetcher foresees: one random cycle through all places.

use std::hash::{BuildHasher, RandomState};

/// Places between two questions whether to go on.
const CHOSEN_AT_ONCE: u32 = 1 << 16;

/// Random numbers, other ones in each run (xorshift64*: S. Vigna, "An experimental exploration of
/// Marsaglia's xorshift generators, scrambled", 2016). Good enough for orders, and not for secrets.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        // The standard library seeds its hash maps from the system.
        Self(RandomState::new().hash_one(0) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        (((self.next() >> 32) * u64::from(end)) >> 32) as u32
    }
}

/// For each of `places` the one that follows, so that all of them are one cycle (S. Sattolo, "An
/// algorithm to generate a random cyclic permutation", 1986). A plain shuffle would leave short
/// cycles, which stay in a smaller cache.
///
/// None if `go_on`, which is asked every few milliseconds, is false.
pub(crate) fn one_cycle(places: u32, random: &mut Random, go_on: &dyn Fn() -> bool) -> Option<Vec<u32>> {
    let mut next: Vec<u32> = (0..places).collect();
    for last in (1..places).rev() {
        if last.is_multiple_of(CHOSEN_AT_ONCE) && !go_on() {
            return None;
        }
        next.swap(last as usize, random.below(last) as usize);
    }
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_visited_before_the_first_comes_again() {
        let mut random = Random::new();
        for places in (1..70).chain([255, 256, 257, 10_000]) {
            let next = one_cycle(places, &mut random, &|| true).unwrap();
            let (mut at, mut seen) = (0_u32, vec![false; places as usize]);
            for _ in 0..places {
                assert!(!std::mem::replace(&mut seen[at as usize], true), "{places}: {at} comes early");
                at = next[at as usize];
            }
            assert_eq!(at, 0, "{places}: not back after all");
        }
    }

    #[test]
    fn a_cycle_that_nobody_wants_is_not_made_to_its_end() {
        let mut random = Random::new();
        assert_eq!(one_cycle(2 * CHOSEN_AT_ONCE, &mut random, &|| false), None);
        assert_eq!(one_cycle(3, &mut random, &|| false).map(|next| next.len()), Some(3));
    }

    #[test]
    fn neighbours_are_followed_by_chance_only() {
        let next = one_cycle(10_000, &mut Random::new(), &|| true).unwrap();
        let near =
            next.iter().enumerate().filter(|(place, next)| place.abs_diff(**next as usize) <= 8).count();
        // Sixteen of ten thousand places are near: about 16 are expected, and 60 never seen.
        assert!(near < 60, "{near}");
    }

    #[test]
    fn all_numbers_below_the_end_come() {
        let mut random = Random::new();
        let mut seen = [0; 7];
        (0..7_000).for_each(|_| seen[random.below(7) as usize] += 1);
        assert!(seen.iter().all(|times| (700..1300).contains(times)), "{seen:?}");
    }
}
