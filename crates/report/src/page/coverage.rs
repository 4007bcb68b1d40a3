//! What was observed: two lines when the data is complete, one more for each thing that is not.

use super::words;
use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::units::{
    bytes, counted, duration, duration_range, memory, share, share_of_one, share_range, to_second,
};
use model::coverage::{Check, Extent, Source};
use model::diagnosis::Doubts;
use model::processes::MemoryPeak;
use model::seen::UNRECORDED;
use model::{Run, Seen};

pub(super) fn lines(run: &Run, doubts: Doubts, look: Look) -> Vec<Line> {
    let coverage = &run.coverage;
    let mut lines = Vec::new();
    lines.extend(summary(run, doubts, look).wrap(2));
    lines.extend(holes(&coverage.sources, look));
    match &coverage.lost_events {
        Seen::Value(lost) if *lost > 0 => {
            let text = format!("lost: {}", counted(*lost, "event"));
            let line = Line::new(look).add(Ink::Warn, &text);
            lines.extend(line.add(Ink::Plain, "; the time around them is unexplained").wrap(2));
        }
        Seen::Value(_) | Seen::Absent => {}
        Seen::Unseen(why) => lines.extend(unseen("lost events", why, look)),
    }
    for check in coverage.checks.iter().filter(|check| !check.agrees) {
        lines.extend(disagreement(check, look).wrap(2));
    }
    lines.extend(interference(run, doubts, look).wrap(2));
    let unknown = [
        ("dwell's overhead", why(&coverage.overhead_ns)),
        ("CPU time of dwell's reader", why(&coverage.reader_cpu_ns)),
        ("other programs' CPU time", why(&coverage.host_busy)),
        ("hypervisor steal", why(&coverage.steal_ns)),
        ("the host's memory", why(&run.host.memory_bytes)),
    ];
    for (what, why) in unknown {
        lines.extend(why.map(|why| unseen(what, why, look)).unwrap_or_default());
    }
    if let Some(why) = why(&run.tables.counters).filter(|why| *why != UNRECORDED) {
        lines.extend(unseen("the processor's counters", why, look));
    }
    for note in &coverage.notes {
        lines.extend(Line::new(look).add(Ink::Warn, "note: ").add(Ink::Plain, note).wrap(2));
    }
    lines.extend(host(run, look).wrap(2));
    lines
}

/// What is complete.
fn summary(run: &Run, doubts: Doubts, look: Look) -> Line {
    let coverage = &run.coverage;
    let full = coverage.sources.iter().filter(|source| source.seen == Extent::Full);
    let full: Vec<_> = full.map(|source| words::source(&source.name)).collect();
    let mut said = Vec::new();
    if !full.is_empty() {
        let lost = matches!(coverage.lost_events, Seen::Value(lost) if lost > 0);
        let how = if lost { "data, with gaps" } else { "complete data" };
        said.push(format!("{how}: {}", full.join(", ")));
    }
    if matches!(coverage.lost_events, Seen::Value(0)) {
        said.push("no events lost".into());
    }
    if !coverage.checks.is_empty() && coverage.checks.iter().all(|check| check.agrees) {
        said.push("the kernel's counters agree".into());
    }
    let line = said.iter().fold(Line::new(look), |line, text| item(line, Ink::Dim, text));
    let ink = if doubts.unexplained { Ink::Warn } else { Ink::Dim };
    item(line, ink, &format!("unexplained {}", share(coverage.unexplained_ns, run.whole_ns())))
}

/// What was not observed, why, and the remedy. Sources with the same remedy stand together with the
/// remedy once, on one line where the page is wide enough.
fn holes(sources: &[Source], look: Look) -> Vec<Line> {
    let mut left: Vec<&Source> = sources.iter().filter(|source| source.seen != Extent::Full).collect();
    let mut lines = Vec::new();
    while let Some(first) = left.first().copied() {
        let (together, others) = left.iter().partition(|source| source.remedy == first.remedy);
        left = others;
        let mut together: Vec<Line> =
            Vec::<&Source>::into_iter(together).map(|source| hole(source, look)).collect();
        let remedy = |line: Line| line.add(Ink::Dim, "try: ").add(Ink::Plain, &first.remedy);
        let last = together.pop().unwrap_or_else(|| Line::new(look));
        lines.extend(together.into_iter().flat_map(|line| line.wrap(2)));
        let in_one_line = remedy(last.clone().add(Ink::Dim, "; "));
        if first.remedy.is_empty() {
            lines.extend(last.wrap(2));
        } else if in_one_line.width() <= look.columns() {
            lines.push(in_one_line);
        } else {
            lines.extend(last.wrap(2));
            lines.extend(remedy(Line::new(look).add(Ink::Plain, "  ")).wrap(4));
        }
    }
    lines
}

fn hole(source: &Source, look: Look) -> Line {
    let label = if source.seen == Extent::None { "no data: " } else { "partial data: " };
    let line = Line::new(look).add(Ink::Warn, label).add(Ink::Bold, words::source(&source.name));
    if source.why.is_empty() { line } else { line.add(Ink::Plain, &format!(": {}", source.why)) }
}

fn disagreement(check: &Check, look: Look) -> Line {
    let figures =
        format!(": dwell measured {}, the kernel {}", duration(check.ours_ns), duration(check.theirs_ns));
    Line::new(look).add(Ink::Warn, "mismatch: ").add(Ink::Bold, &check.what).add(Ink::Plain, &figures)
}

/// The overhead of dwell, and the CPU time that other programs and the hypervisor took.
fn interference(run: &Run, doubts: Doubts, look: Look) -> Line {
    let coverage = &run.coverage;
    let mut line = Line::new(look);
    if let Seen::Value(cost) = coverage.overhead_ns {
        // How often each instrument ran is counted, and what the program loses by caches that they
        // fill is not.
        let of_wall = share_range(cost.lo, cost.hi, run.wall_ns, look.dash());
        let ms = duration_range(cost.lo, cost.hi, look.dash());
        let text = format!(
            "dwell's overhead: {ms} ({of_wall}) in the program, estimated from event counts, without cache effects"
        );
        line = item(line, Ink::Dim, &text);
    }
    if let Seen::Value(reader) = coverage.reader_cpu_ns {
        let text = format!("dwell's reader: {} of CPU time", duration(reader));
        line = item(line, Ink::Dim, &text);
    }
    if let Seen::Value(busy) = coverage.host_busy {
        let ink = if doubts.host_busy { Ink::Warn } else { Ink::Dim };
        line = item(line, ink, &format!("other programs: {} of the CPUs", share_of_one(busy)));
    }
    match coverage.steal_ns {
        Seen::Value(0) => item(line, Ink::Dim, "no hypervisor steal"),
        Seen::Value(steal) => {
            // The steal is that of all CPUs, and so is the time that it is a share of.
            let all = run.wall_ns.saturating_mul(u64::from(run.host.cpus.max(1)));
            let ink = if doubts.steal { Ink::Warn } else { Ink::Dim };
            item(line, ink, &format!("hypervisor steal: {} ({})", duration(steal), share(steal, all)))
        }
        Seen::Absent | Seen::Unseen(_) => line,
    }
}

/// Where and when, to tell one page from another; and how much of that memory was used.
fn host(run: &Run, look: Look) -> Line {
    let host = &run.host;
    let mut text = format!(
        "{} on {}: Linux {} {}, {}, {}",
        to_second(&run.started_at),
        host.name,
        host.kernel,
        host.arch,
        counted(u64::from(host.cpus), "CPU"),
        memory(&host.memory_bytes)
    );
    if let Seen::Value(what) = &host.virtualisation {
        text = format!("{text}, {what}");
    }
    if let Seen::Value(peak) = &run.tables.memory_peak {
        text = format!("{text}; {}", largest(peak, look));
    }
    Line::new(look).add(Ink::Dim, &text)
}

/// `largest process: 214 MiB (python3, PID 4711)`.
fn largest(peak: &MemoryPeak, look: Look) -> String {
    let at_most = if peak.at_most { "at most " } else { "" };
    let name = peak.name.value().map(|name| clean(name, look.unicode));
    let pid = peak.pid.value().map(|pid| format!("PID {pid}"));
    let which: Vec<String> = name.into_iter().chain(pid).collect();
    let which = if which.is_empty() { String::new() } else { format!(" ({})", which.join(", ")) };
    format!("largest process: {at_most}{}{which}", bytes(peak.bytes))
}

/// Why something is unseen, if it is.
fn why<T>(seen: &Seen<T>) -> Option<&str> {
    match seen {
        Seen::Unseen(why) => Some(why),
        Seen::Value(_) | Seen::Absent => None,
    }
}

fn unseen(what: &str, why: &str, look: Look) -> Vec<Line> {
    Line::new(look)
        .add(Ink::Warn, "no data: ")
        .add(Ink::Bold, what)
        .add(Ink::Plain, &format!(": {why}"))
        .wrap(2)
}

/// Adds an item to a list that is separated by semicolons.
fn item(line: Line, ink: Ink, text: &str) -> Line {
    let line = if line.is_empty() { line } else { line.add(Ink::Dim, "; ") };
    line.add(ink, text)
}
