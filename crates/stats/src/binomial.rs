//! Exact binomial intervals: of a rate of events, and of a quantile.

use crate::special::{beta, normal};

/// The upper bound on the probability of a hit at `confidence` (0 to 1, one-sided), given `hits` in
/// `trials`: the exact bound of C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial
/// limits", Biometrika 26 (1934). Without hits it is the rule of three: about 3 / trials at 95 %.
/// Without trials it is 1.
pub fn upper(hits: u64, trials: u64, confidence: f64) -> f64 {
    if hits >= trials {
        return 1.0;
    }
    let (k, n) = (hits as f64, trials as f64);
    if hits == 0 {
        // (1 - p)^n is 1 - confidence; written to stay exact if n is so large that 1 - p rounds to
        // 1.
        return -((1.0 - confidence).ln() / n).exp_m1();
    }
    let (mut low, mut high) = (k / n, 1.0);
    while high - low > low * 1e-9 {
        // The bound may be a billionth: bisect by ratio.
        let middle = (low * high).sqrt();
        if beta(k + 1.0, n - k, middle) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The number of trials without a hit that gives [`upper`] = `bound` (above 0).
pub fn clean_trials(bound: f64, confidence: f64) -> f64 {
    (1.0 - confidence).ln() / (-bound.min(1.0 - f64::EPSILON)).ln_1p()
}

/// The ranks (from 1) of the interval of a quantile `share` (within 0 to 1) at `confidence`, among
/// `n` sorted values: the number of values below it is binomial (H. A. David, H. N. Nagaraja,
/// "Order Statistics", 3rd edition, section 7.1). Rank 0 and rank `n` + 1 mean that the values give
/// no bound.
pub fn ranks(n: u64, share: f64, confidence: f64) -> (u64, u64) {
    let tail = (1.0 - confidence) / 2.0;
    let deviation = (n as f64 * share * (1.0 - share)).sqrt();
    // Far from both ends the normal approximation is as good, and the sum would take long.
    if deviation > 1_000.0 {
        let (middle, far) = (n as f64 * share, deviation * normal(1.0 - tail));
        let above = ((middle + far).ceil() as u64).saturating_add(1);
        return ((middle - far).floor() as u64, above.min(n.saturating_add(1)));
    }
    // The probability that at most `k` are below.
    let at_most = |k: u64| if k >= n { 1.0 } else { beta((n - k) as f64, k as f64 + 1.0, 1.0 - share) };
    // The quantile is below the value of rank r when at most r - 1 are below it.
    let low = first(n, |rank| at_most(rank) > tail);
    let high = first(n + 1, |rank| rank > 0 && at_most(rank - 1) >= 1.0 - tail);
    (low, high)
}

/// The first number from 0 to `most` for which `holds` is true, given that it stays true; `most` if
/// there is none.
fn first(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hit_is_the_rule_of_three() {
        assert!((upper(0, 100_000_000, 0.95) * 1e8 - 2.995_732_3).abs() < 1e-6);
        assert!((upper(0, 1, 0.95) - 0.95).abs() < 1e-12);
        assert_eq!(upper(0, 0, 0.95), 1.0);
        assert_eq!(upper(5, 5, 0.95), 1.0);
    }

    #[test]
    fn the_bound_is_where_so_few_hits_are_as_unlikely_as_asked() {
        // By the sum of the binomial itself.
        for (hits, trials, confidence) in [(1_u64, 20_u64, 0.95), (3, 50, 0.9), (7, 10, 0.99)] {
            let p = upper(hits, trials, confidence);
            let (mut chance, mut sum) = ((1.0 - p).powi(trials as i32), 0.0);
            for k in 0..=hits {
                sum += chance;
                chance *= (trials - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
            }
            assert!((sum - (1.0 - confidence)).abs() < 1e-6, "{hits} of {trials}: {sum}");
        }
        // Rare hits in many trials are Poisson's: 4.74 at 95 % for one.
        assert!((upper(1, 1_000_000_000, 0.95) * 1e9 - 4.743_865).abs() < 1e-4);
    }

    #[test]
    fn clean_trials_turn_the_bound_round() {
        for n in [10_u64, 3_000, 100_000_000] {
            assert!((clean_trials(upper(0, n, 0.95), 0.95) / n as f64 - 1.0).abs() < 1e-6, "{n}");
        }
    }

    #[test]
    fn ranks_of_the_median_are_those_of_the_tables() {
        for (n, low) in [(6, 1), (9, 2), (20, 6), (50, 18), (100, 40)] {
            assert_eq!(ranks(n, 0.5, 0.95), (low, n + 1 - low), "of {n}");
        }
        assert_eq!(ranks(5, 0.5, 0.95), (0, 6));
    }

    #[test]
    fn ranks_hold_the_quantile_as_often_as_asked_and_the_next_narrower_ones_do_not() {
        for (n, share) in [(1_000_u64, 0.99_f64), (4_000, 0.999), (300, 0.9)] {
            let (low, high) = ranks(n, share, 0.95);
            // By logarithms: the first term underflows.
            let mut terms = vec![0.0_f64];
            for k in 0..n {
                let term = terms[k as usize];
                terms.push(term + ((n - k) as f64 / (k + 1) as f64 * share / (1.0 - share)).ln());
            }
            let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let below: Vec<f64> = terms.iter().map(|term| (term - most).exp()).collect();
            let all: f64 = below.iter().sum();
            let under: f64 = below.iter().take(low as usize).sum::<f64>() / all;
            let over: f64 = below.iter().skip(high as usize).sum::<f64>() / all;
            assert!(under <= 0.025 && over <= 0.025, "{n}: {low} {high} {under} {over}");
            let more = below[low as usize] / all;
            let less = below[high as usize - 1] / all;
            assert!(under + more > 0.025 && over + less > 0.025, "{n}: {low} {high}");
        }
    }

    #[test]
    fn of_many_values_the_approximation_meets_the_exact_ranks() {
        // On both sides of the switch to the approximation.
        for n in [3_990_000_u64, 4_010_000] {
            let (low, high) = ranks(n, 0.5, 0.95);
            let far = 1.959_964 * (n as f64 / 4.0).sqrt();
            let middle = n as f64 / 2.0;
            assert!(
                (low as f64 - (middle - far)).abs() < 3.0 && (high as f64 - (middle + far)).abs() < 3.0,
                "{n}: {low} {high}"
            );
        }
    }

    #[test]
    fn of_too_few_values_a_rare_quantile_has_no_upper_bound() {
        let (low, high) = ranks(1_000, 0.9999, 0.95);
        assert!(low > 990 && high == 1_001, "{low} {high}");
    }
}
