//! What bounds latency on a machine: caches, frequencies, memory nodes, memory that may be taken.

use crate::{Error, Roots, cpus, fields, here, memory, seen, text};
use model::Seen;
use model::ladder::{Cache, Machine};
use std::fs;
use std::io::Read;
use std::path::Path;

/// This machine, seen from the CPU that the calling thread is on.
pub fn machine() -> Machine {
    let cpus = cpus::allowed(None).map_or_else(|_| Vec::new(), |cpus| cpus.into_vec());
    let cpus = if cpus.is_empty() { vec![0] } else { cpus };
    read(here(), cpus[0], cpus)
}

/// The name of this machine's CPU alone, for callers without time for the rest.
pub fn cpu_name() -> Seen<String> {
    // The first CPUs are enough: on a large machine the whole file takes milliseconds.
    let mut start = Vec::new();
    if let Ok(file) = fs::File::open(here().proc.join("cpuinfo")) {
        // What cannot be read has no name in it.
        let _ = file.take(START_BYTES).read_to_end(&mut start);
    }
    name(&String::from_utf8_lossy(&start))
}

/// What [`cpu_name`] reads at most.
const START_BYTES: u64 = 4096;

fn name(cpuinfo: &str) -> Seen<String> {
    stated(fields::cpuinfo(cpuinfo, "model name").map(str::to_owned), "the CPU's name")
}

/// A machine as the files below `roots` describe it, seen from one CPU.
pub fn read(roots: Roots<'_>, cpu: u32, cpus_allowed: Vec<u32>) -> Machine {
    let own = roots.sys.join(format!("devices/system/cpu/cpu{cpu}"));
    let cpuinfo = text(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let mhz = |name: &str| Some(word(&own.join("cpufreq").join(name))?.parse::<f64>().ok()? / 1000.0);
    let current = mhz("scaling_cur_freq").or_else(|| fields::cpuinfo(&cpuinfo, "cpu MHz")?.parse().ok());
    let clocksource = roots.sys.join("devices/system/clocksource/clocksource0/current_clocksource");
    Machine {
        cpu: name(&cpuinfo),
        caches: caches(&own.join("cache")),
        page_bytes: rustix::param::page_size() as u64,
        nodes: nodes(roots),
        cpus_allowed,
        stated_mhz: stated(current, "a frequency"),
        max_mhz: stated(mhz("cpuinfo_max_freq"), "the highest frequency"),
        governor: stated(word(&own.join("cpufreq/scaling_governor")), "a governor"),
        clocksource: stated(word(&clocksource), "its clock source"),
        memory_free_bytes: seen(memory::free_bytes(roots)),
    }
}

/// The caches that hold data, as one CPU sees them, by level.
pub fn data_caches(roots: Roots<'_>, cpu: u32) -> Vec<Cache> {
    caches(&roots.sys.join(format!("devices/system/cpu/cpu{cpu}/cache")))
}

fn stated<T>(value: Option<T>, what: &str) -> Seen<T> {
    value.map_or_else(|| Seen::unseen(format!("the kernel does not state {what}")), Seen::Value)
}

/// What a file says, unless it is nothing.
fn word(path: &Path) -> Option<String> {
    text(path).ok().filter(|text| !text.is_empty())
}

/// Caches that hold data, by level.
fn caches(top: &Path) -> Vec<Cache> {
    let entries = fs::read_dir(top).into_iter().flatten().flatten();
    let mut caches: Vec<Cache> = entries.filter_map(|entry| cache(&entry.path())).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn cache(top: &Path) -> Option<Cache> {
    let read = |name: &str| word(&top.join(name));
    if read("type")? == "Instruction" {
        return None;
    }
    Some(Cache {
        level: read("level")?.parse().ok()?,
        bytes: size(&read("size")?)?,
        line_bytes: read("coherency_line_size")?.parse().ok()?,
        shared_by: cpus::list(&top.join("shared_cpu_list")).ok()?.len() as u32,
    })
}

/// A cache's size as the kernel writes it, in units of 1024: `32K`, `1M`.
fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix('K') {
        Some(digits) => (digits, 1 << 10),
        None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1 << 20)),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

/// Memory nodes; one where the kernel knows none.
fn nodes(roots: Roots<'_>) -> u32 {
    let nodes = cpus::list(&roots.sys.join("devices/system/node/has_memory"));
    nodes.map_or(1, |nodes| nodes.len().max(1) as u32)
}

/// The memory node of a CPU.
pub fn node_of(roots: Roots<'_>, cpu: u32) -> Option<u32> {
    let entries = fs::read_dir(roots.sys.join(format!("devices/system/cpu/cpu{cpu}"))).ok()?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.strip_prefix("node")?.parse().ok()).next()
}

/// The distance from a memory node to each that is online, as the firmware states it.
///
/// # Errors
/// The kernel knows no memory nodes, or not this one.
pub fn node_distances(roots: Roots<'_>, node: u32) -> Result<Vec<(u32, u32)>, Error> {
    let top = roots.sys.join("devices/system/node");
    let online = cpus::list(&top.join("online"))?;
    let distances = text(&top.join(format!("node{node}/distance")))?;
    let distances = distances.split_ascii_whitespace().filter_map(|word| word.parse().ok());
    Ok(online.into_vec().into_iter().zip(distances).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Kept;

    #[test]
    fn a_board_says_what_it_says_and_not_what_it_does_not() {
        let board = Kept::new("board");
        let machine = read(board.roots(), 4, vec![4, 5]);
        let cache = |level, bytes, line_bytes, shared_by| Cache { level, bytes, line_bytes, shared_by };
        assert_eq!(
            machine.caches,
            [cache(1, 64 << 10, 64, 1), cache(2, 512 << 10, 64, 2), cache(3, 2 << 20, 128, 6)]
        );
        assert_eq!((machine.stated_mhz, machine.max_mhz), (Seen::Value(1800.0), Seen::Value(2208.0)));
        assert_eq!(machine.governor, Seen::Value("ondemand".into()));
        assert_eq!(machine.clocksource, Seen::Value("arch_sys_counter".into()));
        assert!(matches!(machine.cpu, Seen::Unseen(_)), "{:?}", machine.cpu);
        assert_eq!(machine.nodes, 1);
        assert_eq!(machine.memory_free_bytes, Seen::Value(600_000_000));
    }

    #[test]
    fn a_guest_has_nodes_and_a_name() {
        let guest = Kept::new("guest");
        let machine = read(guest.roots(), 0, vec![0]);
        assert_eq!(machine.cpu, Seen::Value("QEMU Virtual CPU version 2.5+".into()));
        assert_eq!((machine.stated_mhz, machine.nodes), (Seen::Value(2495.312), 2));
        assert_eq!((node_of(guest.roots(), 0), node_of(guest.roots(), 7)), (Some(1), None));
        assert_eq!(node_distances(guest.roots(), 1), Ok(vec![(0, 21), (1, 10)]));
        assert!(node_distances(guest.roots(), 5).is_err());
    }

    #[test]
    fn nothing_readable_is_nothing_stated() {
        let roots = Roots { proc: Path::new("/nonexistent"), sys: Path::new("/nonexistent") };
        let machine = read(roots, 0, vec![0]);
        assert!(machine.caches.is_empty());
        assert!(matches!(machine.memory_free_bytes, Seen::Unseen(why) if why.contains("meminfo")));
        assert!(matches!((machine.stated_mhz, machine.clocksource), (Seen::Unseen(_), Seen::Unseen(_))));
    }

    #[test]
    fn sizes_have_their_units() {
        assert_eq!(
            [size("32K"), size("1M"), size("0K"), size("x"), size("18446744073709551615K")],
            [Some(32 << 10), Some(1 << 20), None, None, None]
        );
    }

    #[test]
    fn this_machine_has_memory_and_a_cpu_to_run_on() {
        let machine = machine();
        assert!(machine.memory_free_bytes.value().is_some_and(|bytes| *bytes > 1 << 20));
        assert!(!machine.cpus_allowed.is_empty());
    }
}
