//! What qualifies a difference, in sentences.

use super::rows::Pairs;
use model::compare::EstimateInterval;
use model::compare::why::Why;
use model::{Run, State};

/// An interval of this many pairs is wide: Student's t has two degrees of freedom or fewer.
const FEW_PAIRS: usize = 3;

pub(super) fn of(pairs: &Pairs<'_>, why: &Why) -> Vec<String> {
    let found = [
        spread(pairs),
        folded(why),
        any(pairs, lost).map(|side| format!("{side} lost events: their time is missing or unexplained")),
        any(pairs, estimated).map(|side| {
            format!("{side} traced system calls in windows: calls and their times are estimates")
        }),
        any(pairs, unexplained).map(|side| format!("of {side}, more than 1 % is unexplained")),
    ];
    found.into_iter().flatten().collect()
}

/// What to say where the observed runs have another ratio than the timed ones: their intervals have
/// no value in common.
pub fn not_as_timed(why: &Why, timed: &EstimateInterval) -> Option<String> {
    let observed = why.ratio.as_ref()?;
    let apart = observed.lo > timed.hi || observed.hi < timed.lo;
    apart.then(|| {
        format!(
            "the observed runs have a ratio of {:.3} ({:.3} to {:.3}), the timed ones of {:.3}: what observing \
             adds to A and B is not the same, or they were observed at another time",
            observed.estimate, observed.lo, observed.hi, timed.estimate
        )
    })
}

fn spread(pairs: &Pairs<'_>) -> Option<String> {
    match pairs.len() {
        0 => Some("no pair was observed".to_owned()),
        1 => Some(
            "one run of each has no spread: a difference may be chance; intervals cover sampling alone"
                .to_owned(),
        ),
        2..=FEW_PAIRS => Some(format!("intervals are of {} pairs, and therefore wide", pairs.len())),
        _ => None,
    }
}

/// Names that were folded into one.
fn folded(why: &Why) -> Option<String> {
    let steps = why.steps.iter().map(|row| row.names);
    let waits = why.waits.iter().map(|row| row.names);
    let wakers = why.wakers.iter().map(|row| row.names);
    let peers = why.peers.value().into_iter().flatten().map(|row| row.names);
    let files = why.files.iter().map(|row| row.names);
    let any = steps.chain(waits).chain(wakers).chain(peers).chain(files).any(|names| names > 1);
    any.then(|| {
        "names that differ only in a part made up for one run are one row, with * for that part".to_owned()
    })
}

fn lost(run: &Run) -> bool {
    run.coverage.lost_events.value().is_some_and(|lost| *lost > 0)
}

/// Whether a row of its calls was estimated from windows.
fn estimated(run: &Run) -> bool {
    run.tables.syscalls.value().is_some_and(|rows| rows.iter().any(|row| row.estimate.is_some()))
}

fn unexplained(run: &Run) -> bool {
    let parts = run.account.iter().filter(|part| part.state == State::Unexplained);
    parts.map(|part| u128::from(part.ns)).sum::<u128>() * 100 > u128::from(run.whole_ns())
}

/// The side, or sides, with a run for which `is` holds.
fn any(pairs: &Pairs<'_>, is: impl Fn(&Run) -> bool) -> Option<&'static str> {
    match (pairs.iter().any(|(a, _)| is(a)), pairs.iter().any(|(_, b)| is(b))) {
        (true, true) => Some("both"),
        (true, false) => Some("A"),
        (false, true) => Some("B"),
        (false, false) => None,
    }
}
