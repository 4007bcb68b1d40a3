//! Commands that were run by turns: the page, and the forms of other tools.
//!
//! Commands are called by letters, in their order; the first is A, the reference.

mod csv;
mod figures;
mod hyperfine;
mod markdown;
mod notes;
mod percentiles;
mod strips;
mod table;
mod verdict;

use crate::Look;
use crate::paint::{Line, joined};
pub use csv::csv;
pub use figures::letters;
pub use hyperfine::hyperfine;
pub use markdown::markdown;
use model::compare::commands::Comparison;

/// The page, with a newline after each line.
pub fn terminal(comparison: &Comparison, look: Look) -> String {
    let mut parts: Vec<Vec<Line>> = vec![
        verdict::lines(comparison, look),
        strips::lines(comparison, look),
        table::lines(comparison, look),
        percentiles::lines(comparison, look),
    ];
    parts.extend(notes::why(comparison, look));
    parts.push(notes::lines(comparison, look));
    joined(&parts)
}
