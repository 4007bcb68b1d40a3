//! The table of waits.

use super::activity::Slot;
use super::wait_groups::{Group, Groups};
use super::waits::{Ends, Requests, Wait, Waits};
use crate::code::Code;
use crate::keys::{ReasonKey, TargetKey, WaitKey, WakerKey, Who};
use crate::names::Names;
use crate::purpose::caller;
use model::run::{WAITING_THREADS_MAX, WaitEnd, WaitPlace, WaitRow, WaitingThread, WakerRow};
use model::wait::{StackFrame, SyscallName};
use model::wake::Bin;
use model::{Ns, Pid, Seen, State, Tid};
use rustc_hash::FxHashMap;
use stats::histogram::Histogram;
use std::cmp::Reverse;

/// A place has no row of its own for less than this part of the time.
const PLACE_PART: Ns = 20;

/// How waits were seen, and so what is known of each.
#[derive(Clone, Copy)]
pub(crate) enum Seeing<'a> {
    /// Each with its waker, its stack and its request to a disk; and who a thread is.
    Traced(&'a Code, &'a dyn Fn(Slot) -> Who),
    /// From outside.
    Polled,
}

/// Time by kind of wait, where it is known by more than the waits' own ends.
#[derive(Debug, Default)]
pub(crate) struct WaitTimes {
    /// What of it counts in the account.
    pub(crate) path_ns: FxHashMap<(WaitKey, Slot), Ns>,
    /// All of it, where counters tell more than ends do.
    pub(crate) total_ns: Option<FxHashMap<(WaitKey, Slot), Ns>>,
}

/// What is known of one kind of wait by the way in which it was seen.
struct Detail {
    stack: Seen<Vec<StackFrame>>,
    places: Vec<WaitPlace>,
    device: Seen<String>,
    requests: Seen<u64>,
    queue_ns: Seen<Ns>,
    device_ns: Seen<Ns>,
    by: Vec<WakerRow>,
    histogram: Vec<(Ns, u64)>,
    bins: Vec<Bin>,
}

/// All kinds of waits, most time first.
pub(crate) fn wait_rows(waits: Waits, times: &WaitTimes, names: &Names, seeing: Seeing<'_>) -> Vec<WaitRow> {
    let by_group =
        |groups: &Groups, sums: &FxHashMap<(WaitKey, Slot), Ns>, kind_of: &dyn Fn(WaitKey) -> WaitKey| {
            let mut by_group = vec![0; groups.all.len()];
            for ((wait, thread), ns) in sums {
                if let Some(group) = groups.of(kind_of(*wait), *thread) {
                    by_group[group] += ns;
                }
            }
            by_group
        };
    let kinds: FxHashMap<WaitKey, WaitKey> = times.waits().map(|wait| (wait, waits.kind_of(wait))).collect();
    let kind_of = |wait: WaitKey| kinds.get(&wait).copied().unwrap_or(wait);
    let groups = match seeing {
        Seeing::Traced(code, who) => Groups::new(waits, Some(code), &|thread| who(thread).pid),
        Seeing::Polled => Groups::new(waits, None, &|_| 0),
    };
    let path_ns = by_group(&groups, &times.path_ns, &kind_of);
    let total_ns = times.total_ns.as_ref().map(|sums| by_group(&groups, sums, &kind_of));
    let figures = path_ns.into_iter().enumerate().map(|(at, path_ns)| {
        let total_ns = total_ns.as_ref().map(|total_ns| total_ns[at]);
        (path_ns, total_ns)
    });
    let mut rows: Vec<_> = groups
        .all
        .into_iter()
        .zip(figures)
        .map(|(group, (path_ns, total_ns))| row(group, path_ns, total_ns, names, seeing))
        .collect();
    rows.sort_by_cached_key(|row| {
        let first = row.threads.first().map(|thread| (thread.pid, thread.tid));
        (Reverse(row.total_ns), row.call.syscall().map(SyscallName::to_string), row.on.to_string(), first)
    });
    rows
}

fn row(mut group: Group, path_ns: Ns, total_ns: Option<Ns>, names: &Names, seeing: Seeing<'_>) -> WaitRow {
    group.wait.fold_namesakes();
    let Group { kind, wait, threads, .. } = group;
    let (detail, threads) = match seeing {
        Seeing::Traced(code, who) => (Detail::traced(kind, &wait, names, code), waiting(threads, who)),
        Seeing::Polled => (Detail::polled(), Vec::new()),
    };
    let (call, on) = names.wait(kind);
    WaitRow {
        together: None,
        reason: kind.0,
        call,
        on,
        calls: wait.lengths.total(),
        total_ns: total_ns.unwrap_or(wait.total_ns),
        path_ns,
        p50_ns: wait.lengths.quantile(0.5),
        p99_ns: wait.lengths.quantile(0.99),
        max_ns: wait.lengths.max(),
        by: detail.by,
        histogram: detail.histogram,
        bins: detail.bins,
        threads,
        places: detail.places,
        device: detail.device,
        requests: detail.requests,
        queue_ns: detail.queue_ns,
        device_ns: detail.device_ns,
        stack: detail.stack,
        ended: WaitEnd::default(),
        own_frame: None,
    }
}

/// Whose waits they are, most time first. Several that shared a ledger are no thread.
fn waiting(mut threads: Vec<(Slot, Ns)>, who: &dyn Fn(Slot) -> Who) -> Vec<WaitingThread> {
    threads.sort_by_key(|(thread, ns)| (Reverse(*ns), *thread));
    let told = threads.into_iter().map(|(thread, ns)| (who(thread), ns)).filter(|(who, _)| who.tid != 0);
    told.take(WAITING_THREADS_MAX)
        .map(|(Who { name, pid, tid }, ns)| WaitingThread { pid, tid, name: name.to_text(), ns })
        .collect()
}

impl WaitTimes {
    /// The kinds of wait that times are known of.
    fn waits(&self) -> impl Iterator<Item = WaitKey> {
        let more = self.total_ns.iter().flat_map(|sums| sums.keys());
        self.path_ns.keys().chain(more).map(|(wait, _)| *wait)
    }
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
            places: places(wait, code),
            device,
            requests: figure(|requests| Some(requests.count)),
            queue_ns: figure(|requests| requests.queue_ns),
            device_ns: figure(|requests| Some(requests.device_ns)),
            by: wakers(wait, key.0 == State::Lock, code),
            histogram: wait.lengths.octaves(),
            bins: bins(&wait.lengths),
        }
    }

    fn polled() -> Self {
        let why = "disk requests need BPF";
        Self {
            stack: Seen::unseen("stacks of waits need BPF"),
            places: Vec::new(),
            device: Seen::unseen(why),
            requests: Seen::unseen(why),
            queue_ns: Seen::unseen(why),
            device_ns: Seen::unseen(why),
            by: Vec::new(),
            histogram: Vec::new(),
            bins: Vec::new(),
        }
    }
}

/// Lengths by the bins in which they were counted.
fn bins(lengths: &Histogram) -> Vec<Bin> {
    lengths.bins().map(|(from_ns, to_ns, count)| Bin { from_ns, to_ns, count }).collect()
}

/// Where such waits were called from, if from several places.
fn places(wait: &Wait, code: &Code) -> Vec<WaitPlace> {
    let all: Ns = wait.stacks.values().sum();
    let mut nodes: Vec<_> = wait.stacks.iter().map(|(node, ns)| (*node, *ns)).collect();
    nodes.sort_unstable_by_key(|(node, ns)| (Reverse(*ns), *node));
    let mut places: Vec<(Option<StackFrame>, WaitPlace)> = Vec::new();
    for (node, ns) in nodes {
        let stack = code.stack(node);
        let caller = caller(&stack).cloned();
        match places.iter_mut().find(|(of, _)| *of == caller) {
            Some((_, place)) => place.ns += ns,
            None => places.push((caller, WaitPlace { stack, ns })),
        }
    }
    places.retain(|(_, place)| place.ns * PLACE_PART >= all);
    places.sort_by_key(|(_, place)| Reverse(place.ns));
    let told: Ns = places.iter().map(|(_, place)| place.ns).sum();
    let part = |ns: Ns| (u128::from(wait.total_ns) * u128::from(ns) / u128::from(told.max(1))) as Ns;
    let places: Vec<_> =
        places.into_iter().map(|(_, place)| WaitPlace { ns: part(place.ns), ..place }).collect();
    if places.len() > 1 { places } else { Vec::new() }
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
        let (name, pid, tid) = named(*waker);
        let (kind, meanwhile) = (waker.kind(), ends.holder.rows());
        WakerRow { kind, name, pid, tid, times: ends.times, ns: ends.ns, place, stack, meanwhile }
    };
    by.into_iter().map(row).collect()
}

/// The waker's name, process and thread.
fn named(waker: WakerKey) -> (String, Seen<Pid>, Seen<Tid>) {
    let Some(Who { name, pid, tid }) = waker.who() else {
        return (String::new(), Seen::Absent, Seen::Absent);
    };
    if tid == 0 {
        return (name.to_text(), Seen::Absent, Seen::Absent);
    }
    let pid = if pid == 0 { Seen::unseen("only its thread is recorded") } else { Seen::Value(pid) };
    (name.to_text(), pid, Seen::Value(tid))
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
