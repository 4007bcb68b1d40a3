//! What files for other viewers say of the run besides its profile.

use crate::units::unix_s;
use model::Run;
use model::recording::Host;

/// What files for other viewers have of the run besides its profile.
#[derive(Debug, Clone, Copy)]
pub struct ProfileMetadata<'a> {
    /// The program and its arguments.
    pub command: &'a [String],
    /// When it started: seconds since 1970, UTC.
    pub started_at_unix_s: u64,
    /// The host.
    pub host: &'a Host,
    /// Its wall clock, in nanoseconds.
    pub wall_ns: model::Ns,
}

impl<'a> ProfileMetadata<'a> {
    /// From a run.
    pub fn of(run: &'a Run) -> Self {
        let started_at_unix_s = unix_s(&run.started_at);
        ProfileMetadata { command: &run.command, started_at_unix_s, host: &run.host, wall_ns: run.wall_ns }
    }

    /// The command on one line.
    pub(super) fn title(&self) -> String {
        self.command.join(" ")
    }
}

/// The exporter named in a file.
pub(super) const EXPORTER: &str = concat!("dwell ", env!("CARGO_PKG_VERSION"));
