//! Whose code the time is of: which frames are the program's own, and not a library's, a runtime's
//! or an interpreter's; and the account by these.
//!
//! A person changes the own code, so that is what tables begin with. What is taken for it only
//! orders and names rows; no time depends on it.

mod places;

use super::lock_functions;
use crate::code::own::{self as frames, OwnFrames};
use model::together::Folded;
use model::{CodePlace, Profile, Run, Seen};

/// The account by own code, and what was put together of it.
pub(super) fn places(run: &Run, profile: &Profile) -> (Vec<CodePlace>, Option<Folded>) {
    places::bounded(places::of(run, profile, &OwnFrames::of(profile)))
}

/// Marks the rows and frames that are the program's own code.
pub(super) fn mark(run: &mut Run, profile: &mut Profile) {
    let frames = OwnFrames::of(profile);
    if let Seen::Value(rows) = &mut run.tables.functions {
        rows.iter_mut().for_each(|row| row.own = frames.function(&row.name, &row.module).is_own());
    }
    if let Seen::Value(rows) = &mut run.tables.lines {
        rows.iter_mut().for_each(|row| row.own = frames::of_line(row).is_own());
    }
    for row in &mut run.waits {
        row.own_frame = row.stack.value().and_then(|stack| frames.own_in(stack));
        row.ended = lock_functions::ended(row);
    }
    profile.frames.iter_mut().for_each(|frame| frame.own = frames::of_frame(frame).is_own());
}
