//! The longest wait of the kind that has most of the path, compared with operations of this host's
//! kept ladder.

use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::units::{count, duration};
use model::ladder::Interval;
use model::run::{Class, WaitRow};
use model::wait::{SyscallName, TargetKind};
use model::{Costs, Ns, Run, Seen, State};

/// Waits below this part of the wall clock (1 in N) are not compared.
const OF_THE_WALL: Ns = 10;

/// One sentence below the class of programs that wait, where a ladder of the host is kept.
pub(super) fn lines(run: &Run, look: Look) -> Vec<Line> {
    let Seen::Value(costs) = &run.costs else { return Vec::new() };
    // A window has no path to an end; and a sleep lasts as long as it was asked to.
    if run.window.is_some() || !matches!(run.bound.class, Class::Io | Class::Mixed) {
        return Vec::new();
    }
    let waits = run.waits.iter().filter(|wait| wait.reason != State::Sleep);
    let Some(wait) = waits.max_by_key(|wait| wait.path_ns) else { return Vec::new() };
    let ns = wait.max_ns;
    let (one, many, like) = alike(wait, costs);
    let worth = [(one, many, like), ("memory access", "memory accesses", &costs.memory_access_ns)];
    let worth: Vec<String> =
        worth.into_iter().filter_map(|(one, many, cost)| times(ns, cost, one, many)).collect();
    if wait.path_ns < run.wall_ns / OF_THE_WALL || worth.is_empty() {
        return Vec::new();
    }
    let what = match wait.call.syscall() {
        Some(call) => format!("longest wait in {}: ", clean(&call.to_string(), look.unicode)),
        None => format!("longest {} wait: ", wait.reason.name()),
    };
    Line::new(look)
        .add(Ink::Plain, &what)
        .glued(Ink::Plain, &duration(ns))
        .add(Ink::Plain, &format!(" (about {} on this host", worth.join(" or ")))
        .add(Ink::Plain, &format!("; {})", clean(&costs.from, look.unicode)))
        .wrap(2)
}

/// The operation that is compared with such a wait.
fn alike<'a>(wait: &WaitRow, costs: &'a Costs) -> (&'static str, &'static str, &'a Seen<Interval>) {
    let writes = wait.call.syscall().is_some_and(SyscallName::writes);
    match wait.reason {
        State::Disk if writes => ("fsync", "fsyncs", &costs.fsync_ns),
        State::Disk => ("disk read", "disk reads", &costs.disk_read_ns),
        State::Network => ("loopback connect", "loopback connects", &costs.connect_ns),
        _ if wait.on.kind() == TargetKind::Child => ("process start", "process starts", &costs.process_ns),
        State::Lock | State::Pipe => ("context switch", "context switches", &costs.switch_ns),
        _ => ("system call", "system calls", &costs.call_ns),
    }
}

/// `250,000 memory accesses`: how many of them take as long, to two digits. None where one takes
/// longer.
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
