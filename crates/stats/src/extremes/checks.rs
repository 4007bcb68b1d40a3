//! Whether maxima allow to speak of those to come: alike all along, one kind of event, distributed as maxima are.

use super::Refusal;
use super::gev::Gev;

/// How unlikely maxima of one kind must be to look so. A wrong refusal costs an estimate; a wrong estimate may cost more.
const UNLIKELY: f64 = 0.03;
/// The two-sided point of the normal distribution for one in a hundred.
const Z_TWO_SIDED: f64 = 2.575_829;
/// The one-sided one.
const Z_ONE_SIDED: f64 = 2.326_348;
/// Of all values, so many must differ from each other.
const DIFFERENT: f64 = 0.5;
/// The part of the values among which a gap is looked for: the largest of them.
const TOP: f64 = 0.25;

/// Alike all along, and one not because of another.
pub(super) fn in_time(maxima: &[f64]) -> Result<(), Refusal> {
    if kendall(maxima).abs() > Z_TWO_SIDED {
        return Err(Refusal::Trend);
    }
    if runs(maxima) < -Z_ONE_SIDED {
        return Err(Refusal::Together);
    }
    Ok(())
}

/// Mann and Kendall's test of a trend (M. G. Kendall, "Rank Correlation Methods", 1948): how many deviations more pairs rise than fall.
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

/// The number of runs above and not above the median, in deviations from what is expected (A. Wald, J. Wolfowitz, 1940):
/// far below 0 where like comes to like.
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

/// Enough different values.
pub(super) fn fine(sorted: &[f64]) -> Result<(), Refusal> {
    let different = 1 + sorted.windows(2).filter(|pair| pair[0] < pair[1]).count();
    if (different as f64) < sorted.len() as f64 * DIFFERENT { Err(Refusal::Coarse) } else { Ok(()) }
}

/// How far values are from a distribution that was fitted to them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    /// T. W. Anderson and D. A. Darling's distance, weighted towards the upper tail (M. I. Ahmad, C. D. Sinclair, B. D. Spurr,
    /// Water Resources Research 24, 1988).
    upper: f64,
    /// The same, weighted towards both tails.
    both: f64,
    /// The largest gap among the largest values, by the mean of them: each times its rank from the top, which are alike when the tail is
    /// exponential (A. Rényi, 1953), and nearly so in other tails of one kind.
    gap: f64,
}

impl Fit {
    pub(super) fn of(sorted: &[f64], fit: &Gev) -> Self {
        let n = sorted.len() as f64;
        let (mut sum, mut up, mut down) = (0.0, 0.0, 0.0);
        for (at, value) in sorted.iter().enumerate() {
            // A fit of a tail that ends may leave values outside.
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

/// How many samples of the fitted distribution are farther from their own fit than what was seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Worse {
    all: u32,
    upper: u32,
    both: u32,
    gap: u32,
}

impl Worse {
    pub(super) fn count(&mut self, drawn: &Fit, seen: &Fit) {
        self.all += 1;
        self.upper += u32::from(drawn.upper >= seen.upper);
        self.both += u32::from(drawn.both >= seen.both);
        self.gap += u32::from(drawn.gap >= seen.gap);
    }

    pub(super) fn judge(&self) -> Result<(), Refusal> {
        let unlikely = |worse: u32| f64::from(worse) < f64::from(self.all) * UNLIKELY;
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
    fn tests_in_time_refuse_about_as_many_good_runs_as_they_say() {
        let refused = (0..2_000).filter(|seed| in_time(&exponential(*seed, 80)).is_err()).count();
        assert!((15..75).contains(&refused), "{refused} of 2000, where two in a hundred are due");
    }

    #[test]
    fn a_trend_and_values_that_come_together_are_found() {
        let mut rising = exponential(1, 100);
        rising.iter_mut().enumerate().for_each(|(at, value)| *value += at as f64 * 0.03);
        assert_eq!(in_time(&rising), Err(Refusal::Trend));
        let mut bursts = exponential(2, 100);
        bursts
            .iter_mut()
            .enumerate()
            .for_each(|(at, value)| *value += f64::from(u8::from(at / 10 % 2 == 0)) * 3.0);
        assert_eq!(in_time(&bursts), Err(Refusal::Together));
    }

    #[test]
    fn kendall_of_a_strict_order_is_that_of_the_formula() {
        let rising: Vec<f64> = (0..10).map(f64::from).collect();
        // 45 pairs, variance 10 x 9 x 25 / 18 = 125.
        assert!((kendall(&rising) - 45.0 / 125_f64.sqrt()).abs() < 1e-12);
    }
}
