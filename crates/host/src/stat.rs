//! CPU time by mode, from the text of `/proc/stat` (proc_stat(5)). The caller reads the file, once
//! or many times a second.

use model::Ns;

/// `USER_HZ` is 100 on every Linux.
pub const TICK_NS: Ns = 10_000_000;

/// The file, in messages.
pub const FILE: &str = "/proc/stat";

/// CPU time since boot, to within a tick of 10 ms. Time of guests is within `user_ns`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// In user mode.
    pub user_ns: Ns,
    /// User time of niced tasks.
    pub nice_ns: Ns,
    /// In the kernel.
    pub system_ns: Ns,
    /// Idle.
    pub idle_ns: Ns,
    /// Idle while IO was waited for.
    pub iowait_ns: Ns,
    /// In interrupts.
    pub irq_ns: Ns,
    /// In softirqs.
    pub softirq_ns: Ns,
    /// Taken by the hypervisor.
    pub steal_ns: Ns,
}

impl CpuTimes {
    /// All but idle, IO wait and steal.
    pub fn busy_ns(&self) -> Ns {
        self.user_ns + self.nice_ns + self.system_ns + self.interrupt_ns()
    }

    /// Interrupts and softirqs.
    pub fn interrupt_ns(&self) -> Ns {
        self.irq_ns + self.softirq_ns
    }

    fn parse<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Self> {
        // Divided, so that sums of four do not overflow where a file is not what it should be.
        let mut ns = || Some(words.next()?.parse::<u64>().ok()?.saturating_mul(TICK_NS).min(Ns::MAX / 8));
        Some(Self {
            user_ns: ns()?,
            nice_ns: ns()?,
            system_ns: ns()?,
            idle_ns: ns()?,
            iowait_ns: ns()?,
            irq_ns: ns()?,
            softirq_ns: ns()?,
            steal_ns: ns()?,
        })
    }
}

/// The sum over all CPUs.
pub fn total(text: &str) -> Option<CpuTimes> {
    CpuTimes::parse(text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace())
}

/// Each CPU that is online. A line that is cut off is left out.
pub fn by_cpu(text: &str) -> impl Iterator<Item = (u32, CpuTimes)> {
    let lines = text.lines().skip_while(|line| line.starts_with("cpu "));
    lines.map_while(|line| line.strip_prefix("cpu")).filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        Some((words.next()?.parse().ok()?, CpuTimes::parse(words)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: &str = "cpu  1000 20 300 9000 40 5 6 700 80 0\ncpu0 1 2 3 4 5 6 7 582 0 0\n\
                         cpu12 1 2 3 4 5 6 7 4822 9 9\nintr 5\ncpu13 1 2 3 4 5 6 7 8\n";

    #[test]
    fn the_first_line_is_the_sum() {
        let times = total(GUEST).unwrap();
        assert_eq!((times.busy_ns(), times.interrupt_ns()), (1331 * TICK_NS, 11 * TICK_NS));
        assert_eq!((times.iowait_ns, times.steal_ns), (40 * TICK_NS, 700 * TICK_NS));
        assert_eq!(total("cpu0 1 2 3 4 5 6 7 8\n"), None);
        assert_eq!(total("cpu  1 2 3\n"), None);
    }

    #[test]
    fn each_cpu_has_a_line_and_one_that_is_cut_off_has_none() {
        let steal =
            |text| by_cpu(text).map(|(cpu, times)| (cpu, times.steal_ns / TICK_NS)).collect::<Vec<_>>();
        assert_eq!(steal(GUEST), [(0, 582), (12, 4822)]);
        assert_eq!(steal("cpu3 1 2 3 4 5 6 7 8\ncpu4 1 2"), [(3, 8)]);
        assert_eq!(steal(""), []);
    }

    #[test]
    fn a_count_beyond_all_time_does_not_overflow() {
        let line = format!("cpu  {0} {0} {0} {0} {0} {0} {0} {0}\n", u64::MAX);
        assert_eq!(total(&line).unwrap().busy_ns(), Ns::MAX / 8 * 5);
    }
}
