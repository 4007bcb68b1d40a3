//! The settings that decide how late a thread wakes up, and what changed while it was measured.
//!
//! Each setting says whether it is there, is not, or cannot be seen, and then what would help. What they mean for a figure
//! is left to the analysis. [`settings`] reads what stands still, [`counters`] what is counted.

mod counters;
mod settings;

use counters::Counters;
use host::{Roots, here};
use model::Seen;
use model::wake::environment::{CpuSettings, Environment};
use std::path::Path;

/// Where the kernel shows itself.
#[derive(Debug, Clone, Copy)]
struct Places<'a> {
    roots: Roots<'a>,
    dev: &'a Path,
}

/// Settings and counters when the measurement began.
#[derive(Debug)]
pub struct Realtime {
    settings: Environment,
    before: Counters,
    places: Places<'static>,
}

/// What only the measuring itself knows.
#[derive(Debug, Clone)]
pub struct Own {
    /// What `/dev/cpu_dma_latency` was held at.
    pub dma_latency_us: Seen<u32>,
    /// The highest priority that it might ask for.
    pub rt_priority_max: u32,
    /// The processor that looked on.
    pub housekeeping: Option<u32>,
}

impl Realtime {
    /// Looks before the measurement.
    pub fn begin(cpus: &[u32]) -> Self {
        let places = Places { roots: here(), dev: Path::new("/dev") };
        Self { settings: settings::read(places, cpus), before: Counters::read(places, cpus), places }
    }

    /// Looks after it.
    pub fn end(self, own: Own) -> Environment {
        let cpus: Vec<u32> = self.settings.cpus.iter().map(|cpu| cpu.cpu).collect();
        let after = Counters::read(self.places, &cpus);
        finish(self.settings, &self.before, &after, own)
    }
}

fn finish(settings: Environment, before: &Counters, after: &Counters, own: Own) -> Environment {
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

/// The processors that isolcpus keeps from threads that do not ask for them.
pub fn isolated() -> Seen<Vec<u32>> {
    settings::isolated(here().sys)
}

/// What a file says, without its ends.
fn text(path: &Path) -> Result<String, String> {
    host::text(path).map_err(|error| error.to_string())
}

/// `/proc/interrupts`. Every machine has interrupts: containers put an empty file in its place.
fn interrupts(proc: &Path) -> Result<String, String> {
    let path = proc.join("interrupts");
    match text(&path)? {
        told if told.is_empty() => {
            Err(format!("{} is empty: containers mask it; try: outside of the container", path.display()))
        }
        told => Ok(told),
    }
}

#[cfg(test)]
mod tests;
