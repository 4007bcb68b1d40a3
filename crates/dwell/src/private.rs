//! Directories that nobody else can write to, or put another in place of: what lies in them is run,
//! or believed.

use anyhow::{Context, bail};
use std::fs::{self, DirBuilder, Metadata};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use sys::output_file::Caller;

/// Bits of a mode.
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// The variable that names the directory of things that can be made again.
const CACHE: &str = "XDG_CACHE_HOME";

/// Whose rights count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Own {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        Self { uid: sys::user::effective_uid(), gid: sys::user::effective_gid() }
    }
}

/// The directory of these names below `base`; makes what is missing.
///
/// # Errors
/// It cannot be made, or somebody else could put something there.
pub(crate) fn directory(base: &Path, names: &[&str]) -> anyhow::Result<PathBuf> {
    directory_of(Own::of_process(), base, names, CACHE)
}

/// The same for a user; a remedy names `variable`.
pub(crate) fn directory_of(own: Own, base: &Path, names: &[&str], variable: &str) -> anyhow::Result<PathBuf> {
    // Without links: those of others are not followed later.
    make(base)?;
    let mut path = above_of(own, base, variable)?;
    for name in names {
        path.push(name);
        make(&path)?;
        check(&path, variable, |found| why_not_own(found, own))?;
    }
    Ok(path)
}

/// A directory that is there already, without links, if it is the user's own.
///
/// # Errors
/// As [`directory`].
pub(crate) fn existing(own: Own, path: &Path, variable: &str) -> anyhow::Result<PathBuf> {
    let path = above_of(own, path, variable)?;
    check(&path, variable, |found| why_not_own(found, own))?;
    Ok(path)
}

/// The path of an existing directory without links.
///
/// # Errors
/// It does not exist, or somebody else could put another one in place of it, or of one above it:
/// then `variable` may name a better one.
pub(crate) fn above(path: &Path, variable: &str) -> anyhow::Result<PathBuf> {
    above_of(Own::of_process(), path, variable)
}

/// The same where also the user who called root with sudo may: what that user puts there is what
/// was asked for.
///
/// # Errors
/// As [`above`].
pub(crate) fn above_of_caller(path: &Path, variable: &str) -> anyhow::Result<PathBuf> {
    let caller = Caller::of_sudo().filter(|_| sys::user::is_root());
    let own = caller.map_or_else(Own::of_process, |Caller { uid, gid }| Own { uid, gid });
    above_of(own, path, variable)
}

fn above_of(own: Own, path: &Path, variable: &str) -> anyhow::Result<PathBuf> {
    let path = fs::canonicalize(path).with_context(|| format!("cannot use {path:?}"))?;
    path.ancestors().try_for_each(|above| check(above, variable, |found| why_not_above(found, own)))?;
    Ok(path)
}

/// Whether a directory, which may not be there yet, is the user's own. Root does not use one that
/// somebody else could put there either.
pub(crate) fn is_own(path: &Path) -> bool {
    let safe = || nearest(path).is_some_and(|nearest| above(nearest, CACHE).is_ok());
    is_of_user(path) && (!sys::user::is_root() || safe())
}

/// Whether a directory belongs to the user; for root, if it is not there yet, the nearest above it.
pub(crate) fn is_of_user(path: &Path) -> bool {
    let Some(nearest) = nearest(path) else { return false };
    let counts = nearest == path || sys::user::is_root();
    nearest.metadata().is_ok_and(|found| !counts || found.uid() == sys::user::effective_uid())
}

/// The path, or the nearest above it that exists.
fn nearest(path: &Path) -> Option<&Path> {
    path.ancestors().find(|above| above.symlink_metadata().is_ok())
}

fn make(path: &Path) -> anyhow::Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("cannot make {path:?}"))
}

fn check(path: &Path, variable: &str, why_not: impl Fn(&Metadata) -> Option<String>) -> anyhow::Result<()> {
    let found = fs::symlink_metadata(path).with_context(|| format!("cannot use {path:?}"))?;
    match why_not(&found) {
        None => Ok(()),
        Some(why) => bail!(
            "cannot keep anything in {path:?}, where others could put their own: {why}\n\
             try: {variable} set to a directory that only you can write to"
        ),
    }
}

/// Why others could put another directory in place of one below this one.
fn why_not_above(found: &Metadata, own: Own) -> Option<String> {
    if found.uid() != own.uid && found.uid() != 0 {
        return Some(format!("it belongs to the user {}", found.uid()));
    }
    // The group of the user alone, as many systems have it, is no other.
    let group = found.mode() & GROUP_WRITES != 0 && found.gid() != own.gid;
    let others = found.mode() & OTHERS_WRITE != 0;
    let moved = (group || others) && found.mode() & STICKY == 0;
    moved.then(|| writable(found))
}

/// Why what lies in it may be of others.
fn why_not_own(found: &Metadata, own: Own) -> Option<String> {
    if !found.is_dir() {
        return Some("it is no directory".to_owned());
    }
    if found.uid() != own.uid {
        return Some(format!("it belongs to the user {}", found.uid()));
    }
    (found.mode() & (GROUP_WRITES | OTHERS_WRITE) != 0).then(|| writable(found))
}

fn writable(found: &Metadata) -> String {
    format!("its mode is {:o}", found.mode() & 0o7777)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    fn refused(base: &Path) -> String {
        format!("{:#}", directory(base, &["revisions", "name"]).unwrap_err())
    }

    #[test]
    fn what_is_made_is_for_the_user_alone() {
        let top = tempfile::tempdir().unwrap();
        let base = top.path().join("cache/dwell");
        let made = directory(&base, &["revisions", "name"]).unwrap();
        assert!(made.ends_with("cache/dwell/revisions/name"), "{made:?}");
        for path in made.ancestors().take(4) {
            assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o700, "{path:?}");
        }
        // It is found again.
        assert_eq!(directory(&base, &["revisions", "name"]).unwrap(), made);
    }

    #[test]
    fn a_directory_that_others_write_to_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let base = top.path().join("dwell");
        let made = directory(&base, &["revisions", "name"]).unwrap();
        for (path, bits) in [(made.as_path(), 0o770), (made.parent().unwrap(), 0o702), (&base, 0o777)] {
            mode(path, bits);
            let said = refused(&base);
            assert!(
                said.contains(&format!("its mode is {bits:o}")) && said.contains(&format!("{path:?}")),
                "{said}"
            );
            assert!(said.contains("try: XDG_CACHE_HOME"), "{said}");
            mode(path, 0o700);
        }
        // Where only the owner can take away what is there, and in the group of the user alone.
        mode(top.path(), 0o1777);
        mode(&base, 0o770);
        assert_eq!(directory(&base, &["revisions", "name"]).unwrap(), made);
    }

    #[test]
    fn one_that_is_there_or_not_yet_is_the_users_own() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("cache/dwell");
        assert!(is_own(&path), "it would be made");
        fs::create_dir_all(&path).unwrap();
        assert!(is_own(&path));
        if sys::user::is_root() {
            chown(&path, Some(12_345), None).unwrap();
            assert!(!is_own(&path));
            chown(&path, Some(0), None).unwrap();
            mode(path.parent().unwrap(), 0o777);
            assert!(!is_own(&path), "another user can put his own there");
            mode(path.parent().unwrap(), 0o755);
            chown(top.path(), Some(12_345), None).unwrap();
            assert!(!is_own(&path) && !is_own(&path.join("new")));
        }
    }

    #[test]
    fn what_stands_there_in_its_place_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), top.path().join("revisions")).unwrap();
        assert!(refused(top.path()).contains("it is no directory"));
        assert!(!elsewhere.path().join("name").exists());
        fs::remove_file(top.path().join("revisions")).unwrap();
        let made = directory(top.path(), &["revisions", "name"]).unwrap();
        if sys::user::is_root() {
            for path in [made.as_path(), top.path()] {
                chown(path, Some(12_345), None).unwrap();
                assert!(refused(top.path()).contains("it belongs to the user 12345"), "{path:?}");
                chown(path, Some(0), None).unwrap();
            }
        }
    }
}
