//! What waits, connections and name lookups have in common, and what several rows come to.

use super::rows::{common, sum, sum_seen, sum_states};
use crate::bounded::Row;
use model::network::ConnectionOrigin;
use model::peers::{ConnectionRow, DelayedAck, Dialogue, Lengths, LookupRow, Opening};
use model::run::{WaitEnd, WaitRow, WakerRow};
use model::wait::{SyscallName, WaitCall, WaitTarget, WakerKind};
use model::{Ns, Seen, State};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Why what differs from row to row is not told.
const MANY: &str = "the row stands for several";

/// Wakers of a row that stands for several; the rest of them have no name.
const WAKERS: usize = 16;

/// By state, call and target; then by the kind of target, and by state only.
impl Row for WaitRow {
    type Key = (State, String, String);
    const LEVELS: usize = 3;

    fn rank(&self, _: usize) -> impl Ord + use<> {
        (self.path_ns.max(self.total_ns), self.path_ns)
    }

    fn key(&self, level: usize) -> Self::Key {
        let call = if level < 2 { called(&self.call) } else { String::new() };
        let on = match level {
            0 => self.on.to_string(),
            1 => self.on.kind().name().to_owned(),
            _ => String::new(),
        };
        (self.reason, call, on)
    }

    fn of_many(rows: &[&Self]) -> Self {
        let most = rows.iter().max_by_key(|row| row.total_ns).unwrap_or(&rows[0]);
        let mut octaves: BTreeMap<Ns, u64> = BTreeMap::new();
        for (beyond, count) in rows.iter().flat_map(|row| &row.histogram) {
            *octaves.entry(*beyond).or_default() += count;
        }
        WaitRow {
            reason: rows[0].reason,
            call: common(rows, |row| row.call.clone()).unwrap_or(WaitCall::Unseen),
            // Of several kinds that of most time.
            on: common(rows, |row| row.on.clone()).unwrap_or(WaitTarget::Nameless(most.on.kind())),
            calls: sum(rows, |row| row.calls),
            total_ns: sum(rows, |row| row.total_ns),
            path_ns: sum(rows, |row| row.path_ns),
            p50_ns: largest(rows, |row| row.p50_ns),
            p99_ns: largest(rows, |row| row.p99_ns),
            max_ns: largest(rows, |row| row.max_ns),
            stack: common(rows, |row| row.stack.clone()).unwrap_or_else(|| Seen::unseen(MANY)),
            device: common(rows, |row| row.device.clone()).unwrap_or_else(|| Seen::unseen(MANY)),
            requests: sum_seen(rows, |row| &row.requests),
            queue_ns: sum_seen(rows, |row| &row.queue_ns),
            device_ns: sum_seen(rows, |row| &row.device_ns),
            by: wakers(rows),
            histogram: octaves.into_iter().collect(),
            bins: crate::wake::merged(rows.iter().map(|row| &row.bins[..])),
            threads: Vec::new(),
            places: Vec::new(),
            ended: WaitEnd::default(),
            own_frame: None,
            together: Some(sum(rows, |row| row.together.unwrap_or(1))),
        }
    }

    fn arrange(rows: &mut [Self]) {
        rows.sort_by_cached_key(|row| {
            let first = row.threads.first().map(|thread| (thread.pid, thread.tid));
            let call = row.call.syscall().map(SyscallName::to_string);
            (Reverse(row.total_ns), call, row.on.to_string(), first)
        });
    }
}

fn called(call: &WaitCall) -> String {
    match call {
        WaitCall::Syscall(name) => name.to_string(),
        WaitCall::Fault => "(fault)".to_owned(),
        WaitCall::Unseen => String::new(),
    }
}

fn largest<R>(rows: &[&R], of: impl Fn(&R) -> Ns) -> Ns {
    rows.iter().map(|row| of(row)).max().unwrap_or(0)
}

/// By kind and name, most time first.
fn wakers(rows: &[&WaitRow]) -> Vec<WakerRow> {
    let mut by: BTreeMap<(WakerKind, &str), Vec<&WakerRow>> = BTreeMap::new();
    for waker in rows.iter().flat_map(|row| &row.by) {
        by.entry((waker.kind, &waker.name)).or_default().push(waker);
    }
    let mut sets: Vec<_> = by.into_iter().collect();
    sets.sort_by_key(|(who, set)| (Reverse(sum(set, |waker| waker.ns)), *who));
    let more: Vec<&WakerRow> =
        sets.split_off(sets.len().min(WAKERS)).into_iter().flat_map(|(_, set)| set).collect();
    if !more.is_empty() {
        sets.push(((WakerKind::Unknown, ""), more));
    }
    let row = |((kind, name), set): ((WakerKind, &str), Vec<&WakerRow>)| {
        if let [one] = set[..] {
            return WakerRow { kind, ..one.clone() };
        }
        WakerRow {
            kind,
            name: name.to_owned(),
            pid: common(&set, |waker| waker.pid.clone()).unwrap_or(Seen::Absent),
            tid: common(&set, |waker| waker.tid.clone()).unwrap_or(Seen::Absent),
            times: sum(&set, |waker| waker.times),
            ns: sum(&set, |waker| waker.ns),
            place: common(&set, |waker| waker.place.clone()).unwrap_or_else(|| Seen::unseen(MANY)),
            stack: common(&set, |waker| waker.stack.clone()).unwrap_or_else(|| Seen::unseen(MANY)),
            meanwhile: sum_states(set.iter().map(|waker| &waker.meanwhile)),
        }
    };
    sets.into_iter().map(row).collect()
}

/// Lengths that are known of some rows. The quantiles are no less than those of all.
fn lengths(all: impl Iterator<Item = Option<Lengths>>) -> Option<Lengths> {
    all.flatten().reduce(|a, b| Lengths {
        total_ns: a.total_ns + b.total_ns,
        p50_ns: a.p50_ns.max(b.p50_ns),
        p99_ns: a.p99_ns.max(b.p99_ns),
        max_ns: a.max_ns.max(b.max_ns),
    })
}

/// By how they began and the usual service of the port; then by how they began.
impl Row for ConnectionRow {
    type Key = (ConnectionOrigin, Option<String>);
    const LEVELS: usize = 2;

    fn rank(&self, _: usize) -> impl Ord + use<> {
        (self.waited_ns, self.open_ns, self.times)
    }

    fn key(&self, level: usize) -> Self::Key {
        (self.began, self.service.clone().filter(|_| level == 0))
    }

    fn of_many(rows: &[&Self]) -> Self {
        let of = |figure: fn(&Self) -> u64| sum(rows, figure);
        let (bytes, open_ns) = (of(|row| row.sent_bytes + row.received_bytes), of(|row| row.open_ns));
        let waited_ns = of(|row| row.waited_ns);
        let rate = |ns: Ns| {
            let per_s = (u128::from(bytes) * 1_000_000_000).checked_div(u128::from(ns))?;
            u64::try_from(per_s).ok()
        };
        let any = || "*".to_owned();
        ConnectionRow {
            protocol: common(rows, |row| row.protocol.clone()).unwrap_or_else(any),
            began: rows[0].began,
            local: common(rows, |row| row.local.clone()).unwrap_or_else(any),
            remote: common(rows, |row| row.remote.clone()).unwrap_or_else(any),
            service: common(rows, |row| row.service.clone()).flatten(),
            times: of(|row| row.times),
            failed: of(|row| row.failed),
            open: of(|row| row.open),
            connect: lengths(rows.iter().map(|row| row.connect)),
            round_trip_ns: rows.iter().filter_map(|row| row.round_trip_ns).max(),
            round_trip_ns_min: rows.iter().filter_map(|row| row.round_trip_ns_min).min(),
            sent_bytes: of(|row| row.sent_bytes),
            received_bytes: of(|row| row.received_bytes),
            retransmits: of(|row| row.retransmits),
            open_ns,
            waited_ns,
            waits: of(|row| row.waits),
            bytes_per_s_open: rate(open_ns),
            bytes_per_s_waited: rate(waited_ns),
            delayed_ack: rows.iter().filter_map(|row| row.delayed_ack.clone()).reduce(acks),
            turns: rows.iter().filter_map(|row| row.turns).reduce(|mut all, more| {
                all.add(&more);
                all
            }),
            opening: rows.iter().filter_map(|row| row.opening).reduce(openings),
            dialogue: rows.iter().filter_map(|row| row.dialogue).reduce(dialogues),
            process: common(rows, |row| row.process.clone()).flatten(),
            process_does: common(rows, |row| row.process_does).flatten(),
            together: Some(of(|row| row.together.unwrap_or(1))),
        }
    }

    fn arrange(rows: &mut [Self]) {
        rows.sort_by_key(|row| Reverse((row.waited_ns, row.open_ns, row.times)));
    }
}

fn acks(a: DelayedAck, b: DelayedAck) -> DelayedAck {
    let of_waits = a.of_waits + b.of_waits;
    let bytes = |one: &DelayedAck| u128::from(one.write_bytes_mean) * u128::from(one.of_waits);
    let mean = (bytes(&a) + bytes(&b)).checked_div(u128::from(of_waits)).unwrap_or(0);
    DelayedAck {
        waits: a.waits + b.waits,
        of_waits,
        total_ns: a.total_ns + b.total_ns,
        other_ns: a.other_ns + b.other_ns,
        write_bytes_mean: u64::try_from(mean).unwrap_or(u64::MAX),
    }
}

fn openings(a: Opening, b: Opening) -> Opening {
    Opening {
        at_once: a.at_once.max(b.at_once),
        waited_ns: a.waited_ns + b.waited_ns,
        first_turn_ns: a.first_turn_ns + b.first_turn_ns,
    }
}

fn dialogues(a: Dialogue, b: Dialogue) -> Dialogue {
    Dialogue {
        turns_max: a.turns_max.max(b.turns_max),
        waiting_ns: a.waiting_ns + b.waiting_ns,
        waiting_max: a.waiting_max.max(b.waiting_max),
        first_answer: lengths([a.first_answer, b.first_answer].into_iter()),
    }
}

/// By server and type; then by type, and all.
impl Row for LookupRow {
    type Key = (String, String);
    const LEVELS: usize = 3;

    fn rank(&self, _: usize) -> impl Ord + use<> {
        (self.answer.map_or(0, |answer| answer.total_ns), self.times)
    }

    fn key(&self, level: usize) -> Self::Key {
        let kind = if level < 2 { self.kind.clone() } else { String::new() };
        (kind, if level == 0 { self.server.clone() } else { String::new() })
    }

    fn of_many(rows: &[&Self]) -> Self {
        let of = |figure: fn(&Self) -> u64| sum(rows, figure);
        let any = || "*".to_owned();
        LookupRow {
            name: common(rows, |row| row.name.clone()).unwrap_or_else(|| Seen::unseen(MANY)),
            kind: common(rows, |row| row.kind.clone()).unwrap_or_else(any),
            server: common(rows, |row| row.server.clone()).unwrap_or_else(any),
            times: of(|row| row.times),
            answered: of(|row| row.answered),
            failed: of(|row| row.failed),
            repeated: of(|row| row.repeated),
            repeated_ns: of(|row| row.repeated_ns),
            answer: lengths(rows.iter().map(|row| row.answer)),
            together: Some(of(|row| row.together.unwrap_or(1))),
        }
    }

    fn arrange(rows: &mut [Self]) {
        rows.sort_by_key(|row| Reverse(row.rank(0)));
    }
}
