//! Temporary directories: each is removed at its end, and what a dwell that was killed left is
//! removed by the next one that makes a directory of that kind in the same place.

use rustix::process::geteuid;
use std::fs::{self, DirEntry, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// Letters after the PID in a name.
const RANDOM: usize = 6;
/// Programs that were just killed may still be making files.
const REMOVALS: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(50);

/// What a directory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Accounts of observed runs of `dwell compare`, and its empty program.
    Compare,
    /// Counts of Python lines.
    Hits,
    /// Programs of the lab and their files.
    Lab,
    /// Files that the ladder reads and writes.
    Ladder,
    /// Results of `dwell mcp`, until they are handed over.
    Mcp,
}

impl Kind {
    /// How names begin; the PID of dwell follows, and letters.
    fn prefix(self) -> &'static str {
        match self {
            Kind::Compare => "dwell-compare-",
            Kind::Hits => "dwell-hits-",
            Kind::Lab => "dwell-lab-",
            Kind::Ladder => ".dwell-ladder-",
            Kind::Mcp => "dwell-mcp-",
        }
    }
}

/// A directory for this process, which only its user can enter.
#[derive(Debug)]
pub struct Scratch {
    directory: Option<TempDir>,
    /// Held for as long as the directory is in use: the kernel gives it back however dwell ends.
    _lock: Option<File>,
}

impl Scratch {
    /// A new one in `within`.
    ///
    /// # Errors
    /// The system's error.
    pub fn new(within: &Path, kind: Kind) -> io::Result<Self> {
        remove_left(within, kind);
        let prefix = format!("{}{}-", kind.prefix(), std::process::id());
        let directory = tempfile::Builder::new().prefix(&prefix).rand_bytes(RANDOM).tempdir_in(within)?;
        let lock = locked(directory.path());
        Ok(Self { directory: Some(directory), _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.directory.as_ref().map_or(Path::new(""), TempDir::path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Some(directory) = self.directory.take() else { return };
        let path = directory.keep();
        for _ in 0..REMOVALS {
            match fs::remove_dir_all(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => std::thread::sleep(BETWEEN),
                _ => return,
            }
        }
    }
}

/// Removes directories of dwells that are gone: by their name, of this user, of no living process,
/// and not locked, since a process of another PID namespace seems to be dead.
fn remove_left(within: &Path, kind: Kind) {
    let own = geteuid().as_raw();
    let is_left = |entry: &DirEntry| -> Option<bool> {
        let pid = pid(entry.file_name().to_str()?, kind)?;
        let status = entry.metadata().ok()?;
        let lives = Path::new("/proc").join(pid.to_string()).exists();
        Some(status.is_dir() && status.uid() == own && !lives)
    };
    for entry in fs::read_dir(within).into_iter().flatten().flatten() {
        if is_left(&entry) == Some(true)
            && let Some(_lock) = locked(&entry.path())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A directory, locked until this is dropped; none if somebody else has it.
fn locked(directory: &Path) -> Option<File> {
    let file = File::open(directory).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// The process in a directory's name, if the name is of this kind.
fn pid(name: &str, kind: Kind) -> Option<u32> {
    let (pid, letters) = name.strip_prefix(kind.prefix())?.split_once('-')?;
    let are_right = letters.len() == RANDOM && letters.bytes().all(|byte| byte.is_ascii_alphanumeric());
    pid.parse().ok().filter(|_| are_right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// No process has this number: it is above the kernel's limit.
    const DEAD: &str = "4194305";

    #[test]
    fn what_a_killed_dwell_left_is_removed_and_nothing_else() {
        let within = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = within.path().join(name);
            fs::create_dir_all(path.join("records")).unwrap();
            path
        };
        let left = make(&format!("dwell-lab-{DEAD}-abc123"));
        let locked_one = make(&format!("dwell-lab-{DEAD}-locked"));
        let _lock = locked(&locked_one).unwrap();
        let living = make(&format!("dwell-lab-{}-abc123", std::process::id()));
        let others =
            ["dwell-lab-", "dwell-lab-results", "dwell-lab-4194305-abc", "dwell-lab-x-abc123", "mine"];
        let others = others.map(make);
        let of_another_kind = make(&format!("dwell-hits-{DEAD}-abc123"));
        let target = make("target");
        let link = within.path().join(format!("dwell-lab-{DEAD}-linked"));
        symlink(&target, &link).unwrap();
        let place = Scratch::new(within.path(), Kind::Lab).unwrap();
        assert!(!left.exists(), "its process is gone");
        for stays in others.iter().chain([&locked_one, &living, &target, &link, &of_another_kind]) {
            assert!(stays.join("records").exists(), "{stays:?}");
        }
        let path = place.path().to_owned();
        fs::write(path.join("file"), "").unwrap();
        drop(place);
        assert!(!path.exists());
        drop(Scratch::new(within.path(), Kind::Hits).unwrap());
        assert!(!of_another_kind.exists());
    }
}
