//! The comparison of two results, as pages and pictures: one file a kind of result.

mod ladder;
mod parts;
mod runs;
mod sittings;
mod wake;
mod why;

pub use ladder::terminal as ladders;
pub use runs::terminal as runs;
pub use sittings::terminal as sittings;
pub use wake::{png as wakes_png, svg as wakes_svg, terminal as wakes};
pub use why::predictions;
