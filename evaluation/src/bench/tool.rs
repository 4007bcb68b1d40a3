//! The tools that are compared: how each is asked to run a program, and what brings it.

use super::peers;
use std::path::Path;
use workshop::shell::{find, root};

/// A way of running a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tool {
    /// Nothing but the program.
    Bare,
    /// The same again: its ratio to `Bare` is what the machine's noise alone makes.
    BareAgain,
    /// As it comes: exact until its cost passes the bound, calls in windows from then on.
    Dwell,
    /// Every call counted.
    DwellExact,
    /// Sampling at 199 Hz on each CPU.
    Dwell199,
    Dwell999,
    /// Often enough that a run of 5 s has as many samples as one of 60 s has at dwell's own rate.
    DwellMany,
    Bpftrace,
    Strace,
    PerfTrace,
    /// Stacks without frame pointers: 8 KiB of each sample's stack, followed afterwards.
    PerfRecord,
    PySpy,
    LineProfiler,
}

impl Tool {
    /// All.
    pub(crate) const ALL: [Self; 13] = [
        Self::Bare,
        Self::BareAgain,
        Self::Dwell,
        Self::DwellExact,
        Self::Dwell199,
        Self::Dwell999,
        Self::DwellMany,
        Self::Bpftrace,
        Self::Strace,
        Self::PerfTrace,
        Self::PerfRecord,
        Self::PySpy,
        Self::LineProfiler,
    ];

    /// As the table heads its column.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::BareAgain => "bare again",
            Self::Dwell => "dwell run",
            Self::DwellExact => "dwell, every call",
            Self::Dwell199 => "dwell 199 Hz",
            Self::Dwell999 => "dwell 999 Hz",
            Self::DwellMany => "dwell 4 kHz",
            Self::Bpftrace => "bpftrace",
            Self::Strace => "strace -c -f",
            Self::PerfTrace => "perf trace -s",
            Self::PerfRecord => "perf 999 Hz, dwarf",
            Self::PySpy => "py-spy record",
            Self::LineProfiler => "line_profiler",
        }
    }

    /// True when it makes programs so slow that they are given less to do.
    pub(crate) fn is_slow(self) -> bool {
        matches!(self, Self::Strace | Self::PerfTrace | Self::LineProfiler)
    }

    /// True if it runs any program, with its children; the others want to start Python themselves,
    /// so their own start-up and exit cannot be separated from the program's.
    pub(crate) fn follows(self) -> bool {
        !matches!(self, Self::PySpy | Self::LineProfiler)
    }

    /// True for dwell, at whatever rate.
    pub(crate) fn is_dwell(self) -> bool {
        matches!(self, Self::Dwell | Self::DwellExact | Self::Dwell199 | Self::Dwell999 | Self::DwellMany)
    }

    /// True for the tools of others.
    pub(crate) fn is_peer(self) -> bool {
        !self.is_dwell() && !matches!(self, Self::Bare | Self::BareAgain)
    }

    /// What to do so that it is there, when it is not.
    pub(crate) fn missing(self, place: &Path) -> Option<String> {
        let (program, package) = match self {
            Self::Bpftrace => ("bpftrace", "bpftrace"),
            Self::Strace => ("strace", "strace"),
            Self::PerfTrace | Self::PerfRecord => ("perf", "linux-perf"),
            Self::PySpy => return peers::missing(place, "py-spy"),
            Self::LineProfiler => return peers::missing(place, "kernprof"),
            _ => return None,
        };
        find(program).is_none().then(|| format!("apt-get install {package}"))
    }

    /// The command that runs `program` with this tool; its own page goes into `place`.
    pub(crate) fn around(self, program: Vec<String>, place: &Path) -> Vec<String> {
        let at = |name: &str| place.join(name).to_string_lossy().into_owned();
        let (page, dwell, json) = (at("page"), at("dwell"), at("json"));
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let sampled = |hz| words(&[&dwell, "run", "--rate", hz, "--json", &json, "--"]);
        let before = match self {
            Self::Bare | Self::BareAgain => vec![],
            Self::Dwell => words(&[&dwell, "run", "--json", &json, "--"]),
            Self::DwellExact => words(&[&dwell, "run", "--max-overhead", "none", "--json", &json, "--"]),
            Self::Dwell199 => sampled("199"),
            Self::Dwell999 => sampled("999"),
            Self::DwellMany => sampled("4000"),
            Self::Strace => words(&["strace", "-c", "-f", "-o", &page]),
            Self::PerfTrace => words(&["perf", "trace", "-s", "-o", &page, "--"]),
            Self::PerfRecord => {
                let how = ["perf", "record", "-q", "-g", "--call-graph", "dwarf,8192", "-F", "999"];
                [words(&how), words(&["-o", &at("perf.data"), "--"])].concat()
            }
            // Its own rate, 100 a second.
            Self::PySpy => words(&[&peers::path(place, "py-spy"), "record", "-f", "raw", "-o", &page, "--"]),
            Self::LineProfiler => return peers::line_profiler(place, program),
            Self::Bpftrace => {
                let script = root().join("bench/syscalls.bt").to_string_lossy().into_owned();
                return words(&["bpftrace", "-o", &page, "-c", &program.join(" "), &script]);
            }
        };
        [before, program].concat()
    }
}
