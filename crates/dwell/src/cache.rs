//! dwell's directory of things that can be made again, and the file of the last ladder of this host
//! there, as it is kept without a store.

use crate::output;
use crate::private;
use model::{Ladder, Seen};
use std::env;
use std::path::{Path, PathBuf};
use store::ladder::{self, LadderLoadError, LadderSaveError};

/// Why there is no cache directory.
const NOWHERE: &str = "no cache directory: neither XDG_CACHE_HOME nor HOME is a directory of this user";

/// Keeps a whole ladder in the file of this host, for a host without a store; a quick one does not
/// replace a full one. An error is printed, but is no failure of the measurement.
pub(crate) fn keep_ladder(ladder: &Ladder) {
    if ladder.asked.quick && last_ladder().is_ok_and(|last| !last.asked.quick) {
        return;
    }
    let kept = match path(&ladder.machine.cpu) {
        Some(path) => ladder::keep(&path, ladder).map_err(|error: LadderSaveError| error.to_string()),
        None => Err(format!("cannot keep the ladder: {NOWHERE}\ntry: --no-keep")),
    };
    if let Err(error) = kept {
        output::complain(&error);
    }
}

/// The ladder in the file of this host, if the host is as it was.
pub(crate) fn last_ladder() -> Result<Ladder, LadderLoadError> {
    let cpu = rungs::cpu_name();
    let path = path(&cpu).ok_or(LadderLoadError::None)?;
    ladder::kept(&path, &observe::this_host(), &cpu)
}

/// The default directory of unfinished sheets.
pub(crate) fn sheets() -> Option<PathBuf> {
    Some(in_cache(private::is_own)?.join("dwell"))
}

/// The file of this host.
fn path(cpu: &Seen<String>) -> Option<PathBuf> {
    // A container may have no machine ID of its own; then its name is used.
    let machine = observe::machine_id().unwrap_or_else(|| observe::this_host().name);
    Some(sheets()?.join(ladder::file_name(&machine, cpu)))
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
