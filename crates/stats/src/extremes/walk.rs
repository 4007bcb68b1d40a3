//! Distributions that the values may come from, as often as they are likely: a random walk through the parameters.

use super::gev::Gev;
use crate::Random;

/// Steps before the first one that counts: the walk begins where it belongs, so a few will do.
const FIRST: usize = 500;
/// Steps that count.
const STEPS: usize = 4_000;
/// The length of a step against how unsure the parameters are, which goes through three of them fastest (G. O. Roberts, A. Gelman, W. R.
/// Gilks, Annals of Applied Probability 7, 1997).
const LENGTH: f64 = 2.38 / 1.732;

/// How far from 0 shapes usually are, known beforehand: few maxima tell little of it. Without this knowledge the interval held as
/// often, and was wider above.
const SHAPE: f64 = 0.3;

/// Calls `each` with every distribution on the way (N. Metropolis and others, 1953): `fit` is where it begins, `others` say how unsure that is.
/// None where the walk finds no way.
pub(super) fn through(
    values: &[f64],
    fit: &Gev,
    others: &[Gev],
    random: &mut Random,
    mut each: impl FnMut(&Gev, &mut Random),
) -> Option<()> {
    let spread = cholesky(&covariance(others))?;
    let mut at = inside(values, fit)?;
    let mut likely = weight(values, &at)?;
    for step in 0..FIRST + STEPS {
        let z = [normal(random), normal(random), normal(random)];
        let go = |row: usize| LENGTH * (0..=row).map(|column| spread[row][column] * z[column]).sum::<f64>();
        let next = Gev { place: at.place + go(0), scale: at.scale * go(1).exp(), k: at.k + go(2) };
        if let Some(there) = weight(values, &next)
            && random.uniform().ln() < there - likely
        {
            (at, likely) = (next, there);
        }
        if step >= FIRST {
            each(&at, random);
        }
    }
    Some(())
}

/// How likely a distribution is, given the values, as a logarithm. Nothing is assumed of place and of the scale's logarithm.
fn weight(values: &[f64], gev: &Gev) -> Option<f64> {
    // Beyond, likelihood has no bound or the mean is not finite.
    if gev.k.abs() >= 1.0 {
        return None;
    }
    Some(gev.ln_likelihood(values)? - (gev.k / SHAPE).powi(2) / 2.0)
}

/// The fit, with its tail made longer until no value is outside.
fn inside(values: &[f64], fit: &Gev) -> Option<Gev> {
    let mut gev = *fit;
    for _ in 0..40 {
        if gev.k < 1.0 && gev.ln_likelihood(values).is_some() {
            return Some(gev);
        }
        gev.k = if gev.k > 0.05 { gev.k * 0.8 } else { gev.k - 0.05 };
    }
    None
}

fn parameters(gev: &Gev) -> [f64; 3] {
    [gev.place, gev.scale.ln(), gev.k]
}

fn covariance(all: &[Gev]) -> [[f64; 3]; 3] {
    let n = all.len() as f64;
    let mut mean = [0.0; 3];
    for gev in all {
        parameters(gev).iter().zip(&mut mean).for_each(|(value, mean)| *mean += value / n);
    }
    let mut sum = [[0.0; 3]; 3];
    for gev in all {
        let of = parameters(gev);
        for row in 0..3 {
            for column in 0..3 {
                sum[row][column] += (of[row] - mean[row]) * (of[column] - mean[column]) / n;
            }
        }
    }
    sum
}

/// The lower triangle whose square a covariance is.
fn cholesky(of: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let mut lower = [[0.0; 3]; 3];
    for row in 0..3 {
        for column in 0..=row {
            let known: f64 = (0..column).map(|at| lower[row][at] * lower[column][at]).sum();
            lower[row][column] = if row == column {
                let square = of[row][row] - known;
                if square.is_nan() || square <= 0.0 {
                    return None;
                }
                square.sqrt()
            } else {
                (of[row][column] - known) / lower[column][column]
            };
        }
    }
    Some(lower)
}

/// A standard normal number, by G. E. P. Box and M. E. Muller.
fn normal(random: &mut Random) -> f64 {
    (-2.0 * random.uniform().ln()).sqrt() * (std::f64::consts::TAU * random.uniform()).cos()
}
