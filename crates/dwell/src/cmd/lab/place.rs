//! Directories of the lab: each is removed at the end, and what a lab that was killed left is
//! removed by the next one.

use anyhow::Context;
use std::fs::{self, DirEntry, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// How their names begin; the PID of the lab follows, and six letters.
const PREFIX: &str = "dwell-lab-";
/// Programs that were just killed may still be making files.
const REMOVALS: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(50);

/// A directory of this lab.
pub(super) struct Place {
    directory: Option<TempDir>,
    /// Held for as long as the directory is in use: the kernel gives it back however dwell ends.
    _lock: Option<File>,
}

impl Place {
    /// A new one in `within`.
    pub(super) fn new(within: &Path) -> anyhow::Result<Self> {
        remove_left(within);
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let made = tempfile::Builder::new().prefix(&prefix).tempdir_in(within);
        let directory =
            made.with_context(|| format!("cannot make a directory in {within:?}\ntry: --dir DIR"))?;
        let lock = locked(directory.path());
        Ok(Self { directory: Some(directory), _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.as_ref().map_or(Path::new(""), TempDir::path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(directory) = self.directory.take() else { return };
        let path = directory.keep();
        for again in 0..REMOVALS {
            match fs::remove_dir_all(&path) {
                Err(error) if again + 1 == REMOVALS => {
                    crate::output::complain(&format!("cannot remove {path:?}: {error}"));
                }
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => std::thread::sleep(BETWEEN),
                _ => return,
            }
        }
    }
}

/// Removes directories of labs that are gone: by their name, of this user, of no living process,
/// and not locked, since a process of another PID namespace seems to be dead.
fn remove_left(within: &Path) {
    let own = fs::metadata("/proc/self").map(|own| own.uid()).ok();
    for entry in fs::read_dir(within).into_iter().flatten().flatten() {
        let is_left = |entry: &DirEntry| -> Option<bool> {
            let pid = pid(entry.file_name().to_str()?)?;
            let status = entry.metadata().ok()?;
            Some(
                status.is_dir()
                    && Some(status.uid()) == own
                    && !Path::new("/proc").join(pid.to_string()).exists(),
            )
        };
        if is_left(&entry) == Some(true) {
            let path = entry.path();
            if let Some(_lock) = locked(&path) {
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

/// Of a directory that nobody else has.
fn locked(directory: &Path) -> Option<File> {
    let file = File::open(directory).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// Whose directory has this name.
fn pid(name: &str) -> Option<u32> {
    let (pid, letters) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let letters_are_right = letters.len() == 6 && letters.bytes().all(|byte| byte.is_ascii_alphanumeric());
    pid.parse().ok().filter(|_| letters_are_right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Above the largest that the kernel gives.
    const DEAD: &str = "4194305";

    #[test]
    fn what_a_killed_lab_left_is_removed_and_nothing_else() {
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
        let target = make("target");
        let link = within.path().join(format!("dwell-lab-{DEAD}-linked"));
        symlink(&target, &link).unwrap();
        let place = Place::new(within.path()).unwrap();
        assert!(!left.exists(), "its process is gone");
        for stays in others.iter().chain([&locked_one, &living, &target, &link]) {
            assert!(stays.join("records").exists(), "{stays:?}");
        }
        let path = place.path().to_owned();
        fs::write(path.join("file"), "").unwrap();
        drop(place);
        assert!(!path.exists());
    }
}
