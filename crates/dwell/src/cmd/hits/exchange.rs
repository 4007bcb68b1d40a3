//! The directory through which dwell and the counted Python processes exchange files: it has the
//! counting modules, and they write their counts into it.
//!
//! Where the program runs as another user, it becomes that user's once dwell has written all that
//! it writes. It lies in one that stays dwell's, so that its owner cannot put something else in its
//! place; and dwell reads it through its descriptor.

use crate::private;
use anyhow::Context;
use std::env;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use sys::scratch::{Kind, Scratch};
use sys::user::User;

/// The modules that each Python process loads.
const FILES: [(&str, &str); 2] =
    [("sitecustomize.py", include_str!("sitecustomize.py")), ("monitor.py", include_str!("monitor.py"))];

/// The directory; removed when dropped.
pub(super) struct Exchange {
    path: PathBuf,
    opened: File,
    /// The one that it lies in.
    around: Scratch,
}

impl Exchange {
    /// Makes it, with the modules.
    pub(super) fn make() -> anyhow::Result<Self> {
        // Python sees this path, so it must be the real one.
        let above = private::above(&env::temp_dir(), "TMPDIR")?;
        let around = Scratch::new(&above, Kind::Hits);
        let around = around.with_context(|| format!("cannot create a directory in {above:?}"))?;
        let path = around.path().join("python");
        let made = DirBuilder::new().mode(0o700).create(&path).and_then(|()| File::open(&path));
        let opened = made.with_context(|| format!("cannot create {path:?}"))?;
        let exchange = Self { path, opened, around };
        for (name, text) in FILES {
            exchange.write(name, text)?;
        }
        Ok(exchange)
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory itself, whatever stands at its path.
    pub(super) fn opened(&self) -> &File {
        &self.opened
    }

    /// Writes a new file. Only while it is dwell's.
    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.path.join(name);
        let made = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path);
        made.and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {path:?}"))
    }

    /// Gives it to the user that the program runs as.
    pub(super) fn give(&self, user: &User) -> anyhow::Result<()> {
        // The user has to get through the outer one, and needs no list of it.
        let passable = std::fs::set_permissions(self.around.path(), Permissions::from_mode(0o711));
        passable
            .and_then(|()| fchown(&self.opened, Some(user.uid), Some(user.gid)))
            .with_context(|| format!("cannot give {:?} to {:?}", self.path, user.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn it_is_given_away_and_what_it_lies_in_is_not() {
        let exchange = Exchange::make().unwrap();
        assert!(exchange.write("monitor.py", "").is_err(), "it is there already");
        let (around, path) = (exchange.around.path().to_owned(), exchange.path().to_owned());
        if sys::user::is_root() {
            let user = User::of_uid(65_534).unwrap();
            exchange.give(&user).unwrap();
            let of = |path: &Path| path.metadata().map(|found| (found.uid(), found.mode() & 0o7777)).unwrap();
            assert_eq!((of(&around), of(&path)), ((0, 0o711), (65_534, 0o700)));
        }
        drop(exchange);
        assert!(!around.exists());
    }
}
