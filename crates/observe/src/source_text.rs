//! Files that a program only names: the text of sources, which debug information and interpreters
//! name, and the code of a function, by the path of a mapping that may lead elsewhere by now.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use sys::untrusted_file::{Opened, Rights};

/// The largest file that is read as source.
const SIZE_MAX: u64 = 16 << 20;

/// When a process began is known to a tick of the kernel, and so are times of files.
const SLACK: Duration = Duration::from_millis(20);

/// Users that are asked for at most; with more of them nothing is read.
const USERS_MAX: usize = 8;

/// Reads sources. Their names come from programs, which may name what their users must not read:
/// all users who could have written a name must be able to read the file.
#[derive(Debug, Clone)]
pub struct Sources {
    rights: Vec<Rights>,
    /// The root directories that the names may be meant in; `None` is dwell's own.
    roots: Roots,
    /// When the programs began, where that is earlier than what is shown of them.
    began: Option<SystemTime>,
}

/// Root directories of processes; `None` is dwell's own.
pub type Roots = Vec<Option<Arc<OwnedFd>>>;

/// The content of a source file.
#[derive(Debug)]
pub struct SourceText {
    /// The text.
    pub text: String,
    /// When it was changed last.
    pub modified: SystemTime,
}

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
        Self { rights: all, roots: vec![None], began: None }
    }

    /// For what was named by programs of dwell's own user.
    pub fn own() -> Self {
        Self::of(Rights::own(), &BTreeSet::new())
    }

    /// The same for programs that saw these root directories; where there are none, dwell's own.
    pub fn in_roots(self, roots: Roots) -> Self {
        let roots = if roots.is_empty() { self.roots } else { roots };
        Self { roots, ..self }
    }

    /// The same for a program that had begun at this time.
    pub fn of_begun(self, began: Option<SystemTime>) -> Self {
        Self { began, ..self }
    }

    /// Whether a source may be another than that of the code that ran, in a recording that began
    /// at this time.
    pub fn is_newer(&self, source: &SourceText, recorded: SystemTime) -> bool {
        source.modified > self.began.unwrap_or(recorded).min(recorded) + SLACK
    }

    /// The text of a source file, if there is one with this name that they all may read: a regular
    /// file of moderate size, and the same in all root directories that have one.
    pub fn text(&self, path: &str) -> Option<SourceText> {
        if self.rights.len() > USERS_MAX {
            return None;
        }
        let mut found: Option<(Vec<u8>, SystemTime)> = None;
        for root in &self.roots {
            let read = |rights: &Rights| rights.read_in(root.as_ref(), Path::new(path), SIZE_MAX);
            let Ok(all) = self.rights.iter().map(read).collect::<io::Result<Vec<_>>>() else { continue };
            let Some(here) = all.into_iter().next_back() else { continue };
            if found.as_ref().is_some_and(|(text, _)| *text != here.0) {
                return None;
            }
            found = Some(here);
        }
        let (text, modified) = found?;
        Some(SourceText { text: String::from_utf8_lossy(&text).into_owned(), modified })
    }

    /// The file at a path, if all of them may read it.
    ///
    /// # Errors
    /// The system's error; that there are too many users, or that it changes meanwhile.
    pub(crate) fn open(&self, path: &Path) -> io::Result<Opened> {
        if self.rights.len() > USERS_MAX {
            return Err(io::Error::other("its path may be from too many users"));
        }
        let mut opened: Vec<Opened> = Vec::new();
        let mut why = ErrorKind::PermissionDenied.into();
        for root in &self.roots {
            let open = |rights: &Rights| rights.open_in(root.as_ref(), path);
            match self.rights.iter().map(open).collect::<io::Result<Vec<Opened>>>() {
                Ok(files) => opened.extend(files),
                Err(error) => why = error,
            }
        }
        let found = opened.iter().map(Opened::identity).collect::<io::Result<Vec<_>>>()?;
        if found.windows(2).any(|two| two[0] != two[1]) {
            return Err(io::Error::other("it changes, or programs see different files there"));
        }
        opened.pop().ok_or(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File, Permissions};
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
            assert_eq!(Sources::own().text(name).unwrap().text, "text");
            assert_eq!(of(&[0]).text(name).unwrap().text, "text");
            assert!(Sources::own().open(&path).is_ok());
            if sys::user::is_root() {
                assert_eq!(of(&[0, 65_534]).open(&path).is_ok(), mode == 0o644, "{mode:o}");
                assert_eq!(of(&[0, 65_534]).text(name).is_some(), mode == 0o644, "{mode:o}");
            }
        }
        assert!(of(&[7, 8, 9, 10, 11, 12, 13, 14, 15]).text(name).is_none());
        assert!(Sources::own().text("/proc/self/environ").is_none());
    }

    #[test]
    fn a_name_is_meant_as_the_program_sees_it() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        for (root, text) in [("one", "1"), ("two", "2"), ("three", "2")] {
            fs::create_dir(at(root)).unwrap();
            fs::write(at(root).join("main.py"), text).unwrap();
        }
        std::os::unix::fs::symlink("/main.py", at("one").join("link.py")).unwrap();
        let root = |name: &str| Some(Arc::new(OwnedFd::from(File::open(at(name)).unwrap())));
        let text = |roots: &[&str], name: &str| {
            let roots = roots.iter().map(|name| root(name)).collect();
            Sources::own().in_roots(roots).text(name).map(|source| source.text)
        };
        assert_eq!(text(&["one"], "/main.py").as_deref(), Some("1"));
        assert_eq!(text(&["one"], "/link.py").as_deref(), Some("1"));
        assert_eq!(text(&["two", "three"], "/main.py").as_deref(), Some("2"));
        // Which of the two a line is of is not known.
        assert_eq!(text(&["one", "two"], "/main.py"), None);
        assert!(Sources::own().in_roots(vec![root("one")]).open(Path::new("/../../main.py")).is_ok());
        assert!(Sources::own().in_roots(vec![root("one"), root("two")]).open(Path::new("/main.py")).is_err());
    }
}
