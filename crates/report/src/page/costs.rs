//! What the longest of the waits that the path has most of is worth on this machine, in operations that its ladder has measured.

use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::units::{count, duration};
use model::ladder::Interval;
use model::run::{Class, WaitRow};
use model::wait::{SyscallName, TargetKind};
use model::{Costs, Ns, Run, Seen, State};

/// Waits that are less than this part of the path say little of the program.
const OF_THE_WALL: Ns = 10;

/// One sentence below the verdict of programs that wait for something, where a ladder of the host is known.
pub(super) fn lines(run: &Run, look: Look) -> Vec<Line> {
    let Seen::Value(costs) = &run.costs else { return Vec::new() };
    // A window has no path to an end; and time that was asked for is not worth anything.
    if run.window.is_some() || !matches!(run.bound.class, Class::Io | Class::Mixed) {
        return Vec::new();
    }
    let waits = run.waits.iter().filter(|wait| wait.reason != State::Sleep);
    let Some(wait) = waits.max_by_key(|wait| wait.path_ns) else { return Vec::new() };
    let ns = wait.max_ns;
    let (one, many, like) = alike(wait, costs);
    let worth = [("memory access", "memory accesses", &costs.memory_access_ns), (one, many, like)];
    let worth: Vec<String> =
        worth.into_iter().filter_map(|(one, many, cost)| times(ns, cost, one, many)).collect();
    if wait.path_ns < run.wall_ns / OF_THE_WALL || worth.is_empty() {
        return Vec::new();
    }
    let place = wait.call.syscall().map_or_else(|| wait.reason.name().to_owned(), SyscallName::to_string);
    Line::new(look)
        .add(Ink::Plain, &format!("waits in {} take up to ", clean(&place, look.unicode)))
        .glued(Ink::Plain, &duration(ns))
        .add(Ink::Plain, ", as much as ")
        .add(Ink::Plain, &worth.join(" or "))
        .add(Ink::Dim, &format!(" ({})", clean(&costs.from, look.unicode)))
        .wrap(2)
}

/// The operation that such a wait is best held against.
fn alike<'a>(wait: &WaitRow, costs: &'a Costs) -> (&'static str, &'static str, &'a Seen<Interval>) {
    let writes = wait.call.syscall().is_some_and(SyscallName::writes);
    match wait.reason {
        State::Disk if writes => ("fsync", "fsyncs", &costs.fsync_ns),
        State::Disk => ("read of the disk", "reads of the disk", &costs.disk_read_ns),
        State::Network => ("connection within the host", "connections within the host", &costs.connect_ns),
        _ if wait.on.kind() == TargetKind::Child => {
            ("started process", "started processes", &costs.process_ns)
        }
        State::Lock | State::Pipe => ("thread switch", "thread switches", &costs.switch_ns),
        _ => ("system call", "system calls", &costs.call_ns),
    }
}

/// `250,000 memory accesses`: how many of them take as long, to two digits. Nothing where one takes longer.
fn times(ns: Ns, cost: &Seen<Interval>, one: &str, many: &str) -> Option<String> {
    let times = (ns as f64 / cost.value()?.median).round();
    if !(1.0..1e18).contains(&times) {
        return None;
    }
    let times = two_digits(times as u64);
    Some(format!("{} {}", count(times), if times == 1 { one } else { many }))
}

fn two_digits(value: u64) -> u64 {
    let step = 10u64.pow(value.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (value + step / 2) / step * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_two_digits_and_what_is_less_than_one_is_not_counted() {
        let of = |ns, median| times(ns, &Seen::Value(Interval { median, lo: 0.0, hi: 1e9 }), "sync", "syncs");
        for (ns, each, text) in [
            (40_000_000, 160.3, Some("250,000 syncs")),
            (40_000_000, 4_100_000.0, Some("10 syncs")),
            (1_499, 1_000.0, Some("1 sync")),
            (999_600, 100.0, Some("10,000 syncs")),
            (400, 1_000.0, None),
            (0, 1.0, None),
            (u64::MAX, 0.0, None),
        ] {
            assert_eq!(of(ns, each).as_deref(), text, "{ns} of {each}");
        }
        assert_eq!(times(5, &Seen::unseen("no"), "sync", "syncs"), None);
    }
}
