//! The last ladder of this host, and the costs of operations from it. It is a result of the store;
//! where there is none, it has a file in dwell's cache directory.

use crate::keep::{Keeper, LADDER_FULL, LADDER_QUICK, this_machine};
use crate::{cache, output};
use model::{Costs, Ladder, Seen};
use std::path::PathBuf;
use store::ladder::{self, LadderLoadError, LadderSaveError};

/// Why there is no cache directory.
const NOWHERE: &str = "no cache directory: neither XDG_CACHE_HOME nor HOME is a directory of this user";

/// The last ladder of this host, if the host is as it was: a full one if there is any. From the
/// store, and from the file that had it before, or has it where there is no store.
pub(crate) fn last(keeper: &Keeper) -> Result<Ladder, LadderLoadError> {
    let newer = |a: &Ladder, b: &Ladder| (!a.asked.quick, &a.started_at) >= (!b.asked.quick, &b.started_at);
    match (in_store(keeper), in_file()) {
        (Ok(stored), Ok(filed)) => Ok(if newer(&stored, &filed) { stored } else { filed }),
        (Ok(ladder), Err(_)) | (Err(_), Ok(ladder)) => Ok(ladder),
        (Err(why), Err(LadderLoadError::None)) | (Err(_), Err(why)) => Err(why),
    }
}

fn in_store(keeper: &Keeper) -> Result<Ladder, LadderLoadError> {
    if !keeper.is_on() {
        return Err(LadderLoadError::None);
    }
    let found = keeper.in_time(|place, until| {
        let Some(store) = place.open_to_read(until)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for kind in [LADDER_FULL, LADDER_QUICK] {
            if let Some(row) = store.ladder(&this_machine(), kind)? {
                found.push((PathBuf::from(&row.id), store.json(&row)?));
            }
        }
        Ok(found)
    });
    // What is wrong with the store is said when the result is written.
    let cpu = rungs::cpu_name();
    let mut failed = LadderLoadError::None;
    for (id, json) in found.unwrap_or_default() {
        match ladder::of_host(&json, &id, &observe::this_host(), &cpu) {
            Ok(ladder) => return Ok(ladder),
            Err(why) => failed = why,
        }
    }
    Err(failed)
}

/// The costs of operations on this host, from its kept ladder.
pub(crate) fn costs(keeper: &Keeper) -> Seen<Costs> {
    match last(keeper) {
        Ok(ladder) => {
            let day = ladder.started_at.split('T').next().unwrap_or_default();
            let kind = if ladder.asked.quick { "kept quick ladder" } else { "kept ladder" };
            Seen::Value(analyse::ladder::costs(&ladder, format!("{kind} of {day}")))
        }
        Err(missing) => Seen::unseen(format!("{missing}\ntry: dwell ladder")),
    }
}

/// Keeps a whole ladder in the file of this host, for a host without a store; a quick one does not
/// replace a full one. An error is printed, but is no failure of the measurement.
pub(crate) fn keep_in_file(ladder: &Ladder) {
    if ladder.asked.quick && in_file().is_ok_and(|last| !last.asked.quick) {
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
fn in_file() -> Result<Ladder, LadderLoadError> {
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
