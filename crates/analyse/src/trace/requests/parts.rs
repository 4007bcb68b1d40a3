//! The account of requests by part: of typical ones and of slow ones, what these have more, and
//! how long requests would have taken without it.

use super::ledger::{Part, Wait, wait};
use super::request::Kept;
use crate::account::{NOBODY, Verdicts};
use crate::code::Code;
use crate::keys::ReasonKey;
use crate::names::Names;
use model::requests::{HeldBy, KindPart, RequestPart, RequestTime, Without};
use model::wait::{StackFrame, WaitTarget};
use model::{Ns, Seen, State};
use rustc_hash::FxHashMap;
use stats::Random;
use std::cmp::Reverse;
use std::ops::Range;

/// Parts that get names; of the smaller ones there is one row.
const NAMED: usize = 2048;
/// Rows at most; smaller ones are one.
const ROWS: usize = 48;
/// What is told of those who ended a kind of wait.
const HOLDERS: usize = 3;
/// Parts that are told of each kind of request.
const OF_KIND: usize = 3;
/// Draws of the bootstrap, and the share of them that an interval has.
const DRAWS: usize = 400;
const INSIDE: f64 = 0.95;

/// How much time is at which nodes of the call tree.
type Nodes = FxHashMap<u32, Ns>;
/// Typical and slow requests, among all by how long they took.
type Groups = [Range<usize>; 2];

/// A row as it is added up.
#[derive(Debug, Default)]
struct Row {
    /// The time of each request that has some.
    each: Vec<(usize, Ns)>,
    /// What each waited for other requests that were at it.
    awaited: Vec<(usize, Ns)>,
    total_ns: u128,
    /// Stacks that were taken in slow ones; in all, where none were.
    nodes: [Nodes; 2],
    /// What those did who ended waits of slow ones.
    held: FxHashMap<Part, (Ns, Nodes)>,
}

/// What a row stands for.
type Named = (RequestTime, Wait, Seen<StackFrame>);

/// `all` are sorted by how long they took.
pub(super) fn parts(all: &[Kept], groups: Groups, names: &Names, code: &Code) -> Vec<RequestPart> {
    let mut rows: FxHashMap<Part, Row> = FxHashMap::default();
    let slow = &groups[1];
    for (at, kept) in all.iter().enumerate() {
        for (part, ns) in &kept.parts {
            let row = rows.entry(*part).or_default();
            row.each.push((at, *ns));
            row.total_ns += u128::from(*ns);
        }
        for (part, node, ns) in &kept.stacks {
            if let Some(row) = rows.get_mut(part) {
                *row.nodes[usize::from(!slow.contains(&at))].entry(*node).or_default() += ns;
            }
        }
    }
    awaited(&mut rows, all);
    for kept in &all[slow.clone()] {
        for held in &kept.held {
            if let Some(row) = rows.get_mut(&held.wait) {
                let (ns, nodes) = row.held.entry(held.by).or_default();
                *ns += held.ns;
                held.node.iter().for_each(|node| *nodes.entry(*node).or_default() += held.ns);
            }
        }
    }
    let rows = together(named(rows, names, code));
    let each: Vec<&[(usize, Ns)]> = rows.iter().map(|(_, row)| row.each.as_slice()).collect();
    let more = draws(&each, &groups);
    let mean = |each: &[(usize, Ns)], group: &Range<usize>| {
        let of_group = each.iter().filter(|(at, _)| group.contains(at));
        let sum: u128 = of_group.map(|(_, ns)| u128::from(*ns)).sum();
        sum.checked_div(group.len() as u128).unwrap_or(0) as Ns
    };
    let mut parts: Vec<RequestPart> = rows
        .iter()
        .zip(more)
        .map(|(((at, (call, on), place), row), more_ns)| RequestPart {
            at: *at,
            call: call.clone(),
            on: on.clone(),
            place: place.clone(),
            mean_ns: mean(&row.each, &(0..all.len())),
            typical_ns: mean(&row.each, &groups[0]),
            slow_ns: mean(&row.each, &groups[1]),
            more_ns,
            awaited_typical_ns: mean(&row.awaited, &groups[0]),
            awaited_slow_ns: mean(&row.awaited, &groups[1]),
            without: without(all, row),
            held: held_by(row, slow.len(), names, code),
        })
        .collect();
    parts.sort_by_key(|part| {
        let more = i128::from(part.slow_ns) - i128::from(part.typical_ns);
        (Reverse(more), Reverse(part.mean_ns), part.at)
    });
    parts
}

/// Adds to each row what requests waited for others that were at that: they were at it with the
/// thread that both needed, or while they had what the other waited for.
fn awaited(rows: &mut FxHashMap<Part, Row>, all: &[Kept]) {
    let is_wait = |part: &&Part| matches!((part.0, part.1), (RequestTime::Thread(_), ReasonKey::Wait(..)));
    let waits: FxHashMap<ReasonKey, Part> = rows.keys().filter(is_wait).map(|part| (part.1, *part)).collect();
    // What another request had as its own.
    let own = |part: Part| match part {
        (RequestTime::OtherRequest, ReasonKey::None) => Some((RequestTime::OnCpu, ReasonKey::None)),
        (RequestTime::OtherRequest, reason) => waits.get(&reason).copied(),
        part => Some(part),
    };
    for (at, kept) in all.iter().enumerate() {
        let of_thread = kept.parts.iter().filter(|(part, _)| part.0 == RequestTime::OtherRequest);
        // A holder that waited for the same lock before has that time in the same row.
        let others = kept.held.iter().filter(|held| own(held.by) != Some(held.wait));
        let of_holder = others.filter_map(|held| {
            let waited = kept.parts.iter().find(|(part, _)| *part == held.wait);
            waited.map(|(_, ns)| (held.by, held.ns.min(*ns)))
        });
        for (part, ns) in of_thread.copied().chain(of_holder) {
            if let Some(row) = own(part).and_then(|part| rows.get_mut(&part)) {
                row.awaited.push((at, ns));
            }
        }
    }
}

/// What a part turned out to be: a lock is one also where the wait has a time limit, and is tried
/// again when that is over.
pub(super) fn revised((at, reason): Part, verdicts: &Verdicts) -> Part {
    let state = match at {
        RequestTime::Thread(state @ (State::Sleep | State::OtherWait)) => state,
        RequestTime::OtherRequest => State::Sleep,
        _ => return (at, reason),
    };
    match (verdicts.of((state, reason), NOBODY), at) {
        ((State::Lock, reason), RequestTime::OtherRequest) => (at, reason),
        ((State::Lock, reason), _) => (RequestTime::Thread(State::Lock), reason),
        _ => (at, reason),
    }
}

/// What most of the time of these requests was spent at.
pub(super) fn most(all: &[&Kept], names: &Names, code: &Code) -> Vec<KindPart> {
    let mut rows: FxHashMap<Part, Row> = FxHashMap::default();
    for kept in all {
        for (part, ns) in &kept.parts {
            rows.entry(*part).or_default().total_ns += u128::from(*ns);
        }
        for (part, node, ns) in &kept.stacks {
            if let Some(row) = rows.get_mut(part) {
                *row.nodes[0].entry(*node).or_default() += ns;
            }
        }
    }
    let mut rows = named(rows, names, code);
    rows.sort_by_key(|(_, row)| Reverse(row.total_ns));
    rows.truncate(OF_KIND);
    let mean = |row: Row| row.total_ns.checked_div(all.len() as u128).unwrap_or(0) as Ns;
    let part =
        |((at, (call, on), place), row): (Named, Row)| KindPart { at, call, on, place, mean_ns: mean(row) };
    rows.into_iter().map(part).collect()
}

/// Rows by what they stand for: the address of a lock tells less than where it is waited for, so
/// locks at one place are one.
fn named(rows: FxHashMap<Part, Row>, names: &Names, code: &Code) -> Vec<(Named, Row)> {
    let mut by_name: Vec<(Named, Row)> = Vec::new();
    let mut rows: Vec<(Part, Row)> = rows.into_iter().collect();
    rows.sort_by_key(|(part, row)| (Reverse(row.total_ns), part.0, row.each.first().copied()));
    let mut rest = rows.split_off(rows.len().min(NAMED));
    for (part, row) in rows {
        let of = if row.nodes[0].is_empty() { &row.nodes[1] } else { &row.nodes[0] };
        let place = place(of, code);
        let (call, mut on) = wait(names, part.1);
        let is_lock = matches!(part.0, RequestTime::Thread(State::Lock) | RequestTime::OtherRequest);
        if is_lock && place.value().is_some() && matches!(on, Seen::Value(WaitTarget::Futex(_))) {
            on = Seen::Value(WaitTarget::Futex(Seen::Absent));
        }
        let name = (part.0, (call, on), place);
        match by_name.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.add(row),
            None => by_name.push((name, row)),
        }
    }
    let mut rest_of = Row::default();
    rest.drain(..).for_each(|(_, row)| rest_of.add(row));
    if !rest_of.each.is_empty() {
        by_name.push((the_rest(), rest_of));
    }
    by_name
}

/// What has no row of its own.
fn the_rest() -> Named {
    (RequestTime::Rest, (Seen::Absent, Seen::Absent), Seen::unseen("of several places"))
}

/// At most [`ROWS`] rows: the last one is all that is smaller.
fn together(mut rows: Vec<(Named, Row)>) -> Vec<(Named, Row)> {
    rows.sort_by_key(|(_, row)| Reverse(row.total_ns));
    if rows.len() > ROWS {
        let mut rest = Row::default();
        rows.drain(ROWS - 1..).for_each(|(_, row)| rest.add(row));
        rows.push((the_rest(), rest));
    }
    rows
}

impl Row {
    fn add(&mut self, more: Row) {
        self.each.extend(more.each);
        self.awaited.extend(more.awaited);
        self.total_ns += more.total_ns;
        for (nodes, more) in self.nodes.iter_mut().zip(more.nodes) {
            more.into_iter().for_each(|(node, ns)| *nodes.entry(node).or_default() += ns);
        }
        for (part, (ns, nodes)) in more.held {
            let (sum, known) = self.held.entry(part).or_default();
            *sum += ns;
            nodes.into_iter().for_each(|(node, ns)| *known.entry(node).or_default() += ns);
        }
    }
}

/// The place in the program's own code that most of these stacks have.
fn place(stacks: &Nodes, code: &Code) -> Seen<StackFrame> {
    let mut places: FxHashMap<String, (StackFrame, Ns)> = FxHashMap::default();
    for (node, ns) in stacks {
        if let Seen::Value(frame) = code.own_place(*node) {
            places.entry(frame.to_string()).or_insert((frame, 0)).1 += ns;
        }
    }
    let most = places.into_iter().max_by(|(one, (_, ns)), (other, (_, more))| (ns, other).cmp(&(more, one)));
    let place = most.map(|(_, (place, _))| Seen::Value(place));
    place.unwrap_or_else(|| Seen::unseen("no sample of it has a stack of the program's own code"))
}

fn held_by(row: &Row, slow: usize, names: &Names, code: &Code) -> Vec<HeldBy> {
    let mut rows: Vec<HeldBy> = Vec::new();
    for (part, (ns, nodes)) in &row.held {
        let (call, on) = wait(names, part.1);
        let (at, place, slow_ns) = (part.0, place(nodes, code), ns / slow.max(1) as u64);
        let is = |known: &&mut HeldBy| known.at == at && known.call == call && known.place == place;
        match rows.iter_mut().find(is) {
            Some(known) => known.slow_ns += slow_ns,
            None => rows.push(HeldBy { at, call, on, place, slow_ns }),
        }
    }
    rows.retain(|row| row.slow_ns > 0);
    rows.sort_by(|one, other| (other.slow_ns, one.at).cmp(&(one.slow_ns, other.at)));
    rows.truncate(HOLDERS);
    rows
}

/// How long requests would have taken without this part of their time, and without the wait for
/// others that were at it.
fn without(all: &[Kept], row: &Row) -> Without {
    let mut times: Vec<Ns> = all.iter().map(|kept| kept.ns).collect();
    for (at, ns) in row.each.iter().chain(&row.awaited) {
        times[*at] = times[*at].saturating_sub(*ns);
    }
    let mut at = |share: f64| {
        let rank = ((times.len() as f64 * share).ceil() as usize).clamp(1, times.len().max(1)) - 1;
        if times.is_empty() { 0 } else { *times.select_nth_unstable(rank).1 }
    };
    Without { p50_ns: at(0.5), p99_ns: at(0.99) }
}

/// What slow requests have more of each row: the interval of draws with replacement of typical and
/// of slow ones (B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics
/// 7, 1979).
fn draws(rows: &[&[(usize, Ns)]], groups: &Groups) -> Vec<[i64; 2]> {
    let mut random = Random::new(0x7265_7175_6573_7473);
    let of = |group: &Range<usize>| -> Vec<Vec<(usize, f64)>> {
        let within = |each: &&[(usize, Ns)]| {
            let each = each.iter().filter(|(at, _)| group.contains(at));
            each.map(|(at, ns)| (at - group.start, *ns as f64)).collect()
        };
        rows.iter().map(within).collect()
    };
    let each = groups.each_ref().map(of);
    let mut drawn: Vec<Vec<f64>> = vec![Vec::with_capacity(DRAWS); rows.len()];
    // How often each was drawn.
    let mut times = groups.each_ref().map(|group| vec![0u32; group.len()]);
    for _ in 0..DRAWS {
        for times in &mut times {
            times.fill(0);
            for _ in 0..times.len() {
                let at = (random.bits() % times.len() as u64) as usize;
                times[at] += 1;
            }
        }
        for (row, drawn) in drawn.iter_mut().enumerate() {
            let mean = |group: usize| {
                let times = &times[group];
                let sum: f64 = each[group][row].iter().map(|(at, ns)| f64::from(times[*at]) * ns).sum();
                sum / times.len().max(1) as f64
            };
            drawn.push(mean(1) - mean(0));
        }
    }
    let interval = |mut drawn: Vec<f64>| {
        drawn.sort_by(f64::total_cmp);
        let at = |share: f64| stats::quantile(&drawn, share).unwrap_or(0.0) as i64;
        [at((1.0 - INSIDE) / 2.0), at((1.0 + INSIDE) / 2.0)]
    };
    drawn.into_iter().map(interval).collect()
}
