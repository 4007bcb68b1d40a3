//! A miss of the TLB: the same places, once in small pages and once in huge ones.

use crate::bench::{Bench, interrupted};
use crate::memory::levels::{LINE_BYTES, most_bytes, obtain};
use crate::memory::order::{Random, one_cycle};
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use model::Ns;
use sys::chase::Chase;
use sys::clock::monotonic_ns;
use sys::pages::{PageKind, Pages};

/// One place in this number of bytes: in each of the smallest pages that x86_64 and aarch64 have,
/// or more of one.
const PAGE_BYTES: u64 = 4096;
/// Pages: several times what the second TLB of any core of today holds (2 to 4 thousand).
const PLACES: u32 = 16 << 10;

pub(crate) fn rung() -> Rung {
    Rung {
        about: RungDescription {
            excludes:
                "the load itself, and tables that have to come from memory: those of 64 MiB stay in caches"
                    .into(),
            method:
                "a chase with one place in each of 16,384 pages of 4 KiB, less the same places in huge pages"
                    .into(),
            source: "the page-per-element chase of clamchowder's MemoryLatency; multichase".into(),
            needs: "128 MiB of memory, and huge pages".into(),
            ..about("tlb-miss", RungGroup::Memory, "a page walk after a TLB miss")
        },
        parts: 1.0,
        watch_cycle: true,
        measure: Box::new(measure),
    }
}

fn measure(bench: &Bench<'_>) -> Result<Samples, Unmeasured> {
    let bytes = PAGE_BYTES * u64::from(PLACES);
    if bytes * 2 > most_bytes(bench.machine)? {
        return Err(Unmeasured::Unseen("it needs 128 MiB, and a quarter of what is free is less".into()));
    }
    let huge = obtain(bench, bytes, PageKind::Huge)?;
    let in_huge = huge.obtained().map_or(0, |got| 100 * got.huge_bytes / bytes);
    if in_huge < 90 {
        return Err(Unmeasured::Unseen(format!(
            "only {in_huge} % of the memory to compare with is in huge pages\n\
             try: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
        )));
    }
    let next = one_cycle(PLACES, &mut Random::new(), &|| !bench.stopped()).ok_or_else(interrupted)?;
    let link = |pages: Pages| Chase::link(pages, &next, offset);
    let mut small = link(obtain(bench, bytes, PageKind::Small)?);
    let mut huge = link(huge);
    bench.sample_against(|hops| Ok(timed(&mut small, hops)), |hops| Ok(timed(&mut huge, hops)))
}

/// Another line in each page: places at the same line of all pages would share few sets of the
/// caches.
fn offset(place: usize) -> usize {
    let lines = (PAGE_BYTES / LINE_BYTES) as usize;
    place * PAGE_BYTES as usize + place % lines * LINE_BYTES as usize
}

fn timed(chase: &mut Chase, hops: u64) -> Ns {
    let from = monotonic_ns();
    chase.hop(hops);
    monotonic_ns() - from
}
