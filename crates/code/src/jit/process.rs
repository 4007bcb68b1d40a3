//! A process whose code has names in files: who it is, and opening these files.
//!
//! The directory of perf maps is open to all users, and in it stand files of processes that had the
//! same PID before. So a file counts only if it is a regular one of the process's user or root, and
//! was written since the process began.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::Mapping;

/// How much older than its process a file may seem: times of files are rounded to timer ticks, and
/// starts of processes too.
const SLACK: Duration = Duration::from_secs(1);

/// A process, as far as it could be asked while it lived.
#[derive(Debug)]
pub(super) struct Process {
    /// Its PID in its own PID namespace.
    own_pid: u32,
    /// Whose files are its own, besides those of root.
    users: Vec<u32>,
    /// When it began.
    since: SystemTime,
    /// Its `/tmp`; kept open, because a process that has ended has no root directory.
    directory: Option<OwnedFd>,
    /// Its perf map as it was found first, in case it is removed.
    found: Option<File>,
}

/// Why a file with names is not read, or not whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnreadReason {
    /// It is a link, a pipe, a directory.
    NotAFile,
    /// It belongs to a user who is neither the process's nor root.
    OtherUser(u32),
    /// It is older than the process: another one that had its PID wrote it.
    Stale,
    /// Only its last part was read, as much as the limit allows.
    TooLong,
    /// The system's error.
    Failed(String),
}

impl fmt::Display for UnreadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnreadReason::NotAFile => f.write_str("it is not a regular file"),
            UnreadReason::OtherUser(uid) => write!(f, "it belongs to another user ({uid})"),
            UnreadReason::Stale => f.write_str("it is older than the process"),
            UnreadReason::TooLong => f.write_str("it is too long to be read whole"),
            UnreadReason::Failed(error) => f.write_str(error),
        }
    }
}

impl From<io::Error> for UnreadReason {
    fn from(error: io::Error) -> Self {
        UnreadReason::Failed(error.to_string())
    }
}

impl Process {
    /// Asks a process. Of one that has ended already it is known only that it ran after `began`.
    pub(super) fn of(pid: u32, began: SystemTime) -> Self {
        let us = rustix::process::geteuid().as_raw();
        let asked = std::fs::read_to_string(format!("/proc/{pid}/status")).ok().and_then(|status| {
            let (own_pid, users) = identity(&status)?;
            let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
            Some((own_pid, users, since(&stat)?))
        });
        let (own_pid, users, since) = asked.unwrap_or((pid, vec![us], began));
        let mut process = Process { own_pid, users, since, directory: directory(pid), found: None };
        process.found = process.perf_map().ok().flatten();
        process
    }

    /// Its perf map; none where there is no such file.
    pub(super) fn perf_map(&self) -> Result<Option<File>, UnreadReason> {
        let Some(directory) = &self.directory else { return Ok(None) };
        let name = format!("perf-{}.map", self.own_pid);
        match openat(directory, name, flags(), Mode::empty()) {
            Ok(file) => self.checked(File::from(file), Some(self.since)).map(Some),
            Err(Errno::NOENT) => Ok(self.found.as_ref().map(File::try_clone).transpose()?),
            Err(error) => Err(refused(error)),
        }
    }

    /// Checks a file that is open: what stands at its path may have changed before.
    pub(super) fn checked(&self, file: File, since: Option<SystemTime>) -> Result<File, UnreadReason> {
        let seen = file.metadata()?;
        if !seen.is_file() {
            return Err(UnreadReason::NotAFile);
        }
        if seen.uid() != 0 && !self.users.contains(&seen.uid()) {
            return Err(UnreadReason::OtherUser(seen.uid()));
        }
        let written = seen.modified()?;
        if since.is_some_and(|since| written + SLACK < since) {
            return Err(UnreadReason::Stale);
        }
        Ok(file)
    }
}

/// Opening neither follows a link nor waits for the writer of a pipe.
fn flags() -> OFlags {
    OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
}

fn refused(error: Errno) -> UnreadReason {
    match error {
        // A link, a socket.
        Errno::LOOP | Errno::NXIO => UnreadReason::NotAFile,
        error => io::Error::from(error).into(),
    }
}

/// The `/tmp` of a process, or ours when it has ended or may not be asked.
fn directory(pid: u32) -> Option<OwnedFd> {
    let path = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let of_process = openat(CWD, format!("/proc/{pid}/root"), path, Mode::empty())
        .and_then(|root| openat2(root, "tmp", path, Mode::empty(), ResolveFlags::IN_ROOT));
    of_process.or_else(|_| openat(CWD, "/tmp", path, Mode::empty())).ok()
}

/// Opens a file that a process has mapped: the same inode, within its root directory.
pub(super) fn mapped(pid: u32, mapping: &Mapping) -> Result<File, UnreadReason> {
    let path = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, format!("/proc/{pid}/root"), path, Mode::empty())
        .or_else(|_| openat(CWD, "/", path, Mode::empty()));
    let root = root.map_err(io::Error::from)?;
    let file = openat2(root.as_fd(), &*mapping.path, flags(), Mode::empty(), ResolveFlags::IN_ROOT)
        .map_err(refused)?;
    let file = File::from(file);
    if mapping.inode != 0 && file.metadata()?.ino() != mapping.inode {
        return Err(UnreadReason::Failed("it has been replaced by another file".to_owned()));
    }
    Ok(file)
}

/// The PID in its own namespace, and the users that own what it writes, of proc_pid_status(5).
fn identity(status: &str) -> Option<(u32, Vec<u32>)> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let own_pid = field("NSpid:").or_else(|| field("Pid:"))?.split_ascii_whitespace().last()?.parse().ok()?;
    // Real, effective, saved, of the file system.
    let uids: Vec<u32> = field("Uid:")?.split_ascii_whitespace().filter_map(|uid| uid.parse().ok()).collect();
    let [_, effective, _, of_files] = uids[..] else { return None };
    Some((own_pid, vec![effective, of_files]))
}

/// When a living process began.
pub fn began(pid: u32) -> Option<SystemTime> {
    since(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// When a process began, of proc_pid_stat(5): ticks since the host started.
fn since(stat: &[u8]) -> Option<SystemTime> {
    const START: usize = 22;
    // The name, in brackets, may have any character.
    let after_name = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    let mut fields = after_name.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let ticks: u64 = std::str::from_utf8(fields.nth(START - 3)?).ok()?.parse().ok()?;
    let hz = rustix::param::clock_ticks_per_second().max(1);
    let started = Duration::from_millis(ticks.checked_mul(1000)? / hz);
    let now = clock_gettime(ClockId::Boottime);
    let up = Duration::new(now.tv_sec.try_into().ok()?, now.tv_nsec.try_into().ok()?);
    SystemTime::now().checked_sub(up.saturating_sub(started))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn process(directory: &std::path::Path) -> Process {
        let users = vec![rustix::process::geteuid().as_raw()];
        let path = OFlags::PATH | OFlags::DIRECTORY;
        let directory = openat(CWD, directory, path, Mode::empty()).ok();
        Process { own_pid: 7, users, since: SystemTime::now(), directory, found: None }
    }

    #[test]
    fn only_a_regular_file_that_is_no_older_than_the_process_is_opened() {
        let bench = tempfile::tempdir().unwrap();
        let path = bench.path().join("perf-7.map");
        let process = process(bench.path());
        let opened = || process.perf_map().map(|file| file.is_some());
        assert_eq!(opened(), Ok(false), "there is none");
        std::fs::write(&path, "1000 10 f\n").unwrap();
        assert_eq!(opened(), Ok(true));
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(process.since - Duration::from_secs(10)).unwrap();
        assert_eq!(opened(), Err(UnreadReason::Stale));
        std::fs::remove_file(&path).unwrap();
        symlink("/proc/self/maps", &path).unwrap();
        assert_eq!(opened(), Err(UnreadReason::NotAFile));
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(opened(), Err(UnreadReason::NotAFile));
        std::fs::remove_dir(&path).unwrap();
        // Opening it in the usual way would wait for a writer for ever.
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert_eq!(opened(), Err(UnreadReason::NotAFile));
    }

    #[test]
    fn a_file_of_another_user_is_not_read() {
        let file = || tempfile::tempfile().unwrap();
        let us = file().metadata().unwrap().uid();
        let since = SystemTime::now();
        let of = |users| Process { own_pid: 7, users, since, directory: None, found: None };
        assert!(of(vec![us]).checked(file(), None).is_ok());
        let other = of(vec![us + 1]).checked(file(), None).map(|_| ());
        // Root's files are as good as the process's own.
        assert_eq!(other, if us == 0 { Ok(()) } else { Err(UnreadReason::OtherUser(us)) });
        let given = file();
        if std::os::unix::fs::fchown(&given, Some(us + 1), None).is_ok() {
            assert_eq!(of(vec![us]).checked(given, None).map(|_| ()), Err(UnreadReason::OtherUser(us + 1)));
        }
    }

    #[test]
    fn a_living_process_says_who_it_is() {
        let began = SystemTime::now();
        let own = Process::of(std::process::id(), began - Duration::from_secs(1 << 30));
        assert_eq!(own.users[0], rustix::process::geteuid().as_raw());
        let age = began.duration_since(own.since).unwrap_or_default();
        assert!(age < Duration::from_secs(3600), "{age:?}");
        let status = "Name:\tx\nPid:\t77\nUid:\t1\t2\t3\t4\nNSpid:\t77\t5\n";
        assert_eq!(identity(status), Some((5, vec![2, 4])));
        assert_eq!(identity("Pid:\t7\nUid:\t1\t2\n"), None);
        let gone = Process::of(u32::MAX, began);
        assert_eq!((gone.own_pid, gone.since), (u32::MAX, began));
        assert_eq!(since(b"7 (a) b) S 1"), None);
    }
}
