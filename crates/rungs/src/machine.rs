//! What the machine says of itself: caches, frequencies, nodes, memory that may be taken. From `/sys` and `/proc`; readers
//! take their roots, so that other machines are tested from files.

use model::Seen;
use model::ladder::{Cache, Machine};
use std::fs;
use std::io::Read;
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

/// The name of this machine's processor alone, for who has no time for the rest.
pub fn cpu_name() -> Seen<String> {
    // The first processors are enough: on a large machine the whole file takes milliseconds.
    let mut start = Vec::new();
    if let Ok(file) = fs::File::open("/proc/cpuinfo") {
        // What cannot be read has no name in it.
        let _ = file.take(START_BYTES).read_to_end(&mut start);
    }
    name(&String::from_utf8_lossy(&start))
}

/// What [`cpu_name`] reads at most.
const START_BYTES: u64 = 4096;

fn name(cpuinfo: &str) -> Seen<String> {
    seen(field(cpuinfo, "model name"), "the processor's name")
}

/// A field of the first processor that has it.
fn field(cpuinfo: &str, name: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
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
    let khz =
        |name: &str| text(&here.join("cpufreq").join(name))?.parse::<f64>().ok().map(|khz| khz / 1000.0);
    let stated = khz("scaling_cur_freq").or_else(|| field(&cpuinfo, "cpu MHz")?.parse().ok());
    let clocksource = roots.sys.join("devices/system/clocksource/clocksource0/current_clocksource");
    Machine {
        cpu: name(&cpuinfo),
        caches: caches(&here.join("cache")),
        page_bytes: rustix::param::page_size() as u64,
        nodes: nodes(roots.sys),
        cpus_allowed,
        stated_mhz: seen(stated, "a frequency"),
        max_mhz: seen(khz("cpuinfo_max_freq"), "the highest frequency"),
        governor: seen(text(&here.join("cpufreq/scaling_governor")), "a governor"),
        clocksource: seen(text(&clocksource), "its clock source"),
        memory_free_bytes: sys::room::memory_free_bytes_in(roots.proc, roots.sys).unwrap_or(0),
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

/// The most memory that this process had at a time: `VmHWM` of proc(5).
pub(crate) fn memory_peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(top: &Path, files: &[(&str, &str)]) {
        for (name, content) in files {
            let path = top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{content}\n")).unwrap();
        }
    }

    /// A board with two kinds of cores, as its kernel shows it to a container with a limit.
    fn board() -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        let cpu = "sys/devices/system/cpu/cpu4";
        let cache = |index: usize, name: &str| format!("{cpu}/cache/index{index}/{name}");
        for (index, fields) in [
            ["1", "Instruction", "64K", "64", "4"],
            ["1", "Data", "64K", "64", "4"],
            ["2", "Unified", "512K", "64", "4-5"],
            ["3", "Unified", "2M", "128", "0-3,4-5"],
        ]
        .iter()
        .enumerate()
        {
            let names = ["level", "type", "size", "coherency_line_size", "shared_cpu_list"];
            let files: Vec<_> =
                names.iter().zip(fields).map(|(name, field)| (cache(index, name), *field)).collect();
            files.iter().for_each(|(name, field)| write(top.path(), &[(name, field)]));
        }
        write(
            top.path(),
            &[
                ("proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 48.00"),
                ("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable:    6000000 kB"),
                ("proc/self/cgroup", "4:memory:/gone\n0::/app/part"),
                (&format!("{cpu}/cpufreq/scaling_cur_freq"), "1800000"),
                (&format!("{cpu}/cpufreq/cpuinfo_max_freq"), "2208000"),
                (&format!("{cpu}/cpufreq/scaling_governor"), "ondemand"),
                ("sys/devices/system/clocksource/clocksource0/current_clocksource", "arch_sys_counter"),
                ("sys/fs/cgroup/app/memory.max", "1000000000"),
                ("sys/fs/cgroup/app/memory.current", "400000000"),
                ("sys/fs/cgroup/app/part/memory.max", "max"),
            ],
        );
        top
    }

    #[test]
    fn a_board_says_what_it_says_and_not_what_it_does_not() {
        let top = board();
        let roots = Roots { proc: &top.path().join("proc"), sys: &top.path().join("sys") };
        let machine = read(roots, 4, vec![4, 5]);
        let cache = |level, bytes, line_bytes, shared_by| Cache { level, bytes, line_bytes, shared_by };
        assert_eq!(
            machine.caches,
            [cache(1, 64 << 10, 64, 1), cache(2, 512 << 10, 64, 2), cache(3, 2 << 20, 128, 6)]
        );
        assert_eq!((machine.stated_mhz, machine.max_mhz), (Seen::Value(1800.0), Seen::Value(2208.0)));
        assert_eq!(machine.governor, Seen::Value("ondemand".into()));
        assert!(matches!(machine.cpu, Seen::Unseen(_)), "{:?}", machine.cpu);
        assert_eq!(machine.nodes, 1);
        // The group above has the limit, and less is left of it than the host has.
        assert_eq!(machine.memory_free_bytes, 600_000_000);
    }

    #[test]
    fn nothing_readable_is_nothing_stated() {
        let roots = Roots { proc: Path::new("/nonexistent"), sys: Path::new("/nonexistent") };
        let machine = read(roots, 0, vec![0]);
        assert!(machine.caches.is_empty() && machine.memory_free_bytes == 0);
        assert!(matches!((machine.stated_mhz, machine.clocksource), (Seen::Unseen(_), Seen::Unseen(_))));
    }

    #[test]
    fn sizes_have_their_units() {
        assert_eq!(
            [size("32K"), size("1M"), size("0K"), size("x")],
            [Some(32 << 10), Some(1 << 20), None, None]
        );
    }

    #[test]
    fn memory_that_was_given_back_is_still_in_the_peak() {
        let bytes = 96 << 20;
        drop(std::hint::black_box(vec![1_u8; bytes]));
        assert!(memory_peak_bytes().unwrap() > bytes as u64);
    }

    #[test]
    fn this_machine_has_memory_and_a_processor_to_run_on() {
        let machine = machine();
        assert!(machine.memory_free_bytes > 1 << 20 && !machine.cpus_allowed.is_empty());
    }
}
