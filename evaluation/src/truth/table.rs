//! The table of verdicts, as text or markdown.

use super::verdict::{Check, Verdict};

/// A program, and its verdict or why there is none.
pub(crate) type Row = (String, Result<Verdict, String>);

const COLUMNS_MAX: usize = 100;

const HEAD: [&str; 5] = ["program", "class", "dwell", "oracle", "agree"];

/// The table with what explains it, the notes, and how many agree.
pub(crate) fn render(rows: &[Row], conditions: &str, markdown: bool) -> String {
    let verdicts = || rows.iter().filter_map(|(_, verdict)| verdict.as_ref().ok());
    let agreeing = verdicts().filter(|verdict| verdict.agrees()).count();
    let classes = verdicts().filter(|verdict| verdict.class_agrees()).count();
    let all = verdicts().count();
    let sums = format!(
        "{agreeing} of {all} programs agree in all figures, {classes} in the class. Measured on {conditions}."
    );
    let paragraphs = [LEGEND, &sums].map(|paragraph| format!("\n{}", wrapped(paragraph, "")));
    let remarks = verdicts().filter_map(remarks).map(|remark| wrapped(&remark, "  "));
    let table = layout(rows.iter().map(cells), markdown);
    let parts = std::iter::once(table).chain(paragraphs).chain(["\n".to_owned()]).chain(remarks);
    parts.collect::<String>().trim_end().to_owned()
}

/// What the figures are.
const LEGEND: &str = "On CPU / runnable / blocked in percent: of the wall clock, and of a window of its \
                      threads' time; in brackets, what it may be. Then user code in percent of all CPU \
                      time, and figures with their names.";

/// Lines as long as in documents, all but the first behind this.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if width == 0 {
            width = length;
        } else if width + 1 + length > COLUMNS_MAX {
            lines.push('\n');
            lines.push_str(indent);
            width = indent.len() + length;
        } else {
            lines.push(' ');
            width += 1 + length;
        }
        lines.push_str(word);
    }
    lines.push('\n');
    lines
}

/// What does not agree, with both figures, and what the reader should know.
fn remarks(verdict: &Verdict) -> Option<String> {
    let checks = verdict.checks.iter().filter(|check| !check.agrees);
    let wrong =
        checks.map(|Check { what, dwell, oracle, .. }| format!("{what}: dwell {dwell}, oracle {oracle}"));
    let class = (!verdict.class_agrees()).then(|| format!("class: {}", class(verdict)));
    let remarks: Vec<String> = class.into_iter().chain(wrong).chain(verdict.notes.iter().cloned()).collect();
    (!remarks.is_empty()).then(|| format!("- {}: {}.", verdict.program, remarks.join("; ")))
}

/// One row as it is there, so that nothing is lost when the rest is interrupted.
pub(crate) fn line(row: &Row) -> String {
    let [program, class, dwell, oracle, agree] = cells(row);
    format!("{program}: {agree}; class {class}; dwell {dwell}; oracle {oracle}")
}

fn cells((program, verdict): &Row) -> [String; 5] {
    let verdict = match verdict {
        Ok(verdict) => verdict,
        Err(why) => {
            return [program.clone(), format!("not run: {why}"), "-".into(), "-".into(), "-".into()];
        }
    };
    let figures = |of: fn(&Check) -> &str| {
        let kinds: Vec<&str> = verdict.checks.iter().filter(|check| is_kind(check)).map(of).collect();
        let others = verdict.checks.iter().filter(|check| !is_kind(check));
        let others = others.map(|check| format!("{} {}", check.what, of(check)));
        std::iter::once(kinds.join(" / ")).chain(others).collect::<Vec<_>>().join("; ")
    };
    let [dwell, oracle] = [figures(|check| &check.dwell), figures(|check| &check.oracle)];
    [verdict.program.clone(), class(verdict), dwell, oracle, agreement(verdict)]
}

/// The class, and where it is not right, those that are.
fn class(verdict: &Verdict) -> String {
    let class = verdict.class.name();
    if verdict.class_agrees() {
        return class.to_owned();
    }
    let right: Vec<&str> = verdict.right.iter().map(|class| class.name()).collect();
    format!("{}, not {class}", right.join(" or "))
}

/// The three kinds of time stand without their names.
fn is_kind(check: &Check) -> bool {
    ["on CPU", "runnable", "blocked"].contains(&check.what.as_str())
}

/// `yes`, or what does not agree.
pub(crate) fn agreement(verdict: &Verdict) -> String {
    if verdict.agrees() {
        return "yes".to_owned();
    }
    let class = (!verdict.class_agrees()).then_some("class");
    let figures = verdict.checks.iter().filter(|check| !check.agrees).map(|check| check.what.as_str());
    format!("no: {}", class.into_iter().chain(figures).collect::<Vec<_>>().join(", "))
}

fn layout(rows: impl Iterator<Item = [String; 5]>, markdown: bool) -> String {
    let rows: Vec<[String; 5]> = std::iter::once(HEAD.map(str::to_owned)).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        let cells: Vec<String> = cells.collect();
        let line = if markdown { format!("| {} |", cells.join(" | ")) } else { cells.join("  ") };
        text.push_str(line.trim_end());
        text.push('\n');
        if markdown && index == 0 {
            text.push_str(&format!("|{}\n", " --- |".repeat(HEAD.len())));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::program::Class;
    use super::*;

    fn verdict(class: Class, agrees: bool) -> Row {
        let check = |what: &str, dwell: &str, agrees| Check {
            what: what.to_owned(),
            dwell: dwell.to_owned(),
            oracle: "1.0".to_owned(),
            agrees,
        };
        let checks = vec![
            check("on CPU", "97.0", agrees),
            check("runnable", "1.0", true),
            check("blocked", "2.0", true),
            check("user", "90.0", true),
        ];
        let right = vec![Class::Cpu, Class::Kernel];
        (
            "it".to_owned(),
            Ok(Verdict {
                program: "it".to_owned(),
                class,
                right,
                checks,
                notes: vec!["perf lost some".to_owned()],
            }),
        )
    }

    #[test]
    fn a_row_says_what_disagrees() {
        let agreement = |row: Row| cells(&row)[4].clone();
        assert_eq!(agreement(verdict(Class::Cpu, true)), "yes");
        assert_eq!(agreement(verdict(Class::Io, false)), "no: class, on CPU");
        assert_eq!(cells(&verdict(Class::Io, false))[1], "cpu or kernel, not io");
        assert_eq!(cells(&verdict(Class::Cpu, true))[2], "97.0 / 1.0 / 2.0; user 90.0");
    }

    #[test]
    fn lines_are_no_longer_than_in_documents() {
        let text = wrapped(&"word ".repeat(50), "  ");
        let widths: Vec<usize> = text.lines().map(str::len).collect();
        assert_eq!(widths, [99, 101 - 5, 2 + 10 * 5 + 4]);
    }

    #[test]
    fn the_table_counts_what_ran_and_names_what_did_not() {
        let rows = [
            verdict(Class::Cpu, true),
            verdict(Class::Io, true),
            ("gone".to_owned(), Err("needs fio".to_owned())),
        ];
        let text = render(&rows, "a machine", true);
        assert!(text.starts_with("| program | class "), "{text}");
        assert!(text.contains("| gone    | not run: needs fio "), "{text}");
        assert!(text.contains("1 of 2 programs agree in all figures, 1 in the class."), "{text}");
        assert!(text.contains("\n\n- it: perf lost some.\n- it: class: "), "{text}");
        assert!(text.contains("Measured on a machine."), "{text}");
        assert!(line(&rows[1]).starts_with("it: no: class; class cpu or kernel, not io; dwell 97.0 / 1.0"));
    }
}
