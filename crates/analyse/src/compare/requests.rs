//! Requests of two runs or windows beside each other: how long they took, by kind, and what their
//! time was spent at.

use super::why::names::target_of_any_run;
use model::compare::runs::{KindChange, PartChange, QuantileChange, RequestsDiff};
use model::requests::{Latency, LatencyBin, RequestKind, RequestPart, Requests};
use model::wait::{StackFrame, WaitTarget};
use model::{Ns, Run, Seen};
use stats::binomial;
use std::cmp::Reverse;

/// The share of the intervals of quantiles.
const CONFIDENCE: f64 = 0.95;

/// Absent where one of both has none, or others than the other one.
pub(super) fn requests(a: &Run, b: &Run) -> Seen<RequestsDiff> {
    let [Some(a), Some(b)] = [a, b].map(|run| run.tables.requests.value()) else { return Seen::Absent };
    if a.times == 0 || b.times == 0 || (a.unit, &a.unit_of) != (b.unit, &b.unit_of) {
        return Seen::Absent;
    }
    let p90 = |all: &Requests| (all.latency.p90_ns, range(&all.bins, 0.9));
    Seen::Value(RequestsDiff {
        unit: a.unit,
        times: [a, b].map(|all| all.times + all.left_out),
        p50: p50(&a.latency, &b.latency),
        p90: Seen::Value(change(p90(a), p90(b))),
        p99: p99(&a.latency, &b.latency),
        max_ns: Some([a, b].map(|all| all.latency.max_ns)),
        parts: parts(&a.parts, &b.parts),
        kinds: kinds(&a.kinds, &b.kinds),
    })
}

fn p50(a: &Latency, b: &Latency) -> QuantileChange {
    change((a.p50_ns, a.p50_range_ns), (b.p50_ns, b.p50_range_ns))
}

fn p99(a: &Latency, b: &Latency) -> QuantileChange {
    change((a.p99_ns, a.p99_range_ns), (b.p99_ns, b.p99_range_ns))
}

/// Where a quantile is with 95 %, by the order of the values: with the width of their bins. None
/// where there are too few to bound it on both sides.
fn range(bins: &[LatencyBin], share: f64) -> Option<[Ns; 2]> {
    let times = bins.iter().map(|bin| bin.times).sum();
    let (lo, hi) = binomial::ranks(times, share, CONFIDENCE);
    let of_rank = |rank: u64| {
        let mut below = 0_u64;
        bins.iter().find(|bin| {
            below = below.saturating_add(bin.times);
            below >= rank
        })
    };
    let (lo, hi) = (lo > 0 && hi <= times).then(|| Some((of_rank(lo)?, of_rank(hi)?)))??;
    Some([lo.ns_min, hi.ns_max.saturating_sub(1)])
}

/// The interval of a difference from those of both figures (G. Y. Zou, A. Donner, "Construction of
/// confidence limits about effect measures", Statistics in Medicine 27, 2008).
fn change((a_ns, a_range): (Ns, Option<[Ns; 2]>), (b_ns, b_range): (Ns, Option<[Ns; 2]>)) -> QuantileChange {
    let change_ns = a_range.zip(b_range).map(|(a_range, b_range)| {
        let [a, b] = [a_ns, b_ns].map(|ns| ns as f64);
        let ([a_lo, a_hi], [b_lo, b_hi]) = (a_range.map(|ns| ns as f64), b_range.map(|ns| ns as f64));
        let lo = (b - a) - (b - b_lo).hypot(a_hi - a);
        let hi = (b - a) + (b_hi - b).hypot(a - a_lo);
        [lo, hi].map(|ns| ns as i64)
    });
    QuantileChange { a_ns, b_ns, change_ns }
}

/// Kinds of either side, those first whose requests changed by most time in all. Empty where one
/// side could read none.
fn kinds(a: &[RequestKind], b: &[RequestKind]) -> Vec<KindChange> {
    if a.is_empty() || b.is_empty() {
        return Vec::new();
    }
    let of = |kinds: &[RequestKind], kind: &Seen<String>| {
        let found = kinds.iter().find(|of| of.kind == *kind);
        found.map_or((0, Latency::default()), |of| (of.times, of.latency))
    };
    let only_in_b = b.iter().filter(|of_b| a.iter().all(|of_a| of_a.kind != of_b.kind));
    let all = a.iter().chain(only_in_b).map(|one| &one.kind);
    let mut changes: Vec<KindChange> = all
        .map(|kind| {
            let ((in_a, of_a), (in_b, of_b)) = (of(a, kind), of(b, kind));
            KindChange {
                kind: kind.clone(),
                times: [in_a, in_b],
                mean_ns: [of_a.mean_ns, of_b.mean_ns],
                p50: p50(&of_a, &of_b),
                p99: p99(&of_a, &of_b),
            }
        })
        .collect();
    changes.sort_by_key(|of| {
        let [a_ns, b_ns] = of.mean_ns;
        Reverse(u128::from(a_ns.abs_diff(b_ns)) * u128::from(of.times[0].saturating_add(of.times[1])))
    });
    changes
}

/// What the time of requests is spent at in both, largest difference first.
///
/// A row is of one place of the code: what two places wait for is not the same, although the call
/// is. Of a function that is at another line in B the nearest one is taken, as an edit above it
/// moves all lines. Where samples saw no place on one side, only what is waited for by name tells
/// that it is the same.
fn parts(a: &[RequestPart], b: &[RequestPart]) -> Vec<PartChange> {
    let mut rows = one_row_each(b, |part, ns| part.b_ns += ns);
    let mut of_a = one_row_each(a, |part, ns| part.a_ns += ns);
    let mut free: Vec<bool> = vec![true; rows.len()];
    for near in [same_line, same_function, same_name] {
        of_a.retain(|part| {
            let candidates = rows.iter().enumerate().filter(|(at, _)| free[*at]);
            let wait = |of: &PartChange| (of.at, &of.call, &of.on) == (part.at, &part.call, &part.on);
            let nearest = candidates
                .filter(|(_, of)| wait(of))
                .filter_map(|(at, of)| Some((near(part, of)?, at)))
                .min();
            let Some((_, at)) = nearest else { return true };
            free[at] = false;
            rows[at].a_ns = part.a_ns;
            if rows[at].place.value().is_none() {
                rows[at].place = part.place.clone();
            }
            false
        });
    }
    rows.extend(of_a);
    rows.sort_by_key(|part| Reverse(part.a_ns.abs_diff(part.b_ns)));
    rows
}

/// The parts of one side, where those are one that differ by an address of memory alone: it is
/// another one in each run.
fn one_row_each(parts: &[RequestPart], add: impl Fn(&mut PartChange, Ns)) -> Vec<PartChange> {
    let mut rows: Vec<PartChange> = Vec::with_capacity(parts.len());
    for part in parts {
        let on = part.on.as_ref().map(target_of_any_run);
        let same = |of: &&mut PartChange| {
            (of.at, &of.call, &of.on) == (part.at, &part.call, &on) && of.place.value() == part.place.value()
        };
        if let Some(row) = rows.iter_mut().find(same) {
            add(row, part.mean_ns);
            continue;
        }
        let (call, place) = (part.call.clone(), part.place.clone());
        let mut row = PartChange { at: part.at, call, on, place, a_ns: 0, b_ns: 0 };
        add(&mut row, part.mean_ns);
        rows.push(row);
    }
    rows
}

/// How far the places of two parts are from each other, where they are the same line, or both not
/// known.
fn same_line(a: &PartChange, b: &PartChange) -> Option<u32> {
    (a.place.value() == b.place.value()).then_some(0)
}

/// The same where they are in one function.
fn same_function(a: &PartChange, b: &PartChange) -> Option<u32> {
    let (a, b) = (a.place.value()?, b.place.value()?);
    let file = |of: &StackFrame| of.source.as_ref().map(|(file, _)| file.clone());
    let line = |of: &StackFrame| of.source.as_ref().map_or(0, |(_, line)| *line);
    (a.function == b.function && file(a) == file(b)).then(|| line(a).abs_diff(line(b)))
}

/// The same where only one of them is known, and what they wait for has a name.
fn same_name(a: &PartChange, b: &PartChange) -> Option<u32> {
    let named = matches!(
        b.on.value()?,
        WaitTarget::File(Seen::Value(_))
            | WaitTarget::Unix(Seen::Value(_))
            | WaitTarget::Tcp(_)
            | WaitTarget::Udp(_)
            | WaitTarget::Answer(_)
    );
    (named && a.place.value().is_some() != b.place.value().is_some()).then_some(0)
}

#[cfg(test)]
mod tests;
