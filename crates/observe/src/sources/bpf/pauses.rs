//! The pauses between tracing windows: as long on average as the overhead's bound asks for, and
//! random.
//!
//! Time is cut into pieces as long as a window. After each window every piece is traced with the
//! same chance, which follows from the overhead so far and not from what the piece has. So each
//! traced piece stands for the same number of others, and a sum over them has no bias: not by calls
//! that come in step with the windows, nor by bursts, which make the pause after them long.
//!
//! How well a count is known goes by the square root of the windows, and what they cost goes by
//! their number. So a long run need not have as many for each second as a short one.

use model::Ns;
use stats::Random;

/// What calls get of the bound at least.
pub(super) const LEFT_MIN: f64 = 0.25;
/// The longest pause on average, so that changes of a program are noticed, and there are enough
/// windows to estimate their variance.
const MEAN_NS_MAX: f64 = 500e6;
/// The longest pause, in means with their windows: one in 150 would be longer.
const MEANS_MAX: f64 = 5.0;
/// This many windows may cost all of it: a count that is as uneven among them as it is large is
/// known to a tenth then. More windows cost as much less as they are more,
const WINDOWS_FULL: f64 = 100.0;
/// down to this part, with which changes of a program are noticed.
const PART_MIN: f64 = 0.2;

/// Decides how long calls are not traced.
#[derive(Debug)]
pub(super) struct Pauses {
    /// The bound of the overhead, as a share of the tree's CPU time.
    most: f64,
    random: Random,
}

impl Pauses {
    pub(super) fn new(most: f64) -> Self {
        Self { most, random: Random::new(0) }
    }

    /// The bound.
    pub(super) fn most(&self) -> f64 {
        self.most
    }

    /// Not the same pauses in each run.
    pub(super) fn seed(&mut self, seed: u64) {
        self.random = Random::new(seed);
    }

    /// The mean length of pauses between windows of `window_ns` in which tracing costs this share
    /// of the CPU time, after this many windows that tell something. `attach_ns` is what attaching
    /// and detaching takes of each CPU, `fixed` the share of the CPU time of the other instruments.
    pub(super) fn mean_ns(&self, window_ns: Ns, share: f64, windows: u64, attach_ns: f64, fixed: f64) -> f64 {
        // Where the other instruments alone exceed the bound, calls still get a part of it: an
        // empty table would be useless.
        let allowed = ((self.most - fixed).max(self.most * LEFT_MIN) * part(windows)).max(1e-6);
        if share <= allowed {
            return 0.0;
        }
        let window = window_ns as f64;
        ((window * share + attach_ns) / allowed - window).min(MEAN_NS_MAX)
    }

    /// A pause of this many windows as chance has it; often none.
    pub(super) fn draw(&mut self, mean_ns: f64, window_ns: Ns) -> Ns {
        if mean_ns <= 0.0 {
            return 0;
        }
        let window = window_ns.max(1) as f64;
        let skipped = mean_ns / (window + mean_ns);
        let windows = (self.random.uniform().ln() / skipped.ln()).floor();
        (windows * window).min(MEANS_MAX * (mean_ns + window)) as Ns
    }
}

/// The part of the bound that windows have when there were this many.
fn part(windows: u64) -> f64 {
    (WINDOWS_FULL / windows.max(1) as f64).clamp(PART_MIN, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_as_long_as_they_should_on_average() {
        let mut pauses = Pauses::new(0.05);
        pauses.seed(7);
        for mean in [1e6, 5e6, 52e6, 400e6] {
            let drawn: Vec<Ns> = (0..20_000).map(|_| pauses.draw(mean, 5_000_000)).collect();
            let of_all = drawn.iter().sum::<Ns>() as f64 / drawn.len() as f64;
            assert!((of_all / mean - 1.0).abs() < 0.05, "{mean}: {of_all}");
            let none = drawn.iter().filter(|ns| **ns == 0).count() as f64 / drawn.len() as f64;
            assert!((none / (5e6 / (5e6 + mean)) - 1.0).abs() < 0.2, "{mean}: {none}");
        }
        assert_eq!(pauses.draw(0.0, 5_000_000), 0);
    }

    #[test]
    fn what_costs_more_has_longer_pauses_up_to_a_limit() {
        let pauses = Pauses::new(0.05);
        // 2 ms and what attaching takes are 5 %.
        assert_eq!(pauses.mean_ns(5_000_000, 0.4, 0, 200e3, 0.0).round(), 39e6);
        assert_eq!(pauses.mean_ns(5_000_000, 0.4, 0, 600e3, 0.0).round(), 47e6);
        assert_eq!(pauses.mean_ns(5_000_000, 0.05, 0, 200e3, 0.0), 0.0);
        assert_eq!(pauses.mean_ns(50_000_000, 0.9, 0, 200e3, 0.0), 500e6);
        // The others take 3 of the 5 %, or all of them and more.
        assert_eq!(pauses.mean_ns(5_000_000, 0.4, 0, 200e3, 0.03).round(), 105e6);
        assert_eq!(pauses.mean_ns(5_000_000, 0.4, 0, 200e3, 0.07).round(), 171e6);
    }

    #[test]
    fn many_windows_cost_less_of_the_time_than_few_and_never_none() {
        let pauses = Pauses::new(0.05);
        let cost = |windows| {
            let mean = pauses.mean_ns(3_000_000, 0.4, windows, 200e3, 0.0);
            0.4 * 3e6 / (3e6 + mean)
        };
        let per_cent = [0, 100, 200, 500, 5000].map(|windows| (cost(windows) * 1e4).round() / 100.0);
        assert_eq!(per_cent, [4.29, 4.29, 2.14, 0.86, 0.86]);
    }
}
