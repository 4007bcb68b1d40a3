//! Control groups that programs of the lab run in: made, entered and removed again. Both versions
//! of cgroups(7). Needs root.

use std::path::{Path, PathBuf};
use std::{fs, io, process};

/// How names of groups begin; what follows is the PID of who made it.
const NAME: &str = "dwell-lab-";
const CONTROLLERS: [&str; 2] = ["cpu", "memory"];
const TOP: &str = "/sys/fs/cgroup";
/// The file of the processes in a group.
const PROCESSES: &str = "cgroup.procs";

/// A control group. At the end it is removed if nobody is in it; who runs the program removes it
/// otherwise, so that the program is in it to its last moment.
pub(crate) struct Group {
    path: PathBuf,
    /// Whether it is of the first version of control groups.
    is_first: bool,
}

impl Group {
    /// A new group of a controller.
    pub(crate) fn new(controller: &str) -> io::Result<Self> {
        remove_left();
        let (within, is_first) = hierarchy(controller);
        let path = within.join(format!("{NAME}{}", process::id()));
        let said =
            |error| io::Error::other(format!("cannot make the control group {}: {error}", path.display()));
        fs::create_dir(&path).map_err(said)?;
        Ok(Self { path, is_first })
    }

    /// Sets one of its limits: in the file of the first version, or of the second.
    pub(crate) fn limit(&self, first: (&str, &str), second: (&str, &str)) -> io::Result<()> {
        let (file, value) = if self.is_first { first } else { second };
        let path = self.path.join(file);
        fs::write(&path, value).map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
    }

    /// For this process, until it ends.
    pub(crate) fn enter(&self) -> io::Result<()> {
        fs::write(self.path.join(PROCESSES), process::id().to_string())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}

/// Where a controller has its groups, and whether it is of the first version.
fn hierarchy(controller: &str) -> (PathBuf, bool) {
    let first = Path::new(TOP).join(controller);
    if first.is_dir() { (first, true) } else { (PathBuf::from(TOP), false) }
}

/// This process leaves the groups of this module that it is in, for the outermost ones, and these
/// are removed.
pub fn leave() {
    for controller in CONTROLLERS {
        let within = hierarchy(controller).0;
        let path = within.join(format!("{NAME}{}", process::id()));
        if path.is_dir() {
            let _ = fs::write(within.join(PROCESSES), process::id().to_string());
            let _ = fs::remove_dir(path);
        }
    }
}

/// Removes groups whose programs are gone.
pub fn remove_left() {
    for controller in CONTROLLERS {
        for entry in fs::read_dir(hierarchy(controller).0).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
            if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}
