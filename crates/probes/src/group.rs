//! A control group of its own for a run, beside the one that has a CPU quota. The quota itself, and
//! who else it is for, stay as they are; so there is nothing to put back, whatever ends dwell.

use model::Pid;
use std::fs;
use std::path::{Path, PathBuf};

/// Limits other than the quota, which the new group takes over where both groups have them.
const OTHERS: &[&str] = &[
    "cpu.weight",
    "cpu.shares",
    "cpuset.cpus",
    "io.weight",
    "memory.high",
    "memory.max",
    "memory.swap.max",
    "pids.max",
];

/// A new group; gone with this, once its processes are.
#[derive(Debug)]
pub(crate) struct OwnGroup(PathBuf);

impl OwnGroup {
    /// Beside `limited`, the outermost group with a quota.
    pub(crate) fn beside(limited: &Path) -> Result<Self, String> {
        let above = limited.parent().ok_or("there is no group above it")?;
        let path = above.join(format!("dwell-probe-{}", std::process::id()));
        fs::create_dir(&path)
            .map_err(|error| format!("cannot make a control group in {}: {error}", above.display()))?;
        let group = Self(path);
        for file in OTHERS {
            // One that has no such limit has no such file, and a kernel may refuse its own words.
            if let Ok(text) = fs::read_to_string(limited.join(file)) {
                let _ = fs::write(group.0.join(file), text);
            }
        }
        Ok(group)
    }

    /// Puts a process into it.
    pub(crate) fn add(&self, pid: Pid) -> Result<(), String> {
        let file = self.0.join("cgroup.procs");
        fs::write(&file, pid.to_string()).map_err(|error| format!("cannot write {}: {error}", file.display()))
    }
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
