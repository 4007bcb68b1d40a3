//! All requests that were answered: how long they took, and what the slow ones have more.

use super::ledger::{Ledger, Part, Span};
use super::request::{Held, Request};
use crate::bounded::{Bounded, Room, Together, leave_out, rows_size};
use crate::code::Code;
use crate::keys::ReasonKey;
use crate::names::Names;
use model::network::Endpoint;
use model::recording::SocketEnds;
use model::requests::{
    HeldBy, Latency, LatencyBin, RequestPart, RequestSpan, RequestTime, Requests, SlowRequest,
};
use model::wait::{StackFrame, WaitCall, WaitTarget};
use model::{Ns, Seen, Tid};
use rustc_hash::FxHashMap;
use stats::{Histogram, Random};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Requests whose parts are kept; of more a random sample is.
const KEPT: usize = 100_000;
/// Slow ones that are kept as they went.
const WHOLE: usize = 20;
/// What is told of those who ended a kind of wait.
const HOLDERS: usize = 3;
/// Slow ones, of all.
const SLOW: f64 = 0.01;
const SLOW_MIN: usize = 5;
/// The middle of the distribution.
const TYPICAL: (f64, f64) = (0.4, 0.6);
/// Draws of the bootstrap, and the share of them that an interval has.
const DRAWS: usize = 400;
const INSIDE: f64 = 0.95;

/// Requests that have ended.
#[derive(Debug, Default)]
pub(crate) struct Distribution {
    pub(super) began_before: u64,
    pub(super) under_way: u64,
    pub(super) abandoned: u64,
    times: u64,
    total_ns: u128,
    latency: Histogram,
    kept: Vec<Kept>,
    slowest: BinaryHeap<Reverse<Whole>>,
}

/// A request's parts, where stacks were taken of it, and who ended its waits.
#[derive(Debug)]
struct Kept {
    ns: Ns,
    parts: Box<[(Part, Ns)]>,
    stacks: Box<[(Part, u32, Ns)]>,
    held: Box<[Held]>,
}

/// A request as it went.
#[derive(Debug, PartialEq, Eq)]
struct Whole {
    ns: Ns,
    began: Ns,
    client: SocketEnds,
    spans: Vec<Span>,
}

impl Ord for Whole {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.ns, Reverse(self.began)).cmp(&(other.ns, Reverse(other.began)))
    }
}

impl PartialOrd for Whole {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Distribution {
    pub(super) fn is_empty(&self) -> bool {
        self.times + self.began_before + self.under_way + self.abandoned == 0
    }

    /// A request was answered.
    pub(super) fn add(&mut self, of: &Request, answer: &Ledger) {
        let (client, began) = (of.client, of.began);
        let ns = answer.at - began;
        self.times += 1;
        self.total_ns += u128::from(ns);
        self.latency.record(ns);
        let (stacks, held) = (of.stacks.as_slice().into(), of.held.as_slice().into());
        let kept = Kept { ns, parts: answer.parts().into(), stacks, held };
        debug_assert_eq!(kept.parts.iter().map(|(_, ns)| ns).sum::<Ns>(), ns, "it closes");
        if self.kept.len() < KEPT {
            self.kept.push(kept);
        } else {
            // Each of all so far is kept as likely (reservoir sampling).
            let at = Random::new(self.times).bits() % self.times;
            if let Some(place) = self.kept.get_mut(at as usize) {
                *place = kept;
            }
        }
        let is_slow = self.slowest.peek().is_none_or(|Reverse(least)| ns > least.ns);
        if self.slowest.len() < WHOLE || is_slow {
            let spans = answer.spans().to_vec();
            self.slowest.push(Reverse(Whole { ns, began, client, spans }));
            if self.slowest.len() > WHOLE {
                self.slowest.pop();
            }
        }
    }

    /// The table. `start`: when the window or run began.
    pub(crate) fn table(mut self, start: Ns, names: &Names, code: &Code) -> Requests {
        self.kept.sort_by_key(|kept| kept.ns);
        let kept = &self.kept;
        let of = |share: f64| (kept.len() as f64 * share) as usize;
        let slow = (of(SLOW).max(SLOW_MIN)).min(kept.len().div_ceil(4));
        let slow = &kept[kept.len() - slow..];
        let typical = &kept[of(TYPICAL.0)..of(TYPICAL.1).max((of(TYPICAL.0) + 1).min(kept.len()))];
        let mut slowest: Vec<Whole> =
            std::mem::take(&mut self.slowest).into_iter().map(|one| one.0).collect();
        slowest.sort_by(|one, other| other.cmp(one));
        Requests {
            times: self.times,
            began_before: self.began_before,
            under_way: self.under_way,
            abandoned: self.abandoned,
            latency: Latency {
                mean_ns: self.total_ns.checked_div(u128::from(self.times)).unwrap_or(0) as Ns,
                p50_ns: self.latency.quantile(0.5),
                p90_ns: self.latency.quantile(0.9),
                p99_ns: self.latency.quantile(0.99),
                max_ns: self.latency.max(),
            },
            bins: self
                .latency
                .bins()
                .map(|(ns_min, ns_max, times)| LatencyBin { ns_min, ns_max, times })
                .collect(),
            typical: typical.len() as u64,
            slow: slow.len() as u64,
            slow_ns_min: slow.first().map_or(0, |kept| kept.ns),
            parts: parts(kept, typical, slow, names, code),
            slowest: slowest.into_iter().map(|whole| whole.told(start, names)).collect(),
        }
    }
}

/// A time, and how much of it is at which nodes of the call tree.
type AtNodes = (Ns, FxHashMap<u32, Ns>);

/// The account of requests, by part.
fn parts(all: &[Kept], typical: &[Kept], slow: &[Kept], names: &Names, code: &Code) -> Vec<RequestPart> {
    // Reasons are put into words first: several numbers may stand for the same.
    let mut rows: Vec<(RequestTime, Wait)> = Vec::new();
    let mut row_of: FxHashMap<Part, usize> = FxHashMap::default();
    let mut sums: Vec<Sums> = Vec::new();
    let mut count = |kept: &[Kept], group: usize| {
        for (at, one) in kept.iter().enumerate() {
            for (part, ns) in &one.parts {
                let row = *row_of.entry(*part).or_insert_with(|| {
                    let named = (part.0, wait(names, part.1));
                    rows.iter().position(|known| *known == named).unwrap_or_else(|| {
                        rows.push(named);
                        sums.push(Sums::default());
                        rows.len() - 1
                    })
                });
                sums[row].add(group, at, *ns);
            }
        }
    };
    count(all, 0);
    count(typical, 1);
    count(slow, 2);
    let mut places: Vec<FxHashMap<u32, Ns>> = vec![FxHashMap::default(); rows.len()];
    for (part, node, ns) in slow.iter().flat_map(|kept| &kept.stacks) {
        if let Some(row) = row_of.get(part) {
            *places[*row].entry(*node).or_default() += ns;
        }
    }
    let mut held: Vec<FxHashMap<Part, AtNodes>> = vec![FxHashMap::default(); rows.len()];
    for one in slow.iter().flat_map(|kept| &kept.held) {
        if let Some(row) = row_of.get(&one.wait) {
            let (ns, nodes) = held[*row].entry(one.by).or_default();
            *ns += one.ns;
            one.node.iter().for_each(|node| *nodes.entry(*node).or_default() += one.ns);
        }
    }
    let held_by = |held: FxHashMap<Part, AtNodes>| {
        let row = |((at, reason), (ns, nodes)): (Part, AtNodes)| {
            let (call, on) = wait(names, reason);
            let slow_ns = ns / slow.len().max(1) as u64;
            HeldBy { at, call, on, place: place(&nodes, code), slow_ns }
        };
        let mut rows: Vec<HeldBy> = held.into_iter().map(row).filter(|row| row.slow_ns > 0).collect();
        rows.sort_by(|one, other| (other.slow_ns, one.at).cmp(&(one.slow_ns, other.at)));
        rows.truncate(HOLDERS);
        rows
    };
    let draws = draws(&sums, typical.len(), slow.len());
    let mean = |sum: u128, of: usize| sum.checked_div(of as u128).unwrap_or(0) as Ns;
    let mut parts: Vec<RequestPart> = rows
        .into_iter()
        .zip(sums.iter().zip(draws).zip(places.into_iter().zip(held)))
        .map(|((at, (call, on)), ((sum, more_ns), (places, held)))| RequestPart {
            at,
            call,
            on,
            place: place(&places, code),
            mean_ns: mean(sum.total[0], all.len()),
            typical_ns: mean(sum.total[1], typical.len()),
            slow_ns: mean(sum.total[2], slow.len()),
            more_ns,
            held: held_by(held),
        })
        .collect();
    parts.sort_by_key(|part| {
        let more = part.slow_ns as i64 - part.typical_ns as i64;
        (Reverse(more), Reverse(part.mean_ns), part.at)
    });
    parts
}

/// The call of a wait, and what it was for.
type Wait = (Seen<WaitCall>, Seen<WaitTarget>);

fn wait(names: &Names, reason: ReasonKey) -> Wait {
    match reason {
        ReasonKey::Wait(call, on) => (Seen::Value(names.call(call)), Seen::Value(names.target(on))),
        _ => (Seen::Absent, Seen::Absent),
    }
}

/// The place in the program's own code that most of these stacks have.
fn place(stacks: &FxHashMap<u32, Ns>, code: &Code) -> Seen<StackFrame> {
    let mut places: FxHashMap<String, (StackFrame, Ns)> = FxHashMap::default();
    for (node, ns) in stacks {
        if let Seen::Value(frame) = code.own_frame(*node) {
            places.entry(frame.to_string()).or_insert((frame, 0)).1 += ns;
        }
    }
    let most = places.into_iter().max_by(|(one, (_, ns)), (other, (_, more))| (ns, other).cmp(&(more, one)));
    let place = most.map(|(_, (place, _))| Seen::Value(place));
    place.unwrap_or_else(|| Seen::unseen("no sample of it has a stack of the program's own code"))
}

/// One part's time in all, typical and slow requests; and in each of the latter two.
#[derive(Debug, Default)]
struct Sums {
    total: [u128; 3],
    each: [Vec<(usize, Ns)>; 2],
}

impl Sums {
    fn add(&mut self, group: usize, at: usize, ns: Ns) {
        self.total[group] += u128::from(ns);
        if let Some(each) = group.checked_sub(1) {
            self.each[each].push((at, ns));
        }
    }
}

/// What slow requests have more of each part: the interval of draws with replacement of typical and
/// of slow ones (B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics
/// 7, 1979).
fn draws(sums: &[Sums], typical: usize, slow: usize) -> Vec<[i64; 2]> {
    let mut random = Random::new(0x7265_7175_6573_7473);
    let mut drawn: Vec<Vec<f64>> = vec![Vec::with_capacity(DRAWS); sums.len()];
    // How often each was drawn.
    let (mut of_typical, mut of_slow) = (vec![0u32; typical], vec![0u32; slow]);
    for _ in 0..DRAWS {
        for times in [&mut of_typical, &mut of_slow] {
            times.fill(0);
            for _ in 0..times.len() {
                let at = (random.bits() % times.len() as u64) as usize;
                times[at] += 1;
            }
        }
        for (sum, drawn) in sums.iter().zip(&mut drawn) {
            let mean = |each: &[(usize, Ns)], times: &[u32]| {
                let total: f64 = each.iter().map(|(at, ns)| f64::from(times[*at]) * *ns as f64).sum();
                total / times.len().max(1) as f64
            };
            drawn.push(mean(&sum.each[1], &of_slow) - mean(&sum.each[0], &of_typical));
        }
    }
    let interval = |mut drawn: Vec<f64>| {
        drawn.sort_by(f64::total_cmp);
        let at = |share: f64| stats::quantile(&drawn, share).unwrap_or(0.0) as i64;
        [at((1.0 - INSIDE) / 2.0), at((1.0 + INSIDE) / 2.0)]
    };
    drawn.into_iter().map(interval).collect()
}

impl Whole {
    fn told(self, start: Ns, names: &Names) -> SlowRequest {
        let mut from = self.began;
        let mut span = |span: &Span| {
            let (call, on) = wait(names, span.part.1);
            let told = RequestSpan {
                from_ns: from - self.began,
                ns: span.to - from,
                tid: span.tid.map_or(Seen::<Tid>::Absent, Seen::Value),
                at: span.part.0,
                call,
                on,
            };
            from = span.to;
            told
        };
        SlowRequest {
            began_ns: self.began - start,
            latency_ns: self.ns,
            client: Endpoint::new(self.client.remote, self.client.remote_port).to_string(),
            spans: self.spans.iter().map(&mut span).collect(),
        }
    }
}

impl Bounded for Requests {
    fn size(&self) -> usize {
        rows_size(&self.slowest) + rows_size(&self.parts)
    }

    /// Slow requests are left out, the fastest of them first.
    fn shrink(&mut self, room: Room) -> Option<Together> {
        leave_out(&mut self.slowest, room, |_| ())
    }
}
