//! References for a ladder: published figures of other machines, textbook figures, other ladders.

use model::ladder::Ladder;
use model::ladder::beside::{Reference, ReferenceFigure};

/// A machine with published figures in nanoseconds: a single one, or a range.
struct Published {
    name: &'static str,
    /// The maker's name of it.
    title: &'static str,
    source: &'static str,
    figures: &'static [(&'static str, f64, f64)],
}

const MACHINES: &[Published] = &[
    Published {
        name: "xeon-6962p",
        title: "Xeon 6962P",
        source: "Intel Granite Rapids without sub-NUMA clusters, core to core one way; a published table by an unknown author",
        figures: &[
            ("l1", 1.14, 1.14),
            ("l2", 3.65, 3.65),
            ("l3", 60.0, 60.0),
            ("dram", 137.0, 137.0),
            ("dram-remote", 275.0, 275.0),
            ("core-to-core", 57.0, 115.0),
        ],
    },
    Published {
        name: "epyc-9654",
        title: "EPYC 9654",
        source: "AMD Genoa, core to core one way; a published table by an unknown author",
        figures: &[
            ("l1", 1.08, 1.08),
            ("l2", 3.8, 3.8),
            ("l3", 13.0, 21.0),
            ("dram", 110.0, 110.0),
            ("dram-remote", 199.0, 199.0),
            ("core-to-core", 28.0, 182.0),
        ],
    },
    Published {
        name: "epyc-9224",
        title: "EPYC 9224",
        source: "AMD Genoa, by Intel's Memory Latency Checker",
        figures: &[("dram", 107.0, 107.0), ("dram-remote", 200.0, 200.0)],
    },
    Published {
        name: "graviton2",
        title: "Graviton2",
        source: "Arm Neoverse N1; Arm System Characterization Tool; cores: nviennot/core-to-core-latency",
        figures: &[
            ("l1", 1.6, 1.6),
            ("l2", 5.4, 5.4),
            ("l3", 28.8, 28.8),
            ("dram", 95.0, 95.0),
            ("core-to-core", 47.0, 47.0),
        ],
    },
    Published {
        name: "graviton4",
        title: "Graviton4",
        source: "Arm Neoverse V2; Arm System Characterization Tool; cores, to the other socket too: Chips and Cheese",
        figures: &[
            ("l1", 1.4, 1.4),
            ("l2", 4.0, 4.0),
            ("l3", 21.2, 21.2),
            ("dram", 110.0, 110.0),
            ("core-to-core", 30.0, 139.0),
        ],
    },
    Published {
        name: "imx8m-plus",
        title: "i.MX8M Plus",
        source: "Cortex-A53 at 1.8 GHz, no third cache; ThomasKaiser/sbc-bench, results/4hx0.txt",
        figures: &[("l1", 1.67, 1.67), ("l2", 15.0, 21.0), ("dram", 105.0, 105.0)],
    },
];

/// Textbook figures; of two sources the later.
const TEXTBOOK: Published = Published {
    name: "textbook",
    title: "textbook",
    source: "J. Dean, Designs, Lessons and Advice from Building Large Distributed Systems (LADIS 2009): l1, l2, branch-miss, \
             lock, dram; S. Eskildsen, napkin-math (GCP c4, 2026): system-call, sequential-read, sequential-write, \
             direct-read and fsync of 8 KiB, tcp-round-trip",
    figures: &[
        ("branch-miss", 5.0, 5.0),
        ("l1", 0.5, 0.5),
        ("l2", 7.0, 7.0),
        ("dram", 100.0, 100.0),
        ("lock", 25.0, 25.0),
        ("system-call", 300.0, 300.0),
        ("direct-read", 100e3, 100e3),
        ("fsync", 300e3, 300e3),
        ("sequential-read", 200e3, 200e3),
        ("sequential-write", 1e6, 1e6),
        ("tcp-round-trip", 50e3, 50e3),
    ],
};

fn of(published: &Published) -> Reference {
    let figure = |(id, lo_ns, hi_ns): &(&str, f64, f64)| ReferenceFigure {
        id: (*id).to_owned(),
        lo_ns: *lo_ns,
        hi_ns: *hi_ns,
    };
    Reference {
        name: published.title.to_owned(),
        textbook: published.name == TEXTBOOK.name,
        source: published.source.to_owned(),
        figures: published.figures.iter().map(figure).collect(),
    }
}

/// Names of the reference machines.
pub fn machines() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|machine| machine.name)
}

/// The reference machine of this name.
pub fn machine(name: &str) -> Option<Reference> {
    MACHINES.iter().find(|machine| machine.name == name).map(of)
}

/// The textbook figures.
pub fn textbook() -> Reference {
    of(&TEXTBOOK)
}

/// The medians of another ladder.
pub fn ladder(name: &str, ladder: &Ladder) -> Reference {
    let figure = |rung: &model::ladder::Rung| {
        let ns = rung.ns.value()?.median;
        Some(ReferenceFigure { id: rung.about.id.clone(), lo_ns: ns, hi_ns: ns })
    };
    Reference {
        name: ladder.host.name.clone(),
        textbook: false,
        source: format!("measured by dwell at {}, from {name}", ladder.started_at),
        figures: ladder.rungs.iter().filter_map(figure).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_ranges_are_in_order_and_each_has_a_source() {
        let names: Vec<_> = machines().collect();
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        for beside in names.iter().map(|name| machine(name).unwrap()).chain([textbook()]) {
            assert!(!beside.source.is_empty() && !beside.figures.is_empty());
            for (at, one) in beside.figures.iter().enumerate() {
                assert!(0.0 < one.lo_ns && one.lo_ns <= one.hi_ns, "{one:?}");
                assert!(beside.figures[..at].iter().all(|other| other.id != one.id), "{one:?} twice");
            }
        }
        assert_eq!(machine("pdp-11"), None);
    }
}
