//! Steal, counted by the kernel for each CPU in `/proc/stat`: proc(5).
//!
//! No event reports it. The counters are read every few milliseconds, so that steal around a late
//! wake-up can be distinguished from steal at other times.

use host::stat;
use model::Ns;
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The shortest interval between readings.
const APART_NS: Ns = 10_000_000;
/// The number of readings that are kept: one second's.
const READINGS: usize = 100;
/// The lines of CPUs come first; each is shorter than 200 bytes.
const LINE_BYTES_MAX: usize = 200;

/// The readings of the last second.
pub(super) struct Steal {
    /// The file, or why it cannot be opened.
    file: Result<File, String>,
    text: Vec<u8>,
    readings: VecDeque<(Ns, Vec<(u32, Ns)>)>,
}

impl Steal {
    /// `cpus`: the number of CPUs of the host.
    pub(super) fn open(cpus: u32) -> Self {
        let file = File::open(stat::FILE).map_err(|error| format!("cannot open {}: {error}", stat::FILE));
        let text = vec![0; (cpus as usize + 1) * LINE_BYTES_MAX];
        Self { file, text, readings: VecDeque::with_capacity(READINGS + 1) }
    }

    /// Reads, unless the last reading is recent.
    pub(super) fn look(&mut self, now: Ns) {
        if self.readings.back().is_some_and(|(at, _)| *at + APART_NS > now) {
            return;
        }
        let Ok(steal) = self.read() else { return };
        self.readings.push_back((now, steal));
        if self.readings.len() > READINGS {
            self.readings.pop_front();
        }
    }

    /// Steal since boot, by CPU.
    fn read(&mut self) -> Result<Vec<(u32, Ns)>, String> {
        let file = self.file.as_ref().map_err(Clone::clone)?;
        let len = file.read_at(&mut self.text, 0);
        let len = len.map_err(|error| format!("cannot read {}: {error}", stat::FILE))?;
        Ok(stat::by_cpu(&String::from_utf8_lossy(&self.text[..len]))
            .map(|(cpu, times)| (cpu, times.steal_ns))
            .collect())
    }

    /// Steal from the last reading before `from` until now, or from the first that is kept: then it
    /// may be too little.
    ///
    /// # Errors
    /// Why it is not known: then there may have been steal.
    pub(super) fn since(&mut self, cpu: u32, from: Ns) -> Result<Ns, String> {
        // Not kept: consecutive late wake-ups would replace the readings that are needed for them.
        let after = self.read()?;
        let of = |steal: &[(u32, Ns)]| steal.iter().find(|(of, _)| *of == cpu).map(|(_, ns)| *ns);
        let earlier = self.readings.iter().rev().find(|(at, _)| *at <= from).or(self.readings.front());
        let before = earlier.and_then(|(_, before)| of(before));
        match (of(&after), before) {
            (Some(after), Some(before)) => Ok(after.saturating_sub(before)),
            _ => Err(format!("{} has no steal of CPU {cpu}", stat::FILE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_was_counted_around_a_moment_is_told_from_what_was_before() {
        let mut file = tempfile::tempfile().unwrap();
        let mut steal = Steal { file: Ok(file.try_clone().unwrap()), ..Steal::open(2) };
        for (now, ticks) in [(0, 5), (20, 7), (40, 7)] {
            file.set_len(0).unwrap();
            file.write_all_at(format!("cpu1 1 2 3 4 5 6 7 {ticks} 0 0\n").as_bytes(), 0).unwrap();
            file.flush().unwrap();
            steal.look(now * 1_000_000);
        }
        file.write_all_at(b"cpu1 1 2 3 4 5 6 7 9 0 0\n", 0).unwrap();
        assert_eq!(steal.since(1, 50_000_000), Ok(20_000_000));
        assert_eq!(steal.since(1, 10_000_000), Ok(40_000_000));
        assert_eq!(steal.since(0, 10_000_000), Err("/proc/stat has no steal of CPU 0".to_owned()));
        steal.readings.pop_front();
        assert_eq!(steal.since(1, 10_000_000), Ok(20_000_000), "what is kept begins later");
    }

    #[test]
    fn steal_that_cannot_be_read_is_not_none() {
        let mut steal = Steal { file: Err("cannot open it".to_owned()), ..Steal::open(1) };
        steal.look(1);
        assert_eq!(steal.since(0, 1), Err("cannot open it".to_owned()));
    }

    #[test]
    fn this_host_has_readings_for_each_processor() {
        let mut steal = Steal::open(host::cpus(host::here()).iter().max().unwrap() + 1);
        steal.look(1);
        assert!(host::cpus(host::here()).iter().all(|cpu| steal.since(*cpu, 1).is_ok()));
    }
}
