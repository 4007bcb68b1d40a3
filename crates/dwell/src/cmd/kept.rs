//! What a path or an ID names: a run, which may have a recording, or results of any kind.

use super::recordings;
use super::results::{self, Unread};
use crate::cmd::named;
use crate::keep::ResultStore;
use crate::out::{Kept, RunOutput};
use std::any::Any;
use std::path::Path;

/// What was found.
pub(super) enum Found {
    /// One run, or window.
    Run(Box<RunOutput>),
    /// Other results; several where they are of a page.
    Others(Vec<Box<dyn Kept>>),
}

/// What is of this name. A run is as it was found, where that was kept, or from its recording by
/// the rules of today.
///
/// # Errors
/// There is nothing of this name, or it cannot be read.
pub(super) fn find(path: &Path, keeper: &ResultStore) -> anyhow::Result<Found> {
    let of_store = named::find(path, keeper)?.is_some();
    let found = if of_store { Some(found(read(path, keeper)?)) } else { None };
    match found {
        // Of an older version the recording tells more.
        Some(Found::Run(run)) if run.result.profile.value().is_none() => {
            Ok(of_recording(path, keeper)?.unwrap_or(Found::Run(run)))
        }
        Some(found) => Ok(found),
        None => match of_recording(path, keeper)? {
            Some(run) => Ok(run),
            None => read(path, keeper).map(self::found),
        },
    }
}

/// All results of this name.
///
/// # Errors
/// As of [`find`].
pub(super) fn all(path: &Path, keeper: &ResultStore) -> anyhow::Result<Vec<Box<dyn Kept>>> {
    Ok(match find(path, keeper)? {
        Found::Run(run) => vec![run],
        Found::Others(results) => results,
    })
}

/// The result of this name, where it is the only one.
///
/// # Errors
/// As of [`find`]; there are several.
pub(super) fn one(path: &Path, keeper: &ResultStore) -> anyhow::Result<Box<dyn Kept>> {
    results::one(path, all(path, keeper)?)
}

fn read(path: &Path, keeper: &ResultStore) -> anyhow::Result<Vec<Box<dyn Kept>>> {
    results::all(path, keeper)?.into_iter().map(Unread::any).collect()
}

fn of_recording(path: &Path, keeper: &ResultStore) -> anyhow::Result<Option<Found>> {
    let Some(reader) = recordings::open(path, keeper)? else { return Ok(None) };
    recordings::analysed(reader, path).map(|run| Some(Found::Run(Box::new(run))))
}

fn found(mut results: Vec<Box<dyn Kept>>) -> Found {
    if results.len() == 1
        && let Some(run) = results.pop_if(|result| (result.as_ref() as &dyn Any).is::<RunOutput>())
        && let Ok(run) = (run as Box<dyn Any>).downcast::<RunOutput>()
    {
        return Found::Run(run);
    }
    Found::Others(results)
}
