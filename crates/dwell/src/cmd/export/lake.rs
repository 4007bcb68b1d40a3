//! `dwell export --as parquet|rows`: results as rows of tables, in files below a directory.
//!
//! A result has a file of its own in each table, `TABLE/day=2026-11-29/ID.parquet`, named after
//! nothing that a file or a program says. So a result that is exported again replaces itself,
//! whoever does it and how often. Each file is there whole or not at all, and that of `results`
//! comes last.

use crate::cli::{ExportArgs, ExportFormat};
use crate::cmd::{kept, named, results};
use crate::exit;
use crate::keep::ResultStore;
use crate::out::Kept;
use crate::output::{self, Target};
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use store::results::{Filter, Named, ResultRow};
use tables::{Options, TableRows};

/// How rows are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
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

    /// The end of the names of its files.
    fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Rows => "jsonl.gz",
        }
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
    let mut lake = Lake { dir, form, options, written: 0, failed: 0, without: BTreeMap::new() };
    if names.is_empty() {
        lake.add_all(keeper)?;
    } else {
        for name in names {
            lake.add_named(name, keeper)?;
        }
    }
    lake.told()
}

/// Whether it is one, or may become one: a file or the name of a result is no directory.
fn is_directory(path: &Path) -> bool {
    match path.metadata() {
        Ok(found) => found.is_dir(),
        Err(_) => path.to_str().and_then(Named::read).is_none(),
    }
}

/// The directory with the tables.
struct Lake<'a> {
    dir: &'a Path,
    form: Form,
    options: Options,
    written: u64,
    failed: u64,
    /// Results of kinds that have no rows, by their schema.
    without: BTreeMap<&'static str, u64>,
}

impl Lake<'_> {
    fn add_all(&mut self, keeper: &ResultStore) -> anyhow::Result<()> {
        // One after another: there may be a million.
        let mut stopped = Ok(());
        keeper.at_length(|place| {
            let store = named::read(place)?;
            store.each(&Filter::default(), usize::MAX, |row| {
                let path = PathBuf::from(&row.id);
                let result = store.json(&row).map_err(anyhow::Error::from);
                match result.and_then(|json| results::read(&path, &json)) {
                    Ok(result) => stopped = self.add(&path, result.as_ref(), Some(&row)),
                    Err(error) => self.unread(&error),
                }
                stopped.is_ok()
            })?;
            Ok(())
        })?;
        stopped
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
        let beside = tables::Kept {
            kept_at_s: row.map(|row| row.at_s),
            note: row.and_then(|row| row.note.clone()),
            tags: row.map(|row| row.tags.clone()).unwrap_or_default(),
            ..tables::Kept::default()
        };
        match result.rows(&beside, self.options) {
            Some(Ok(rows)) => {
                for one in &rows {
                    for table in &one.tables {
                        self.write(&one.day, &one.id, table)?;
                    }
                    self.written += 1;
                }
            }
            Some(Err(tables::NoTime(text))) => {
                self.unread(&anyhow::anyhow!("{path:?} began at {text:?}, which is no time"));
            }
            None => *self.without.entry(result.schema()).or_default() += 1,
        }
        Ok(())
    }

    fn write(&self, day: &str, id: &str, table: &TableRows) -> anyhow::Result<()> {
        let dir = self.dir.join(table.table.name).join(format!("day={day}"));
        fs::create_dir_all(&dir).with_context(|| format!("cannot make the directory {dir:?}"))?;
        let path = dir.join(format!("{id}.{}", self.form.extension()));
        Target::open(&path)?.put(self.form.bytes(table)?)?;
        Ok(())
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
