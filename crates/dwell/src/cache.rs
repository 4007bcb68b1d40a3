//! dwell's directory of things that can be made again.

use crate::private;
use std::env;
use std::path::{Path, PathBuf};

/// The default directory of unfinished sheets.
pub(crate) fn sheets() -> Option<PathBuf> {
    Some(in_cache(private::is_own)?.join("dwell"))
}

/// dwell's own directory of things that can be made again, for users who check themselves who else
/// may write there, and say so.
pub(crate) fn directory() -> Option<PathBuf> {
    Some(in_cache(private::is_of_user)?.join("dwell"))
}

/// The user's cache directory, by the XDG base directory specification.
///
/// A `sudo` that keeps the environment passes on directories of another user. Root neither writes
/// files there nor trusts those it finds, and uses its own: if that too is in the hands of others,
/// none.
fn in_cache(will_do: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let from = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let asked = from("XDG_CACHE_HOME").or_else(|| from("HOME").map(|home| home.join(".cache")));
    let own = |path: &PathBuf| will_do(&path.join("dwell"));
    asked.filter(own).or_else(|| own_home().map(|home| home.join(".cache")).filter(own))
}

/// The home directory of root in the user table.
fn own_home() -> Option<PathBuf> {
    let home = sys::user::User::look_up("0").ok().filter(|_| sys::user::is_root())?.home;
    Some(PathBuf::from(home)).filter(|home| home.is_absolute())
}
