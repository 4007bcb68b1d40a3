//! Where the difference of two walls lies: a line for the walls, and a table for each way in which
//! the difference is cut, with a bar for each row. For the pages of two runs and of commands that
//! were compared.

use super::parts::{figure as ratio_figure, signed};
use crate::Look;
use crate::page::words;
use crate::paint::{GAP, Ink, Line, paragraphs};
use crate::table::{Column, Table, figure, text};
use crate::units::{count, counted, duration, three_digits};
use model::State;
use model::compare::why::{
    CountDifference, ProcessDifference, StepDifference, TimeDifference, WaitDifference, Why,
};
use model::wait::{SyscallName, WaitTarget};

/// Columns of a bar on each side of its middle.
const WING: usize = 8;
/// Rows of the tables that sum to the difference.
const SUMMING_ROWS: usize = 10;
/// Rows of the others.
const ROWS: usize = 5;
/// A row below this part of the largest one is not worth its line.
const PART: u64 = 100;

/// The parts of a page: the walls, the tables, and what qualifies them.
pub(super) fn parts(why: &Why, look: Look) -> Vec<Vec<Line>> {
    let scale = why.states.iter().map(|row| row.time.ns.unsigned_abs()).max().unwrap_or(0).max(1);
    let draw = Draw { look, scale };
    let mut parts = vec![head(why, look)];
    parts.push(draw.states(why));
    parts.push(draw.processes(why));
    parts.push(draw.steps(why));
    let others = [
        draw.calls(why),
        draw.functions(why),
        draw.lines(why),
        draw.waits(why),
        draw.wakers(why),
        draw.peers(why),
        draw.files(why),
    ];
    if others.iter().any(|table| !table.is_empty()) {
        let told = "Of all threads, on the path or not: these tables overlap with those above and with \
                    each other, and do not sum to the difference";
        parts.push(paragraphs(Line::new(look), told, GAP));
    }
    parts.extend(others);
    let limits =
        why.limits.iter().flat_map(|limit| paragraphs(Line::new(look).add(Ink::Warn, "note: "), limit, GAP));
    parts.push(limits.collect());
    parts
}

/// The same of two windows, which have no wall to be shorter: their threads' time by state, and
/// what it was spent at.
pub(super) fn parts_of_windows(why: &Why, look: Look) -> Vec<Vec<Line>> {
    headed("The time of the threads that were active, B less A", why, look)
}

/// The same of pairs of runs that were observed beside those that were timed, which tell whether
/// there is a difference at all.
pub(super) fn parts_of_pairs(why: &Why, look: Look) -> Vec<Vec<Line>> {
    let pairs = counted(u64::from(why.pairs), "observed pair");
    let [a, b] = [why.wall.a_ns, why.wall.b_ns].map(duration);
    headed(&format!("Where the time of {pairs} differs: {a} in A, {b} in B"), why, look)
}

fn headed(head: &str, why: &Why, look: Look) -> Vec<Vec<Line>> {
    let mut parts = parts(why, look);
    parts[0] = paragraphs(Line::new(look), head, GAP);
    parts
}

/// `B took 25.3 ms less than A: 94.7 ms instead of 120 ms (0.79×)`.
fn head(why: &Why, look: Look) -> Vec<Line> {
    let wall = &why.wall;
    let line = Line::new(look);
    let line = match wall.ns {
        0 => line.add(Ink::Bold, "B took as long as A"),
        ns => {
            let than = if ns < 0 { "less" } else { "more" };
            let took = format!("B took {} {than} than A", duration(ns.unsigned_abs()));
            line.add(Ink::Bold, &took)
        }
    };
    let line = line.add(Ink::Plain, ": ").glued(Ink::Plain, &duration(wall.b_ns));
    let line = line.add(Ink::Plain, " instead of ").glued(Ink::Plain, &duration(wall.a_ns));
    let line = match (&why.ratio, wall.a_ns) {
        (Some(ratio), _) => line.add(Ink::Plain, &format!(", {}", times(ratio.estimate, look))),
        (None, 0) => line,
        (None, a_ns) => line.add(Ink::Plain, &format!(", {}", times(wall.b_ns as f64 / a_ns as f64, look))),
    };
    match &wall.interval {
        None => line,
        Some(ends) => {
            let text = format!("{} to {}", signed(ends.lo), signed(ends.hi));
            line.add(Ink::Dim, "; B - A 95 %: ")
                .glued(Ink::Dim, &text)
                .add(Ink::Dim, &format!(", {}", counted(u64::from(why.pairs), "pair")))
        }
    }
    .wrap(GAP)
}

fn times(ratio: f64, look: Look) -> String {
    format!("{}{}", ratio_figure(ratio), look.times())
}

/// How rows are drawn: all bars of a page have one scale.
struct Draw {
    look: Look,
    /// The difference that is as long as a wing.
    scale: u64,
}

/// A row: its text cells, its time and how often it was.
struct Drawn {
    texts: Vec<(Ink, String)>,
    time: TimeDifference,
    often: String,
}

impl Drawn {
    fn new(texts: Vec<(Ink, String)>, time: TimeDifference) -> Self {
        Self { texts, time, often: String::new() }
    }

    fn often(self, counted: &CountDifference) -> Self {
        Self { often: counts(counted), ..self }
    }
}

impl Draw {
    /// A table of these text columns; none where no row is worth its line. `often` heads the column
    /// of counts.
    fn table(
        &self,
        title: &str,
        mut columns: Vec<Column>,
        often: &'static str,
        rows: Vec<Drawn>,
    ) -> Vec<Line> {
        let most = if often.is_empty() { SUMMING_ROWS } else { ROWS };
        let largest = rows.iter().map(|row| row.time.ns.unsigned_abs()).max().unwrap_or(0).max(self.scale);
        let worth = |row: &&Drawn| row.time.ns.unsigned_abs() > largest / PART;
        let shown: Vec<&Drawn> = rows.iter().filter(worth).take(most).collect();
        if shown.is_empty() {
            return Vec::new();
        }
        let bar = if self.look.unicode { "  faster│slower" } else { "  faster|slower" };
        let intervals = shown.iter().any(|row| row.time.interval.is_some());
        columns.extend([figure("A", 4), figure("B", 3), figure("B - A", 0)]);
        columns.extend(intervals.then(|| figure("95 %", 1)));
        columns.push(text(bar, 2 * WING + 1, 2));
        columns.extend((!often.is_empty()).then(|| text(often, 6, 5)));
        let width = columns.len();
        let mut table = Table::new(self.look, title, columns);
        for row in &shown {
            let mut cells = row.texts.clone();
            cells.extend(self.figures(&row.time, intervals));
            cells.extend((!often.is_empty()).then(|| dim(row.often.clone())));
            table.row(cells);
        }
        let rest = rows.len() - shown.len();
        if rest > 0 {
            let mut cells =
                vec![dim(format!("{} {}", self.look.rest(), counted(rest as u64, "smaller row")))];
            cells.resize(width, dim(String::new()));
            table.rest(cells);
        }
        table.lines()
    }

    /// A, B, their difference with its interval, and the bar. What may be chance is dim.
    fn figures(&self, time: &TimeDifference, intervals: bool) -> Vec<(Ink, String)> {
        let chance = time.interval.is_some_and(|ends| ends.lo <= 0 && ends.hi >= 0);
        let ink = if chance { Ink::Dim } else { Ink::Plain };
        let mut cells = vec![dim(duration(time.a_ns)), dim(duration(time.b_ns)), (ink, signed(time.ns))];
        if intervals {
            let ends = time.interval.map(|ends| format!("{} to {}", signed(ends.lo), signed(ends.hi)));
            cells.push(dim(ends.unwrap_or_default()));
        }
        cells.push((if chance { Ink::Dim } else { Ink::Bold }, self.bar(time.ns)));
        cells
    }

    /// To the left where B is faster, to the right where it is slower.
    fn bar(&self, ns: i64) -> String {
        let halves = u128::from(ns.unsigned_abs()) * 2 * WING as u128 / u128::from(self.scale);
        let halves = (halves as usize).min(2 * WING);
        let (full, axis) = if self.look.unicode { ("█", "│") } else { ("#", "|") };
        let half = |sign: &'static str| if halves % 2 == 1 && self.look.unicode { sign } else { "" };
        let bar = full.repeat(halves / 2);
        if ns < 0 {
            let part = half("▐");
            let blank = WING - halves / 2 - usize::from(!part.is_empty());
            format!("{}{part}{bar}{axis}", " ".repeat(blank))
        } else {
            format!("{}{axis}{bar}{}", " ".repeat(WING), half("▌"))
        }
    }

    fn states(&self, why: &Why) -> Vec<Line> {
        let rows = why.states.iter().map(|row| Drawn::new(vec![of_state(row.state)], row.time));
        self.table("by state", vec![text("", 11, 0)], "", rows.collect())
    }

    /// By process; of one process the states say the same.
    fn processes(&self, why: &Why) -> Vec<Line> {
        if why.processes.len() < 2 {
            return Vec::new();
        }
        let name = |row: &ProcessDifference| plain(renamed(&row.process, row.process_in_b.as_deref()));
        let rows = why.processes.iter().map(|row| Drawn::new(vec![name(row)], row.time));
        self.table("by process", vec![text("", 10, 0)], "", rows.collect())
    }

    fn steps(&self, why: &Why) -> Vec<Line> {
        let texts = |row: &StepDifference| {
            let name = renamed(&row.process, row.process_in_b.as_deref());
            let reason = named(&words::reason(&row.reason), row.names, self.look);
            vec![plain(name), of_state(row.state), plain(reason)]
        };
        let rows = why.steps.iter().map(|row| Drawn::new(texts(row), row.time));
        let columns = vec![text("", 8, 0), text("", 9, 0), text("", 12, 0)];
        let mut lines = self.table("by place on the path", columns, "", rows.collect());
        if let Some(rest) = &why.steps_rest {
            let said = format!("and {} more places: {}", count(rest.rows), signed(rest.time.ns));
            lines.extend(Line::new(self.look).pad_to(GAP).add(Ink::Dim, &said).wrap(GAP));
        }
        lines
    }

    fn calls(&self, why: &Why) -> Vec<Line> {
        let rows = why.calls.value().into_iter().flatten();
        let rows = rows.map(|row| Drawn::new(vec![plain(row.name.to_string())], row.time).often(&row.calls));
        self.table("system calls", vec![text("", 10, 0)], "calls", rows.collect())
    }

    fn functions(&self, why: &Why) -> Vec<Line> {
        let rows = why.functions.value().into_iter().flatten().map(|row| {
            let module = renamed(&row.module, row.module_in_b.as_deref());
            Drawn::new(vec![plain(row.name.clone()), dim(module)], row.time)
        });
        self.few("functions, CPU time", vec![text("", 14, 0), text("", 8, 5)], rows.collect())
    }

    fn lines(&self, why: &Why) -> Vec<Line> {
        let rows = why.lines.value().into_iter().flatten().map(|row| {
            let place = format!("{}:{}", row.file, row.line);
            Drawn::new(vec![plain(place), dim(row.function.clone())], row.time)
        });
        self.few("lines, CPU time", vec![text("", 14, 0), text("", 8, 5)], rows.collect())
    }

    /// A table without counts that does not sum: with few rows.
    fn few(&self, title: &str, columns: Vec<Column>, mut rows: Vec<Drawn>) -> Vec<Line> {
        rows.truncate(ROWS);
        self.table(title, columns, "", rows)
    }

    fn waits(&self, why: &Why) -> Vec<Line> {
        let texts = |row: &WaitDifference| {
            let call = row.call.syscall().map(SyscallName::to_string).unwrap_or_default();
            vec![of_state(row.reason), plain(call), plain(named(&target(&row.on), row.names, self.look))]
        };
        let rows = why.waits.iter().map(|row| Drawn::new(texts(row), row.time).often(&row.calls));
        let columns = vec![text("", 9, 0), text("", 6, 0), text("", 10, 0)];
        self.table("waits", columns, "times", rows.collect())
    }

    fn wakers(&self, why: &Why) -> Vec<Line> {
        let rows = why.wakers.iter().map(|row| {
            let name = named(&row.name, row.names, self.look);
            let texts = vec![of_state(row.reason), plain(row.kind.name().to_owned()), plain(name)];
            Drawn::new(texts, row.time).often(&row.times)
        });
        let columns = vec![text("", 9, 0), text("", 7, 0), text("", 8, 0)];
        self.table("waits by what ended them", columns, "times", rows.collect())
    }

    fn peers(&self, why: &Why) -> Vec<Line> {
        let rows = why.peers.value().into_iter().flatten().map(|row| {
            let service = dim(row.service.clone().unwrap_or_default());
            let texts = vec![plain(named(&row.remote, row.names, self.look)), service];
            Drawn::new(texts, row.time).often(&row.waits)
        });
        self.table("waits by peer", vec![text("", 14, 0), text("", 5, 6)], "waits", rows.collect())
    }

    fn files(&self, why: &Why) -> Vec<Line> {
        let rows = why.files.iter().map(|row| {
            let name = named(&target(&row.on), row.names, self.look);
            Drawn::new(vec![plain(name)], row.time).often(&row.waits)
        });
        self.table("waits by file", vec![text("", 16, 0)], "waits", rows.collect())
    }
}

fn plain(text: String) -> (Ink, String) {
    (Ink::Plain, text)
}

fn dim(text: String) -> (Ink, String) {
    (Ink::Dim, text)
}

fn of_state(state: State) -> (Ink, String) {
    (Ink::Of(state), words::state(state).to_owned())
}

/// `old, in B new`.
fn renamed(name: &str, in_b: Option<&str>) -> String {
    in_b.map_or_else(|| name.to_owned(), |in_b| format!("{name}, in B {in_b}"))
}

/// A name that stands for others: `/tmp/* ×12`.
fn named(name: &str, names: u32, look: Look) -> String {
    if names > 1 { format!("{name} {}{}", look.times(), count(u64::from(names))) } else { name.to_owned() }
}

fn target(on: &WaitTarget) -> String {
    words::target(on).map_or_else(|| on.to_string(), str::to_owned)
}

/// `200 to 40`: how often, A and B.
fn counts(counts: &CountDifference) -> String {
    let mean = |mean: f64| {
        if mean.fract() == 0.0 && (0.0..1e15).contains(&mean) {
            count(mean as u64)
        } else {
            three_digits(mean)
        }
    };
    if counts.a == counts.b { mean(counts.a) } else { format!("{} to {}", mean(counts.a), mean(counts.b)) }
}
