//! A log of HdrHistogram (`https://github.com/HdrHistogram/HdrHistogram`), which its readers and
//! plotters take: a histogram a line, with a tag that says of what. The waits of a run by their
//! reason, or wake-ups by CPU. Values are nanoseconds.

use super::format::Exported;
use crate::clean::clean;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use model::timeline::Timeline;
use model::wake::Wakeups;
use model::{Ns, Run, State};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Significant decimal digits of a value, as is usual for this format.
const DIGITS: u8 = 3;

/// The largest value that a histogram has room for, unless one is larger: an hour, as is usual, so
/// that logs of several runs can be added up.
const ROOM: Ns = 3_600_000_000_000;

/// Java reads values and counts as signed.
const MOST: u64 = i64::MAX as u64;

/// The legend, which readers skip.
const LEGEND: &str = r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#;

/// Values and how many there are of each, by tag. Tags are dwell's own words.
type ByTag = BTreeMap<String, Vec<(Ns, u64)>>;

/// The waits of a run by reason. With its timeline each has its own length; without it only the
/// octave is known.
pub fn hdr_of_waits(run: &Run, timeline: Option<&Timeline>) -> Exported {
    let mut by_tag = ByTag::new();
    let mut add = |state: State, ns: Ns, count: u64| {
        by_tag.entry(state.name().to_owned()).or_default().push((ns, count));
    };
    let mut left_out = Vec::new();
    if let Some(timeline) = timeline {
        let slices = timeline.threads.iter().flat_map(|thread| &thread.slices);
        slices.filter(|slice| slice.state.blocked()).for_each(|slice| add(slice.state, slice.ns, 1));
        if let Some(until_ns) = timeline.until_ns {
            let seconds = until_ns as f64 / 1e9;
            left_out.push(format!("threads did more than fits: it ends after {seconds:.3} s"));
        }
    }
    let (mut by_octave, mut unknown) = (0_u64, 0_u64);
    // A wait whose reason was not seen is not told from other unexplained time in a timeline.
    for row in run.waits.iter().filter(|row| timeline.is_none() || !row.reason.blocked()) {
        if row.histogram.is_empty() {
            unknown = unknown.saturating_add(row.calls);
        }
        for (beyond, count) in &row.histogram {
            by_octave = by_octave.saturating_add(*count);
            add(row.reason, beyond.saturating_sub(1).min(row.max_ns), *count);
        }
    }
    if by_octave > 0 {
        let where_exact = if timeline.is_some() { "" } else { "; a recording of dwell run has each length" };
        left_out.push(format!(
            "of {by_octave} waits only the octave is known: each is written as the upper bound of its \
             octave, up to twice its length{where_exact}"
        ));
    }
    if unknown > 0 {
        left_out.push(format!("{unknown} waits have no lengths, and are not in it"));
    }
    left_out.push("what was waited for, where, and by which thread is not in it".to_owned());
    log("waits by reason", &run.command, &run.started_at, run.wall_ns, &by_tag, left_out)
}

/// Wake-up latencies by CPU; without a tag where the result has them for all together only.
pub fn hdr_of_wakeups(wakeups: &Wakeups) -> Exported {
    let mut by_tag = ByTag::new();
    let with_bins = wakeups.threads.iter().filter(|wakes| !wakes.histogram.is_empty());
    let together = (!wakeups.all.histogram.is_empty()).then_some(&wakeups.all);
    let of_each: Vec<_> = with_bins.collect();
    for wakes in if of_each.is_empty() { together.into_iter().collect() } else { of_each } {
        let tag = wakes.cpu.map_or(String::new(), |cpu| format!("cpu{cpu}"));
        let most = wakes.max_ns.value().copied().unwrap_or(Ns::MAX);
        let values = wakes.histogram.iter().map(|bin| {
            let value = bin.to_ns.saturating_sub(1).min(most).max(bin.from_ns);
            (value, bin.count)
        });
        by_tag.entry(tag).or_default().extend(values);
    }
    let mut left_out = vec![
        "a latency is written as the upper bound of its bin, of which an octave has 128: at most 1 % more \
         than was measured"
            .to_owned(),
    ];
    match wakeups.all.missed.value() {
        Some(0) => {}
        Some(missed) => left_out.push(format!("{missed} missed periods are no wake-ups, and are not in it")),
        None => left_out.push("missed periods were not observed".to_owned()),
    }
    left_out.push("when latencies occurred, spikes and their causes are not in it".to_owned());
    let command = ["dwell".to_owned(), "wake".to_owned()];
    log("wake-up latencies by CPU", &command, &wakeups.started_at, wakeups.took_ns, &by_tag, left_out)
}

/// The log: one interval, which is the whole measurement, for each tag.
fn log(
    what: &str,
    command: &[String],
    started_at: &str,
    wall_ns: Ns,
    by_tag: &ByTag,
    mut left_out: Vec<String>,
) -> Exported {
    let mut text = String::from("#[Histogram log format version 1.3]\n");
    let version = env!("CARGO_PKG_VERSION");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "#dwell {version}: {what}, in ns: {}", clean(&command.join(" "), true));
    match started_at.parse::<jiff::Timestamp>() {
        Ok(start) if start.as_second() >= 0 => {
            let at = format!("{:.3} (seconds since epoch)", start.as_second() as f64);
            // Intervals begin at 0: at the base.
            let _ = writeln!(text, "#[StartTime: {at}, {start}]\n#[BaseTime: {at}]");
        }
        _ => left_out.push("it does not say when the measurement began: the result has no date".to_owned()),
    }
    text.push_str(LEGEND);
    text.push('\n');
    let largest = by_tag.values().flatten().map(|(ns, _)| *ns).max().unwrap_or(0);
    for (tag, values) in by_tag {
        let Some((max_ns, histogram)) = encoded(values, largest) else {
            let of = if tag.is_empty() { "all" } else { tag };
            left_out.push(format!("{of} has more than the format can hold, and is not in it"));
            continue;
        };
        let tag = if tag.is_empty() { String::new() } else { format!("Tag={tag},") };
        // The start and the length are seconds and the maximum milliseconds, as in logs of Java.
        let (seconds, max) = (wall_ns as f64 / 1e9, max_ns as f64 / 1e6);
        let _ = writeln!(text, "{tag}0.000,{seconds:.9},{max:.6},{histogram}");
    }
    if by_tag.is_empty() {
        left_out.push("there is nothing to count: it has no histogram".to_owned());
    }
    left_out.push(format!("lengths have {DIGITS} digits, so sums are right to 0.1 % only"));
    Exported { bytes: text.into_bytes(), left_out }
}

/// The largest value, and the histogram as a log has it; none where it has too many values.
fn encoded(values: &[(Ns, u64)], largest: Ns) -> Option<(Ns, String)> {
    let room = largest.clamp(ROOM, MOST);
    let mut histogram = Histogram::<u64>::new_with_bounds(1, room, DIGITS).ok()?;
    for (ns, count) in values {
        histogram.saturating_record_n(*ns, *count);
    }
    let counted = values.iter().filter(|(_, count)| *count > 0);
    let max_ns = counted.map(|(ns, _)| (*ns).min(room)).max().unwrap_or(0);
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&histogram, &mut bytes).ok()?;
    Some((max_ns, STANDARD.encode(&bytes)))
}
