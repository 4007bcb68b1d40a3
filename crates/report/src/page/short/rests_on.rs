//! What the page rests on, in a line, and where more is.

use super::super::words;
use super::first;
use crate::Look;
use crate::paint::{Ink, Line};
use crate::units::{duration, duration_range, share_range};
use model::coverage::{Extent, Source};
use model::{Diagnosis, Ns, Run, Seen};

/// The part of the wall clock (1 in N) from which the CPU time of dwell's reader is told, and the
/// least: to begin and to end takes it some ten milliseconds.
const READER_PART: Ns = 20;
const READER_NS: Ns = 200_000_000;

pub(super) fn lines(run: &Run, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let coverage = &run.coverage;
    let of = |extent: Extent| -> Vec<&Source> {
        coverage.sources.iter().filter(|source| source.seen == extent).collect()
    };
    let names = |sources: &[&Source]| -> String {
        let names: Vec<&str> = sources.iter().map(|source| words::source(&source.name)).collect();
        names.join(", ")
    };
    let (none, partial) = (of(Extent::None), of(Extent::Partial));
    let mut line = Line::new(look);
    let mut item = |ink: Ink, text: String| {
        let start = std::mem::replace(&mut line, Line::new(look));
        let start = if start.is_empty() { start } else { start.add(Ink::Dim, "; ") };
        // A figure and its unit stay together; lists of sources are wrapped.
        let figures = text.starts_with("dwell's");
        line = if figures { start.glued(ink, &text) } else { start.add(ink, &text) };
    };
    if !none.is_empty() {
        item(Ink::Warn, format!("no data: {}", names(&none)));
    }
    if !partial.is_empty() {
        item(Ink::Plain, format!("partial data: {}", names(&partial)));
    }
    if matches!(coverage.lost_events, Seen::Value(lost) if lost > 0) {
        item(Ink::Warn, "data with gaps: events were lost".to_owned());
    } else if diagnosis.doubts.unexplained {
        item(Ink::Warn, "data with gaps: much of the time is unexplained".to_owned());
    } else if none.is_empty() && partial.is_empty() && !coverage.sources.is_empty() {
        item(Ink::Dim, "complete data".to_owned());
    }
    match &coverage.lost_events {
        Seen::Value(0) => item(Ink::Dim, "no events lost".to_owned()),
        // Lost ones are told above.
        Seen::Value(_) | Seen::Absent => {}
        Seen::Unseen(_) => item(Ink::Dim, "lost events unknown".to_owned()),
    }
    match &coverage.overhead_ns {
        Seen::Value(cost) => {
            let ns = duration_range(cost.lo, cost.hi, look.dash());
            let of_wall = share_range(cost.lo, cost.hi, run.wall_ns, look.dash());
            item(Ink::Dim, format!("dwell's overhead {ns} ({of_wall})"));
            // Where CPUs are short the program has less of them for what the reader has.
            if let Seen::Value(reader_ns) = coverage.reader_cpu_ns
                && diagnosis.doubts.host_busy
                && reader_ns >= (run.wall_ns / READER_PART).max(READER_NS)
            {
                item(Ink::Plain, format!("its reader took {} of CPU time", duration(reader_ns)));
            }
        }
        Seen::Absent => {}
        Seen::Unseen(_) => item(Ink::Dim, "dwell's overhead unknown".to_owned()),
    }
    let mut lines = first(line.wrap(2), 2, look);
    if let Some(source) = none.iter().find(|source| !source.remedy.is_empty()) {
        let line = Line::new(look).add(Ink::Dim, "try: ").add(Ink::Plain, &source.remedy);
        lines.extend(first(line.wrap(2), 2, look));
    }
    let causes = if diagnosis.ruled_out.is_empty() { "" } else { "; --causes: what dwell looked for" };
    let more = format!("-v: all tables; --flame: the call tree{causes}");
    lines.push(Line::new(look).add(Ink::Dim, &more).cut());
    lines
}
