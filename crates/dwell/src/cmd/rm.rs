//! `dwell rm`: kept results that go.

use super::named;
use crate::cli::RmArgs;
use crate::keep::ResultStore;
use anyhow::{Context, bail};
use std::path::Path;
use store::results::ResultRow;

/// Removes all of them, or none; returns the exit status.
pub(crate) fn rm(args: &RmArgs, keeper: &ResultStore) -> anyhow::Result<u8> {
    let mut rows: Vec<ResultRow> = Vec::new();
    for id in &args.ids {
        let row = named::of_store(Path::new(id), keeper)?;
        if let Some(tag) = row.tags.first().filter(|_| !args.force) {
            let tag = report::clean(tag, true);
            bail!("result {} has the tag {tag:?}\ntry: dwell rm --force {}", row.id, row.id);
        }
        rows.push(row);
    }
    let first = args.ids.first().context("no result")?;
    named::change(first, keeper, |store, _| {
        store.remove(&rows)?;
        Ok(0)
    })
}
