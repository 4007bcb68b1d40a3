//! Latencies, their intervals and rates as text, for the page and the picture.

use crate::Look;
use crate::units;
use model::ladder::MedianInterval;

/// A latency: `0.27 ns`, `98.4 ns`, `1.23 us`.
pub fn latency(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "" };
    if ns.abs() < 999.5 {
        return format!("{sign}{} ns", units::three_digits(ns.abs()));
    }
    format!("{sign}{}", units::duration(ns.abs().round() as u64))
}

/// A rate: `31.2 GB/s`. Decimal, as memory and disks are sold.
pub(super) fn rate(bytes_per_s: f64) -> String {
    let scales = [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")];
    let found = scales.into_iter().find(|(scale, _)| bytes_per_s >= scale * 0.9995);
    let (scale, unit) = found.unwrap_or((1.0, "B/s"));
    format!("{} {unit}", units::three_digits(bytes_per_s / scale))
}

/// Both ends of an interval, with the unit once if it is the same.
pub(crate) fn range(interval: &MedianInterval, look: Look) -> String {
    let (lo, hi) = (latency(interval.lo), latency(interval.hi));
    match (lo.rsplit_once(' '), hi.rsplit_once(' ')) {
        _ if lo == hi => hi,
        // A dash before a sign would read as one more sign.
        _ if interval.lo < 0.0 => format!("{lo} to {hi}"),
        (Some((figure, lo_unit)), Some((_, hi_unit))) if lo_unit == hi_unit => {
            format!("{figure}{}{hi}", look.dash())
        }
        _ => format!("{lo} {} {hi}", look.dash()),
    }
}
