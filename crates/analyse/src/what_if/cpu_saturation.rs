//! For how long threads of the tree had all of the CPUs that they may use.
//!
//! While they have, one that is ready waits for its own: the replay says for how long. While they
//! have not, the scheduler left it where it was, or others had the rest.

use model::Ns;

/// CPUs as threads of the tree come and go.
#[derive(Debug)]
pub(super) struct CpuSaturation {
    /// CPUs that the tree may use.
    cpus: u32,
    /// The CPUs that a thread of the tree has, by number.
    taken: Vec<bool>,
    /// When one last left, by number.
    left: Vec<Ns>,
    /// How many it has; one that no switch has named yet counts as well.
    busy: u32,
    unnamed: bool,
    /// Time with all CPUs taken, up to `at`.
    full_ns: Ns,
    at: Ns,
}

impl CpuSaturation {
    /// The first thread has a CPU that its first switch names.
    pub(super) fn new(cpus: u32) -> Self {
        let (taken, left) = (Vec::new(), Vec::new());
        Self { cpus: cpus.max(1), taken, left, busy: 1, unnamed: true, full_ns: 0, at: 0 }
    }

    /// The tree may use this many.
    pub(super) fn may_use(&mut self, cpus: u32) {
        self.cpus = cpus.max(1);
    }

    pub(super) fn cpus(&self) -> u32 {
        self.cpus
    }

    fn advance(&mut self, at: Ns) {
        let ns = at.saturating_sub(self.at);
        self.at += ns;
        if self.busy >= self.cpus {
            self.full_ns += ns;
        }
    }

    /// A thread of the tree comes to a CPU, or leaves it.
    pub(super) fn change(&mut self, cpu: u32, at: Ns, comes: bool) {
        self.advance(at);
        let cpu = cpu as usize;
        if cpu >= self.taken.len() {
            self.taken.resize(cpu + 1, false);
            self.left.resize(cpu + 1, 0);
        }
        let was = std::mem::replace(&mut self.taken[cpu], comes);
        if !comes {
            self.left[cpu] = at;
        }
        match (was, comes) {
            (false, true) => self.busy += 1,
            (true, false) => self.busy = self.busy.saturating_sub(1),
            (false, false) if std::mem::take(&mut self.unnamed) => self.busy = self.busy.saturating_sub(1),
            _ => {}
        }
    }

    /// When a thread of the tree last left a CPU.
    pub(super) fn left(&self, cpu: u32) -> Ns {
        self.left.get(cpu as usize).copied().unwrap_or(0)
    }

    /// The time with all CPUs taken up to now.
    pub(super) fn full_ns(&mut self, at: Ns) -> Ns {
        self.advance(at);
        self.full_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_taken_while_as_many_threads_have_one() {
        let mut cpu_saturation = CpuSaturation::new(2);
        assert_eq!(cpu_saturation.full_ns(10), 0, "the first thread has one");
        cpu_saturation.change(1, 10, true);
        assert_eq!(cpu_saturation.full_ns(30), 20);
        cpu_saturation.change(0, 30, false);
        assert_eq!((cpu_saturation.full_ns(50), cpu_saturation.left(0), cpu_saturation.left(7)), (20, 30, 0));
        cpu_saturation.may_use(1);
        assert_eq!((cpu_saturation.full_ns(60), cpu_saturation.cpus()), (30, 1));
    }
}
