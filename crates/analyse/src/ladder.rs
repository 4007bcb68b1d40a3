//! From a ladder's samples to its rungs: medians with intervals, caveats, whether a figure is
//! plausible, and where caches end.

pub mod beside;
mod costs;
mod edges;
pub(crate) mod limits;
mod plausible;

pub use costs::costs;

use crate::identity;
use model::ladder::{
    Curve, Ladder, LadderMeasurements, MeasuredRung, MedianInterval, Point, Rung, SCHEMA_LADDER, Samples,
    SizeSamples, Spread, Unmeasured,
};
use model::{Origin, Seen};
use stats::median;
use stats::median::quantile;

/// The least number of samples for a point of the curve: with fewer, one interruption would look
/// like an edge.
const POINT_SAMPLES: usize = 5;

/// The ladder that follows from a measurement.
pub fn ladder(measured: &LadderMeasurements) -> Ladder {
    let mut rungs: Vec<Rung> = measured.rungs.iter().map(|one| rung(one, measured)).collect();
    // In the order of the ladder: a doubtful rung is no reference for those above it.
    for at in 0..rungs.len() {
        rungs[at].plausible = plausible::judge(&rungs[at], &rungs[..at]);
    }
    let mut ladder = Ladder {
        schema: SCHEMA_LADDER.to_owned(),
        host: measured.host.clone(),
        machine: measured.machine.clone(),
        started_at: measured.started_at.clone(),
        origin: Origin { id: None, machine_number: measured.machine_number.clone() },
        dwell: measured.dwell.clone(),
        took_ns: measured.took_ns,
        asked: measured.asked.clone(),
        limits: limits::of_all(measured, &rungs),
        rungs_disturbed: (measured.rungs.iter().zip(&rungs))
            .filter(|(one, rung)| rung.samples > 0 && limits::is_disturbed(one))
            .count() as u32,
        rungs,
        curve: measured.curve.as_ref().map(|sizes| curve(sizes, measured)),
    };
    ladder.origin.id = Some(identity::of_ladder(&ladder));
    ladder
}

fn rung(one: &MeasuredRung, all: &LadderMeasurements) -> Rung {
    let mut rung = Rung {
        about: one.about.clone(),
        ns: Seen::Absent,
        spread_ns: Seen::Absent,
        samples: 0,
        ops_per_sample: 0,
        bytes_per_s: Seen::Absent,
        limits: Vec::new(),
        plausible: plausible::unknown("not measured"),
    };
    match &one.outcome {
        Ok(samples) => {
            let ns = sorted(&net_of_overhead(samples));
            let missing = || Seen::unseen("no samples");
            rung.ns = interval(&ns).map_or_else(missing, Seen::Value);
            rung.spread_ns = spread(&ns).map_or_else(|| Seen::unseen("no samples"), Seen::Value);
            rung.samples = ns.len() as u64;
            rung.ops_per_sample = samples.ops_per_sample;
            rung.bytes_per_s = interval(&sorted(&samples.bytes_per_s)).map_or(Seen::Absent, Seen::Value);
            rung.limits = samples.limits.clone();
            rung.limits.extend(limits::of_rung(one, samples, all));
        }
        Err(Unmeasured::Absent(why)) => rung.limits.push(why.clone()),
        Err(Unmeasured::Unseen(why)) => {
            rung.ns = Seen::Unseen(why.clone());
            rung.spread_ns = Seen::Unseen(why.clone());
            rung.bytes_per_s = Seen::Unseen(why.clone());
        }
    }
    rung
}

/// The samples less the clock's cost and the baseline of their round.
fn net_of_overhead(samples: &Samples) -> Vec<f64> {
    let clock = samples.clock_cost_ns / samples.ops_per_sample.max(1) as f64;
    if samples.baseline_ns.is_empty() {
        return samples.per_op_ns.iter().map(|ns| ns - clock).collect();
    }
    // The clock's cost is in both.
    samples.per_op_ns.iter().zip(&samples.baseline_ns).map(|(ns, less)| ns - less).collect()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn interval(sorted: &[f64]) -> Option<MedianInterval> {
    median(sorted).map(|found| MedianInterval { median: found.value, lo: found.lo, hi: found.hi })
}

fn spread(sorted: &[f64]) -> Option<Spread> {
    Some(Spread {
        min: *sorted.first()?,
        p10: quantile(sorted, 0.1)?,
        p90: quantile(sorted, 0.9)?,
        max: *sorted.last()?,
    })
}

fn curve(sizes: &[SizeSamples], all: &LadderMeasurements) -> Curve {
    let point = |size: &SizeSamples| {
        if size.per_op_ns.len() < POINT_SAMPLES {
            return None;
        }
        let clock = all.clock_cost_ns / size.ops_per_sample.max(1) as f64;
        let ns: Vec<f64> = size.per_op_ns.iter().map(|ns| ns - clock).collect();
        Some(Point { bytes: size.bytes, ns: interval(&sorted(&ns))? })
    };
    let points: Vec<Point> = sizes.iter().filter_map(point).collect();
    let edges = edges::find(&points, &all.machine.caches);
    Curve { points, edges }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::limits::tests::measured;

    #[test]
    fn a_point_of_few_samples_is_left_out_and_the_clocks_cost_is_subtracted_from_others() {
        let size = |bytes, samples| SizeSamples { bytes, per_op_ns: vec![5.0; samples], ops_per_sample: 20 };
        let mut all = measured(Seen::Absent);
        all.curve = Seen::Value(vec![size(4096, 9), size(8192, 2)]);
        let curve = ladder(&all).curve;
        let points = &curve.value().unwrap().points;
        assert_eq!((points.len(), points[0].bytes, points[0].ns.median), (1, 4096, 4.0));
    }

    #[test]
    fn absent_and_unseen_rungs_differ() {
        let mut all = measured(Seen::Absent);
        for outcome in [Unmeasured::Absent("one node".into()), Unmeasured::Unseen("no memory".into())] {
            let about = all
                .rungs
                .first()
                .map_or_else(|| limits::tests::about("dram-remote"), |one| one.about.clone());
            let conditions = limits::tests::undisturbed();
            all.rungs.push(MeasuredRung { about, outcome: Err(outcome), conditions });
        }
        all.rungs.iter_mut().for_each(|one| one.conditions.waited_ns = Seen::Value(1));
        assert_eq!(ladder(&all).rungs_disturbed, 0, "nothing was measured that could be disturbed");
        let rungs = ladder(&all).rungs;
        assert_eq!((&rungs[0].ns, &rungs[0].limits[..]), (&Seen::Absent, &["one node".to_owned()][..]));
        assert_eq!(rungs[1].ns, Seen::unseen("no memory"));
    }

    #[test]
    fn the_clocks_cost_is_subtracted_once_per_sample_unless_the_baseline_has_it() {
        let samples = Samples {
            per_op_ns: vec![12.0, 14.0],
            ops_per_sample: 10,
            clock_cost_ns: 20.0,
            ..Samples::default()
        };
        assert_eq!(net_of_overhead(&samples), [10.0, 12.0]);
        let against = Samples { baseline_ns: vec![5.0, 6.0], ..samples };
        assert_eq!(net_of_overhead(&against), [7.0, 8.0]);
    }
}
