//! From a result to its rows.

use crate::list::{
    Account, CompareRuns, Comparisons, Connections, Coverage, Findings, Functions, Key, Path, Places,
    RequestBins, RequestKinds, RequestParts, RequestTable, Results, Rungs, SpikeParts, Syscalls, WaitBins,
    Waits, WakeBins, WakeTable,
};
use crate::rows::{Filler, Kept, NoTime, Options, ResultTables};
use crate::sources::{ChangeRow, PlaceRow, SpikePart, WaitBin, WakeRow};
use model::compare::commands::Comparison;
use model::coverage::Interval;
use model::recording::Host;
use model::run::WaitRow;
use model::wake::Bin;
use model::window::targets;
use model::{CodePlace, FindingsInWords, Ladder, Origin, Reason, Run, Seen, State, Wakeups};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What the table `results` has of a result. What a verb does not measure is absent.
pub(crate) struct Summary<'a> {
    pub(crate) verb: &'static str,
    pub(crate) schema: &'a str,
    pub(crate) dwell: Seen<String>,
    pub(crate) command: String,
    pub(crate) note: Option<String>,
    pub(crate) host: &'a Host,
    pub(crate) kept_at: Seen<i64>,
    pub(crate) wall_ns: u64,
    pub(crate) user_ns: Seen<u64>,
    pub(crate) kernel_ns: Seen<u64>,
    pub(crate) thread_ns: Option<u64>,
    pub(crate) class: Option<&'static str>,
    pub(crate) resource: Option<&'static str>,
    pub(crate) margin_points: Option<f64>,
    pub(crate) verdict: Seen<String>,
    pub(crate) first_finding: Option<&'a str>,
    pub(crate) tier: Option<&'static str>,
    pub(crate) lost_events: Seen<u64>,
    pub(crate) unexplained_ns: Option<u64>,
    pub(crate) overhead: Seen<Interval>,
    pub(crate) host_busy: Seen<f64>,
    pub(crate) steal_ns: Seen<u64>,
    pub(crate) interrupted: Option<bool>,
}

impl<'a> Summary<'a> {
    fn new(verb: &'static str, schema: &'a str, host: &'a Host, wall_ns: u64, kept: &Kept) -> Self {
        let kept_at = kept.kept_at_s.and_then(|s| i64::try_from(s).ok()?.checked_mul(1_000_000));
        Self {
            verb,
            schema,
            dwell: Seen::Absent,
            command: String::new(),
            note: kept.note.clone(),
            host,
            kept_at: kept_at.map_or(Seen::Absent, Seen::Value),
            wall_ns,
            user_ns: Seen::Absent,
            kernel_ns: Seen::Absent,
            thread_ns: None,
            class: None,
            resource: None,
            margin_points: None,
            verdict: Seen::Absent,
            first_finding: None,
            tier: None,
            lost_events: Seen::Absent,
            unexplained_ns: None,
            overhead: Seen::Absent,
            host_busy: Seen::Absent,
            steal_ns: Seen::Absent,
            interrupted: None,
        }
    }
}

fn key(origin: &Origin, host: &Host, kept: &Kept, options: Options, named: bool) -> Key {
    Key {
        id: kept.id.clone(),
        // Of the time as it is read.
        started_at: 0,
        host: host.name.clone(),
        machine: recorded(&origin.machine_number),
        kernel: host.kernel.clone(),
        // Taken from a command, it is a part of it.
        service: kept.service.clone().filter(|_| named || !options.redact),
    }
}

/// A field that older versions did not write.
fn recorded(field: &Option<String>) -> Seen<String> {
    field.clone().map_or_else(Seen::default, Seen::Value)
}

/// The rows of a run, or of a window.
///
/// # Errors
/// Its start is no time.
pub fn run(
    run: &Run,
    words: &FindingsInWords,
    kept: &Kept,
    options: Options,
) -> Result<ResultTables, NoTime> {
    let named = run.window.as_ref().is_some_and(|window| targets(&window.target).into_iter().all(is_named));
    let mut filler =
        Filler::new(key(&run.origin, &run.host, kept, options, named), &run.started_at, options)?;
    filler.add::<Account>(&run.account);
    filler.table_unseen::<Places, _>(&run.places);
    filler.add::<Places>(places(run, options));
    filler.add::<Waits>(run.waits.iter().enumerate());
    for (wait, row) in run.waits.iter().enumerate() {
        filler.add::<WaitBins>(bins(row).into_iter().map(|bin| WaitBin { wait, row, bin }));
    }
    filler.table_unseen::<RequestTable, _>(&run.tables.requests);
    if let Seen::Value(requests) = &run.tables.requests {
        filler.add::<RequestTable>([requests]);
        filler.add::<RequestBins>(&requests.bins);
        filler.add::<RequestParts>(requests.parts.iter().enumerate());
        filler.add::<RequestKinds>(requests.kinds.iter().enumerate());
    }
    filler.add::<Findings>(words.findings.iter().enumerate());
    filler.table_unseen::<Connections, _>(&run.tables.connections);
    filler.add::<Connections>(run.tables.connections.value().into_iter().flatten().enumerate());
    filler.add::<Coverage>(&run.coverage.sources);
    filler.add::<Path>(run.path.iter().enumerate());
    filler.table_unseen::<Functions, _>(&run.tables.functions);
    filler.add::<Functions>(run.tables.functions.value().into_iter().flatten().enumerate());
    filler.table_unseen::<Syscalls, _>(&run.tables.syscalls);
    filler.add::<Syscalls>(run.tables.syscalls.value().into_iter().flatten().enumerate());
    let verb = if run.window.is_some() { "attach" } else { "run" };
    let summary = Summary {
        dwell: recorded(&run.dwell),
        command: run.command.join(" "),
        user_ns: run.user_ns.clone(),
        kernel_ns: run.kernel_ns.clone(),
        thread_ns: run.window.as_ref().map(|window| window.thread_ns),
        class: Some(run.bound.class.name()),
        resource: Some(run.bound.resource.name()),
        margin_points: Some(run.bound.margin_points),
        first_finding: words.findings.first().map(|finding| finding.cause.as_str()),
        tier: Some(run.tier().name()),
        lost_events: run.coverage.lost_events.clone(),
        unexplained_ns: Some(run.coverage.unexplained_ns),
        overhead: run.coverage.overhead_ns.clone(),
        host_busy: run.coverage.host_busy.clone(),
        steal_ns: run.coverage.steal_ns.clone(),
        ..Summary::new(verb, run.schema, &run.host, run.wall_ns, kept)
    };
    Ok(filler.finish::<Results>(summary, &kept.tags))
}

/// Whether a target is a unit, a container, a group or a port: named by who runs it, and no part of
/// a command.
fn is_named(target: &str) -> bool {
    let port = target.rsplit_once(" (").map_or(target, |(port, _)| port).strip_prefix(':');
    port.is_some_and(|port| port.parse::<u16>().is_ok())
        || ["service ", "container ", "pod ", "cgroup "].iter().any(|word| target.starts_with(word))
}

/// The places, those that are small put together unless all are wanted.
fn places(run: &Run, options: Options) -> Vec<PlaceRow<'_>> {
    let is_large = |place: &&CodePlace| options.detail || place.ns.saturating_mul(100) >= run.whole_ns();
    let (large, small): (Vec<_>, Vec<_>) = run.places.value().into_iter().flatten().partition(is_large);
    let mut by_state = BTreeMap::<State, Vec<&CodePlace>>::new();
    small.into_iter().for_each(|place| by_state.entry(place.state).or_default().push(place));
    let rest = by_state.into_iter().map(|(state, of)| match of[..] {
        [one] => (Cow::Borrowed(one), None),
        _ => (Cow::Owned(together(state, &of)), Some(of.len())),
    });
    let large = large.into_iter().map(|place| (Cow::Borrowed(place), None));
    let all = large.chain(rest).enumerate();
    all.map(|(number, (place, together))| PlaceRow { number, place, together }).collect()
}

fn together(state: State, of: &[&CodePlace]) -> CodePlace {
    CodePlace {
        process: String::new(),
        threads: 0,
        code: None,
        state,
        reason: Reason::None,
        other_reasons: 0,
        ns: of.iter().fold(0, |sum, place| place.ns.saturating_add(sum)),
        count: of.iter().fold(0, |sum, place| place.count.saturating_add(sum)),
        sampled: of.iter().any(|place| place.sampled),
    }
}

/// The lengths of waits: in octaves where nothing finer was kept.
fn bins(row: &WaitRow) -> Vec<Bin> {
    if !row.bins.is_empty() {
        return row.bins.clone();
    }
    let octave = |(beyond, count): &(u64, u64)| Bin { from_ns: beyond / 2, to_ns: *beyond, count: *count };
    row.histogram.iter().map(octave).collect()
}

/// The rows of a measurement of wake-ups.
///
/// # Errors
/// Its start is no time.
pub fn wakeups(of: &Wakeups, kept: &Kept, options: Options) -> Result<ResultTables, NoTime> {
    let mut filler = Filler::new(key(&of.origin, &of.host, kept, options, true), &of.started_at, options)?;
    let all = || [&of.all].into_iter().chain(&of.threads);
    filler.add::<WakeTable>(all().enumerate().map(|(number, wakes)| WakeRow { number, of, wakes }));
    filler.add::<WakeBins>(all().flat_map(|wakes| wakes.histogram.iter().map(move |bin| (wakes, *bin))));
    filler.table_unseen::<SpikeParts, _>(&of.spikes);
    for (number, spike) in of.spikes.value().into_iter().flatten().enumerate() {
        filler.add::<SpikeParts>(spike.shares.iter().map(|share| SpikePart { number, spike, share }));
    }
    let summary = Summary {
        dwell: recorded(&of.dwell),
        command: of
            .loads
            .iter()
            .map(|done| format!("--load {}", done.load.spec()))
            .collect::<Vec<_>>()
            .join(" "),
        verdict: of.verdict.as_ref().map(|verdict| word(&verdict.answer)),
        interrupted: Some(of.interrupted),
        ..Summary::new("wake", &of.schema, &of.host, of.took_ns, kept)
    };
    Ok(filler.finish::<Results>(summary, &kept.tags))
}

/// The rows of a ladder.
///
/// # Errors
/// Its start is no time.
pub fn ladder(of: &Ladder, kept: &Kept, options: Options) -> Result<ResultTables, NoTime> {
    let mut filler = Filler::new(key(&of.origin, &of.host, kept, options, true), &of.started_at, options)?;
    filler.add::<Rungs>(of.rungs.iter().enumerate());
    let summary = Summary {
        dwell: recorded(&of.dwell),
        command: of.asked.only.join(","),
        ..Summary::new("ladder", &of.schema, &of.host, of.took_ns, kept)
    };
    Ok(filler.finish::<Results>(summary, &kept.tags))
}

/// The rows of commands that were compared.
///
/// # Errors
/// Its start is no time.
pub fn comparison(of: &Comparison, kept: &Kept, options: Options) -> Result<ResultTables, NoTime> {
    let mut filler = Filler::new(key(&of.origin, &of.host, kept, options, false), &of.started_at, options)?;
    let changes = of.comparisons.iter().enumerate();
    filler.add::<Comparisons>(changes.map(|(number, change)| ChangeRow { number, of, change }));
    filler.add::<CompareRuns>(of.runs.iter().enumerate());
    let words = model::compare::commands::WORDS;
    let verdicts: Vec<_> = of.comparisons.iter().map(|change| words.of(change.verdict)).collect();
    let summary = Summary {
        dwell: Seen::Value(of.dwell.clone()),
        command: of.commands.iter().map(|command| command.name.as_str()).collect::<Vec<_>>().join(" "),
        verdict: if verdicts.is_empty() { Seen::Absent } else { Seen::Value(verdicts.join(", ")) },
        ..Summary::new("compare", &of.schema, &of.host, of.took_ns, kept)
    };
    Ok(filler.finish::<Results>(summary, &kept.tags))
}

/// The name of a value as the JSON has it.
pub(crate) fn word(of: &impl Serialize) -> String {
    match serde_json::to_value(of) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
