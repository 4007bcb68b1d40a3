//! The cost of single operations, from a ladder: waits are compared with it, and predictions use
//! it.

use model::costs::LoadCost;
use model::ladder::{Ladder, MedianInterval, Plausibility, Point};
use model::{Costs, Seen};

/// The costs in `ladder`; `from` names that ladder.
pub fn costs(ladder: &Ladder, from: impl Into<String>) -> Costs {
    let of = |id: &str| cost(ladder, id);
    Costs {
        from: from.into(),
        measured_at: ladder.started_at.clone(),
        quick: ladder.asked.quick,
        memory_access_ns: of("dram"),
        call_ns: of("system-call"),
        fault_ns: of("page-touch"),
        switch_ns: of("thread-switch"),
        open_ns: of("open"),
        stat_ns: of("stat"),
        fsync_ns: of("fsync"),
        disk_read_ns: of("direct-read"),
        process_ns: sum(of("process-create"), of("exec")),
        connect_ns: of("tcp-connect"),
        load_ns: loads(ladder),
        disk_read_32_ns: of("direct-read-32"),
        sequential_read_ns: of("sequential-read"),
        sequential_write_ns: of("sequential-write"),
        tls_handshake_ns: of("tls-handshake"),
    }
}

/// The curve of latency against size.
fn loads(ladder: &Ladder) -> Seen<Vec<LoadCost>> {
    let of = |point: &Point| LoadCost { bytes: point.bytes, ns: short(point.ns.median) };
    match &ladder.curve {
        Seen::Value(curve) => Seen::Value(curve.points.iter().map(of).collect()),
        Seen::Absent => Seen::unseen("the ladder has no curve of latency against size"),
        Seen::Unseen(why) => Seen::unseen(format!("latency against size: {why}")),
    }
}

/// One rung's figure. A doubtful one is no reference for others.
fn cost(ladder: &Ladder, id: &str) -> Seen<MedianInterval> {
    let Some(rung) = ladder.rungs.iter().find(|rung| rung.about.id == id) else {
        return Seen::unseen(format!("the ladder has no rung {id}"));
    };
    match &rung.ns {
        Seen::Value(ns) if ns.median <= 0.0 => Seen::unseen(format!("{id} is too short to measure")),
        Seen::Value(_) if rung.plausible.verdict == Plausibility::Doubtful => {
            Seen::unseen(format!("{id} is doubtful: {}", rung.plausible.why))
        }
        Seen::Value(ns) => {
            Seen::Value(MedianInterval { median: short(ns.median), lo: short(ns.lo), hi: short(ns.hi) })
        }
        Seen::Absent => {
            let why = rung.limits.first().map_or("not present on this machine", String::as_str);
            Seen::unseen(format!("{id}: {why}"))
        }
        Seen::Unseen(why) => Seen::unseen(format!("{id}: {why}")),
    }
}

/// Both, one after the other. Adding the ends makes the interval wider than necessary.
fn sum(one: Seen<MedianInterval>, other: Seen<MedianInterval>) -> Seen<MedianInterval> {
    match (one, other) {
        (Seen::Value(one), Seen::Value(other)) => Seen::Value(MedianInterval {
            median: short(one.median + other.median),
            lo: short(one.lo + other.lo),
            hi: short(one.hi + other.hi),
        }),
        (Seen::Value(_), missing) | (missing, _) => missing,
    }
}

/// Rounded to a thousandth, so that JSON gives back exactly the same number, as a kept recording
/// needs.
fn short(ns: f64) -> f64 {
    (ns * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::{ladder, limits::tests as sample};
    use model::ladder::{MeasuredRung, Samples, Unmeasured};

    /// A ladder of the given rungs, each with samples about its figure or the reason why it has
    /// none.
    fn of(rungs: &[(&str, Result<f64, Unmeasured>)]) -> Ladder {
        let mut all = sample::measured(Seen::Absent);
        all.asked.quick = true;
        all.rungs = rungs
            .iter()
            .map(|(id, outcome)| MeasuredRung {
                about: sample::about(id),
                outcome: outcome.clone().map(|ns| Samples {
                    per_op_ns: [0.9, 1.0, 1.1].repeat(5).iter().map(|part| ns * part).collect(),
                    ops_per_sample: 1,
                    ..Samples::default()
                }),
                conditions: sample::undisturbed(),
            })
            .collect();
        ladder(&all)
    }

    #[test]
    fn each_cost_is_its_rungs_figure_and_a_process_is_made_and_executed() {
        let ladder = of(&[
            ("dram", Ok(100.0)),
            ("system-call", Ok(150.123_456)),
            ("process-create", Ok(60_000.0)),
            ("exec", Ok(200_000.0)),
            ("fsync", Ok(2e6)),
            ("direct-read", Ok(100_000.0)),
            ("direct-read-32", Ok(400_000.0)),
            ("tls-handshake", Ok(500_000.0)),
        ]);
        let costs = costs(&ladder, "kept ladder of a day");
        let median = |cost: &Seen<MedianInterval>| cost.value().map(|ns| ns.median);
        assert_eq!(median(&costs.memory_access_ns), Some(100.0));
        assert_eq!(median(&costs.call_ns), Some(150.123));
        assert_eq!(median(&costs.process_ns), Some(260_000.0));
        let process = costs.process_ns.value().unwrap();
        assert!(process.lo < 260_000.0 && process.hi > 260_000.0, "{process:?}");
        assert_eq!(median(&costs.fsync_ns), Some(2e6));
        assert_eq!(median(&costs.tls_handshake_ns), Some(500_000.0));
        assert_eq!(costs.reads_at_once(), Some(8.0), "32 in 400 us, one in 100 us");
        assert_eq!((costs.measured_at, costs.quick), (ladder.started_at, true));
        assert_eq!(costs.from, "kept ladder of a day");
    }

    #[test]
    fn a_cost_that_was_not_measured_says_why_and_is_not_zero() {
        let mut ladder = of(&[
            ("dram", Ok(100.0)),
            ("open", Ok(-0.5)),
            ("fsync", Err(Unmeasured::Unseen("the directory cannot be written".into()))),
            ("tcp-connect", Err(Unmeasured::Absent("no loopback interface".into()))),
            ("exec", Ok(200_000.0)),
        ]);
        ladder.rungs[0].plausible.verdict = Plausibility::Doubtful;
        ladder.rungs[0].plausible.why = "less than the cache before it".into();
        let costs = costs(&ladder, "");
        for (cost, why) in [
            (&costs.memory_access_ns, "dram is doubtful: less than the cache before it"),
            (&costs.open_ns, "open is too short to measure"),
            (&costs.fsync_ns, "fsync: the directory cannot be written"),
            (&costs.connect_ns, "tcp-connect: no loopback interface"),
            (&costs.process_ns, "the ladder has no rung process-create"),
            (&costs.stat_ns, "the ladder has no rung stat"),
            (&costs.disk_read_32_ns, "the ladder has no rung direct-read-32"),
            (&costs.sequential_read_ns, "the ladder has no rung sequential-read"),
        ] {
            assert_eq!(cost, &Seen::unseen(why));
        }
        assert_eq!(costs.reads_at_once(), None);
    }
}
