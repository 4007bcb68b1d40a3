//! The tools that are compared: how each is asked to run a program, and which package brings it.

use crate::shell::{find, root};
use std::path::Path;

/// A way of running a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tool {
    /// Nothing but the program.
    Bare,
    /// The same again: its ratio to `Bare` is what the machine's noise alone makes.
    BareAgain,
    Dwell,
    Bpftrace,
    Strace,
    PerfTrace,
}

/// All, in the order of the table.
pub(crate) const TOOLS: &[Tool] =
    &[Tool::Bare, Tool::BareAgain, Tool::Dwell, Tool::Bpftrace, Tool::Strace, Tool::PerfTrace];

impl Tool {
    /// As the table heads its column.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::BareAgain => "bare again",
            Self::Dwell => "dwell run",
            Self::Bpftrace => "bpftrace",
            Self::Strace => "strace -c -f",
            Self::PerfTrace => "perf trace -s",
        }
    }

    /// True when a system call costs tens of microseconds with it, so that programs are given less to do.
    pub(crate) fn is_slow(self) -> bool {
        matches!(self, Self::Strace | Self::PerfTrace)
    }

    /// The package to install, when it is not there.
    pub(crate) fn missing(self) -> Option<&'static str> {
        let (program, package) = match self {
            Self::Bare | Self::BareAgain | Self::Dwell => return None,
            Self::Bpftrace => ("bpftrace", "bpftrace"),
            Self::Strace => ("strace", "strace"),
            Self::PerfTrace => ("perf", "linux-perf"),
        };
        find(program).is_none().then_some(package)
    }

    /// The command that runs `program` with this tool; its own page goes into `place`.
    pub(crate) fn around(self, program: Vec<String>, place: &Path) -> Vec<String> {
        let [page, dwell] = ["page", "dwell"].map(|name| place.join(name).to_string_lossy().into_owned());
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let before = match self {
            Self::Bare | Self::BareAgain => vec![],
            Self::Dwell => words(&[&dwell, "run", "--"]),
            Self::Strace => words(&["strace", "-c", "-f", "-o", &page]),
            Self::PerfTrace => words(&["perf", "trace", "-s", "-o", &page, "--"]),
            Self::Bpftrace => {
                let script = root().join("bench/syscalls.bt").to_string_lossy().into_owned();
                return words(&["bpftrace", "-o", &page, "-c", &program.join(" "), &script]);
            }
        };
        [before, program].concat()
    }
}
