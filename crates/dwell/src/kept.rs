//! The last ladder of this host: where it is kept, and what operations cost by it.

use crate::output;
use model::{Costs, Ladder, Seen};
use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use store::ladder::{self, Missing, NotKept};

/// What stands for a cache directory that nobody knows.
const NOWHERE: &str = "there is no cache directory: neither XDG_CACHE_HOME nor HOME is an own directory";

/// Keeps a whole ladder, but no quick one in place of one of full length. Where that cannot be, it is said, and no failure: it
/// was measured all the same.
pub(crate) fn keep(ladder: &Ladder) {
    if ladder.asked.quick && last().is_ok_and(|last| !last.asked.quick) {
        return;
    }
    let kept = match path(&ladder.machine.cpu) {
        Some(path) => ladder::keep(&path, ladder).map_err(|error: NotKept| error.to_string()),
        None => Err(format!("cannot keep the ladder: {NOWHERE}")),
    };
    if let Err(error) = kept {
        output::complain(&error);
    }
}

/// The last whole ladder of this host as it is now.
pub(crate) fn last() -> Result<Ladder, Missing> {
    let cpu = rungs::cpu_name();
    let path = path(&cpu).ok_or(Missing::None)?;
    ladder::kept(&path, &observe::this_host(), &cpu)
}

/// What operations cost on this host, by its last ladder.
pub(crate) fn costs() -> Seen<Costs> {
    match last() {
        Ok(ladder) => {
            let day = ladder.started_at.split('T').next().unwrap_or_default();
            let kind = if ladder.asked.quick { "kept quick ladder" } else { "kept ladder" };
            Seen::Value(analyse::ladder::costs(&ladder, format!("{kind} of {day}")))
        }
        Err(missing) => Seen::unseen(format!("{missing}\ntry: dwell ladder")),
    }
}

/// Where sheets are kept until they are done, unless somebody says where.
pub(crate) fn sheets() -> Option<PathBuf> {
    Some(directory()?.join("dwell"))
}

/// The file of this host.
fn path(cpu: &Seen<String>) -> Option<PathBuf> {
    // A container may have no number of its own; its name then stands for it.
    let machine = observe::machine_id().unwrap_or_else(|| observe::this_host().name);
    Some(directory()?.join("dwell").join(ladder::file_name(&machine, cpu)))
}

/// The cache directory of whoever runs dwell, by the XDG base directory specification.
///
/// A `sudo` that leaves the environment as it is hands over directories of another user's: root neither leaves files of its
/// own there nor believes what it finds, and takes its own.
fn directory() -> Option<PathBuf> {
    let from = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let asked = from("XDG_CACHE_HOME").or_else(|| from("HOME").map(|home| home.join(".cache")));
    asked.filter(|path| is_own(path)).or_else(|| own_home().map(|home| home.join(".cache")))
}

/// Whether it, or what it would be made in, belongs to whoever runs dwell; for others than root the system decides.
fn is_own(path: &Path) -> bool {
    let nearest = path.ancestors().find_map(|above| above.metadata().ok());
    !sys::user::is_root() || nearest.is_some_and(|found| found.uid() == 0)
}

/// The home that the user table has.
fn own_home() -> Option<PathBuf> {
    let home = sys::user::User::look_up("0").ok().filter(|_| sys::user::is_root())?.home;
    Some(PathBuf::from(home)).filter(|home| home.is_absolute())
}
