//! Files that dwell writes and whose names the user gave: those of root's dwell are root's alone,
//! or the caller's of sudo, and none is written through what another user put there. Results are
//! written whole or not at all (`whole.rs`); what grows while a program runs is [`open`]ed.

use crate::program::open_parent;
use crate::user;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, statat, unlinkat};
use rustix::io::{Errno, retry_on_intr};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::fchown;
use std::path::{Path, PathBuf};

/// Mode bits by which others than the owner write.
const OTHERS_WRITE: u32 = 0o022;

/// The user who called dwell with sudo(8), and that user's group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// User ID.
    pub uid: u32,
    /// Group ID.
    pub gid: u32,
}

impl Caller {
    /// As sudo says in the environment. To be asked by root only: others could say anything.
    pub fn of_sudo() -> Option<Self> {
        let number = |name| env::var(name).ok()?.parse().ok();
        Some(Self { uid: number("SUDO_UID")?, gid: number("SUDO_GID")? })
    }
}

/// A file that was made: its name, and the directory that it was made in. Whoever owns a directory
/// above that can have put another one at its path since.
#[derive(Debug)]
pub struct Made {
    above: OwnedFd,
    name: OsString,
}

impl Made {
    /// Takes it away again.
    ///
    /// # Errors
    /// The system's error.
    pub fn remove(&self) -> io::Result<()> {
        Ok(unlinkat(&self.above, &self.name, AtFlags::empty())?)
    }
}

/// Opens a file to write to, unchanged so far; makes it where there is none.
///
/// # Errors
/// The system's error, or whose file or link stands there.
pub fn open(path: &Path) -> io::Result<(File, Option<Made>)> {
    let (above, name) = place(path)?;
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    match retry_on_intr(|| openat(&above, &name, flags, Mode::empty())) {
        Err(Errno::NOENT) => create(above, name).map(|(file, made)| (file, Some(made))),
        opened => Ok((checked(opened?.into(), &above, &name)?, None)),
    }
}

/// Opens the file as [`open`] does, and empties it.
///
/// # Errors
/// As [`open`].
pub fn emptied(path: &Path) -> io::Result<File> {
    let (file, made) = open(path)?;
    // A pipe or a device has no length.
    if made.is_none() && file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Makes a directory, and those above it that are missing. Root's dwell gives them to the caller of
/// sudo, who else could put nothing beside what is written there.
///
/// # Errors
/// The system's error; root: whose link is on the way.
pub fn make_directories(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    // Without a stroke at the end, which stands for what is in it.
    let path: &Path = &path.components().collect::<PathBuf>();
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        make_directories(above)?;
    }
    let (above, name) = place(path)?;
    match mkdirat(&above, &name, Mode::from_raw_mode(0o777)) {
        // Somebody else made it meanwhile.
        Err(Errno::EXIST) if path.is_dir() => return Ok(()),
        made => made?,
    }
    let opened = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    give_to_caller(&File::from(openat(&above, &name, opened, Mode::empty())?));
    Ok(())
}

/// Makes a new file. Results name files of other users and show what programs do, so root's are for
/// root alone, or for the caller of sudo.
fn create(above: OwnedFd, name: OsString) -> io::Result<(File, Made)> {
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = File::from(openat(&above, &name, new, new_mode())?);
    give_to_caller(&file);
    Ok((file, Made { above, name }))
}

/// The permissions that a new file is made with.
pub(crate) fn new_mode() -> Mode {
    Mode::from_raw_mode(if user::is_root() { 0o600 } else { 0o666 })
}

/// Gives a file that root's dwell made to the caller of sudo. Where it cannot be, it stays root's.
pub(crate) fn give_to_caller(file: &File) {
    if let Some(caller) = user::is_root().then(Caller::of_sudo).flatten() {
        let _ = fchown(file, Some(caller.uid), Some(caller.gid));
    }
}

/// The directory of a path, and the name in it. Whoever owns a directory above can put another one
/// at its path later.
pub(crate) fn place(path: &Path) -> io::Result<(OwnedFd, OsString)> {
    let name = path.file_name().ok_or(ErrorKind::IsADirectory)?.to_owned();
    if path.as_os_str().as_bytes().ends_with(b"/") {
        return Err(ErrorKind::IsADirectory.into());
    }
    Ok((open_parent::directory(above(path)?)?, name))
}

/// A file that was there, if root may write over it: in a directory that others write to, they
/// could have put a link to one of root's there, or a file of their own.
fn checked(file: File, above: &OwnedFd, name: &OsStr) -> io::Result<File> {
    // Also a pipe, whose owner would read what root writes, and a device behind a link.
    if user::is_root() {
        let found = statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let caller = Caller::of_sudo().map(|caller| caller.uid);
        if let Some(why) = why_not(&fstat(&file)?, &found, &fstat(above)?, caller) {
            return Err(io::Error::new(ErrorKind::PermissionDenied, why));
        }
    }
    Ok(file)
}

/// Whether root takes what belongs to a user for its own.
pub(crate) fn is_trusted(uid: u32, caller: Option<u32>) -> bool {
    uid == 0 || Some(uid) == caller
}

/// Whether others could have put anything into a directory, by its owner and its mode.
pub(crate) fn others_write(uid: u32, mode: u32, caller: Option<u32>) -> bool {
    mode & OTHERS_WRITE != 0 || !is_trusted(uid, caller)
}

/// Why root may not write to an open file, which `name` stands for in the directory `above`.
fn why_not(open: &Stat, name: &Stat, above: &Stat, caller: Option<u32>) -> Option<String> {
    let trusted = |uid: u32| is_trusted(uid, caller);
    if !others_write(above.st_uid, above.st_mode, caller) {
        return None;
    }
    let whose = |found: &Stat| format!("user {}, in a directory that others write to", found.st_uid);
    if !trusted(name.st_uid) {
        let what = what(name);
        return Some(format!("it is {what} of {}", whose(name)));
    }
    let is_link = FileType::from_raw_mode(name.st_mode) == FileType::Symlink;
    let same = (name.st_dev, name.st_ino) == (open.st_dev, open.st_ino);
    if !is_link && !same {
        return Some("it has been replaced by another file".to_owned());
    }
    if open.st_nlink > 1 && same {
        return Some("it has other names, and others write to its directory".to_owned());
    }
    None
}

/// The directory that a name is in.
fn above(path: &Path) -> io::Result<&Path> {
    let above = path.parent().ok_or(ErrorKind::InvalidInput)?;
    Ok(if above.as_os_str().is_empty() { Path::new(".") } else { above })
}

/// What stands at a name, in words.
fn what(name: &Stat) -> &'static str {
    match FileType::from_raw_mode(name.st_mode) {
        FileType::Symlink => "a link",
        FileType::RegularFile => "a file",
        _ => "a pipe or a device",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{lstat, stat};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    use tempfile::tempdir;

    const NOBODY: u32 = 65_534;

    #[test]
    fn what_root_makes_is_for_root_alone() {
        let top = tempdir().unwrap();
        let path = top.path().join("new");
        let new = |path: &Path| place(path).and_then(|(above, name)| create(above, name));
        let made = new(&path).unwrap().0.metadata().unwrap();
        if user::is_root() && Caller::of_sudo().is_none() {
            assert_eq!((made.uid(), made.mode() & 0o777), (0, 0o600));
        }
        assert_eq!(new(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn what_was_made_is_removed_and_not_what_stands_at_its_path() {
        let top = tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::create_dir(at("theirs")).unwrap();
        let (_, made) = open(&at("theirs/result")).unwrap();
        fs::rename(at("theirs"), at("moved")).unwrap();
        fs::create_dir(at("roots")).unwrap();
        fs::write(at("roots/result"), "x").unwrap();
        symlink("roots", at("theirs")).unwrap();
        made.unwrap().remove().unwrap();
        assert!(at("roots/result").exists() && !at("moved/result").exists());
        assert_eq!(place(&at("none/")).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert!(!at("none").exists());
    }

    #[test]
    fn root_follows_no_link_that_another_user_could_have_put() {
        if !user::is_root() {
            return;
        }
        let top = tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::write(at("roots"), "x").unwrap();
        symlink("roots", at("own-link")).unwrap();
        symlink("roots", at("link")).unwrap();
        fs::hard_link(at("roots"), at("name")).unwrap();
        fs::write(at("theirs"), "x").unwrap();
        fs::write(at("own"), "x").unwrap();
        chown(at("theirs"), Some(NOBODY), None).unwrap();
        std::os::unix::fs::lchown(at("link"), Some(NOBODY), None).unwrap();
        let said = |name: &str, caller| {
            let (open, name) = (stat(at(name)).unwrap(), lstat(at(name)).unwrap());
            why_not(&open, &name, &stat(top.path()).unwrap(), caller)
        };
        for name in ["link", "theirs", "name", "own-link", "own"] {
            assert_eq!(said(name, None), None, "{name}: the directory is root's alone");
        }
        fs::set_permissions(top.path(), Permissions::from_mode(0o1777)).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        chown(at("pipe"), Some(NOBODY), None).unwrap();
        let reader = std::thread::spawn({
            let pipe = at("pipe");
            move || File::open(pipe)
        });
        assert!(open(&at("pipe")).unwrap_err().to_string().contains("a pipe or a device of user 65534"));
        assert!(reader.join().unwrap().is_ok());
        assert!(said("link", None).unwrap().contains("a link of user 65534"));
        assert!(said("theirs", None).unwrap().contains("a file of user 65534"));
        assert!(said("name", None).unwrap().contains("other names"));
        assert_eq!((said("own-link", None), said("own", None)), (None, None));
        assert_eq!((said("theirs", Some(NOBODY)), said("link", Some(NOBODY))), (None, None));
        fs::set_permissions(top.path(), Permissions::from_mode(0o755)).unwrap();
        chown(top.path(), Some(NOBODY), None).unwrap();
        assert!(said("theirs", None).is_some(), "the directory is theirs");
    }
}
