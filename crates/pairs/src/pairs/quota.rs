//! A process in a control group that may use two fifths of a CPU, or as much as there is.

use crate::work::{child, compute, wait};
use crate::{Need, Pair, Run, Setting, Size, Way};
use std::path::{Path, PathBuf};
use std::{fs, io, process};

pub(super) static PAIR: Pair = Pair {
    name: "quota",
    title: "a process that may use two fifths of a CPU, or a whole one",
    cause: Some("cpu-throttling"),
    size: Size { unit: "million rounds", usual: 300, least: 150, most: 600 },
    ways: &[
        Way { name: "limited", what: "8 ms of each 20 ms", run: Run::Native(limited) },
        Way { name: "free", what: "no quota", run: Run::Native(free) },
    ],
    source: include_str!("quota.rs"),
    needs: &[Need::Root],
    lesson: "A quota (cpu.max, a container's CPU limit) is given for each period: when it is used up, all threads of the \
             group stand still until the next one begins, however idle the machine is. The program's own code is not \
             slow, and a profile of it shows nothing. More threads use the quota up sooner.",
    writing: None,
};

fn limited(setting: &Setting) -> io::Result<()> {
    let group = Group::new("8000")?;
    wait(child(|| group.compute(setting.size))?)
}

fn free(setting: &Setting) -> io::Result<()> {
    let group = Group::new(UNLIMITED)?;
    wait(child(|| group.compute(setting.size))?)
}

/// How names of groups begin; what follows is the PID of who made it.
const NAME: &str = "dwell-lab-";

/// No quota, in the words of the first version of control groups.
const UNLIMITED: &str = "-1";

/// A control group, removed at the end.
struct Group(PathBuf);

impl Group {
    /// With a quota of so many microseconds of each 20 ms.
    fn new(quota_us: &str) -> io::Result<Self> {
        let first = Path::new("/sys/fs/cgroup/cpu");
        let (within, is_first) =
            if first.is_dir() { (first, true) } else { (Path::new("/sys/fs/cgroup"), false) };
        remove_left(within)?;
        let group = Self(within.join(format!("{NAME}{}", process::id())));
        fs::create_dir(&group.0)?;
        if is_first {
            fs::write(group.0.join("cpu.cfs_period_us"), "20000")?;
            fs::write(group.0.join("cpu.cfs_quota_us"), quota_us)?;
        } else {
            let quota_us = if quota_us == UNLIMITED { "max" } else { quota_us };
            fs::write(group.0.join("cpu.max"), format!("{quota_us} 20000"))?;
        }
        Ok(group)
    }

    /// In the group, by this process; one that may not enter has no quota, and the pair shows that.
    fn compute(&self, million_rounds: u64) {
        let _ = fs::write(self.0.join("cgroup.procs"), process::id().to_string());
        compute(million_rounds * 1_000_000);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Groups of programs that were killed.
fn remove_left(within: &Path) -> io::Result<()> {
    for entry in fs::read_dir(within)? {
        let entry = entry?;
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(NAME));
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
    Ok(())
}
