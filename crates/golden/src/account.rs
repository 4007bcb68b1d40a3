//! The account as text, a line a fact, for reading as a diff: exact nanoseconds, nothing rounded.

use model::run::{Run, ThreadLedger, WaitRow, WakerRow};
use model::wait::SyscallName;
use model::{Seen, State};
use std::fmt::Write;

/// Wall, parts, path, threads and waits.
pub(crate) fn text(run: &Run) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}: {:?}, wall {}", run.schema, run.exit, run.wall_ns);
    let bound = &run.bound;
    let _ = writeln!(
        text,
        "bound {} ({}), margin {:.3}",
        bound.class.name(),
        bound.resource.name(),
        bound.margin_points
    );
    if let Some(window) = &run.window {
        let _ = writeln!(
            text,
            "window {} threads active, {} idle; time {}, idle {}",
            window.threads_active, window.threads_idle, window.thread_ns, window.idle_ns
        );
    }
    text.push_str("\nparts\n");
    for part in &run.account {
        let basis = format!("{:?}", part.basis).to_lowercase();
        let name = part.state.name();
        let _ = writeln!(text, "  {name:<12} {:>12}  {basis:<8}  {}..{}", part.ns, part.lo_ns, part.hi_ns);
    }
    text.push_str("\npath\n");
    for step in &run.path {
        let who = format!("{}/{} {}", step.pid, step.tid, step.process);
        let what = format!("{} {}", step.state.name(), step.reason);
        let _ = writeln!(text, "  {:>12} x{:<5} {who:<28} {}", step.ns, step.count, what.trim_end());
    }
    text.push_str("\nthreads\n");
    run.threads.iter().for_each(|row| thread(&mut text, row));
    text.push_str("\nwaits\n");
    run.waits.iter().for_each(|row| wait(&mut text, row));
    text
}

fn thread(text: &mut String, row: &ThreadLedger) {
    let who = format!("{}/{} {}", row.pid, row.tid, row.name);
    let _ = writeln!(text, "  {who}: {}{}", row.life_ns, if row.idle { " idle" } else { "" });
    let _ = writeln!(text, "    {}", states(&row.states));
}

fn wait(text: &mut String, row: &WaitRow) {
    let call = row.call.syscall().map(SyscallName::to_string).unwrap_or_default();
    let _ = writeln!(text, "  {} {call} on {}", row.reason.name(), row.on);
    let _ = writeln!(
        text,
        "    x{} total {} path {} p50 {} p99 {} max {}",
        row.calls, row.total_ns, row.path_ns, row.p50_ns, row.p99_ns, row.max_ns
    );
    row.by.iter().for_each(|row| waker(text, row));
}

fn waker(text: &mut String, row: &WakerRow) {
    let who = format!("{} {}", row.kind.name(), row.name);
    let _ = write!(text, "    by {} x{} {}", who.trim_end(), row.times, row.ns);
    if let Seen::Value(place) = &row.place {
        let _ = write!(text, " at {place}");
    }
    if !row.meanwhile.is_empty() {
        let _ = write!(text, " while {}", states(&row.meanwhile));
    }
    text.push('\n');
}

fn states(states: &[(State, u64)]) -> String {
    states.iter().map(|(state, ns)| format!("{} {ns}", state.name())).collect::<Vec<_>>().join(", ")
}
