//! A function's instructions and basic blocks for a terminal: shares of its time, executions, and
//! the source. Blocks without samples or executions are folded to one line.

use crate::Look;
use crate::clean::width;
use crate::paint::{Ink, Line};
use crate::units::{count, counted, share_of_one};
use ::listing::{Flow, Instruction, Listed, ListedBlock, Listing, Note, SourceLine};
use model::State;

/// Columns of the bar.
const BAR: usize = 6;
/// Blanks between columns.
const GAP: usize = 2;
/// Pages narrower than this leave out intervals, and the bar.
const WIDE: usize = 72;
const NARROW: usize = 52;

/// The listing as text: a headline, the blocks, and notes.
pub fn listing(listing: &Listing, look: Look) -> String {
    let mut lines = head(listing, look);
    let page = Page::new(listing, look);
    lines.push(page.columns());
    let mut folded: Vec<&ListedBlock> = Vec::new();
    // The source line of a folded block, to be shown where it continues.
    let mut begun = None;
    for (index, block) in listing.blocks.iter().enumerate() {
        if page.is_cold(block) {
            folded.push(block);
            begun = block.rows.iter().rev().find_map(|row| row.line).or(begun);
            continue;
        }
        lines.extend(page.fold(&mut folded));
        page.block(block, listing.hottest == Some(index), begun.take(), &mut lines);
    }
    lines.extend(page.fold(&mut folded));
    lines.extend(page.others());
    if !listing.notes.is_empty() {
        lines.push(Line::new(look));
    }
    lines.extend(listing.notes.iter().flat_map(|note| Line::new(look).add(Ink::Dim, &words(note)).wrap(2)));
    lines.iter().map(|line| line.render() + "\n").collect()
}

/// The function, and its share of the program.
fn head(listing: &Listing, look: Look) -> Vec<Line> {
    let subject = &listing.subject;
    let mut line = Line::new(look)
        .add(Ink::Bold, &subject.name)
        .add(Ink::Plain, " in ")
        .add(Ink::Plain, &subject.module);
    if let Some(share) = listing.share {
        let interval = format!(" ({})", range(share.lo, share.hi, look));
        line = line
            .add(Ink::Plain, ": ")
            .glued(Ink::Bold, &share_of_one(share.value))
            .glued(Ink::Dim, &interval);
        line = line.add(Ink::Plain, " of the program's CPU time");
    }
    if listing.sample.count > 0 {
        line = line.add(Ink::Plain, ", ").glued(Ink::Plain, &counted(listing.sample.count, "sample"));
    }
    if let Some(executed) = listing.executed {
        line = line
            .add(Ink::Plain, ", ")
            .glued(Ink::Plain, &counted(executed, "instruction"))
            .add(Ink::Plain, " executed");
    }
    line.wrap(2)
}

/// The columns of a listing, by width.
struct Page<'a> {
    listing: &'a Listing,
    look: Look,
    bar: bool,
    /// 0 if there is no such column.
    interval: usize,
    executed: usize,
    address: usize,
}

impl<'a> Page<'a> {
    fn new(listing: &'a Listing, look: Look) -> Self {
        let sampled = listing.sample.count > 0;
        let rows = || listing.blocks.iter().flat_map(|block| &block.rows);
        let executed =
            rows().filter_map(|row| row.executions).map(|executions| width(&count(executions))).max();
        let last = listing.blocks.last().map_or(0, |block| block.end);
        Page {
            listing,
            look,
            bar: sampled && look.columns() >= NARROW,
            interval: if sampled && look.columns() >= WIDE { 8 } else { 0 },
            executed: executed.map_or(0, |digits| digits.max("executed".len())),
            address: format!("{last:x}").len(),
        }
    }

    fn sampled(&self) -> bool {
        self.listing.sample.count > 0
    }

    /// Whether the block has no samples; in a listing without samples, no executions.
    fn is_cold(&self, block: &ListedBlock) -> bool {
        match (self.sampled(), block.executions) {
            (true, _) => block.sample.count == 0,
            (false, Some(_)) => block.rows.iter().all(|row| row.executions == Some(0)),
            (false, None) => false,
        }
    }

    /// The start of the columns after the shares.
    fn after_shares(&self) -> usize {
        let bar = if self.bar { BAR + GAP } else { 0 };
        let interval = if self.interval > 0 { self.interval + GAP } else { 0 };
        if self.sampled() { bar + "100 %".len() + GAP + interval } else { 0 }
    }

    fn code_column(&self) -> usize {
        let executed = if self.executed > 0 { self.executed + GAP } else { 0 };
        self.after_shares() + executed + self.address + GAP
    }

    fn columns(&self) -> Line {
        let mut line = Line::new(self.look);
        if self.sampled() {
            let end = self.after_shares() - GAP;
            let title = if self.interval > 0 { "share (95 %)" } else { "share" };
            line = line.pad_to(end - title.len().min(end)).add(Ink::Dim, title);
        }
        if self.executed > 0 {
            line =
                line.pad_to(self.after_shares() + self.executed - "executed".len()).add(Ink::Dim, "executed");
        }
        line.pad_to(self.code_column()).add(Ink::Dim, "instruction").cut()
    }

    fn block(&self, block: &ListedBlock, hottest: bool, mut begun: Option<usize>, lines: &mut Vec<Line>) {
        let ink = if hottest { Ink::Bold } else { Ink::Dim };
        let mut line = self.figures(&block.sample, &block.share, block.executions, ink);
        line = line.pad_to(self.code_column() - GAP - self.address);
        line = line.add(ink, &format!("block {:x}", block.start));
        if !block.successors.is_empty() {
            let arrow = if self.look.unicode { " → " } else { " -> " };
            let next: Vec<String> = block.successors.iter().map(|start| format!("{start:x}")).collect();
            line = line.add(Ink::Dim, arrow).add(Ink::Dim, &next.join(", "));
        }
        if hottest {
            line = line.add(Ink::Warn, "  hottest");
        }
        lines.push(line.cut());
        for row in &block.rows {
            let line = row.line.or(begun.take());
            if let Some(source) = line.and_then(|index| self.listing.lines.get(index)) {
                lines.push(self.source(source));
            }
            lines.push(self.row(row, block));
        }
    }

    fn row(&self, row: &Listed, block: &ListedBlock) -> Line {
        // The instructions of a block have equal executions; only others are repeated.
        let executions = row.executions.filter(|executions| Some(*executions) != block.executions);
        let warm = self.sampled() && row.sample.count > 0;
        let mut line = if warm {
            self.figures(&row.sample, &row.share, executions, Ink::Plain)
        } else {
            self.executed(Line::new(self.look), executions)
        };
        let address = format!("{:>width$x}", row.instruction.address, width = self.address);
        line = line.pad_to(self.code_column() - GAP - self.address).add(Ink::Dim, &address);
        let ink = if warm || !self.sampled() { Ink::Plain } else { Ink::Dim };
        line.pad_to(self.code_column()).add(ink, &text(&row.instruction)).cut()
    }

    /// Bar, share, interval and executions.
    fn figures(
        &self,
        sample: &::listing::AddressSamples,
        share: &stats::Proportion,
        executions: Option<u64>,
        ink: Ink,
    ) -> Line {
        let mut line = Line::new(self.look);
        if self.sampled() && sample.count > 0 {
            if self.bar {
                line = line.add(Ink::Of(State::User), &bar(share.value, self.look)).pad_to(BAR + GAP);
            }
            let text = share_of_one(share.value);
            let end = line.width() + "100 %".len();
            line = line.pad_to(end - width(&text).min(end)).add(ink, &text);
            if self.interval > 0 {
                let text = range(share.lo, share.hi, self.look);
                let end = end + GAP + self.interval;
                line = line.pad_to(end - width(&text).min(end)).add(Ink::Dim, &text);
            }
        }
        self.executed(line, executions)
    }

    fn executed(&self, line: Line, executions: Option<u64>) -> Line {
        let Some(executions) = executions.filter(|_| self.executed > 0) else { return line };
        let text = count(executions);
        let end = self.after_shares() + self.executed;
        line.pad_to(end - width(&text).min(end)).add(Ink::Plain, &text)
    }

    fn source(&self, source: &SourceLine) -> Line {
        let file = source.file.rsplit('/').next().unwrap_or(&source.file);
        let line = Line::new(self.look).pad_to(self.code_column() - GAP - self.address);
        let line = line.add(Ink::Of(State::Network), &format!("{file}:{}", source.line));
        // Indentation matters, and tabs would be escaped.
        let text = source.text.as_deref().unwrap_or("").replace('\t', "    ");
        line.add(Ink::Plain, "  ").add(Ink::Of(State::Network), text.trim_end()).cut()
    }

    /// One line for the blocks that a result has no room for.
    fn others(&self) -> Option<Line> {
        let others = self.listing.others;
        if others.blocks == 0 {
            return None;
        }
        let text = format!(
            "{} {} more with {}, {} executed",
            self.look.rest(),
            counted(others.blocks, "block"),
            counted(others.instructions, "instruction"),
            count(others.executed)
        );
        let line = Line::new(self.look).pad_to(self.code_column() - GAP - self.address);
        Some(line.add(Ink::Dim, &text).cut())
    }

    /// One line for blocks without samples or executions.
    fn fold(&self, blocks: &mut Vec<&ListedBlock>) -> Option<Line> {
        if blocks.is_empty() {
            return None;
        }
        let instructions: usize = blocks.iter().map(|block| block.rows.len()).sum();
        let most = blocks.iter().filter_map(|block| block.executions).max();
        let why = match most {
            Some(0) => "never executed".to_owned(),
            Some(most) => format!("no samples, executed at most {}", counted(most, "time")),
            None => "no samples".to_owned(),
        };
        let text = format!("{} {}, {why}", self.look.rest(), counted(instructions as u64, "instruction"));
        blocks.clear();
        let line = Line::new(self.look).pad_to(self.code_column() - GAP - self.address);
        Some(line.add(Ink::Dim, &text).cut())
    }
}

/// The text of an instruction; bytes that are none are marked.
fn text(instruction: &Instruction) -> String {
    match instruction.kind {
        Flow::Trap if instruction.text.starts_with(".byte") => {
            format!("{}  (no instruction)", instruction.text)
        }
        _ => instruction.text.clone(),
    }
}

fn range(lo: f64, hi: f64, look: Look) -> String {
    let (lo, hi) = (share_of_one(lo), share_of_one(hi));
    if lo == hi { lo } else { format!("{}{}{hi}", lo.trim_end_matches(" %"), look.dash()) }
}

fn bar(share: f64, look: Look) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = ((share * (BAR * 8) as f64).round() as usize).min(BAR * 8);
    if look.unicode {
        format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
    } else {
        "#".repeat((eighths + 4) / 8)
    }
}

fn words(note: &Note) -> String {
    match note {
        Note::Skid => {
            "skid: a sample has the address of the next instruction, so the time of a slow instruction is \
             shown at the one after it (of a jump, at its target); blocks are more reliable"
                .to_owned()
        }
        Note::Few(samples) => format!(
            "only {}: intervals are wide; a longer run or a higher --rate narrows them",
            counted(*samples, "sample")
        ),
        Note::NoSamples => "no samples".to_owned(),
        Note::Astray(samples) => {
            format!("{} not at the start of an instruction: in the total only", counted(*samples, "sample"))
        }
        Note::Partial => {
            "executions are counted up to the limit; the rest of the program ran uncounted".to_owned()
        }
        Note::IndirectJumps(jumps) => format!(
            "{}: blocks reached only by them are separate only if executed under --count-blocks",
            counted(*jumps as u64, "indirect jump")
        ),
    }
}

#[cfg(test)]
mod tests;
