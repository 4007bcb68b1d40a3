//! A control group that may use only so much memory.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const TOP: &str = "/sys/fs/cgroup";
/// The file of the processes in a group.
const PROCESSES: &str = "cgroup.procs";

/// It is gone with the test. Who has this user's ID may enter it as well.
pub(crate) struct MemoryGroup {
    /// What is started without privileges is in `begins`, and may go on from there to `limited`: a
    /// group of the second version is entered by who may write to the one above both.
    above: PathBuf,
    begins: PathBuf,
    limited: PathBuf,
}

impl MemoryGroup {
    pub(crate) fn new(bytes: u64, user: u32) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let first = Path::new(TOP).join("memory");
        let (within, limit) = match first.is_dir() {
            true => (first, "memory.limit_in_bytes"),
            false => (PathBuf::from(TOP), "memory.max"),
        };
        let count = COUNT.fetch_add(1, Relaxed);
        let above = within.join(format!("dwell-memory-{}-{count}", std::process::id()));
        fs::create_dir(&above).expect("the tests may make control groups");
        if limit == "memory.max" {
            for group in [&within, &above] {
                let file = group.join("cgroup.subtree_control");
                fs::write(file, "+memory").expect("the host has the controller of memory");
            }
        }
        let group = Self { begins: above.join("begins"), limited: above.join("limited"), above };
        for path in [&group.begins, &group.limited] {
            fs::create_dir(path).expect("the tests may make control groups");
        }
        for path in [&group.above, &group.begins, &group.limited] {
            chown(path.join(PROCESSES), Some(user), None).expect("it is ours to give away");
        }
        fs::write(group.limited.join(limit), bytes.to_string()).expect("a group has a limit of memory");
        group
    }

    /// The file by which a process enters it, once it is where it begins.
    pub(crate) fn entry(&self) -> String {
        self.limited.join(PROCESSES).display().to_string()
    }

    /// The file by which a process comes to where it begins.
    pub(crate) fn begins(&self) -> String {
        self.begins.join(PROCESSES).display().to_string()
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        for path in [&self.limited, &self.begins, &self.above] {
            let _ = fs::remove_dir(path);
        }
    }
}
