//! What the machine says of itself: caches, frequencies, nodes, memory that may be taken. From `/sys` and `/proc`; readers
//! take their roots, so that other machines are tested from files.

use model::Seen;
use model::ladder::{Cache, Machine};
use std::fs;
use std::path::Path;

/// Where the kernel shows itself.
#[derive(Debug, Clone, Copy)]
struct Roots<'a> {
    proc: &'a Path,
    sys: &'a Path,
}

/// This machine, seen from the processor that the calling thread is on.
pub fn machine() -> Machine {
    let cpus = allowed();
    let cpu = cpus.first().copied().unwrap_or(0);
    let roots = Roots { proc: Path::new("/proc"), sys: Path::new("/sys") };
    read(roots, cpu, cpus)
}

/// Processors that this thread may run on.
fn allowed() -> Vec<u32> {
    let set = rustix::thread::sched_getaffinity(None);
    let cpus: Vec<u32> = set.map_or_else(
        |_| Vec::new(),
        |set| {
            (0..rustix::thread::CpuSet::MAX_CPU)
                .filter(|cpu| set.is_set(*cpu))
                .map(|cpu| cpu as u32)
                .collect()
        },
    );
    if cpus.is_empty() { vec![0] } else { cpus }
}

fn read(roots: Roots<'_>, cpu: u32, cpus_allowed: Vec<u32>) -> Machine {
    let here = roots.sys.join(format!("devices/system/cpu/cpu{cpu}"));
    let cpuinfo = fs::read_to_string(roots.proc.join("cpuinfo")).unwrap_or_default();
    let field = |name: &str| {
        let mut lines = cpuinfo.lines().filter(|line| line.starts_with(name));
        lines.next()?.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let khz =
        |name: &str| text(&here.join("cpufreq").join(name))?.parse::<f64>().ok().map(|khz| khz / 1000.0);
    let stated = khz("scaling_cur_freq").or_else(|| field("cpu MHz")?.parse().ok());
    let clocksource = roots.sys.join("devices/system/clocksource/clocksource0/current_clocksource");
    Machine {
        cpu: seen(field("model name"), "the processor's name"),
        caches: caches(&here.join("cache")),
        page_bytes: rustix::param::page_size() as u64,
        nodes: nodes(roots.sys),
        cpus_allowed,
        stated_mhz: seen(stated, "a frequency"),
        max_mhz: seen(khz("cpuinfo_max_freq"), "the highest frequency"),
        governor: seen(text(&here.join("cpufreq/scaling_governor")), "a governor"),
        clocksource: seen(text(&clocksource), "its clock source"),
        memory_free_bytes: memory_free_bytes(roots).unwrap_or(0),
    }
}

fn seen<T>(value: Option<T>, what: &str) -> Seen<T> {
    value.map_or_else(|| Seen::unseen(format!("the kernel does not state {what}")), Seen::Value)
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Caches with data in them, by level.
fn caches(top: &Path) -> Vec<Cache> {
    let entries = fs::read_dir(top).into_iter().flatten().flatten();
    let mut caches: Vec<Cache> = entries
        .filter_map(|entry| {
            let read = |name: &str| text(&entry.path().join(name));
            if read("type")? == "Instruction" {
                return None;
            }
            Some(Cache {
                level: read("level")?.parse().ok()?,
                bytes: size(&read("size")?)?,
                line_bytes: read("coherency_line_size")?.parse().ok()?,
                shared_by: list(&read("shared_cpu_list")?).len() as u32,
            })
        })
        .collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// `32K`, `1M`.
fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix('K') {
        Some(digits) => (digits, 1 << 10),
        None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1 << 20)),
    };
    Some(digits.parse::<u64>().ok()? * unit).filter(|bytes| *bytes > 0)
}

/// `0-2,5`, as the kernel writes lists.
pub(crate) fn list(text: &str) -> Vec<u32> {
    let range = |range: &str| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        Some(from.trim().parse::<u32>().ok()?..=to.trim().parse::<u32>().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

fn nodes(sys: &Path) -> u32 {
    text(&sys.join("devices/system/node/has_memory")).map_or(1, |nodes| list(&nodes).len().max(1) as u32)
}

/// The smallest of what the host has and what each control group above us leaves.
fn memory_free_bytes(roots: Roots<'_>) -> Option<u64> {
    let meminfo = fs::read_to_string(roots.proc.join("meminfo")).ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let host = line.split_whitespace().next()?.parse::<u64>().ok()? * 1024;
    let groups = fs::read_to_string(roots.proc.join("self/cgroup")).unwrap_or_default();
    let left = groups.lines().flat_map(|line| left_in_groups(roots.sys, line)).min();
    Some(left.map_or(host, |left| host.min(left)))
}

/// What one line of `/proc/self/cgroup` leaves, in its group and those above.
fn left_in_groups(sys: &Path, line: &str) -> Vec<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (top, limit, usage) = match controllers {
        "" => (sys.join("fs/cgroup"), "memory.max", "memory.current"),
        "memory" => (sys.join("fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
        _ => return Vec::new(),
    };
    // A container sees its own group as the top: then the path leads nowhere, and the top has the limit.
    let group = top.join(path.trim_start_matches('/'));
    let number = |path: &Path| text(path)?.parse::<u64>().ok();
    group
        .ancestors()
        .take_while(|group| group.starts_with(&top))
        .filter_map(|group| {
            let limit = number(&group.join(limit))?;
            Some(limit.saturating_sub(number(&group.join(usage)).unwrap_or(0)))
        })
        .collect()
}
