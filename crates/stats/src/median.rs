//! The median and its interval by order statistics, for independent values of any distribution.

/// A median with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Median {
    /// The median.
    pub value: f64,
    /// Low end: one of the values.
    pub lo: f64,
    /// High end.
    pub hi: f64,
}

/// The median of `sorted` values, with the interval between two of them that holds the true median
/// with at least 95 % confidence (H. A. David, H. N. Nagaraja, "Order Statistics", 3rd edition,
/// section 7.1). For up to five values the interval is their range. None without values.
pub fn median(sorted: &[f64]) -> Option<Median> {
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let value = quantile(sorted, 0.5)?;
    Some(match rank(sorted.len()) {
        0 => Median { value, lo: first, hi: last },
        rank => Median { value, lo: sorted[rank - 1], hi: sorted[sorted.len() - rank] },
    })
}

/// The median of values in any order, without an interval; of an even number, the middle between
/// the two. None without values.
pub fn median_of(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// The quantile of `share` (0 to 1) of `sorted` values, interpolated linearly.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let below = (at.floor() as usize).min(last);
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (at - below as f64))
}

/// The largest rank, counted from 1, that the true median is below with at most 2.5 % probability;
/// 0 if there is none. The number of values below the median is binomial with one half.
fn rank(n: usize) -> usize {
    const TAIL: f64 = 0.025;
    // Beyond, the normal approximation gives the same rank, and the power of one half underflows.
    if n > 900 {
        return (n as f64 / 2.0 - 0.5 - 1.959_964 * (n as f64).sqrt() / 2.0).floor() as usize + 1;
    }
    let mut chance = 0.5_f64.powi(n as i32);
    let mut below = 0.0;
    for rank in 0..=n {
        below += chance;
        if below > TAIL {
            return rank;
        }
        chance *= (n - rank) as f64 / (rank + 1) as f64;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(n: usize) -> Vec<f64> {
        (1..=n).map(|value| value as f64).collect()
    }

    #[test]
    fn ranks_are_those_of_the_tables() {
        // From tables of the binomial with one half.
        for (n, low) in [
            (5, 0),
            (6, 1),
            (8, 1),
            (9, 2),
            (10, 2),
            (15, 4),
            (20, 6),
            (25, 8),
            (30, 10),
            (50, 18),
            (100, 40),
        ] {
            assert_eq!(rank(n), low, "of {n}");
        }
    }

    #[test]
    fn the_approximation_meets_the_exact_rank() {
        let normal = |n: f64| (n / 2.0 - 0.5 - 1.959_964 * n.sqrt() / 2.0).floor() as usize + 1;
        for n in 200..900 {
            assert!(rank(n).abs_diff(normal(n as f64)) <= 1, "{n}: {} {}", rank(n), normal(n as f64));
        }
        assert!(rank(901) >= rank(900) && rank(901) <= rank(900) + 1);
    }

    #[test]
    fn the_interval_lies_evenly_about_the_median() {
        let found = median(&values(10)).unwrap();
        assert_eq!(found, Median { value: 5.5, lo: 2.0, hi: 9.0 });
        assert_eq!(median(&values(3)).unwrap(), Median { value: 2.0, lo: 1.0, hi: 3.0 });
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[4.0]).unwrap(), Median { value: 4.0, lo: 4.0, hi: 4.0 });
    }

    #[test]
    fn a_median_needs_no_order() {
        assert_eq!(median_of([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median_of([4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median_of([]), None);
    }

    #[test]
    fn quantiles_lie_between_the_values() {
        assert_eq!(quantile(&values(11), 0.1), Some(2.0));
        assert_eq!(quantile(&values(2), 0.25), Some(1.25));
        assert_eq!(quantile(&values(4), 2.0), Some(4.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        // Uniform values by a linear congruence, from MMIX; the true median is one half.
        let mut state = 12345_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let held = (0..2_000).filter(|_| {
            let mut values: Vec<f64> = (0..40).map(|_| uniform()).collect();
            values.sort_unstable_by(f64::total_cmp);
            let found = median(&values).unwrap();
            found.lo <= 0.5 && 0.5 <= found.hi
        });
        assert!((1_880..1_990).contains(&held.count()));
    }
}
