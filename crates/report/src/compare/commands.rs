//! Commands that were run in alternation: the page, and the forms of other tools.
//!
//! Commands are called by letters, in their order; the first is A, the reference.

mod csv;
mod figures;
mod hyperfine;
mod hyperfine_1;
mod markdown;
mod notes;
mod percentiles;
pub(crate) mod picture;
mod predicted;
mod strips;
mod table;
mod verdict;

use crate::Look;
use crate::paint::{Line, joined};
pub use csv::csv;
pub use figures::letters;
pub use hyperfine::hyperfine;
pub use hyperfine_1::hyperfine_1;
pub use markdown::markdown;
use model::compare::commands::Comparison;

/// The parts of the page for a document: sentences and tables, not laid out.
pub(crate) struct Parts {
    pub(crate) verdict: Vec<Line>,
    pub(crate) tables: Vec<Line>,
    pub(crate) why: Vec<Vec<Line>>,
    pub(crate) notes: Vec<Line>,
}

/// The parts.
pub(crate) fn parts(comparison: &Comparison) -> Parts {
    let look = Look::DOCUMENT;
    let mut tables = table::lines(comparison, look);
    tables.extend(percentiles::lines(comparison, look));
    Parts {
        verdict: verdict::lines(comparison, look),
        tables,
        why: notes::why(comparison, look).into_iter().collect(),
        notes: notes::lines(comparison, look),
    }
}

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
