//! Which host metrics are worth a line: those that moved, and those that matter to what bounds the
//! program.

use super::Evidence;
use super::limits::{IDLE_SHARE, PRESSURE_SHARE_MIN};
use model::diagnosis::Metric;
use model::series::{CpuSeries, DiskSeries, LinkSeries, MemorySeries, NfsSeries};
use model::{Seen, State};
use stats::mean;

/// A link moved from this rate of payload on, or from this share of its limit on.
const LINK_BITS_PER_S_MIN: f64 = 1e6;
const LINK_LIMIT_SHARE_MIN: f64 = 0.05;
/// Other programs, and the hypervisor, from these shares of the CPUs on.
const OTHERS_SHARE_MIN: f64 = 0.1;
const STEAL_SHARE_MIN: f64 = 0.01;
/// Memory, when what is available changes by this share of it, or this number of pages is swapped
/// per second.
const AVAILABLE_SHARE_MIN: f64 = 0.05;
const SWAPPED_PAGES_PER_S_MIN: f64 = 1.0;

/// What the program waits for comes first. Means are over steps (the last may be shorter):
/// accurate enough to decide whether something changed.
pub(super) fn of(evidence: &Evidence<'_>) -> Vec<Metric> {
    let Seen::Value(series) = &evidence.run.series else { return Vec::new() };
    let resource = evidence.run.bound.resource;
    let [at_network, at_disk] = [State::Network, State::Disk].map(|state| state == resource);
    let links = those(&series.links, Metric::Link, |link| link_matters(link, at_network));
    let disks = those(&series.disks, Metric::Disk, |disk| disk_matters(disk, at_disk));
    let nfs = those(&series.nfs, Metric::Nfs, |nfs: &NfsSeries| !nfs.operations.is_empty());
    let cpu = those(&series.cpu, Metric::Cpu, cpu_matters);
    let memory = those(&series.memory, Metric::Memory, memory_matters);
    let order = match resource {
        State::Network => [links, nfs, disks, cpu, memory],
        State::Disk => [disks, nfs, memory, links, cpu],
        State::Fault => [memory, disks, cpu, links, nfs],
        _ => [cpu, memory, disks, links, nfs],
    };
    order.concat()
}

fn those<T>(list: &Seen<Vec<T>>, metric: fn(usize) -> Metric, matters: impl Fn(&T) -> bool) -> Vec<Metric> {
    let list = list.value().into_iter().flatten().enumerate();
    list.filter(|(_, one)| matters(one)).map(|(index, _)| metric(index)).collect()
}

fn link_matters(link: &LinkSeries, is_resource: bool) -> bool {
    let near_limit = || link.limit_share.value().is_some_and(|share| mean(share) >= LINK_LIMIT_SHARE_MIN);
    let moved = || mean(&link.payload_bits_per_s) >= LINK_BITS_PER_S_MIN || near_limit();
    link.bytes > 0 && (is_resource || moved())
}

fn disk_matters(disk: &DiskSeries, is_resource: bool) -> bool {
    disk.requests > 0 && (is_resource || mean(&disk.busy_share) >= IDLE_SHARE)
}

fn cpu_matters(cpu: &CpuSeries) -> bool {
    mean(&cpu.others_share) >= OTHERS_SHARE_MIN || mean(&cpu.steal_share) >= STEAL_SHARE_MIN
}

fn memory_matters(memory: &MemorySeries) -> bool {
    let ends = memory.available_bytes.iter().min().zip(memory.available_bytes.iter().max());
    let Some((least, most)) = ends else { return false };
    let changed = (most - least) as f64 / memory.total_bytes.max(1) as f64;
    changed >= AVAILABLE_SHARE_MIN
        || memory.pressure_share.value().is_some_and(|share| mean(share) >= PRESSURE_SHARE_MIN)
        || mean(&memory.swapped_pages_per_s) >= SWAPPED_PAGES_PER_S_MIN
}
