//! A control group with a CPU quota, made for one program, and what the kernel says of it.
//!
//! Both versions of control groups are known; without a writable controller there is no quota, and
//! the program is not run.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Microseconds of CPU time in each period.
const QUOTA_US: u32 = 20_000;
const PERIOD_US: u32 = 100_000;

const VERSION_1: &str = "/sys/fs/cgroup/cpu";
const VERSION_2: &str = "/sys/fs/cgroup";

/// A group, removed when this goes.
pub(crate) struct Quota(PathBuf);

impl Quota {
    /// Makes it.
    ///
    /// # Errors
    /// When there is no CPU controller, or it is not to be written.
    pub(crate) fn make() -> Result<Self> {
        let (quota, first) = Self::of("truth")?;
        if first {
            quota.write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
            quota.write("cpu.cfs_quota_us", &QUOTA_US.to_string())?;
        } else {
            quota.write("cpu.max", &format!("{QUOTA_US} {PERIOD_US}"))?;
        }
        Ok(quota)
    }

    /// A group without a limit.
    ///
    /// # Errors
    /// As [`Quota::make`].
    pub(crate) fn open() -> Result<Self> {
        Self::of("open").map(|(group, _)| group)
    }

    /// A new group, and whether the controller is of version 1.
    fn of(name: &str) -> Result<(Self, bool)> {
        let (above, first) = controller().context("no CPU controller is mounted")?;
        let group = Self(above.join(format!("dwell-{name}-{}", std::process::id())));
        fs::create_dir(&group.0).with_context(|| format!("cannot create {}", group.0.display()))?;
        Ok((group, first))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The file to which a process writes its PID to be in the group.
    pub(crate) fn entry(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }

    /// The last part of its path.
    pub(crate) fn name(&self) -> String {
        self.0.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// For how long its threads were throttled until now.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub(crate) fn throttled_ns(&self) -> Result<u64> {
        let text = fs::read_to_string(self.0.join("cpu.stat")).context("cannot read cpu.stat")?;
        throttled(&text).context("cpu.stat has no time of throttling")
    }

    fn write(&self, file: &str, value: &str) -> Result<()> {
        fs::write(self.0.join(file), value).with_context(|| format!("cannot write {file} of a control group"))
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Its processes have ended; one that did not keeps it, which shows.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Where a CPU controller is, and whether it is of version 1.
pub(crate) fn controller() -> Option<(&'static Path, bool)> {
    let (first, second) = (Path::new(VERSION_1), Path::new(VERSION_2));
    if first.join("cpu.cfs_quota_us").exists() || first.join("cpu.shares").exists() {
        return Some((first, true));
    }
    // Children have what is listed here.
    let given = fs::read_to_string(second.join("cgroup.subtree_control")).ok()?;
    given.split_whitespace().any(|name| name == "cpu").then_some((second, false))
}

fn throttled(text: &str) -> Option<u64> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
    value("throttled_time ").or_else(|| Some(value("throttled_usec ")? * 1_000))
}

#[cfg(test)]
mod tests {
    use super::throttled;

    #[test]
    fn both_versions_say_for_how_long() {
        assert_eq!(throttled("nr_periods 9\nnr_throttled 8\nthrottled_time 640000000\n"), Some(640_000_000));
        assert_eq!(throttled("usage_usec 5\nthrottled_usec 640000\nnr_bursts 0\n"), Some(640_000_000));
        assert_eq!(throttled("usage_usec 5\n"), None);
    }
}
