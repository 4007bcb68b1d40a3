//! Which code ran and which code waited: a flame view for the terminal, the lines of one function
//! with their source, and files for other viewers (folded stacks, Firefox Profiler, speedscope).
//!
//! All of it is a pure function of [`model::Profile`]. Functions, lines and their tables in
//! [`model::Run`] are left to the analysis. One file a form; [`tree`] is the call tree by function
//! that the terminal and two of the files share, [`stack`] the common conventions of the files,
//! [`names`] shortens names.

mod firefox;
mod flame;
mod folded;
mod layout;
mod names;
mod source;
mod speedscope;
mod stack;
mod strip;
mod tree;

pub use firefox::firefox;
pub use flame::{FlameOptions, flame};
pub use folded::{FoldedOptions, FoldedTime, folded};
pub use source::{SourceOptions, source_table};
pub use speedscope::speedscope;

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
    /// From a run and the header of its recording. (A run has its start as text only.)
    pub fn of(run: &'a Run, started_at_unix_s: u64) -> Self {
        ProfileMetadata { command: &run.command, started_at_unix_s, host: &run.host, wall_ns: run.wall_ns }
    }

    /// The command on one line.
    fn title(&self) -> String {
        self.command.join(" ")
    }
}

/// The exporter named in a file.
const EXPORTER: &str = concat!("dwell ", env!("CARGO_PKG_VERSION"));
