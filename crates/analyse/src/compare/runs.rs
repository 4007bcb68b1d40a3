//! Two runs or windows beside each other: what differs in how they came about, and where the
//! difference of their walls lies. No verdict: one run has no spread.

use super::rules::differences;
use super::why::why;
use model::compare::Difference;
use model::compare::runs::{
    PartChange, QuantileChange, RequestsDiff, RunComparison, RunOrigin, SCHEMA_RUN_DIFF,
};
use model::coverage::Extent;
use model::recording::Ending;
use model::requests::RequestPart;
use model::wait::StackFrame;
use model::{Ns, Run, Seen};
use std::cmp::Reverse;

/// Fewer samples tell no rate.
const SAMPLES_MIN: u64 = 30;
/// Rates that differ by no more than this factor count as the same.
const RATE: f64 = 1.5;

/// What differs from `a` to `b`.
pub fn compare(a: &Run, b: &Run) -> RunComparison {
    RunComparison {
        schema: SCHEMA_RUN_DIFF.to_owned(),
        a: origin(a),
        b: origin(b),
        differences: conditions(a, b),
        why: why(&[(a, b)]),
        requests: requests(a, b),
    }
}

fn requests(a: &Run, b: &Run) -> Seen<RequestsDiff> {
    let [Some(a), Some(b)] = [a, b].map(|run| run.tables.requests.value()) else { return Seen::Absent };
    if a.times == 0 || b.times == 0 || (a.unit, &a.unit_of) != (b.unit, &b.unit_of) {
        return Seen::Absent;
    }
    let (of_a, of_b) = (a.latency, b.latency);
    Seen::Value(RequestsDiff {
        unit: a.unit,
        times: [a, b].map(|all| all.times + all.left_out),
        p50: change((of_a.p50_ns, of_a.p50_range_ns), (of_b.p50_ns, of_b.p50_range_ns)),
        p99: change((of_a.p99_ns, of_a.p99_range_ns), (of_b.p99_ns, of_b.p99_range_ns)),
        parts: parts(&a.parts, &b.parts),
    })
}

/// What the time of requests is spent at in both, largest difference first.
fn parts(a: &[RequestPart], b: &[RequestPart]) -> Vec<PartChange> {
    let only = |part: &RequestPart, a_ns, b_ns| PartChange {
        at: part.at,
        call: part.call.clone(),
        on: part.on.clone(),
        place: part.place.clone(),
        a_ns,
        b_ns,
    };
    let mut parts: Vec<PartChange> = b.iter().map(|part| only(part, 0, part.mean_ns)).collect();
    for of_a in a {
        // Locks of several places are told apart by these. A place is known where samples saw it.
        let same = |of: &PartChange| (of.at, &of.call, &of.on) == (of_a.at, &of_a.call, &of_a.on);
        let function = |place: &Seen<StackFrame>| place.value().map(|frame| frame.function.clone());
        let there = |of: &PartChange| function(&of.place) == function(&of_a.place);
        let found = parts.iter().position(|of| same(of) && there(of));
        let found = found.or_else(|| parts.iter().position(|of| same(of) && of.a_ns == 0));
        match found.map(|at| &mut parts[at]) {
            Some(both) => {
                both.a_ns += of_a.mean_ns;
                if both.place.value().is_none() {
                    both.place = of_a.place.clone();
                }
            }
            None => parts.push(only(of_a, of_a.mean_ns, 0)),
        }
    }
    parts.sort_by_key(|part| Reverse(part.a_ns.abs_diff(part.b_ns)));
    parts
}

/// The interval of a difference from those of both figures (G. Y. Zou, A. Donner, "Construction of
/// confidence limits about effect measures", Statistics in Medicine 27, 2008).
fn change((a_ns, a_range): (Ns, Option<[Ns; 2]>), (b_ns, b_range): (Ns, Option<[Ns; 2]>)) -> QuantileChange {
    let change_ns = a_range.zip(b_range).map(|(a_range, b_range)| {
        let [a, b] = [a_ns, b_ns].map(|ns| ns as f64);
        let ([a_lo, a_hi], [b_lo, b_hi]) = (a_range.map(|ns| ns as f64), b_range.map(|ns| ns as f64));
        let lo = (b - a) - (b - b_lo).hypot(a_hi - a);
        let hi = (b - a) + (b_hi - b).hypot(a - a_lo);
        [lo, hi].map(|ns| ns as i64)
    });
    QuantileChange { a_ns, b_ns, change_ns }
}

fn origin(run: &Run) -> RunOrigin {
    RunOrigin {
        host: run.host.name.clone(),
        started_at: run.started_at.clone(),
        command: run.command.clone(),
        exit: run.exit,
        wall_ns: run.wall_ns,
    }
}

/// Differences other than the times.
fn conditions(a: &Run, b: &Run) -> Vec<Difference> {
    let text = |seen: &Seen<String>| seen.value().cloned().unwrap_or_else(|| "unknown".to_owned());
    let memory = |run: &Run| text(&run.host.memory_bytes.as_ref().map(u64::to_string));
    let mut pairs = vec![
        ("command", a.command.join(" "), b.command.join(" ")),
        ("exit", exit(a.exit), exit(b.exit)),
        ("host", a.host.name.clone(), b.host.name.clone()),
        ("architecture", a.host.arch.clone(), b.host.arch.clone()),
        ("CPUs", a.host.cpus.to_string(), b.host.cpus.to_string()),
        ("memory, bytes", memory(a), memory(b)),
        ("kernel", a.host.kernel.clone(), b.host.kernel.clone()),
        ("virtualisation", text(&a.host.virtualisation), text(&b.host.virtualisation)),
    ];
    if let (Some(of_a), Some(of_b)) = (sampling_rate(a), sampling_rate(b))
        && !(1.0 / RATE..=RATE).contains(&(of_b / of_a))
    {
        pairs.push(("samples per second of CPU time", format!("{of_a:.0}"), format!("{of_b:.0}")));
    }
    let named = pairs.into_iter().map(|(what, a, b)| (what.to_owned(), a, b));
    differences(named.chain(sources(a, b)))
}

fn exit(exit: Ending) -> String {
    match exit {
        Ending::Code(code) => format!("status {code}"),
        Ending::Signal(signal) => format!("signal {signal}"),
        Ending::Window(_) => "window".to_owned(),
    }
}

/// How much was observed of each source: a tier is known by what it could not see.
fn sources(a: &Run, b: &Run) -> impl Iterator<Item = (String, String, String)> {
    let seen = |run: &Run, name: &str| {
        let source = run.coverage.sources.iter().find(|source| source.name == name);
        source.map_or(Extent::None, |source| source.seen)
    };
    let all = a.coverage.sources.iter().chain(&b.coverage.sources);
    let mut names: Vec<&str> = Vec::new();
    all.for_each(|source| {
        if !names.contains(&source.name.as_str()) {
            names.push(&source.name);
        }
    });
    let rows: Vec<_> = names
        .into_iter()
        .map(|name| (format!("source {name}"), extent(seen(a, name)), extent(seen(b, name))))
        .collect();
    rows.into_iter()
}

fn extent(seen: Extent) -> String {
    match seen {
        Extent::Full => "complete",
        Extent::Partial => "partial",
        Extent::None => "no data",
    }
    .to_owned()
}

/// Samples for each second on a CPU.
fn sampling_rate(run: &Run) -> Option<f64> {
    let samples: u64 = run.tables.functions.value()?.iter().map(|row| row.samples).sum();
    let cpu_ns = run.user_ns.value()?.saturating_add(*run.kernel_ns.value()?);
    (samples >= SAMPLES_MIN && cpu_ns > 0).then(|| samples as f64 * 1e9 / cpu_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::requests::RequestTime;

    #[test]
    fn parts_of_both_are_matched_and_what_differs_most_is_first() {
        let part = |at, mean_ns| RequestPart {
            at,
            call: Seen::Absent,
            on: Seen::Absent,
            place: Seen::Absent,
            mean_ns,
            awaited_typical_ns: 0,
            awaited_slow_ns: 0,
            typical_ns: 0,
            slow_ns: 0,
            more_ns: [0, 0],
            without: Default::default(),
            held: Vec::new(),
        };
        let a = [part(RequestTime::OnCpu, 10), part(RequestTime::Peer, 70)];
        let b = [part(RequestTime::Peer, 20), part(RequestTime::Unread, 5), part(RequestTime::OnCpu, 11)];
        let found = parts(&a, &b);
        let rows: Vec<_> = found.iter().map(|part| (part.at, part.a_ns, part.b_ns)).collect();
        let peer = (RequestTime::Peer, 70, 20);
        assert_eq!(rows, [peer, (RequestTime::Unread, 0, 5), (RequestTime::OnCpu, 10, 11)]);
    }

    #[test]
    fn the_interval_of_a_change_is_as_wide_as_both_are_uncertain() {
        let told = change((100, Some([90, 120])), (150, Some([110, 155])));
        // sqrt(40² + 20²) below, sqrt(5² + 10²) above.
        assert_eq!(told.change_ns, Some([5, 61]));
        assert_eq!(change((7, Some([7, 7])), (7, Some([7, 7]))).change_ns, Some([0, 0]));
        assert_eq!(change((7, None), (9, Some([7, 9]))).change_ns, None, "too few to tell");
    }
}
