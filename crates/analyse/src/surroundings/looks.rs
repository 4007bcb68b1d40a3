//! Looks in time, and what counters did between them, spread onto the steps of a [`Grid`].

use crate::grid::Grid;
use model::Ns;

/// Disks and links beyond this are left out, the idlest first; the source says so.
pub(super) const DEVICES_MAX: usize = 64;

/// The longest list of looks that is kept. Odd: every second one of it goes, and both ends stay.
const LOOKS_MAX: usize = 1201;

/// When was looked. Long runs have their looks thinned out again and again, so that memory does not
/// grow.
#[derive(Debug, Default)]
pub(super) struct Looks {
    at: Vec<Ns>,
    /// Looks that come sooner after the one before the last take the last one's place.
    apart_ns: Ns,
}

impl Looks {
    /// Takes the time of the next snapshot; gives whether callers have to drop every second
    /// snapshot first.
    pub(super) fn add(&mut self, at: Ns) -> bool {
        let at = at.max(self.at.last().copied().unwrap_or(0));
        let thin = self.at.len() >= LOOKS_MAX;
        if thin {
            let span = self.at[self.at.len() - 1] - self.at[0];
            // What is left is twice as far apart as what was; a little less, for looks that come
            // late.
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

    /// Takes the counters at the end of an interval. With `anew` they begin here; else those of a
    /// device that was not heard of before began at nothing. A counter that went back (it wrapped,
    /// or the device came anew) gained nothing.
    pub(super) fn observe(&mut self, step: Option<u32>, now: [u64; N], anew: bool) {
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
            track.observe(looks.step(), [1000 + look * 10], look == 0);
        }
        let grid = Grid::new(50 * MS, 800 * MS, 28);
        assert_eq!((grid.step_ns, grid.len()), (100 * MS, 8));
        let steps = track.spread(&looks, &grid);
        assert!(steps.iter().all(|step| (step[0] - 100.0 / 9.0).abs() < 1e-9), "{steps:?}");
        assert_eq!(grid.rates(&steps, |step| step[0])[3], 111.1);
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
            track.observe(looks.step(), [look, 7], look == 0);
            // A device that appears later and is recorded only when it does something.
            if look == 15_000 {
                late.observe(looks.step(), [500, 0], false);
            }
        }
        assert!(looks.len() <= LOOKS_MAX, "{}", looks.len());
        assert!(track.gained.len() <= LOOKS_MAX);
        let grid = Grid::new(0, (count - 1) * 100 * MS, 28);
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
        track.observe(None, [100, 100], true);
        track.observe(Some(0), [5, 120], false);
        assert_eq!(track.gained, [(0, [0, 20])]);
        track.observe(Some(1), [9, 120], true);
        assert_eq!(track.gained.len(), 1);
    }
}
