//! Threads that stay on one CPU.

use model::ladder::Machine;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The calling thread on one CPU, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Pinned(Option<CpuSet>);

impl Pinned {
    /// To this CPU. Where that is refused, the thread stays free: then figures vary more, and that
    /// is all.
    pub(crate) fn to(cpu: u32) -> Self {
        let before = sched_getaffinity(None).ok();
        let mut one = CpuSet::new();
        one.set(cpu as usize);
        Self(before.filter(|_| sched_setaffinity(None, &one).is_ok()))
    }

    /// To the CPU that rungs run on: the last that is allowed, since the first ones have more of
    /// the machine's interrupts.
    pub(crate) fn home(machine: &Machine) -> Self {
        Self::to(home(machine))
    }
}

/// The CPU that rungs run on.
pub(crate) fn home(machine: &Machine) -> u32 {
    machine.cpus_allowed.last().copied().unwrap_or(0)
}

/// The others that may be used.
pub(crate) fn others(machine: &Machine) -> Vec<u32> {
    let home = home(machine);
    machine.cpus_allowed.iter().copied().filter(|cpu| *cpu != home).collect()
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // It was allowed a moment ago; if it no longer is, there is nothing better to do.
            let _ = sched_setaffinity(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;

    #[test]
    fn a_pinned_thread_is_free_again() {
        let machine = machine();
        {
            let _pinned = Pinned::home(&machine);
            assert_eq!(crate::machine().cpus_allowed, [home(&machine)]);
        }
        assert_eq!(crate::machine().cpus_allowed, machine.cpus_allowed);
        assert_eq!(others(&machine).len() + 1, machine.cpus_allowed.len());
    }
}
