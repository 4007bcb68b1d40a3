//! Real-time threads that leave nothing to others: seen by themselves, since nobody else may get to see it.

use model::Ns;

/// So long a look is, or longer.
const LOOK_NS: Ns = 1_000_000_000;
/// So many in a row: the pause of a hypervisor or of the firmware may look like one.
const LOOKS: u32 = 3;

/// Judges by processor time: a thread that was stopped, or kept waiting, missed periods and took nothing.
#[derive(Debug)]
pub(crate) struct Guard {
    since_ns: Ns,
    cpu_ns: Ns,
    cycles: u64,
    looks: u32,
}

impl Guard {
    /// For a thread that has taken so much processor time before it begins.
    pub(crate) fn new(begun_ns: Ns, cpu_ns: Ns) -> Self {
        Self { since_ns: begun_ns, cpu_ns, cycles: 0, looks: 0 }
    }

    /// A period was missed. Gives what a wake-up takes, once the thread misses periods in every look although it has more than nine tenths
    /// of its processor. The processor time is asked for when a look is over, no more than once in its time.
    #[cold]
    pub(crate) fn missed(&mut self, now_ns: Ns, cycles: u64, cpu_ns: impl FnOnce() -> Ns) -> Option<Ns> {
        let took_ns = now_ns.saturating_sub(self.since_ns);
        if took_ns < LOOK_NS {
            return None;
        }
        let cpu_ns = cpu_ns();
        let used_ns = cpu_ns.saturating_sub(self.cpu_ns);
        let cost_ns = used_ns / (cycles - self.cycles).max(1);
        let looks = if used_ns > took_ns / 10 * 9 { self.looks + 1 } else { 0 };
        *self = Self { since_ns: now_ns, cpu_ns, cycles, looks };
        (looks >= LOOKS).then_some(cost_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    /// What it says of a second each in which the thread took so many milliseconds, in wake-ups of 20 us.
    fn said(took_ms: &[u64]) -> Vec<Option<Ns>> {
        let (mut guard, mut cpu_ns, mut cycles) = (Guard::new(0, 0), 0, 0);
        let second = |(at, ms): (usize, &u64)| {
            cpu_ns += ms * MS;
            cycles += ms * 50;
            let now_ns = (at as Ns + 1) * LOOK_NS;
            assert_eq!(guard.missed(now_ns - 1, cycles, || panic!("asked too early")), None);
            guard.missed(now_ns, cycles, || cpu_ns)
        };
        took_ms.iter().enumerate().map(second).collect()
    }

    #[test]
    fn a_thread_that_takes_all_and_misses_periods_all_the_same_is_seen() {
        assert_eq!(said(&[100, 990, 999, 950]), [None, None, None, Some(20_000)]);
    }

    #[test]
    fn who_is_stopped_or_strikes_a_pause_is_not_meant() {
        assert_eq!(said(&[0, 1, 0, 1]), [None; 4]);
        assert_eq!(said(&[1_000, 1_000, 500, 1_000, 1_000]), [None; 5]);
    }

    #[test]
    fn a_long_time_without_a_miss_is_one_look() {
        let mut guard = Guard::new(0, 0);
        for hour in 1..=5 {
            let now_ns = hour * 3_600 * LOOK_NS;
            assert_eq!(guard.missed(now_ns, hour, || now_ns / 2), None);
        }
    }
}
