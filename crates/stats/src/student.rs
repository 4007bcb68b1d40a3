//! Student's t: the interval of a mean of few values.

use crate::mean::mean;
use std::f64::consts::PI;

/// The probability below the point of [`student`].
const BELOW: f64 = 0.975;

/// The 97.5 % point of Student's t with `df` degrees of freedom: half of the 95 % interval, in
/// standard errors.
///
/// By the Cornish-Fisher expansion, which is within 1 % from three on; exact for one and two, where
/// it has a closed form.
pub fn student(df: f64) -> f64 {
    const Z: f64 = 1.959_964;
    if df == 1.0 {
        return (PI * (BELOW - 0.5)).tan();
    }
    if df == 2.0 {
        return (2.0 * BELOW - 1.0) * (2.0 / (4.0 * BELOW * (1.0 - BELOW))).sqrt();
    }
    let z3 = Z * Z * Z;
    let z5 = z3 * Z * Z;
    let z7 = z5 * Z * Z;
    Z + (z3 + Z) / (4.0 * df)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * df * df)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / (384.0 * df * df * df)
}

/// The mean with its 95 % interval. None with fewer than two values, which have no spread.
pub fn mean_interval(values: &[f64]) -> Option<(f64, f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let middle = mean(values);
    let df = values.len() as f64 - 1.0;
    let squares: f64 = values.iter().map(|value| (value - middle) * (value - middle)).sum();
    let half = student(df) * (squares / df / values.len() as f64).sqrt();
    Some((middle, middle - half, middle + half))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn the_points_are_those_of_the_tables() {
        for (df, point, within) in [
            (1.0, 12.706, 1e-4),
            (2.0, 4.303, 1e-3),
            (3.0, 3.182, 0.01),
            (4.0, 2.776, 0.01),
            (9.0, 2.262, 1e-3),
            (30.0, 2.042, 1e-3),
            (1e9, 1.960, 1e-3),
        ] {
            assert!((student(df) / point - 1.0).abs() < within, "{df}: {}", student(df));
        }
    }

    #[test]
    fn one_value_has_no_interval_and_equal_ones_have_no_width() {
        assert_eq!(mean_interval(&[]), None);
        assert_eq!(mean_interval(&[3.0]), None);
        assert_eq!(mean_interval(&[3.0; 4]), Some((3.0, 3.0, 3.0)));
        // By hand: the standard error of 1, 2, 3 is 1/sqrt(3).
        let (middle, lo, hi) = mean_interval(&[1.0, 2.0, 3.0]).unwrap();
        assert!(middle == 2.0 && (hi - lo - 2.0 * 4.3027 / 3.0_f64.sqrt()).abs() < 1e-3, "{lo} {hi}");
    }

    #[test]
    fn the_interval_of_three_values_holds_the_mean_as_often_as_it_says() {
        let mut random = Random::new(5);
        let mut normal =
            || (-2.0 * random.uniform().ln()).sqrt() * (std::f64::consts::TAU * random.uniform()).cos();
        let held = (0..4_000).filter(|_| {
            let values = [normal(), normal(), normal()];
            mean_interval(&values).is_some_and(|(_, lo, hi)| lo <= 0.0 && 0.0 <= hi)
        });
        let held = held.count();
        assert!((3_740..=3_860).contains(&held), "{held} of 4000");
    }
}
