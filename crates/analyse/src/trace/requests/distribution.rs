//! All requests that were answered: how long they took, and what the slow ones have more.

use super::kinds::{self, Kinds};
use super::latencies::Latencies;
use super::ledger::{Ledger, Part, Span, wait};
use super::parts::parts;
use super::request::{Kept, KindId, Request};
use crate::bounded::{Bounded, Room, Together, leave_out, rows_size, texts};
use crate::code::Code;
use crate::names::Names;
use model::network::Endpoint;
use model::recording::SocketEnds;
use model::requests::{Deadline, RequestSpan, Requests, SlowRequest, Units};
use model::{Ns, Seen, Tid};
use rustc_hash::{FxHashMap, FxHashSet};
use stats::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Requests whose parts are kept; of more a random sample is.
const KEPT: usize = 100_000;
/// Slow ones that are kept as they went.
const WHOLE: usize = 20;
/// Slow ones, of all.
const SLOW: f64 = 0.01;
const SLOW_MIN: usize = 5;
/// The middle of the distribution.
const TYPICAL: (f64, f64) = (0.4, 0.6);

/// Requests that have ended.
#[derive(Debug, Default)]
pub(crate) struct Distribution {
    units: Units,
    /// How many took longer than they should.
    missed: u64,
    pub(super) began_before: u64,
    pub(super) under_way: u64,
    pub(super) abandoned: u64,
    /// Answered, and its account is not known: events were lost.
    pub(super) lost: u64,
    /// Who answered them, and how many of them another thread had received.
    answered_by: FxHashSet<Tid>,
    handed_on: u64,
    latency: Latencies,
    by_kind: FxHashMap<KindId, Latencies>,
    /// Names of kinds, at the end.
    pub(super) kinds: Kinds,
    kept: Vec<Kept>,
    /// The most requests that one of them stands for.
    one_in_max: u32,
    slowest: BinaryHeap<Reverse<Whole>>,
}

/// A request as it went.
#[derive(Debug, PartialEq, Eq)]
struct Whole {
    ns: Ns,
    began: Ns,
    client: SocketEnds,
    kind: KindId,
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
    pub(super) fn of(units: Units) -> Self {
        Self { units, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.latency.times() + self.began_before + self.under_way + self.abandoned + self.lost == 0
    }

    pub(super) fn has_answers(&self) -> bool {
        self.latency.times() > 0
    }

    /// A request was answered by this thread.
    pub(super) fn add(&mut self, of: Request, by: Tid, answer: Ledger) {
        let (client, began, kind, one_in) = (of.client, of.began, of.kind, of.one_in);
        let ns = answer.at - began;
        self.latency.record(ns);
        self.missed += u64::from(self.units.deadline_ns.is_some_and(|deadline| ns > deadline));
        self.answered_by.insert(by);
        self.handed_on += u64::from(of.front != of.receiver);
        self.by_kind.entry(kind).or_default().record(ns);
        let Ledger { parts, spans, .. } = answer;
        let (stacks, held) = (of.stacks.into(), of.held.into());
        let kept = Kept { ns, kind, one_in, parts: parts.into(), stacks, held };
        self.one_in_max = self.one_in_max.max(one_in);
        debug_assert_eq!(kept.parts.iter().map(|(_, ns)| ns).sum::<Ns>(), ns, "it closes");
        if self.kept.len() < KEPT {
            self.kept.push(kept);
        } else {
            // Each of all so far is kept as likely (reservoir sampling).
            let at = Random::new(self.latency.times()).bits() % self.latency.times();
            if let Some(place) = self.kept.get_mut(at as usize) {
                *place = kept;
            }
        }
        let is_slow = self.slowest.peek().is_none_or(|Reverse(least)| ns > least.ns);
        if self.slowest.len() < WHOLE || is_slow {
            self.slowest.push(Reverse(Whole { ns, began, client, kind, spans }));
            if self.slowest.len() > WHOLE {
                self.slowest.pop();
            }
        }
    }

    /// What they were spent at, as it turned out.
    pub(super) fn revise(&mut self, of: impl Fn(Part) -> Part) {
        for kept in &mut self.kept {
            kept.parts.iter_mut().for_each(|(part, _)| *part = of(*part));
            kept.stacks.iter_mut().for_each(|(part, ..)| *part = of(*part));
            for held in &mut kept.held {
                (held.wait, held.by) = (of(held.wait), of(held.by));
            }
        }
        self.slowest = std::mem::take(&mut self.slowest)
            .into_iter()
            .map(|Reverse(mut whole)| {
                whole.spans.iter_mut().for_each(|span| span.part = of(span.part));
                Reverse(whole)
            })
            .collect();
    }

    /// Requests were drawn at random, more of them while there were few: busy times, which have the
    /// slow ones, would count too little. So a sample of the kept ones is drawn by what each
    /// stands for (systematic resampling: G. Kitagawa, 1996), of as many as an even draw would need
    /// to tell as much (L. Kish, 1965). All figures but `times` and the longest are of these.
    fn draws_evenly(&mut self) {
        let stands_for = |kept: &Kept| f64::from(kept.one_in);
        let all: f64 = self.kept.iter().map(stands_for).sum();
        let squares: f64 = self.kept.iter().map(|kept| stands_for(kept).powi(2)).sum();
        let step = all / (all * all / squares).round().max(1.0);
        let mut next = Random::new(self.latency.times()).uniform() * step;
        let mut until = 0.0;
        for kept in std::mem::take(&mut self.kept) {
            until += stands_for(&kept);
            while next < until {
                next += step;
                self.kept.push(kept.clone());
            }
        }
        self.latency = self.latency.emptied();
        (self.missed, self.by_kind) = Default::default();
        for kept in &self.kept {
            self.latency.record(kept.ns);
            self.missed += u64::from(self.units.deadline_ns.is_some_and(|deadline| kept.ns > deadline));
            self.by_kind.entry(kept.kind).or_default().record(kept.ns);
        }
    }

    /// The table. `left_out`: how many more were counted only; `start`: when the window or run
    /// began.
    pub(crate) fn table(mut self, left_out: u64, start: Ns, names: &Names, code: &Code) -> Requests {
        let times = self.latency.times();
        if self.one_in_max > 1 {
            self.draws_evenly();
        }
        self.kept.sort_by_key(|kept| kept.ns);
        let kept = &self.kept;
        let of = |share: f64| (kept.len() as f64 * share) as usize;
        let slowest = || of(SLOW).max(SLOW_MIN).min(kept.len().div_ceil(4));
        let late =
            self.units.deadline_ns.map(|most| kept.len() - kept.partition_point(|kept| kept.ns <= most));
        let slow = kept.len() - late.filter(|late| *late > 0).unwrap_or_else(slowest)..kept.len();
        let middle = of(TYPICAL.0);
        let typical = middle..of(TYPICAL.1).max((middle + 1).min(kept.len()));
        let mut slowest: Vec<Whole> =
            std::mem::take(&mut self.slowest).into_iter().map(|one| one.0).collect();
        slowest.sort_by(|one, other| other.cmp(one));
        let by_kind = std::mem::take(&mut self.by_kind);
        Requests {
            unit: self.units.unit,
            unit_of: self.units.of.as_deref().map(str::to_owned),
            deadline: self.units.deadline_ns.map(|ns| Deadline { ns, missed: self.missed }),
            followed_ns: None,
            following_ns: None,
            elsewhere: 0,
            times,
            began_before: self.began_before,
            under_way: self.under_way,
            abandoned: self.abandoned,
            not_followed: self.lost,
            left_out,
            answered_by: self.answered_by.len() as u64,
            handed_on: self.handed_on,
            latency: self.latency.told(),
            bins: self.latency.bins(),
            typical: typical.len() as u64,
            slow: slow.len() as u64,
            slow_ns_min: kept.get(slow.start).map_or(0, |kept| kept.ns),
            findings: Vec::new(),
            kinds: kinds::table(by_kind, (kept, &slow), &self.kinds, names, code),
            parts: parts(kept, [typical, slow], names, code),
            slowest: slowest.into_iter().map(|whole| whole.told(start, &self.kinds, names)).collect(),
        }
    }
}

impl Whole {
    fn told(self, start: Ns, kinds: &Kinds, names: &Names) -> SlowRequest {
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
        let client = match self.client.remote_port {
            0 => String::new(),
            _ if self.client.local_socket().is_some() => String::new(),
            port => Endpoint::new(self.client.remote, port).to_string(),
        };
        SlowRequest {
            began_ns: self.began.saturating_sub(start),
            latency_ns: self.ns,
            client,
            kind: kinds.name(self.kind),
            spans: self.spans.iter().map(&mut span).collect(),
        }
    }
}

/// The size of the rows that are never left out: they have bounds of their own.
fn fixed_size(all: &Requests) -> usize {
    rows_size(&all.parts) + rows_size(&all.bins) + rows_size(&all.kinds)
}

impl Bounded for Requests {
    fn cut_texts(&mut self) {
        let parts = self.parts.iter_mut().map(|part| &mut part.on);
        let held = self.slowest.iter_mut().flat_map(|slow| &mut slow.spans).map(|span| &mut span.on);
        let of_kinds = self.kinds.iter_mut().flat_map(|kind| &mut kind.parts).map(|part| &mut part.on);
        parts.chain(held).chain(of_kinds).filter_map(Seen::value_mut).for_each(texts::target);
    }

    fn size(&self) -> usize {
        rows_size(&self.slowest) + fixed_size(self)
    }

    /// Slow requests are left out, the fastest of them first.
    fn shrink(&mut self, room: Room) -> Option<Together> {
        let fixed = fixed_size(self);
        let room = Room { size: room.size.saturating_sub(fixed), most: room.most.saturating_sub(fixed) };
        leave_out(&mut self.slowest, room, |_| ())
    }
}
