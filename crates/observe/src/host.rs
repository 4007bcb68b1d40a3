//! The machine, read from `/proc` and `/sys`. Readers take their root, so that other machines are tested from files.

use model::Seen;
use model::recording::{Host, HostCpu};
use std::path::Path;
use std::{fs, io};

/// Where the kernel shows itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Roots<'a> {
    pub(crate) proc: &'a Path,
    pub(crate) sys: &'a Path,
}

/// This machine.
pub(crate) fn here() -> Roots<'static> {
    Roots { proc: Path::new("/proc"), sys: Path::new("/sys") }
}

/// Its description.
pub(crate) fn read(roots: Roots<'_>) -> Host {
    let uname = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    Host {
        name: text(uname.nodename()),
        kernel: text(uname.release()),
        arch: text(uname.machine()),
        cpus: cpus(roots).len() as u32,
        memory_bytes: memory_bytes(roots.proc).unwrap_or(0),
        virtualisation: virtualisation(roots),
    }
}

/// The processors that are online. At least one.
pub(crate) fn cpus(roots: Roots<'_>) -> Vec<u32> {
    let list = fs::read_to_string(roots.sys.join("devices/system/cpu/online")).unwrap_or_default();
    let cpus = parse_list(list.trim());
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// `0-2,5`, as the kernel writes lists of processors.
pub(crate) fn parse_list(list: &str) -> Vec<u32> {
    let range = |range: &str| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        Some(from.parse::<u32>().ok()?..=to.parse::<u32>().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

fn memory_bytes(proc: &Path) -> Option<u64> {
    let text = fs::read_to_string(proc.join("meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// A container by the marks that runtimes leave, else a hypervisor by the bit that it sets for the guest's CPU.
fn virtualisation(roots: Roots<'_>) -> Seen<String> {
    let root = roots.proc.join("1/root");
    if root.join(".dockerenv").exists() {
        return Seen::Value("docker".into());
    }
    if root.join("run/.containerenv").exists() {
        return Seen::Value("podman".into());
    }
    if let Ok(kind) = fs::read_to_string(roots.sys.join("hypervisor/type")) {
        return Seen::Value(kind.trim().to_owned());
    }
    match under_hypervisor(roots.proc) {
        Ok(Some(true)) => Seen::Value("a virtual machine".into()),
        Ok(Some(false)) => Seen::Absent,
        Ok(None) => Seen::unseen("this architecture's cpuinfo does not tell"),
        Err(error) => Seen::unseen(format!("cannot read /proc/cpuinfo: {error}")),
    }
}

/// Whether a hypervisor has set its bit for the guest's processor; none where the architecture has no such bit.
pub(crate) fn under_hypervisor(proc: &Path) -> io::Result<Option<bool>> {
    let cpuinfo = fs::read_to_string(proc.join("cpuinfo"))?;
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    Ok(flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")))
}

/// CPU time of the whole host since it booted; the span is filled by [`between`].
pub(crate) fn cpu(proc: &Path) -> Option<HostCpu> {
    let modes = modes(&fs::read_to_string(proc.join("stat")).ok()?)?;
    Some(HostCpu {
        busy_ns: modes.busy_ns(),
        steal_ns: modes.steal_ns,
        interrupt_ns: modes.interrupt_ns,
        span_ns: 0,
        dwell_ns: 0,
    })
}

/// CPU time by mode, summed over CPUs, since the host booted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modes {
    /// User, nice and system.
    tasks_ns: u64,
    pub(crate) iowait_ns: u64,
    pub(crate) interrupt_ns: u64,
    pub(crate) steal_ns: u64,
}

impl Modes {
    /// All but idle, IO wait and steal.
    pub(crate) fn busy_ns(&self) -> u64 {
        self.tasks_ns + self.interrupt_ns
    }
}

/// proc(5): the first line of `stat`, in ticks of 10 ms (`USER_HZ` is 100 on every Linux).
pub(crate) fn modes(stat: &str) -> Option<Modes> {
    const TICK_NS: u64 = 10_000_000;
    let fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let ticks: Vec<u64> = fields.map(|field| field.parse().unwrap_or(0)).collect();
    let field = |number: usize| ticks.get(number).copied().unwrap_or(0) * TICK_NS;
    // user nice system idle iowait irq softirq steal; guest time is within user.
    Some(Modes {
        tasks_ns: field(0) + field(1) + field(2),
        iowait_ns: field(4),
        interrupt_ns: field(5) + field(6),
        steal_ns: field(7),
    })
}

/// What came between two readings, `span_ns` apart, of which `dwell_ns` was dwell's own.
pub(crate) fn between(before: HostCpu, after: HostCpu, span_ns: u64, dwell_ns: u64) -> HostCpu {
    HostCpu {
        busy_ns: after.busy_ns.saturating_sub(before.busy_ns),
        steal_ns: after.steal_ns.saturating_sub(before.steal_ns),
        interrupt_ns: after.interrupt_ns.saturating_sub(before.interrupt_ns),
        span_ns,
        dwell_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_have_ranges_and_holes() {
        assert_eq!(parse_list("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(parse_list("0"), [0]);
        assert_eq!(parse_list(""), Vec::<u32>::new());
    }

    #[test]
    fn this_machine_has_a_name_memory_and_a_processor() {
        let host = read(here());
        assert!(!host.kernel.is_empty() && host.memory_bytes > 1 << 20 && host.cpus >= 1);
        assert!(cpu(here().proc).unwrap().busy_ns > 0);
    }
}
