//! What is to be run, and what the caller is told meanwhile.

use crate::metric::Metric;
use model::Ns;
use model::recording::Ending;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// What is to be run.
#[derive(Debug)]
pub struct Plan {
    /// The commands, at least one.
    pub commands: Vec<Planned>,
    /// Their standard input.
    pub input: Input,
    /// Their standard output.
    pub output: Output,
    /// What they print that is a figure of theirs.
    pub metric: Option<Metric>,
    /// What the random order and the padding are made of.
    pub seed: u64,
    /// Failures that count as success.
    pub ignored: IgnoredFailures,
    /// Whether the environment gets a variable of random length, anew for each run.
    ///
    /// Where a program's stack begins depends on how long its environment and arguments are, and
    /// how fast it is can depend on that: T. Mytkowicz, A. Diwan, M. Hauswirth, P. F. Sweeney,
    /// "Producing wrong data without doing anything obviously wrong", ASPLOS 2009. At random it is
    /// part of the spread, and not of the difference. The arguments are not padded: a program reads
    /// them, its name included, and all that they could move on the stack the environment moves.
    pub padding: bool,
    /// `tell` is called at once when this is readable: the caller's signals. It must read them.
    pub watch: Option<OwnedFd>,
}

/// A command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planned {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// What runs before each of its runs, not timed.
    pub prepare: Option<Vec<OsString>>,
    /// What runs after each of its runs, not timed.
    pub conclude: Option<Vec<OsString>>,
    /// Variables of its environment, in place of inherited ones.
    pub env: Vec<(OsString, OsString)>,
}

/// The standard input of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// `/dev/null`.
    Null,
    /// This file, opened anew for each run.
    File(PathBuf),
}

/// The standard output of commands. In the first block, and where a number is taken from it, it is
/// caught instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// `/dev/null`, as the standard error.
    Null,
    /// dwell's own, as the standard error.
    Inherit,
    /// A pipe, which dwell empties as they run: that takes CPU time beside them. Their standard
    /// error is `/dev/null`.
    Pipe,
    /// This file, emptied and opened anew for each run. Their standard error is `/dev/null`.
    File(PathBuf),
}

/// Failures that count as success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IgnoredFailures {
    /// None.
    None,
    /// Any exit status and signal.
    All,
    /// These exit statuses.
    Codes(Vec<i32>),
}

impl IgnoredFailures {
    /// Whether a command that ended so has failed, and that is not ignored.
    pub fn fails(&self, ending: &Ending) -> bool {
        match (self, ending) {
            (_, Ending::Code(0)) | (Self::All, _) => false,
            (Self::Codes(codes), Ending::Code(code)) => !codes.contains(code),
            _ => true,
        }
    }
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// A run that is timed.
    Run,
    /// What prepares it.
    Prepare,
    /// What follows it.
    Conclude,
    /// A command of [`crate::Runner::once`].
    Once,
    /// The empty program.
    Empty,
}

/// Told before each run, and once a second in runs of over two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub doing: Doing,
    /// Which command: from 0.
    pub command: usize,
    /// Its block.
    pub block: u32,
    /// Its place in the block.
    pub place: u32,
    /// Since it began; 0 before.
    pub so_far_ns: Ns,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Go {
    /// Yes.
    On,
    /// Yes, and dwell itself was stopped meanwhile (Ctrl-Z), as what runs was, or parts of it: the
    /// run does not count.
    OnAfterStop,
    /// No: what runs gets SIGTERM, and SIGKILL two seconds later.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_ignored_does_not_fail() {
        let codes = IgnoredFailures::Codes(vec![1, 3]);
        let endings = [Ending::Code(0), Ending::Code(3), Ending::Code(4), Ending::Signal(9)];
        let fails = |ignored: &IgnoredFailures| endings.map(|ending| ignored.fails(&ending));
        assert_eq!(fails(&IgnoredFailures::None), [false, true, true, true]);
        assert_eq!(fails(&codes), [false, false, true, true]);
        assert_eq!(fails(&IgnoredFailures::All), [false; 4]);
    }
}
