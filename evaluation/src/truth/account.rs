//! The kernel's accounting of CPU time: a control group made for one program, and what is charged
//! to it. Neither dwell nor a trace has a part in it.
//!
//! Both versions of control groups are known. The group is read now and then while dwell watches:
//! where a window lies is known only afterwards.

use super::sched::Tid;
use super::tree;
use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const VERSION_1: &str = "/sys/fs/cgroup/cpuacct";
/// Where it is mounted alone, and beside version 1.
const VERSION_2: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// What has the CPU time, by version.
const USAGE: [&str; 2] = ["cpuacct.usage", "cpu.stat"];

/// How often it is read.
const READ_EACH: Duration = Duration::from_millis(20);

/// What a reading takes at most: else when it was is not known.
const READING_NS_MAX: u64 = 1_000_000;

/// Processes that were killed are gone after this.
const END_WITHIN: Duration = Duration::from_secs(2);

/// How often the processes of a tree are moved: those may be missed that are started meanwhile.
const MOVES: usize = 3;

/// A group, removed when this goes.
pub(crate) struct Account {
    group: PathBuf,
    first: bool,
}

impl Account {
    /// Makes it.
    ///
    /// # Errors
    /// When no control groups are mounted, or none can be made.
    pub(crate) fn make() -> Result<Self> {
        let first = accounts(Path::new(VERSION_1)).then_some((VERSION_1, true));
        let has_groups = |path: &&str| Path::new(path).join("cgroup.controllers").exists();
        let second = || VERSION_2.into_iter().find(has_groups).map(|path| (path, false));
        let (above, first) = first.or_else(second).context("no control groups account for CPU time")?;
        // Not the name of a group with a quota, which may be beside it.
        let group = Path::new(above).join(format!("dwell-truth-time-{}", std::process::id()));
        fs::create_dir(&group).with_context(|| format!("cannot create {}", group.display()))?;
        Ok(Self { group, first })
    }

    /// This command, in the group: a shell enters it and becomes the program.
    pub(crate) fn entering(&self, words: Vec<String>) -> Vec<String> {
        // A thread that moves itself alone does not wait until all CPUs know; version 2 has no such
        // way.
        let file = self.group.join(if self.first { "tasks" } else { "cgroup.procs" });
        let enter = format!("echo 0 > '{}'; exec \"$@\"", file.display());
        let shell = ["sh", "-c", &enter, "sh"].map(str::to_owned);
        shell.into_iter().chain(words).collect()
    }

    /// Moves a process into the group, with all below it; what they start will be there as well.
    ///
    /// # Errors
    /// When the process itself cannot be moved. Others may have ended.
    pub(crate) fn take(&self, root: Tid) -> Result<()> {
        let entry = self.group.join("cgroup.procs");
        fs::write(&entry, root.to_string()).context("cannot move a process into a control group")?;
        for _ in 1..MOVES {
            for process in tree::processes(root) {
                let _ = fs::write(&entry, process.to_string());
            }
        }
        Ok(())
    }

    /// Reads it from now on.
    pub(crate) fn read(&self) -> Reading {
        let (end, ended) = channel();
        let group = self.group.clone();
        let reader = thread::spawn(move || {
            let mut charged = Vec::new();
            loop {
                charged.extend(reading(&group));
                if ended.recv_timeout(READ_EACH) != Err(RecvTimeoutError::Timeout) {
                    // The last one counts, however long it takes.
                    charged.extend(usage_ns(&group).map(|ns| (now_ns(), ns)));
                    return Charged(charged);
                }
            }
        });
        Reading { end, reader }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        // Its processes are ending; one that does not keeps it, which shows.
        let begun = Instant::now();
        while fs::remove_dir(&self.group).is_err() && begun.elapsed() < END_WITHIN {
            thread::sleep(READ_EACH);
        }
    }
}

/// Whether the kernel tells the CPU time of this group.
pub(crate) fn accounts(group: &Path) -> bool {
    usage_ns(group).is_some()
}

/// A group that is read.
pub(crate) struct Reading {
    end: Sender<()>,
    reader: JoinHandle<Charged>,
}

impl Reading {
    /// Reads it for the last time.
    pub(crate) fn end(self) -> Charged {
        // It waits for this; if it has gone, it charged nothing.
        let _ = self.end.send(());
        self.reader.join().unwrap_or_default()
    }
}

/// What was charged to a group until when, by `CLOCK_MONOTONIC`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Charged(Vec<(u64, u64)>);

impl Charged {
    /// All until a program had ended, as it was read first after that.
    pub(crate) fn until_end(&self, end_ns: u64) -> Option<u64> {
        self.0.iter().find(|(at_ns, _)| *at_ns >= end_ns).map(|(_, ns)| *ns)
    }

    /// In this time, of which the group was read before and after.
    pub(crate) fn between(&self, from_ns: u64, to_ns: u64) -> Option<u64> {
        Some(self.at(to_ns)?.saturating_sub(self.at(from_ns)?))
    }

    /// Until then, as if it had been charged evenly between two readings.
    fn at(&self, ns: u64) -> Option<u64> {
        let next = self.0.partition_point(|(at_ns, _)| *at_ns < ns);
        let (after_at, after) = *self.0.get(next)?;
        let (before_at, before) = *self.0.get(next.checked_sub(1)?)?;
        let part = (ns - before_at) as f64 / (after_at - before_at).max(1) as f64;
        Some(before + ((after.saturating_sub(before)) as f64 * part) as u64)
    }
}

fn reading(group: &Path) -> Option<(u64, u64)> {
    let before = now_ns();
    let ns = usage_ns(group)?;
    let after = now_ns();
    (after - before < READING_NS_MAX).then_some((before.midpoint(after), ns))
}

fn usage_ns(group: &Path) -> Option<u64> {
    USAGE.iter().find_map(|file| usage(&fs::read_to_string(group.join(file)).ok()?))
}

/// Of either file.
fn usage(text: &str) -> Option<u64> {
    let microseconds = |line: &str| line.strip_prefix("usage_usec ")?.trim().parse::<u64>().ok();
    text.trim().parse().ok().or_else(|| Some(text.lines().find_map(microseconds)? * 1_000))
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_say_how_much() {
        assert_eq!(usage("1234567\n"), Some(1_234_567));
        assert_eq!(usage("usage_usec 640\nuser_usec 600\n"), Some(640_000));
        assert_eq!(usage("nr_periods 9\nthrottled_time 640\n"), None);
    }

    #[test]
    fn a_program_is_charged_all_until_its_end_and_no_more() {
        let charged = Charged(vec![(10, 0), (20, 7), (30, 9), (40, 15)]);
        assert_eq!(charged.until_end(25), Some(9));
        assert_eq!(charged.until_end(41), None);
    }

    #[test]
    fn a_window_is_charged_what_is_between_its_ends() {
        let charged = Charged(vec![(10, 100), (20, 200), (30, 200), (40, 260)]);
        assert_eq!(charged.between(15, 40), Some(110));
        assert_eq!(charged.between(25, 35), Some(30));
        // It was not read before or after.
        assert_eq!((charged.between(5, 30), charged.between(20, 41)), (None, None));
        assert_eq!(Charged::default().between(1, 2), None);
    }

    #[test]
    fn a_command_enters_the_group_and_becomes_the_program() {
        let account = Account { group: PathBuf::from("/not/there"), first: true };
        let words = account.entering(vec!["it".to_owned(), "x y".to_owned()]);
        let expected = ["sh", "-c", "echo 0 > '/not/there/tasks'; exec \"$@\"", "sh", "it", "x y"];
        assert_eq!(words, expected);
    }
}
