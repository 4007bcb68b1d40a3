//! Estimates the maximum of a longer run from the block maxima of a shorter one, or says why the
//! values do not allow it.
//!
//! Maxima of many values of one kind have the generalised extreme value distribution, and so does
//! the maximum of many of them (R. A. Fisher, L. H. C. Tippett, 1928; S. Coles, "An Introduction to
//! Statistical Modeling of Extreme Values", 2001, chapter 3). A fit by L-moments (J. R. M. Hosking,
//! J. R. Wallis, E. F. Wood, Technometrics 27, 1985), compared with fits to samples drawn from it,
//! shows whether the maxima may have that distribution. The estimate is averaged over all likely
//! parameters: the best fit alone would ignore the uncertainty of the fit.

mod checks;
mod gev;
mod walk;

use crate::Random;
use gev::Gev;
use std::fmt;

/// The least number of blocks to fit three parameters and to check the fit.
pub const BLOCKS_MIN: usize = 40;
/// More blocks are merged, two and more into one: the theory holds better for longer blocks.
pub const BLOCKS_MAX: usize = 250;
/// The least number of values per block.
pub const VALUES_MIN: u64 = 30;
/// Samples drawn from the fit, for the checks.
const DRAWN: usize = 1_000;
/// Maxima taken from each distribution: at even steps of probability, with a random start.
const EACH: usize = 4;
/// An upper end beyond this multiple of the largest value is no bound.
const UNBOUNDED: f64 = 100.0;

/// The largest value of a longer run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Largest {
    /// As likely to be exceeded as not.
    pub median: f64,
    /// Low end of the interval at the confidence asked for.
    pub lo: f64,
    /// High end; none where the values give no bound.
    pub hi: Option<f64>,
    /// The shape of the tail: bounded below 0, exponential at 0, a power law above 0.
    pub shape: f64,
}

/// Why there is no estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The number of blocks is less than [`BLOCKS_MIN`].
    TooFew(usize),
    /// The mean number of values per block is less than [`VALUES_MIN`].
    TooSparse(u64),
    /// Too many of them are equal: the clock or the tool is coarse.
    Coarse,
    /// The maxima rise or fall over the run.
    Trend,
    /// Large maxima come in bursts.
    Clustered,
    /// A gap separates the largest from the others: two kinds of event, one of them too rare.
    TwoKinds,
    /// The maxima do not have the distribution of one kind of event.
    Misfit,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooFew(n) => write!(f, "at least {BLOCKS_MIN} blocks needed, {n} measured"),
            Refusal::TooSparse(n) => {
                write!(f, "at least {VALUES_MIN} values per block needed, about {n} measured")
            }
            Refusal::Coarse => {
                f.write_str("many block maxima are equal: the clock or the tool is too coarse")
            }
            Refusal::Trend => f.write_str("the block maxima rise or fall over the run"),
            Refusal::Clustered => {
                f.write_str("high block maxima come in bursts: the next burst may be worse")
            }
            Refusal::TwoKinds => f.write_str(
                "a gap separates the largest block maxima from the others: another kind of event, too \
                 rare for an estimate",
            ),
            Refusal::Misfit => {
                f.write_str("the block maxima do not have the distribution of one kind of event")
            }
        }
    }
}

/// The maximum of a run `times` as long as the one with these `maxima`, which are of blocks of
/// equal length, in order, with `values` values in all. The interval is a prediction interval: it
/// includes the uncertainty of the fit and the variation from run to run.
pub fn largest(maxima: &[f64], values: u64, times: f64, confidence: f64) -> Result<Largest, Refusal> {
    let maxima = merged(maxima);
    if maxima.len() < BLOCKS_MIN {
        return Err(Refusal::TooFew(maxima.len()));
    }
    let each = values / maxima.len() as u64;
    if each < VALUES_MIN {
        return Err(Refusal::TooSparse(each));
    }
    checks::in_time(&maxima)?;
    let mut sorted = maxima;
    sorted.sort_unstable_by(f64::total_cmp);
    checks::fine(&sorted)?;
    let fit = Gev::fitted(&sorted).ok_or(Refusal::Coarse)?;
    let blocks = sorted.len() as f64 * times;

    // A fixed seed, so that the same recording gives the same result.
    let mut random = Random::new(sorted.len() as u64);
    let data = checks::Fit::of(&sorted, &fit);
    let mut worse = checks::WorseFits::default();
    let mut values = Vec::new();
    let mut others = Vec::with_capacity(DRAWN);
    let mut drawn = vec![0.0; sorted.len()];
    for _ in 0..DRAWN {
        drawn.fill_with(|| fit.quantile(random.uniform()));
        drawn.sort_unstable_by(f64::total_cmp);
        let Some(again) = Gev::fitted(&drawn) else { continue };
        worse.count(&checks::Fit::of(&drawn, &again), &data);
        others.push(again);
    }
    worse.judge()?;
    walk::through(&sorted, &fit, &others, &mut random, |gev, random| {
        let start = random.uniform();
        values.extend((0..EACH).map(|step| gev.largest((step as f64 + start) / EACH as f64, blocks)));
    })
    .ok_or(Refusal::Misfit)?;
    values.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let at = |share: f64| crate::median::quantile(&values, share).unwrap_or(f64::NAN);
    let hi = at(1.0 - tail);
    Ok(Largest {
        median: at(0.5),
        lo: at(tail),
        hi: (hi < UNBOUNDED * sorted[sorted.len() - 1]).then_some(hi),
        shape: -fit.k,
    })
}

/// Merges neighbours until there are few enough; a remainder at the end joins the last block.
fn merged(maxima: &[f64]) -> Vec<f64> {
    let max = |of: &[f64]| of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let size = maxima.len().div_ceil(BLOCKS_MAX).max(1);
    let chunks = maxima.chunks_exact(size);
    let over = max(chunks.remainder());
    let mut merged: Vec<f64> = chunks.map(max).collect();
    if let Some(last) = merged.last_mut() {
        *last = last.max(over);
    }
    merged
}

#[cfg(test)]
mod tests;
