//! The rungs by turns: who is measured, with how much of the time, and what else happened meanwhile.

use crate::bench::{Bench, clock_cost_ns, interrupted};
use crate::{Rung, all, cpu, machine, memory, wanted};
use model::Ns;
use model::Seen;
use model::ladder::{About, Asked, Conditions, Measured, Measurements};
use model::recording::Host;
use std::fs;
use sys::clock::{monotonic_ns, rfc3339, unix_s};

/// Time for all rungs together, the curve included; what they prepare comes on top.
const WHOLE_NS: Ns = 23_000_000_000;
const QUICK_NS: Ns = 3_500_000_000;
/// Time of one part, at most: where few rungs are asked for, they need not fill the time.
const PART_NS: Ns = 700_000_000;
/// Parts of the curve.
const CURVE_PARTS: f64 = 6.0;

/// Who watches the measuring.
pub trait Listener {
    /// A rung begins: the `turn`-th of `turns`, counted from 1.
    fn begins(&mut self, id: &str, turn: usize, turns: usize);
}

/// Measures what is asked for on `host`; `stop` says whether somebody wants it to end: then there is what there is.
pub fn measure(
    asked: &Asked,
    host: Host,
    listener: &mut dyn Listener,
    stop: &dyn Fn() -> bool,
) -> Measurements {
    let begun = monotonic_ns();
    let started_at = rfc3339(unix_s());
    // Before it is pinned: what may be used is more than what is.
    let machine = machine();
    let rungs: Vec<Rung> = all(asked).into_iter().filter(|rung| wanted(&rung.about, asked)).collect();
    let curve = memory::curve::about();
    let with_curve = wanted(&curve, asked);
    let _pinned = cpu::pin::Pinned::home(&machine);
    cpu::cycle::warm_up(if asked.quick { 100_000_000 } else { 500_000_000 }, stop);
    let clock = clock_cost_ns();

    let until = begun + if asked.quick { QUICK_NS } else { WHOLE_NS };
    let mut parts_left =
        rungs.iter().map(|rung| rung.parts).sum::<f64>() + if with_curve { CURVE_PARTS } else { 0.0 };
    // What a rung needs beyond its time, or leaves of it, is shared by those that follow.
    let mut budget = |parts: f64| {
        let left = until.saturating_sub(monotonic_ns()) as f64;
        let share = left * parts / parts_left;
        parts_left -= parts;
        share.min(PART_NS as f64 * parts) as Ns
    };
    let turns = rungs.len() + usize::from(with_curve);
    let mut measured = Vec::with_capacity(rungs.len());
    for (index, rung) in rungs.into_iter().enumerate() {
        listener.begins(&rung.about.id, index + 1, turns);
        let bench = Bench::new(&machine, asked, budget(rung.parts), clock, stop);
        measured.push(one(rung, &bench));
    }
    let curve = if with_curve {
        listener.begins(&curve.id, turns, turns);
        let bench = Bench::new(&machine, asked, budget(CURVE_PARTS), clock, stop);
        memory::curve::measure(&bench)
    } else {
        Seen::unseen("it was not asked for")
    };
    Measurements {
        host,
        machine,
        started_at,
        asked: asked.clone(),
        clock_cost_ns: clock,
        rungs: measured,
        curve,
        took_ns: monotonic_ns() - begun,
        memory_peak_bytes: machine::memory_peak_bytes()
            .map_or_else(|| Seen::unseen("the kernel does not tell"), Seen::Value),
        interrupted: stop(),
    }
}

/// What can be measured, without measuring it.
pub fn list(asked: &Asked) -> Vec<About> {
    all(asked).into_iter().map(|rung| rung.about).chain([memory::curve::about()]).collect()
}

fn one(rung: Rung, bench: &Bench) -> Measured {
    let (from, waited, steal) = (monotonic_ns(), waited_ns(), steal_ns());
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
        waited_ns: waited_ns().saturating_sub(waited),
        steal_ns: steal_ns().saturating_sub(steal),
        cycle_ns,
    };
    Measured { about: rung.about, outcome, conditions }
}

/// Time that the hypervisor gave to others, summed over processors, since boot. proc(5): in ticks of 10 ms.
fn steal_ns() -> Ns {
    const TICK_NS: Ns = 10_000_000;
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = stat.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse::<Ns>().ok());
    ticks.unwrap_or(0) * TICK_NS
}

/// Time that this thread was ready to run and did not, since it began: the second field of schedstat. 0 where the kernel does
/// not count it, which no figure is made of: it only qualifies them.
fn waited_ns() -> Ns {
    let counts = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    counts.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0)
}
