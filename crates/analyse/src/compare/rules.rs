//! How the items of two results are paired, and what may be said of two figures.

use model::compare::{Change, Difference, Side};
use model::ladder::MedianInterval;
use model::recording::Host;
use std::cmp::Ordering;

/// A relative difference up to this counts as none: about as much as two measurements on one
/// machine differ.
pub(super) const MARGIN: f64 = 0.05;

/// An item of either result.
pub(super) enum Pair<'a, T> {
    Both(&'a T, &'a T),
    Only(Side, &'a T),
}

/// The items of `a` in their order, then those that only `b` has.
pub(super) fn pairs<'a, T>(
    a: &'a [T],
    b: &'a [T],
    partner: for<'s> fn(&T, &'s [T]) -> Option<&'s T>,
) -> impl Iterator<Item = Pair<'a, T>> {
    let of_a = a.iter().map(move |one| match partner(one, b) {
        Some(other) => Pair::Both(one, other),
        None => Pair::Only(Side::A, one),
    });
    let of_b = b.iter().filter(move |one| partner(one, a).is_none());
    of_a.chain(of_b.map(|one| Pair::Only(Side::B, one)))
}

/// The distances of an interval's ends from its figure.
pub(super) struct Ends {
    pub(super) below: f64,
    pub(super) above: f64,
}

/// The interval of a difference `b - a` from the intervals of both, by the method of variance
/// estimates recovery (G. Y. Zou, A. Donner, Statistics in Medicine 27, 2008), which keeps them
/// asymmetric.
pub(super) fn difference(median: f64, a: &Ends, b: &Ends) -> MedianInterval {
    let (below, above) = (b.below.hypot(a.above), b.above.hypot(a.below));
    MedianInterval { median, lo: median - below, hi: median + above }
}

/// The change of a figure: `found` is the difference or ratio, which counts as none from `least` to
/// `most`; `apart` is the order of B and A where their intervals do not overlap.
///
/// A significant difference that may be smaller than the margin is undecided.
pub(super) fn change(found: &MedianInterval, least: f64, most: f64, apart: Ordering) -> Change {
    if found.lo >= least && found.hi <= most {
        return Change::Same;
    }
    match apart {
        Ordering::Less if found.median < least => Change::Less,
        Ordering::Greater if found.median > most => Change::More,
        _ => Change::Undecided,
    }
}

/// Where two results come from: the host, and the dwell that made them.
pub(super) fn made_by(a: (&Host, &str), b: (&Host, &str)) -> [(&'static str, String, String); 5] {
    let ((a, dwell_a), (b, dwell_b)) = (a, b);
    [
        ("host", a.name.clone(), b.name.clone()),
        ("architecture", a.arch.clone(), b.arch.clone()),
        ("CPUs", a.cpus.to_string(), b.cpus.to_string()),
        ("kernel", a.kernel.clone(), b.kernel.clone()),
        ("dwell", dwell_a.to_owned(), dwell_b.to_owned()),
    ]
}

/// The pairs that differ.
pub(super) fn differences(pairs: impl IntoIterator<Item = (String, String, String)>) -> Vec<Difference> {
    let differ = pairs.into_iter().filter(|(_, a, b)| a != b);
    differ.map(|(what, a, b)| Difference { what, a, b }).collect()
}
