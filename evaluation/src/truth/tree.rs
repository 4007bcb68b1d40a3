//! The threads of a process and of all below it, as `/proc` has them: what a window is about,
//! without anything that dwell says.

use super::sched::Tid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// All threads of this process and of its descendants. Those that end meanwhile are left out.
pub(crate) fn threads(root: Tid) -> BTreeSet<Tid> {
    let of = |process| numbers(Path::new(&format!("/proc/{process}/task"))).collect::<Vec<_>>();
    processes(root).into_iter().flat_map(of).collect()
}

/// This process and its descendants, each behind its parent.
pub(crate) fn processes(root: Tid) -> Vec<Tid> {
    let children = children();
    let mut processes = vec![root];
    let mut next = 0;
    while let Some(process) = processes.get(next) {
        processes.extend(children.get(process).into_iter().flatten());
        next += 1;
    }
    processes
}

/// Processes by their parent.
fn children() -> BTreeMap<Tid, Vec<Tid>> {
    let mut children = BTreeMap::<Tid, Vec<Tid>>::new();
    for process in numbers(Path::new("/proc")) {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        if let Some(parent) = parent(&stat) {
            children.entry(parent).or_default().push(process);
        }
    }
    children
}

/// The parent in a `stat` file: the second word behind the name, which may hold anything.
fn parent(stat: &str) -> Option<Tid> {
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn numbers(directory: &Path) -> impl Iterator<Item = Tid> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_is_passed_over() {
        assert_eq!(parent("12 (a) S 9 (b)) R 7 12 12 0"), Some(7));
        assert_eq!(parent(""), None);
    }

    #[test]
    fn this_process_has_its_threads() {
        let own = Tid::try_from(std::process::id()).unwrap();
        std::thread::spawn(move || {
            let threads = threads(own);
            assert!(threads.contains(&own) && threads.len() > 1, "{threads:?}");
        })
        .join()
        .unwrap();
    }
}
