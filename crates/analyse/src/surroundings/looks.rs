//! Looks in time, what counters did between them, and the equal steps that they are spread onto.

use model::Ns;

/// The longest list of looks that is kept. Odd: every second one of it goes, and both ends stay.
const LOOKS_MAX: usize = 1201;
/// Points of a series.
const STEPS_MAX: u64 = 600;
/// Steps are no shorter: looks come ten times a second.
const STEP_NS_MIN: Ns = 100_000_000;

/// When was looked. Long runs have their looks thinned out again and again, so that memory does not grow.
#[derive(Debug, Default)]
pub(super) struct Looks {
    at: Vec<Ns>,
    /// Looks that come sooner after the one before the last take the last one's place.
    apart_ns: Ns,
}

impl Looks {
    /// Takes the time of the next look; whether every second look is to be forgotten first, by whoever keeps something of
    /// each.
    pub(super) fn add(&mut self, at: Ns) -> bool {
        let at = at.max(self.at.last().copied().unwrap_or(0));
        let thin = self.at.len() >= LOOKS_MAX;
        if thin {
            let span = self.at[self.at.len() - 1] - self.at[0];
            // What is left is twice as far apart as what was; a little less, for looks that come late.
            self.apart_ns = span / (LOOKS_MAX as u64 - 1) * 2 / 10 * 9;
            self.at = std::mem::take(&mut self.at).into_iter().step_by(2).collect();
        }
        match *self.at {
            [.., before, ref mut last] if at.saturating_sub(before) < self.apart_ns => *last = at,
            _ => self.at.push(at),
        }
        thin
    }

    pub(super) fn len(&self) -> usize {
        self.at.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    pub(super) fn is_first(&self) -> bool {
        self.at.len() == 1
    }

    /// The interval between looks that ends now.
    pub(super) fn step(&self) -> Option<u32> {
        self.at.len().checked_sub(2).map(|step| step as u32)
    }

    /// The last look until then; the first one where all are later.
    pub(super) fn last_until(&self, at: Ns) -> usize {
        self.at.partition_point(|look| *look <= at).saturating_sub(1)
    }
}

/// Counters of one device over time: what they gained in each interval in which they did.
#[derive(Debug)]
pub(super) struct Track<const N: usize> {
    last: Option<[u64; N]>,
    gained: Vec<(u32, [u64; N])>,
}

impl<const N: usize> Default for Track<N> {
    fn default() -> Self {
        Self { last: None, gained: Vec::new() }
    }
}

impl<const N: usize> Track<N> {
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Takes the counters at the end of an interval. With `anew` they begin here; else those of a device that was not
    /// heard of before began at nothing. A counter that went back (it wrapped, or the device came anew) gained nothing.
    pub(super) fn told(&mut self, step: Option<u32>, now: [u64; N], anew: bool) {
        let last = self.last.replace(now).unwrap_or([0; N]);
        let (Some(step), false) = (step, anew) else { return };
        let gained: [u64; N] = std::array::from_fn(|index| now[index].saturating_sub(last[index]));
        self.add(step, gained);
    }

    fn add(&mut self, step: u32, gained: [u64; N]) {
        match self.gained.last_mut() {
            Some((last, sum)) if *last == step => (0..N).for_each(|index| sum[index] += gained[index]),
            _ if gained.iter().all(|gain| *gain == 0) => {}
            _ => self.gained.push((step, gained)),
        }
    }

    /// Every second look is forgotten: two intervals become one.
    pub(super) fn thin(&mut self) {
        for (step, gained) in std::mem::take(&mut self.gained) {
            self.add(step / 2, gained);
        }
    }

    /// What was gained in each step of a grid: an interval's gain is shared out by overlap.
    pub(super) fn spread(&self, looks: &Looks, grid: &Grid) -> Vec<[f64; N]> {
        let mut steps = vec![[0.0; N]; grid.len()];
        for (interval, gained) in &self.gained {
            let [from, to] = [0, 1].map(|end| looks.at[*interval as usize + end]);
            let whole = (to - from).max(1) as f64;
            for step in grid.steps_between(from, to) {
                let overlap = grid.end(step).min(to).saturating_sub(grid.begin(step).max(from)) as f64;
                (0..N).for_each(|index| steps[step][index] += gained[index] as f64 * overlap / whole);
            }
        }
        steps
    }
}

/// Equal steps over the wall, the last one shorter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    start: Ns,
    wall_ns: Ns,
    pub(super) step_ns: Ns,
}

impl Grid {
    pub(super) fn new(start: Ns, wall_ns: Ns) -> Self {
        Self { start, wall_ns, step_ns: wall_ns.div_ceil(STEPS_MAX).max(STEP_NS_MIN) }
    }

    pub(super) fn len(&self) -> usize {
        self.wall_ns.div_ceil(self.step_ns) as usize
    }

    fn begin(&self, step: usize) -> Ns {
        self.start + step as u64 * self.step_ns
    }

    pub(super) fn end(&self, step: usize) -> Ns {
        self.begin(step + 1).min(self.start + self.wall_ns)
    }

    fn length(&self, step: usize) -> f64 {
        (self.end(step) - self.begin(step)) as f64
    }

    fn steps_between(&self, from: Ns, to: Ns) -> std::ops::Range<usize> {
        let step = |at: Ns| at.saturating_sub(self.start) / self.step_ns;
        (step(from) as usize).min(self.len())..(step(to) as usize + 1).min(self.len())
    }

    /// A figure of each step by its length, in units of `per` ns, with so many decimals.
    fn by_length<T>(&self, steps: &[T], figure: impl Fn(&T) -> f64, per: f64, decimals: i32) -> Vec<f64> {
        let by_length = |(step, gained)| rounded(figure(gained) * per / self.length(step), decimals);
        steps.iter().enumerate().map(by_length).collect()
    }

    /// Per second.
    pub(super) fn rates<T>(&self, steps: &[T], figure: impl Fn(&T) -> f64) -> Vec<f64> {
        self.by_length(steps, figure, 1e9, 1)
    }

    /// Per second, as a share of `limit` a second.
    pub(super) fn rates_by<T>(&self, steps: &[T], limit: f64, figure: impl Fn(&T) -> f64) -> Vec<f64> {
        self.by_length(steps, figure, 1e9 / limit.max(1.0), 4)
    }

    /// Time by time: how many at once, on average.
    pub(super) fn means<T>(&self, steps: &[T], figure: impl Fn(&T) -> f64) -> Vec<f64> {
        self.by_length(steps, figure, 1.0, 4)
    }

    /// Shares of `of` times a step, at most 1.
    pub(super) fn shares<T>(&self, steps: &[T], of: u32, figure: impl Fn(&T) -> f64) -> Vec<f64> {
        let mut shares = self.by_length(steps, figure, 1.0 / f64::from(of), 4);
        shares.iter_mut().for_each(|share| *share = share.clamp(0.0, 1.0));
        shares
    }

    /// The share of the wall that the steps of a kind have.
    pub(super) fn share_of_wall(&self, of_kind: impl Fn(usize) -> bool) -> f64 {
        let ns: f64 = (0..self.len()).filter(|step| of_kind(*step)).map(|step| self.length(step)).sum();
        rounded(ns / self.wall_ns.max(1) as f64, 4)
    }

    /// The mean of a series over the steps of a kind; none where there is no such step.
    pub(super) fn mean_where(&self, series: &[f64], of_kind: impl Fn(usize) -> bool) -> Option<f64> {
        let (mut sum, mut length) = (0.0, 0.0);
        for step in (0..self.len()).filter(|step| of_kind(*step)) {
            sum += series[step] * self.length(step);
            length += self.length(step);
        }
        (length > 0.0).then(|| sum / length)
    }

    /// The mean of a series.
    pub(super) fn mean(&self, series: &[f64]) -> f64 {
        self.mean_where(series, |_| true).unwrap_or(0.0)
    }
}

/// More decimals would only make files larger.
pub(super) fn rounded(figure: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    // An empty sum is -0.
    (figure * scale).round() / scale + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    #[test]
    fn what_is_gained_between_looks_lands_in_the_steps_and_none_is_lost() {
        let mut looks = Looks::default();
        let mut track = Track::<1>::default();
        // Looks at 0, 90, 180, … 900 ms; the wall from 50 to 850 ms; ten a look.
        for look in 0..=10 {
            looks.add(look * 90 * MS);
            track.told(looks.step(), [1000 + look * 10], look == 0);
        }
        let grid = Grid::new(50 * MS, 800 * MS);
        assert_eq!((grid.step_ns, grid.len()), (100 * MS, 8));
        let steps = track.spread(&looks, &grid);
        assert!(steps.iter().all(|step| (step[0] - 100.0 / 9.0).abs() < 1e-9), "{steps:?}");
        assert_eq!(grid.rates(&steps, |step| step[0])[3], 111.1);
    }

    #[test]
    fn the_last_step_is_as_long_as_it_is() {
        let grid = Grid::new(0, 250 * MS);
        assert_eq!((grid.len(), grid.end(2)), (3, 250 * MS));
        assert_eq!(grid.rates(&[[10.0], [10.0], [5.0]], |step| step[0]), [100.0; 3]);
        assert_eq!(grid.share_of_wall(|step| step == 2), 0.2);
        assert_eq!(Grid::new(0, 6_000_000 * MS).len(), 600);
    }

    #[test]
    fn a_long_run_is_thinned_and_its_sums_stay() {
        let mut looks = Looks::default();
        let (mut track, mut late) = (Track::<2>::default(), Track::<2>::default());
        let count = 20_000;
        for look in 0..count {
            if looks.add(look * 100 * MS) {
                track.thin();
                late.thin();
            }
            track.told(looks.step(), [look, 7], look == 0);
            // A device that turns up later and is told of only when it does something.
            if look == 15_000 {
                late.told(looks.step(), [500, 0], false);
            }
        }
        assert!(looks.len() <= LOOKS_MAX, "{}", looks.len());
        assert!(track.gained.len() <= LOOKS_MAX);
        let grid = Grid::new(0, (count - 1) * 100 * MS);
        let sum =
            |track: &Track<2>| track.spread(&looks, &grid).iter().map(|step| step[0]).sum::<f64>().round();
        assert_eq!((sum(&track), sum(&late)), (count as f64 - 1.0, 500.0));
        let rates = grid.rates(&track.spread(&looks, &grid), |step| step[0]);
        assert!(rates.iter().all(|rate| (9.5..10.5).contains(rate)), "{rates:?}");
        let lates = late.spread(&looks, &grid);
        let when = lates.iter().position(|step| step[0] > 0.0).unwrap();
        assert!((445..=451).contains(&when), "{when}");
    }

    #[test]
    fn a_counter_that_goes_back_gained_nothing() {
        let mut track = Track::<2>::default();
        track.told(None, [100, 100], true);
        track.told(Some(0), [5, 120], false);
        assert_eq!(track.gained, [(0, [0, 20])]);
        track.told(Some(1), [9, 120], true);
        assert_eq!(track.gained.len(), 1);
    }
}
