//! How a function of the program is named in a sentence, and which row of the tables it is.

use super::Evidence;
use super::own_code::Sum;
use crate::names::base_name;
use model::finding::RowRef;
use model::recording::Language;
use model::sentence::Piece::{Name, Number};
use model::{Sentence, State, say};

/// `the Python function step (grid.py:12)`, or `scan (cpu.c:37)`.
pub(super) fn called(sum: &Sum<'_>) -> Sentence {
    let language = match sum.frame.language {
        Language::Python => "the Python function ",
        _ => "",
    };
    let name = say!(language, Name(sum.frame.function.clone()));
    match (sum.leading_line(), &sum.frame.source) {
        (Some((file, line)), _) => {
            name.and(say!(" (", Name(base_name(file).to_owned()), ":", Number(line.into()), ")"))
        }
        (None, Some((file, _))) => name.and(say!(" (", Name(base_name(file).to_owned()), ")")),
        (None, None) => name.and(say!(" of ", Name(sum.frame.module.clone()))),
    }
}

/// The row of lines that leads, or that of its function.
pub(super) fn place(evidence: &Evidence<'_>, sum: &Sum<'_>) -> RowRef {
    let (name, module) = sum.key();
    let line = sum.leading_line().and_then(|(file, line)| {
        let mut lines = evidence.run.tables.lines.value()?.iter();
        lines.position(|row| row.file == file && row.line == line && row.function == name)
    });
    let function = || {
        let mut functions = evidence.run.tables.functions.value()?.iter();
        functions.position(|row| row.name == name && row.module == module)
    };
    match line {
        Some(row) => RowRef::Line(row),
        None => function().map_or(RowRef::State(State::User), RowRef::Function),
    }
}

/// The option of `dwell run` that shows its code.
pub(super) fn how_shown(sum: &Sum<'_>) -> &'static str {
    match sum.frame.language {
        Language::Native => "--annotate",
        _ => "--lines",
    }
}
