//! Two ladders, rung by rung: the ratio with its interval.

use super::rules::{self, Ends, MARGIN, Pair, difference, differences, pairs};
use model::Seen;
use model::compare::ladder::{Compared, LadderComparison, LadderOrigin, SCHEMA_LADDER_DIFF, Uncompared};
use model::compare::{Change, Difference, Side};
use model::ladder::{Ladder, LadderRequest, MedianInterval, Plausibility, Rung, RungGroup, cycle_ns};
use std::cmp::Ordering;

/// Frequencies that differ by no more count as the same.
const FREQUENCY: f64 = 0.03;

/// What differs from `a` to `b`.
pub fn compare(a: &Ladder, b: &Ladder) -> LadderComparison {
    let mut rungs = Vec::new();
    let mut uncompared = Vec::new();
    for pair in pairs(&a.rungs, &b.rungs, same_rung) {
        match pair {
            Pair::Both(of_a, of_b) => match compared(of_a, of_b) {
                Ok(found) => rungs.push(found),
                Err(missing) => uncompared.push(missing),
            },
            Pair::Only(side, of_one) => uncompared.push(lone(of_one, side, NOT_ASKED)),
        }
    }
    let order = |group: RungGroup| RungGroup::ALL.iter().position(|one| *one == group);
    rungs.sort_by_key(|rung| order(rung.group));
    uncompared.sort_by_key(|rung| order(rung.group));
    let origin = |ladder: &Ladder| LadderOrigin {
        host: ladder.host.name.clone(),
        started_at: ladder.started_at.clone(),
    };
    LadderComparison {
        schema: SCHEMA_LADDER_DIFF.to_owned(),
        a: origin(a),
        b: origin(b),
        margin: MARGIN,
        differences: conditions(a, b),
        rungs,
        uncompared,
    }
}

fn same_rung<'a>(one: &Rung, others: &'a [Rung]) -> Option<&'a Rung> {
    others.iter().find(|other| other.about.id == one.about.id)
}

const NOT_ASKED: &str = "not requested of the other";

/// A rung that one side has a figure of, or neither.
fn lone(rung: &Rung, side: Side, why: &str) -> Uncompared {
    let has = rung.ns.value().is_some();
    Uncompared {
        id: rung.about.id.clone(),
        group: rung.about.group,
        only: has.then_some(side),
        why: if has { why.to_owned() } else { why_missing(rung) },
    }
}

fn compared(a: &Rung, b: &Rung) -> Result<Compared, Uncompared> {
    let (a_ns, b_ns) = match (a.ns.value(), b.ns.value()) {
        (Some(a_ns), Some(b_ns)) => (*a_ns, *b_ns),
        (Some(_), None) => return Err(lone(a, Side::A, &why_missing(b))),
        (None, _) => return Err(lone(b, Side::B, &why_missing(a))),
    };
    let ratio = ratio(&a_ns, &b_ns);
    Ok(Compared {
        id: a.about.id.clone(),
        group: a.about.group,
        change: change(&a_ns, &b_ns, ratio.as_ref()),
        a_ns,
        b_ns,
        ratio,
        notes: notes(a, b),
    })
}

fn why_missing(rung: &Rung) -> String {
    match &rung.ns {
        Seen::Unseen(why) => why.clone(),
        _ => rung.limits.first().cloned().unwrap_or_else(|| "not present on that machine".to_owned()),
    }
}

/// The ratio of two medians with its interval, computed as a difference of logarithms.
fn ratio(a: &MedianInterval, b: &MedianInterval) -> Option<MedianInterval> {
    let all = [a.lo, a.median, a.hi, b.lo, b.median, b.hi];
    if all.iter().any(|ns| !ns.is_finite() || *ns <= 0.0) {
        return None;
    }
    let ends =
        |of: &MedianInterval| Ends { below: (of.median / of.lo).ln(), above: (of.hi / of.median).ln() };
    let found = difference((b.median / a.median).ln(), &ends(a), &ends(b));
    Some(MedianInterval { median: found.median.exp(), lo: found.lo.exp(), hi: found.hi.exp() })
}

fn change(a: &MedianInterval, b: &MedianInterval, ratio: Option<&MedianInterval>) -> Change {
    let Some(ratio) = ratio else { return Change::Undecided };
    let apart = match () {
        () if b.hi < a.lo => Ordering::Less,
        () if b.lo > a.hi => Ordering::Greater,
        () => Ordering::Equal,
    };
    rules::change(ratio, 1.0 / (1.0 + MARGIN), 1.0 + MARGIN, apart)
}

/// Caveats that are not the same in both.
fn notes(a: &Rung, b: &Rung) -> Vec<String> {
    let mut notes = Vec::new();
    if a.about.method_version != b.about.method_version {
        notes.push("two versions of dwell with different methods".to_owned());
    }
    let doubtful = |rung: &Rung| rung.plausible.verdict == Plausibility::Doubtful;
    let both = doubtful(a) && doubtful(b) && a.plausible.why == b.plausible.why;
    if both {
        notes.push(format!("doubtful in both: {}", a.plausible.why));
    }
    for (name, one, other) in [("A", a, b), ("B", b, a)] {
        if doubtful(one) && !both {
            notes.push(format!("{name} is doubtful: {}", one.plausible.why));
        }
        let own = one.limits.iter().filter(|limit| !other.limits.contains(limit));
        notes.extend(own.map(|limit| format!("{name}: {limit}")));
    }
    notes
}

/// Differences other than the figures.
fn conditions(a: &Ladder, b: &Ladder) -> Vec<Difference> {
    let text = |seen: &Seen<String>| seen.value().cloned().unwrap_or_else(|| "unknown".to_owned());
    let dir = |asked: &LadderRequest| asked.dir.clone().unwrap_or_else(|| "the current directory".to_owned());
    let length = |asked: &LadderRequest| if asked.quick { "quick" } else { "whole" }.to_owned();
    let state = |ladder: &Ladder| text(&ladder.host.virtualisation);
    let memory = |ladder: &Ladder| text(&ladder.host.memory_bytes.as_ref().map(u64::to_string));
    let with_files = |ladder: &Ladder| {
        ladder.rungs.iter().any(|rung| rung.about.group == RungGroup::Files && rung.ns.value().is_some())
    };
    let mut pairs = vec![
        ("host", a.host.name.clone(), b.host.name.clone()),
        ("CPU model", text(&a.machine.cpu), text(&b.machine.cpu)),
        ("architecture", a.host.arch.clone(), b.host.arch.clone()),
        ("CPUs", a.host.cpus.to_string(), b.host.cpus.to_string()),
        ("memory, bytes", memory(a), memory(b)),
        ("kernel", a.host.kernel.clone(), b.host.kernel.clone()),
        ("virtualisation", state(a), state(b)),
        ("clock source", text(&a.machine.clocksource), text(&b.machine.clocksource)),
        ("governor", text(&a.machine.governor), text(&b.machine.governor)),
        ("page size, bytes", a.machine.page_bytes.to_string(), b.machine.page_bytes.to_string()),
        ("length", length(&a.asked), length(&b.asked)),
    ];
    if with_files(a) && with_files(b) {
        pairs.push(("--dir", dir(&a.asked), dir(&b.asked)));
    }
    if let (Some(of_a), Some(of_b)) = (ghz(a), ghz(b))
        && (of_a / of_b - 1.0).abs() > FREQUENCY
    {
        pairs.push(("frequency by cycles", format!("{of_a:.2} GHz"), format!("{of_b:.2} GHz")));
    }
    differences(pairs.into_iter().map(|(what, a, b)| (what.to_owned(), a, b)))
}

fn ghz(ladder: &Ladder) -> Option<f64> {
    cycle_ns(&ladder.rungs).map(|cycle| 1.0 / cycle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::limits::tests::{about, measured, undisturbed};
    use model::ladder::{MeasuredRung, Plausible, Samples, Unmeasured};

    fn interval(lo: f64, median: f64, hi: f64) -> MedianInterval {
        MedianInterval { median, lo, hi }
    }

    fn verdict(a: MedianInterval, b: MedianInterval) -> Change {
        change(&a, &b, ratio(&a, &b).as_ref())
    }

    #[test]
    fn a_change_needs_separate_intervals_and_more_than_the_margin() {
        let a = interval(99.0, 100.0, 101.0);
        for (b, expected) in [
            (interval(119.0, 120.0, 121.0), Change::More),
            (interval(79.0, 80.0, 81.0), Change::Less),
            (interval(100.0, 102.0, 103.0), Change::Same),
            (a, Change::Same),
            // Significant, but perhaps smaller than the margin.
            (interval(102.0, 104.0, 107.0), Change::Undecided),
            // Large, but not significant.
            (interval(90.0, 130.0, 200.0), Change::Undecided),
            (interval(-0.1, 130.0, 200.0), Change::Undecided),
        ] {
            assert_eq!(verdict(a, b), expected, "{b:?}");
        }
    }

    #[test]
    fn swapping_the_sides_gives_the_inverse() {
        let (a, b) = (interval(8.0, 10.0, 11.0), interval(28.0, 30.0, 36.0));
        let (there, back) = (ratio(&a, &b).unwrap(), ratio(&b, &a).unwrap());
        for (one, other) in [(there.median, back.median), (there.lo, back.hi), (there.hi, back.lo)] {
            assert!((one * other - 1.0).abs() < 1e-12, "{there:?} {back:?}");
        }
        assert_eq!((verdict(a, b), verdict(b, a)), (Change::More, Change::Less));
    }

    #[test]
    fn the_interval_of_a_ratio_has_its_coverage() {
        // Medians of lopsided samples (exponential, from a linear congruential generator), true
        // ratio 2.
        let mut state = 1_u64;
        let mut draw = |scale: f64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            -scale * (((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64).ln()
        };
        let mut sample = |scale: f64| {
            let mut all: Vec<f64> = (0..101).map(|_| draw(scale)).collect();
            all.sort_unstable_by(f64::total_cmp);
            let found = stats::median(&all).unwrap();
            interval(found.lo, found.value, found.hi)
        };
        let held = (0..2_000).filter(|_| {
            let found = ratio(&sample(1.0), &sample(2.0)).unwrap();
            found.lo <= 2.0 && 2.0 <= found.hi
        });
        let held = held.count();
        assert!((1_860..=1_960).contains(&held), "{held} of 2000");
    }

    fn with(rungs: &[(&str, Result<f64, Unmeasured>)]) -> Ladder {
        let mut all = measured(Seen::Absent);
        for (id, outcome) in rungs {
            let samples =
                |ns: f64| Samples { per_op_ns: vec![ns; 50], ops_per_sample: 1, ..Samples::default() };
            all.rungs.push(MeasuredRung {
                about: about(id),
                outcome: outcome.clone().map(samples),
                conditions: undisturbed(),
            });
        }
        crate::ladder::ladder(&all)
    }

    #[test]
    fn rungs_of_one_side_are_listed_with_the_reason() {
        let absent = || Err(Unmeasured::Absent("one node".into()));
        let a = with(&[("l1", Ok(1.0)), ("dram", Ok(90.0)), ("dram-remote", absent()), ("x", absent())]);
        let b = with(&[("l1", Ok(1.2)), ("dram-remote", Ok(200.0)), ("x", absent()), ("lock", Ok(5.0))]);
        let found = compare(&a, &b);
        assert_eq!(found.rungs.len(), 1);
        assert_eq!((found.rungs[0].id.as_str(), found.rungs[0].change), ("l1", Change::More));
        let said: Vec<_> =
            found.uncompared.iter().map(|one| (one.id.as_str(), one.only, one.why.as_str())).collect();
        assert_eq!(
            said,
            [
                ("dram", Some(Side::A), NOT_ASKED),
                ("dram-remote", Some(Side::B), "one node"),
                ("x", None, "one node"),
                ("lock", Some(Side::B), NOT_ASKED)
            ]
        );
    }

    #[test]
    fn other_differences_are_listed() {
        let mut a = with(&[("cycle", Ok(0.25)), ("l1", Ok(1.0))]);
        assert_eq!(compare(&a, &a).differences, []);
        let mut b = with(&[("cycle", Ok(0.5)), ("l1", Ok(2.0))]);
        b.host.name = "other".into();
        b.host.memory_bytes = Seen::unseen("cannot read /proc/meminfo");
        b.asked.dir = Some("/mnt".into());
        b.rungs[1].limits.push("pages of 4 KiB".into());
        // Other words are the same method.
        b.rungs[1].about.method = "reworded".into();
        let found = compare(&a, &b);
        let whats: Vec<_> = found.differences.iter().map(|one| one.what.as_str()).collect();
        // No file rung was measured, so the directory does not matter.
        assert_eq!(whats, ["host", "memory, bytes", "frequency by cycles"]);
        assert_eq!((&*found.differences[1].a, &*found.differences[1].b), ("1073741824", "unknown"));
        assert_eq!(found.rungs[1].notes, ["B: pages of 4 KiB"]);
        for rung in [&mut a.rungs[1], &mut b.rungs[1]] {
            rung.plausible = Plausible { verdict: Plausibility::Doubtful, why: "published: less".into() };
        }
        let found = compare(&a, &b);
        assert_eq!(found.rungs[1].notes, ["doubtful in both: published: less", "B: pages of 4 KiB"]);
        b.rungs[0].about.method_version += 1;
        let said = "two versions of dwell with different methods".to_owned();
        assert!(compare(&a, &b).rungs[0].notes.contains(&said));
    }
}
