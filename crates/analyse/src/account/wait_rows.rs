//! The table of waits.

use super::waits::{Ends, Requests, Wait, Waits};
use crate::code::Code;
use crate::keys::{ReasonKey, TargetKey, WaitKey, WakerKey};
use crate::names::Names;
use crate::purpose;
use model::run::{WaitRow, WakerRow};
use model::wait::{StackFrame, SyscallName, WaitTarget};
use model::{Ns, Seen, State};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// How waits were seen, and so what is known of each.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Seeing<'a> {
    /// Each with its waker, its stack and its request to a disk.
    Traced(&'a Code),
    /// From outside.
    Polled,
}

/// Time by kind of wait, where it is known by more than the waits' own ends.
#[derive(Debug, Default)]
pub(crate) struct WaitTimes {
    /// What of it counts in the account.
    pub(crate) path_ns: FxHashMap<WaitKey, Ns>,
    /// All of it, where counters tell more than ends do.
    pub(crate) total_ns: Option<FxHashMap<WaitKey, Ns>>,
}

/// What is known of one kind of wait by the way in which it was seen.
struct Detail {
    stack: Seen<Vec<StackFrame>>,
    device: Seen<String>,
    requests: Seen<u64>,
    queue_ns: Seen<Ns>,
    device_ns: Seen<Ns>,
    by: Vec<WakerRow>,
    histogram: Vec<(Ns, u64)>,
}

/// All kinds of waits, most time first.
pub(crate) fn wait_rows(waits: &Waits, times: &WaitTimes, names: &Names, seeing: Seeing<'_>) -> Vec<WaitRow> {
    let by_row = |sums: &FxHashMap<WaitKey, Ns>| {
        let mut rows: FxHashMap<WaitKey, Ns> = FxHashMap::default();
        for (key, ns) in sums {
            *rows.entry(waits.row_of(*key)).or_default() += ns;
        }
        rows
    };
    let path_ns = by_row(&times.path_ns);
    let total_ns = times.total_ns.as_ref().map(by_row);
    let row = |(key, wait): (WaitKey, &Wait)| {
        let detail = match seeing {
            Seeing::Traced(code) => Detail::traced(key, wait, names, code),
            Seeing::Polled => Detail::polled(),
        };
        let (call, on) = names.wait(key);
        let ns = |sums: &FxHashMap<WaitKey, Ns>| sums.get(&key).copied().unwrap_or(0);
        WaitRow {
            reason: key.0,
            call,
            on: on_interpreter_lock(key, &detail.stack).unwrap_or(on),
            calls: wait.lengths.total(),
            total_ns: total_ns.as_ref().map_or(wait.total_ns, ns),
            path_ns: ns(&path_ns),
            p50_ns: wait.lengths.quantile(0.5),
            p99_ns: wait.lengths.quantile(0.99),
            max_ns: wait.lengths.max(),
            by: detail.by,
            histogram: detail.histogram,
            device: detail.device,
            requests: detail.requests,
            queue_ns: detail.queue_ns,
            device_ns: detail.device_ns,
            stack: detail.stack,
        }
    };
    let mut rows: Vec<_> = waits.rows().map(row).collect();
    rows.sort_by_cached_key(|row| {
        (Reverse(row.total_ns), row.call.syscall().map(SyscallName::to_string), row.on.to_string())
    });
    rows
}

impl Detail {
    fn traced(key: WaitKey, wait: &Wait, names: &Names, code: &Code) -> Self {
        let (device, requests) = requests(key, &wait.requests, names);
        let figure = |of: fn(&Requests) -> Option<Ns>| {
            requests.as_ref().and_then(|requests| match of(requests) {
                Some(figure) => Seen::Value(figure),
                None => Seen::unseen("the kernel does not record when requests are queued"),
            })
        };
        Self {
            stack: match wait.main_stack() {
                Some(node) => Seen::Value(code.stack(node)),
                None => Seen::unseen("no stack: the wait was too short, or is of a kind without stacks"),
            },
            device,
            requests: figure(|requests| Some(requests.count)),
            queue_ns: figure(|requests| requests.queue_ns),
            device_ns: figure(|requests| Some(requests.device_ns)),
            by: wakers(wait, key.0 == State::Lock, code),
            histogram: wait.lengths.octaves(),
        }
    }

    fn polled() -> Self {
        let why = "disk requests need BPF";
        Self {
            stack: Seen::unseen("stacks of waits need BPF"),
            device: Seen::unseen(why),
            requests: Seen::unseen(why),
            queue_ns: Seen::unseen(why),
            device_ns: Seen::unseen(why),
            by: Vec::new(),
            histogram: Vec::new(),
        }
    }
}

/// What woke the threads, most time first; `locks` are released somewhere.
fn wakers(wait: &Wait, locks: bool, code: &Code) -> Vec<WakerRow> {
    let mut by: Vec<_> = wait.by.iter().collect();
    by.sort_by_key(|(waker, ends)| (Reverse(ends.ns), **waker));
    let row = |(waker, ends): (&WakerKey, &Ends)| {
        let (place, stack) = match wait.ended_at(waker) {
            Some(node) => (code.own_frame(node), Seen::Value(code.stack(node))),
            None if locks && matches!(waker, WakerKey::Thread(_)) => {
                let why = "no stack of the waker: the wait was too short, or ended otherwise than by a futex";
                (Seen::unseen(why), Seen::unseen(why))
            }
            None => (Seen::Absent, Seen::Absent),
        };
        let (kind, name, meanwhile) = (waker.kind(), waker.name(), ends.holder.rows());
        WakerRow { kind, name, times: ends.times, ns: ends.ns, place, stack, meanwhile }
    };
    by.into_iter().map(row).collect()
}

/// The device that waits on a disk were for, and what of their time is known by request.
fn requests<'a>(
    (state, reason): WaitKey,
    requests: &'a Requests,
    names: &Names,
) -> (Seen<String>, Seen<&'a Requests>) {
    if state != State::Disk {
        return (Seen::Absent, Seen::Absent);
    }
    if requests.count > 0 {
        return (names.files.device(requests.dev), Seen::Value(requests));
    }
    let why = "no request that ended such a wait was observed";
    let device = match reason {
        ReasonKey::Wait(_, TargetKey::File(file)) => names.files.device_of(file),
        _ => Seen::unseen(why),
    };
    (device, Seen::unseen(why))
}

/// The lock of an interpreter that a wait on a futex is for, by its stack.
fn on_interpreter_lock((_, reason): WaitKey, stack: &Seen<Vec<StackFrame>>) -> Option<WaitTarget> {
    let ReasonKey::Wait(_, TargetKey::Futex(_)) = reason else { return None };
    purpose::interpreter_lock(stack.value()?).map(WaitTarget::InterpreterLock)
}
