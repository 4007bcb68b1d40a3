//! The histogram and the timeline of maxima, in character cells.

use super::columns::{Axis, counts};
use super::words;
use crate::Look;
use crate::axis;
use crate::clean::width;
use crate::paint::{Ink, Line};
use crate::units::{duration, exact};
use model::Ns;
use model::wake::{Bin, LatencyBlock, Wakeups};

/// Rows of the histogram at most: one for each power of ten.
const ROWS: usize = 9;
/// Columns of a row's label: `100M`.
const LABEL: usize = 4;
/// A timeline of fewer blocks is not shown.
const BLOCKS: usize = 3;
const EIGHTHS: [&str; 9] = ["", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// A cell filled by this number of eighths.
fn cell(eighths: usize, look: Look) -> &'static str {
    match eighths.min(8) {
        0 => " ",
        filled if look.unicode => EIGHTHS[filled],
        1..=3 => ".",
        4..=6 => ":",
        _ => "#",
    }
}

/// The deadline, to be marked.
fn mark(wakeups: &Wakeups) -> Option<Ns> {
    wakeups.settings.asked.deadline.map(|deadline| deadline.deadline_ns)
}

/// The histogram of latencies.
pub(crate) fn histogram(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    let title = format!("{}s by latency, all CPUs", words::cycles(wakeups.settings.asked.mode));
    let title = if wakeups.threads.len() == 1 { title.replace(", all CPUs", "") } else { title };
    bars(&title, &wakeups.all.histogram, mark(wakeups), look)
}

/// A histogram with logarithmic counts below its title.
pub(crate) fn bars(title: &str, bins: &[Bin], mark: Option<Ns>, look: Look) -> Vec<Line> {
    let Some(axis) = Axis::of(&[bins], mark) else { return Vec::new() };
    bars_on(axis, title, bins, mark, look)
}

/// The same on a given axis.
pub(crate) fn bars_on(axis: Axis, title: &str, bins: &[Bin], mark: Option<Ns>, look: Look) -> Vec<Line> {
    let (left, cells) = (LABEL + 1, look.columns() - LABEL - 1);
    let counts = counts(bins, &axis.cells(cells));
    let most = counts.iter().copied().fold(1.0, f64::max);
    let rows = ((most.log10() + 1e-9).floor() as usize + 1).min(ROWS);
    let labels: Vec<String> = (0..rows).map(power).collect();
    let marked = mark.map(|ns| axis.share(ns as f64)).filter(|share| *share <= 1.0);
    let marked = marked.map(|share| ((share * cells as f64) as usize).min(cells - 1));
    let mut head = Line::new(look).add(Ink::Bold, title);
    if let (Some(_), Some(ns)) = (marked, mark) {
        head = head.add(Ink::Dim, &format!("; {} deadline {}", stroke(look), exact(ns)));
    }
    let mut lines = vec![head.cut()];
    for (row, label) in labels.iter().enumerate().rev() {
        let mut line = Line::new(look).pad_to(left - 1 - width(label)).add(Ink::Dim, label).pad_to(left);
        for (at, count) in counts.iter().enumerate() {
            let eighths = eighths(*count, row);
            line = match marked {
                Some(marked) if marked == at && eighths == 0 => line.add(Ink::Warn, stroke(look)),
                Some(marked) if at >= marked => line.add(Ink::Warn, cell(eighths, look)),
                _ => line.add(Ink::Plain, cell(eighths, look)),
            };
        }
        lines.push(line.cut());
    }
    lines.push(labels_line(axis, left, cells, look));
    lines
}

fn stroke(look: Look) -> &'static str {
    if look.unicode { "┊" } else { "|" }
}

/// How far a count fills the row of a power of ten; at least one eighth if it reaches the row.
fn eighths(count: f64, row: usize) -> usize {
    if count <= 0.0 {
        return 0;
    }
    let filled = (count.max(1.0).log10() + 1e-9 - row as f64) * 8.0;
    if filled < 0.0 { 0 } else { (filled.round() as usize).clamp(1, 8) }
}

/// `1`, `10`, `1k`, `100M`: a power of ten in few characters.
pub(crate) fn power(power: usize) -> String {
    let unit = ["", "k", "M", "G", "T", "P", "E"].get(power / 3).unwrap_or(&"");
    format!("{}{unit}", 10_u32.pow(power as u32 % 3))
}

/// The axis' labels, each starting at its value.
fn labels_line(axis: Axis, left: usize, cells: usize, look: Look) -> Line {
    let mut line = Line::new(look);
    for (ns, label) in axis.ticks(cells / 9) {
        let tick = if look.unicode { "╵" } else { "'" };
        let at = left + (axis.share(ns) * cells as f64) as usize;
        let text = format!("{tick}{label}");
        let free = line.is_empty() || at > line.width();
        if free && at + width(&text) <= look.columns() {
            line = line.pad_to(at).add(Ink::Dim, &text);
        }
    }
    line
}

/// The maximum of each block, in a row.
pub(crate) fn timeline(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    let blocks = &wakeups.all.timeline;
    if blocks.len() < BLOCKS {
        return Vec::new();
    }
    let long = wakeups.took_ns.max(1);
    let columns = look.columns();
    let axis = axis_of(blocks, None);
    let each = duration((long / columns as u64).max(block_ns(blocks)));
    let scale = if axis.is_log() { ", logarithmic" } else { "" };
    let top = blocks.iter().map(|block| block.max_ns).max().unwrap_or(0);
    let title = Line::new(look)
        .add(Ink::Bold, "maximum latency over time")
        .add(Ink::Dim, &format!(": per {each}, up to {}{scale}", duration(top)));
    let row = Line::new(look).add(Ink::Plain, &spark(blocks, long, columns, axis, look));
    vec![title.cut(), row.cut(), axis::axis(long, look)]
}

/// The length of a block.
pub(crate) fn block_ns(blocks: &[LatencyBlock]) -> Ns {
    blocks.windows(2).map(|two| two[1].at_ns.saturating_sub(two[0].at_ns)).min().unwrap_or(0)
}

/// An axis for the maxima of blocks, and for `mark` where it is near.
pub(crate) fn axis_of(blocks: &[LatencyBlock], mark: Option<Ns>) -> Axis {
    let all = || blocks.iter().filter(|block| block.cycles > 0).map(|block| block.max_ns);
    Axis::between(all().min().unwrap_or(1), all().max().unwrap_or(1), mark)
}

/// A sparkline of maxima: `long` cut into `columns` equal parts; blank where nothing was measured.
pub(crate) fn spark(blocks: &[LatencyBlock], long: Ns, columns: usize, axis: Axis, look: Look) -> String {
    let of = |max: Option<Ns>| match max {
        None => " ",
        Some(ns) => cell(((axis.share(ns as f64) * 8.0).round().max(1.0)) as usize, look),
    };
    maxima(blocks, long, columns).into_iter().map(of).collect()
}

/// `long` cut into equal parts, and the maximum of the blocks that overlap each.
pub(crate) fn maxima(blocks: &[LatencyBlock], long: Ns, parts: usize) -> Vec<Option<Ns>> {
    let mut maxima: Vec<Option<Ns>> = vec![None; parts];
    let part = |at: Ns| (u128::from(at) * parts as u128 / u128::from(long.max(1))) as usize;
    for (at, block) in blocks.iter().enumerate().filter(|(_, block)| block.cycles > 0) {
        let end = blocks.get(at + 1).map_or(long, |next| next.at_ns).max(block.at_ns + 1);
        let (first, last) = (part(block.at_ns), part(end - 1));
        for part in maxima.iter_mut().take(last + 1).skip(first.min(parts.saturating_sub(1))) {
            *part = (*part).max(Some(block.max_ns));
        }
    }
    maxima
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_power_of_ten_and_one_is_seen() {
        assert_eq!([1.0, 0.2, 9.9].map(|count| eighths(count, 0)), [1, 1, 8]);
        assert_eq!([0.0, 1.0, 10.0, 32.0, 1e6].map(|count| eighths(count, 1)), [0, 0, 1, 4, 8]);
        assert_eq!([0, 1, 3, 5, 8].map(power), ["1", "10", "1k", "100k", "100M"]);
    }

    #[test]
    fn a_time_without_wake_ups_is_blank() {
        let block = |at_ns, cycles, max_ns| LatencyBlock { at_ns, cycles, max_ns };
        let blocks = [block(0, 5, 100), block(10, 0, 0), block(20, 5, 300), block(30, 5, 200)];
        assert_eq!(maxima(&blocks, 40, 4), [Some(100), None, Some(300), Some(200)]);
        assert_eq!(maxima(&blocks, 40, 2), [Some(100), Some(300)]);
        assert_eq!(maxima(&blocks, 40, 8)[..4], [Some(100), Some(100), None, None]);
        assert_eq!(maxima(&[], 40, 2), [None, None]);
    }
}
