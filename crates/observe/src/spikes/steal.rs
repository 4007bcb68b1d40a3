//! Time that a hypervisor gave to others, as the kernel counts it by processor in `/proc/stat`: proc(5).
//!
//! No event tells of it. The counts are read every few milliseconds, so that what was counted around a late wake-up can be
//! told from what was counted at other times.

use model::Ns;
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The count goes by `USER_HZ`.
const TICK_NS: Ns = 10_000_000;
/// Not read more often.
const APART_NS: Ns = 10_000_000;
/// Readings that are kept: a second's.
const READINGS: usize = 100;
/// The lines of processors come first; each has less than 200 bytes.
const LINE_BYTES_MAX: usize = 200;

/// The readings of the last second.
pub(super) struct Steal {
    file: Option<File>,
    text: Vec<u8>,
    readings: VecDeque<(Ns, Vec<(u32, u64)>)>,
}

impl Steal {
    /// `cpus`: how many the host has.
    pub(super) fn open(cpus: u32) -> Self {
        let text = vec![0; (cpus as usize + 1) * LINE_BYTES_MAX];
        Self { file: File::open("/proc/stat").ok(), text, readings: VecDeque::with_capacity(READINGS + 1) }
    }

    /// Reads, unless that was done a moment ago.
    pub(super) fn look(&mut self, now: Ns) {
        if self.readings.back().is_some_and(|(at, _)| *at + APART_NS > now) {
            return;
        }
        let Some(ticks) = self.read() else { return };
        self.readings.push_back((now, ticks));
        if self.readings.len() > READINGS {
            self.readings.pop_front();
        }
    }

    fn read(&mut self) -> Option<Vec<(u32, u64)>> {
        let len = self.file.as_ref()?.read_at(&mut self.text, 0).ok()?;
        Some(parse(&self.text[..len]))
    }

    /// What was counted from the last reading before `from` until now, or from the first that is kept: the less then. None where
    /// there is no reading.
    pub(super) fn since(&mut self, cpu: u32, from: Ns) -> Option<Ns> {
        // Not kept: wake-ups that are late one after another would push the readings out that tell of them.
        let after = self.read()?;
        let of = |ticks: &[(u32, u64)]| ticks.iter().find(|(of, _)| *of == cpu).map(|(_, ticks)| *ticks);
        let earlier = self.readings.iter().rev().find(|(at, _)| *at <= from);
        let (_, before) = earlier.or(self.readings.front())?;
        Some(of(&after)?.saturating_sub(of(before)?) * TICK_NS)
    }
}

/// The steal column by processor.
fn parse(text: &[u8]) -> Vec<(u32, u64)> {
    let text = String::from_utf8_lossy(text);
    let line = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split(' ');
        let cpu = words.next()?.parse().ok()?;
        Some((cpu, words.nth(7)?.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn steal_is_the_eighth_column_of_a_processors_line() {
        let text = b"cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 582 0 0\ncpu12 1 2 3 4 5 6 7 4822 9 9\nintr 5\ncpu13 1 2";
        assert_eq!(parse(text), [(0, 582), (12, 4822)]);
    }

    #[test]
    fn what_was_counted_around_a_moment_is_told_from_what_was_before() {
        let mut file = tempfile::tempfile().unwrap();
        let mut steal = Steal { file: Some(file.try_clone().unwrap()), ..Steal::open(2) };
        for (now, ticks) in [(0, 5), (20, 7), (40, 7)] {
            file.set_len(0).unwrap();
            file.write_all_at(format!("cpu1 1 2 3 4 5 6 7 {ticks} 0 0\n").as_bytes(), 0).unwrap();
            file.flush().unwrap();
            steal.look(now * 1_000_000);
        }
        file.write_all_at(b"cpu1 1 2 3 4 5 6 7 9 0 0\n", 0).unwrap();
        assert_eq!(steal.since(1, 50_000_000), Some(20_000_000));
        assert_eq!(steal.since(1, 10_000_000), Some(40_000_000));
        assert_eq!(steal.since(0, 10_000_000), None);
        steal.readings.pop_front();
        assert_eq!(steal.since(1, 10_000_000), Some(20_000_000), "what is kept begins later");
    }

    #[test]
    fn this_host_has_readings_for_each_processor() {
        let mut steal = Steal::open(crate::host::cpus(crate::host::here()).iter().max().unwrap() + 1);
        steal.look(1);
        assert!(crate::host::cpus(crate::host::here()).iter().all(|cpu| steal.since(*cpu, 1).is_some()));
    }
}
