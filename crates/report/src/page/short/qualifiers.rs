//! What qualifies the sentence, right below it: how the program ended, and what makes the figures
//! doubtful.

use super::super::{functions, headline};
use super::first;
use crate::Look;
use crate::paint::{Ink, Line};
use crate::units::{counted, duration, share, share_of_one};
use model::together::TABLES_SHORTENED;
use model::{Diagnosis, Run, Seen};

/// Notes that are shown; the others are counted.
const NOTES: usize = 2;

/// At most this many of them, and a line that counts the others. A document has the ending in its
/// lead and the notes at its end, and not here.
pub(in super::super) fn lines(run: &Run, diagnosis: &Diagnosis, look: Look, most: usize) -> Vec<Line> {
    let (coverage, doubts) = (&run.coverage, diagnosis.doubts);
    let ending = headline::ending(run.exit, run.window.is_some()).filter(|_| !look.is_document());
    let mut said: Vec<String> = ending.into_iter().collect();
    if let Seen::Value(busy) = coverage.host_busy
        && doubts.host_busy
    {
        said.push(format!("a busy host: other programs used {} of the CPUs", share_of_one(busy)));
    }
    if let Seen::Value(steal) = coverage.steal_ns
        && doubts.steal
    {
        let all = run.wall_ns.saturating_mul(u64::from(run.host.cpus.max(1)));
        said.push(format!("the hypervisor took {} ({}) of the CPUs", duration(steal), share(steal, all)));
    }
    if let Seen::Value(lost) = coverage.lost_events
        && lost > 0
    {
        said.push(format!("{} lost: the time around them is unexplained", counted(lost, "event")));
    }
    let of_threads = coverage.sources.iter().filter(|source| source.name == model::coverage::THREADS);
    said.extend(of_threads.map(|source| source.why.clone()));
    if doubts.unexplained {
        said.push(format!("{} of the time is unexplained", share(coverage.unexplained_ns, run.whole_ns())));
    }
    said.extend(
        functions::names_missing(run).map(|remedy| format!("JIT code has no names; for them: {remedy}")),
    );
    let mismatches: Vec<&str> =
        coverage.checks.iter().filter(|check| !check.agrees).map(|check| check.what.as_str()).collect();
    if !mismatches.is_empty() {
        let where_told = if look.is_document() { "" } else { " (-v)" };
        said.push(format!("the kernel's counters disagree: {}{where_told}", mismatches.join(", ")));
    }
    let line = |text: String| {
        let line = Line::new(look).add(Ink::Warn, "! ");
        first(line.add(Ink::Plain, text.lines().next().unwrap_or_default()).wrap(2), 2, look)
    };
    if look.is_document() {
        return said.into_iter().flat_map(line).collect();
    }
    // That long tables are cut qualifies no figure of this page: such a note is only counted.
    let notes = coverage.notes.iter().filter(|note| !note.starts_with(TABLES_SHORTENED)).take(NOTES);
    let shown = said.len();
    said.extend(notes.cloned());
    let shown = said.len() - shown;
    let mut more = coverage.notes.len().saturating_sub(shown);
    if said.len() + usize::from(more > 0) > most {
        // What makes the figures doubtful stands before how much more there is.
        let keep = most.saturating_sub(1).max(1).min(said.len());
        more += said.len() - keep;
        said.truncate(keep);
    }
    if more > 0 && said.len() < most {
        let note = if said.is_empty() { "note" } else { "more note" };
        said.push(format!("{} (-v)", counted(more as u64, note)));
    }
    said.into_iter().flat_map(line).collect()
}
