//! Equal steps over the wall: what the series of host metrics have their points on.
//!
//! How counters are spread onto them is up to `surroundings`; what follows from the points, to
//! `judge`.

use model::{Ns, Series};

/// Points of a series.
const STEPS_MAX: u64 = 600;
/// Points of all series together: this many devices have fewer each, and the result stays small.
const POINTS_MAX: u64 = 28 * STEPS_MAX;
/// Points of a series, however many there are.
const STEPS_MIN: u64 = 20;
/// Steps are no shorter: the host is polled every 90 ms.
const STEP_NS_MIN: Ns = 100_000_000;

/// Equal steps over the wall, the last one shorter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    start: Ns,
    wall_ns: Ns,
    pub(crate) step_ns: Ns,
}

impl Grid {
    /// For this many series.
    pub(crate) fn new(start: Ns, wall_ns: Ns, series: usize) -> Self {
        let steps = (POINTS_MAX / (series as u64).max(1)).clamp(STEPS_MIN, STEPS_MAX);
        Self { start, wall_ns, step_ns: wall_ns.div_ceil(steps).max(STEP_NS_MIN) }
    }

    /// That of series of a wall. Where the wall began is the same to means and shares.
    pub(crate) fn of(series: &Series, wall_ns: Ns) -> Self {
        Self { start: 0, wall_ns, step_ns: series.step_ns.max(1) }
    }

    pub(crate) fn len(&self) -> usize {
        self.wall_ns.div_ceil(self.step_ns) as usize
    }

    pub(crate) fn begin(&self, step: usize) -> Ns {
        self.start.saturating_add((step as u64).saturating_mul(self.step_ns))
    }

    pub(crate) fn end(&self, step: usize) -> Ns {
        self.begin(step + 1).min(self.start.saturating_add(self.wall_ns))
    }

    /// How long a step is.
    pub(crate) fn length_ns(&self, step: usize) -> Ns {
        self.end(step).saturating_sub(self.begin(step)).max(1)
    }

    fn length(&self, step: usize) -> f64 {
        self.length_ns(step) as f64
    }

    pub(crate) fn steps_between(&self, from: Ns, to: Ns) -> std::ops::Range<usize> {
        let step = |at: Ns| at.saturating_sub(self.start) / self.step_ns;
        (step(from) as usize).min(self.len())..(step(to) as usize + 1).min(self.len())
    }

    /// A figure of each step by its length, in units of `per` ns, with this number of decimals.
    fn by_length<T>(&self, steps: &[T], figure: impl Fn(&T) -> f64, per: f64, decimals: i32) -> Vec<f64> {
        let by_length = |(step, gained)| rounded(figure(gained) * per / self.length(step), decimals);
        steps.iter().enumerate().map(by_length).collect()
    }

    /// Per second.
    pub(crate) fn rates<T>(&self, steps: &[T], figure: impl Fn(&T) -> f64) -> Vec<f64> {
        self.by_length(steps, figure, 1e9, 1)
    }

    /// Per second, as a share of `limit` a second.
    pub(crate) fn rates_by<T>(&self, steps: &[T], limit: f64, figure: impl Fn(&T) -> f64) -> Vec<f64> {
        self.by_length(steps, figure, 1e9 / limit.max(1.0), 4)
    }

    /// Time by time: how many at once, on average.
    pub(crate) fn means<T>(&self, steps: &[T], figure: impl Fn(&T) -> f64) -> Vec<f64> {
        self.by_length(steps, figure, 1.0, 4)
    }

    /// Shares of `of` times a step, at most 1.
    pub(crate) fn shares<T>(&self, steps: &[T], of: u32, figure: impl Fn(&T) -> f64) -> Vec<f64> {
        let mut shares = self.by_length(steps, figure, 1.0 / f64::from(of), 4);
        shares.iter_mut().for_each(|share| *share = share.clamp(0.0, 1.0));
        shares
    }

    /// The share of the wall that the steps of a kind have.
    pub(crate) fn share_of_wall(&self, of_kind: impl Fn(usize) -> bool) -> f64 {
        let ns: f64 = (0..self.len()).filter(|step| of_kind(*step)).map(|step| self.length(step)).sum();
        rounded(ns / self.wall_ns.max(1) as f64, 4)
    }

    /// The mean of a series over the steps of a kind; none where there is no such step.
    pub(crate) fn mean_where(&self, series: &[f64], of_kind: impl Fn(usize) -> bool) -> Option<f64> {
        let (mut sum, mut length) = (0.0, 0.0);
        for step in (0..self.len()).filter(|step| of_kind(*step)) {
            sum += series[step] * self.length(step);
            length += self.length(step);
        }
        (length > 0.0).then(|| sum / length)
    }

    /// The mean of a series.
    pub(crate) fn mean(&self, series: &[f64]) -> f64 {
        self.mean_where(series, |_| true).unwrap_or(0.0)
    }
}

/// More decimals would only make files larger.
pub(crate) fn rounded(figure: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    // An empty sum is -0.
    (figure * scale).round() / scale + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    #[test]
    fn the_last_step_is_as_long_as_it_is() {
        let grid = Grid::new(0, 250 * MS, 28);
        assert_eq!((grid.len(), grid.end(2)), (3, 250 * MS));
        assert_eq!(grid.rates(&[[10.0], [10.0], [5.0]], |step| step[0]), [100.0; 3]);
        assert_eq!(grid.share_of_wall(|step| step == 2), 0.2);
        assert_eq!(Grid::new(0, 6_000_000 * MS, 28).len(), 600);
        assert_eq!(Grid::new(0, 6_000_000 * MS, 280).len(), 60, "each of many devices has fewer points");
        assert_eq!(Grid::new(0, 6_000_000 * MS, 100_000).len(), 20);
    }
}
