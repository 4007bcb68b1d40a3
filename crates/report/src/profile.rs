//! Which code ran and which code waited: a flame view for the terminal, the lines of one function
//! with their source, and files for other viewers (folded stacks, Firefox Profiler, speedscope,
//! pprof).
//!
//! All of it is a pure function of [`model::Profile`]. Functions, lines and their tables in
//! [`model::Run`] are left to the analysis. One file a form; [`tree`] is the call tree by function
//! that the terminal and two of the files share, [`stack`] the common conventions of the files,
//! [`names`] shortens names.

pub(crate) mod boxes;
mod firefox;
mod flame;
mod folded;
mod layout;
mod ledger;
mod metadata;
mod names;
mod pprof;
mod source;
mod speedscope;
pub(crate) mod stack;
mod strip;
mod tree;

pub use firefox::firefox;
pub use flame::{FlameOptions, flame};
pub use folded::{FoldedOptions, FoldedTime, folded};
pub use metadata::ProfileMetadata;
pub use pprof::pprof;
pub use source::{SourceOptions, names, source_table};
pub use speedscope::speedscope;
