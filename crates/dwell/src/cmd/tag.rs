//! `dwell tag`: names for results that are to stay.

use super::named;
use crate::cli::TagArgs;
use crate::keep::ResultStore;

/// Gives tags and takes them away; returns the exit status.
pub(crate) fn tag(args: &TagArgs, keeper: &ResultStore) -> anyhow::Result<u8> {
    named::change(&args.id, keeper, |store, row| {
        store.tag(row, &args.tags, &args.remove)?;
        Ok(0)
    })
}
