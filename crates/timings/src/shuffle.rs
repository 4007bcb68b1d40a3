//! Chance: the order of a block, and how long the environment is.

use stats::Random;
use std::ffi::OsString;

/// The variable that pads the environment.
const NAME: &str = "DWELL_PADDING";

/// The most that it pads by: a page, so that all places within one come up.
const PADDING_MOST: u64 = 4096;

/// Orders and lengths, each from its own stream: with and without padding, a seed gives the same
/// orders.
#[derive(Debug)]
pub(crate) struct Chance {
    order: Random,
    length: Random,
}

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self { order: Random::new(seed), length: Random::new(!seed) }
    }

    /// The numbers below `count`, each order as likely as any other.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, below(&mut self.order, last as u64 + 1) as usize);
        }
        order
    }

    /// An entry of the environment of random length.
    pub(crate) fn padding(&mut self) -> OsString {
        let length = below(&mut self.length, PADDING_MOST) as usize;
        format!("{NAME}={}", "x".repeat(length)).into()
    }
}

/// A number below `bound`, which is small beside 2^64: the unevenness of the remainder is nothing.
fn below(random: &mut Random, bound: u64) -> u64 {
    random.bits() % bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_orders_and_all_come_up() {
        let mut counts = std::collections::BTreeMap::new();
        let (mut chance, mut again) = (Chance::new(7), Chance::new(7));
        for _ in 0..6000 {
            again.padding();
            let order = chance.order(3);
            assert_eq!(order, again.order(3));
            *counts.entry(order).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn lengths_differ_and_stay_within_a_page() {
        let mut chance = Chance::new(1);
        let lengths: Vec<usize> = (0..200).map(|_| chance.padding().len() - NAME.len() - 1).collect();
        assert!(lengths.iter().all(|length| *length < 4096));
        let multiples = lengths.iter().map(|length| length / 16).collect::<std::collections::BTreeSet<_>>();
        assert!(multiples.len() > 100, "{multiples:?}");
    }
}
