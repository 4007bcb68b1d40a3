//! Targets: processes by PID, name or tree, from `/proc`.

use model::{Pid, Tid};
use std::collections::{BTreeSet, HashMap};
use std::fs;

/// The properties by which a process is selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its PID.
    pub pid: Pid,
    /// Its parent's PID.
    pub parent: Pid,
    /// Its name (`comm`), up to 15 bytes.
    pub name: String,
}

/// All processes.
pub fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// This one, if it is alive (a zombie is not).
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

/// The processes with this name, or with an executable of this name.
pub fn named(name: &str) -> Vec<Process> {
    let own = std::process::id();
    let is_named_so = |process: &Process| {
        process.name == name
            || fs::read_link(format!("/proc/{}/exe", process.pid))
                .is_ok_and(|exe| exe.file_name().is_some_and(|file| file == name))
    };
    processes().into_iter().filter(|process| process.pid != own && is_named_so(process)).collect()
}

/// The topmost of these: those without an ancestor among them.
pub fn roots_of(some: &[Process]) -> Vec<&Process> {
    let parents: HashMap<Pid, Pid> =
        processes().iter().map(|process| (process.pid, process.parent)).collect();
    let all: BTreeSet<Pid> = some.iter().map(|process| process.pid).collect();
    let descends = |process: &&Process| {
        let mut at = process.parent;
        // A PID may be reused in the meantime: at most as many steps as processes.
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

/// The living ones of these processes, and all their descendants.
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

/// The threads of a process; none when it has exited.
pub(crate) fn threads(pid: Pid) -> Vec<Tid> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process's command line, or its name in brackets where it has none.
pub fn command(pid: Pid) -> Vec<String> {
    arguments(pid).unwrap_or_else(|| {
        let name = process(pid).map(|process| process.name).unwrap_or_default();
        vec![format!("[{name}]")]
    })
}

/// A process's arguments; none where it has none, or is gone.
pub(crate) fn arguments(pid: Pid) -> Option<Vec<String>> {
    let text = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    // Programs that write a title there leave zeros behind it.
    let end = text.iter().rposition(|byte| *byte != 0)? + 1;
    let words = text[..end].split(|byte| *byte == 0);
    Some(words.map(|word| String::from_utf8_lossy(word).into_owned()).collect())
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
        // `spawn` returns as soon as the child has its own memory, before its arguments are set.
        while command(child.id()) == ["[sleep]"] {
            std::thread::yield_now();
        }
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
}
