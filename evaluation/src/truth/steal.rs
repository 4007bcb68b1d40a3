//! What other machines took of this one's CPUs (`/proc/stat`). The kernel leaves stolen time out of
//! what it charges to a thread; a trace of the scheduler takes it for time on a CPU.

use rustix::param::clock_ticks_per_second;
use std::fs;

/// From here on it is reported, in percent.
const PERCENT_MIN: f64 = 3.0;

/// The ticks of all CPUs together until some time, by what they did.
pub(crate) struct Ticks(Vec<u64>);

/// Of all CPUs in a time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Stolen {
    pub(crate) ns: u64,
    percent: f64,
}

impl Ticks {
    /// The first line of `/proc/stat`.
    pub(crate) fn now() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let words = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
        Self(words.map_while(|word| word.parse().ok()).collect())
    }

    /// What was stolen until then; nothing where the kernel does not say.
    pub(crate) fn stolen(&self, until: &Self) -> Stolen {
        // User, nice, system, idle, waiting, interrupts twice, stolen; what is beyond is in the
        // first.
        let gained = until.0.iter().zip(&self.0).take(8).map(|(after, before)| after.saturating_sub(*before));
        let gained: Vec<u64> = gained.collect();
        let (stolen, all) = (gained.get(7).copied().unwrap_or(0), gained.iter().sum::<u64>());
        let ns = stolen * 1_000_000_000 / clock_ticks_per_second().max(1);
        Stolen { ns, percent: stolen as f64 / all.max(1) as f64 * 100.0 }
    }
}

impl Stolen {
    /// Says so where it is much.
    pub(crate) fn note(self) -> Option<String> {
        (self.percent >= PERCENT_MIN).then(|| format!("{:.0} % of the CPUs' time was stolen", self.percent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_said_from_three_percent_on() {
        let none = Ticks(vec![0; 10]);
        let stolen = |ticks| none.stolen(&Ticks(vec![100, 0, 0, 900 - ticks, 0, 0, 0, ticks, 77, 0]));
        assert_eq!(stolen(29).note(), None);
        assert_eq!(stolen(30).note().unwrap(), "3 % of the CPUs' time was stolen");
        assert_eq!(stolen(30).ns, 30_000_000_000 / clock_ticks_per_second());
        assert_eq!(Ticks(Vec::new()).stolen(&Ticks(Vec::new())), Stolen::default());
    }
}
