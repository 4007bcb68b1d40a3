//! The ratio of two sums over windows that began at random, for counts that come in bursts.
//!
//! Each window stands for the time that was skipped to come to it, as long as that is on average:
//! then the sums have no bias, whatever the rates before and after have to do with each other
//! (Horvitz and Thompson 1952; a window's chance to be taken depends on what was seen before it
//! alone). Few windows have most of a count that comes in bursts. So the interval is made on a
//! logarithmic scale, widened for one burst more, as large as the largest met, and has the degrees
//! of freedom of the windows that matter.

/// Sums over n windows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
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
    /// The largest distance of a y from what the ratio so far made of its x.
    pub worst: f64,
}

/// With fewer windows a burst of some length is easily missed by all of them.
const WINDOWS_MIN: u64 = 12;
/// Fewer windows that have most of the count say nothing of how much they may have.
const EFFECTIVE_MIN: f64 = 5.0;

impl Sums {
    /// Adds a window.
    pub fn add(&mut self, x: f64, y: f64) {
        self.n += 1;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.yy += y * y;
        self.xy += x * y;
        if self.x > 0.0 {
            self.worst = self.worst.max((y - self.y / self.x * x).abs());
        }
    }

    /// The ratio y/x with its 95 % interval; `taken` is how much of x was observed itself, for each
    /// x that it stands for.
    ///
    /// None where the windows cannot bound it: with fewer than twelve, or where less than five have
    /// most of it.
    pub fn ratio(&self, taken: f64) -> Option<(f64, f64, f64)> {
        let Self { n, x, y, xx, yy, xy, worst } = *self;
        if n < WINDOWS_MIN || x <= 0.0 || y <= 0.0 {
            return None;
        }
        let effective = (x * x / xx).min(y * y / yy);
        if effective < EFFECTIVE_MIN {
            return None;
        }
        let (n, ratio) = (n as f64, y / x);
        let squares = (yy - 2.0 * ratio * xy + ratio * ratio * xx).max(0.0);
        let burst = worst * worst;
        // What was skipped varies too.
        let variance = n / (n - 1.0) * (squares + burst) * (1.0 + taken.clamp(0.0, 1.0));
        // Windows that have most of the spread.
        let spread = if burst > 0.0 { (squares / burst).max(LEAST_DF) } else { n };
        let half = student((effective - 1.0).min(spread)) * variance.sqrt() / y;
        Some((ratio, ratio * (-half).exp(), ratio * half.exp()))
    }
}

/// The expansion of Student's t is of no use below.
const LEAST_DF: f64 = 1.5;

/// The 97.5 % point of Student's t with `df` degrees of freedom (Cornish-Fisher expansion); within
/// 1 % from three on.
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

    fn sums(pairs: impl IntoIterator<Item = (f64, f64)>) -> Sums {
        let mut sums = Sums::default();
        pairs.into_iter().for_each(|(x, y)| sums.add(x, y));
        sums
    }

    #[test]
    fn a_steady_rate_is_known_exactly_and_an_unsteady_one_is_not() {
        let steady = (1..20).map(|x| (f64::from(x), 5.0 * f64::from(x)));
        let (ratio, lo, hi) = sums(steady).ratio(0.1).unwrap();
        assert!((ratio - 5.0).abs() < 1e-9 && hi - lo < 1e-5, "{ratio} {lo} {hi}");
        let unsteady = (0..20).map(|at| (1.0, if at % 2 == 0 { 4.0 } else { 6.0 }));
        let (ratio, lo, hi) = sums(unsteady).ratio(0.0).unwrap();
        assert!((ratio - 5.0).abs() < 1e-9);
        // The textbook's interval is 0.48 to each side.
        assert!((0.45..0.7).contains(&(hi - 5.0)) && (0.4..0.65).contains(&(5.0 - lo)), "{lo} {hi}");
    }

    #[test]
    fn few_windows_and_few_bursts_bound_nothing() {
        assert_eq!(sums((0..11).map(|_| (1.0, 1.0))).ratio(0.0), None);
        assert_eq!(sums((0..30).map(|_| (0.0, 1.0))).ratio(0.0), None);
        assert_eq!(sums((0..30).map(|_| (1.0, 0.0))).ratio(0.0), None, "it may have come between them");
        let bursts =
            |many: usize| sums((0..100).map(|at| (1.0, if at % (100 / many) == 0 { 50.0 } else { 0.0 })));
        assert_eq!(bursts(4).ratio(0.0), None);
        let (_, lo, hi) = bursts(10).ratio(0.0).unwrap();
        assert!(lo < 2.5 && hi > 9.5, "{lo} {hi}");
    }

    #[test]
    fn students_t_is_that_of_the_tables() {
        for (df, t) in [(3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)] {
            assert!((student(df) - t).abs() < t * 0.01, "{df}: {}", student(df));
        }
    }
}
