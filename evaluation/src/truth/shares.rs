//! The second oracle: samples of the CPUs' clocks, from which follows how much of a tree's time on
//! CPUs was its own code and how much was the kernel's.

use super::sched::{Tid, nanoseconds};
use anyhow::Result;
use std::collections::BTreeSet;
use std::io::BufRead;

/// As many samples a second on each CPU: a number that shares no factor with timers of programs.
pub(crate) const SAMPLES_HZ: u64 = 997;
const PERIOD_NS: u64 = 1_000_000_000 / SAMPLES_HZ;

/// The least that say anything.
const SAMPLES_MIN: u64 = 100;

/// Addresses from here on are the kernel's, on x86_64 and aarch64 alike.
const KERNEL_FROM: u64 = 1 << 63;

/// Samples of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Samples {
    pub(crate) user: u64,
    pub(crate) kernel: u64,
}

impl Samples {
    /// Reads the text of `perf script -F pid,tid,time,ip`: the samples of these threads in this
    /// time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn read(text: impl BufRead, tree: &BTreeSet<Tid>, from: u64, to: u64) -> Result<Self> {
        let mut samples = Self::default();
        for line in text.split(b'\n') {
            let line = line?;
            let Some((tid, at_ns, address)) = sample(&String::from_utf8_lossy(&line)) else { continue };
            if !tree.contains(&tid) || at_ns < from || at_ns > to {
                continue;
            }
            if address < KERNEL_FROM {
                samples.user += 1;
            } else {
                samples.kernel += 1;
            }
        }
        Ok(samples)
    }

    /// Percent of so much charged time that is user code, at the least. Code of the kernel that
    /// runs with interrupts off, above all where it switches, gets no samples: one that is due
    /// meanwhile is taken when they are on again, and counts for the thread that runs by then, or
    /// for the idle CPU. User code has them on, so no time of it is missed: what was charged
    /// beyond the samples is the kernel's.
    pub(crate) fn user_percent_of(self, charged_ns: f64) -> Option<f64> {
        let all_ns = ((self.user + self.kernel) * PERIOD_NS) as f64;
        let share = (self.user * PERIOD_NS) as f64 / all_ns.max(charged_ns);
        (self.user + self.kernel >= SAMPLES_MIN).then_some(share * 100.0)
    }

    /// Percent of the time on CPUs that is user code, with half the width of its 95 % interval;
    /// none from too few samples.
    pub(crate) fn user_percent(self) -> Option<(f64, f64)> {
        let all = self.user + self.kernel;
        let share = self.user as f64 / all as f64;
        let half = 1.96 * (share * (1.0 - share) / all as f64).sqrt();
        (all >= SAMPLES_MIN).then_some((share * 100.0, half * 100.0))
    }
}

/// `  12/13    7.000000123:  ffffffff81000000`
fn sample(line: &str) -> Option<(Tid, u64, u64)> {
    let mut words = line.split_whitespace();
    let tid = words.next()?.split_once('/')?.1.parse().ok()?;
    let at_ns = nanoseconds(words.next()?.strip_suffix(':')?)?;
    Some((tid, at_ns, u64::from_str_radix(words.next_back()?, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "  5/6  1.000000100:  ffffffff81000000\n\
                        5/6  1.000000200:      55d0c0de0000\n\
                        7/7  1.000000300:      55d0c0de0000\n\
                        5/6  1.000009000:      55d0c0de0000\n\n";

    #[test]
    fn only_samples_of_the_tree_in_its_time_count() {
        let samples =
            Samples::read(TEXT.as_bytes(), &BTreeSet::from([6]), 1_000_000_000, 1_000_001_000).unwrap();
        assert_eq!(samples, Samples { user: 1, kernel: 1 });
    }

    #[test]
    fn what_was_charged_beyond_the_samples_is_the_kernels() {
        let samples = Samples { user: 890, kernel: 107 };
        let percent = |charged_ns| samples.user_percent_of(charged_ns).unwrap().round();
        assert_eq!((percent(0.5e9), percent(1.0e9), percent(1.1e9)), (89.0, 89.0, 81.0));
        assert_eq!(Samples { user: 90, kernel: 9 }.user_percent_of(1e9), None);
    }

    #[test]
    fn few_samples_say_nothing_and_many_have_an_interval() {
        assert_eq!(Samples { user: 90, kernel: 9 }.user_percent(), None);
        let (percent, half) = Samples { user: 500, kernel: 500 }.user_percent().unwrap();
        assert!((percent - 50.0).abs() < 1e-9 && (half - 3.099).abs() < 0.001, "{percent} {half}");
    }
}
