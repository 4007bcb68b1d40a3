//! What explains the time of a run: which finding, the program's own work, or nothing that is
//! known. Each nanosecond of the account belongs to one of these.
//!
//! Findings take their time in their order, in two rounds. First each takes the steps that its
//! place names, such as the waits of a row, up to the high end of its share. Then, where the middle
//! of its share is more than these steps had before anybody took them, it takes as much more of
//! other steps, which only samples or sums tell: of the nearest states first. What is left of time
//! on a CPU is own work; the rest is not judged, waits by their call and target.

mod open;

use super::Evidence;
use super::evidence::WORTH_PART;
use model::finding::{RowRef, SavedTime, SavingBasis};
use model::sentence::Piece::{Ns as Time, NsBetween};
use model::wait::{Reason, SyscallName, WaitCall, WaitTarget};
use model::{
    Explained, ExplainedBy, Explanation, Finding, Ns, RuledOut, Run, Seen, State, Step, UnjudgedWaits, say,
};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cmp::Reverse;

/// Kinds of waits with less than this part of the time each are put together by state.
const APART: Ns = 20;

/// What explains the run's time. `findings`: in their final order.
pub(super) fn of(evidence: &Evidence<'_>, findings: &[Finding]) -> Seen<Explanation> {
    let run = evidence.run;
    let steps = steps(run);
    let mut left: Vec<(&Step, Ns)> = steps.iter().map(|step| (step, step.ns)).collect();
    let mut taken = vec![0; findings.len()];
    for (finding, taken) in findings.iter().zip(&mut taken) {
        *taken += take(&mut left, finding.share_ns.hi, |step| names(run, finding.place, step));
    }
    for (finding, taken) in findings.iter().zip(&mut taken) {
        let named = steps.iter().filter(|step| names(run, finding.place, step));
        let named_ns: Ns = named.map(|step| step.ns).sum();
        let middle_ns = finding.share_ns.lo.midpoint(finding.share_ns.hi);
        let mut beside_ns = middle_ns.saturating_sub(named_ns);
        for distance in 0..=FARTHEST {
            let is_near = |step: &Step| distance_of(run, finding.place, step) == Some(distance);
            let more_ns = take(&mut left, beside_ns, is_near);
            beside_ns -= more_ns;
            *taken += more_ns;
        }
    }
    let claimed = taken
        .into_iter()
        .enumerate()
        .map(|(finding, ns)| Explained { by: ExplainedBy::Finding(finding), ns });
    let rows = claimed.chain(own_work(&left)).chain(not_judged(run, &left));
    match Explanation::new(run.whole_ns(), rows.filter(|row| row.ns > 0).collect()) {
        Ok(explanation) => Seen::Value(open::with_question(evidence, findings, explanation)),
        Err(error) => Seen::unseen(error.to_string()),
    }
}

/// Why the first finding is not what bounds the program: waits of one kind that nothing explains
/// are more than twice as long as what it saves at most. Those at its own place are what it leaves,
/// waits for a CPU go with whatever computes, and those for another thread are for what that one
/// does, which the finding may be about. What is saved for certain, since it was counted, is there
/// whatever else is.
pub(super) fn outweighed(
    run: &Run,
    explanation: Option<&Explanation>,
    findings: &[Finding],
) -> Option<RuledOut> {
    let is_lock = |first: &&Finding| match first.place {
        RowRef::Wait(row) => run.waits.get(row).is_some_and(|wait| wait.reason == State::Lock),
        _ => false,
    };
    let first = findings.first().filter(|first| !is_lock(first))?;
    let saving = first.saving.value().filter(|saving| saving.of == SavedTime::Wall)?;
    let is_there = |waits: &UnjudgedWaits| {
        let is = |step: &&Step| matches!(&step.reason, Reason::Wait(call, on) if (call, on) == (&waits.call, &waits.on));
        run.path.iter().filter(is).any(|step| names(run, first.place, step))
    };
    let waits = explanation?.rows().iter().filter(|row| match &row.by {
        ExplainedBy::NotJudged { state: State::Runqueue | State::Idle | State::Lock, .. } => false,
        ExplainedBy::NotJudged { waits, .. } => !waits.as_ref().is_some_and(is_there),
        ExplainedBy::Finding(_) | ExplainedBy::OwnWork(_) => false,
    });
    let most_ns = waits.map(|row| row.ns).max()?;
    let ns = saving.structure();
    let what = say!("saved by the change, beside ", Time(most_ns), " of waits that it does not explain");
    let is_certain = saving.known == SavingBasis::Counted && ns.lo >= run.whole_ns() / WORTH_PART;
    (ns.hi < most_ns / 2 && !is_certain).then(|| RuledOut::below(NsBetween(ns), what, Time(most_ns / 2)))
}

/// The path; where it does not have all of the account, the account's states.
fn steps(run: &Run) -> Cow<'_, [Step]> {
    if run.path.iter().map(|step| step.ns).sum::<Ns>() == run.whole_ns() {
        return Cow::Borrowed(&run.path);
    }
    let step = |state, ns| Step {
        pid: 0,
        tid: 0,
        process: String::new(),
        state,
        reason: Reason::None,
        ns,
        count: 0,
        together: None,
    };
    run.account.iter().map(|part| step(part.state, part.ns)).collect()
}

/// Takes so much of what is left of some steps, and says how much that was.
fn take(left: &mut [(&Step, Ns)], most_ns: Ns, of: impl Fn(&Step) -> bool) -> Ns {
    let mut taken_ns = 0;
    for (_, ns) in left.iter_mut().filter(|(step, ns)| *ns > 0 && of(step)) {
        let some_ns = (*ns).min(most_ns - taken_ns);
        *ns -= some_ns;
        taken_ns += some_ns;
    }
    taken_ns
}

fn row<T>(table: &Seen<Vec<T>>, row: usize) -> Option<&T> {
    table.value()?.get(row)
}

/// Whether a step is what a finding's place names.
fn names(run: &Run, place: RowRef, step: &Step) -> bool {
    let tables = &run.tables;
    let waits_on = |counts: &dyn Fn(&WaitTarget) -> bool| match &step.reason {
        Reason::Wait(_, on) => counts(on),
        _ => false,
    };
    let named = match place {
        RowRef::State(State::User)
        | RowRef::Function(_)
        | RowRef::Line(_)
        | RowRef::Thread(_)
        | RowRef::Run => None,
        RowRef::State(state) => Some(step.state == state),
        RowRef::Step(row) => run.path.get(row).map(|named| named == step),
        RowRef::Wait(row) => run.waits.get(row).map(|wait| {
            step.state == wait.reason
                && matches!(&step.reason, Reason::Wait(call, on) if (call, on) == (&wait.call, &wait.on))
        }),
        RowRef::HandOver(at) => tables.hand_overs.value().and_then(|table| table.rows.get(at)).map(|row| {
            step.state == row.reason
                && matches!(&step.reason, Reason::Wait(call, on) if (call, on) == (&row.call, &row.through))
        }),
        RowRef::Connection(at) => row(&tables.connections, at).map(|row| {
            waits_on(&|on| match on {
                WaitTarget::Tcp(end) => [&row.remote, &row.local].contains(&&end.to_string()),
                _ => false,
            })
        }),
        RowRef::Lookup(at) => row(&tables.lookups, at).map(|row| {
            waits_on(&|on| on.question().is_some_and(|question| question.name.as_ref() == row.name.value()))
        }),
        RowRef::File(at) => tables.files.value().and_then(|table| table.rows.get(at)).map(|row| {
            let durable = row.durable.value().map(|durable| &durable.call);
            let calls = [Some(&row.read.call), Some(&row.written.call), durable];
            let is_of = |call: &SyscallName| calls.contains(&Some(&call.to_string()));
            waits_on(&|on| matches!(on, WaitTarget::File(Seen::Value(path)) if *path == row.path))
                || step.pid == row.pid && call_of(step).is_some_and(is_of)
        }),
        RowRef::Call(at) => row(&tables.syscalls, at).map(|row| call_of(step) == Some(&row.name)),
    };
    named == Some(true)
}

/// The call that a step was in, on a CPU or waiting.
fn call_of(step: &Step) -> Option<&SyscallName> {
    match &step.reason {
        Reason::Syscall(name) | Reason::Wait(WaitCall::Syscall(name), _) => Some(name),
        _ => None,
    }
}

/// No step is further from a place than this.
const FARTHEST: u8 = 8;

/// How far a step is from what the place of a finding is about, where it may be of it at all.
fn distance_of(run: &Run, place: RowRef, step: &Step) -> Option<u8> {
    let near = |is_near: bool, distance: u8| is_near.then_some(distance);
    let on_cpu = match step.state {
        State::Fault => Some(3),
        State::Kernel => Some(4),
        State::User => Some(5),
        State::Interrupt => Some(6),
        State::Runqueue => Some(7),
        _ => None,
    };
    match place {
        RowRef::State(State::User) | RowRef::Function(_) | RowRef::Line(_) => {
            near(step.state == State::User, 0).or(on_cpu.filter(|_| step.state.on_cpu()))
        }
        RowRef::State(_) | RowRef::Step(_) => None,
        RowRef::Wait(row) => run.waits.get(row).and_then(|wait| {
            let same_call = wait.call.syscall().is_some() && call_of(step) == wait.call.syscall();
            let same_state = step.state == wait.reason;
            near(same_state && same_call, 0).or(near(same_state, 1)).or(near(same_call, 2)).or(on_cpu)
        }),
        RowRef::HandOver(_) => {
            near(step.state == State::Kernel, 0).or(near(step.state == State::Runqueue, 1)).or(on_cpu)
        }
        RowRef::Connection(_) | RowRef::Lookup(_) => near(step.state == State::Network, 0).or(on_cpu),
        RowRef::File(_) => near(step.state == State::Disk, 0).or(on_cpu),
        RowRef::Call(_) => near(matches!(step.reason, Reason::Syscall(_)), 0).or(on_cpu),
        RowRef::Thread(row) => {
            let name = run.threads.get(row).map(|thread| &*thread.name);
            let is_of = step.process.is_empty() || Some(&*step.process) == name;
            on_cpu.or(near(step.state.waits(), FARTHEST)).filter(|_| is_of)
        }
        RowRef::Run => on_cpu,
    }
}

/// What is left of time on a CPU, by state.
fn own_work(left: &[(&Step, Ns)]) -> Vec<Explained> {
    let ns_in = |state| left.iter().filter(|(step, _)| step.state == state).map(|(_, ns)| ns).sum();
    let row = |state| Explained { by: ExplainedBy::OwnWork(state), ns: ns_in(state) };
    let mut rows: Vec<_> = State::ALL.into_iter().filter(|state| state.on_cpu()).map(row).collect();
    rows.sort_by_key(|row| Reverse(row.ns));
    rows
}

/// What is left of all other time: by state, and waits by call and target as far as these have a
/// part that is worth it.
fn not_judged(run: &Run, left: &[(&Step, Ns)]) -> Vec<Explained> {
    let mut groups = FxHashMap::<(State, Option<(&WaitCall, &WaitTarget)>), (Ns, u64)>::default();
    for (step, ns) in left.iter().filter(|(step, ns)| *ns > 0 && !step.state.on_cpu()) {
        let of = match &step.reason {
            Reason::Wait(call, on) => Some((call, on)),
            _ => None,
        };
        let group = groups.entry((step.state, of)).or_default();
        *group = (group.0 + ns, group.1 + step.count);
    }
    let mut rows = Vec::new();
    let mut rest = FxHashMap::<State, Ns>::default();
    for ((state, of), (ns, calls)) in groups {
        match of.filter(|_| ns >= run.whole_ns() / APART) {
            Some((call, on)) => {
                let waits = Some(unjudged(run, state, call, on, calls));
                rows.push(Explained { by: ExplainedBy::NotJudged { state, waits }, ns });
            }
            None => *rest.entry(state).or_default() += ns,
        }
    }
    let of_state = |(state, ns)| Explained { by: ExplainedBy::NotJudged { state, waits: None }, ns };
    rows.extend(rest.into_iter().map(of_state));
    let named = |row: &Explained| match &row.by {
        ExplainedBy::NotJudged { state, waits } => {
            let waits =
                waits.as_ref().map(|waits| (Reason::Wait(waits.call.clone(), waits.on.clone())).to_string());
            (Some(*state), waits)
        }
        _ => (None, None),
    };
    rows.sort_by_cached_key(|row| (Reverse(row.ns), named(row)));
    rows
}

/// Waits of one kind, which the path began so often.
fn unjudged(run: &Run, state: State, call: &WaitCall, on: &WaitTarget, began: u64) -> UnjudgedWaits {
    let rows: Vec<_> = open::rows_of(run, state, Some((call, on))).collect();
    let calls = if rows.is_empty() { began } else { rows.iter().map(|wait| wait.calls).sum() };
    let max_ns = rows.iter().map(|wait| wait.max_ns).max();
    let max_ns = max_ns.map_or_else(|| Seen::unseen("no row of waits has them alone"), Seen::Value);
    UnjudgedWaits { call: call.clone(), on: on.clone(), calls, max_ns }
}

#[cfg(test)]
mod tests;
