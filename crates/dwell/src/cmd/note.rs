//! `dwell note`: a text beside a kept result.

use super::named;
use crate::cli::NoteArgs;
use crate::keep::ResultStore;

/// Writes the note or takes it away; returns the exit status.
pub(crate) fn note(args: &NoteArgs, keeper: &ResultStore) -> anyhow::Result<u8> {
    let text = args.text.join(" ");
    named::change(&args.id, keeper, |store, row| {
        store.note(row, (!args.remove).then_some(&text))?;
        Ok(0)
    })
}
