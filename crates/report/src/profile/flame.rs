//! The flame view for a terminal: the call tree of all threads, on a CPU and waiting.
//!
//! A flame graph turned on its side: each row is a function (or a chain of single callees), each
//! bar is below its part of the caller's bar, and all rows are cut out of one strip of time, so
//! that waiting is in the same columns from the outermost function to the innermost. Beside the
//! bars: the total share with callees, the self share, and the state of the self time.
//!
//! Why not the usual rows of boxes: at 80 columns a box of a tenth of the time has 8 columns, and
//! names of C++ and Rust functions are cut to their namespace (`std::ve…`); the hottest function,
//! mostly a narrow box at the bottom, is unreadable. An indented tree has the names but no picture:
//! it does not show that three rows of 12 % are side by side and not within each other. Here names
//! have a column of their own next to the picture.
//!
//! To fit a screen, in this order: recursion is folded into the function that began it; a function
//! below a least share counts for its caller; a function with a single callee shares the row of the
//! callee; and the least share is raised from 1 % until the rows are few enough, that of the
//! program's own functions last. Each row left is a function with self time, one that calls
//! several, or the innermost one of the program's own. Functions of scripts have their lines.

use super::layout::{FlameRow, Kind, Least, rows};
use super::names::short;
use super::strip::{Strip, fill};
use super::tree::{Label, Shape, Time, Tree};
use crate::Look;
use crate::clean::{clean, fit, width};
use crate::paint::{Ink, Line};
use crate::units::{count, counted, duration, share};
use model::profile::{Activity, Profile};
use model::{Ns, State};
use std::ops::Range;

/// What to show, and how.
#[derive(Debug, Clone, Copy)]
pub struct FlameOptions {
    /// What the output supports. The view has 40 to 240 columns.
    pub look: Look,
    /// The most rows of functions; head and notes are a few more.
    pub rows: usize,
    /// Each thread name has a tree of its own, instead of one tree for all.
    pub apart: bool,
    /// Idle threads are shown too. Otherwise they are in the notes, if other threads were busy.
    pub idle: bool,
}

impl FlameOptions {
    /// The usual view.
    pub fn new(look: Look) -> Self {
        FlameOptions { look, rows: 18, apart: false, idle: false }
    }
}

/// Self time from this part of all (1 in N) is bold.
const HOT: Ns = 10;

/// The view, with a newline after each line; empty without stacks.
pub fn flame(profile: &Profile, options: &FlameOptions) -> String {
    let idle = if options.idle { Vec::new() } else { idle_threads(profile) };
    let shape = Shape { fold: true, apart: options.apart };
    let mut tree = Tree::new(profile, shape, |weight| !idle.contains(&weight.thread));
    tree.mark_own(profile);
    let total = tree.total();
    if total.sum() == 0 {
        return String::new();
    }
    let (rows, pieces, least) = rows(&tree, total.sum(), options.rows.max(1));
    let columns = usize::from(options.look.width).clamp(40, 240);
    let view = View { profile, tree: &tree, total: &total, look: options.look, columns };
    let threads = profile.threads.len() - idle.len();
    let mut lines: Vec<Line> = view.head(threads).into_iter().map(|line| line.cut_to(columns)).collect();
    let bar = (columns * 3 / 10).clamp(12, 72);
    let strip = Strip::new(&pieces, bar);
    // The cells of a row's callers: bars are always within them.
    let mut callers: Vec<Range<usize>> = Vec::new();
    for row in &rows {
        callers.truncate(row.depth);
        let cells = strip.cells(row.start, row.total.sum(), callers.last().unwrap_or(&strip.all()));
        lines.push(view.row(row, &strip, &cells, least.own).cut_to(columns));
        callers.push(cells);
    }
    lines.extend(view.notes(&idle, least));
    let mut page = String::new();
    for line in lines {
        page.push_str(&line.render());
        page.push('\n');
    }
    page
}

/// Threads that waited for 95 % of their time, while others were busy for at least half as long.
/// Waiting for a disk is not idle.
pub(super) fn idle_threads(profile: &Profile) -> Vec<u32> {
    let mut times = vec![Time::default(); profile.threads.len()];
    for weight in &profile.weights {
        if let Some(time) = times.get_mut(weight.thread as usize) {
            time.add(weight.doing.state(), weight.ns);
        }
    }
    let idle = |time: &Time| {
        let idly: Ns = time
            .parts()
            .iter()
            .filter(|(state, _)| state.blocked() && *state != State::Disk)
            .map(|part| part.1)
            .sum();
        idly > time.sum() / 100 * 95
    };
    let busy =
        times.iter().filter(|time| !idle(time)).fold(0, |sum: Ns, time| sum.saturating_add(time.sum()));
    let numbers = times.iter().enumerate();
    numbers.filter(|(_, time)| idle(time) && busy >= time.sum() / 2).map(|(index, _)| index as u32).collect()
}

/// The view of a tree.
struct View<'a> {
    profile: &'a Profile,
    tree: &'a Tree,
    total: &'a Time,
    look: Look,
    columns: usize,
}

/// Columns before the bar: two shares of five, each with a gap.
const FIGURES: usize = 16;

impl View<'_> {
    /// The total time, with the legend of the fills.
    fn head(&self, threads: usize) -> Vec<Line> {
        let whole = self.total.sum();
        let of = format!("{} of {}", duration(whole), counted(threads as u64, "thread"));
        let mut line = Line::new(self.look).add(Ink::Bold, "call tree  ").add(Ink::Plain, &of);
        let key = |line: Line, state: State, text: &str| {
            let line = line.add(Ink::Plain, "  ").add(Ink::Of(state), fill(state, self.look));
            line.add(Ink::Plain, " ").add(Ink::Plain, text)
        };
        let (on_cpu, waiting): (Vec<_>, Vec<_>) =
            self.total.parts().into_iter().partition(|part| part.0.on_cpu());
        for (state, ns) in on_cpu {
            line = key(line, state, &format!("{} {}", state.name(), share(ns, whole)));
        }
        if let Some((most, _)) = waiting.first() {
            let waited = waiting.iter().fold(0, |sum: Ns, part| sum.saturating_add(part.1));
            let plain = key(line.clone(), *most, &format!("waiting {}", share(waited, whole)));
            // By state, if there is room.
            let mut each = line.clone();
            for (index, (state, ns)) in waiting.iter().enumerate() {
                let what = if index == 0 { "waiting: " } else { "" };
                each = key(each, *state, &format!("{what}{} {}", state.name(), share(*ns, whole)));
            }
            let fits = |line: &Line| line.width() <= self.columns;
            line = [each, plain].into_iter().find(fits).unwrap_or(line);
        }
        vec![line, Line::new(self.look).add(Ink::Dim, " total    self")]
    }

    fn row(&self, row: &FlameRow, strip: &Strip, cells: &Range<usize>, least: Ns) -> Line {
        let bar = strip.all().len();
        let whole = self.total.sum();
        let (total, own) = (row.total.sum(), row.own.sum());
        let hot = own >= whole / HOT;
        let all = share(total, whole);
        let mut line = Line::new(self.look).pad_to(6_usize.saturating_sub(width(&all))).add(Ink::Plain, &all);
        // Self time below the least share is noise.
        if own >= least {
            let own = share(own, whole);
            line = line.pad_to(14 - width(&own).min(6)).add(if hot { Ink::Bold } else { Ink::Plain }, &own);
        }
        line = line.pad_to(FIGURES);
        let mostly =
            row.total.parts().into_iter().max_by_key(|part| part.1).map_or(State::User, |part| part.0);
        line = strip.paint(line, self.look, cells, mostly).pad_to(FIGURES + bar + 2);
        // Deep trees are indented less, so that names have room.
        let room = self.columns - line.width().min(self.columns);
        let indent = (row.depth * 2).min(room / 3);
        line = line.pad_to(FIGURES + bar + 2 + indent);
        let room = room - indent;
        match &row.kind {
            Kind::Others(count) => line.add(
                Ink::Dim,
                &fit(
                    &format!("{} {}", self.look.rest(), counted(*count as u64, "other")),
                    room,
                    self.look.unicode,
                ),
            ),
            Kind::Chain(chain) => self.chain(line, chain, row, room, hot, least),
        }
    }

    /// The names of a chain: always the last, as many before it as fit, and the state of its self
    /// time.
    fn chain(&self, line: Line, chain: &[u32], row: &FlameRow, room: usize, hot: bool, least: Ns) -> Line {
        let Some((last, before)) = chain.split_last() else { return line };
        let doing = self.doing(row, least);
        let spare = doing.as_ref().map_or(0, |(_, text)| width(text) + 2);
        let name = self.name(*last, room.saturating_sub(spare).max(room.min(12)));
        let mut left = room.saturating_sub(width(&name) + spare);
        let arrow = if self.look.unicode { " › " } else { " > " };
        let cut = format!("{}{arrow}", self.look.rest());
        let mut names = Vec::new();
        for (index, branch) in before.iter().enumerate().rev() {
            let name = self.name(*branch, 28) + arrow;
            let needed = width(&name) + if index > 0 { width(&cut) } else { 0 };
            if needed > left {
                if left >= width(&cut) {
                    names.push(cut.clone());
                }
                break;
            }
            left -= width(&name);
            names.push(name);
        }
        names.reverse();
        let mut line =
            line.add(Ink::Dim, &names.concat()).add(if hot { Ink::Bold } else { Ink::Plain }, &name);
        let mut used = names.iter().map(|name| width(name)).sum::<usize>() + width(&name);
        if let Some((state, text)) = doing.filter(|(_, text)| used + 2 + width(text) <= room) {
            used += 2 + width(&text);
            line = line.add(Ink::Plain, "  ").add(state.map_or(Ink::Dim, Ink::Of), &text);
        }
        match self.line_of(*last, row, least).filter(|text| used + 2 + width(text) <= room) {
            Some(text) => line.add(Ink::Plain, "  ").add(Ink::Dim, &text),
            None => line,
        }
    }

    fn name(&self, branch: u32, columns: usize) -> String {
        let branch = &self.tree.branches[branch as usize];
        let marked = branch.recursive.then_some(if self.look.unicode { " ↻" } else { " *" });
        let columns = columns.saturating_sub(marked.map_or(0, width));
        let name = match branch.label {
            Label::Function(frame) => short(&self.profile.frames[frame as usize], columns, self.look),
            Label::Thread(thread) => {
                let name = clean(&self.profile.threads[thread as usize].name, self.look.unicode);
                fit(&format!("thread {name}"), columns, self.look.unicode)
            }
        };
        name + marked.unwrap_or("")
    }

    /// The state of most of the self time, unless it is user code.
    fn doing(&self, row: &FlameRow, least: Ns) -> Option<(Option<State>, String)> {
        let own = row.own.sum();
        let (state, most) = row.own.parts().into_iter().max_by_key(|part| part.1)?;
        if own < least || state == State::User {
            return None;
        }
        let name =
            if state.on_cpu() { state.name().to_owned() } else { format!("waiting: {}", state.name()) };
        // Several states in one function: with the share of this one.
        let text =
            if most >= own / 10 * 9 { name } else { format!("{name} {}", share(most, self.total.sum())) };
        Some((Some(state), text))
    }

    /// The source line that has most of the self time; of a script's function without such time
    /// that from which it called others.
    fn line_of(&self, branch: u32, row: &FlameRow, least: Ns) -> Option<String> {
        let branch = &self.tree.branches[branch as usize];
        let (frame, _) = branch.hottest.filter(|_| row.own.sum() >= least).or(branch.at)?;
        let (file, line) = self.profile.frames.get(frame as usize)?.source.as_ref()?;
        let file = clean(file.rsplit('/').next().unwrap_or(file), self.look.unicode);
        Some(if *line > 0 { format!("{file}:{line}") } else { file })
    }

    /// What the picture omits.
    fn notes(&self, idle: &[u32], least: Least) -> Vec<Line> {
        let mut notes = Vec::new();
        if self.tree.branches.iter().any(|branch| branch.recursive) {
            let mark = if self.look.unicode { "↻" } else { "*" };
            notes.push(format!("{mark} recursive, folded"));
        }
        let [own, other] = [least.own, least.other].map(|ns| share(ns, self.total.sum()));
        notes.push(if own == other {
            format!("functions below {own} counted in callers")
        } else {
            format!("functions below {other} counted in callers, one's own below {own}")
        });
        if !idle.is_empty() {
            let mut time = Time::default();
            for weight in self.profile.weights.iter().filter(|weight| idle.contains(&weight.thread)) {
                if let Activity::Waiting(state) = weight.doing {
                    time.add(state, weight.ns);
                }
            }
            let threads = counted(idle.len() as u64, "idle thread");
            notes.push(format!("{threads} ({}) not shown", duration(time.sum())));
        }
        if self.profile.broken > 0 {
            let of = share(self.profile.broken, self.profile.stacks);
            notes.push(format!("{of} of {} stacks cut short", count(self.profile.stacks)));
        }
        let mut lines = Vec::new();
        let mut line = Line::new(self.look);
        for note in notes {
            let note = fit(&note, self.columns - 2, self.look.unicode);
            let gap = if line.is_empty() { 0 } else { 2 };
            if line.width() + gap + width(&note) > self.columns - 2 {
                lines.push(std::mem::replace(&mut line, Line::new(self.look)));
            }
            let gap = if line.is_empty() { "  " } else { "; " };
            line = line.add(Ink::Dim, gap).add(Ink::Dim, &note);
        }
        lines.push(line);
        lines
    }
}
