//! The CPUs that are online, and those that threads may use.

use crate::{Error, Roots, text};
use model::CpuList;
use rustix::thread::{CpuSet, Pid, sched_getaffinity};
use std::path::Path;

/// The CPUs that are online; CPU 0 if the kernel does not report them.
pub fn online(roots: Roots<'_>) -> Vec<u32> {
    let online = list(&roots.sys.join("devices/system/cpu/online"));
    let online = online.map_or_else(|_| Vec::new(), CpuList::into_vec);
    if online.is_empty() { vec![0] } else { online }
}

/// A file that has a list of CPUs or of memory nodes.
///
/// # Errors
/// It cannot be read, or has no such list.
pub fn list(path: &Path) -> Result<CpuList, Error> {
    text(path)?.parse().map_err(|_| Error::Missing { path: path.to_owned(), what: "a list" })
}

/// The CPUs that a thread may run on: sched_getaffinity(2). Without a thread, the calling one.
///
/// # Errors
/// There is no such thread, or access is denied.
pub fn allowed(thread: Option<Pid>) -> std::io::Result<CpuList> {
    let set = sched_getaffinity(thread)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

/// The hardware threads of this CPU's core, itself included.
///
/// # Errors
/// The kernel does not report it.
pub fn siblings(roots: Roots<'_>, cpu: u32) -> Result<CpuList, Error> {
    list(&roots.sys.join(format!("devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here;
    use crate::tests::Kept;

    #[test]
    fn a_board_has_cpus_and_siblings() {
        let board = Kept::new("board");
        assert_eq!(online(board.roots()), [0, 1, 2, 3, 4, 5]);
        assert_eq!(siblings(board.roots(), 4).unwrap().as_slice(), [4, 5]);
        let error = siblings(board.roots(), 9).unwrap_err();
        assert!(error.is_not_found() && error.to_string().contains("cpu9/topology"), "{error}");
    }

    #[test]
    fn this_thread_may_run_on_a_cpu_that_is_online() {
        let allowed = allowed(None).unwrap();
        assert!(!allowed.is_empty());
        assert!(allowed.as_slice().iter().all(|cpu| online(here()).contains(cpu)));
    }
}
