//! What the longest of the waits that the path has most of is worth, in operations that the host's
//! ladder has measured.

use super::Evidence;
use model::costs::Operation;
use model::diagnosis::Yardstick;
use model::ladder::MedianInterval;
use model::run::{Class, WaitRow};
use model::wait::{SyscallName, TargetKind};
use model::{Ns, Seen, State};

/// Waits that are less than this part of the path say little of the program.
const OF_THE_WALL: Ns = 10;

/// The longest wait of a program that waits for something, where a ladder of the host is known.
pub(super) fn of(evidence: &Evidence<'_>) -> Option<Yardstick> {
    let costs = evidence.run.costs.value()?;
    // A window has no path to an end; and time that was asked for is not worth anything.
    if evidence.run.window.is_some() || !matches!(evidence.run.bound.class, Class::Io | Class::Mixed) {
        return None;
    }
    let waits = evidence.run.waits.iter().enumerate().filter(|(_, wait)| wait.reason != State::Sleep);
    let (row, wait) = waits.max_by_key(|(_, wait)| wait.path_ns)?;
    let worth = |operation| Some((operation, times(wait.max_ns, costs.of(operation))?));
    // How long a peer takes has nothing to do with what this host's memory costs.
    let memory = (wait.reason != State::Network).then_some(Operation::MemoryAccess);
    let worth: Vec<_> = [Some(comparable(wait)), memory].into_iter().flatten().filter_map(worth).collect();
    let says = wait.path_ns >= evidence.run.wall_ns / OF_THE_WALL && !worth.is_empty();
    says.then_some(Yardstick { wait: row, ns: wait.max_ns, worth })
}

/// The operation that such a wait is best compared with.
fn comparable(wait: &WaitRow) -> Operation {
    let writes = wait.call.syscall().is_some_and(SyscallName::writes);
    match wait.reason {
        State::Disk if writes => Operation::Fsync,
        State::Disk => Operation::DiskRead,
        State::Network => Operation::Connect,
        _ if wait.on.kind() == TargetKind::Child => Operation::Process,
        State::Lock | State::Pipe => Operation::ThreadSwitch,
        _ => Operation::SystemCall,
    }
}

/// How many take as long. None where one takes longer.
fn times(ns: Ns, cost: &Seen<MedianInterval>) -> Option<u64> {
    let times = (ns as f64 / cost.value()?.median).round();
    (1.0..1e18).contains(&times).then_some(times as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_less_than_one_is_not_counted() {
        let of = |ns, median| times(ns, &Seen::Value(MedianInterval { median, lo: 0.0, hi: 1e9 }));
        for (ns, each, count) in [
            (40_000_000, 160.3, Some(249_532)),
            (40_000_000, 4_100_000.0, Some(10)),
            (1_499, 1_000.0, Some(1)),
            (400, 1_000.0, None),
            (0, 1.0, None),
            (u64::MAX, 0.0, None),
        ] {
            assert_eq!(of(ns, each), count, "{ns} of {each}");
        }
        assert_eq!(times(5, &Seen::unseen("no")), None);
    }
}
