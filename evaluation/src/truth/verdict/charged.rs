//! CPU time by the kernel's own accounting: what the trace lacks of it widens the trace's shares,
//! and the CPU times that dwell has are held against it.
//!
//! Nothing here is widened by what dwell says.

use super::{Check, PART, Range, Truth};

/// What is charged may be later than it was by as much: a tick on each CPU at each end of a window.
/// And a program's shell has had a moment before it is in the group.
const EDGE_NS: f64 = 10_000_000.0;

/// From this much on, the table says that the trace lacks CPU time.
const SAID_PART: f64 = 0.01;

impl Truth {
    /// Takes note of what was charged in a time, and how much of it for no time on a CPU. The trace
    /// has so much on CPUs then: of the wall clock, and of the whole that the shares are of.
    pub(crate) fn account(&mut self, ns: u64, over_ns: i64, on_ns: u64, [wall_ns, whole_ns]: [u64; 2]) {
        self.over_ns = over_ns;
        let less_ns = ns.saturating_add_signed(-over_ns);
        let charged = Range::exactly(ns as f64).widened(Range::exactly(less_ns as f64));
        self.charged_ns = Some(charged);
        self.cpus_used = Some(charged.scaled(1.0 / wall_ns.max(1) as f64));
        let lacks_ns = less_ns.saturating_sub(on_ns) as f64;
        self.lacks(lacks_ns / whole_ns.max(1) as f64 * 100.0);
        if lacks_ns > EDGE_NS.max(charged.value * SAID_PART) {
            let [lacks, charged] = [lacks_ns, charged.value].map(milliseconds);
            self.notes.push(format!("the trace lacks {lacks} of the {charged} ms that the kernel charged"));
        }
    }

    /// For this many points of the whole some thread was on a CPU, where the trace has it runnable
    /// or blocked.
    fn lacks(&mut self, points: f64) {
        let less = |range: Range| Range { lo: (range.lo - points).max(0.0).min(range.lo), ..range };
        self.kinds = self.kinds.map(|[on, runnable, blocked]| {
            let on = Range { hi: (on.hi + points).min(100.0).max(on.hi), ..on };
            [on, less(runnable), less(blocked)]
        });
        // It is of what is runnable.
        self.starved = self.starved.map(less);
    }
}

/// How many CPUs it had.
pub(super) fn cpus(on_ns: u64, wall_ns: u64, truth: &Truth) -> Option<Check> {
    let used = truth.cpus_used?;
    let wall_ns = wall_ns.max(1) as f64;
    let value = on_ns as f64 / wall_ns;
    let near = PART * used.value.max(1.0);
    Some(Check {
        what: "CPUs".to_owned(),
        dwell: format!("{value:.2}"),
        oracle: shown(used, near, |cpus| format!("{cpus:.2}")),
        agrees: is_near(value, used, near, truth.stolen_ns as f64 / wall_ns),
    })
}

/// For how long it had them: by its own clock, or what the kernel charged for it. The clock counts
/// the same charges (`getrusage` scales what ticks saw to the sum of them), also those for no time
/// on a CPU. What is allowed is a part of the wall clock at least, as for the shares.
pub(super) fn cpu_ms(on_ns: u64, wall_ns: u64, truth: &Truth) -> Option<Check> {
    let own = truth.cpu_ns.map(|ns| {
        let less_ns = ns.saturating_add_signed(-truth.over_ns);
        (Range::exactly(ns as f64).widened(Range::exactly(less_ns as f64)), 0.0)
    });
    let (oracle, edge) = own.or_else(|| Some((truth.charged_ns?, EDGE_NS)))?;
    let near = oracle.value.max(wall_ns as f64) * PART + edge;
    Some(Check {
        what: "CPU ms".to_owned(),
        dwell: milliseconds(on_ns as f64),
        oracle: shown(oracle, near, milliseconds),
        agrees: is_near(on_ns as f64, oracle, near, truth.stolen_ns as f64),
    })
}

/// The kernel does not charge what was stolen, and dwell has it on a CPU.
fn is_near(value: f64, oracle: Range, near: f64, stolen: f64) -> bool {
    (oracle.lo - near..=oracle.hi + near + stolen).contains(&value)
}

/// With the interval where it is wider than what is allowed anyway.
fn shown(range: Range, near: f64, figure: impl Fn(f64) -> String) -> String {
    let value = figure(range.value);
    if range.hi - range.value > near || range.value - range.lo > near {
        format!("{value} ({}–{})", figure(range.lo), figure(range.hi))
    } else {
        value
    }
}

fn milliseconds(ns: f64) -> String {
    format!("{:.0}", ns / 1e6)
}
