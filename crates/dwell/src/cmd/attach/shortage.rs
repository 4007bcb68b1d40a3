//! `--skip-if-busy`: whether the host is so short of CPUs or memory that a window would make it
//! worse.
//!
//! A window takes up to a second of CPU time and 100 MB. Where tasks queue for CPUs or wait for
//! memory already, that is time of theirs, and the window would lose events besides. The limits are
//! such that a host that is merely well used passes: pressure is of the last 10 s, which is as long
//! as a window is as a rule, and a single slow request does not move it.

use host::Roots;
use std::fmt;

/// CPU pressure (percent) above which the host is short: half of the time some task waited.
const CPU_PERCENT_MAX: f64 = 50.0;
/// The same of memory. Tasks that wait for memory at all are rare on a host that has enough.
const MEMORY_PERCENT_MAX: f64 = 10.0;
/// Load per CPU above which it is, where the kernel has no pressure: as many tasks wait as run.
const LOAD_PER_CPU_MAX: f64 = 2.0;
/// Free memory below which it is: what a window of a whole host takes, and a quarter.
const FREE_BYTES_MIN: u64 = 128 << 20;

/// What the host says of itself. What it does not say is not there.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct HostReadings {
    /// Percentage of the last 10 s in which some task waited for a CPU, for memory.
    cpu_percent: Option<f64>,
    memory_percent: Option<f64>,
    /// Load of one minute, divided by the CPUs.
    load_per_cpu: Option<f64>,
    /// Memory that is free for dwell.
    free_bytes: Option<u64>,
}

/// What the host is short of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shortage {
    CpuPressure { percent: f64 },
    Load { per_cpu: f64 },
    MemoryPressure { percent: f64 },
    FreeMemory { bytes: u64 },
}

impl HostReadings {
    /// Those of now.
    pub(super) fn read(roots: Roots<'_>) -> Self {
        let cpus = host::cpus(roots).len().max(1) as f64;
        Self {
            cpu_percent: host::pressure::some_percent(roots, "cpu").ok(),
            memory_percent: host::pressure::some_percent(roots, "memory").ok(),
            load_per_cpu: host::pressure::load(roots).ok().map(|load| load / cpus),
            free_bytes: host::memory::free_bytes(roots).ok(),
        }
    }

    /// What the host is short of, if it is. What is not known is no shortage.
    pub(super) fn shortage(&self) -> Option<Shortage> {
        let above = |value: Option<f64>, most: f64| value.filter(|value| *value > most);
        // The load counts tasks that wait for disks too, so it is asked only in place of pressure.
        let load = self.load_per_cpu.filter(|_| self.cpu_percent.is_none());
        let free = self.free_bytes.filter(|bytes| *bytes < FREE_BYTES_MIN);
        above(self.cpu_percent, CPU_PERCENT_MAX)
            .map(|percent| Shortage::CpuPressure { percent })
            .or(above(load, LOAD_PER_CPU_MAX).map(|per_cpu| Shortage::Load { per_cpu }))
            .or(above(self.memory_percent, MEMORY_PERCENT_MAX)
                .map(|percent| Shortage::MemoryPressure { percent }))
            .or(free.map(|bytes| Shortage::FreeMemory { bytes }))
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CpuPressure { percent } => write!(
                f,
                "tasks waited for a CPU in {percent:.0} % of the last 10 s (limit {CPU_PERCENT_MAX:.0} %)"
            ),
            Self::Load { per_cpu } => {
                write!(f, "the load is {per_cpu:.1} per CPU (limit {LOAD_PER_CPU_MAX:.0})")
            }
            Self::MemoryPressure { percent } => write!(
                f,
                "tasks waited for memory in {percent:.0} % of the last 10 s (limit {MEMORY_PERCENT_MAX:.0} %)"
            ),
            Self::FreeMemory { bytes } => write!(
                f,
                "{} of memory are free (limit {})",
                report::units::bytes(*bytes),
                report::units::bytes(FREE_BYTES_MIN)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_EASE: HostReadings = HostReadings {
        cpu_percent: Some(CPU_PERCENT_MAX),
        memory_percent: Some(MEMORY_PERCENT_MAX),
        load_per_cpu: Some(LOAD_PER_CPU_MAX),
        free_bytes: Some(FREE_BYTES_MIN),
    };

    #[test]
    fn a_host_at_its_limits_is_not_short_and_one_beyond_any_of_them_is() {
        assert_eq!(AT_EASE.shortage(), None);
        let short = |readings: HostReadings| readings.shortage().map(|short| short.to_string());
        let said = short(HostReadings { cpu_percent: Some(83.4), ..AT_EASE });
        assert_eq!(said.as_deref(), Some("tasks waited for a CPU in 83 % of the last 10 s (limit 50 %)"));
        let said = short(HostReadings { memory_percent: Some(11.0), ..AT_EASE });
        assert_eq!(said.as_deref(), Some("tasks waited for memory in 11 % of the last 10 s (limit 10 %)"));
        let said = short(HostReadings { free_bytes: Some(100 << 20), ..AT_EASE });
        assert_eq!(said.as_deref(), Some("100 MiB of memory are free (limit 128 MiB)"));
    }

    #[test]
    fn the_load_counts_only_where_there_is_no_pressure_of_cpus() {
        let loaded = HostReadings { load_per_cpu: Some(9.0), ..AT_EASE };
        assert_eq!(loaded.shortage(), None);
        let said = HostReadings { cpu_percent: None, ..loaded }.shortage().map(|short| short.to_string());
        assert_eq!(said.as_deref(), Some("the load is 9.0 per CPU (limit 2)"));
    }

    #[test]
    fn what_is_not_known_is_no_shortage() {
        assert_eq!(HostReadings::default().shortage(), None);
        let none = std::path::Path::new("/no/such/place");
        let read = HostReadings::read(Roots { proc: none, sys: none });
        assert_eq!(HostReadings { load_per_cpu: None, ..read }, HostReadings::default());
    }
}
