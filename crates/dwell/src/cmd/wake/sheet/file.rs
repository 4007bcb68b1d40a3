//! The file of an unfinished sheet: where a new one lies, and which one goes on.

use crate::cache;
use crate::cli::{VERSION, WakeArgs};
use crate::out::OutputPath;
use crate::output::clean_lines;
use anyhow::{Context, anyhow, bail};
use model::recording::Host;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, process};
use store::unfinished::{LockedSheet, ResumeError, Resumer, Unfinished};
use sys::clock::{rfc3339, unix_s};

/// The suffix of unfinished sheets.
const SUFFIX: &str = ".unfinished";

/// The file of an unfinished sheet.
pub(super) enum SheetFile {
    /// To be created.
    New(PathBuf),
    /// Locked by this process.
    Old(LockedSheet),
}

impl SheetFile {
    pub(super) fn path(&self) -> &Path {
        match self {
            SheetFile::New(path) => path,
            SheetFile::Old(held) => held.path(),
        }
    }

    /// Writes the sheet so far; the file stays locked.
    pub(super) fn hold(self, unfinished: &Unfinished) -> anyhow::Result<LockedSheet> {
        match self {
            SheetFile::New(path) => Ok(LockedSheet::begin(&path, unfinished)?),
            SheetFile::Old(mut held) => {
                held.keep(unfinished)?;
                Ok(held)
            }
        }
    }
}

/// The sheet at `path`, or the newest. Its result goes to its own outputs and to those on the
/// command line.
pub(super) fn resumed(path: &Path, args: &WakeArgs) -> anyhow::Result<(Unfinished, SheetFile)> {
    let here = Here::now();
    let (held, mut unfinished) = if path.as_os_str().is_empty() {
        newest(&here)?
    } else {
        LockedSheet::resume(&absolute(path)?, here.resumer()).map_err(cannot)?
    };
    unfinished.outputs.extend(given(args)?);
    unfinished.process = process::id();
    Ok((unfinished, SheetFile::Old(held)))
}

/// This host, user and version.
struct Here {
    host: Host,
    uid: u32,
}

impl Here {
    fn now() -> Self {
        Self { host: observe::this_host(), uid: sys::user::effective_uid() }
    }

    fn resumer(&self) -> Resumer<'_> {
        Resumer { host: &self.host, recorder: VERSION, uid: self.uid }
    }
}

fn cannot(error: ResumeError) -> anyhow::Error {
    // Some errors quote the file.
    anyhow!("{}", clean_lines(&error.to_string()))
}

/// The newest unfinished sheet of this user and this host.
fn newest(here: &Here) -> anyhow::Result<(LockedSheet, Unfinished)> {
    let dirs = [Some(absolute(Path::new("."))?), cache::sheets()];
    let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in dirs.iter().flatten().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten() {
        let path = entry.path();
        let changed = entry.metadata().ok().filter(|found| {
            found.is_file() && found.uid() == here.uid && path.to_string_lossy().ends_with(SUFFIX)
        });
        found.extend(changed.and_then(|found| Some((found.modified().ok()?, path))));
    }
    found.sort_unstable();
    for (_, path) in found.into_iter().rev() {
        match LockedSheet::resume(&path, here.resumer()) {
            Err(
                ResumeError::Other(_)
                | ResumeError::Unreadable { .. }
                | ResumeError::Elsewhere { what: "name", .. },
            ) => {}
            resumed => return resumed.map_err(cannot),
        }
    }
    let dirs: Vec<String> = dirs.iter().flatten().map(|dir| format!("{dir:?}")).collect();
    bail!(
        "no unfinished sheet of this host in {}\n\
         try: in the directory of its --json, or dwell wake --resume FILE",
        dirs.join(" or ")
    )
}

/// The path of a new unfinished sheet: next to its result, or in the cache directory.
pub(super) fn new_path(args: &WakeArgs) -> anyhow::Result<PathBuf> {
    let result = args.outputs.forms.get("json").and_then(OutputPath::path).filter(|path| {
        // There is no directory for it next to a device or a pipe.
        !path.exists() || path.is_file()
    });
    let path = match result {
        Some(result) => {
            let mut name = absolute(result)?.into_os_string();
            name.push(SUFFIX);
            PathBuf::from(name)
        }
        None => {
            let dir = cache::sheets().context("no cache directory to keep the sheet in\ntry: --json FILE")?;
            let now = rfc3339(unix_s()).replace(['-', ':'], "");
            dir.join(format!("sheet-{now}-{}{SUFFIX}", process::id()))
        }
    };
    if path.exists() {
        if let Err(busy @ ResumeError::Busy { .. }) = LockedSheet::resume(&path, Here::now().resumer()) {
            return Err(cannot(busy));
        }
        bail!(
            "{path:?} is an unfinished sheet\n\
             try: dwell wake --resume {path:?}, or another file for --json"
        );
    }
    Ok(path)
}

/// The outputs on the command line, as absolute paths: the sheet may be resumed in another
/// directory.
pub(super) fn given(args: &WakeArgs) -> anyhow::Result<BTreeMap<String, OsString>> {
    let whole = |(form, path): (&String, &OutputPath)| {
        let text = match path {
            OutputPath::Stdout => path.text(),
            OutputPath::File(path) => absolute(path)?.into_os_string(),
        };
        Ok((form.clone(), text))
    };
    args.outputs.forms.iter().map(whole).collect()
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot make {path:?} absolute"))
}
