//! `dwell export --as parquet|rows`: results as rows of tables, in files below a directory.
//!
//! A result has a file of its own in each table, `TABLE/day=2026-11-29/ID.parquet`, named after
//! nothing that a file or a program says. So a result that is exported again replaces itself,
//! whoever does it, in which form and how often. Each file is there whole or not at all, and that
//! of `results` comes last.

use crate::cli::{ExportArgs, ExportFormat};
use crate::cmd::{kept, named, results};
use crate::exit;
use crate::keep::ResultStore;
use crate::out::Kept;
use crate::output::{self, Target};
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::mem;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;
use store::results::{Filter, Found, Named, ResultRow};
use sys::output_file::make_directories;
use tables::{Options, TableRows};

/// How rows are written.
#[derive(Debug, Clone, Copy)]
pub(in crate::cmd) enum Form {
    Parquet,
    Rows,
}

impl Form {
    /// That of a format, if it is one of tables.
    pub(super) fn of(format: ExportFormat) -> Option<Self> {
        match format {
            ExportFormat::Parquet => Some(Self::Parquet),
            ExportFormat::Rows => Some(Self::Rows),
            _ => None,
        }
    }

    /// The name of the file of a result.
    pub(in crate::cmd) fn file(self, id: &str) -> String {
        let extension = match self {
            Self::Parquet => "parquet",
            Self::Rows => "jsonl.gz",
        };
        format!("{id}.{extension}")
    }

    fn bytes(self, rows: &TableRows) -> anyhow::Result<Vec<u8>> {
        Ok(match self {
            Self::Parquet => tables::parquet(rows)?,
            Self::Rows => tables::jsonl(rows)?,
        })
    }
}

/// Writes the results that are named, or all of the store; returns the exit status.
pub(super) fn export(args: &ExportArgs, form: Form, keeper: &ResultStore) -> anyhow::Result<u8> {
    let name = args.format.name();
    if args.table.is_some() || args.output.path().is_some() {
        bail!("{name} is files of all tables below a directory\ntry: dwell export last --as {name} DIR");
    }
    let Some((dir, names)) = args.results.split_last().filter(|(dir, _)| is_directory(dir)) else {
        bail!("the directory of the tables is missing\ntry: dwell export last --as {name} DIR");
    };
    let options = Options { detail: args.detail, redact: args.redact };
    let without = BTreeMap::new();
    let mut lake = Lake { dir, form, options, ready: Vec::new(), written: 0, failed: 0, without };
    if names.is_empty() {
        lake.add_all(keeper)?;
    } else {
        for name in names {
            lake.add_named(name, keeper)?;
        }
    }
    lake.write_ready()?;
    lake.told()
}

/// Whether it is one, or may become one: a file or the name of a result is no directory.
fn is_directory(path: &Path) -> bool {
    match path.metadata() {
        Ok(found) => found.is_dir(),
        Err(_) => path.to_str().and_then(Named::read).is_none(),
    }
}

/// Results that are written at once. Each file is brought to the disk before it has its name: a
/// file system brings those of several to it together, in the time that one takes.
const AT_ONCE: usize = 32;

/// The files of a result, which are not written yet.
struct Ready {
    day: String,
    id: String,
    files: Vec<(&'static str, Vec<u8>)>,
}

/// The directory with the tables.
struct Lake<'a> {
    dir: &'a Path,
    form: Form,
    options: Options,
    ready: Vec<Ready>,
    written: u64,
    failed: u64,
    /// Results of kinds that have no rows, by their schema.
    without: BTreeMap<&'static str, u64>,
}

impl Lake<'_> {
    fn add_all(&mut self, keeper: &ResultStore) -> anyhow::Result<()> {
        // There may be a million: the names alone are read at once. What follows takes long, and is
        // written with the rights of whoever asks, not with those of the store's user.
        let ids = keeper.at_length(|place| {
            let mut ids = Vec::new();
            named::read(place)?.each(&Filter::default(), usize::MAX, |row| {
                ids.push(row.id);
                true
            })?;
            Ok(ids)
        })?;
        ids.into_iter().try_for_each(|id| self.add_kept(&id, keeper))
    }

    /// Adds a result of the store, also where a file is called as it is.
    fn add_kept(&mut self, id: &str, keeper: &ResultStore) -> anyhow::Result<()> {
        let path = Path::new(id);
        let found = keeper.at_length(|place| {
            let store = named::read(place)?;
            let named = Named::read(id).with_context(|| format!("{id:?} is no ID of a result"))?;
            match store.find(&named)? {
                Found::One(row) => Ok(Some((store.json(&row)?, row))),
                // It was deleted meanwhile.
                Found::None | Found::Several(_) => Ok(None),
            }
        });
        let read = |(json, row): (Vec<u8>, Box<ResultRow>)| Ok((results::read(path, &json)?, row));
        match found.and_then(|found| found.map(read).transpose()) {
            Ok(Some((result, row))) => self.add(path, result.as_ref(), Some(&row)),
            Ok(None) => Ok(()),
            Err(error) => {
                self.unread(&error);
                Ok(())
            }
        }
    }

    fn add_named(&mut self, name: &Path, keeper: &ResultStore) -> anyhow::Result<()> {
        let found = named::settled(name, keeper).and_then(|path| {
            let row = named::find(&path, keeper)?;
            Ok((kept::all(&path, keeper)?, row, path))
        });
        match found {
            Ok((results, row, path)) => {
                results.iter().try_for_each(|result| self.add(&path, result.as_ref(), row.as_ref()))
            }
            Err(error) => {
                self.unread(&error);
                Ok(())
            }
        }
    }

    /// One that cannot be read is no reason to leave out the others.
    fn unread(&mut self, error: &anyhow::Error) {
        self.failed += 1;
        output::complain(&output::clean_lines(&format!("{error:#}")));
    }

    /// # Errors
    /// The directory cannot be written: nothing more can.
    fn add(&mut self, path: &Path, result: &dyn Kept, row: Option<&ResultRow>) -> anyhow::Result<()> {
        match result.rows(&beside(row), self.options) {
            Some(Ok(rows)) => {
                for one in rows {
                    let files = one.tables.iter().map(|of| Ok((of.table.name, self.form.bytes(of)?)));
                    let files = files.collect::<anyhow::Result<Vec<_>>>()?;
                    // What is named later replaces what is there of the same result.
                    if self.ready.iter().any(|other| other.id == one.id) {
                        self.write_ready()?;
                    }
                    self.ready.push(Ready { day: one.day, id: one.id, files });
                }
                if self.ready.len() >= AT_ONCE {
                    self.write_ready()?;
                }
            }
            Some(Err(tables::NoTime(text))) => {
                self.unread(&anyhow::anyhow!("{path:?} began at {text:?}, which is no time"));
            }
            None => *self.without.entry(result.schema()).or_default() += 1,
        }
        Ok(())
    }

    /// Writes what is ready.
    ///
    /// # Errors
    /// As [`put`].
    fn write_ready(&mut self) -> anyhow::Result<()> {
        let (dir, form, ready) = (self.dir, self.form, mem::take(&mut self.ready));
        self.written += ready.len() as u64;
        thread::scope(|scope| {
            let write = |one: Ready| scope.spawn(move || put(dir, form, &one.day, &one.id, one.files));
            let writers: Vec<_> = ready.into_iter().map(write).collect();
            writers
                .into_iter()
                .try_for_each(|writer| writer.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })
    }

    /// Says what was left out; the exit status.
    fn told(&self) -> anyhow::Result<u8> {
        for (schema, count) in &self.without {
            let results = report::units::counted(*count, "result");
            output::complain(&format!("{results} of {schema:?}: that kind has no rows"));
        }
        if self.failed > 0 {
            return Ok(exit::DWELL_FAILED);
        }
        if self.written == 0 {
            bail!("no result has rows\ntry: results of dwell run, attach, wake, ladder or compare");
        }
        Ok(0)
    }
}

/// What the store has beside a result.
pub(in crate::cmd) fn beside(row: Option<&ResultRow>) -> tables::Kept {
    tables::Kept {
        kept_at_s: row.map(|row| row.at_s),
        note: row.and_then(|row| row.note.clone()),
        tags: row.map(|row| row.tags.clone()).unwrap_or_default(),
        ..tables::Kept::default()
    }
}

/// Writes the files of a result, by table, in place of those of an earlier time.
///
/// # Errors
/// The directory cannot be written.
pub(in crate::cmd) fn put<T: AsRef<str>>(
    dir: &Path,
    form: Form,
    day: &str,
    id: &str,
    files: impl IntoIterator<Item = (T, Vec<u8>)>,
) -> anyhow::Result<()> {
    remove(dir, day, id)?;
    for (table, bytes) in files {
        let within = dir.join(self::within(table.as_ref(), day));
        make_directories(&within).with_context(|| format!("cannot make the directory {within:?}"))?;
        Target::open(&within.join(form.file(id)))?.put(bytes)?;
    }
    Ok(())
}

/// Removes what an earlier export wrote of a result: it may have tables that this one has not, and
/// names that are to be taken out. `results` goes first: without it the others are of none.
fn remove(dir: &Path, day: &str, id: &str) -> anyhow::Result<()> {
    for table in tables::TABLES {
        for form in [Form::Parquet, Form::Rows] {
            let path = dir.join(within(table.name, day)).join(form.file(id));
            match fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => return Err(error).with_context(|| format!("cannot remove {path:?}")),
            }
        }
    }
    Ok(())
}

/// The directory of a table's files of a day.
pub(in crate::cmd) fn within(table: &str, day: &str) -> String {
    format!("{table}/day={day}")
}
