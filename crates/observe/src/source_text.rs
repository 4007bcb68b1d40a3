//! Files that a program only names: the text of sources, which debug information and interpreters
//! name, and the code of a function, by the path of a mapping that may lead elsewhere by now.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::untrusted_file::Rights;

/// The largest file that is read as source.
const SIZE_MAX: u64 = 16 << 20;

/// Users that are asked for at most; with more of them nothing is read.
const USERS_MAX: usize = 8;

/// Reads sources. Their names come from programs, which may name what their users must not read:
/// all users who could have written a name must be able to read the file.
#[derive(Debug, Clone)]
pub struct Sources(Vec<Rights>);

impl Sources {
    /// For programs of the user with these rights, and for what these `others` could have written.
    pub fn of(rights: Rights, others: &BTreeSet<u32>) -> Self {
        let others = others.iter().map(|uid| Rights::of_uid(*uid));
        let mut all = vec![rights];
        for rights in others {
            if !rights.is_root() && !all.contains(&rights) {
                all.push(rights);
            }
        }
        Self(all)
    }

    /// For what was named by programs of dwell's own user.
    pub fn own() -> Self {
        Self(vec![Rights::own()])
    }

    /// The text of a source file, if there is one with this name that they all may read: a regular
    /// file of moderate size.
    pub fn text(&self, path: &str) -> Option<String> {
        if self.0.len() > USERS_MAX {
            return None;
        }
        let mut bytes = Vec::new();
        for rights in &self.0 {
            bytes = rights.read(Path::new(path), SIZE_MAX).ok()?;
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The file at a path, if all of them may read it.
    ///
    /// # Errors
    /// The system's error; that there are too many users, or that it changes meanwhile.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        let mut opened: Option<File> = None;
        if self.0.len() > USERS_MAX {
            return Err(io::Error::other("its path may be from too many users"));
        }
        for rights in &self.0 {
            let file = rights.open(path)?;
            let (found, before) = (file.metadata()?, opened.as_ref().map(File::metadata).transpose()?);
            if before.is_some_and(|before| (before.dev(), before.ino()) != (found.dev(), found.ino())) {
                return Err(io::Error::other("it changes"));
            }
            opened = Some(file);
        }
        opened.ok_or_else(|| ErrorKind::PermissionDenied.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn all_who_could_have_named_it_must_be_able_to_read_it() {
        let top = tempfile::tempdir().unwrap();
        fs::set_permissions(top.path(), Permissions::from_mode(0o755)).unwrap();
        let path = top.path().join("secret.c");
        fs::write(&path, "text").unwrap();
        let name = path.to_str().unwrap();
        let of = |others: &[u32]| Sources::of(Rights::own(), &others.iter().copied().collect());
        for mode in [0o644, 0o600] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(Sources::own().text(name).as_deref(), Some("text"));
            assert_eq!(of(&[0]).text(name).as_deref(), Some("text"));
            assert!(Sources::own().open(&path).is_ok());
            if sys::user::is_root() {
                assert_eq!(of(&[0, 65_534]).open(&path).is_ok(), mode == 0o644, "{mode:o}");
                assert_eq!(of(&[0, 65_534]).text(name).is_some(), mode == 0o644, "{mode:o}");
            }
        }
        assert_eq!(of(&[7, 8, 9, 10, 11, 12, 13, 14, 15]).text(name), None);
        assert_eq!(Sources::own().text("/proc/self/environ"), None);
    }
}
