//! Measures the rungs one after another: the time of each, and the conditions meanwhile.

use crate::bench::{Bench, clock_cost_ns, interrupted};
use crate::{Rung, all, cpu, machine, memory, wanted};
use host::own::waited_ns;
use host::{Error, Roots, here};
use model::Ns;
use model::Seen;
use model::ladder::{
    Conditions, LadderMeasurements, LadderRequest, MeasuredRung, RungDescription, RungGroup,
};
use model::recording::Host;
use sys::clock::{monotonic_ns, rfc3339_now};

/// Time for all rungs together, the curve included; what they prepare comes on top.
const WHOLE_NS: Ns = 23_000_000_000;
const QUICK_NS: Ns = 3_500_000_000;
/// The most time of one part: a few rungs need not fill the whole time.
const PART_NS: Ns = 700_000_000;
/// Parts of the curve.
const CURVE_PARTS: f64 = 6.0;
/// Rungs bound by the core and its memory are measured twice, in order and again at the end: a
/// neighbour on the core or its caches can only make them slower, perhaps for longer than one
/// visit. Visits that differ by more than this get a caveat.
const DIFFERENT: f64 = 1.05;

/// Is notified of the progress.
pub trait Listener {
    /// A rung starts: the `turn`-th of `turns`, counted from 1.
    fn begins(&mut self, id: &str, turn: usize, turns: usize);
}

/// Measures the rungs asked for; if `stop` becomes true, the result has the rungs measured so far.
pub fn measure(
    asked: &LadderRequest,
    host: Host,
    listener: &mut dyn Listener,
    stop: &dyn Fn() -> bool,
) -> LadderMeasurements {
    let begun = monotonic_ns();
    let started_at = rfc3339_now();
    // Before pinning, which reduces the allowed CPUs to one.
    let machine = machine();
    let rungs: Vec<Rung> = all(asked).into_iter().filter(|rung| wanted(&rung.about, asked)).collect();
    let curve = memory::curve::about();
    let with_curve = wanted(&curve, asked);
    let _pinned = cpu::pin::Pinned::home(&machine);
    cpu::cycle::warm_up(if asked.quick { 100_000_000 } else { 500_000_000 }, stop);
    let clock = clock_cost_ns();

    let until = begun + if asked.quick { QUICK_NS } else { WHOLE_NS };
    let twice = |rung: &Rung| !asked.quick && rung.watch_cycle && rung.about.group <= RungGroup::Memory;
    let parts = |rung: &Rung| rung.parts / if twice(rung) { 2.0 } else { 1.0 };
    let mut parts_left =
        rungs.iter().map(|rung| rung.parts).sum::<f64>() + if with_curve { CURVE_PARTS } else { 0.0 };
    // Time that a rung overruns or leaves is shared by those that follow.
    let mut budget = |parts: f64| {
        let left = until.saturating_sub(monotonic_ns()) as f64;
        let share = left * parts / parts_left;
        parts_left -= parts;
        share.min(PART_NS as f64 * parts) as Ns
    };
    let turns = rungs.len() + usize::from(with_curve) + rungs.iter().filter(|rung| twice(rung)).count();
    let mut turn = 0;
    let mut begins = |id: &str| {
        turn += 1;
        listener.begins(id, turn, turns);
    };
    let mut measured = Vec::with_capacity(rungs.len());
    for rung in &rungs {
        begins(&rung.about.id);
        let bench = Bench::new(&machine, asked, budget(parts(rung)), clock, stop);
        measured.push(one(rung, &bench));
    }
    let curve = if with_curve {
        begins(&curve.id);
        let bench = Bench::new(&machine, asked, budget(CURVE_PARTS), clock, stop);
        memory::curve::measure(&bench)
    } else {
        Seen::unseen("not requested")
    };
    for (rung, first) in rungs.iter().zip(&mut measured).filter(|(rung, _)| twice(rung)) {
        // An absent rung is still absent.
        if first.outcome.is_ok() && !stop() {
            begins(&rung.about.id);
            let bench = Bench::new(&machine, asked, budget(parts(rung)), clock, stop);
            let second = one(rung, &bench);
            keep_the_calmer(first, second);
        }
    }
    LadderMeasurements {
        host,
        machine,
        started_at,
        machine_number: None,
        dwell: None,
        asked: asked.clone(),
        clock_cost_ns: clock,
        rungs: measured,
        curve,
        took_ns: monotonic_ns() - begun,
        memory_peak_bytes: host::seen(host::own::memory_peak_bytes(here())),
        interrupted: stop(),
    }
}

/// The rungs that can be measured.
pub fn list(asked: &LadderRequest) -> Vec<RungDescription> {
    all(asked).into_iter().map(|rung| rung.about).chain([memory::curve::about()]).collect()
}

/// Keeps the less disturbed of two visits, with the lower median; a caveat if they differ.
fn keep_the_calmer(first: &mut MeasuredRung, second: MeasuredRung) {
    let (Some(at_first), Some(at_last)) = (median_ns(first), median_ns(&second)) else { return };
    let slower = at_first.max(at_last) / at_first.min(at_last);
    let which = if at_last < at_first { "first" } else { "second" };
    if at_last < at_first {
        *first = second;
    }
    if let Ok(samples) = &mut first.outcome
        && slower > DIFFERENT
    {
        let percent = 100.0 * (slower - 1.0);
        samples
            .limits
            .push(format!("of two visits the calmer counts: the {which} was {percent:.0} % slower"));
    }
}

fn median_ns(measured: &MeasuredRung) -> Option<f64> {
    stats::median_of(measured.outcome.as_ref().ok()?.per_op_ns.iter().copied())
}

fn one(rung: &Rung, bench: &Bench) -> MeasuredRung {
    let (from, waited, steal) = (monotonic_ns(), waited_ns(here()), steal_ns(here()));
    let mut cycle_ns = Vec::new();
    let probe = |cycles: &mut Vec<f64>| {
        if rung.watch_cycle {
            cycles.push(cpu::cycle::probe_ns());
        }
    };
    probe(&mut cycle_ns);
    let outcome = if bench.stopped() { Err(interrupted()) } else { (rung.measure)(bench) };
    probe(&mut cycle_ns);
    let conditions = Conditions {
        took_ns: monotonic_ns() - from,
        waited_ns: grown(waited, waited_ns(here())),
        steal_ns: grown(steal, steal_ns(here())),
        cycle_ns,
    };
    MeasuredRung { about: rung.about.clone(), outcome, conditions }
}

/// By how much a counter has grown, if it could be read both times.
fn grown(before: Result<Ns, Error>, after: Result<Ns, Error>) -> Seen<Ns> {
    host::seen(before).zip(host::seen(after)).map(|(before, after)| after.saturating_sub(before))
}

/// Time that the hypervisor took, summed over CPUs, since boot.
fn steal_ns(roots: Roots<'_>) -> Result<Ns, Error> {
    let path = roots.proc.join("stat");
    let times = host::stat::total(&host::text(&path)?);
    times.map(|times| times.steal_ns).ok_or(Error::Missing { path, what: "the CPU time of all CPUs" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ladder::{Samples, Unmeasured};
    use std::path::Path;

    fn visit(ns: f64) -> MeasuredRung {
        MeasuredRung {
            about: crate::about("l1", RungGroup::Memory, "a load"),
            outcome: Ok(Samples {
                per_op_ns: vec![ns, ns * 9.0, ns],
                ops_per_sample: 1,
                ..Samples::default()
            }),
            conditions: Conditions {
                took_ns: 1,
                waited_ns: Seen::Value(0),
                steal_ns: Seen::Value(0),
                cycle_ns: Vec::new(),
            },
        }
    }

    fn kept(first: MeasuredRung, second: MeasuredRung) -> (Option<f64>, Vec<String>) {
        let mut first = first;
        keep_the_calmer(&mut first, second);
        (median_ns(&first), first.outcome.map(|samples| samples.limits).unwrap_or_default())
    }

    #[test]
    fn the_calmer_of_two_visits_counts_and_tells_of_the_other() {
        let (ns, limits) = kept(visit(1.3), visit(1.0));
        assert_eq!(
            (ns, limits),
            (Some(1.0), vec!["of two visits the calmer counts: the first was 30 % slower".to_owned()])
        );
        let (ns, limits) = kept(visit(1.0), visit(2.0));
        assert_eq!(
            (ns, limits),
            (Some(1.0), vec!["of two visits the calmer counts: the second was 100 % slower".to_owned()])
        );
        assert_eq!(kept(visit(1.0), visit(1.01)), (Some(1.0), Vec::new()));
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_unseen_and_not_zero() {
        let nowhere = Path::new("/nonexistent");
        let roots = Roots { proc: nowhere, sys: nowhere };
        let waited = grown(waited_ns(roots), Ok(5));
        assert!(matches!(&waited, Seen::Unseen(why) if why.contains("schedstat")), "{waited:?}");
        let steal = grown(Ok(5), steal_ns(roots));
        assert!(matches!(&steal, Seen::Unseen(why) if why.contains("/nonexistent/stat")), "{steal:?}");
        assert_eq!(grown(Ok(5), Ok(12)), Seen::Value(7));
    }

    #[test]
    fn a_visit_that_gave_nothing_leaves_the_other() {
        let none =
            MeasuredRung { outcome: Err(Unmeasured::Unseen("it was interrupted".into())), ..visit(1.0) };
        assert_eq!(kept(visit(1.3), none), (Some(1.3), Vec::new()));
    }
}
