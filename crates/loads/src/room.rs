//! The resources that a load may use: memory, and open files.

use crate::while_doing;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// The percentage of free memory that a load may use.
const PERCENT: u64 = 90;
/// The memory of a worker besides its messages: stack, page tables, kernel structures.
pub(crate) const WORKER_BYTES: u64 = 128 << 10;
/// Descriptors that are open in any case.
const OTHER_FILES: u64 = 64;

/// Memory that a load may use, in bytes.
pub(crate) fn memory_bytes() -> io::Result<u64> {
    let free = host::memory::free_bytes(host::here());
    let free =
        free.map_err(|error| io::Error::other(format!("cannot tell how much memory is free: {error}")))?;
    Ok(free / 100 * PERCENT)
}

/// Refuses a load that needs more memory than it may use; gives what it may.
pub(crate) fn enough_memory(load: &str, needed: u64, remedy: &str) -> io::Result<u64> {
    let room = memory_bytes()?;
    if needed > room {
        return Err(io::Error::other(format!(
            "{load} needs {} MiB of memory, but may use only {} MiB of what is free\ntry: {remedy}",
            needed.div_ceil(1 << 20),
            room >> 20
        )));
    }
    Ok(room)
}

/// Raises the limit of open files as far as needed.
pub(crate) fn allow_files(workers: u64, remedy: &str) -> io::Result<()> {
    let needed = workers.saturating_add(OTHER_FILES);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(most) = limit.maximum.filter(|most| *most < needed) {
        return Err(io::Error::other(format!(
            "{needed} open files are needed, but only {most} are allowed\ntry: {remedy}"
        )));
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum: limit.maximum })
        .map_err(|error| while_doing(&format!("cannot allow {needed} open files"), &error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_is_refused_with_a_remedy() {
        let error = enough_memory("sched", 1 << 62, "fewer groups").unwrap_err().to_string();
        assert!(
            error.starts_with("sched needs 4398046511104 MiB") && error.ends_with("try: fewer groups"),
            "{error}"
        );
        assert!(enough_memory("sched", 1, "").unwrap() > 0);
    }

    #[test]
    fn more_files_than_may_be_opened_are_refused() {
        let error = allow_files(u64::MAX, "fewer threads");
        let unlimited = getrlimit(Resource::Nofile).maximum.is_none();
        assert!(unlimited || error.unwrap_err().to_string().contains("are allowed\ntry: fewer threads"));
    }
}
