//! A control group that may use a fifth of a CPU.

use std::fs;
use std::path::{Path, PathBuf};

/// It is gone with the test.
pub(crate) struct Quota(PathBuf);

impl Quota {
    /// 4 ms of each 20 ms.
    pub(crate) fn new() -> Self {
        let name = format!("dwell-quota-{}", std::process::id());
        let (first, second) =
            (Path::new("/sys/fs/cgroup/cpu").join(&name), Path::new("/sys/fs/cgroup").join(&name));
        if fs::create_dir(&first).is_ok() {
            fs::write(first.join("cpu.cfs_period_us"), "20000")
                .expect("a group of the first version has a period");
            fs::write(first.join("cpu.cfs_quota_us"), "4000")
                .expect("a group of the first version has a quota");
            return Self(first);
        }
        fs::create_dir(&second).expect("the tests may make control groups");
        let _ = fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+cpu");
        fs::write(second.join("cpu.max"), "4000 20000").expect("a group of the second version has a quota");
        Self(second)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The file by which a process enters it.
    pub(crate) fn entry(&self) -> String {
        self.0.join("cgroup.procs").display().to_string()
    }

    /// The last part of its path.
    pub(crate) fn name(&self) -> &str {
        self.0.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// How long its processes were throttled, by the kernel's own count.
    pub(crate) fn throttled_ns(&self) -> u64 {
        let text = fs::read_to_string(self.0.join("cpu.stat")).expect("a group has counters");
        let field =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        field("throttled_time ")
            .or_else(|| field("throttled_usec ").map(|us| us * 1000))
            .expect("throttled time")
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
