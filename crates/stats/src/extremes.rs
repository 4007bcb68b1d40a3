//! The largest value that a longer run would show, from the largest of each stretch of a shorter one; or why the values do
//! not allow to say.
//!
//! Maxima of many values that are alike have the generalised extreme value distribution, and so does the maximum of many
//! of them (R. A. Fisher, L. H. C. Tippett, 1928; S. Coles, "An Introduction to Statistical Modeling of Extreme Values",
//! 2001, chapter 3). A fit by L-moments (J. R. M. Hosking, J. R. Wallis, E. F. Wood, Technometrics 27, 1985) and fits to samples drawn
//! from it tell whether the maxima may be of that kind. The answer comes from all distributions that they are likely of, not from
//! the one that fits best: that would leave out how unsure the fit is.

mod checks;
mod gev;
mod walk;

use crate::Random;
use gev::Gev;
use std::fmt;

/// Fewer stretches than this are too few to fit three parameters and to see whether they fit.
pub const STRETCHES_MIN: usize = 40;
/// More are put together, two and more to one: longer stretches come closer to what the theory is about.
pub const STRETCHES_MAX: usize = 250;
/// A maximum of fewer values than this is no maximum of many.
pub const VALUES_MIN: u64 = 30;
/// Samples drawn from the fit, for the checks.
const DRAWN: usize = 1_000;
/// Maxima looked at for each distribution: at even steps of chance, with a random start.
const EACH: usize = 4;
/// Upper ends beyond so many times the largest value seen say nothing.
const NOTHING: f64 = 100.0;

/// The largest value of a longer run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Largest {
    /// As likely to be exceeded as not.
    pub median: f64,
    /// Low end of the interval that holds it at the confidence asked for.
    pub lo: f64,
    /// High end; none where the values set no bound.
    pub hi: Option<f64>,
    /// The shape of the tail: below 0 it ends somewhere, at 0 it thins out exponentially, above 0 as a power.
    pub shape: f64,
}

/// Why nothing can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// So many stretches, fewer than [`STRETCHES_MIN`].
    TooFew(usize),
    /// The stretches have so many values on the whole, fewer than [`VALUES_MIN`].
    TooSparse(u64),
    /// Too many of them are equal: the clock or the tool is coarse.
    Coarse,
    /// They rise or fall in the course of the run.
    Trend,
    /// Large ones come together.
    Together,
    /// There is a gap between the largest and the others: two kinds of events, of which one is seen too rarely.
    TwoKinds,
    /// They are not distributed as maxima of values that are alike.
    Misfit,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooFew(n) => write!(f, "{n} stretches of time are too few: it takes {STRETCHES_MIN}"),
            Refusal::TooSparse(n) => {
                write!(f, "the maximum of a stretch is one of {n} values or so: it takes {VALUES_MIN}")
            }
            Refusal::Coarse => f.write_str("the maxima of many stretches are the same: the clock or the tool is too coarse"),
            Refusal::Trend => f.write_str("the maxima rise or fall in the course of the run: it is not the same all along"),
            Refusal::Together => f.write_str("late stretches come together: something comes and goes, and it may come again worse"),
            Refusal::TwoKinds => f.write_str(
                "a gap lies between the latest few and the others: they are another kind of event, seen too rarely to tell how late they get",
            ),
            Refusal::Misfit => f.write_str("the maxima are not distributed as those of one kind of event"),
        }
    }
}

/// The largest value of a run `times` as long as the one with these `maxima`, which are of stretches of equal length, in their
/// order, and of so many `values` in all. The interval is for the value itself, not for its mean: it knows how unsure the fit is, and how much one run differs
/// from another.
pub fn largest(maxima: &[f64], values: u64, times: f64, confidence: f64) -> Result<Largest, Refusal> {
    let maxima = put_together(maxima);
    if maxima.len() < STRETCHES_MIN {
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
    let stretches = sorted.len() as f64 * times;

    // The same numbers each time, so that the same recording gives the same answer.
    let mut random = Random::new(sorted.len() as u64);
    let seen = checks::Fit::of(&sorted, &fit);
    let mut worse = checks::Worse::default();
    let mut values = Vec::new();
    let mut others = Vec::with_capacity(DRAWN);
    let mut drawn = vec![0.0; sorted.len()];
    for _ in 0..DRAWN {
        drawn.fill_with(|| fit.quantile(random.uniform()));
        drawn.sort_unstable_by(f64::total_cmp);
        let Some(again) = Gev::fitted(&drawn) else { continue };
        worse.count(&checks::Fit::of(&drawn, &again), &seen);
        others.push(again);
    }
    worse.judge()?;
    walk::through(&sorted, &fit, &others, &mut random, |gev, random| {
        let start = random.uniform();
        values.extend((0..EACH).map(|step| gev.largest((step as f64 + start) / EACH as f64, stretches)));
    })
    .ok_or(Refusal::Misfit)?;
    values.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let at = |share: f64| crate::median::quantile(&values, share).unwrap_or(f64::NAN);
    let hi = at(1.0 - tail);
    Ok(Largest {
        median: at(0.5),
        lo: at(tail),
        hi: (hi < NOTHING * sorted[sorted.len() - 1]).then_some(hi),
        shape: -fit.k,
    })
}

/// Neighbours as one, until there are few enough; what is left over at the end goes with the last ones.
fn put_together(maxima: &[f64]) -> Vec<f64> {
    let latest = |of: &[f64]| of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let size = maxima.len().div_ceil(STRETCHES_MAX).max(1);
    let chunks = maxima.chunks_exact(size);
    let over = latest(chunks.remainder());
    let mut together: Vec<f64> = chunks.map(latest).collect();
    if let Some(last) = together.last_mut() {
        *last = last.max(over);
    }
    together
}

#[cfg(test)]
mod tests;
