//! Whose code the time is of: which frames are the program's own, and not a library's, a runtime's
//! or an interpreter's; and the account by these.
//!
//! A person changes the own code, so that is what tables begin with. What is taken for it only
//! orders and names rows; no time depends on it.

mod frames;
mod places;

use super::Evidence;
use frames::OwnFrames;
use model::run::{FunctionRow, LineRow};
use model::whose::Whose;

/// Of a run.
pub(super) fn of(evidence: &Evidence<'_>) -> Whose {
    let frames = OwnFrames::of(evidence.profile);
    let own_function = |row: &FunctionRow| frames.function(&row.name, &row.module).is_own();
    let own_line = |row: &LineRow| frames::of_line(row).is_own();
    let functions = evidence.functions.value().map_or(&[][..], Vec::as_slice);
    let lines = evidence.lines.value().map_or(&[][..], Vec::as_slice);
    Whose {
        places: places::of(evidence, &frames),
        waits: evidence.waits.iter().map(|wait| frames.own_in(wait.stack.value()?)).collect(),
        functions: functions.iter().map(own_function).collect(),
        lines: lines.iter().map(own_line).collect(),
        frames: evidence.profile.frames.iter().map(|frame| frames::of_frame(frame).is_own()).collect(),
    }
}
