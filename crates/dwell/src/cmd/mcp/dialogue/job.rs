//! What a tool makes of its arguments: the call of a verb, which is started elsewhere.

use std::time::Duration;

/// The call of a verb.
#[derive(Debug, Default)]
pub(crate) struct Job {
    pub(crate) verb: &'static str,
    /// Its options; values are in the same word (`--pairs=3`).
    pub(crate) options: Vec<String>,
    /// What stands after `--`.
    pub(crate) words: Vec<String>,
    /// The commands that it starts.
    pub(crate) starts: Vec<Vec<String>>,
    /// What it attaches to.
    pub(crate) target: Option<String>,
    /// Whether it writes the result as JSON.
    pub(crate) json: bool,
    /// Whether it records: its page goes to a file, and the recording is kept.
    pub(crate) records: bool,
    /// Whether what the program writes to its standard output is given back.
    pub(crate) output: bool,
    /// The time that the program has, counted from its start by the dwell that runs it.
    pub(crate) limit: Option<Duration>,
    /// When all of it is ended, as by Ctrl-C.
    pub(crate) stop_after: Option<Duration>,
}

impl Job {
    /// Whether it is about programs that run, and not only about results.
    pub(crate) fn measures(&self) -> bool {
        !self.starts.is_empty() || self.target.is_some()
    }
}
