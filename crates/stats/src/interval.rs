//! Intervals of shares estimated from samples.

/// A share with its interval; all three from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proportion {
    /// `hits / trials`; 0 without trials.
    pub value: f64,
    /// Low end.
    pub lo: f64,
    /// High end.
    pub hi: f64,
}

/// The 95 % score interval of a binomial share. Without trials it is 0 to 1.
///
/// E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
/// (1927). It keeps its coverage near 0 and 1 and for few trials, where the textbook interval
/// collapses to a point.
pub fn wilson(hits: u64, trials: u64) -> Proportion {
    if trials == 0 {
        return Proportion { value: 0.0, lo: 0.0, hi: 1.0 };
    }
    wilson_of(hits.min(trials) as f64 / trials as f64, trials as f64)
}

/// The same for a share `p` (0 to 1) with an effective number of trials `n` above 0.
///
/// For weighted trials `n` is the square of the sum of weights over the sum of their squares (L.
/// Kish, "Survey Sampling", 1965).
pub fn wilson_of(p: f64, n: f64) -> Proportion {
    const Z: f64 = 1.959_963_984_540_054;
    let z2 = Z * Z;
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    let lo = if p <= 0.0 { 0.0 } else { (middle - half).max(0.0) };
    let hi = if p >= 1.0 { 1.0 } else { (middle + half).min(1.0) };
    Proportion { value: p, lo, hi }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_agrees_with_published_values() {
        // Brown, Cai, DasGupta, "Interval estimation for a binomial proportion" (2001): 15 of 50
        // gives 0.191..0.438.
        let share = wilson(15, 50);
        assert!((share.lo - 0.1910).abs() < 5e-4 && (share.hi - 0.4375).abs() < 5e-4, "{share:?}");
        // No hit in ten: up to 27.75 %.
        let none = wilson(0, 10);
        assert_eq!(none.lo, 0.0);
        assert!((none.hi - 0.2775).abs() < 5e-4, "{none:?}");
    }

    #[test]
    fn nothing_tried_is_nothing_known() {
        assert_eq!(wilson(0, 0), Proportion { value: 0.0, lo: 0.0, hi: 1.0 });
    }

    #[test]
    fn the_interval_holds_the_truth_about_as_often_as_it_says() {
        // All outcomes of 40 trials at p = 0.1, weighed by their probability.
        let (n, p) = (40_u64, 0.1_f64);
        let mut chance = (1.0 - p).powi(40);
        let mut covered = 0.0;
        for hits in 0..=n {
            let share = wilson(hits, n);
            if share.lo <= p && p <= share.hi {
                covered += chance;
            }
            chance *= (n - hits) as f64 / (hits + 1) as f64 * p / (1.0 - p);
        }
        assert!((0.93..0.99).contains(&covered), "{covered}");
    }
}
