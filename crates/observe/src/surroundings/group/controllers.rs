//! What the files of control groups say of limits: versions 1 and 2, cgroups(7).

use model::limits::{CpuQuota, MemoryLimit};
use model::{Ns, Seen};
use rustix::param::page_size;
use std::path::{Path, PathBuf};

/// No memory limit in version 1: the largest multiple of a page. Less than a page below it, since
/// pages may be larger.
const NO_LIMIT_BYTES: u64 = i64::MAX as u64 - (1 << 20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where a controller has its groups, and the program's among them.
#[derive(Debug)]
pub(super) struct Hierarchy {
    version: Version,
    mounted: PathBuf,
    path: String,
}

/// The group whose limit counts.
#[derive(Debug, Clone)]
pub(super) struct Limited {
    version: Version,
    group: String,
    directory: PathBuf,
}

/// Whether a `/proc/PID/cgroup` is of a process that has ended: it is in the root of each
/// hierarchy, or its group is removed.
pub(super) fn is_of_a_dead_one(groups: &str) -> bool {
    groups.ends_with(" (deleted)") || groups.lines().all(|line| line.ends_with(":/"))
}

impl Hierarchy {
    /// That of a controller, by a `/proc/PID/cgroup`.
    pub(super) fn of(sys: &Path, groups: &str, controller: &str) -> Result<Self, String> {
        let top = sys.join("fs/cgroup");
        let lines = groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let mut unified = None;
        for (controllers, path) in lines {
            if controllers.split(',').any(|one| one == controller) {
                let mounts = [controllers, controller].map(|name| top.join(name));
                let mounted = mounts.into_iter().find(|mount| mount.exists());
                let mounted =
                    mounted.ok_or_else(|| format!("{}: {controller} is not mounted", top.display()))?;
                return Self::new(Version::One, mounted, path);
            }
            if controllers.is_empty() {
                unified = Some(path);
            }
        }
        let path = unified.ok_or_else(|| format!("it is in no cgroup of the controller {controller}"))?;
        let mounted = if top.join("cgroup.controllers").exists() { top } else { top.join("unified") };
        Self::new(Version::Two, mounted, path)
    }

    fn new(version: Version, mounted: PathBuf, path: &str) -> Result<Self, String> {
        if path.split('/').any(|name| name == "..") {
            return Err(format!("its cgroup {path} is outside of this cgroup namespace"));
        }
        Ok(Self { version, mounted, path: path.to_owned() })
    }

    /// The program's group, from the root.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The group and those above it. Where only a part of the hierarchy is mounted, as in a
    /// container, its root is the container's group.
    fn upwards(&self) -> Vec<Limited> {
        let below = |path: &str| self.mounted.join(path.trim_start_matches('/'));
        if !below(&self.path).exists() {
            let (version, group, directory) = (self.version, self.path.clone(), self.mounted.clone());
            return vec![Limited { version, group, directory }];
        }
        let all = Path::new(&self.path).ancestors();
        let group = |path: &Path| {
            let group = path.to_string_lossy().into_owned();
            Limited { version: self.version, directory: below(&group), group }
        };
        all.map(group).collect()
    }

    /// The directory of the outermost group with a CPU quota; none where there is none.
    pub(super) fn outermost_quota(&self) -> Result<Option<PathBuf>, String> {
        let mut outermost = None;
        for group in self.upwards() {
            if group.cpus()?.is_some() {
                outermost = Some(group.directory);
            }
        }
        Ok(outermost)
    }

    /// Whether a directory is the top of what can be seen of the hierarchy.
    pub(super) fn is_top(&self, directory: &Path) -> bool {
        directory == self.mounted
    }

    /// The group with the tightest limit, the nearest of equals; none where there is no limit.
    pub(super) fn tightest(&self, controller: &str) -> Result<Option<Limited>, String> {
        let mut tightest: Option<(f64, Limited)> = None;
        for group in self.upwards() {
            let limit =
                if controller == "cpu" { group.cpus()? } else { group.memory_limit()?.map(|max| max as f64) };
            if let Some(limit) = limit
                && tightest.as_ref().is_none_or(|(least, _)| limit < *least)
            {
                tightest = Some((limit, group));
            }
        }
        Ok(tightest.map(|(_, group)| group))
    }
}

impl Limited {
    /// A file's text; none where the group has no such file: the controller is not on there.
    fn text(&self, file: &str) -> Result<Option<String>, String> {
        match host::optional(&self.directory.join(file)) {
            Seen::Value(text) => Ok(Some(text)),
            Seen::Absent => Ok(None),
            Seen::Unseen(why) => Err(why),
        }
    }

    fn number(&self, file: &str) -> Result<Option<u64>, String> {
        Ok(self.text(file)?.and_then(|text| text.parse().ok()))
    }

    /// A figure of a file with one in each line.
    fn figure(&self, file: &str, name: &str) -> Result<u64, String> {
        let text = self.text(file)?.unwrap_or_default();
        let figure = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        figure.ok_or_else(|| format!("{} does not state {name}", self.directory.join(file).display()))
    }

    /// Quota and period; none where there is no quota.
    fn quota_and_period(&self) -> Result<Option<(Ns, Ns)>, String> {
        let us = |(quota, period): (u64, u64)| (quota.saturating_mul(1000), period.saturating_mul(1000));
        Ok(match self.version {
            Version::Two => {
                let text = self.text("cpu.max")?.unwrap_or_default();
                let read =
                    text.split_once(' ').map(|(quota, period)| (quota.parse().ok(), period.parse().ok()));
                match read {
                    Some((Some(quota), Some(period))) => Some(us((quota, period))),
                    _ => None,
                }
            }
            // -1, which is no such number, is no quota.
            Version::One => self.number("cpu.cfs_quota_us")?.zip(self.number("cpu.cfs_period_us")?).map(us),
        })
    }

    fn cpus(&self) -> Result<Option<f64>, String> {
        Ok(self.quota_and_period()?.map(|(quota, period)| quota as f64 / period.max(1) as f64))
    }

    /// Whether both are the same group.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.directory == other.directory
    }

    /// In bytes; none where there is no limit.
    pub(super) fn memory_limit(&self) -> Result<Option<u64>, String> {
        Ok(match self.version {
            Version::Two => self.number("memory.max")?.into_iter().chain(self.number("memory.high")?).min(),
            Version::One => self.number("memory.limit_in_bytes")?.filter(|bytes| *bytes < NO_LIMIT_BYTES),
        })
    }

    /// The quota and its counters.
    pub(super) fn quota(&self) -> Result<CpuQuota, String> {
        let (quota_ns, period_ns) = self.quota_and_period()?.ok_or_else(|| self.no_more("CPU quota"))?;
        let throttled_ns = match self.version {
            Version::Two => self.figure("cpu.stat", "throttled_usec")?.saturating_mul(1000),
            Version::One => self.figure("cpu.stat", "throttled_time")?,
        };
        Ok(CpuQuota {
            group: self.group.clone(),
            quota_ns,
            period_ns,
            periods: self.figure("cpu.stat", "nr_periods")?,
            throttled_periods: self.figure("cpu.stat", "nr_throttled")?,
            throttled_ns,
        })
    }

    /// The memory limit and its counters.
    pub(super) fn memory(&self) -> Result<MemoryLimit, String> {
        let limit_bytes = self.memory_limit()?.ok_or_else(|| self.no_more("memory limit"))?;
        let used = match self.version {
            Version::Two => "memory.current",
            Version::One => "memory.usage_in_bytes",
        };
        let reached = match self.version {
            Version::Two => self.figure("memory.events", "max")? + self.figure("memory.events", "high")?,
            Version::One => self.number("memory.failcnt")?.unwrap_or(0),
        };
        let used_bytes = self.number(used)?.ok_or_else(|| self.no_more(used))?;
        Ok(MemoryLimit { group: self.group.clone(), limit_bytes, used_bytes, reached })
    }

    /// What came back after it had been taken away: of this group and those below it.
    pub(super) fn refaulted_bytes(&self) -> Result<u64, String> {
        let below = if self.version == Version::One { "total_" } else { "" };
        let of = |kind: &str| self.figure("memory.stat", &format!("{below}workingset_refault{kind}"));
        // Kernels before 5.9 do not tell pages of files from others.
        let pages = of("_file").and_then(|file| Ok(file + of("_anon")?)).or_else(|_| of(""))?;
        Ok(pages.saturating_mul(page_size() as u64))
    }

    fn no_more(&self, what: &str) -> String {
        format!("{} has no {what} any more", self.directory.display())
    }
}
