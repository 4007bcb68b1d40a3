//! Who is meant: processes by number, name, tree or control group, as `/proc` and `/sys/fs/cgroup` have them.

use model::Pid;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

/// A process, as far as it takes to choose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: Pid,
    /// Its parent's.
    pub parent: Pid,
    /// Its name, of up to 15 bytes of its own choosing.
    pub name: String,
}

/// Where control groups are, of the second version or of both side by side.
const CGROUPS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// All processes.
pub fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// This one, if it lives (a zombie does not).
pub fn process(pid: Pid) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name may contain anything, also parentheses.
    let (front, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let name = front.split_once('(')?.1.to_owned();
    (!matches!(state, "Z" | "X")).then_some(Process { pid, parent, name })
}

/// The processes of this name: their own, or that of their executable.
pub fn named(name: &str) -> Vec<Process> {
    let own = std::process::id();
    let is_named_so = |process: &Process| {
        process.name == name
            || fs::read_link(format!("/proc/{}/exe", process.pid))
                .is_ok_and(|exe| exe.file_name().is_some_and(|file| file == name))
    };
    processes().into_iter().filter(|process| process.pid != own && is_named_so(process)).collect()
}

/// Those of these that descend from no other of them.
pub fn roots_of(some: &[Process]) -> Vec<&Process> {
    let parents: HashMap<Pid, Pid> =
        processes().iter().map(|process| (process.pid, process.parent)).collect();
    let all: BTreeSet<Pid> = some.iter().map(|process| process.pid).collect();
    let descends = |process: &&Process| {
        let mut at = process.parent;
        // A number may be used again while we look: no more steps than there are processes.
        for _ in 0..=parents.len() {
            if all.contains(&at) {
                return true;
            }
            match parents.get(&at) {
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    some.iter().filter(|process| !descends(process)).collect()
}

/// These processes that live, and all that descend from them.
pub(crate) fn trees(roots: &[Pid]) -> Vec<Pid> {
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    let mut alive = BTreeSet::new();
    for process in processes() {
        alive.insert(process.pid);
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = BTreeSet::new();
    let mut next: Vec<Pid> = roots.to_vec();
    while let Some(pid) = next.pop() {
        if found.insert(pid) {
            next.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found.intersection(&alive).copied().collect()
}

/// The processes of a control group and of those below it.
pub(crate) fn in_cgroup(directory: &Path) -> Vec<Pid> {
    let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    // 0 is a process of another pid namespace.
    let mut pids: Vec<Pid> =
        text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid != 0).collect();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            pids.extend(in_cgroup(&entry.path()));
        }
    }
    pids
}

/// The processes of a control group, without dwell itself.
pub fn members(directory: &Path) -> Vec<Pid> {
    let own = std::process::id();
    in_cgroup(directory).into_iter().filter(|pid| *pid != own).collect()
}

/// The directory of a control group, given as a path of the file system or as one from the root of the groups.
pub fn cgroup(path: &Path) -> Option<PathBuf> {
    let below = |root: &str| Path::new(root).join(path.strip_prefix("/").unwrap_or(path));
    std::iter::once(path.to_owned())
        .chain(CGROUPS.map(below))
        .find(|directory| directory.is_absolute() && directory.join("cgroup.procs").exists())
}

/// The control group of a service of systemd's.
pub fn service(unit: &str) -> Option<PathBuf> {
    let unit = if unit.contains('.') { unit.to_owned() } else { format!("{unit}.service") };
    // The name becomes part of a path.
    if unit.contains('/') || unit.starts_with('.') {
        return None;
    }
    cgroup(&Path::new("system.slice").join(&unit)).or_else(|| {
        let said = std::process::Command::new("systemctl")
            .args(["show", "--property", "ControlGroup", "--value", "--", &unit])
            .output()
            .ok()?;
        let path = String::from_utf8(said.stdout).ok()?;
        let path = path.trim();
        if path.is_empty() { None } else { cgroup(Path::new(path)) }
    })
}

/// A process's command line, or its name in brackets where it has none.
pub fn command(pid: Pid) -> Vec<String> {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = text.strip_suffix(b"\0").unwrap_or(&text);
    if text.is_empty() {
        let name = process(pid).map(|process| process.name).unwrap_or_default();
        return vec![format!("[{name}]")];
    }
    text.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_is_found_by_its_parent_and_no_longer_when_it_is_a_zombie() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let own = std::process::id();
        assert_eq!(process(child.id()).unwrap().parent, own);
        assert!(trees(&[own]).contains(&child.id()));
        assert_eq!(command(child.id()), ["sleep", "100"]);
        let both = [process(own).unwrap(), process(child.id()).unwrap()];
        assert_eq!(roots_of(&both), [&both[0]]);
        assert!(named("sleep").iter().any(|process| process.pid == child.id()));
        child.kill().unwrap();
        while process(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert!(!trees(&[own]).contains(&child.id()));
        child.wait().unwrap();
    }

    #[test]
    fn groups_are_found_by_either_path_and_services_cannot_lead_elsewhere() {
        assert_eq!(service("../../etc"), None);
        assert_eq!(cgroup(Path::new("no/such/group")), None);
        let dir = std::env::temp_dir().join(format!("dwell-groups-{}", std::process::id()));
        let below = dir.join("below");
        fs::create_dir_all(&below).unwrap();
        fs::write(dir.join("cgroup.procs"), "12\n0\n").unwrap();
        fs::write(below.join("cgroup.procs"), "13\n").unwrap();
        let found = (cgroup(&dir), in_cgroup(&dir));
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(found, (Some(dir), vec![12, 13]));
    }
}
