//! The settings that affect wake-up latency, and what changed during a measurement.
//!
//! Each setting is a value, absent, or unseen with a remedy. `analyse` decides what they mean for a
//! figure. [`settings`] reads constant settings, [`counters`] reads counters.

mod counters;
mod roots;
mod settings;

use counters::RealtimeCounters;
use host::here;
use model::Seen;
use model::wake::environment::{CpuSettings, Environment};
use roots::KernelRoots;
use std::path::Path;

/// Settings and counters when the measurement began.
#[derive(Debug)]
pub struct Realtime {
    settings: Environment,
    before: RealtimeCounters,
    places: KernelRoots<'static>,
}

/// Settings that only the measurement knows.
#[derive(Debug, Clone)]
pub struct MeasurementSettings {
    /// The value held in `/dev/cpu_dma_latency`.
    pub dma_latency_us: Seen<u32>,
    /// The highest priority that it may set.
    pub rt_priority_max: u32,
    /// The CPU of dwell's other threads.
    pub housekeeping: Option<u32>,
}

impl Realtime {
    /// Reads before the measurement.
    pub fn begin(cpus: &[u32]) -> Self {
        let places = KernelRoots { roots: here(), dev: Path::new("/dev") };
        Self { settings: settings::read(places, cpus), before: RealtimeCounters::read(places, cpus), places }
    }

    /// Reads after it.
    pub fn end(self, own: MeasurementSettings) -> Environment {
        let cpus: Vec<u32> = self.settings.cpus.iter().map(|cpu| cpu.cpu).collect();
        let after = RealtimeCounters::read(self.places, &cpus);
        finish(self.settings, &self.before, &after, own)
    }
}

/// Whether this kernel can change its preemption model at its start.
pub(crate) fn can_change_preemption() -> bool {
    settings::can_change_preemption(here().proc)
}

/// The preemption model of this kernel.
pub(crate) fn preemption() -> Seen<String> {
    settings::read(KernelRoots { roots: here(), dev: Path::new("/dev") }, &[]).preemption
}

fn finish(
    settings: Environment,
    before: &RealtimeCounters,
    after: &RealtimeCounters,
    own: MeasurementSettings,
) -> Environment {
    let counted = |cpu: CpuSettings| CpuSettings {
        interrupted: after.interrupts_since(before, cpu.cpu),
        steal_ns: after.steal_since(before, cpu.cpu),
        smi: after.smi_since(before, cpu.cpu),
        ..cpu
    };
    Environment {
        dma_latency_us: own.dma_latency_us,
        rt_priority_max: own.rt_priority_max,
        housekeeping: own.housekeeping,
        cpus: settings.cpus.into_iter().map(counted).collect(),
        ..settings
    }
}

/// The CPUs that isolcpus excludes from scheduling without explicit affinity.
pub fn isolated() -> Seen<Vec<u32>> {
    settings::isolated(here().sys)
}

#[cfg(test)]
mod tests;
