//! Whether block maxima allow an estimate: stationary, of one kind of event, distributed as maxima
//! are.

use super::Refusal;
use super::gev::Gev;

/// The significance level of the checks. A wrong refusal costs an estimate, a wrong estimate more.
const LEVEL: f64 = 0.03;
/// The two-sided 1 % point of the normal distribution.
const Z_TWO_SIDED: f64 = 2.575_829;
/// The one-sided 1 % point.
const Z_ONE_SIDED: f64 = 2.326_348;
/// The least share of distinct values.
const DISTINCT: f64 = 0.5;
/// The share of the largest values that is checked for a gap.
const TOP: f64 = 0.25;

/// No trend, and no bursts.
pub(super) fn in_time(maxima: &[f64]) -> Result<(), Refusal> {
    if kendall(maxima).abs() > Z_TWO_SIDED {
        return Err(Refusal::Trend);
    }
    if runs(maxima) < -Z_ONE_SIDED {
        return Err(Refusal::Clustered);
    }
    Ok(())
}

/// The Mann-Kendall test of a trend (M. G. Kendall, "Rank Correlation Methods", 1948): rising less
/// falling pairs, in standard deviations.
fn kendall(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mut rising = 0.0;
    for (at, value) in values.iter().enumerate() {
        for later in &values[at + 1..] {
            rising += f64::from(i8::from(later > value) - i8::from(later < value));
        }
    }
    rising / (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt()
}

/// The Wald-Wolfowitz runs test (1940): the number of runs above and below the median, in standard
/// deviations from its expectation. Far below 0 if values are clustered.
fn runs(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted[sorted.len() / 2];
    let high: Vec<bool> = values.iter().map(|value| *value >= middle).collect();
    let runs = 1.0 + high.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
    let n = high.len() as f64;
    let above = high.iter().filter(|high| **high).count() as f64;
    let twice = 2.0 * above * (n - above);
    let expected = 1.0 + twice / n;
    let variance = twice * (twice - n) / (n * n * (n - 1.0));
    if variance <= 0.0 { 0.0 } else { (runs - expected) / variance.sqrt() }
}

/// Enough distinct values.
pub(super) fn fine(sorted: &[f64]) -> Result<(), Refusal> {
    let distinct = 1 + sorted.windows(2).filter(|pair| pair[0] < pair[1]).count();
    if (distinct as f64) < sorted.len() as f64 * DISTINCT { Err(Refusal::Coarse) } else { Ok(()) }
}

/// The distances of values from a distribution fitted to them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    /// The Anderson-Darling distance, weighted towards the upper tail (M. I. Ahmad, C. D. Sinclair,
    /// B. D. Spurr, Water Resources Research 24, 1988).
    upper: f64,
    /// The statistic weighted towards both tails.
    both: f64,
    /// The largest gap among the largest values, as a share of their sum. Each gap is multiplied by
    /// its rank from the top: for an exponential tail these have the same distribution (A. Rényi,
    /// 1953), for other tails of one kind nearly so.
    gap: f64,
}

impl Fit {
    pub(super) fn of(sorted: &[f64], fit: &Gev) -> Self {
        let n = sorted.len() as f64;
        let (mut sum, mut up, mut down) = (0.0, 0.0, 0.0);
        for (at, value) in sorted.iter().enumerate() {
            // A fit with a bounded tail may exclude some values.
            let below = fit.below(*value).clamp(1e-12, 1.0 - 1e-12);
            let odd = (2 * at + 1) as f64 / n;
            sum += below;
            up += (2.0 - odd) * (-below).ln_1p();
            down += odd * below.ln();
        }
        let upper = n / 2.0 - 2.0 * sum - up;
        let lower = -1.5 * n + 2.0 * sum - down;
        let top = ((n * TOP) as usize).clamp(8, sorted.len() - 1);
        let gaps = (1..=top)
            .map(|rank| rank as f64 * (sorted[sorted.len() - rank] - sorted[sorted.len() - rank - 1]));
        let (all, widest) = gaps.fold((0.0, 0.0_f64), |(all, widest), gap| (all + gap, widest.max(gap)));
        Self { upper, both: upper + lower, gap: if all > 0.0 { widest / all } else { 0.0 } }
    }
}

/// The number of samples from the fitted distribution whose own fit is worse than the fit of the
/// data.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WorseFits {
    all: u32,
    upper: u32,
    both: u32,
    gap: u32,
}

impl WorseFits {
    pub(super) fn count(&mut self, drawn: &Fit, data: &Fit) {
        self.all += 1;
        self.upper += u32::from(drawn.upper >= data.upper);
        self.both += u32::from(drawn.both >= data.both);
        self.gap += u32::from(drawn.gap >= data.gap);
    }

    pub(super) fn judge(&self) -> Result<(), Refusal> {
        let unlikely = |worse: u32| f64::from(worse) < f64::from(self.all) * LEVEL;
        if unlikely(self.gap) {
            return Err(Refusal::TwoKinds);
        }
        if unlikely(self.upper) || unlikely(self.both) {
            return Err(Refusal::Misfit);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn exponential(seed: u64, n: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|_| -random.uniform().ln()).collect()
    }

    #[test]
    fn tests_of_order_refuse_good_runs_at_their_level() {
        let refused = (0..2_000).filter(|seed| in_time(&exponential(*seed, 80)).is_err()).count();
        assert!((15..75).contains(&refused), "{refused} of 2000, expected 2 %");
    }

    #[test]
    fn a_trend_and_bursts_are_found() {
        let mut rising = exponential(1, 100);
        rising.iter_mut().enumerate().for_each(|(at, value)| *value += at as f64 * 0.03);
        assert_eq!(in_time(&rising), Err(Refusal::Trend));
        let mut bursts = exponential(2, 100);
        bursts
            .iter_mut()
            .enumerate()
            .for_each(|(at, value)| *value += f64::from(u8::from(at / 10 % 2 == 0)) * 3.0);
        assert_eq!(in_time(&bursts), Err(Refusal::Clustered));
    }

    #[test]
    fn kendall_of_a_strict_order_is_that_of_the_formula() {
        let rising: Vec<f64> = (0..10).map(f64::from).collect();
        // 45 pairs, variance 10 x 9 x 25 / 18 = 125.
        assert!((kendall(&rising) - 45.0 / 125_f64.sqrt()).abs() < 1e-12);
    }
}
