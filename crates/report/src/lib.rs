//! What a run has to say, as a page for a terminal and as JSON.
//!
//! Pure: no IO, no clock, no environment; the caller says how wide the page is and whether it may be coloured.
//! Nothing is judged here either: class, places and intervals come from [`model::Run`], and this crate only
//! chooses what to show of them, and how. What the measured program named (commands, threads, files) is never
//! trusted: see [`clean`].

mod axis;
mod clean;
pub mod compare;
pub mod hits;
mod json;
pub mod ladder;
pub mod listing;
pub mod load;
mod page;
mod paint;
mod picture;
pub mod profile;
mod table;
pub mod units;
pub mod wake;

pub use clean::clean;
pub use json::json;
pub use page::terminal;

/// The page's surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal. The page uses 40 to 120 of them.
    pub width: u16,
    /// Whether colours may be used. Without, states are told by letters.
    pub colour: bool,
    /// Whether characters outside ASCII may be used. Without, they are escaped.
    pub unicode: bool,
}

impl Look {
    /// Columns that the page uses.
    fn columns(self) -> usize {
        // Beyond 120 lines get hard to follow; below 40 wrapping by the terminal is the lesser evil.
        usize::from(self.width).clamp(40, 120)
    }

    /// Between the ends of an interval.
    fn dash(self) -> &'static str {
        if self.unicode { "–" } else { "-" }
    }

    /// Before what stands for several.
    fn times(self) -> &'static str {
        if self.unicode { "×" } else { "x" }
    }

    /// Between a function and its caller.
    fn called_by(self) -> &'static str {
        if self.unicode { " ‹ " } else { " < " }
    }

    /// Before what sums up the rest.
    fn rest(self) -> &'static str {
        if self.unicode { "…" } else { ".." }
    }
}
