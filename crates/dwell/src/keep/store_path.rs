//! Where the store is, whose it is, and with whose rights it is used.
//!
//! Root's dwell under sudo uses the store of the user who called it, with the rights of that user
//! and no others: what is in that user's directories could make root's SQLite write anywhere.

use crate::cli::StoreArgs;
use crate::private::{self, Own};
use anyhow::{Context, bail};
use std::env;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use store::results::{Store, StoreError};
use sys::output_file::Caller;
use sys::untrusted_file::{self, Rights};
use sys::user::{self, User};

/// The directory of dwell, and the file in it.
const DIRECTORY: &str = "dwell";
const FILE: &str = "results.sqlite";
/// The variable that names the user's directory of data.
const DATA: &str = "XDG_DATA_HOME";

/// The variable that names the store, or that there is to be none.
pub(super) const VARIABLE: &str = "DWELL_STORE";
/// Its value for none.
const OFF: &str = "off";

/// Which store is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// None.
    Off,
    /// That of the user.
    OfUser,
    /// This file.
    File(PathBuf),
}

impl Choice {
    /// An option is stronger than the variable.
    pub(super) fn of(args: &StoreArgs, variable: Option<OsString>) -> Self {
        match (args.no_store, &args.store, variable) {
            (true, _, _) => Self::Off,
            (false, Some(file), _) => Self::File(file.clone()),
            (false, None, Some(value)) if value == OFF => Self::Off,
            (false, None, Some(value)) if !value.is_empty() => Self::File(value.into()),
            (false, None, _) => Self::OfUser,
        }
    }
}

/// A store that can be opened. Its directory is the user's own.
#[derive(Debug)]
pub(crate) struct StorePath {
    path: PathBuf,
    own: Own,
    local: bool,
}

impl StorePath {
    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The user whose it is.
    pub(crate) fn owner(&self) -> u32 {
        self.own.uid
    }

    /// Opens the store, and makes it where there is none.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn open(&self, until: Instant) -> Result<Store, StoreError> {
        Store::open(&self.path, self.own.uid, self.local, until)
    }

    /// Opens the store to read it, if there is one.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn open_to_read(&self, until: Instant) -> Result<Option<Store>, StoreError> {
        Store::open_to_read(&self.path, self.own.uid, until)
    }
}

/// Does something with the chosen store, with the rights of its user.
///
/// # Errors
/// There is none; its directory is not the user's own; what it says.
pub(super) fn with<T: Send>(
    choice: &Choice,
    what: impl FnOnce(&StorePath) -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    let wanted = match choice {
        Choice::Off => bail!("there is no store (--no-store, or DWELL_STORE=off)\ntry: --store FILE"),
        Choice::OfUser => Wanted::of_user()?,
        Choice::File(file) => Wanted::file(file)?,
    };
    wanted.rights.within(|| what(&wanted.place()?)).context("cannot use the store")?
}

/// A store that was asked for.
struct Wanted {
    /// A directory that is there, or that of data, below which dwell's own is made.
    above: PathBuf,
    /// Whether it is that of data.
    of_data: bool,
    name: PathBuf,
    own: Own,
    rights: Rights,
}

impl Wanted {
    /// That of the user, or of the one who called root with sudo.
    fn of_user() -> anyhow::Result<Self> {
        let (own, rights) = match caller() {
            Some(caller) => caller,
            None => (Own::of_process(), Rights::own()),
        };
        let asked = absolute(DATA).or_else(|| {
            // That of root, under sudo.
            let home = absolute("HOME").filter(|_| own == Own::of_process());
            home.map(below_home)
        });
        // A sudo or su that keeps the environment passes on directories of another user.
        let of_user = |path: &PathBuf| {
            let nearest = path.ancestors().find_map(|above| above.symlink_metadata().ok());
            nearest.is_some_and(|found| found.uid() == own.uid)
        };
        let in_table = || {
            let home = PathBuf::from(User::of_uid(own.uid)?.home);
            Some(below_home(home)).filter(|home| home.is_absolute() && of_user(home))
        };
        let above = asked.filter(of_user).or_else(in_table).context(
            "this user has no home directory\ntry: --store FILE, or XDG_DATA_HOME set to a directory of this user",
        )?;
        Ok(Self { above, of_data: true, name: FILE.into(), own, rights })
    }

    /// A file that the user named.
    fn file(file: &Path) -> anyhow::Result<Self> {
        let above = store::above(file).with_context(|| format!("{file:?} is no file"))?.to_owned();
        let name = file.file_name().with_context(|| format!("{file:?} is no file"))?.into();
        let owner = above.metadata().with_context(|| format!("cannot use {above:?}"))?.uid();
        // In a directory of the caller of sudo it is that user's, in one of root's it is root's.
        let (own, rights) = caller()
            .filter(|(own, _)| own.uid == owner)
            .unwrap_or_else(|| (Own::of_process(), Rights::own()));
        Ok(Self { above, of_data: false, name, own, rights })
    }

    /// With the rights of its user.
    fn place(&self) -> anyhow::Result<StorePath> {
        let within = if self.of_data {
            private::directory_of(self.own, &self.above, &[DIRECTORY], DATA)?
        } else {
            private::existing(self.own, &self.above, "--store")?
        };
        let local = !untrusted_file::is_shared(&within).with_context(|| format!("cannot use {within:?}"))?;
        Ok(StorePath { path: within.join(&self.name), own: self.own, local })
    }
}

/// The user who called root with sudo.
fn caller() -> Option<(Own, Rights)> {
    let Caller { uid, gid } = Caller::of_sudo().filter(|caller| user::is_root() && caller.uid != 0)?;
    Some((Own { uid, gid }, Rights::of_uid(uid)))
}

fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn below_home(home: PathBuf) -> PathBuf {
    home.join(".local/share")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_stronger_than_the_variable() {
        let choice = |no_store, store: Option<&str>, variable: Option<&str>| {
            let args = StoreArgs { no_store, store: store.map(PathBuf::from), ..StoreArgs::default() };
            Choice::of(&args, variable.map(OsString::from))
        };
        let file = |name: &str| Choice::File(name.into());
        assert_eq!(choice(false, None, None), Choice::OfUser);
        assert_eq!(choice(false, None, Some("")), Choice::OfUser);
        assert_eq!(choice(false, None, Some("off")), Choice::Off);
        assert_eq!(choice(false, None, Some("a/b")), file("a/b"));
        assert_eq!(choice(false, Some("x"), Some("off")), file("x"));
        assert_eq!(choice(true, None, Some("a/b")), Choice::Off);
    }
}
