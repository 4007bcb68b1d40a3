//! Opening the directory that a file of root's is to be written to. A link on the way leads where
//! its owner wants: root follows none of another user's.

use crate::output_file::{Caller, is_trusted, others_write};
use crate::user;
use rustix::fs::{CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstat, fstatfs, openat, readlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};

/// As many links as the kernel follows.
const LINKS: u32 = 40;

/// To look at, and to go on from.
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Opens the directory at a path.
///
/// # Errors
/// The system's error; root: whose link is on the way.
pub(crate) fn directory(path: &Path) -> io::Result<OwnedFd> {
    if !user::is_root() {
        return Ok(openat(CWD, path, LOOK | OFlags::DIRECTORY, Mode::empty())?);
    }
    let caller = Caller::of_sudo().map(|caller| caller.uid);
    let open = |at: &str| openat(CWD, at, LOOK, Mode::empty());
    let mut at = open(".")?;
    let mut left = parts(path);
    let mut links = 0;
    while let Some(part) = left.pop() {
        let next = openat(&at, &part, LOOK | OFlags::NOFOLLOW, Mode::empty())?;
        let found = fstat(&next)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
            at = next;
        } else if fstatfs(&at)?.f_type == PROC_SUPER_MAGIC {
            // The kernel's: what they lead to is not what they say.
            at = openat(&at, &part, LOOK, Mode::empty())?;
        } else {
            follows(&part, &found, &fstat(&at)?, caller)?;
            links += 1;
            if links > LINKS {
                return Err(Errno::LOOP.into());
            }
            let target = OsString::from_vec(readlinkat(&next, "", Vec::new())?.into_bytes());
            left.extend(parts(Path::new(&target)));
        }
    }
    Ok(openat(&at, ".", LOOK | OFlags::DIRECTORY, Mode::empty())?)
}

/// The parts of a path, the first one last.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let mut parts: Vec<OsString> = parts.map(|part| part.as_os_str().to_owned()).collect();
    parts.reverse();
    parts
}

/// Whether root follows a link of this name in the directory `above`.
fn follows(name: &OsStr, link: &Stat, above: &Stat, caller: Option<u32>) -> io::Result<()> {
    if !others_write(above.st_uid, above.st_mode, caller) || is_trusted(link.st_uid, caller) {
        return Ok(());
    }
    let why = format!("{name:?} is a link of user {}, in a directory that others write to", link.st_uid);
    Err(io::Error::new(ErrorKind::PermissionDenied, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};

    const NOBODY: u32 = 65_534;

    #[test]
    fn it_is_the_directory_that_the_kernel_finds() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("file"), "").unwrap();
        symlink("a/../a/./b", at("relative")).unwrap();
        symlink(at("a"), at("absolute")).unwrap();
        symlink("again", at("again")).unwrap();
        let ours = |path: &Path| directory(path).and_then(|found| Ok(fstat(found)?.st_ino));
        let own = format!("/proc/{}/root/proc/self/cwd", std::process::id());
        let paths = [at("a/b"), at("relative"), at("absolute/b/.."), at("relative/../b")];
        let others = ["/", ".", "..", "/proc/self/fd", "/dev/fd", &own];
        for path in paths.iter().map(|path| path.as_path()).chain(others.map(Path::new)) {
            // Each open directory of descriptors is one of its own.
            assert_eq!(ours(path).unwrap(), path.metadata().unwrap().ino(), "{path:?}");
        }
        for none in ["none", "file", "file/x", "again", "relative/none"] {
            assert!(directory(&at(none)).is_err(), "{none}");
        }
    }

    #[test]
    fn root_follows_no_link_of_another_user_to_a_directory() {
        assert!(user::is_root(), "this test needs root");
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::create_dir_all(at("roots/in")).unwrap();
        symlink("roots", at("theirs")).unwrap();
        symlink("theirs", at("own")).unwrap();
        lchown(at("theirs"), Some(NOBODY), None).unwrap();
        let opens = |name: &str| directory(&at(name));
        assert!(opens("theirs/in").is_ok(), "nobody else could have put it there");
        fs::set_permissions(top.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        for name in ["theirs", "theirs/in", "own/in", "roots/../theirs/in"] {
            let said = opens(name).unwrap_err().to_string();
            assert!(said.contains("is a link of user 65534"), "{name}: {said}");
        }
        assert!(opens("roots/in").is_ok());
        fs::remove_file(at("theirs")).unwrap();
        symlink("roots", at("theirs")).unwrap();
        assert!(opens("own/in").is_ok(), "it is root's");
    }
}
