//! The account's steps: who did what for which reason, those that read alike as one.
//!
//! A build of an hour has hundreds of thousands, most of which end in rows of the result that stand
//! for many. So they are small here: names and reasons stand once, and a step refers to them.

use super::activity::Slot;
use super::divide::Portion;
use crate::keys::ReasonKey;
use crate::names::Names;
use model::recording::Comm;
use model::together::PlacesTogether;
use model::wait::{Reason, WaitTarget};
use model::{Ns, Pid, State, Step, Tid};
use rustc_hash::FxHashMap;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Steps as they are added up.
#[derive(Debug, Default)]
pub(super) struct Steps {
    reasons: Reasons,
    sums: FxHashMap<(Slot, State, u32), (Ns, u64)>,
    /// What of each is in which slice of time; of a path of more than [`OVER_TIME`] steps nothing.
    slices: FxHashMap<(Slot, State, u32), BTreeMap<u32, Ns>>,
}

/// Steps of a path that is kept over time: with more, rows of the result stand for several.
const OVER_TIME: usize = 2000;

/// Reasons by number: those that read alike have the same.
#[derive(Debug, Default)]
struct Reasons {
    by_key: FxHashMap<ReasonKey, u32>,
    by_text: FxHashMap<String, u32>,
    all: Vec<StepReason>,
}

/// A reason with the text that it has in JSON. Those that read alike are equal.
#[derive(Debug, Clone)]
pub(crate) struct StepReason {
    pub(crate) reason: Reason,
    pub(crate) text: String,
    /// The same without the name of what was waited for, where it has one.
    nameless: Option<Box<StepReason>>,
}

/// Where steps differ in their reasons.
pub(crate) static NO_REASON: StepReason =
    StepReason { reason: Reason::None, text: String::new(), nameless: None };

/// What a step says of its thread.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StepThread {
    pub(crate) pid: Pid,
    pub(crate) tid: Tid,
    /// Its process's name.
    pub(crate) process: Comm,
}

/// All steps of an account, the longest first.
#[derive(Debug, Default)]
pub(crate) struct StepTable {
    rows: Vec<StepRow>,
    /// Names of processes, each once.
    processes: Vec<String>,
    reasons: Vec<StepReason>,
    /// What of each row is in which slice of time; nothing where there are too many.
    over_time: Vec<Vec<(u32, Ns)>>,
}

#[derive(Debug, Clone, Copy)]
struct StepRow {
    slot: Slot,
    pid: Pid,
    tid: Tid,
    process: u32,
    reason: u32,
    state: State,
    ns: Ns,
    count: u64,
}

/// A [`Step`] whose names stand elsewhere. It has the same JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct StepRef<'a> {
    pub(crate) pid: Pid,
    pub(crate) tid: Tid,
    pub(crate) process: &'a str,
    pub(crate) state: State,
    pub(crate) reason: &'a StepReason,
    pub(crate) ns: Ns,
    pub(crate) count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) together: Option<PlacesTogether>,
}

impl Steps {
    /// For steps of this many activities.
    pub(super) fn of_activities(activities: usize) -> Self {
        let sums = FxHashMap::with_capacity_and_hasher(activities, rustc_hash::FxBuildHasher);
        Self { sums, ..Self::default() }
    }

    pub(super) fn add(
        &mut self,
        thread: Slot,
        state: State,
        (reason, names): (ReasonKey, &Names),
        ns: Ns,
        count: u64,
    ) {
        let reason = self.reasons.number(reason, names);
        let sum = self.sums.entry((thread, state, reason)).or_default();
        *sum = (sum.0 + ns, sum.1 + count);
    }

    /// Adds a portion of a step to this slice of time. What the division of a slice has, and that
    /// of the whole run has not, belongs to no step.
    pub(super) fn in_slice(&mut self, thread: Slot, portion: Portion, slice: u32) {
        if self.sums.len() > OVER_TIME {
            return;
        }
        // Files of which there are many may be one step.
        let step = [portion.reason, portion.reason.of_many()].into_iter().find_map(|reason| {
            let step = (thread, portion.state, *self.reasons.by_key.get(&reason)?);
            self.sums.contains_key(&step).then_some(step)
        });
        if let Some(step) = step {
            *self.slices.entry(step).or_default().entry(slice).or_default() += portion.ns;
        }
    }

    /// All of them, the longest first.
    pub(super) fn table(self, thread: impl Fn(Slot) -> StepThread) -> StepTable {
        let Self { reasons: Reasons { all: reasons, .. }, sums, mut slices } = self;
        let mut numbers: FxHashMap<Comm, u32> = FxHashMap::default();
        let mut processes = Vec::new();
        let row = |((slot, state, reason), (ns, count)): ((Slot, State, u32), (Ns, u64))| {
            let StepThread { pid, tid, process } = thread(slot);
            let process = *numbers.entry(process).or_insert_with(|| {
                processes.push(process.to_text());
                processes.len() as u32 - 1
            });
            StepRow { slot, pid, tid, process, reason, state, ns, count }
        };
        let rows: Vec<StepRow> = sums.into_iter().map(row).collect();
        // Slot and state tell apart what is the same in all that is shown: the order is that of
        // the recording, not that of the table of sums.
        let order = |row: &StepRow| (row.pid, row.tid);
        let text = |row: &StepRow| &reasons[row.reason as usize].text;
        // Most have times that differ: few rows are looked at.
        let mut by_time: Vec<(Reverse<Ns>, u32)> =
            (0..).zip(&rows).map(|(at, row)| (Reverse(row.ns), at)).collect();
        by_time.sort_unstable_by(|(a_ns, a), (b_ns, b)| {
            let (a, b) = (&rows[*a as usize], &rows[*b as usize]);
            let known = a_ns.cmp(b_ns).then_with(|| order(a).cmp(&order(b)));
            known.then_with(|| text(a).cmp(text(b))).then_with(|| (a.slot, a.state).cmp(&(b.slot, b.state)))
        });
        let rows: Vec<StepRow> = by_time.into_iter().map(|(_, at)| rows[at as usize]).collect();
        let step = |row: &StepRow| (row.slot, row.state, row.reason);
        let over_time = match slices.is_empty() {
            true => Vec::new(),
            false => rows
                .iter()
                .map(|row| slices.remove(&step(row)).unwrap_or_default().into_iter().collect())
                .collect(),
        };
        StepTable { rows, processes, reasons, over_time }
    }
}

impl Reasons {
    fn number(&mut self, key: ReasonKey, names: &Names) -> u32 {
        let Self { by_key, by_text, all } = self;
        *by_key.entry(key).or_insert_with(|| {
            let reason = StepReason::new(names.reason(key));
            *by_text.entry(reason.text.clone()).or_insert_with(|| {
                all.push(reason);
                all.len() as u32 - 1
            })
        })
    }
}

impl StepReason {
    pub(crate) fn new(reason: Reason) -> Self {
        let nameless = match &reason {
            Reason::Wait(call, on) => Some(Reason::Wait(call.clone(), WaitTarget::Nameless(on.kind()))),
            Reason::Preempted(_) => Some(Reason::PreemptedUnseen),
            _ => None,
        };
        let plain = |reason: Reason| Box::new(Self { text: reason.to_string(), reason, nameless: None });
        Self { text: reason.to_string(), reason, nameless: nameless.map(plain) }
    }

    /// It, without the name of what was waited for.
    pub(crate) fn nameless(&self) -> &Self {
        self.nameless.as_deref().unwrap_or(self)
    }
}

impl PartialEq for StepReason {
    fn eq(&self, other: &Self) -> bool {
        // Of most tables each stands once.
        std::ptr::eq(self, other) || self.text == other.text
    }
}

impl Eq for StepReason {}

impl Serialize for StepReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl StepTable {
    /// The longest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = StepRef<'_>> + Clone {
        self.rows.iter().map(|row| {
            let StepRow { pid, tid, state, ns, count, .. } = *row;
            let process = &*self.processes[row.process as usize];
            let reason = &self.reasons[row.reason as usize];
            StepRef { pid, tid, process, state, reason, ns, count, together: None }
        })
    }

    /// What of each is in which slice of time; nothing of a table that is too large.
    pub(crate) fn over_time(&self) -> &[Vec<(u32, Ns)>] {
        &self.over_time
    }

    /// What each adds to which state.
    pub(crate) fn times(&self) -> impl Iterator<Item = (State, Ns)> {
        self.rows.iter().map(|row| (row.state, row.ns))
    }
}

impl From<StepRef<'_>> for Step {
    fn from(step: StepRef<'_>) -> Self {
        let StepRef { pid, tid, process, state, reason, ns, count, together } = step;
        let (process, reason) = (process.to_owned(), reason.reason.clone());
        Step { pid, tid, process, state, reason, ns, count, together }
    }
}
