//! Exact hits of source lines, for a terminal: the lines with the most hits, and whole functions
//! with the hits of each line.

use crate::Look;
use crate::clean::{clean, width};
use crate::paint::{GAP, Ink, Line};
use crate::table::{Table, figure, text};
use crate::units::{count, counted, duration, share};
use model::hits::{HitFunction, Hits, HotLine, OtherLines};

/// Columns of a tab in source text.
const TAB: &str = "    ";
/// Columns of a line's share in a function.
const SHARE: usize = 5;

/// What the last line says of a program that goes on.
pub(crate) const LEFT: &str = "; stopped by a signal, and the program went on: counts are incomplete";

/// The page: functions that were asked for, the lines with the most hits, and what counting did.
pub fn terminal(hits: &Hits, look: Look) -> String {
    let mut page = String::new();
    for of_name in &hits.functions {
        page += &function(of_name, look);
        page.push('\n');
    }
    page += &hottest(&hits.lines, hits.other, look);
    if hits.import_hits > 0 {
        page += &format!("  and {} in Python's import system\n", counted(hits.import_hits, "hit"));
    }
    page + &overhead(hits, look)
}

/// The overhead of counting, and what was not counted.
fn overhead(hits: &Hits, look: Look) -> String {
    let versions: Vec<&str> = hits.versions.keys().map(String::as_str).collect();
    let processes = hits.versions.values().fold(0_u64, |sum, some| sum.saturating_add(*some));
    let mut text = format!(
        "counted exactly: {} in {} of Python {}, in {}",
        counted(hits.hits, "hit"),
        if processes == 1 { "1 process".to_owned() } else { format!("{} processes", count(processes)) },
        versions.join(", "),
        duration(hits.elapsed_ns)
    );
    text += "; counting makes Python code 2 to 20 times slower: times are not meaningful";
    if hits.went_on {
        text += LEFT;
    }
    if hits.lost > 0 {
        text += &format!("; {} lost: the table is full", counted(hits.lost, "hit"));
    }
    if hits.disturbed {
        text += "; with this Python, lines of signal handlers and finalizers may be missing";
    }
    for (why, processes) in &hits.uncounted {
        text += &format!("; not counted: {} ({why})", count(*processes));
    }
    clean(&text, look.unicode) + "\n"
}

/// The table of the lines with the most hits, in the order of `lines`.
fn hottest(lines: &[HotLine], other: OtherLines, look: Look) -> String {
    let columns = vec![text("", 12, 0), text("function", 10, 3), figure("hits", 0), text("source", 16, 2)];
    let mut table = Table::new(look, "lines", columns);
    for line in lines {
        let file = line.file.rsplit('/').next().unwrap_or(&line.file);
        table.row(vec![
            (Ink::Plain, format!("{file}:{}", line.line)),
            (Ink::Plain, line.function.clone()),
            (Ink::Plain, count(line.hits)),
            (Ink::Dim, line.source.as_deref().unwrap_or_default().trim().to_owned()),
        ]);
    }
    if other.lines > 0 {
        table.rest(vec![
            (Ink::Dim, format!("{} {} more", look.rest(), count(other.lines))),
            (Ink::Dim, String::new()),
            (Ink::Dim, count(other.hits)),
            (Ink::Dim, String::new()),
        ]);
    }
    rendered(&table.lines())
}

/// A function as its source, with the hits of each line and their share of all hits.
fn function(function: &HitFunction, look: Look) -> String {
    let hits = function.lines.iter().filter_map(|line| line.hits);
    // A kept result may have any figures.
    let total = hits.fold(0_u64, u64::saturating_add);
    let most = function.lines.iter().filter_map(|line| line.hits).max().unwrap_or(0);
    let figures = width(&count(most)).max("hits".len());
    let numbers = function.lines.last().map_or(0, |line| line.line.to_string().len()).max("line".len());
    let head = Line::new(look)
        .add(Ink::Bold, &function.name)
        .add(Ink::Plain, " in ")
        .add(Ink::Plain, &function.file)
        .add(Ink::Plain, ": ")
        .glued(Ink::Plain, &counted(total, "hit"));
    let mut lines = head.wrap(GAP);
    let hits_end = GAP + numbers + GAP + figures;
    let share_end = hits_end + GAP + SHARE;
    let right = |line: Line, end: usize, ink: Ink, text: &str| {
        line.pad_to(end.saturating_sub(width(text))).add(ink, text)
    };
    let mut line = right(Line::new(look), GAP + numbers, Ink::Dim, "line");
    line = right(line, hits_end, Ink::Dim, "hits");
    line = right(line, share_end, Ink::Dim, "share");
    lines.push(line.pad_to(share_end + GAP).add(Ink::Dim, "source").cut());
    for row in &function.lines {
        let mut line = right(Line::new(look), GAP + numbers, Ink::Dim, &row.line.to_string());
        let mut ink = Ink::Dim;
        if let Some(hits) = row.hits {
            ink = if hits == most && most > 0 { Ink::Bold } else { Ink::Plain };
            line = right(line, hits_end, ink, &count(hits));
            line = right(line, share_end, Ink::Dim, &share(hits, total));
        }
        let source = row.source.as_deref().unwrap_or_default().trim_end().replace('\t', TAB);
        lines.push(line.pad_to(share_end + GAP).add(ink, &clean(&source, look.unicode)).cut());
    }
    rendered(&lines)
}

fn rendered(lines: &[Line]) -> String {
    lines.iter().map(|line| line.render() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::hits::FunctionLine;

    const LOOK: Look = Look { width: 70, colour: false, unicode: true, height: Look::HEIGHT };

    #[test]
    fn the_hottest_lines_come_with_their_text_and_the_rest_is_summed_up() {
        let line = HotLine {
            file: "/a/grid.py".into(),
            line: 12,
            function: "Grid.\x1b[2Jgrow".into(),
            hits: 1_234_567,
            source: Some("\tcells = \u{202e}[0] * n\n".into()),
        };
        let text = hottest(&[line], OtherLines { lines: 3, hits: 21 }, LOOK);
        let expected = [
            "function               hits  source",
            "  grid.py:12  Grid.\\x1b[2Jgrow  1,234,567  cells = \\u{202e}[0] * n",
            "  … 3 more                             21",
        ];
        for line in expected {
            assert!(text.contains(line.trim_start_matches("lines       ")), "{line:?} in\n{text}");
        }
        assert!(!text.contains(['\x1b', '\u{202e}']));
    }

    #[test]
    fn a_function_shows_lines_without_code_without_hits() {
        let line = |line, hits, source: &str| FunctionLine { line, hits, source: Some(source.into()) };
        let lines = vec![
            line(9, Some(1), "def f():"),
            line(10, None, "\t# note"),
            line(11, Some(3), "\tx"),
            line(12, Some(0), "\ty"),
        ];
        let text = function(&HitFunction { name: "f".into(), file: "f.py".into(), lines }, LOOK);
        let expected = "\
f in f.py: 4 hits
  line  hits  share  source
     9     1   25 %  def f():
    10                   # note
    11     3   75 %      x
    12     0    0 %      y
";
        assert_eq!(text, expected);
        let bare = HitFunction { name: "g".into(), file: "g.py".into(), lines: Vec::new() };
        assert!(function(&bare, LOOK).starts_with("g in g.py: 0 hits\n"));
    }
}
