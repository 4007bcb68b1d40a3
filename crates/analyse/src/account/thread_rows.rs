//! The table of threads.

use super::meanwhile::Passed;
use super::times::Times;
use model::recording::Comm;
use model::run::{Faults, ThreadLedger};
use model::{Ns, Pid, Seen, Tid};

/// What is known of a thread at the end.
#[derive(Debug)]
pub(crate) struct ThreadTotals {
    pub(crate) pid: Pid,
    pub(crate) tid: Tid,
    pub(crate) name: Comm,
    /// The command line, for a thread that leads its process.
    pub(crate) command: Option<String>,
    pub(crate) life_ns: Ns,
    /// It lived on at the end.
    pub(crate) outlived: bool,
    /// It did nothing but wait for work.
    pub(crate) idle: bool,
    pub(crate) states: Times,
    /// What it let pass; of snapshots that is not known.
    pub(crate) passed: Passed,
    pub(crate) faults: Seen<Faults>,
}

impl ThreadTotals {
    /// Its row in the table.
    pub(crate) fn row(self) -> ThreadLedger {
        ThreadLedger {
            together: None,
            pid: self.pid,
            tid: self.tid,
            name: self.name.to_text(),
            command: self.command,
            life_ns: self.life_ns,
            outlived: self.outlived,
            idle: self.idle,
            states: self.states.rows(),
            timed_waits: self.passed.row(),
            minor_faults: self.faults.as_ref().map(|faults| faults.minor),
            major_faults: self.faults.map(|faults| faults.major),
        }
    }
}
