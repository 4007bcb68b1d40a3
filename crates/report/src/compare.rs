//! The comparison of two results, or of commands, as pages and pictures: one file a kind of result.

pub(crate) mod commands;
mod lab;
mod ladder;
mod parts;
mod runs;
mod sittings;
mod wake;
mod why;

pub use commands::{
    csv as commands_csv, hyperfine as commands_hyperfine, letters, markdown as commands_markdown,
    terminal as commands,
};
pub use lab::terminal as labs;
pub use ladder::terminal as ladders;
pub use runs::terminal as runs;
pub use sittings::terminal as sittings;
pub use wake::{png as wakes_png, svg as wakes_svg, terminal as wakes};
pub use why::predictions;
