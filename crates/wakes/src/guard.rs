//! Detects a real-time thread that uses up its CPU. The thread checks itself, since no other thread
//! may get to run.

use model::Ns;

/// The least length of a check interval.
const CHECK_NS: Ns = 1_000_000_000;
/// Busy intervals in a row: a pause of the hypervisor or the firmware may look like one.
const CHECKS: u32 = 3;

/// Decides by CPU time: a thread that was stopped or had to wait misses periods without using any.
#[derive(Debug)]
pub(crate) struct Guard {
    since_ns: Ns,
    cpu_ns: Ns,
    cycles: u64,
    busy: u32,
}

impl Guard {
    /// For a thread that has used `cpu_ns` of CPU time before it starts.
    pub(crate) fn new(begun_ns: Ns, cpu_ns: Ns) -> Self {
        Self { since_ns: begun_ns, cpu_ns, cycles: 0, busy: 0 }
    }

    /// Called at a missed period. Gives the CPU time of a wake-up once the thread misses periods in
    /// several intervals in a row in which it used over 90 % of its CPU. Reads the CPU time at most
    /// once per interval.
    #[cold]
    pub(crate) fn missed(&mut self, now_ns: Ns, cycles: u64, cpu_ns: impl FnOnce() -> Ns) -> Option<Ns> {
        let took_ns = now_ns.saturating_sub(self.since_ns);
        if took_ns < CHECK_NS {
            return None;
        }
        let cpu_ns = cpu_ns();
        let used_ns = cpu_ns.saturating_sub(self.cpu_ns);
        let cost_ns = used_ns / (cycles - self.cycles).max(1);
        let busy = if used_ns > took_ns / 10 * 9 { self.busy + 1 } else { 0 };
        *self = Self { since_ns: now_ns, cpu_ns, cycles, busy };
        (busy >= CHECKS).then_some(cost_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    /// The results for seconds in which the thread used these milliseconds, in wake-ups of 20 us.
    fn results(took_ms: &[u64]) -> Vec<Option<Ns>> {
        let (mut guard, mut cpu_ns, mut cycles) = (Guard::new(0, 0), 0, 0);
        let second = |(at, ms): (usize, &u64)| {
            cpu_ns += ms * MS;
            cycles += ms * 50;
            let now_ns = (at as Ns + 1) * CHECK_NS;
            assert_eq!(guard.missed(now_ns - 1, cycles, || panic!("asked too early")), None);
            guard.missed(now_ns, cycles, || cpu_ns)
        };
        took_ms.iter().enumerate().map(second).collect()
    }

    #[test]
    fn a_thread_that_uses_its_cpu_and_still_misses_periods_is_detected() {
        assert_eq!(results(&[100, 990, 999, 950]), [None, None, None, Some(20_000)]);
    }

    #[test]
    fn a_stopped_thread_or_one_idle_interval_is_not_an_overrun() {
        assert_eq!(results(&[0, 1, 0, 1]), [None; 4]);
        assert_eq!(results(&[1_000, 1_000, 500, 1_000, 1_000]), [None; 5]);
    }

    #[test]
    fn a_long_time_without_a_miss_is_one_interval() {
        let mut guard = Guard::new(0, 0);
        for hour in 1..=5 {
            let now_ns = hour * 3_600 * CHECK_NS;
            assert_eq!(guard.missed(now_ns, hour, || now_ns / 2), None);
        }
    }
}
