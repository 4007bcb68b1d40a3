//! The kept results of a command over time: a line for each, oldest first, with its median and
//! interval on one axis, and host and kernel where they change.

use crate::Look;
use crate::clean::{clean, fit, width};
use crate::compare::letters;
use crate::paint::{GAP, Ink, Line, joined, paragraphs};
use crate::units::{counted, duration, duration_range};
use model::Ns;
use model::trend::{Trend, TrendRow};

/// Widths of the columns before the picture.
const ID: usize = 8;
const TIME: usize = 16;
const SIDE: usize = 9;
const MEDIAN: usize = 8;
const INTERVAL: usize = 16;
/// Narrower pictures say nothing.
const PICTURE: usize = 8;

/// Why a trend is no verdict.
const TOLD: &str = "Results of different days differ not only by changes to the program: the load and temperature \
                    of the machine, its kernel and libraries, and the place of the program in memory differ as \
                    well. An interval covers only what changed within its sitting, and a single run has none. \
                    So a trend is no reason to fail a build: for that, dwell compare --rev OLD --rev NEW runs \
                    both in alternation on one machine";

/// The page, with a newline after each line. `near`: commands that are called nearly so, for a
/// trend without results.
pub fn terminal(trend: &Trend, near: &[String], look: Look) -> String {
    let mut parts = vec![head(trend, look)];
    if trend.results.is_empty() {
        parts.push(nothing(near, look));
    } else {
        parts.push(rows(&trend.results, look));
    }
    parts.push(left_out(trend, look));
    if !trend.results.is_empty() {
        parts.push(paragraphs(Line::new(look), TOLD, GAP));
    }
    joined(&parts)
}

fn head(trend: &Trend, look: Look) -> Vec<Line> {
    let line = Line::new(look).add(Ink::Bold, &trend.command);
    if trend.results.is_empty() {
        return line.wrap(GAP);
    }
    let what = if trend.more { ", the newest" } else { "" };
    let told = format!("{what}, oldest first: {}", counted(trend.results.len() as u64, "figure"));
    line.add(Ink::Plain, &told).wrap(GAP)
}

fn nothing(near: &[String], look: Look) -> Vec<Line> {
    let text = "no result of dwell run or dwell compare has exactly this command";
    let mut lines = Line::new(look).add(Ink::Plain, text).wrap(GAP);
    lines.extend(
        near.iter().map(|command| Line::new(look).add(Ink::Plain, "kept: ").add(Ink::Plain, command).cut()),
    );
    lines
}

fn left_out(trend: &Trend, look: Look) -> Vec<Line> {
    let of = trend.left_out;
    let told = [
        (of.other_figure, "comparison", "of another figure than the wall clock"),
        (of.without_runs, "side", "without a run that counts"),
        (of.unreadable, "result", "cannot be read: dwell store --check"),
    ];
    let told = told.into_iter().filter(|(number, ..)| *number > 0);
    let line = |(number, thing, why): (u64, &str, &str)| {
        Line::new(look).add(Ink::Dim, &format!("left out: {} {why}", counted(number, thing))).cut()
    };
    let more = trend.more.then(|| Line::new(look).add(Ink::Dim, "older ones: --all, or -n N").cut());
    told.map(line).chain(more).collect()
}

/// The axis of all pictures.
struct Axis {
    lo: Ns,
    hi: Ns,
    columns: usize,
}

impl Axis {
    fn of(rows: &[TrendRow], columns: usize) -> Self {
        let ends = |row: &TrendRow| match row.interval_ns {
            Some(interval) => (interval.lo.min(row.median_ns), interval.hi.max(row.median_ns)),
            None => (row.median_ns, row.median_ns),
        };
        let lo = rows.iter().map(|row| ends(row).0).min().unwrap_or(0);
        let hi = rows.iter().map(|row| ends(row).1).max().unwrap_or(0);
        Self { lo, hi, columns }
    }

    fn column(&self, ns: Ns) -> usize {
        let last = self.columns.saturating_sub(1) as u128;
        let (from, length) = (ns.saturating_sub(self.lo), self.hi.saturating_sub(self.lo));
        if length == 0 {
            return (last / 2) as usize;
        }
        (u128::from(from) * last / u128::from(length)).min(last) as usize
    }

    /// `├─┼─┤` of a median with its interval, `•` of one run.
    fn picture(&self, row: &TrendRow, look: Look) -> String {
        let [begin, between, middle, end, alone] =
            if look.unicode { ['├', '─', '┼', '┤', '•'] } else { ['[', '-', '+', ']', 'o'] };
        let at = self.column(row.median_ns);
        let (lo, hi, mark) = match row.interval_ns {
            Some(interval) => (self.column(interval.lo).min(at), self.column(interval.hi).max(at), middle),
            None => (at, at, alone),
        };
        let drawn = (lo..=hi).map(|column| match column {
            column if column == at => mark,
            column if column == lo => begin,
            column if column == hi => end,
            _ => between,
        });
        " ".repeat(lo) + &drawn.collect::<String>()
    }
}

fn rows(rows: &[TrendRow], look: Look) -> Vec<Line> {
    let sides = rows.iter().any(|row| row.side.is_some());
    let side = if sides { SIDE + GAP } else { 0 };
    let bare = ID + GAP + TIME + GAP + side + MEDIAN;
    let has_interval = sides && bare + GAP + INTERVAL <= look.columns();
    let before = bare + if has_interval { GAP + INTERVAL } else { 0 };
    let room = look.columns().saturating_sub(before + GAP);
    let axis = (room >= PICTURE).then(|| Axis::of(rows, room));
    let mut head = format!("{:ID$}  {:TIME$}  ", "id", "when (UTC)");
    if sides {
        head.push_str(&format!("{:SIDE$}  ", "side"));
    }
    head.push_str(&format!("{:>MEDIAN$}", "median"));
    if has_interval {
        head.push_str(&format!("  {:INTERVAL$}", "95 %"));
    }
    let mut lines = vec![Line::new(look).add(Ink::Dim, &head).cut()];
    let mut last: Option<&TrendRow> = None;
    for row in rows {
        lines.extend(changed(last, row, look));
        last = Some(row);
        let at = row.at.replace('T', " ");
        let mut line = Line::new(look)
            .add(Ink::Bold, &cell(&row.id, ID, look))
            .add(Ink::Plain, &cell(at.get(..TIME).unwrap_or(&at), TIME, look));
        if sides {
            line = line.add(Ink::Plain, &cell(&side_of(row), SIDE, look));
        }
        line = line.glued(Ink::Plain, &format!("{:>MEDIAN$}", duration(row.median_ns)));
        if has_interval {
            let interval = row.interval_ns.map_or_else(
                || "one run".to_owned(),
                |interval| duration_range(interval.lo, interval.hi, look.dash()),
            );
            line = line.pad_to(bare + GAP).glued(Ink::Dim, &interval);
        }
        if let Some(axis) = &axis {
            line = line.pad_to(before + GAP).add(Ink::Plain, &axis.picture(row, look));
        }
        lines.push(line.cut());
    }
    if let Some(axis) = axis {
        let text = format!("the picture is from {} to {}", duration(axis.lo), duration(axis.hi));
        lines.push(Line::new(look).pad_to(ID + GAP).add(Ink::Dim, &text).cut());
    }
    lines
}

/// A line with the host and the kernel, as far as they are not those of the row before.
fn changed(last: Option<&TrendRow>, row: &TrendRow, look: Look) -> Option<Line> {
    let host = last.is_none_or(|last| last.host != row.host).then(|| format!("host {}", row.host));
    let kernel = last.is_none_or(|last| last.kernel != row.kernel).then(|| format!("kernel {}", row.kernel));
    let told: Vec<String> = [host, kernel].into_iter().flatten().collect();
    let ink = if last.is_some() { Ink::Warn } else { Ink::Dim };
    let now = if last.is_some() { "now " } else { "" };
    let line = || Line::new(look).pad_to(ID + GAP).add(ink, &format!("{now}{}", told.join(", "))).cut();
    (!told.is_empty()).then(line)
}

/// What tells the sides of a comparison apart: parameters, else the letter.
fn side_of(row: &TrendRow) -> String {
    let Some(side) = &row.side else { return "run".to_owned() };
    match side.parameters.as_slice() {
        [] => letters(side.place as usize),
        [(_, value)] => value.clone(),
        several => {
            several.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        }
    }
}

fn cell(text: &str, columns: usize, look: Look) -> String {
    let text = fit(&clean(text, look.unicode), columns, look.unicode);
    let blanks = columns.saturating_sub(width(&text)) + GAP;
    text + &" ".repeat(blanks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::trend::{LeftOut, SCHEMA_TREND, TrendInterval, TrendSide};

    const LOOK: Look = Look { width: 80, colour: false, unicode: true, height: Look::HEIGHT };

    fn run(id: &str, day: u32, host: &str, kernel: &str, wall_ns: Ns) -> TrendRow {
        TrendRow {
            id: id.to_owned(),
            at: format!("2026-11-{day}T10:11:12Z"),
            verb: "run".to_owned(),
            side: None,
            host: host.to_owned(),
            kernel: kernel.to_owned(),
            runs: 1,
            median_ns: wall_ns,
            interval_ns: None,
        }
    }

    fn side(of: TrendRow, rev: &str, lo: Ns, hi: Ns) -> TrendRow {
        let parameters = vec![("rev".to_owned(), rev.to_owned())];
        let side = TrendSide { place: 0, name: format!("./prog (rev={rev})"), parameters };
        let interval_ns = Some(TrendInterval { lo, hi });
        TrendRow { verb: "compare".to_owned(), side: Some(side), runs: 20, interval_ns, ..of }
    }

    fn trend(results: Vec<TrendRow>) -> Trend {
        Trend {
            schema: SCHEMA_TREND.to_owned(),
            dwell: "0.1.0".to_owned(),
            command: "./prog".to_owned(),
            results,
            more: false,
            left_out: LeftOut::default(),
        }
    }

    #[test]
    fn figures_are_in_lines_with_a_picture_and_what_changed_between() {
        let ms = 1_000_000;
        let text = terminal(
            &trend(vec![
                run("00000001", 20, "a", "6.1", 20 * ms),
                side(run("00000002", 21, "a", "6.1", 25 * ms), "main", 24 * ms, 26 * ms),
                side(run("00000003", 22, "b", "6.18", 30 * ms), ".", 29 * ms, 32 * ms),
            ]),
            &[],
            LOOK,
        );
        let (figures, told) = text.split_once("\n\nResults of different days").unwrap();
        assert_eq!(
            figures,
            "./prog, oldest first: 3 figures\n\n\
             id        when (UTC)        side         median  95 %\n          \
             host a, kernel 6.1\n\
             00000001  2026-11-20 10:11  run         20.0 ms  one run           •\n\
             00000002  2026-11-21 10:11  main        25.0 ms  24.0–26.0 ms          ├┼┤\n          \
             now host b, kernel 6.18\n\
             00000003  2026-11-22 10:11  .           30.0 ms  29.0–32.0 ms               ├┼─┤\n          \
             the picture is from 20.0 ms to 32.0 ms"
        );
        assert!(told.replace("\n  ", " ").contains("a trend is no reason to fail a build"), "{told}");
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
    }

    #[test]
    fn runs_alone_have_no_columns_of_comparisons() {
        let text = terminal(
            &trend(vec![run("00000001", 20, "a", "6.1", 5), run("2", 20, "a", "6.1", 5)]),
            &[],
            LOOK,
        );
        assert!(!text.contains("95 %") && text.contains("5 ns"), "{text}");
        // Equal ones are in the middle.
        assert_eq!(text.lines().filter(|line| line.ends_with("               •")).count(), 2, "{text}");
        let narrow =
            terminal(&trend(vec![run("00000001", 20, "a", "6.1", 5)]), &[], Look { width: 40, ..LOOK });
        assert!(narrow.lines().all(|line| width(line) <= 40), "{narrow}");
    }

    #[test]
    fn without_figures_it_says_what_is_kept() {
        let left_out = LeftOut { other_figure: 2, without_runs: 0, unreadable: 1 };
        let text = terminal(&Trend { left_out, ..trend(vec![]) }, &["./prog x".to_owned()], LOOK);
        assert!(text.contains("kept: ./prog x\n"), "{text}");
        assert!(text.contains("left out: 2 comparisons of another figure"), "{text}");
        assert!(text.contains("left out: 1 result cannot be read"), "{text}");
        assert!(!text.contains("fails a build"), "{text}");
    }

    #[test]
    fn what_others_chose_is_harmless() {
        let hostile = "\x1b[31m\u{202e}\n<b>".repeat(1000);
        let mut row = side(run(&hostile, 20, &hostile, &hostile, 7), &hostile, 9, 1);
        row.at.clone_from(&hostile);
        let trend = Trend { command: hostile.clone(), ..trend(vec![row]) };
        let text = terminal(&trend, &[hostile], LOOK);
        assert!(!text.contains(['\x1b', '\u{202e}']), "{text:?}");
        assert!(text.lines().count() < 40 && text.lines().all(|line| width(line) <= 80), "{text}");
    }
}
