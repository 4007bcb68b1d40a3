//! The generalised extreme value distribution.

use crate::special::gamma;

/// Shapes below this use Gumbel's formulae, the limit at 0.
const GUMBEL: f64 = 1e-6;

/// Its parameters, with Hosking's sign of the shape: `k` is above 0 for a bounded tail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gev {
    pub(super) place: f64,
    pub(super) scale: f64,
    pub(super) k: f64,
}

impl Gev {
    /// The fit by L-moments of `sorted` values. None if they are all equal.
    pub(super) fn fitted(sorted: &[f64]) -> Option<Self> {
        let n = sorted.len() as f64;
        let (mut b0, mut b1, mut b2) = (0.0, 0.0, 0.0);
        for (at, value) in sorted.iter().enumerate() {
            let below = at as f64;
            b0 += value;
            b1 += value * below;
            b2 += value * below * (below - 1.0);
        }
        b0 /= n;
        b1 /= n * (n - 1.0);
        b2 /= n * (n - 1.0) * (n - 2.0);
        let l2 = 2.0 * b1 - b0;
        let l3 = 6.0 * b2 - 6.0 * b1 + b0;
        if !l2.is_finite() || l2 <= 0.0 {
            return None;
        }
        // Hosking, Wallis, Wood (1985): right to 9e-4 for shapes from -1/2 to 1/2.
        let c = 2.0 / (3.0 + l3 / l2) - 2_f64.ln() / 3_f64.ln();
        let k = (7.859 * c + 2.955_4 * c * c).clamp(-0.95, 3.0);
        if k.abs() < GUMBEL {
            const EULER: f64 = 0.577_215_664_901_532_9;
            let scale = l2 / 2_f64.ln();
            return Some(Self { place: b0 - EULER * scale, scale, k: 0.0 });
        }
        let of_mean = gamma(1.0 + k);
        let scale = l2 * k / (of_mean * -(-k * 2_f64.ln()).exp_m1());
        Some(Self { place: b0 - scale * (1.0 - of_mean) / k, scale, k })
    }

    /// The log likelihood of `values`; none if one is outside the distribution.
    pub(super) fn ln_likelihood(&self, values: &[f64]) -> Option<f64> {
        let mut sum = -(values.len() as f64) * self.scale.ln();
        for value in values {
            let z = (value - self.place) / self.scale;
            let reduced = if self.k.abs() < GUMBEL {
                z
            } else {
                let inside = 1.0 - self.k * z;
                if inside <= 0.0 {
                    return None;
                }
                -inside.ln() / self.k
            };
            sum -= (1.0 - self.k) * reduced + (-reduced).exp();
        }
        Some(sum)
    }

    /// The quantile of `p`, within 0 to 1.
    pub(super) fn quantile(&self, p: f64) -> f64 {
        self.at(-p.ln())
    }

    /// The quantile of `p` of the largest of `of` values.
    pub(super) fn largest(&self, p: f64, of: f64) -> f64 {
        self.at(-p.ln() / of)
    }

    fn at(&self, y: f64) -> f64 {
        if self.k == 0.0 {
            self.place - self.scale * y.ln()
        } else {
            self.place - self.scale * (self.k * y.ln()).exp_m1() / self.k
        }
    }

    /// The share of values below `x`.
    pub(super) fn below(&self, x: f64) -> f64 {
        let z = (x - self.place) / self.scale;
        let y = if self.k == 0.0 {
            (-z).exp()
        } else {
            let inside = 1.0 - self.k * z;
            if inside <= 0.0 {
                // Outside the bounded tail.
                return if self.k > 0.0 { 1.0 } else { 0.0 };
            }
            (inside.ln() / self.k).exp()
        };
        (-y).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn a_fit_finds_the_parameters_of_its_sample() {
        for k in [-0.3, -0.1, 0.0, 0.2, 0.6] {
            let truth = Gev { place: 50.0, scale: 8.0, k };
            let mut random = Random::new(3);
            let mut drawn: Vec<f64> = (0..20_000).map(|_| truth.quantile(random.uniform())).collect();
            drawn.sort_unstable_by(f64::total_cmp);
            let fit = Gev::fitted(&drawn).unwrap();
            assert!(
                (fit.place - 50.0).abs() < 0.5 && (fit.scale - 8.0).abs() < 0.4 && (fit.k - k).abs() < 0.03,
                "{fit:?}"
            );
        }
    }

    #[test]
    fn quantile_and_share_are_inverse() {
        for k in [-0.4, 0.0, 0.5] {
            let gev = Gev { place: 1.0, scale: 2.0, k };
            for p in [0.001, 0.3, 0.5, 0.99, 0.999_999] {
                assert!((gev.below(gev.quantile(p)) - p).abs() < 1e-9);
            }
            // The largest of 100 is below its median as often as all 100 are.
            assert!((gev.below(gev.largest(0.5, 100.0)).powi(100) - 0.5).abs() < 1e-9);
        }
        let ends = Gev { place: 0.0, scale: 1.0, k: 0.5 };
        assert_eq!((ends.below(2.1), ends.below(-1e9)), (1.0, 0.0));
    }

    #[test]
    fn equal_values_have_no_fit() {
        assert_eq!(Gev::fitted(&[4.0; 50]), None);
    }
}
