//! The ratio of two sums over sampled windows.

/// Sums over n windows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sums {
    /// The number of windows.
    pub n: u64,
    /// The sum of x.
    pub x: f64,
    /// The sum of y.
    pub y: f64,
    /// The sum of x squared.
    pub xx: f64,
    /// The sum of y squared.
    pub yy: f64,
    /// The sum of x times y.
    pub xy: f64,
}

/// The ratio y/x with its 95 % interval, from the spread of the windows about it (Cochran, Sampling
/// Techniques, 3rd edition, section 6.4; Student's t by its Cornish-Fisher expansion). None for
/// fewer than four windows, or if the sum of x is 0.
pub fn ratio(sums: Sums) -> Option<(f64, f64, f64)> {
    if sums.n < 4 || sums.x <= 0.0 {
        return None;
    }
    let n = sums.n as f64;
    let ratio = sums.y / sums.x;
    let squares = (sums.yy - 2.0 * ratio * sums.xy + ratio * ratio * sums.xx).max(0.0);
    let deviation = (n / (n - 1.0) * squares).sqrt() / sums.x;
    let half = student(n - 1.0) * deviation;
    Some((ratio, (ratio - half).max(0.0), ratio + half))
}

/// The 97.5 % point of Student's t with `df` degrees of freedom; within 1 % from three on.
fn student(df: f64) -> f64 {
    const Z: f64 = 1.959_964;
    let z3 = Z * Z * Z;
    let z5 = z3 * Z * Z;
    let z7 = z5 * Z * Z;
    Z + (z3 + Z) / (4.0 * df)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / (96.0 * df * df)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / (384.0 * df * df * df)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(pairs: &[(f64, f64)]) -> Sums {
        let sum = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum();
        Sums {
            n: pairs.len() as u64,
            x: sum(|pair| pair.0),
            y: sum(|pair| pair.1),
            xx: sum(|pair| pair.0 * pair.0),
            yy: sum(|pair| pair.1 * pair.1),
            xy: sum(|pair| pair.0 * pair.1),
        }
    }

    #[test]
    fn a_steady_rate_is_known_exactly_and_an_unsteady_one_is_not() {
        let (ratio_, lo, hi) = ratio(sums(&[(1.0, 5.0), (2.0, 10.0), (3.0, 15.0), (1.5, 7.5)])).unwrap();
        assert!((ratio_ - 5.0).abs() < 1e-9 && hi - lo < 1e-6);
        let (ratio_, lo, hi) = ratio(sums(&[(1.0, 4.0), (1.0, 6.0), (1.0, 5.0), (1.0, 5.0)])).unwrap();
        // By hand: deviation of the mean is sqrt(2/3)/2, t with three degrees of freedom 3.182.
        assert!((ratio_ - 5.0).abs() < 1e-9);
        assert!((hi - 5.0 - 3.182 * (2.0_f64 / 3.0).sqrt() / 2.0).abs() < 0.02, "{lo} {hi}");
        assert_eq!(ratio(sums(&[(1.0, 1.0); 3])), None);
        assert_eq!(ratio(sums(&[(0.0, 1.0); 5])), None);
    }

    #[test]
    fn students_t_is_that_of_the_tables() {
        for (df, t) in [(3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)] {
            assert!((student(df) - t).abs() < t * 0.01, "{df}: {}", student(df));
        }
    }
}
