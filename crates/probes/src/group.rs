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

/// How names of groups begin; what follows is the PID of who made it.
const NAME: &str = "dwell-probe-";

/// A new group; gone with this, once its processes are.
#[derive(Debug)]
pub(crate) struct OwnGroup(PathBuf);

impl OwnGroup {
    /// Beside `limited`, the outermost group with a quota.
    pub(crate) fn beside(limited: &Path) -> Result<Self, String> {
        let above = limited.parent().ok_or("there is no group above it")?;
        remove_left(above);
        let path = above.join(format!("{NAME}{}", std::process::id()));
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

/// Removes the groups of dwells that were killed. One with processes in it stays.
fn remove_left(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
