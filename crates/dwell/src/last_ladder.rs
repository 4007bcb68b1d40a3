//! The last ladder of this host, and the costs of operations from it. It is a result of the store;
//! where there is none, it has a file.

use crate::keep::{READING, ResultStore};
use crate::ladder_file;
use crate::out::{LADDER_FULL, LADDER_QUICK, this_machine};
use model::{Costs, Ladder, Seen};
use std::path::PathBuf;
use store::ladder::{self, LadderLoadError};

/// The last ladder of this host, if the host is as it was: a full one if there is any. From the
/// store, and from the file that had it before, or has it where there is no store.
pub(crate) fn last(keeper: &ResultStore) -> Result<Ladder, LadderLoadError> {
    let newer = |a: &Ladder, b: &Ladder| (!a.asked.quick, &a.started_at) >= (!b.asked.quick, &b.started_at);
    match (in_store(keeper), ladder_file::last()) {
        (Ok(stored), Ok(filed)) => Ok(if newer(&stored, &filed) { stored } else { filed }),
        (Ok(ladder), Err(_)) | (Err(_), Ok(ladder)) => Ok(ladder),
        (Err(why), Err(LadderLoadError::None)) | (Err(_), Err(why)) => Err(why),
    }
}

fn in_store(keeper: &ResultStore) -> Result<Ladder, LadderLoadError> {
    if !keeper.is_read() {
        return Err(LadderLoadError::None);
    }
    let found = keeper.in_time(READING, |place, until| {
        let Some(store) = place.open_to_read(until)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for kind in [LADDER_FULL, LADDER_QUICK] {
            if let Some(row) = store.ladder(&this_machine(), kind)? {
                found.push((PathBuf::from(&row.id), store.json(&row)?));
            }
        }
        Ok(found)
    });
    // Errors of the store are reported when the result is written.
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
pub(crate) fn costs(keeper: &ResultStore) -> Seen<Costs> {
    match last(keeper) {
        Ok(ladder) => {
            let day = ladder.started_at.split('T').next().unwrap_or_default();
            let kind = if ladder.asked.quick { "kept quick ladder" } else { "kept ladder" };
            Seen::Value(analyse::ladder::costs(&ladder, format!("{kind} of {day}")))
        }
        Err(missing) => Seen::unseen(format!("{missing}\ntry: dwell ladder")),
    }
}
