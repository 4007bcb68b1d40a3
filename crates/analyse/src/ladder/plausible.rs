//! Whether a figure is plausible: against published figures of other machines, and against the
//! other rungs of this one.

use model::ladder::{Plausibility, Plausible, Rung};
use std::ops::RangeInclusive;

/// Rungs with the range of their published figures in nanoseconds, with a margin on both sides, and
/// the sources. A figure outside it is doubtful, not necessarily wrong.
///
/// Machines of 1 to 6 GHz, from small boards to two sockets.
const PUBLISHED: &[(&str, RangeInclusive<f64>, &str)] = &[
    ("cycle", 0.16..=2.0, "cores of 0.5 to 6.2 GHz"),
    ("branch-miss", 1.5..=25.0, "10 to 25 cycles: A. Fog, The microarchitecture of Intel, AMD and VIA CPUs"),
    (
        "l2",
        1.5..=25.0,
        "3.65 ns (Xeon 6962P), 3.8 ns (EPYC 9654), 5.4 ns (Graviton2), 15 to 21 ns (Cortex-A53)",
    ),
    ("l3", 6.0..=100.0, "13 to 21 ns (EPYC 9654), 28.8 ns (Graviton2), 60 ns (Xeon 6962P)"),
    (
        "dram",
        50.0..=300.0,
        "95 ns (Graviton2), 105 ns (i.MX8M Plus), 110 ns (EPYC 9654), 137 ns (Xeon 6962P)",
    ),
    ("dram-remote", 90.0..=600.0, "199 ns (EPYC 9654), 275 ns (Xeon 6962P)"),
    ("core-to-core", 10.0..=400.0, "28 to 182 ns (EPYC 9654), 47 ns (Graviton2), 57 to 115 ns (Xeon 6962P)"),
    // M. Kennedy, Python numbers every programmer should know (mkennedy.codes, 2025): CPython 3.14
    // on an M4 Pro.
    ("python-call", 4.0..=1_000.0, "22 ns (CPython 3.14, Apple M4 Pro: M. Kennedy, Python numbers)"),
    // python -m timeit '[]', quoted in many places; a list of one item needs one more block.
    ("python-list", 4.0..=1_000.0, "11 ns for an empty one (CPython 3.11: python -m timeit '[]')"),
    // phoronix.com on page-table isolation, Skylake; napkin-math's table for GCP c4, 2026.
    (
        "system-call",
        20.0..=5_000.0,
        "228 to 237 ns (Skylake with page-table isolation: Phoronix), 300 ns (GCP c4: napkin-math)",
    ),
    // ddumbying.vercel.app/experiments/ctx-switch-overhead: threads, Linux 6.6, i7 of the 11th
    // generation.
    (
        "pipe-round-trip",
        700.0..=100_000.0,
        "2.14 us (threads, Core i7 of the 11th generation, Linux 6.6: ctx-switch-overhead)",
    ),
    // The same, halved; albertnetymk.github.io/2022/12/18/context_switch, by a mutex. Both with the
    // calls in them.
    (
        "thread-switch",
        100.0..=50_000.0,
        "1.07 us (Core i7 of the 11th generation), 1.3 us (A. Yang, Context Switch on Linux), calls included",
    ),
    // PR_SET_TIMERSLACK(2const): 50 us unless changed, and idle CPUs are slow to wake.
    ("timer-wake", 500.0..=5_000_000.0, "a slack of 50 us: PR_SET_TIMERSLACK(2const)"),
    // Of files: S. Eskildsen's napkin-math (github.com/sirupsen/napkin-math), runs of 2017 to 2026;
    // M. Callaghan's figures of fsync (smalldatum.blogspot.com, January 2026). From a fast device
    // with a protected cache to a slow card or a full disk.
    (
        "fsync",
        8e3..=200e6,
        "12 to 58 us (with power-loss protection), 0.9 ms (without), 5 ms (napkin-math, 2017)",
    ),
    ("direct-read", 5e3..=50e6, "100 us (SSD) and 10 ms (spinning disk), napkin-math"),
    ("sequential-read", 50e3..=200e6, "200 us for 1 MiB (SSD), napkin-math: 20 GB/s to 5 MB/s accepted"),
    ("sequential-write", 50e3..=500e6, "1 ms for 1 MiB (SSD), napkin-math: 20 GB/s to 2 MB/s accepted"),
    ("tcp-round-trip", 2e3..=500e3, "10 us (2017) and 50 us (GCP c4, 2026) for a TCP echo, napkin-math"),
    // Light in glass, half around the world and back, is 200 ms; satellites at rest add 500 ms.
    (
        "round-trip",
        1e3..=1.5e9,
        "250 us (one region), 60 ms (across North America), 80 ms (Europe to it), 180 ms (to Singapore), napkin-math",
    ),
];

/// Rungs with the plausible range of their ratio to another one, and what a ratio outside it means.
const RELATIONS: &[(&str, &str, RangeInclusive<f64>, &str)] = &[
    ("add", "cycle", 0.95..=1.1, "one of the two chains takes more than a cycle per link"),
    ("multiply", "cycle", 1.9..=6.0, "the multiplications were not dependent"),
    ("l1", "cycle", 2.7..=7.5, "not a dependent load that hits L1"),
    ("l2", "l1", 1.5..=20.0, "the loads do not hit L2"),
    ("l3", "l2", 1.3..=40.0, "the loads do not hit L3"),
    ("dram", "l3", 1.3..=50.0, "the loads do not come from memory"),
    ("dram-loaded", "dram", 0.9..=40.0, "the memory was not under load"),
    ("dram-remote", "dram", 1.05..=6.0, "the memory is not on another node"),
    ("malloc-small", "cycle", 5.0..=100_000.0, "malloc and free take more instructions, or far fewer"),
    ("malloc-large", "malloc-small", 0.5..=100_000.0, "a large block costs no less than a small one"),
    ("map-unmap", "cycle", 200.0..=1e6, "not the time of two system calls"),
    ("page-touch", "cycle", 100.0..=1e6, "a page fault takes longer: the pages were already mapped"),
    ("page-touch-huge", "page-touch", 4.0..=2_000.0, "a huge page takes the zeroing of 512 pages"),
    ("python-object", "python-call", 0.5..=50.0, "creating an object takes a call"),
    ("clock-read", "cycle", 5.0..=100_000.0, "reading a counter takes longer"),
    ("system-call", "cycle", 40.0..=100_000.0, "a call that enters the kernel takes longer"),
    (
        "signal",
        "system-call",
        2.0..=500.0,
        "a signal takes the call that sends it and the one that returns from its handler",
    ),
    ("futex-round-trip", "system-call", 4.0..=2_000.0, "a round trip takes four system calls"),
    ("pipe-round-trip", "system-call", 4.0..=2_000.0, "a round trip takes four system calls"),
    ("thread-switch", "pipe-round-trip", 0.0..=0.5, "a switch is part of half a round trip"),
    ("thread-create", "system-call", 5.0..=100_000.0, "a thread takes several calls and two switches"),
    ("process-create", "system-call", 20.0..=1e6, "a process takes several calls, switches and page tables"),
    ("exec", "system-call", 20.0..=1e6, "a program takes a new address space and its faults"),
    ("timer-wake", "timer-wake-precise", 0.7..=10_000.0, "more timer slack does not wake a thread earlier"),
    ("create-unlink", "open", 1.0..=1e4, "no file was created"),
    ("fsync", "write", 3.0..=1e7, "the flush did not wait for a disk"),
    ("direct-read", "read-cached", 3.0..=1e7, "the page cache answered"),
    (
        "direct-read-32",
        "direct-read",
        0.5..=100.0,
        "one of 32 concurrent reads takes at least as long as a single one, and at most 32 times as \
                    long plus thread switches",
    ),
    (
        "small-file-write",
        "large-file-write",
        1.0 / 2000.0..=0.5,
        "a thousandth of the bytes took too long, or almost no time",
    ),
    (
        "small-file-read",
        "large-file-read",
        1.0 / 2000.0..=0.5,
        "a thousandth of the bytes took too long, or almost no time",
    ),
    ("tcp-connect", "tcp-round-trip", 0.3..=100.0, "a connection takes a few packets"),
    ("tls-handshake", "tcp-round-trip", 2.0..=5e3, "no signature was created or verified"),
    ("http-request", "tcp-round-trip", 0.5..=30.0, "a request is a little more than a round trip"),
];

pub(super) fn unknown(why: &str) -> Plausible {
    Plausible { verdict: Plausibility::Unknown, why: why.to_owned() }
}

/// The verdict on a rung, given those below it.
pub(super) fn judge(rung: &Rung, below: &[Rung]) -> Plausible {
    let Some(ns) = rung.ns.value() else { return unknown("not measured") };
    let name = rung.about.id.split('@').next().unwrap_or_default();
    let ns = ns.median;
    if ns <= 0.0 {
        return doubtful("not above zero: the overhead subtracted exceeds the time measured".to_owned());
    }
    let sound = |id: &str| {
        below.iter().find(|other| other.about.id == id && other.plausible.verdict != Plausibility::Doubtful)
    };
    let median = |id: &str| sound(id)?.ns.value().map(|other| other.median);
    let mut agrees = Vec::new();
    for (_, other, plausible, otherwise) in RELATIONS.iter().filter(|(id, ..)| *id == name) {
        let Some(of) = median(other).filter(|of| *of > 0.0) else { continue };
        let times = ns / of;
        if !plausible.contains(&times) {
            return doubtful(format!("{times:.2} times {other}: {otherwise}"));
        }
        agrees.push(format!("{times:.1} times {other}"));
    }
    for (_, published_ns, source) in PUBLISHED.iter().filter(|(id, ..)| *id == name) {
        if !published_ns.contains(&ns) {
            return doubtful(format!("published: {source}"));
        }
        agrees.push(format!("published: {source}"));
    }
    if agrees.is_empty() {
        return unknown("no published figure");
    }
    Plausible { verdict: Plausibility::Plausible, why: agrees.join("; ") }
}

fn doubtful(why: String) -> Plausible {
    Plausible { verdict: Plausibility::Doubtful, why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::limits::tests::about;
    use model::Seen;
    use model::ladder::MedianInterval;

    fn rung(id: &str, ns: f64) -> Rung {
        Rung {
            about: about(id),
            ns: Seen::Value(MedianInterval { median: ns, lo: ns, hi: ns }),
            spread_ns: Seen::Absent,
            samples: 1,
            ops_per_sample: 1,
            bytes_per_s: Seen::Absent,
            limits: Vec::new(),
            plausible: unknown(""),
        }
    }

    #[test]
    fn a_real_machine_is_plausible() {
        let all = [("cycle", 0.27), ("add", 0.27), ("l1", 1.08), ("l2", 3.8), ("l3", 17.0), ("dram", 110.0)]
            .map(|(id, ns)| rung(id, ns));
        for rung in &all {
            let found = judge(rung, &all);
            assert_eq!(found.verdict, Plausibility::Plausible, "{}: {}", rung.about.id, found.why);
        }
    }

    #[test]
    fn impossible_figures_are_doubtful() {
        for (id, ns, beside, said) in [
            ("dram", 20.0, ("l3", 17.0), "not come from memory"),
            ("dram", 20.0, ("x", 1.0), "published"),
            ("l1", 0.27, ("cycle", 0.27), "not a dependent load"),
            ("cycle", 0.01, ("x", 1.0), "0.5 to 6.2 GHz"),
            ("branch-miss", -0.3, ("x", 1.0), "not above zero"),
        ] {
            let all = [rung(id, ns), rung(beside.0, beside.1)];
            let found = judge(&all[0], &all);
            assert_eq!(found.verdict, Plausibility::Doubtful, "{id} {ns}");
            assert!(found.why.contains(said), "{}", found.why);
        }
    }

    #[test]
    fn the_kernels_rungs_are_judged_by_a_system_call() {
        let all = [
            ("cycle", 0.3),
            ("malloc-small", 15.0),
            ("page-touch", 500.0),
            ("page-touch-huge", 90_000.0),
            ("python-call", 40.0),
            ("python-object", 80.0),
            ("clock-read", 20.0),
            ("system-call", 110.0),
            ("signal", 900.0),
            ("futex-round-trip", 2_400.0),
            ("pipe-round-trip", 2_600.0),
            ("thread-switch", 900.0),
            ("process-create", 60_000.0),
            ("exec", 90_000.0),
            ("timer-wake-precise", 4_000.0),
            ("timer-wake", 54_000.0),
        ]
        .map(|(id, ns)| rung(id, ns));
        for rung in &all {
            let found = judge(rung, &all);
            assert_ne!(found.verdict, Plausibility::Doubtful, "{}: {}", rung.about.id, found.why);
        }
        for (id, ns, said) in [
            ("pipe-round-trip", 200.0, "four system calls"),
            ("page-touch", 2.0, "already mapped"),
            ("page-touch-huge", 700.0, "512 pages"),
            ("system-call", 1.0, "enters the kernel"),
            ("timer-wake", 1_000.0, "earlier"),
        ] {
            let found = judge(&rung(id, ns), &all);
            assert_eq!(found.verdict, Plausibility::Doubtful, "{id}");
            assert!(found.why.contains(said), "{}", found.why);
        }
    }

    #[test]
    fn an_unknown_rung_is_not_judged() {
        let all = [rung("frob", 5.0)];
        assert_eq!(judge(&all[0], &all).verdict, Plausibility::Unknown);
        assert_eq!(judge(&rung("dram@x", 100.0), &all).verdict, Plausibility::Plausible);
    }
}
