//! Pages from the kernel: mapped and unmapped, and touched for the first time.

use crate::bench::Bench;
use crate::single::sample_singly;
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use model::Ns;
use std::io;
use sys::clock::monotonic_ns;
use sys::pages::PageKind;
use sys::pages::fresh::{Fresh, map_and_unmap};

/// Bytes of a huge page. The kernel is asked whether it is one.
const HUGE_BYTES: usize = 2 << 20;
/// No more is touched at a time.
const MOST_BYTES: u64 = 64 << 20;

pub(crate) fn map() -> Rung {
    let about = RungDescription {
        excludes: "touching the page, and other threads: their CPUs must forget the mapping too".into(),
        method: "mmap and munmap of one private anonymous page, over and over".into(),
        source: "lmbench's lat_mmap, of one page".into(),
        ..about("map-unmap", RungGroup::Allocator, "mmap and munmap of a page")
    };
    Rung { about, parts: 0.5, watch_cycle: false, measure: Box::new(of_mapping) }
}

pub(crate) fn small() -> Rung {
    let about = RungDescription {
        excludes: "mapping and unmapping the memory; page tables of large mappings are included".into(),
        method: "one byte is written to each page of a fresh private mapping, in order; transparent huge pages are off for it"
            .into(),
        source: "lmbench's lat_pagefault, of anonymous memory".into(),
        ..about("page-touch", RungGroup::Allocator, "first touch of a page of the smallest size")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(of_small) }
}

pub(crate) fn huge() -> Rung {
    let about = RungDescription {
        excludes: "mapping and unmapping the memory, and compaction if no huge page was free".into(),
        method: "one byte is written to a fresh mapping of 2 MiB for which huge pages are on; /proc/self/smaps tells each time \
                 whether it became one"
            .into(),
        source: "the same as page-touch".into(),
        needs: "transparent huge pages".into(),
        ..about("page-touch-huge", RungGroup::Allocator, "first touch of a page of 2 MiB")
    };
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(of_huge) }
}

fn of_mapping(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let page_bytes = bench.machine.page_bytes as usize;
    bench.sample(|count| (0..count).try_for_each(|_| map_and_unmap(page_bytes)).map_err(refused))
}

fn of_small(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let page_bytes = bench.machine.page_bytes;
    let mut samples = bench.sample_timed(|pages| touch_small(pages, page_bytes))?;
    if page_bytes != 4096 {
        samples.limits.push(format!("pages of {} KiB", page_bytes >> 10));
    }
    Ok(samples)
}

/// Touches fresh pages, a mapping at a time; gives the time of the touching.
fn touch_small(pages: u64, page_bytes: u64) -> Result<Ns, Unmeasured> {
    let (mut left, mut took) = (pages, 0);
    while left > 0 {
        let turn = left.min(MOST_BYTES / page_bytes);
        let mut fresh = Fresh::map((turn * page_bytes) as usize, PageKind::Small).map_err(refused)?;
        let from = monotonic_ns();
        left -= fresh.touch(page_bytes as usize);
        took += monotonic_ns() - from;
    }
    Ok(took)
}

fn of_huge(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let mut small = 0_u64;
    let mut samples = sample_singly(bench, || {
        let mut fresh = Fresh::map(HUGE_BYTES, PageKind::Huge).map_err(refused)?;
        let from = monotonic_ns();
        fresh.touch(HUGE_BYTES);
        let took = monotonic_ns() - from;
        let obtained = fresh.obtained().map_err(|error| {
            Unmeasured::Unseen(format!(
                "which pages were obtained cannot be read from /proc/self/smaps: {error}"
            ))
        })?;
        let is_huge = obtained.huge_bytes == HUGE_BYTES as u64;
        small += u64::from(!is_huge);
        Ok(is_huge.then_some(took as f64))
    })?;
    if samples.per_op_ns.is_empty() {
        return Err(Unmeasured::Unseen(
            "the kernel gave no page of 2 MiB\ntry: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled".into(),
        ));
    }
    if small > 0 {
        samples.limits.push(format!("{small} times no huge page was available; these do not count"));
    }
    Ok(samples)
}

fn refused(error: io::Error) -> Unmeasured {
    Unmeasured::Unseen(format!("memory could not be mapped: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{grows_with_work, grows_with_work_timed};

    #[test]
    fn every_mapping_and_every_touch_is_done() {
        grows_with_work(100, |count| (0..count).for_each(|_| map_and_unmap(4096).unwrap()));
        let page_bytes = rustix::param::page_size() as u64;
        grows_with_work_timed(200, |pages| touch_small(pages, page_bytes).unwrap());
        // More than fits at a time.
        assert!(touch_small(2 * MOST_BYTES / page_bytes + 1, page_bytes).unwrap() > 0);
    }
}
