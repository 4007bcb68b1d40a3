//! The table of commands in Markdown, and that of percentiles.

use super::figures::{amount, letters, range, ratio, ratio_interval};
use super::percentiles;
use crate::Look;
use crate::clean::clean;
use model::compare::commands::{CommandChange, Comparison, WORDS, WORDS_OF_AMOUNTS};

const LOOK: Look = Look { width: 120, colour: false, unicode: true, height: Look::HEIGHT };

/// The table: a row for each command, with its ratio to the first. A second one where percentiles
/// of printed numbers are compared.
pub fn markdown(comparison: &Comparison) -> String {
    let on = comparison.settings.on;
    let words = if on.is_time() { WORDS } else { WORDS_OF_AMOUNTS };
    let mut rows = vec![
        "| | command | median | 95 % | range | runs | by A | verdict |".to_owned(),
        "|---|:---|---:|---:|---:|---:|---:|:---|".to_owned(),
    ];
    for (at, command) in comparison.commands.iter().enumerate() {
        let change = comparison.comparisons.iter().find(|change| change.b as usize == at);
        let found = |text: Option<String>| text.unwrap_or_default();
        let against = |change: &CommandChange| found(change.ratio.map(|of| ratio_interval(of, LOOK)));
        let verdict = |change: &CommandChange| match change.no_verdict.is_empty() {
            true => words.of(change.verdict).to_owned(),
            false => "none".to_owned(),
        };
        let by_itself = (at == 0 && !comparison.comparisons.is_empty()).then(|| ratio(1.0));
        let cells = [
            letters(at),
            code(&command.name),
            found(command.figure.map(|of| amount(on, of.median))),
            found(command.figure.map(|of| range(on, of.lo, of.hi, LOOK))),
            found(command.range.map(|(lo, hi)| range(on, lo, hi, LOOK))),
            command.runs.to_string(),
            change.map_or(found(by_itself), against),
            change.map_or_else(String::new, verdict),
        ];
        rows.push(format!("| {} |", cells.join(" | ")));
    }
    rows.extend(of_percentiles(comparison));
    rows.join("\n") + "\n"
}

/// A row for each percentile, after an empty line.
fn of_percentiles(comparison: &Comparison) -> Vec<String> {
    let found = percentiles::rows(comparison, LOOK);
    if found.is_empty() {
        return Vec::new();
    }
    let head = ["", "| | percentile | A | its own | by A | |", "|---|:---|---:|---:|---:|:---|"];
    let rows = found.into_iter().map(|row| {
        let [a, its] = row.medians;
        let word = WORDS_OF_AMOUNTS.of(row.change).to_owned();
        format!("| {} |", [row.letter, row.percentile, a, its, row.ratio, word].join(" | "))
    });
    head.map(str::to_owned).into_iter().chain(rows).collect()
}

/// A command as code: between more backticks than it has in a row, without what ends a cell.
fn code(name: &str) -> String {
    let name = clean(name, true).replace('|', "\\|");
    let most = name.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(most + 1);
    let blank = if most > 0 { " " } else { "" };
    format!("{fence}{blank}{name}{blank}{fence}")
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn a_command_cannot_leave_its_cell() {
        assert_eq!(code("ls -l"), "`ls -l`");
        assert_eq!(code("a | b"), "`a \\| b`");
        assert_eq!(code("echo `date`\n| x"), "`` echo `date`\\n\\| x ``");
    }
}
