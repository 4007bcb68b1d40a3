//! Differences that are looked at after each pair: an interval that holds however often it is
//! looked at, and whenever one stops.
//!
//! A gambler bets on each sign before it is seen. If the centre is what he bets against, each bet
//! is fair, and the chance that his wealth ever reaches w times what he began with is at most 1/w
//! (J. Ville, 1939; G. Shafer, "Testing by betting", 2021). So a centre against which the wealth
//! has once been 2/alpha is ruled out from that side; what is left is the interval, which only
//! shrinks.
//!
//! The stake grows with the size of the difference, up to a bound that is made of the sizes seen
//! before: as exact as plain signs, since the sign is a fair coin given the size, and better where
//! the difference is small. Many gamblers who stake different shares of their wealth share the
//! first sum.

use crate::median::median_of;

/// Stakes: the share of the wealth that is bet on a difference of full size, with the part of the
/// first sum.
const STAKES: [(f64, f64); 10] = [
    (0.05, 0.08),
    (0.1, 0.08),
    (0.15, 0.08),
    (0.2, 0.08),
    (0.3, 0.08),
    (0.4, 0.08),
    (0.5, 0.08),
    (0.65, 0.08),
    (0.8, 0.08),
    (0.99, 0.28),
];

/// A difference of this many standard deviations has full size.
const FULL_SIZE: f64 = 1.5;

/// The standard deviation is this many median absolute deviations, if the values are normal.
const MAD_TO_DEVIATION: f64 = 1.4826;

/// Differences of pairs in the order in which they were measured.
#[derive(Debug, Clone)]
pub struct Sequence {
    alpha: f64,
    /// Each with its full size, which the ones before it tell.
    differences: Vec<(f64, f64)>,
    /// The next full size, and how many differences told it.
    full: (f64, usize),
}

/// One side of a centre, watched while the differences come: cheap, where [`Sequence::interval`]
/// goes through all of them.
#[derive(Debug, Clone)]
pub struct Bound {
    centre: f64,
    /// 1: ruled out when the differences lie above; -1: below.
    side: f64,
    wealth: Wealth,
}

#[derive(Debug, Clone)]
struct Wealth {
    parts: [f64; STAKES.len()],
    most: f64,
}

impl Sequence {
    /// None yet. The interval holds the centre with the probability 1 - `alpha`, whenever it is
    /// looked at.
    pub fn new(alpha: f64) -> Self {
        Self { alpha, differences: Vec::new(), full: (0.0, 0) }
    }

    /// Adds the next one; gives its full size, for [`Bound::add`].
    pub fn add(&mut self, difference: f64) -> f64 {
        let full = self.full.0;
        self.differences.push((difference, full));
        let (n, told) = (self.differences.len(), self.full.1);
        // The more there are, the less one of them changes.
        if n >= 2 && (n <= 16 || n * 10 >= told * 11) {
            self.full = (FULL_SIZE * MAD_TO_DEVIATION * self.deviation(), n);
        }
        full
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.differences.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }

    /// The differences.
    pub fn values(&self) -> impl Iterator<Item = f64> + Clone {
        self.differences.iter().map(|(difference, _)| *difference)
    }

    /// The interval of the centre; an end is infinite while nothing on its side is ruled out.
    pub fn interval(&self) -> (f64, f64) {
        let (lo, hi) = (self.end(true), self.end(false));
        // Differences that move contradict every centre, first from one side and then from the
        // other.
        if lo <= hi { (lo, hi) } else { (hi, lo) }
    }

    /// A watch on whether `centre` is ruled out since the differences lie above it, or below.
    pub fn bound(&self, centre: f64, above: bool) -> Bound {
        let side = if above { 1.0 } else { -1.0 };
        let mut bound = Bound { centre, side, wealth: Wealth::default() };
        self.differences.iter().for_each(|(difference, full)| bound.add(*difference, *full));
        bound
    }

    /// Whether a watched centre is ruled out.
    pub fn rules_out(&self, bound: &Bound) -> bool {
        bound.wealth.most >= 2.0 / self.alpha
    }

    /// The fewest pairs that rule a centre out, all with the same sign.
    pub fn pairs_min(alpha: f64) -> usize {
        let mut wealth = Wealth::default();
        let mut pairs = 0;
        while wealth.most < 2.0 / alpha {
            wealth.bet(1.0);
            pairs += 1;
        }
        pairs
    }

    /// The median distance from the median.
    fn deviation(&self) -> f64 {
        let centre = median_of(self.values()).unwrap_or(0.0);
        median_of(self.values().map(|difference| (difference - centre).abs())).unwrap_or(0.0)
    }

    /// The first centre that is ruled out since the differences lie above it, or below. Wealth only
    /// grows with the distance: so do all bets.
    fn end(&self, above: bool) -> f64 {
        let side = if above { 1.0 } else { -1.0 };
        // Beyond all differences each bet is won, or lost, in full.
        let full = self.differences.iter().map(|(_, full)| *full).fold(NARROWEST, f64::max);
        let furthest = |side: f64| {
            let beyond = self.values().map(|difference| side * difference).fold(f64::NEG_INFINITY, f64::max);
            side * (beyond + full)
        };
        let out = |centre: f64| self.rules_out(&self.bound(centre, above));
        let (mut left, mut ruled_out) = (furthest(side), furthest(-side));
        if self.is_empty() || !out(ruled_out) {
            return f64::NEG_INFINITY * side;
        }
        for _ in 0..BISECTIONS {
            let middle = left + (ruled_out - left) / 2.0;
            if out(middle) {
                ruled_out = middle;
            } else {
                left = middle;
            }
        }
        ruled_out
    }
}

/// Steps of the search for an end: a millionth of the range.
const BISECTIONS: usize = 24;
/// No interval is narrower: a millionth.
const NARROWEST: f64 = 1e-6;

impl Bound {
    /// Adds the next difference with the full size that [`Sequence::add`] gave for it.
    pub fn add(&mut self, difference: f64, full: f64) {
        let distance = self.side * (difference - self.centre);
        let size = if distance == 0.0 { 0.0 } else { (distance / full).clamp(-1.0, 1.0) };
        self.wealth.bet(size);
    }
}

impl Default for Wealth {
    fn default() -> Self {
        Self { parts: STAKES.map(|(_, part)| part), most: 1.0 }
    }
}

impl Wealth {
    /// Wins or loses: -1 to 1.
    fn bet(&mut self, size: f64) {
        for (part, (stake, _)) in self.parts.iter_mut().zip(STAKES) {
            *part *= 1.0 + stake * size;
        }
        self.most = self.most.max(self.parts.iter().sum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    const ALPHA: f64 = 0.05;

    fn normal(random: &mut Random) -> f64 {
        (-2.0 * random.uniform().ln()).sqrt() * (std::f64::consts::TAU * random.uniform()).cos()
    }

    fn sequence(differences: impl IntoIterator<Item = f64>) -> Sequence {
        let mut sequence = Sequence::new(ALPHA);
        differences.into_iter().for_each(|difference| {
            sequence.add(difference);
        });
        sequence
    }

    #[test]
    fn the_first_sum_is_divided_whole_and_no_stake_is_all() {
        assert!((STAKES.iter().map(|(_, part)| part).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(STAKES.iter().all(|(stake, _)| *stake < 1.0));
    }

    #[test]
    fn too_few_pairs_rule_nothing_out() {
        let fewest = Sequence::pairs_min(ALPHA);
        assert!((6..=8).contains(&fewest), "{fewest}");
        let same = |n: usize| sequence((0..n).map(|_| 0.3)).interval();
        assert_eq!(same(fewest - 1), (f64::NEG_INFINITY, f64::INFINITY));
        let (lo, hi) = same(fewest);
        assert!(lo > 0.29 && hi < 0.31, "{lo} {hi}");
        assert_eq!(sequence([]).interval(), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn a_difference_of_nothing_moves_no_wealth() {
        let zeros = sequence((0..50).map(|_| 0.0));
        assert!(!zeros.rules_out(&zeros.bound(0.0, true)) && !zeros.rules_out(&zeros.bound(0.0, false)));
        assert!(zeros.rules_out(&zeros.bound(-0.01, true)) && zeros.rules_out(&zeros.bound(0.01, false)));
    }

    #[test]
    fn the_interval_ends_where_the_watch_on_its_end_does() {
        let mut random = Random::new(3);
        let sequence = sequence((0..60).map(|_| 0.1 + 0.05 * normal(&mut random)));
        let (lo, hi) = sequence.interval();
        assert!(lo < 0.1 && 0.1 < hi && hi - lo < 0.08, "{lo} {hi}");
        for (end, above) in [(lo, true), (hi, false)] {
            let outwards = if above { -1e-4 } else { 1e-4 };
            assert!(sequence.rules_out(&sequence.bound(end + outwards, above)));
            assert!(!sequence.rules_out(&sequence.bound(end - outwards, above)));
        }
    }

    #[test]
    fn the_interval_only_shrinks() {
        let mut random = Random::new(8);
        let (mut sequence, mut before) = (Sequence::new(ALPHA), (f64::NEG_INFINITY, f64::INFINITY));
        for at in 0..120 {
            // It moves half of the way through, by less than the interval is wide.
            sequence.add(if at < 60 { 0.1 } else { 0.102 } + 0.02 * normal(&mut random));
            let now = sequence.interval();
            assert!(now.0 >= before.0 - 1e-6 && now.1 <= before.1 + 1e-6, "{before:?} {now:?}");
            before = now;
        }
    }

    #[test]
    fn looked_at_after_each_pair_it_is_wrong_as_rarely_as_it_says() {
        let mut random = Random::new(21);
        let wrong = (0..400).filter(|_| {
            let mut sequence = Sequence::new(ALPHA);
            let mut bounds = [sequence.bound(0.0, true), sequence.bound(0.0, false)];
            let mut drift = 0.0;
            (0..500).any(|_| {
                // It drifts, with spikes; the sign is a coin.
                drift = 0.9 * drift + 0.01 * normal(&mut random);
                let spike = if random.uniform() < 0.05 { random.uniform() } else { 0.0 };
                let size = 0.02 * normal(&mut random) + drift + spike;
                let difference = if random.uniform() < 0.5 { size } else { -size };
                let full = sequence.add(difference);
                bounds.iter_mut().for_each(|bound| bound.add(difference, full));
                bounds.iter().any(|bound| sequence.rules_out(bound))
            })
        });
        let wrong = wrong.count();
        assert!(wrong <= 20, "{wrong} of 400");
    }
}
