//! Samples distributions by their likelihood, given the values: Metropolis' random walk through the
//! parameters.

use super::gev::Gev;
use crate::Random;

/// Burn-in steps. The walk starts at the fit, so a few are enough.
const BURN_IN: usize = 500;
/// Steps used.
const STEPS: usize = 4_000;
/// The step length in deviations of the parameters that is best for three of them (G. O. Roberts,
/// A. Gelman, W. R. Gilks, Annals of Applied Probability 7, 1997).
const LENGTH: f64 = 2.38 / 1.732;

/// The deviation of the prior of the shape around 0, since a few maxima determine it poorly.
/// Without the prior the interval held as often, with a higher upper end.
const SHAPE: f64 = 0.3;

/// Calls `each` with every distribution of the walk (N. Metropolis and others, 1953), which starts
/// at `fit`; the spread of `others` sets the step. None if the walk cannot start.
pub(super) fn through(
    values: &[f64],
    fit: &Gev,
    others: &[Gev],
    random: &mut Random,
    mut each: impl FnMut(&Gev, &mut Random),
) -> Option<()> {
    let spread = cholesky(&covariance(others))?;
    let mut at = inside(values, fit)?;
    let mut weight_here = weight(values, &at)?;
    for n in 0..BURN_IN + STEPS {
        let z = [normal(random), normal(random), normal(random)];
        let step = |row: usize| LENGTH * (0..=row).map(|column| spread[row][column] * z[column]).sum::<f64>();
        let next = Gev { place: at.place + step(0), scale: at.scale * step(1).exp(), k: at.k + step(2) };
        if let Some(weight_there) = weight(values, &next)
            && random.uniform().ln() < weight_there - weight_here
        {
            (at, weight_here) = (next, weight_there);
        }
        if n >= BURN_IN {
            each(&at, random);
        }
    }
    Some(())
}

/// The logarithm of a distribution's posterior density: flat priors of place and log scale.
fn weight(values: &[f64], gev: &Gev) -> Option<f64> {
    // Otherwise the likelihood is unbounded or the mean infinite.
    if gev.k.abs() >= 1.0 {
        return None;
    }
    Some(gev.ln_likelihood(values)? - (gev.k / SHAPE).powi(2) / 2.0)
}

/// The fit, with a longer tail if a value is outside of it.
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

/// The Cholesky factor of a covariance.
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

/// A standard normal number, by the Box-Muller method.
fn normal(random: &mut Random) -> f64 {
    (-2.0 * random.uniform().ln()).sqrt() * (std::f64::consts::TAU * random.uniform()).cos()
}
