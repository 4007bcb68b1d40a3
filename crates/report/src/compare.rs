//! The comparison of two results, as pages and pictures: one file a kind of result.

mod ladder;
mod parts;
mod wake;

pub use ladder::terminal as ladders;
pub use wake::{png as wakes_png, svg as wakes_svg, terminal as wakes};
