//! Quantiles of many hosts, from the sum of their bins, as the queries have it: beside those of all
//! values together.

use std::collections::BTreeMap;

/// The worst relative error of the quantiles of merged bins.
fn worst(bins: impl Fn(&[u64]) -> Vec<(u64, u64, u64)>) -> f64 {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random >> 11
    };
    let (mut pooled, mut merged) = (Vec::new(), BTreeMap::<u64, u64>::new());
    for host in 0..50_u64 {
        // Each host has another scale, and a tail.
        let values: Vec<u64> = (0..2_000)
            .map(|_| {
                let base = 1_000 * (host + 1) + next() % (5_000 * (host + 1));
                if next() % 100 == 0 { base * (1 + next() % 40) } else { base }
            })
            .collect();
        for (_, beyond, count) in bins(&values) {
            *merged.entry(beyond).or_default() += count;
        }
        pooled.extend(values);
    }
    pooled.sort_unstable();
    let mut worst = 0.0_f64;
    for per_mille in [10, 100, 500, 900, 990, 999, 1_000] {
        let rank = (pooled.len() as u64 * per_mille).div_ceil(1_000);
        let exact = pooled[rank as usize - 1];
        let mut up_to = 0;
        let found = merged.iter().find(|(_, count)| {
            up_to += **count;
            up_to >= rank
        });
        let found = found.unwrap().0 - 1;
        assert!(found >= exact, "an upper end is no less than what it stands for");
        worst = worst.max((found - exact) as f64 / exact as f64);
    }
    worst
}

#[test]
fn of_waits_they_are_within_an_eighth() {
    let error = worst(|values| {
        let mut histogram = stats::histogram::Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram.bins().collect()
    });
    assert!(error <= 0.125 && error > 0.001, "{error}");
}

#[test]
fn of_wake_ups_they_are_within_a_hundredth() {
    let error = worst(|values| {
        let mut counts = BTreeMap::<usize, u64>::new();
        values.iter().for_each(|value| *counts.entry(stats::fine::index(*value)).or_default() += 1);
        counts
            .into_iter()
            .map(|(index, count)| (stats::fine::bounds(index).0, stats::fine::bounds(index).1, count))
            .collect()
    });
    assert!(error <= 0.008, "{error}");
}
