//! The wall clock with edits, and between which ends it is, from those of the replays.

use model::Ns;
use model::what_if::{SavingEstimate, WallEstimate};

/// Three wall clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walls {
    pub(super) recorded_ns: Ns,
    pub(super) unedited_ns: Ns,
    pub(super) edited_ns: Ns,
    /// That with the least that others, and dwell, may have of the CPUs.
    pub(super) least_ns: Ns,
    /// That with the most.
    pub(super) most_ns: Ns,
    /// What dwell cost the program at most, while that was on a CPU.
    pub(super) dwell_ns: Ns,
    /// Half of the interval of what differs by chance.
    pub(super) chance_ns: Ns,
}

impl Walls {
    /// What the recorded one would have been. `alone_ns`: what the edits remove of its path while
    /// nothing else was under way; `scheduling_ns`: the wall clock of a replay with what only lets
    /// threads run earlier. Also tells whether all of the saving is sure, but for the error.
    pub(super) fn estimate(
        self,
        alone_ns: Ns,
        scheduling_ns: Option<Ns>,
    ) -> (WallEstimate, SavingEstimate, bool) {
        let recorded = self.recorded_ns as f64;
        let unedited = self.unedited_ns.max(1) as f64;
        // The replay is held against itself: what it is wrong by without an edit it is with them.
        let scaled = |ns: Ns| ns as f64 * recorded / unedited;
        let error = (unedited - recorded).abs() / recorded.max(1.0);
        let after = scaled(self.edited_ns);
        let saved = recorded - after;
        let earlier = scheduling_ns.map_or(0.0, |ns| (recorded - scaled(ns)).clamp(0.0, saved.max(0.0)));
        let surely = if saved > 0.0 { earlier + (alone_ns as f64).min(saved - earlier) } else { saved };
        let lo = scaled(self.least_ns.min(self.edited_ns)) * (1.0 - error);
        let most = scaled(self.most_ns.max(self.edited_ns));
        let hi = (recorded - surely).max(most) * (1.0 + error);
        // All of what dwell costs may be in what stays, or in what goes.
        let wall = WallEstimate {
            ns: after.round() as Ns,
            lo_ns: (lo - self.dwell_ns as f64 - self.chance_ns as f64).max(0.0).round() as Ns,
            hi_ns: (hi + self.chance_ns as f64).round() as Ns,
            chance_ns: self.chance_ns,
        };
        let saves = |ns: Ns| self.recorded_ns as i64 - ns as i64;
        let saving =
            SavingEstimate { ns: saves(wall.ns), lo_ns: saves(wall.hi_ns), hi_ns: saves(wall.lo_ns) };
        (wall, saving, surely >= saved - 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With nobody else on the CPUs.
    fn walls(recorded_ns: Ns, unedited_ns: Ns, edited_ns: Ns) -> Walls {
        let (least_ns, most_ns) = (edited_ns, edited_ns);
        Walls { recorded_ns, unedited_ns, edited_ns, least_ns, most_ns, dwell_ns: 0, chance_ns: 0 }
    }

    fn wall(
        recorded_ns: Ns,
        unedited_ns: Ns,
        edited_ns: Ns,
        alone_ns: Ns,
        scheduling: Option<Ns>,
    ) -> [Ns; 3] {
        let walls = walls(recorded_ns, unedited_ns, edited_ns);
        let (wall, saving, _) = walls.estimate(alone_ns, scheduling);
        assert_eq!(saving.ns, recorded_ns as i64 - wall.ns as i64);
        assert_eq!(
            (saving.lo_ns, saving.hi_ns),
            (recorded_ns as i64 - wall.hi_ns as i64, recorded_ns as i64 - wall.lo_ns as i64)
        );
        [wall.lo_ns, wall.ns, wall.hi_ns]
    }

    #[test]
    fn what_was_alone_is_surely_saved() {
        assert_eq!(wall(1000, 1000, 200, 500, None), [200, 200, 500]);
        assert_eq!(wall(1000, 1000, 200, 900, None), [200, 200, 200], "no more than the replay saves");
    }

    #[test]
    fn the_replays_own_error_scales_and_widens() {
        assert_eq!(wall(1000, 1100, 550, 1000, None), [450, 500, 550]);
    }

    #[test]
    fn what_others_had_of_the_cpus_may_go_with_the_waits() {
        let walls = Walls { least_ns: 600, most_ns: 950, ..walls(1000, 1000, 900) };
        let (wall, ..) = walls.estimate(100, None);
        assert_eq!((wall.lo_ns, wall.ns, wall.hi_ns), (600, 900, 950));
    }

    #[test]
    fn what_dwell_costs_may_be_in_what_goes_or_in_what_stays() {
        let walls = Walls { dwell_ns: 30, ..walls(1000, 1000, 400) };
        let (wall, ..) = walls.estimate(600, None);
        assert_eq!((wall.lo_ns, wall.ns, wall.hi_ns), (370, 400, 400));
    }

    #[test]
    fn what_differs_by_chance_may_be_more_or_less() {
        let walls = Walls { chance_ns: 20, ..walls(1000, 1000, 400) };
        let (wall, ..) = walls.estimate(600, None);
        assert_eq!((wall.lo_ns, wall.ns, wall.hi_ns), (380, 400, 420));
    }

    #[test]
    fn what_only_lets_threads_run_earlier_is_surely_saved_too() {
        assert_eq!(wall(1000, 1000, 400, 0, Some(400)), [400, 400, 400]);
        assert_eq!(wall(1000, 1000, 400, 100, Some(700)), [400, 400, 600]);
    }

    #[test]
    fn what_takes_longer_saves_less_than_nothing() {
        assert_eq!(wall(1000, 1000, 1500, 0, None), [1500, 1500, 1500]);
    }
}
