//! Whether a set of memory is larger than what a CPU has to itself, and what a load from it costs
//! more: by the kept ladder, else by the sizes of caches.
//!
//! The last cache is not the measure: many CPUs share it, in a virtual machine with others that
//! nobody sees, and what one of them gets of it is less than its size by far. The ladder's curve
//! has what a load really took.

use model::costs::LoadCost;
use model::ladder::Cache;
use model::loads::SetBytes;

/// By a ladder a load from the set takes this many times as long at least, to be worth a change.
const COSTS_MIN: f64 = 1.5;
/// The part of the loads' time that goes at least, as of code that gets half as fast again: how
/// much of its data a program can lay out otherwise is not seen.
pub(super) const PART_MIN: f64 = 1.0 - 1.0 / 1.5;

/// How a set of memory lies to the largest cache that a CPU has to itself, of `cache` bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Beyond {
    /// It fits, or costs no more.
    Within { cache: u64 },
    /// Its interval has both.
    Unclear { cache: u64 },
    /// No cache is known.
    Unknown,
    /// It is larger. `cost`: what a load takes from half of that cache and from the set, by a
    /// ladder.
    Outside { cache: u64, cost: Option<(f64, f64)> },
}

/// The same of this set.
pub(super) fn beyond(set: &SetBytes, caches: &[Cache], curve: Option<&[LoadCost]>) -> Beyond {
    let Some(cache) = own_cache(caches) else { return Beyond::Unknown };
    let cost = curve.and_then(|curve| Some((at(curve, cache / 2)?, curve)));
    let outside = |bytes: u64| match cost {
        Some((near, curve)) => at(curve, bytes).is_some_and(|far| far >= near * COSTS_MIN),
        None => true,
    };
    if set.lo >= cache && outside(set.lo) {
        let cost = cost.and_then(|(near, curve)| Some((near, at(curve, set.lo)?)));
        return Beyond::Outside { cache, cost };
    }
    match set.hi {
        Some(hi) if hi < cache || !outside(hi) => Beyond::Within { cache },
        _ if set.lo >= cache && !outside(u64::MAX) => Beyond::Within { cache },
        _ => Beyond::Unclear { cache },
    }
}

/// The largest cache of one CPU alone; where each is shared, the second.
pub(super) fn own_cache(caches: &[Cache]) -> Option<u64> {
    // A virtual machine of one CPU shares the last one with nobody that it sees.
    let own = caches.iter().filter(|cache| cache.shared_by == 1 && cache.level <= 2);
    let second = caches.iter().filter(|cache| cache.level == 2);
    own.chain(second).map(|cache| cache.bytes).max()
}

/// What a load from so much memory takes: that of the next smaller size that was measured, or of
/// the smallest.
fn at(curve: &[LoadCost], bytes: u64) -> Option<f64> {
    let smaller = curve.iter().rev().find(|cost| cost.bytes <= bytes);
    smaller.or(curve.first()).map(|cost| cost.ns).filter(|ns| *ns > 0.0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use model::{Costs, Seen};

    /// A ladder that measured nothing.
    pub(in crate::judge) fn costs() -> Costs {
        let none = || Seen::unseen("not measured");
        Costs {
            from: "kept ladder".into(),
            measured_at: String::new(),
            quick: false,
            memory_access_ns: none(),
            call_ns: none(),
            fault_ns: none(),
            switch_ns: none(),
            open_ns: none(),
            stat_ns: none(),
            fsync_ns: none(),
            disk_read_ns: none(),
            process_ns: none(),
            connect_ns: none(),
            load_ns: Seen::unseen("not measured"),
            disk_read_32_ns: Seen::unseen("not measured"),
            sequential_read_ns: Seen::unseen("not measured"),
            sequential_write_ns: Seen::unseen("not measured"),
            tls_handshake_ns: Seen::unseen("not measured"),
        }
    }

    fn cache(level: u32, bytes: u64, shared_by: u32) -> Cache {
        Cache { level, bytes, line_bytes: 64, shared_by }
    }

    #[test]
    fn a_cache_that_several_share_is_not_ones_own() {
        assert_eq!(own_cache(&[cache(1, 32, 1), cache(2, 1024, 1), cache(3, 9000, 8)]), Some(1024));
        assert_eq!(own_cache(&[cache(1, 32, 1), cache(2, 1024, 1), cache(3, 9000, 1)]), Some(1024));
        assert_eq!(own_cache(&[cache(1, 32, 1), cache(2, 1024, 4)]), Some(1024), "a cluster's");
        assert_eq!(own_cache(&[]), None);
    }

    #[test]
    fn the_ladder_says_what_so_much_memory_costs() {
        let curve = [(512, 4.0), (2048, 6.0), (8192, 40.0)].map(|(bytes, ns)| LoadCost { bytes, ns });
        let caches = [cache(2, 1024, 1)];
        let of = |lo, hi| beyond(&SetBytes { pairs: 0, lo, hi }, &caches, Some(&curve));
        assert_eq!(of(8192, None), Beyond::Outside { cache: 1024, cost: Some((4.0, 40.0)) });
        assert!(matches!(of(2048, None), Beyond::Outside { .. }), "half as long again");
        assert_eq!(of(1024, Some(2000)), Beyond::Within { cache: 1024 }, "it costs no more");
        assert_eq!(of(1024, Some(8192)), Beyond::Unclear { cache: 1024 });
        assert_eq!(beyond(&SetBytes { pairs: 0, lo: 9, hi: None }, &[], None), Beyond::Unknown);
    }
}
