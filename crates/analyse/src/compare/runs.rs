//! Two runs or windows beside each other: what differs in how they came about, and where the
//! difference of their walls lies. No verdict: one run has no spread.

use super::requests::requests;
use super::rules::differences;
use super::why::why;
use model::compare::Difference;
use model::compare::runs::{RunComparison, RunOrigin, SCHEMA_RUN_DIFF};
use model::coverage::Extent;
use model::recording::Ending;
use model::{Run, Seen};

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

fn origin(run: &Run) -> RunOrigin {
    RunOrigin {
        id: None,
        host: run.host.name.clone(),
        started_at: run.started_at.clone(),
        command: run.command.clone(),
        exit: run.exit,
        wall_ns: run.wall_ns,
        lost_events: run.coverage.lost_events.clone(),
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
