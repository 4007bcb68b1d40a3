//! Results by their names on a command line: the one resolver of IDs, `last` and `last-1`.
//!
//! What is a file by its path is that file, also if it is called as a result is.

use crate::keep::{ResultStore, StorePath};
use crate::output;
use crate::suggest;
use anyhow::{Context, anyhow, bail};
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use store::Reader;
use store::results::{Found, Named, ResultRow, Store};

/// How long others are waited for, where the user asked for something of the store.
const PATIENCE: Duration = Duration::from_secs(10);

/// The name by which a result is read later: the whole ID of a result, or the path of a file.
///
/// # Errors
/// There is no such result, or several.
pub(super) fn settled(path: &Path, keeper: &ResultStore) -> anyhow::Result<PathBuf> {
    Ok(find(path, keeper)?.map_or_else(|| path.to_owned(), |row| row.id.into()))
}

/// The JSON of the result of this name; none if the name is that of a file.
///
/// # Errors
/// There is no such result, or several; it is damaged.
pub(super) fn json(path: &Path, keeper: &ResultStore) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(named) = named(path) else { return Ok(None) };
    keeper.at_length(|place| {
        let store = read(place)?;
        let row = one(&store, path, &named)?;
        Ok(Some(store.json(&row)?))
    })
}

/// The row of the result of this name; none if the name is that of a file.
///
/// # Errors
/// There is no such result, or several.
pub(super) fn find(path: &Path, keeper: &ResultStore) -> anyhow::Result<Option<ResultRow>> {
    let Some(named) = named(path) else { return Ok(None) };
    keeper.at_length(|place| one(&read(place)?, path, &named).map(Some))
}

/// The recording of a kept result, as it is read.
///
/// # Errors
/// It cannot be read.
pub(super) fn recording(
    row: &ResultRow,
    keeper: &ResultStore,
) -> anyhow::Result<Reader<Box<dyn std::io::Read + Send>>> {
    keeper.at_length(|place| {
        let path = read(place)?.recording(&row.id);
        let unpacked = store::results::unpacked(&path).with_context(|| format!("cannot read {path:?}"))?;
        let unpacked: Box<dyn std::io::Read + Send> = Box::new(unpacked);
        Ok(Reader::new(unpacked, &path)?.of_user(place.owner()))
    })
}

/// The row of a result that is named where no file can be meant.
///
/// # Errors
/// There is no such result, or several.
pub(super) fn of_store(path: &Path, keeper: &ResultStore) -> anyhow::Result<ResultRow> {
    let named = path.to_str().and_then(Named::read).with_context(|| no_name(path))?;
    keeper.at_length(|place| one(&read(place)?, path, &named))
}

/// Changes a kept result.
///
/// # Errors
/// There is no such result, or several; the store cannot be written.
pub(super) fn change<T: Send>(
    id: &str,
    keeper: &ResultStore,
    what: impl FnOnce(&mut Store, &ResultRow) -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    let path = Path::new(id);
    let named = Named::read(id).with_context(|| no_name(path))?;
    keeper.at_length(|place| {
        // Looking for what is not there makes no store.
        drop(read(place)?);
        let mut store = place.open(Instant::now() + PATIENCE)?;
        let row = one(&store, path, &named)?;
        what(&mut store, &row)
    })
}

/// Changes the store, if there is one.
///
/// # Errors
/// There is none, or it cannot be written.
pub(super) fn changed<T: Send>(
    keeper: &ResultStore,
    what: impl FnOnce(&mut Store) -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    keeper.at_length(|place| {
        drop(read(place)?);
        what(&mut place.open(Instant::now() + PATIENCE)?)
    })
}

/// The store, if there is one.
pub(super) fn read(place: &StorePath) -> anyhow::Result<Store> {
    let store = place.open_to_read(Instant::now() + PATIENCE)?;
    store.with_context(|| {
        format!("no result was kept yet: there is no {:?}\ntry: dwell run CMD", place.path())
    })
}

/// The name of a result, where nothing of that name is in the file system.
fn named(path: &Path) -> Option<Named> {
    if path.symlink_metadata().is_ok() {
        return None;
    }
    Named::read(path.to_str()?)
}

fn one(store: &Store, path: &Path, named: &Named) -> anyhow::Result<ResultRow> {
    match store.find(named)? {
        Found::One(row) => Ok(*row),
        Found::None => bail!("no result is called {path:?} in {:?}\ntry: dwell list", store.path()),
        Found::Several(rows) => {
            let lines: Vec<_> = rows.iter().map(line).collect();
            bail!("several results begin with {path:?}:\n{}", lines.join("\n"))
        }
    }
}

/// Says that there is no such file, and which are called nearly so; else what is expected.
pub(super) fn missing(path: &Path, expected: &str) -> anyhow::Error {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let above = store::above(path).map(Path::to_owned).unwrap_or_default();
    let entries = std::fs::read_dir(&above).into_iter().flatten().flatten();
    let is_file = |entry: &DirEntry| entry.file_type().is_ok_and(|of| !of.is_dir());
    let names: Vec<String> =
        entries.filter(is_file).filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let near = suggest::nearest(&name, names.iter().map(String::as_str));
    let try_these = match near.as_slice() {
        [] => expected.to_owned(),
        // What has no directory may as well be the ID of a result, mistyped.
        near if path.components().count() == 1 => {
            report::clean(&format!("{}, or dwell list", near.join(", ")), true)
        }
        near => report::clean(&near.join(", "), true),
    };
    anyhow!("cannot read {path:?}: there is no such file\ntry: {try_these}")
}

/// One of several results, in a line of a terminal.
fn line(row: &ResultRow) -> String {
    const COMMAND: usize = 60;
    let mut command: String = row.command.chars().take(COMMAND).collect();
    command.push_str(if command.len() < row.command.len() { "…" } else { "" });
    report::clean(&format!("  {}  {:7}  {command}", row.id, row.verb), true)
}

fn no_name(path: &Path) -> String {
    output::clean_lines(&format!("{path:?} is no ID of a result\ntry: dwell list, last, last-1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_is_cut_where_several_results_are_named() {
        let row = |command: &str| ResultRow { command: command.to_owned(), ..ResultRow::default() };
        assert!(line(&row("make -j2")).ends_with("make -j2"));
        let long = line(&row(&"x\u{1b}".repeat(2000)));
        assert!(long.ends_with('…') && long.len() < 250 && !long.contains('\u{1b}'), "{long}");
    }
}
