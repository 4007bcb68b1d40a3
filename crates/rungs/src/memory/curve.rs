//! Latency against size: the chase through ever more memory. Where it rises, a cache ends.

use crate::bench::{Bench, interrupted};
use crate::memory::levels::{chase, line_bytes, most_bytes, obtain, whole};
use crate::{RungDescription, RungGroup, Unmeasured};
use model::Seen;
use model::ladder::SizeSamples;
use sys::pages::PageKind;

const LEAST: u64 = 4 << 10;
const MOST: u64 = 512 << 20;

pub(crate) fn about() -> RungDescription {
    RungDescription {
        excludes: "loads that do not wait for each other".into(),
        method: "the chase of l1 to dram through sizes from 4 KiB to 512 MiB, as far as a quarter of the free memory goes".into(),
        source: "lmbench's lat_mem_rd".into(),
        needs: "up to 544 MiB of free memory".into(),
        ..crate::about("curve", RungGroup::Memory, "latency by working-set size")
    }
}

pub(crate) fn measure(bench: &Bench<'_>) -> Seen<Vec<SizeSamples>> {
    match points(bench) {
        Ok(points) => Seen::Value(points),
        Err(Unmeasured::Absent(why) | Unmeasured::Unseen(why)) => Seen::Unseen(why),
    }
}

/// Sizes, two or three for each doubling.
fn sizes(most: u64, quick: bool) -> Vec<u64> {
    let steps: &[f64] = if quick { &[1.0, 1.5] } else { &[1.0, 1.25, 1.5] };
    let doublings = (0..).map(|doubling| LEAST << doubling).take_while(|size| *size <= most);
    let between = |size: u64| steps.iter().map(move |step| (size as f64 * step) as u64 / 256 * 256);
    doublings.flat_map(between).filter(|size| *size <= most).collect()
}

fn points(bench: &Bench<'_>) -> Result<Vec<SizeSamples>, Unmeasured> {
    if bench.stopped() {
        return Err(interrupted());
    }
    let most = whole(MOST.min(most_bytes(bench.machine)?));
    // A quick look ends where memory surely begins, since linking much takes long.
    let last = bench.machine.caches.last().map_or(32 << 20, |cache| cache.bytes);
    let most = if bench.asked.quick { most.min((last * 4).max(64 << 20)) } else { most };
    let sizes = sizes(most.max(LEAST), bench.asked.quick);
    let line = line_bytes(bench.machine.caches.first());
    let mut pages = obtain(bench, most.max(LEAST), PageKind::Huge)?;
    let mut points = Vec::new();
    let turn = bench.with_budget(bench.budget_ns / sizes.len() as u64);
    for bytes in sizes {
        let Ok(linked) = chase(bench, pages, bytes, line) else { break };
        let mut chase = linked;
        let samples = turn.sample(|hops| {
            chase.hop(hops);
            Ok(())
        });
        pages = chase.into_pages();
        let Ok(samples) = samples else { break };
        points.push(SizeSamples {
            bytes,
            per_op_ns: samples.per_op_ns,
            ops_per_sample: samples.ops_per_sample,
        });
    }
    if points.is_empty() { Err(interrupted()) } else { Ok(points) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_go_up_evenly_and_end_where_they_should() {
        let all = sizes(512 << 20, false);
        assert!((35..60).contains(&all.len()), "{}", all.len());
        assert_eq!((all[0], *all.last().unwrap()), (LEAST, 512 << 20));
        assert!(all.windows(2).all(|pair| pair[0] < pair[1] && pair[1] <= pair[0] * 3 / 2 + 256));
        assert_eq!(sizes(LEAST, true), [LEAST]);
    }
}
