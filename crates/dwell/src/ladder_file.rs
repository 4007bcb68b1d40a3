//! The file of the last ladder of this host, in dwell's cache directory: for hosts without a store.

use crate::{cache, output};
use model::{Ladder, Seen};
use std::path::PathBuf;
use store::ladder::{self, LadderLoadError, LadderSaveError};

/// Why there is no cache directory.
const NOWHERE: &str = "no cache directory: neither XDG_CACHE_HOME nor HOME is a directory of this user";

/// Keeps a whole ladder in the file of this host, for a host without a store; a quick one does not
/// replace a full one. An error is printed, but is no failure of the measurement.
pub(crate) fn keep(ladder: &Ladder) {
    if ladder.asked.quick && last().is_ok_and(|last| !last.asked.quick) {
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
pub(crate) fn last() -> Result<Ladder, LadderLoadError> {
    let cpu = rungs::cpu_name();
    let path = path(&cpu).ok_or(LadderLoadError::None)?;
    ladder::kept(&path, &observe::this_host(), &cpu)
}

/// The file of this host.
fn path(cpu: &Seen<String>) -> Option<PathBuf> {
    // A container may have no machine ID of its own; then its name is used.
    let machine = observe::machine_id().unwrap_or_else(|| observe::this_host().name);
    Some(cache::sheets()?.join(ladder::file_name(&machine, cpu)))
}
