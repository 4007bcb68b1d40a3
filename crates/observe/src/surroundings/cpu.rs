//! CPU time of the whole host, from `/proc/stat`.

use super::kept::PolledFile;
use host::stat;
use model::{Ns, surroundings};
use std::path::Path;

/// The file.
#[derive(Debug)]
pub(super) struct Cpu(PolledFile);

impl Cpu {
    pub(super) fn new(proc: &Path) -> Self {
        Self(PolledFile::open(proc.join("stat")))
    }

    /// `dwell_ns` is dwell's own CPU time so far.
    pub(super) fn look(&mut self, dwell_ns: Ns) -> Result<surroundings::CpuCounters, String> {
        let text = self.0.text()?;
        let times = stat::total(&text).ok_or("/proc/stat has no line for all CPUs")?;
        Ok(surroundings::CpuCounters {
            busy_ns: times.busy_ns(),
            iowait_ns: times.iowait_ns,
            steal_ns: times.steal_ns,
            interrupt_ns: times.interrupt_ns(),
            dwell_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::tests::Kernel;

    #[test]
    fn a_guest_with_steal() {
        let stat = "cpu  1000 20 300 9000 40 5 6 700 80 0\ncpu0 1000 20 300 9000 40 5 6 700 80 0\nintr 1\n";
        let kernel = Kernel::new(&[("proc/stat", stat)]);
        let cpu = Cpu::new(kernel.roots().proc).look(9).unwrap();
        let tick = 10_000_000;
        assert_eq!((cpu.busy_ns, cpu.iowait_ns), (1331 * tick, 40 * tick));
        assert_eq!((cpu.steal_ns, cpu.interrupt_ns, cpu.dwell_ns), (700 * tick, 11 * tick, 9));
    }
}
