//! The tables that sum to the difference of the walls: states, processes and steps of the path.

use super::keys::{self, Named, StepKey};
use super::rows::{Amount, Pairs, Row, folded, rows};
use super::times::{Summing, difference, order, time};
use model::compare::why::{ProcessDifference, StateDifference, StepDifference, StepsRest, TimeDifference};

/// Steps that have a row of their own.
const STEPS: usize = 100;

/// The tables.
pub(super) struct PathTables {
    pub(super) wall: TimeDifference,
    pub(super) states: Vec<StateDifference>,
    pub(super) processes: Vec<ProcessDifference>,
    pub(super) steps: Vec<StepDifference>,
    pub(super) rest: Option<StepsRest>,
}

pub(super) fn of(pairs: &Pairs<'_>) -> PathTables {
    let whole = rows(pairs, |run| vec![((), Amount::new(run.whole_ns(), 1))]);
    let (steps, rest) = steps(pairs);
    PathTables {
        wall: whole.first().map_or(time(&[]), |row| time(&row.amounts)),
        states: states(pairs),
        processes: processes(pairs),
        steps,
        rest,
    }
}

fn states(pairs: &Pairs<'_>) -> Vec<StateDifference> {
    let mut found =
        rows(pairs, |run| run.account.iter().map(|part| (part.state, Amount::new(part.ns, 1))).collect());
    found.sort_by_key(|row| row.key);
    let mut summing = Summing::default();
    let timed = found.iter().map(|row| StateDifference { state: row.key, time: summing.next(&row.amounts) });
    let mut states: Vec<StateDifference> = timed.filter(|row| is_something(&row.time)).collect();
    states.sort_by_key(|row| order(&row.time));
    states
}

fn processes(pairs: &Pairs<'_>) -> Vec<ProcessDifference> {
    let found = rows(pairs, |run| {
        let steps = run.path.iter();
        steps.map(|step| (StepKey::of(run, step).process, Amount::new(step.ns, step.count))).collect()
    });
    let [a, b] = keys::commands(pairs);
    let mut summing = Summing::default();
    let made = |row: &Row<Named>| {
        let (process, process_in_b) = row.key.task_names(&a, &b);
        ProcessDifference { process, process_in_b, time: summing.next(&row.amounts) }
    };
    let mut processes: Vec<ProcessDifference> = found.iter().map(made).collect();
    processes.retain(|row| is_something(&row.time));
    processes.sort_by_key(|row| order(&row.time));
    processes
}

/// The steps, rounded in the order of their states: so those of a state sum to it as well.
fn steps(pairs: &Pairs<'_>) -> (Vec<StepDifference>, Option<StepsRest>) {
    let found = rows(pairs, |run| {
        let steps = run.path.iter();
        steps.map(|step| (StepKey::of(run, step), Amount::new(step.ns, step.count))).collect()
    });
    let mut found = folded(found);
    found.sort_by_key(|row| row.key.state);
    let mut summing = Summing::default();
    let mut timed: Vec<(TimeDifference, Row<StepKey>)> =
        found.into_iter().map(|row| (summing.next(&row.amounts), row)).collect();
    timed.retain(|(time, _)| is_something(time));
    timed.sort_by_key(|(time, _)| order(time));
    let rest = rest(timed.get(STEPS..).unwrap_or_default());
    timed.truncate(STEPS);
    let [a, b] = keys::commands(pairs);
    let made = |(time, row): (TimeDifference, Row<StepKey>)| {
        let (process, process_in_b) = row.key.process.task_names(&a, &b);
        let StepKey { state, reason, .. } = row.key;
        StepDifference { process, process_in_b, state, reason, names: row.names, time }
    };
    (timed.into_iter().map(made).collect(), rest)
}

/// The sum of the steps that have no row.
fn rest(timed: &[(TimeDifference, Row<StepKey>)]) -> Option<StepsRest> {
    let ((_, first), others) = timed.split_first()?;
    let mut all = first.clone();
    others.iter().for_each(|(_, row)| all.join(row));
    let a_ns = timed.iter().map(|(time, _)| time.a_ns).sum();
    let b_ns = timed.iter().map(|(time, _)| time.b_ns).sum();
    Some(StepsRest { rows: timed.len() as u64, time: difference(a_ns, b_ns, &all.amounts) })
}

/// Whether either side has any of it.
fn is_something(time: &TimeDifference) -> bool {
    time.a_ns > 0 || time.b_ns > 0
}
