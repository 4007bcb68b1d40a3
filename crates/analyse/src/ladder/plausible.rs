//! Whether a figure is plausible: against published figures of other machines, and against the
//! other rungs of this one.

use model::ladder::{Plausibility, Plausible, Rung};

/// The range of a rung's published figures, with a margin on both sides. A figure outside it is
/// doubtful, not necessarily wrong.
struct Published {
    id: &'static str,
    lo_ns: f64,
    hi_ns: f64,
    source: &'static str,
}

/// Machines of 1 to 6 GHz, from small boards to two sockets.
const PUBLISHED: &[Published] = &[
    Published { id: "cycle", lo_ns: 0.16, hi_ns: 2.0, source: "cores of 0.5 to 6.2 GHz" },
    Published {
        id: "branch-miss",
        lo_ns: 1.5,
        hi_ns: 25.0,
        source: "10 to 25 cycles: A. Fog, The microarchitecture of Intel, AMD and VIA CPUs",
    },
    Published {
        id: "l2",
        lo_ns: 1.5,
        hi_ns: 25.0,
        source: "3.65 ns (Xeon 6962P), 3.8 ns (EPYC 9654), 5.4 ns (Graviton2), 15 to 21 ns (Cortex-A53)",
    },
    Published {
        id: "l3",
        lo_ns: 6.0,
        hi_ns: 100.0,
        source: "13 to 21 ns (EPYC 9654), 28.8 ns (Graviton2), 60 ns (Xeon 6962P)",
    },
    Published {
        id: "dram",
        lo_ns: 50.0,
        hi_ns: 300.0,
        source: "95 ns (Graviton2), 105 ns (i.MX8M Plus), 110 ns (EPYC 9654), 137 ns (Xeon 6962P)",
    },
    Published {
        id: "dram-remote",
        lo_ns: 90.0,
        hi_ns: 600.0,
        source: "199 ns (EPYC 9654), 275 ns (Xeon 6962P)",
    },
    Published {
        id: "core-to-core",
        lo_ns: 10.0,
        hi_ns: 400.0,
        source: "28 to 182 ns (EPYC 9654), 47 ns (Graviton2), 57 to 115 ns (Xeon 6962P)",
    },
    // M. Kennedy, Python numbers every programmer should know (mkennedy.codes, 2025): CPython 3.14
    // on an M4 Pro.
    Published {
        id: "python-call",
        lo_ns: 4.0,
        hi_ns: 1_000.0,
        source: "22 ns (CPython 3.14, Apple M4 Pro: M. Kennedy, Python numbers)",
    },
    // python -m timeit '[]', quoted in many places; a list of one item needs one more block.
    Published {
        id: "python-list",
        lo_ns: 4.0,
        hi_ns: 1_000.0,
        source: "11 ns for an empty one (CPython 3.11: python -m timeit '[]')",
    },
    // phoronix.com on page-table isolation, Skylake; napkin-math's table for GCP c4, 2026.
    Published {
        id: "system-call",
        lo_ns: 20.0,
        hi_ns: 5_000.0,
        source: "228 to 237 ns (Skylake with page-table isolation: Phoronix), 300 ns (GCP c4: napkin-math)",
    },
    // ddumbying.vercel.app/experiments/ctx-switch-overhead: threads, Linux 6.6, i7 of the 11th
    // generation.
    Published {
        id: "pipe-round-trip",
        lo_ns: 700.0,
        hi_ns: 100_000.0,
        source: "2.14 us (threads, Core i7 of the 11th generation, Linux 6.6: ctx-switch-overhead)",
    },
    // The same, halved; albertnetymk.github.io/2022/12/18/context_switch, by a mutex. Both with the
    // calls in them.
    Published {
        id: "thread-switch",
        lo_ns: 100.0,
        hi_ns: 50_000.0,
        source: "1.07 us (Core i7 of the 11th generation), 1.3 us (A. Yang, Context Switch on Linux), calls included",
    },
    // PR_SET_TIMERSLACK(2const): 50 us unless changed, and idle CPUs are slow to wake.
    Published {
        id: "timer-wake",
        lo_ns: 500.0,
        hi_ns: 5_000_000.0,
        source: "a slack of 50 us: PR_SET_TIMERSLACK(2const)",
    },
    // Of files: S. Eskildsen's napkin-math (github.com/sirupsen/napkin-math), runs of 2017 to 2026;
    // M. Callaghan's figures of fsync (smalldatum.blogspot.com, January 2026). From a fast device
    // with a protected cache to a slow card or a full disk.
    Published {
        id: "fsync",
        lo_ns: 8e3,
        hi_ns: 200e6,
        source: "12 to 58 us (with power-loss protection), 0.9 ms (without), 5 ms (napkin-math, 2017)",
    },
    Published {
        id: "direct-read",
        lo_ns: 5e3,
        hi_ns: 50e6,
        source: "100 us (SSD) and 10 ms (spinning disk), napkin-math",
    },
    Published {
        id: "sequential-read",
        lo_ns: 50e3,
        hi_ns: 200e6,
        source: "200 us for 1 MiB (SSD), napkin-math: 20 GB/s to 5 MB/s accepted",
    },
    Published {
        id: "sequential-write",
        lo_ns: 50e3,
        hi_ns: 500e6,
        source: "1 ms for 1 MiB (SSD), napkin-math: 20 GB/s to 2 MB/s accepted",
    },
    Published {
        id: "tcp-round-trip",
        lo_ns: 2e3,
        hi_ns: 500e3,
        source: "10 us (2017) and 50 us (GCP c4, 2026) for a TCP echo, napkin-math",
    },
    // Light in glass, half around the world and back, is 200 ms; satellites at rest add 500 ms.
    Published {
        id: "round-trip",
        lo_ns: 1e3,
        hi_ns: 1.5e9,
        source: "250 us (one region), 60 ms (across North America), 80 ms (Europe to it), 180 ms (to Singapore), napkin-math",
    },
];

/// The plausible range of the ratio of two rungs.
struct Relation {
    id: &'static str,
    of: &'static str,
    lo: f64,
    hi: f64,
    /// What a ratio outside the range means.
    otherwise: &'static str,
}

const RELATIONS: &[Relation] = &[
    Relation {
        id: "add",
        of: "cycle",
        lo: 0.95,
        hi: 1.1,
        otherwise: "one of the two chains takes more than a cycle per link",
    },
    Relation {
        id: "multiply",
        of: "cycle",
        lo: 1.9,
        hi: 6.0,
        otherwise: "the multiplications were not dependent",
    },
    Relation { id: "l1", of: "cycle", lo: 2.7, hi: 7.5, otherwise: "not a dependent load that hits L1" },
    Relation { id: "l2", of: "l1", lo: 1.5, hi: 20.0, otherwise: "the loads do not hit L2" },
    Relation { id: "l3", of: "l2", lo: 1.3, hi: 40.0, otherwise: "the loads do not hit L3" },
    Relation { id: "dram", of: "l3", lo: 1.3, hi: 50.0, otherwise: "the loads do not come from memory" },
    Relation { id: "dram-loaded", of: "dram", lo: 0.9, hi: 40.0, otherwise: "the memory was not under load" },
    Relation {
        id: "dram-remote",
        of: "dram",
        lo: 1.05,
        hi: 6.0,
        otherwise: "the memory is not on another node",
    },
    Relation {
        id: "malloc-small",
        of: "cycle",
        lo: 5.0,
        hi: 100_000.0,
        otherwise: "malloc and free take more instructions, or far fewer",
    },
    Relation {
        id: "malloc-large",
        of: "malloc-small",
        lo: 0.5,
        hi: 100_000.0,
        otherwise: "a large block costs no less than a small one",
    },
    Relation {
        id: "map-unmap",
        of: "cycle",
        lo: 200.0,
        hi: 1e6,
        otherwise: "not the time of two system calls",
    },
    Relation {
        id: "page-touch",
        of: "cycle",
        lo: 100.0,
        hi: 1e6,
        otherwise: "a page fault takes longer: the pages were already mapped",
    },
    Relation {
        id: "page-touch-huge",
        of: "page-touch",
        lo: 4.0,
        hi: 2_000.0,
        otherwise: "a huge page takes the zeroing of 512 pages",
    },
    Relation {
        id: "python-object",
        of: "python-call",
        lo: 0.5,
        hi: 50.0,
        otherwise: "creating an object takes a call",
    },
    Relation {
        id: "clock-read",
        of: "cycle",
        lo: 5.0,
        hi: 100_000.0,
        otherwise: "reading a counter takes longer",
    },
    Relation {
        id: "system-call",
        of: "cycle",
        lo: 40.0,
        hi: 100_000.0,
        otherwise: "a call that enters the kernel takes longer",
    },
    Relation {
        id: "signal",
        of: "system-call",
        lo: 2.0,
        hi: 500.0,
        otherwise: "a signal takes the call that sends it and the one that returns from its handler",
    },
    Relation {
        id: "futex-round-trip",
        of: "system-call",
        lo: 4.0,
        hi: 2_000.0,
        otherwise: "a round trip takes four system calls",
    },
    Relation {
        id: "pipe-round-trip",
        of: "system-call",
        lo: 4.0,
        hi: 2_000.0,
        otherwise: "a round trip takes four system calls",
    },
    Relation {
        id: "thread-switch",
        of: "pipe-round-trip",
        lo: 0.0,
        hi: 0.5,
        otherwise: "a switch is part of half a round trip",
    },
    Relation {
        id: "thread-create",
        of: "system-call",
        lo: 5.0,
        hi: 100_000.0,
        otherwise: "a thread takes several calls and two switches",
    },
    Relation {
        id: "process-create",
        of: "system-call",
        lo: 20.0,
        hi: 1e6,
        otherwise: "a process takes several calls, switches and page tables",
    },
    Relation {
        id: "exec",
        of: "system-call",
        lo: 20.0,
        hi: 1e6,
        otherwise: "a program takes a new address space and its faults",
    },
    Relation {
        id: "timer-wake",
        of: "timer-wake-precise",
        lo: 0.7,
        hi: 10_000.0,
        otherwise: "more timer slack does not wake a thread earlier",
    },
    Relation { id: "create-unlink", of: "open", lo: 1.0, hi: 1e4, otherwise: "no file was created" },
    Relation { id: "fsync", of: "write", lo: 3.0, hi: 1e7, otherwise: "the flush did not wait for a disk" },
    Relation { id: "direct-read", of: "read-cached", lo: 3.0, hi: 1e7, otherwise: "the page cache answered" },
    Relation {
        id: "direct-read-32",
        of: "direct-read",
        lo: 0.5,
        hi: 100.0,
        otherwise: "one of 32 concurrent reads takes at least as long as a single one, and at most 32 times as \
                    long plus thread switches",
    },
    Relation {
        id: "small-file-write",
        of: "large-file-write",
        lo: 1.0 / 2000.0,
        hi: 0.5,
        otherwise: "a thousandth of the bytes took too long, or almost no time",
    },
    Relation {
        id: "small-file-read",
        of: "large-file-read",
        lo: 1.0 / 2000.0,
        hi: 0.5,
        otherwise: "a thousandth of the bytes took too long, or almost no time",
    },
    Relation {
        id: "tcp-connect",
        of: "tcp-round-trip",
        lo: 0.3,
        hi: 100.0,
        otherwise: "a connection takes a few packets",
    },
    Relation {
        id: "tls-handshake",
        of: "tcp-round-trip",
        lo: 2.0,
        hi: 5e3,
        otherwise: "no signature was created or verified",
    },
    Relation {
        id: "http-request",
        of: "tcp-round-trip",
        lo: 0.5,
        hi: 30.0,
        otherwise: "a request is a little more than a round trip",
    },
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
    for relation in RELATIONS.iter().filter(|relation| relation.id == name) {
        let Some(of) = median(relation.of).filter(|of| *of > 0.0) else { continue };
        let times = ns / of;
        if times < relation.lo || times > relation.hi {
            return doubtful(format!("{times:.2} times {}: {}", relation.of, relation.otherwise));
        }
        agrees.push(format!("{times:.1} times {}", relation.of));
    }
    for published in PUBLISHED.iter().filter(|published| published.id == name) {
        if ns < published.lo_ns || ns > published.hi_ns {
            return doubtful(format!("published: {}", published.source));
        }
        agrees.push(format!("published: {}", published.source));
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
