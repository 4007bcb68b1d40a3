//! What the kernel says of the calling process and thread, and of the memory of another.

use crate::{Error, Roots, fields, text};
use model::{Ns, Pid};
use std::path::{Path, PathBuf};

/// O_APPEND as fdinfo shows it: octal, the same on every architecture that dwell runs on.
const APPENDS: u32 = 0o2000;

/// Bytes locked in memory: `VmLck` of proc_pid_status(5).
///
/// # Errors
/// It cannot be read.
pub fn locked_bytes(roots: Roots<'_>) -> Result<u64, Error> {
    status_kib(roots, "VmLck:")
}

/// The most memory that was resident at a time: `VmHWM`.
///
/// # Errors
/// It cannot be read.
pub fn memory_peak_bytes(roots: Roots<'_>) -> Result<u64, Error> {
    status_kib(roots, "VmHWM:")
}

/// The same of another process, where it can be read.
pub fn memory_peak_of(proc: &Path, pid: Pid) -> Option<u64> {
    fields::kib(&text(&proc.join(format!("{pid}/status"))).ok()?, "VmHWM:")
}

/// Whether a process ignores a signal: `SigIgn`. None of one that has ended, or cannot be read.
pub fn is_ignored_by(proc: &Path, pid: Pid, signal: i32) -> Option<bool> {
    ignores(&text(&proc.join(format!("{pid}/status"))).ok()?, signal)
}

fn ignores(status: &str, signal: i32) -> Option<bool> {
    let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    if value("State:")?.starts_with(['Z', 'X']) {
        return None;
    }
    let ignored = u64::from_str_radix(value("SigIgn:")?, 16).ok()?;
    let bit = u32::try_from(signal).ok()?.checked_sub(1)?;
    Some(ignored.checked_shr(bit)? & 1 == 1)
}

/// How far two readings of the same resident set can differ, in bytes: the kernel counts pages for
/// each CPU, and adds them up in batches of 32 or twice the number of CPUs. An empty program read
/// up to 33 pages more than the process that became it. Two batches: of memory, and of files.
pub fn resident_slack_bytes(cpus: usize) -> u64 {
    2 * (2 * cpus as u64).max(32) * rustix::param::page_size() as u64
}

/// Memory that is resident: `VmRSS`.
///
/// # Errors
/// It cannot be read.
pub fn resident_bytes(roots: Roots<'_>) -> Result<u64, Error> {
    status_kib(roots, "VmRSS:")
}

fn status_kib(roots: Roots<'_>, name: &'static str) -> Result<u64, Error> {
    let path = roots.proc.join("self/status");
    let bytes = fields::kib(&text(&path)?, name);
    bytes.ok_or(Error::Missing { path, what: name.trim_end_matches(':') })
}

/// Time that the calling thread was runnable and did not run, since it began: the second field of
/// schedstat.
///
/// # Errors
/// It cannot be read: the kernel was built without CONFIG_SCHED_INFO.
pub fn waited_ns(roots: Roots<'_>) -> Result<Ns, Error> {
    let path = roots.proc.join("thread-self/schedstat");
    let waited = text(&path)?.split_ascii_whitespace().nth(1).and_then(|ns| ns.parse().ok());
    waited.ok_or(Error::Missing { path, what: "how long the thread waited" })
}

/// Where the next write to a descriptor goes: its position, or the end of a file of `len` bytes
/// that is appended to. See proc_pid_fdinfo(5).
///
/// # Errors
/// It cannot be read.
pub fn write_position(roots: Roots<'_>, descriptor: u32, len: u64) -> Result<u64, Error> {
    let path: PathBuf = roots.proc.join(format!("self/fdinfo/{descriptor}"));
    position(&text(&path)?, len).ok_or(Error::Missing { path, what: "a position" })
}

fn position(info: &str, len: u64) -> Option<u64> {
    let flags = u32::from_str_radix(fields::value(info, "flags:")?, 8).ok()?;
    if flags & APPENDS != 0 { Some(len) } else { fields::number(info, "pos:") }
}

/// The name by which a process can open its own descriptor again.
pub fn descriptor(roots: Roots<'_>, descriptor: u32) -> PathBuf {
    Path::new(roots.proc).join(format!("self/fd/{descriptor}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here;
    use crate::tests::Kept;

    #[test]
    fn a_status_has_sizes_in_kib() {
        let board = Kept::new("board");
        assert_eq!(locked_bytes(board.roots()), Ok(64 << 10));
        assert_eq!(memory_peak_bytes(board.roots()), Ok(5124 << 10));
        assert_eq!(resident_bytes(board.roots()), Ok(4820 << 10));
        let error = locked_bytes(Kept::new("guest").roots()).unwrap_err().to_string();
        assert!(error.ends_with("/self/status does not state VmLck"), "{error}");
    }

    #[test]
    fn a_status_says_which_signals_are_ignored() {
        let status = "Name:\tsh\nState:\tS (sleeping)\nSigIgn:\t0000000000004002\n";
        assert_eq!([1, 2, 15].map(|signal| ignores(status, signal)), [Some(false), Some(true), Some(true)]);
        assert_eq!(ignores(status, 0), None);
        assert_eq!(ignores(&status.replace("S (sleeping)", "Z (zombie)"), 2), None);
        assert_eq!(ignores("State:\tS\n", 2), None);
    }

    #[test]
    fn waiting_is_the_second_field() {
        assert_eq!(waited_ns(Kept::new("board").roots()), Ok(4321));
        assert!(waited_ns(Kept::new("guest").roots()).unwrap_err().is_not_found());
    }

    #[test]
    fn what_is_written_next_goes_to_the_position_or_to_the_end() {
        assert_eq!(position("pos:\t12\nflags:\t0100001\nmnt_id:\t29\n", 90), Some(12));
        assert_eq!(position("pos:\t0\nflags:\t0102001\nmnt_id:\t29\n", 90), Some(90));
        assert_eq!(position("pos:\t0\n", 90), None);
    }

    #[test]
    fn memory_that_was_given_back_is_still_in_the_peak() {
        let bytes = 96 << 20;
        drop(std::hint::black_box(vec![1_u8; bytes]));
        assert!(memory_peak_bytes(here()).unwrap() > bytes as u64);
        assert!(memory_peak_of(here().proc, std::process::id()).unwrap() > bytes as u64);
        assert_eq!(memory_peak_of(here().proc, 0), None);
        assert!(
            resident_slack_bytes(2) >= 64 * 4096 && resident_slack_bytes(64) == 4 * resident_slack_bytes(8)
        );
    }
}
