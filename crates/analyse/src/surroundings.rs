//! From looks at the host to series over the wall clock.
//!
//! Counters are cumulative. What came between two looks is spread evenly over the time between
//! them, and from there onto equal steps; a run of any length has at most 600 of these, fewer where
//! there are many devices. Which link does what is in [`links`]. What follows from it all is up to
//! `judge`.

mod limits;
mod links;
mod looks;

use crate::grid::Grid;
use crate::judge::limits::disk_at_limit;
use limits::Groups;
use links::LinkTrack;
use looks::{Looks, Track};
use model::coverage::{Extent, Source};
use model::limits::Limits;
use model::recording::Tier;
use model::series::{CpuSeries, DiskSeries, MemorySeries, NfsOperationRow, NfsSeries};
use model::surroundings::{DiskCounters, HostMetrics as Look, LinkCounters, MemoryCounters, NfsCounters};
use model::{Event, Header, Ns, Seen, Series, Tid};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Below this, snapshots every 90 ms and counters in steps of 10 ms tell nothing.
const WALL_NS_MIN: Ns = 300_000_000;

/// What the looks said so far.
#[derive(Debug)]
pub(crate) struct Surroundings {
    cpus: u32,
    looks: Looks,
    disks: Devices<u32, Device<8>>,
    links: Devices<String, LinkTrack>,
    links_namespace: u64,
    memory: Device<5>,
    /// Available, free, cache, dirty, swap in use, at each look.
    gauges: Vec<[u64; 5]>,
    memory_total_bytes: u64,
    pressure: Option<String>,
    cpu: Device<6>,
    nfs: Devices<(String, String), NfsTrack>,
    /// Why a kind of thing was not seen at the last look that failed.
    unseen: BTreeMap<&'static str, String>,
    tree: TreeCpu,
    groups: Groups,
}

type Devices<K, T> = BTreeMap<K, T>;

/// A device whose counters are `N`.
#[derive(Debug, Default)]
struct Device<const N: usize> {
    name: String,
    track: Track<N>,
}

/// A mount: calls, their time, bytes sent and received; and the same by operation from the first to
/// the last look.
#[derive(Debug, Default)]
struct NfsTrack {
    track: Track<4>,
    /// Calls and time: at first, and now.
    operations: BTreeMap<String, [(u64, Ns); 2]>,
}

impl Surroundings {
    pub(crate) fn new(header: &Header) -> Self {
        Self {
            cpus: header.host.cpus.max(1),
            looks: Looks::default(),
            disks: BTreeMap::new(),
            links: BTreeMap::new(),
            links_namespace: 0,
            memory: Device::default(),
            gauges: Vec::new(),
            memory_total_bytes: 0,
            pressure: None,
            cpu: Device::default(),
            nfs: BTreeMap::new(),
            unseen: BTreeMap::new(),
            tree: TreeCpu { switches: header.tier != Tier::Proc, ..TreeCpu::default() },
            groups: Groups::default(),
        }
    }

    /// Takes the next event; most say nothing of the host.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Surroundings { at, surroundings } => self.look(*at, surroundings),
            Event::Group { group, .. } => self.groups.observe(group),
            Event::Refaults { bytes, .. } => self.groups.refaulted(*bytes),
            event => self.tree.event(event),
        }
    }

    /// The limits that the program ran under.
    pub(crate) fn limits(&self) -> Seen<Limits> {
        self.groups.limits()
    }

    fn look(&mut self, at: Ns, look: &Look) {
        if self.looks.add(at) {
            self.disks.values_mut().for_each(|disk| disk.track.thin());
            self.links.values_mut().for_each(|link| link.track.thin());
            self.nfs.values_mut().for_each(|nfs| nfs.track.thin());
            self.memory.track.thin();
            self.cpu.track.thin();
            self.gauges = std::mem::take(&mut self.gauges).into_iter().step_by(2).collect();
        }
        let step = self.looks.step();
        // What is first told in the first look begins there; what turns up later began at nothing.
        let first = self.looks.is_first();
        if let Some(disks) = self.seen("disks", &look.disks) {
            for disk in disks {
                let device = self.disks.entry(disk.dev).or_default();
                device.name.clone_from(&disk.name);
                device.track.observe(step, of_disk(disk), first);
            }
        }
        if let Some(links) = self.seen("links", &look.links) {
            // Links of another namespace are other ones, also where they have the same name.
            let others =
                std::mem::replace(&mut self.links_namespace, look.links_namespace) != look.links_namespace;
            for link in links {
                let counters = of_link(link);
                self.links.entry(link.name.clone()).or_default().observe(
                    step,
                    counters,
                    first || others,
                    link,
                );
            }
        }
        if let Some(memory) = self.seen("memory", &look.memory) {
            self.memory_total_bytes = memory.total_bytes;
            if let Seen::Unseen(why) = &memory.pressure_ns {
                self.pressure = Some(why.clone());
            }
            self.memory.track.observe(step, of_memory(memory), first);
            self.gauges.truncate(self.looks.len() - 1);
            let gauges = [
                memory.available_bytes,
                memory.free_bytes,
                memory.cache_bytes,
                memory.dirty_bytes,
                memory.swap_bytes,
            ];
            // A look that failed is as the one after it.
            self.gauges.resize(self.looks.len(), gauges);
        }
        if let Some(cpu) = self.seen("cpu", &look.cpu) {
            let tree_ns = self.tree.until(at);
            let counters =
                [cpu.busy_ns, cpu.iowait_ns, cpu.steal_ns, cpu.interrupt_ns, cpu.dwell_ns, tree_ns];
            self.cpu.track.observe(step, counters, first);
        }
        if let Some(mounts) = self.seen("nfs", &look.nfs) {
            for mount in mounts {
                let key = (mount.device.clone(), mount.mount.clone());
                self.nfs.entry(key).or_default().observe(step, mount, first);
            }
        }
    }

    fn seen<'a, T>(&mut self, what: &'static str, seen: &'a Seen<T>) -> Option<&'a T> {
        match seen {
            Seen::Value(value) => Some(value),
            Seen::Absent => None,
            Seen::Unseen(why) => {
                self.unseen.insert(what, why.clone());
                None
            }
        }
    }

    /// The series of a wall, without what follows from them.
    pub(crate) fn series(&self, start: Ns, wall_ns: Ns) -> Seen<Series> {
        if self.looks.is_empty() {
            return Seen::unseen("no host metrics in this recording");
        }
        if wall_ns < WALL_NS_MIN {
            return Seen::unseen("the run is too short for host metrics (10 Hz)");
        }
        let grid = Grid::new(start, wall_ns, self.count());
        Seen::Value(Series {
            step_ns: grid.step_ns,
            disks: self.or_unseen("disks", self.disks(&grid)),
            links: self.or_unseen("links", links::series(&self.links, &self.looks, &grid)),
            memory: self.or_unseen("memory", self.memory(&grid)),
            nfs: self.or_unseen("nfs", self.nfs(&grid)),
            cpu: self.or_unseen("cpu", self.cpu(&grid)),
            verdicts: Vec::new(),
        })
    }

    /// How many series there are.
    fn count(&self) -> usize {
        let devices = |all: usize| all.min(looks::DEVICES_MAX);
        7 * devices(self.disks.len()) + 7 * devices(self.links.len()) + 4 * self.nfs.len() + 9 + 5
    }

    /// What could be seen of the host, for the coverage. Nothing for a run that is too short for
    /// it.
    pub(crate) fn source(&self, series: &Seen<Series>) -> Option<Source> {
        let left_out = [("disks", self.disks.len()), ("links", self.links.len())].into_iter().filter_map(
            |(what, count)| {
                let more = count.checked_sub(looks::DEVICES_MAX).filter(|more| *more > 0)?;
                Some(format!("{what}: the {more} least busy of {count} are omitted"))
            },
        );
        let failed = self.unseen.iter().map(|(what, why)| format!("{what}: {why}"));
        let whys: Vec<String> = failed.chain(left_out).collect();
        let (seen, why) = match series {
            Seen::Value(_) if whys.is_empty() => (Extent::Full, String::new()),
            Seen::Value(_) => (Extent::Partial, whys.join("; ")),
            Seen::Unseen(why) if self.looks.is_empty() => (Extent::None, why.clone()),
            Seen::Unseen(_) | Seen::Absent => return None,
        };
        Some(Source { name: "surroundings".into(), seen, why, remedy: String::new() })
    }

    /// The list, unless it is empty because looking failed.
    fn or_unseen<T>(&self, what: &str, list: Vec<T>) -> Seen<Vec<T>> {
        match self.unseen.get(what) {
            Some(why) if list.is_empty() => Seen::Unseen(why.clone()),
            _ => Seen::Value(list),
        }
    }

    fn disks(&self, grid: &Grid) -> Vec<DiskSeries> {
        let mut all: Vec<DiskSeries> =
            self.disks.values().map(|disk| disk_series(disk, &self.looks, grid)).collect();
        all.sort_by_key(|disk| (Reverse(disk.requests), disk.name.clone()));
        all.truncate(looks::DEVICES_MAX);
        all
    }

    fn memory(&self, grid: &Grid) -> Vec<MemorySeries> {
        if self.gauges.is_empty() {
            return Vec::new();
        }
        let steps = self.memory.track.spread(&self.looks, grid);
        let at_steps: Vec<[u64; 5]> = (0..grid.len())
            .map(|step| self.gauges[self.looks.last_until(grid.end(step)).min(self.gauges.len() - 1)])
            .collect();
        let gauge = |which: usize| at_steps.iter().map(|gauges| gauges[which]).collect();
        vec![MemorySeries {
            total_bytes: self.memory_total_bytes,
            available_bytes: gauge(0),
            free_bytes: gauge(1),
            cache_bytes: gauge(2),
            dirty_bytes: gauge(3),
            swap_bytes: gauge(4),
            faults_per_s: grid.rates(&steps, |step| step[0]),
            major_faults_per_s: grid.rates(&steps, |step| step[1]),
            swapped_pages_per_s: grid.rates(&steps, |step| step[2] + step[3]),
            pressure_share: match &self.pressure {
                Some(why) => Seen::Unseen(why.clone()),
                None => Seen::Value(grid.shares(&steps, 1, |step| step[4])),
            },
        }]
    }

    fn cpu(&self, grid: &Grid) -> Vec<CpuSeries> {
        if self.cpu.track.is_empty() {
            return Vec::new();
        }
        let steps = self.cpu.track.spread(&self.looks, grid);
        let share = |figure: fn(&[f64; 6]) -> f64| grid.shares(&steps, self.cpus, figure);
        vec![CpuSeries {
            cpus: self.cpus,
            busy_share: share(|step| step[0]),
            others_share: share(|step| (step[0] - step[4] - step[5]).max(0.0)),
            steal_share: share(|step| step[2]),
            interrupt_share: share(|step| step[3]),
            iowait_share: share(|step| step[1]),
        }]
    }

    fn nfs(&self, grid: &Grid) -> Vec<NfsSeries> {
        let mut all: Vec<NfsSeries> =
            self.nfs.iter().map(|(key, nfs)| nfs.series(key, &self.looks, grid)).collect();
        let total = |mount: &NfsSeries| mount.operations.iter().map(|one| one.total_ns).sum::<Ns>();
        all.sort_by_key(|mount| (Reverse(total(mount)), mount.mount.clone()));
        all
    }
}

/// Reads, writes, bytes read, written, time of reads, of writes, busy, queue.
fn of_disk(disk: &DiskCounters) -> [u64; 8] {
    let DiskCounters { requests, bytes, request_ns, busy_ns, queue_ns, .. } = disk;
    [requests.0, requests.1, bytes.0, bytes.1, request_ns.0, request_ns.1, *busy_ns, *queue_ns]
}

/// Bytes received, sent, packets received, sent, errors, drops.
fn of_link(link: &LinkCounters) -> [u64; 6] {
    [link.bytes.0, link.bytes.1, link.packets.0, link.packets.1, link.errors, link.drops]
}

/// Faults, those with IO, pages swapped in, out, pressure.
fn of_memory(memory: &MemoryCounters) -> [u64; 5] {
    let MemoryCounters { faults, swapped_pages, pressure_ns, .. } = memory;
    let pressure_ns = pressure_ns.value().copied().unwrap_or(0);
    [faults.0, faults.1, swapped_pages.0, swapped_pages.1, pressure_ns]
}

fn disk_series(disk: &Device<8>, looks: &Looks, grid: &Grid) -> DiskSeries {
    let steps = disk.track.spread(looks, grid);
    let sum = |figure: fn(&[f64; 8]) -> f64| steps.iter().map(figure).sum::<f64>().round() as u64;
    let busy_share = grid.shares(&steps, 1, |step| step[6]);
    let queue_mean = grid.means(&steps, |step| step[7]);
    let at_limit = |step: usize| disk_at_limit(busy_share[step], queue_mean[step], grid.length_ns(step));
    DiskSeries {
        name: disk.name.clone(),
        requests: sum(|step| step[0] + step[1]),
        bytes: sum(|step| step[2] + step[3]),
        reads_per_s: grid.rates(&steps, |step| step[0]),
        writes_per_s: grid.rates(&steps, |step| step[1]),
        read_bytes_per_s: grid.rates(&steps, |step| step[2]),
        written_bytes_per_s: grid.rates(&steps, |step| step[3]),
        latency_ns_mean: mean_latency(&steps, |step| (step[4] + step[5], step[0] + step[1])),
        at_limit_share: grid.share_of_wall(at_limit),
        busy_share,
        queue_mean,
    }
}

/// The kernel shows the time of requests and calls in ms: a step's sum below this tells no latency.
const LATENCY_SUM_NS_MIN: f64 = 5e6;

/// Time per request, step by step, where it is known.
fn mean_latency<const N: usize>(steps: &[[f64; N]], of: impl Fn(&[f64; N]) -> (f64, f64)) -> Vec<Option<Ns>> {
    let mean = |(ns, count): (f64, f64)| {
        (count >= 1.0 && ns >= LATENCY_SUM_NS_MIN).then(|| (ns / count).round() as Ns)
    };
    steps.iter().map(|step| mean(of(step))).collect()
}

impl NfsTrack {
    fn observe(&mut self, step: Option<u32>, mount: &NfsCounters, first: bool) {
        let mut sum = [0; 4];
        for one in &mount.operations {
            let all = [one.calls, one.total_ns, one.bytes.0, one.bytes.1];
            (0..4).for_each(|index| sum[index] += all[index]);
            let now = (one.calls, one.total_ns);
            let at_first = if first { now } else { (0, 0) };
            self.operations.entry(one.name.clone()).or_insert([at_first, now])[1] = now;
        }
        self.track.observe(step, sum, first);
    }

    fn series(&self, (name, mount): &(String, String), looks: &Looks, grid: &Grid) -> NfsSeries {
        let steps = self.track.spread(looks, grid);
        let row = |(name, [first, now]): (&String, &[(u64, Ns); 2])| {
            let (calls, total_ns) = (now.0.saturating_sub(first.0), now.1.saturating_sub(first.1));
            let latency_ns_mean = total_ns / calls.max(1);
            (calls > 0).then(|| NfsOperationRow { name: name.clone(), calls, total_ns, latency_ns_mean })
        };
        let mut operations: Vec<NfsOperationRow> = self.operations.iter().filter_map(row).collect();
        operations.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
        NfsSeries {
            name: name.clone(),
            mount: mount.clone(),
            calls_per_s: grid.rates(&steps, |step| step[0]),
            sent_bytes_per_s: grid.rates(&steps, |step| step[2]),
            received_bytes_per_s: grid.rates(&steps, |step| step[3]),
            latency_ns_mean: mean_latency(&steps, |step| (step[1], step[0])),
            operations,
        }
    }
}

/// The tree's own time on CPUs, to be subtracted from the host's: from its switches, or from
/// snapshots where there are none.
#[derive(Debug, Default)]
struct TreeCpu {
    switches: bool,
    sum_ns: Ns,
    /// Since when each CPU runs a thread of the tree.
    since: Vec<Option<Ns>>,
    /// The root runs since it started, on a CPU that is first named by its first switch.
    root: Option<(Tid, Ns)>,
    /// By thread, from snapshots.
    looked: FxHashMap<Tid, Ns>,
}

impl TreeCpu {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Start { at, tid } if self.switches => self.root = Some((*tid, *at)),
            Event::Switch { at, cpu, out, into } => {
                let cpu = *cpu as usize;
                if cpu >= self.since.len() {
                    self.since.resize(cpu + 1, None);
                }
                if let Some(out) = out {
                    let root = self.root.take_if(|(tid, _)| *tid == out.tid).map(|(_, since)| since);
                    if let Some(since) = self.since[cpu].take().or(root) {
                        self.sum_ns += at.saturating_sub(since);
                    }
                }
                if into.is_some() {
                    self.since[cpu] = Some(*at);
                }
            }
            Event::Look { threads, .. } if !self.switches => {
                for thread in threads {
                    let now = *thread.cpu_ns.value().unwrap_or(&(thread.user_ns + thread.kernel_ns));
                    let before = self.looked.insert(thread.tid, now).unwrap_or(0);
                    self.sum_ns += now.saturating_sub(before);
                }
            }
            _ => {}
        }
    }

    /// All of it until now.
    fn until(&mut self, at: Ns) -> Ns {
        for since in self.since.iter_mut().flatten().chain(self.root.as_mut().map(|(_, since)| since)) {
            self.sum_ns += at.saturating_sub(*since);
            *since = at.max(*since);
        }
        self.sum_ns
    }
}
