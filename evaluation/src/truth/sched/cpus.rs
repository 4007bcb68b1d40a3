//! Who has each CPU while a trace is walked through: threads of the tree, other programs, nobody.

use super::Tid;
use super::line::{Event, What};
use std::collections::BTreeSet;

/// The CPUs at some time.
pub(super) struct Cpus<'a> {
    tree: &'a BTreeSet<Tid>,
    /// Only what is within this time counts.
    from_ns: u64,
    to_ns: u64,
    cpus: Vec<Cpu>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    /// 0 while it is idle, or before its first switch.
    tid: Tid,
    since_ns: u64,
    /// For how long others had it before.
    others_ns: u64,
}

impl<'a> Cpus<'a> {
    pub(super) fn new(tree: &'a BTreeSet<Tid>, from_ns: u64, to_ns: u64) -> Self {
        Self { tree, from_ns, to_ns, cpus: Vec::new() }
    }

    /// Takes note of who has the CPU of this event from now on.
    pub(super) fn advance(&mut self, event: &Event) {
        let What::Switch { to, .. } = event.what else { return };
        if self.cpus.len() <= event.cpu {
            self.cpus.resize(event.cpu + 1, Cpu::default());
        }
        let others_ns = self.others_ns(event.cpu, event.at_ns);
        if let Some(cpu) = self.cpus.get_mut(event.cpu) {
            *cpu = Cpu { tid: to, since_ns: event.at_ns, others_ns };
        }
    }

    /// Whether another program has it.
    pub(super) fn is_others(&self, cpu: usize) -> bool {
        self.cpus.get(cpu).is_some_and(|cpu| self.is_other(cpu.tid))
    }

    /// For how long other programs had it until then.
    pub(super) fn others_ns(&self, cpu: usize, at_ns: u64) -> u64 {
        let Some(cpu) = self.cpus.get(cpu) else { return 0 };
        if !self.is_other(cpu.tid) {
            return cpu.others_ns;
        }
        cpu.others_ns + at_ns.min(self.to_ns).saturating_sub(cpu.since_ns.max(self.from_ns))
    }

    fn is_other(&self, tid: Tid) -> bool {
        tid != 0 && !self.tree.contains(&tid)
    }
}
