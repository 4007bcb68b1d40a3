//! The centre of differences and its interval for a number of pairs that was fixed beforehand.
//!
//! F. Wilcoxon, "Individual comparisons by ranking methods" (1945); J. L. Hodges, E. L. Lehmann,
//! "Estimates of location based on rank tests" (1963). Both are order statistics of the Walsh
//! averages, (x_i + x_j) / 2 of each two differences and of each with itself.

/// The middle of the Walsh averages. None without differences.
pub fn hodges_lehmann(differences: &[f64]) -> Option<f64> {
    let sorted = sorted(differences);
    let averages = averages(sorted.len());
    let low = average(&sorted, averages.div_ceil(2))?;
    if averages % 2 == 1 {
        return Some(low);
    }
    Some((low + average(&sorted, averages / 2 + 1)?) / 2.0)
}

/// The interval that holds the centre of symmetric differences with at least the probability
/// 1 - `alpha`. None with fewer than [`pairs_min`] differences.
pub fn signed_rank(differences: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let sorted = sorted(differences);
    let rank = critical(sorted.len(), alpha / 2.0)? + 1;
    Some((average(&sorted, rank)?, average(&sorted, averages(sorted.len()) + 1 - rank)?))
}

/// The fewest pairs with which [`signed_rank`] has an interval.
pub fn pairs_min(alpha: f64) -> usize {
    (1.0 - alpha.log2()).ceil() as usize
}

fn sorted(differences: &[f64]) -> Vec<f64> {
    let mut sorted = differences.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn averages(n: usize) -> u64 {
    n as u64 * (n as u64 + 1) / 2
}

/// The Walsh average of this rank, from 1. There are too many of them to be listed, but those up to
/// a value are counted in one pass.
fn average(sorted: &[f64], rank: u64) -> Option<f64> {
    let (mut low, mut high) = (*sorted.first()?, *sorted.last()?);
    if rank <= count(sorted, low) {
        return Some(low);
    }
    // Until no number lies between the two.
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return Some(high);
        }
        if count(sorted, middle) >= rank {
            high = middle;
        } else {
            low = middle;
        }
    }
}

/// Walsh averages up to a value.
fn count(sorted: &[f64], value: f64) -> u64 {
    let mut count = 0;
    // The larger one of two goes down as the smaller one goes up.
    let mut above = sorted.len();
    for (at, smaller) in sorted.iter().enumerate() {
        while above > at && smaller + (sorted[above - 1] - smaller) / 2.0 > value {
            above -= 1;
        }
        if above <= at {
            break;
        }
        count += (above - at) as u64;
    }
    count
}

/// The largest sum of ranks with a probability of at most `tail` to be reached or fallen below.
fn critical(n: usize, tail: f64) -> Option<u64> {
    if 0.5_f64.powi(n as i32) > tail || n == 0 {
        return None;
    }
    const EXACT_MAX: usize = 100;
    if n > EXACT_MAX {
        let n = n as f64;
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        let below = n * (n + 1.0) / 4.0 + crate::special::normal(tail) * deviation - 1.0;
        return Some(below as u64);
    }
    // The probability of each sum: each rank is in it or not.
    let mut chances = vec![0.0; averages(n) as usize + 1];
    chances[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..chances.len()).rev() {
            let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = (chances[sum] + with) / 2.0;
        }
    }
    let mut so_far = 0.0;
    let reached = chances.iter().position(|chance| {
        so_far += chance;
        so_far > tail
    });
    reached.and_then(|first| first.checked_sub(1)).map(|sum| sum as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// All Walsh averages, listed.
    fn listed(values: &[f64]) -> Vec<f64> {
        let mut all: Vec<f64> = (0..values.len())
            .flat_map(|i| (i..values.len()).map(move |j| (i, j)))
            .map(|(i, j)| (values[i] + values[j]) / 2.0)
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    #[test]
    fn the_centre_is_the_middle_of_the_walsh_averages() {
        let mut random = Random::new(5);
        for n in [1, 2, 3, 7, 10, 31] {
            let values: Vec<f64> = (0..n).map(|_| random.uniform()).collect();
            let all = listed(&values);
            let middle = (all[(all.len() - 1) / 2] + all[all.len() / 2]) / 2.0;
            let found = hodges_lehmann(&values).unwrap();
            assert!((found - middle).abs() < 1e-12, "of {n}: {found} {middle}");
        }
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(hodges_lehmann(&[4.0, 4.0, 4.0]), Some(4.0));
    }

    #[test]
    fn critical_sums_are_those_of_the_tables() {
        // Wilcoxon's table for 5 % on both sides.
        for (n, sum) in [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (15, 25), (20, 52), (25, 89), (30, 137)] {
            assert_eq!(critical(n, 0.025), Some(sum), "of {n}");
        }
        assert_eq!(critical(5, 0.025), None);
        assert_eq!(pairs_min(0.05), 6);
        assert_eq!((0..20).find(|n| critical(*n, 0.025).is_some()), Some(6));
    }

    #[test]
    fn of_many_pairs_the_approximation_meets_the_exact_sum() {
        let exact = critical(100, 0.025).unwrap();
        // From a table for 100 pairs.
        assert_eq!(exact, 1_955);
        let n = 101.0_f64;
        let normal = n * (n + 1.0) / 4.0 - 1.959_964 * (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        assert!((critical(101, 0.025).unwrap() as f64 - normal).abs() <= 2.0);
    }

    #[test]
    fn the_interval_is_between_two_walsh_averages() {
        let values = [0.3, -0.1, 0.25, 0.7, 0.05, 0.4, 0.6, 0.2, 0.1, 0.35];
        let all = listed(&values);
        let (lo, hi) = signed_rank(&values, 0.05).unwrap();
        assert!((lo - all[8]).abs() < 1e-12 && (hi - all[all.len() - 9]).abs() < 1e-12, "{lo} {hi}");
        assert_eq!(signed_rank(&values[..5], 0.05), None);
    }

    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        let mut random = Random::new(11);
        let held = (0..2_000).filter(|_| {
            // Symmetric, with long tails.
            let values: Vec<f64> =
                (0..20).map(|_| 3.0 + (random.uniform().ln() - random.uniform().ln()).powi(3)).collect();
            let (lo, hi) = signed_rank(&values, 0.05).unwrap();
            lo <= 3.0 && 3.0 <= hi
        });
        let held = held.count();
        assert!((1_870..=1_940).contains(&held), "{held}");
    }
}
