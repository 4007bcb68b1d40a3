//! What each process asked of each disk, from the table of the kernel half (`disk_requests.h`).

use super::{cost, maps, wire};
use aya::Ebpf;
use aya::maps::HashMap;
use model::Seen;
use model::coverage::{Extent, Source};
use model::disk_requests::{DiskUse, DiskUses};
use std::cmp::Reverse;
use zerocopy::transmute;

/// More are not recorded.
const USES: usize = 64;

type KeyWords = [u64; size_of::<wire::DiskKey>() / 8];
type CountsWords = [u64; size_of::<wire::DiskCounts>() / 8];

/// All of them, those with most requests first. This many were counted before they were forgotten.
pub(super) fn uses(ebpf: &Ebpf, before: u64, sources: &[Source]) -> Seen<DiskUses> {
    if let Some(source) = sources.iter().find(|source| source.name == "disks" && source.seen != Extent::Full)
    {
        return Seen::unseen(&source.why);
    }
    let map = ebpf.map("disk_uses").map(HashMap::<_, KeyWords, CountsWords>::try_from);
    let (Some(Ok(map)), Some(counted)) = (map, counted(ebpf)) else {
        return Seen::unseen("the kernel half's counts of requests to disks cannot be read");
    };
    let all = map.iter().filter_map(Result::ok);
    let all = all.map(|(key, counts)| of_use(&transmute!(key), &transmute!(counts)));
    Seen::Value(sorted(all.collect(), counted.saturating_sub(before)))
}

/// Requests so far, also those that the table has no more.
fn counted(ebpf: &Ebpf) -> Option<u64> {
    Some(cost::of_cpus(ebpf)?.iter().map(|cpu| cpu.disk_requests).sum())
}

fn sorted(mut uses: Vec<DiskUse>, counted: u64) -> DiskUses {
    uses.sort_by_key(|one| (Reverse(one.requests), one.dev, one.pid, one.write));
    uses.truncate(USES);
    let kept: u64 = uses.iter().map(|one| one.requests).sum();
    DiskUses { uses, other_requests: counted.saturating_sub(kept) }
}

fn of_use(key: &wire::DiskKey, counts: &wire::DiskCounts) -> DiskUse {
    DiskUse {
        pid: key.pid,
        dev: key.dev,
        write: key.write != 0,
        requests: counts.requests,
        bytes: counts.bytes,
        sizes: octaves(&counts.sizes),
        distances: octaves(&counts.distances),
        alone: counts.alone,
        depths: counts.depths,
        depth_max: counts.depth_max,
    }
}

/// The octaves that occur.
fn octaves(counts: &[u32]) -> Vec<(u8, u64)> {
    let all = (0..).zip(counts).map(|(octave, count)| (octave, u64::from(*count)));
    all.filter(|(_, count)| *count > 0).collect()
}

/// Resets the counts: they are not part of a window that begins. Returns how many requests were
/// counted.
pub(super) fn forget(ebpf: &mut Ebpf) -> u64 {
    let counted = counted(ebpf).unwrap_or(0);
    maps::clear::<KeyWords, CountsWords>(ebpf, "disk_uses");
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    fn counted(pid: u32, requests: u64) -> DiskUse {
        let mut key = wire::DiskKey::new_zeroed();
        let mut counts = wire::DiskCounts::new_zeroed();
        (key.pid, key.dev, key.write) = (pid, 254 << 20, 1);
        (counts.requests, counts.bytes, counts.alone) = (requests, requests * 4096, requests - 1);
        (counts.depths, counts.depth_max) = (requests + 1, 2);
        (counts.sizes[12], counts.distances[0], counts.distances[9]) = (requests as u32, 3, 1);
        of_use(&key, &counts)
    }

    #[test]
    fn those_with_most_requests_are_kept_and_the_others_are_counted() {
        let few = (0..USES as u32).map(|pid| counted(pid + 1, 5));
        // 100 were of processes that the table has forgotten.
        let uses = sorted(few.chain([counted(900, 50)]).collect(), USES as u64 * 5 + 50 + 100);
        assert_eq!((uses.uses.len(), uses.other_requests), (USES, 105));
        let expected = DiskUse {
            pid: 900,
            dev: 254 << 20,
            write: true,
            requests: 50,
            bytes: 50 * 4096,
            sizes: vec![(12, 50)],
            distances: vec![(0, 3), (9, 1)],
            alone: 49,
            depths: 51,
            depth_max: 2,
        };
        assert_eq!(uses.uses[0], expected);
    }
}
