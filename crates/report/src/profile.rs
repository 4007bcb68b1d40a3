//! Which code ran and which code waited, in the forms people look at: a flame view for the terminal, the lines of
//! one function beside their source, and files for other viewers (folded stacks, Firefox Profiler, speedscope).
//!
//! All of it is a pure function of [`model::Profile`]; which functions and lines there are is the analysis' business,
//! and so are the tables of them in [`model::Run`]. One file a form; [`tree`] is the tree of calls by function that
//! the terminal and two of the files share, [`stack`] is what the files agree on, [`names`] makes
//! names short.

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
pub use folded::{FoldedOptions, Part, folded};
pub use source::{SourceOptions, source_table};
pub use speedscope::speedscope;

use model::Run;
use model::recording::Host;

/// What the files for other viewers say of the run beside its profile.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// The program and its arguments.
    pub command: &'a [String],
    /// When it started: seconds since 1970, UTC.
    pub started_at_unix_s: u64,
    /// Where.
    pub host: &'a Host,
    /// Its wall clock, in nanoseconds.
    pub wall_ns: model::Ns,
}

impl<'a> About<'a> {
    /// What a run and the header of its recording say. (A run has its start as text only.)
    pub fn of(run: &'a Run, started_at_unix_s: u64) -> Self {
        About { command: &run.command, started_at_unix_s, host: &run.host, wall_ns: run.wall_ns }
    }

    /// The command on one line.
    fn title(&self) -> String {
        self.command.join(" ")
    }
}

/// Who wrote a file.
const EXPORTER: &str = concat!("dwell ", env!("CARGO_PKG_VERSION"));
