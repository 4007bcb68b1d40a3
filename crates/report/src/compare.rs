//! The comparison of two results, or of commands, as pages and pictures: one file a kind of result.

pub(crate) mod commands;
pub(crate) mod lab;
pub(crate) mod ladder;
mod parts;
pub(crate) mod runs;
pub(crate) mod sittings;
pub mod timings;
pub(crate) mod wake;
mod why;

pub use commands::{
    csv as commands_csv, hyperfine as commands_hyperfine, hyperfine_1 as commands_hyperfine_1, letters,
    markdown as commands_markdown, terminal as commands,
};
pub use lab::terminal as labs;
pub use ladder::terminal as ladders;
pub use runs::terminal as runs;
pub use sittings::terminal as sittings;
pub use wake::{
    one as other_latency, png as wakes_png, screen as wakes_screen, svg as wakes_svg, terminal as wakes,
};
