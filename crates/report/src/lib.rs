//! Results as pages for a terminal, as JSON, as pictures and in the formats of other tools.
//!
//! Pure: no I/O, no clock, no environment; the caller passes the width of the page and whether it
//! may be coloured. Nothing is judged here either: class, places and intervals come from
//! [`model::Run`], and this crate chooses what to show of them, and how. Names from the measured
//! program (commands, threads, files) are untrusted: see [`clean`].

mod axis;
pub mod blocks;
mod clean;
mod command;
pub mod compare;
pub mod doctor;
mod explain;
pub mod export;
mod findings;
mod fit;
pub mod hits;
pub mod html;
mod jit;
mod json;
pub mod lab;
pub mod ladder;
pub mod listing;
pub mod load;
mod page;
mod paint;
mod picture;
pub mod probe;
pub mod profile;
pub mod result;
pub mod results;
mod table;
pub mod trend;
pub mod units;
pub mod wake;
pub mod what_if;

pub use clean::{clean, clean_lines};
pub use explain::{explain, list as list_causes};
pub use findings::{in_words, judged_anew};
pub use fit::fit;
pub use json::json;
pub use page::{causes, screen, terminal, unexplained};

/// What the output of a page supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal. The page uses 40 to 120 of them.
    pub width: u16,
    /// Whether colours may be used. Without them, states are marked by letters.
    pub colour: bool,
    /// Whether characters outside ASCII may be used. If not, they are escaped.
    pub unicode: bool,
    /// Rows of the terminal: a page that fits a screen has two fewer, and 16 to 46 lines.
    pub height: u16,
}

impl Look {
    /// The rows of a small terminal, where nobody knows how many there are.
    pub const HEIGHT: u16 = 30;
    /// A look for text that goes where nobody knows what it will be shown on: a file, a page of
    /// HTML.
    pub const PLAIN: Look = Look { width: 100, colour: false, unicode: true, height: Look::HEIGHT };
    /// A look for a document, which has no columns: paragraphs and tables stay whole, tables have
    /// all of their rows, and whoever shows them lays them out.
    const DOCUMENT: Look = Look { width: u16::MAX, colour: true, unicode: true, height: Look::HEIGHT };
    /// Rows of a table in a document. The JSON has all.
    const DOCUMENT_ROWS: usize = 300;

    /// The longest line of a document that is not a paragraph.
    const DOCUMENT_COLUMNS: usize = 400;

    fn is_document(self) -> bool {
        self.width == u16::MAX
    }

    /// Rows of a table that has this many on a terminal.
    fn rows(self, terminal: usize) -> usize {
        if self.is_document() { Self::DOCUMENT_ROWS } else { terminal }
    }

    /// The head of a column that needs none on a terminal.
    fn head(self, head: &'static str) -> &'static str {
        if self.is_document() { head } else { "" }
    }

    /// Lines of a page that fits the screen: there is room for the command and the next prompt.
    fn lines(self) -> usize {
        usize::from(self.height).clamp(18, 48) - 2
    }

    /// Columns of the page.
    fn columns(self) -> usize {
        if self.is_document() {
            return Self::DOCUMENT_COLUMNS;
        }
        // Lines beyond 120 columns are hard to follow; below 40 the terminal may wrap them.
        usize::from(self.width).clamp(40, 120)
    }

    /// Between the ends of an interval.
    fn dash(self) -> &'static str {
        if self.unicode { "–" } else { "-" }
    }

    /// Before a number of equal things.
    fn times(self) -> &'static str {
        if self.unicode { "×" } else { "x" }
    }

    /// Between a function and its caller.
    fn called_by(self) -> &'static str {
        if self.unicode { " ‹ " } else { " < " }
    }

    /// Before the sum of the rows that are not shown.
    fn rest(self) -> &'static str {
        if self.unicode { "…" } else { ".." }
    }
}
