//! A cycle, found by instructions that take exactly one; and two kinds of arithmetic.
//!
//! No clock tells the core's frequency without privileges, and what the kernel states may be
//! another one's. But an exclusive-or that waits for the one before takes one cycle on every core
//! of today, so a chain of them is a clock of cycles.

use crate::bench::Bench;
use crate::{Rung, RungDescription, RungGroup, about};
use model::Ns;
use sys::clock::monotonic_ns;
use sys::loops;

/// Instructions of one probe: some 20 us.
const PROBE: u64 = 64_000;

pub(crate) fn rung() -> Rung {
    chain(
        RungDescription {
            excludes: "the frequency that the kernel states, which may be another: of the time stamp counter, of the host".into(),
            method: "a chain of 64-bit exclusive-ors of registers, each waiting for the one before: one cycle each on x86_64 \
                     and aarch64 cores of today"
                .into(),
            source: "A. Fog, Instruction tables; uops.info".into(),
            ..about("cycle", RungGroup::Core, "one clock cycle of the core")
        },
        loops::xors,
    )
}

pub(crate) fn addition() -> Rung {
    chain(
        RungDescription {
            excludes: "independent additions: a core does several of them in a cycle".into(),
            method: "a chain of 64-bit additions of registers, each waiting for the one before".into(),
            source: "A. Fog, Instruction tables; lmbench's lat_ops".into(),
            ..about("add", RungGroup::Core, "a dependent addition")
        },
        loops::adds,
    )
}

pub(crate) fn multiplication() -> Rung {
    chain(
        RungDescription {
            excludes: "independent multiplications: a core does one or more of them in a cycle".into(),
            method: "a chain of 64-bit integer multiplications, each waiting for the one before".into(),
            source: "A. Fog, Instruction tables; lmbench's lat_ops".into(),
            ..about("multiply", RungGroup::Core, "a dependent multiplication")
        },
        loops::multiplications,
    )
}

fn chain(about: RungDescription, run: fn(u64) -> u64) -> Rung {
    let measure = move |bench: &Bench<'_>| {
        bench
            .sample_timed(|ops| {
                // The chain is as long as asked for or a little longer, and the difference would
                // count for short ones.
                let from = monotonic_ns();
                let done = run(ops * 32);
                Ok((monotonic_ns() - from) * ops * 32 / done)
            })
            .map(|mut samples| {
                // Asked for in turns of 32, to be divided only once.
                samples.per_op_ns.iter_mut().for_each(|ns| *ns /= 32.0);
                samples.ops_per_sample *= 32;
                samples
            })
    };
    Rung { about, parts: 0.5, watch_cycle: true, measure: Box::new(measure) }
}

/// A quick estimate of the cycle: the smallest of a few short probes, in ns.
pub(crate) fn probe_ns() -> f64 {
    let one = || {
        let from = monotonic_ns();
        let done = loops::xors(PROBE);
        (monotonic_ns() - from) as f64 / done as f64
    };
    (0..5).map(|_| one()).fold(f64::INFINITY, f64::min)
}

/// Spins until the frequency is stable, up to a limit: cores take up to seconds to reach their
/// maximum.
pub(crate) fn warm_up(most_ns: Ns, stop: &dyn Fn() -> bool) {
    let until = monotonic_ns() + most_ns;
    let mut last = probe_ns();
    let mut steady = 0;
    while monotonic_ns() < until && steady < 5 && !stop() {
        let round_until = monotonic_ns() + most_ns / 20;
        while monotonic_ns() < round_until {
            loops::xors(PROBE);
        }
        let now = probe_ns();
        steady = if (now / last - 1.0).abs() < 0.005 { steady + 1 } else { 0 };
        last = now;
    }
}
