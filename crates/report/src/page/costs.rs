//! The longest wait of the kind that has most of the path, compared with operations of this host's
//! kept ladder.

use crate::Look;
use crate::clean::clean;
use crate::paint::{Ink, Line};
use crate::units::{count, duration};
use model::costs::Operation;
use model::{Diagnosis, Run, Seen};

/// One sentence below the class of programs that wait, where a ladder of the host is kept.
pub(super) fn lines(run: &Run, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let (Some(yardstick), Seen::Value(costs)) = (&diagnosis.yardstick, &run.costs) else { return Vec::new() };
    let Some(wait) = run.waits.get(yardstick.wait) else { return Vec::new() };
    let worth: Vec<String> =
        yardstick.worth.iter().map(|(operation, times)| counted_as(*times, *operation)).collect();
    let what = match wait.call.syscall() {
        Some(call) => format!("longest wait in {}: ", clean(&call.to_string(), look.unicode)),
        None => format!("longest {} wait: ", wait.reason.name()),
    };
    Line::new(look)
        .add(Ink::Plain, &what)
        .glued(Ink::Plain, &duration(yardstick.ns))
        .add(Ink::Plain, &format!(" (about {} on this host", worth.join(" or ")))
        .add(Ink::Plain, &format!("; {})", clean(&costs.from, look.unicode)))
        .wrap(2)
}

/// `250,000 memory accesses`: to two digits.
fn counted_as(times: u64, operation: Operation) -> String {
    let (one, many) = words(operation);
    let times = two_digits(times);
    format!("{} {}", count(times), if times == 1 { one } else { many })
}

/// One operation, and several.
fn words(operation: Operation) -> (&'static str, &'static str) {
    match operation {
        Operation::MemoryAccess => ("memory access", "memory accesses"),
        Operation::SystemCall => ("system call", "system calls"),
        Operation::ThreadSwitch => ("context switch", "context switches"),
        Operation::Fsync => ("fsync", "fsyncs"),
        Operation::DiskRead => ("disk read", "disk reads"),
        Operation::Process => ("process start", "process starts"),
        Operation::Connect => ("loopback connect", "loopback connects"),
    }
}

fn two_digits(value: u64) -> u64 {
    let step = 10u64.pow(value.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (value + step / 2) / step * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_two_digits() {
        for (times, text) in [
            (249_532, "250,000 fsyncs"),
            (10, "10 fsyncs"),
            (1, "1 fsync"),
            (9_996, "10,000 fsyncs"),
            (0, "0 fsyncs"),
        ] {
            assert_eq!(counted_as(times, Operation::Fsync), text);
        }
    }
}
