//! Two latency results, case by case: percentiles with their intervals, and maxima.

use super::rules::{self, Ends, MARGIN, Pair, difference, pairs};
use model::compare::wake::{
    CaseDiff, CaseName, Comparable, ComparableCase, FigureInterval, Maxima, Quantile, SCHEMA_WAKE_DIFF,
    SettingText, UnmatchedCase, WakeComparison,
};
use model::compare::{Change, Difference};
use model::ladder::MedianInterval;
use model::wake::{Bin, LatencyBlock, Wakes};
use model::{Ns, Seen};
use stats::binomial;
use std::cmp::Ordering;

/// An absolute margin: the resolution of other tools.
const MARGIN_NS: Ns = 1_000;
/// The confidence of intervals.
const CONFIDENCE: f64 = 0.95;
/// Up to this number the probability is exact; above it a bound.
const COUNTED: u64 = 1_000_000;

/// What differs from `a` to `b`.
pub fn compare(a: &Comparable, b: &Comparable) -> WakeComparison {
    let mut cases = Vec::new();
    let mut uncompared = Vec::new();
    for pair in pairs(&a.cases, &b.cases, partner) {
        match pair {
            Pair::Both(of_a, of_b) => cases.push(case(of_a, of_b, a, b)),
            Pair::Only(only, of_one) => uncompared.push(UnmatchedCase { name: of_one.name.clone(), only }),
        }
    }
    WakeComparison {
        schema: SCHEMA_WAKE_DIFF.to_owned(),
        a: a.origin.clone(),
        b: b.origin.clone(),
        names: Default::default(),
        margin: MARGIN,
        margin_ns: MARGIN_NS,
        differences: differences(&a.settings, &b.settings),
        cases,
        uncompared,
    }
}

/// The case of the same name; for a plain result, the case of the sheet with the same load.
fn partner<'a>(one: &ComparableCase, others: &'a [ComparableCase]) -> Option<&'a ComparableCase> {
    let same = others.iter().find(|other| other.name == one.name);
    same.or_else(|| {
        let loads = one.loads.as_ref()?;
        let plain = |other: &&ComparableCase| one.name == CaseName::Plain || other.name == CaseName::Plain;
        others.iter().filter(plain).find(|other| other.loads.as_ref() == Some(loads))
    })
}

fn value<'a>(settings: &'a [SettingText], what: &str) -> Option<&'a str> {
    settings.iter().find(|setting| setting.what == what).map(|setting| setting.value.as_str())
}

/// Settings that both results have and that differ.
fn differences(a: &[SettingText], b: &[SettingText]) -> Vec<Difference> {
    let both = |of_a: &SettingText| {
        let of_b = value(b, &of_a.what)?;
        Some((of_a.what.clone(), of_a.value.clone(), of_b.to_owned()))
    };
    rules::differences(a.iter().filter_map(both))
}

fn case(a: &ComparableCase, b: &ComparableCase, of_a: &Comparable, of_b: &Comparable) -> CaseDiff {
    CaseDiff {
        name: if a.name == CaseName::Plain { b.name.clone() } else { a.name.clone() },
        differences: differences(&a.settings, &b.settings),
        quantiles: quantiles(&a.all, &b.all),
        maxima: maxima(&a.all, &b.all),
        a: a.all.clone(),
        b: b.all.clone(),
        notes: notes(a, b, of_a, of_b),
    }
}

/// Caveats that are not the same in both, and settings that only one result has.
fn notes(a: &ComparableCase, b: &ComparableCase, of_a: &Comparable, of_b: &Comparable) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, one, other) in [("A", of_a, of_b), ("B", of_b, of_a)] {
        let own = one.limits.iter().filter(|limit| !other.limits.contains(limit));
        // Without the line of what to try.
        notes.extend(own.map(|limit| format!("{name}: {}", limit.lines().next().unwrap_or_default())));
    }
    for (name, one, other) in [("B", a, b), ("A", b, a)] {
        let unknown: Vec<&str> = one
            .settings
            .iter()
            .filter(|setting| value(&other.settings, &setting.what).is_none())
            .map(|setting| setting.what.as_str())
            .collect();
        if !unknown.is_empty() {
            notes.push(format!("{name} does not report: {}", unknown.join(", ")));
        }
    }
    notes
}

fn quantiles(a: &Wakes, b: &Wakes) -> Vec<Quantile> {
    type Of = fn(&Wakes) -> &Seen<Ns>;
    let all: [(&str, f64, Of); 6] = [
        ("p50", 0.5, |wakes| &wakes.p50_ns),
        ("p99", 0.99, |wakes| &wakes.p99_ns),
        ("p99.9", 0.999, |wakes| &wakes.p999_ns),
        ("p99.99", 0.9999, |wakes| &wakes.p9999_ns),
        ("p99.999", 0.99999, |wakes| &wakes.p99999_ns),
        ("p99.9999", 0.999999, |wakes| &wakes.p999999_ns),
    ];
    all.into_iter()
        .map(|(name, share, of)| quantile(name, share, within(a, share, of(a)), within(b, share, of(b))))
        .collect()
}

fn quantile(name: &str, share: f64, a: Seen<FigureInterval>, b: Seen<FigureInterval>) -> Quantile {
    let mut quantile = Quantile {
        name: name.to_owned(),
        share,
        later_ns: Seen::unseen("one of the two is unknown"),
        later_lo_ns: Seen::unseen("one of the two is unknown"),
        later_hi_ns: Seen::unseen("one of the two is unknown"),
        change: Change::Undecided,
        a,
        b,
    };
    if let (Seen::Value(a), Seen::Value(b)) = (&quantile.a, &quantile.b) {
        let later = later(a, b);
        quantile.change = change(a.ns, &later);
        let whole = |ns: f64| Seen::Value(ns.round() as i64);
        (quantile.later_ns, quantile.later_lo_ns, quantile.later_hi_ns) =
            (whole(later.median), whole(later.lo), whole(later.hi));
    }
    quantile
}

/// B minus A with its interval, from the intervals of both.
fn later(a: &FigureInterval, b: &FigureInterval) -> MedianInterval {
    let far = |from: Ns, to: Ns| from.abs_diff(to) as f64;
    let ends = |of: &FigureInterval| Ends { below: far(of.ns, of.lo_ns), above: far(of.hi_ns, of.ns) };
    difference(b.ns as f64 - a.ns as f64, &ends(a), &ends(b))
}

fn change(a_ns: Ns, later: &MedianInterval) -> Change {
    let margin = margin(a_ns);
    let apart = match () {
        () if later.lo > 0.0 => Ordering::Greater,
        () if later.hi < 0.0 => Ordering::Less,
        () => Ordering::Equal,
    };
    rules::change(later, -margin, margin, apart)
}

/// Differences up to this count as none.
fn margin(ns: Ns) -> f64 {
    (ns as f64 * MARGIN).max(MARGIN_NS as f64)
}

/// A percentile with its interval by order statistics, in whole bins.
fn within(wakes: &Wakes, share: f64, seen: &Seen<Ns>) -> Seen<FigureInterval> {
    let ns = match seen {
        Seen::Value(ns) => *ns,
        Seen::Absent => return Seen::Absent,
        Seen::Unseen(why) => return Seen::Unseen(why.clone()),
    };
    let (low, high) = binomial::ranks(wakes.cycles, share, CONFIDENCE);
    if high > wakes.cycles {
        return Seen::unseen("too few wake-ups for an interval");
    }
    let min_ns = wakes.min_ns.value().copied().unwrap_or(0);
    let max_ns = wakes.max_ns.value().copied().unwrap_or(Ns::MAX);
    let lo_ns = bin_of(&wakes.histogram, low).map_or(min_ns, |bin| bin.from_ns.max(min_ns));
    let hi_ns = bin_of(&wakes.histogram, high).map_or(max_ns, |bin| bin.to_ns.saturating_sub(1).min(max_ns));
    Seen::Value(FigureInterval { ns, lo_ns: lo_ns.min(ns), hi_ns: hi_ns.max(ns) })
}

/// The bin of the value with this rank, counted from 1.
fn bin_of(histogram: &[Bin], rank: u64) -> Option<&Bin> {
    let mut upto = 0;
    histogram.iter().find(|bin| {
        upto = bin.count.saturating_add(upto);
        upto >= rank
    })
}

/// The two maxima, and how many blocks of the run with the larger one exceed all of the other: if
/// both runs were alike, the largest values of both together would be spread over them by chance
/// (S. Rosenbaum, "Tables for a nonparametric test of location", 1954).
fn maxima(a: &Wakes, b: &Wakes) -> Maxima {
    let mut maxima = Maxima {
        a_ns: a.max_ns.clone(),
        b_ns: b.max_ns.clone(),
        beyond: 0,
        chance: Seen::unseen("one of the two has no maximum"),
        change: Change::Undecided,
    };
    let (Seen::Value(a_ns), Seen::Value(b_ns)) = (&a.max_ns, &b.max_ns) else { return maxima };
    let (one, other, lower_ns, later) =
        if b_ns >= a_ns { (b, a, *a_ns, Change::More) } else { (a, b, *b_ns, Change::Less) };
    let (mine, others);
    (maxima.beyond, mine, others) = match blocks(one, other) {
        Some((mine, others)) => {
            let beyond = one.timeline.iter().filter(|block| block.max_ns > lower_ns).count();
            (beyond as u64, mine, others)
        }
        // The bin of the smaller maximum may have values on both sides of it: it is left out.
        None => {
            let later = one.histogram.iter().filter(|bin| bin.from_ns > lower_ns);
            let beyond = later.fold(0_u64, |sum, bin| sum.saturating_add(bin.count));
            (beyond.max(u64::from(a_ns != b_ns)), one.cycles as f64, other.cycles as f64)
        }
    };
    if mine <= 0.0 || others <= 0.0 {
        maxima.chance = Seen::unseen("one of the two has no wake-up");
        return maxima;
    }
    // Two-sided: either run may have the larger maximum.
    let mut chance = 2.0;
    let one_by_one = maxima.beyond.min(COUNTED);
    for taken in 0..one_by_one {
        let left = mine - taken as f64;
        if left <= 0.0 || chance < 1e-12 {
            break;
        }
        chance *= left / (left + others);
    }
    if maxima.beyond > one_by_one {
        // A bound: each factor is smaller than the one before.
        let left = (mine - one_by_one as f64).max(0.0);
        chance *= ((maxima.beyond - one_by_one) as f64 * (-others / (left + others)).ln_1p()).exp();
    }
    maxima.chance = Seen::Value(chance.min(1.0));
    if chance < 1.0 - CONFIDENCE && a_ns.abs_diff(*b_ns) as f64 > margin(*a_ns) {
        maxima.change = later;
    }
    maxima
}

/// The number of blocks with a wake-up of one run, and of blocks of the same length of the other;
/// none without both timelines. Late wake-ups come in bursts, so blocks are more nearly independent
/// of each other than wake-ups are.
fn blocks(one: &Wakes, other: &Wakes) -> Option<(f64, f64)> {
    let length = |blocks: &[LatencyBlock]| {
        blocks.windows(2).map(|two| two[1].at_ns.saturating_sub(two[0].at_ns)).min()
    };
    let (mine, others) = (length(&one.timeline)?, length(&other.timeline)?);
    let count = |blocks: &[LatencyBlock]| blocks.iter().filter(|block| block.cycles > 0).count() as f64;
    (mine > 0).then(|| (count(&one.timeline), count(&other.timeline) * others as f64 / mine as f64))
}

#[cfg(test)]
mod tests;
