//! Special functions for binomial intervals and extreme values.

use std::f64::consts::PI;

/// The logarithm of the gamma function of `x` above 0, to about 14 digits: Stirling's series
/// (Abramowitz, Stegun, "Handbook of Mathematical Functions", 6.1.41), with the recurrence where it
/// does not converge.
pub(crate) fn ln_gamma(x: f64) -> f64 {
    let (mut at, mut below) = (x, 1.0);
    while at < 12.0 {
        below *= at;
        at += 1.0;
    }
    let z = 1.0 / (at * at);
    let series =
        (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1_260.0 - z * (1.0 / 1_680.0 - z / 1_188.0)))) / at;
    (at - 0.5) * at.ln() - at + 0.5 * (2.0 * PI).ln() + series - below.ln()
}

/// The gamma function of `x` above 0.
pub(crate) fn gamma(x: f64) -> f64 {
    ln_gamma(x).exp()
}

/// The quantile of the standard normal distribution, to three digits (Abramowitz, Stegun, 26.2.23).
pub(crate) fn normal(p: f64) -> f64 {
    if p < 0.5 {
        return -normal(1.0 - p);
    }
    let t = (-2.0 * (1.0 - p).ln()).sqrt();
    t - (2.515_517 + t * (0.802_853 + t * 0.010_328))
        / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)))
}

/// The regularised incomplete beta function of `x` from 0 to 1: the probability that a beta
/// variable with parameters `a` and `b` is below `x`. By its continued fraction (Abramowitz,
/// Stegun, 26.5.8) with Lentz's method.
pub(crate) fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast below the mean; above it, use the symmetry.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(b, a, 1.0 - x);
    }
    const TINY: f64 = 1e-300;
    const ENOUGH: f64 = 1e-15;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    // It needs about the square root of the larger parameter in steps.
    for step in 1..1_000_000_u32 {
        let m = f64::from(step);
        let mut change = 1.0;
        for term in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < ENOUGH {
            break;
        }
    }
    let front = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    front.exp() * fraction / a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_is_the_factorial_and_the_root_of_pi() {
        for (x, expected) in
            [(1.0, 1.0), (5.0, 24.0), (11.0, 3_628_800.0), (0.5, PI.sqrt()), (0.1, 9.513_507_698_668_732)]
        {
            assert!((gamma(x) / expected - 1.0).abs() < 1e-13, "{x}: {}", gamma(x));
        }
        // 170! has the logarithm 706.57...
        assert!((ln_gamma(171.0) - 706.573_062_245_787_4).abs() < 1e-10);
    }

    #[test]
    fn beta_is_what_it_is_where_it_has_a_closed_form() {
        for x in [0.01_f64, 0.3, 0.5, 0.9, 0.999] {
            assert!((beta(1.0, 1.0, x) - x).abs() < 1e-14);
            assert!((beta(3.0, 1.0, x) - x.powi(3)).abs() < 1e-14);
            assert!((beta(1.0, 7.0, x) - (1.0 - (1.0 - x).powi(7))).abs() < 1e-13);
            assert!((beta(0.5, 0.5, x) - 2.0 / PI * x.sqrt().asin()).abs() < 1e-13);
        }
        assert_eq!((beta(2.0, 3.0, 0.0), beta(2.0, 3.0, 1.0)), (0.0, 1.0));
    }

    #[test]
    fn beta_of_large_parameters_is_nearly_normal() {
        // Even at a billion trials: half below the middle, 97.7 % below two deviations.
        let n = 1e9_f64;
        assert!((beta(n / 2.0, n / 2.0, 0.5) - 0.5).abs() < 1e-6);
        let two = 0.5 + 1.0 / n.sqrt();
        assert!((beta(n / 2.0, n / 2.0, two) - 0.977_249_868).abs() < 1e-4);
    }
}
