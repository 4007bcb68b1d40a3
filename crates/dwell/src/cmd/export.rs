//! `dwell export`: a kept result in the format of another tool.

pub(super) mod lake;

use super::{kept, named, recordings};
use crate::cli::{ExportArgs, ExportFormat};
use crate::exit;
use crate::keep::ResultStore;
use crate::look::LookArgs;
use crate::out::{ExportResult, Kept, Outputs, Page, Paths};
use crate::output;
use crate::suggest;
use analyse::what_if::{Refused, Replayer};
use anyhow::{Context, bail};
use model::timeline::Timeline;
use model::{Header, RunResult};
use recordings::AnyReader;
use report::clean;
use report::export::tables::{Table, Tables};
use report::export::{self, Exported};
use std::path::Path;

/// Writes the result in this format; returns the exit status.
pub(crate) fn export(args: &ExportArgs, keeper: &ResultStore) -> anyhow::Result<u8> {
    let name = args.format.name();
    if let Some(form) = lake::Form::of(args.format) {
        return lake::export(args, form, keeper);
    }
    if args.detail || args.redact {
        bail!("--detail and --redact are of parquet and rows, and {name} has none\ntry: leave them out");
    }
    let [result] = &args.results[..] else {
        bail!("{name} is of one result\ntry: dwell export last --as {name}");
    };
    // Another result may be the last one before the content is read.
    let path = &named::settled(result, keeper)?;
    if args.table.is_some() && !matches!(args.format, ExportFormat::Csv | ExportFormat::Markdown) {
        bail!("--table chooses a table of csv and markdown, and {name} has none\ntry: leave it out");
    }
    let paths = Paths::from([(name.to_owned(), args.output.clone())]);
    let outputs = Outputs::open(&paths, Page::None, None, &[path])?;
    let Exported { bytes, left_out } = match of_recording(args, path, keeper)? {
        Some(exported) => exported,
        None => exported(args, path, kept::one(path, keeper)?.as_ref())?,
    };
    let outcome = outputs.write(&ExportResult(bytes), &LookArgs::default());
    if outcome.complain() {
        return Ok(exit::DWELL_FAILED);
    }
    for what in left_out {
        output::complain(&format!("{name}: {what}"));
    }
    Ok(0)
}

fn exported(args: &ExportArgs, path: &Path, result: &dyn Kept) -> anyhow::Result<Exported> {
    match args.format {
        ExportFormat::Json => match result.whole() {
            Some(bytes) => Ok(Exported { bytes, left_out: Vec::new() }),
            None => refused(args, path, result),
        },
        ExportFormat::Csv => csv(args, &result.tables()),
        ExportFormat::Markdown => markdown(args, &result.tables()),
        format => match result.export(format.name(), path)? {
            Some(exported) => Ok(exported),
            None => refused(args, path, result),
        },
    }
}

/// Says which formats a result has.
fn refused(args: &ExportArgs, path: &Path, result: &dyn Kept) -> anyhow::Result<Exported> {
    let name = args.format.name();
    let formats = result.formats();
    if formats.contains(&name) {
        bail!(
            "{path:?} is a result without its recording, of which {name} is made\n\
             try: dwell run --keep run.dwell ..., then dwell export run.dwell --as {name}"
        );
    }
    let names: Vec<&str> = ["json", "csv", "markdown"].into_iter().chain(formats).collect();
    bail!("{path:?} is a {:?}, which has no {name}\ntry: {}", result.schema(), names.join(", "))
}

/// Steps of threads in a file over time: a viewer holds no more.
const STEPS: u64 = 1_000_000;

/// The formats that are made of a recording, read step by step; none where there is no recording,
/// or what it has is in its result as well.
fn of_recording(args: &ExportArgs, path: &Path, keeper: &ResultStore) -> anyhow::Result<Option<Exported>> {
    use ExportFormat::{Hdr, Otlp, Perfetto};
    if !matches!(args.format, Perfetto | Otlp | Hdr) {
        return Ok(None);
    }
    let Some(reader) = recordings::open(path, keeper)? else { return Ok(None) };
    let header = reader.header().clone();
    let of_path = args.format != Hdr;
    // A window has no path.
    if of_path && header.attached.is_some() {
        return Ok(None);
    }
    match (replayed(&header, reader), args.format) {
        (Ok((result, timeline)), Otlp) => Ok(Some(export::otlp(&result, &timeline))),
        (Ok((result, timeline)), Hdr) => Ok(Some(export::hdr_of_waits(&result.run, Some(&timeline)))),
        (Ok((result, timeline)), _) => Ok(Some(export::perfetto(&result, &timeline))),
        // The account has octaves all the same.
        (Err(error), Hdr) if !matches!(error, Refused::Open(_)) => Ok(None),
        (Err(error), _) => Err(error).with_context(|| format!("{path:?}")),
    }
}

/// A run step by step.
pub(super) fn replayed(header: &Header, mut reader: AnyReader) -> Result<(RunResult, Timeline), Refused> {
    let mut replayer = Replayer::new(header, Vec::new())?.keeping(STEPS);
    reader.by_ref().for_each(|event| replayer.event(&event));
    let trailer = reader.end().trailer.ok_or(Refused::Unfinished)?;
    replayer.timeline(&trailer)
}

fn csv(args: &ExportArgs, tables: &Tables) -> anyhow::Result<Exported> {
    match &args.table {
        Some(name) => Ok(export::csv(table(tables, name)?)),
        None => bail!("CSV has one table\ntry: --table NAME, one of: {}", names(tables)),
    }
}

fn markdown(args: &ExportArgs, tables: &Tables) -> anyhow::Result<Exported> {
    match &args.table {
        Some(name) => Ok(export::markdown([table(tables, name)?])),
        None => Ok(export::markdown(&tables.tables)),
    }
}

fn table<'a>(tables: &'a Tables, name: &str) -> anyhow::Result<&'a Table> {
    if let Some(table) = tables.named(name) {
        return Ok(table);
    }
    let near = suggest::nearest(name, tables.names().into_iter()).join(", ");
    let meant = if near.is_empty() { names(tables) } else { clean(&near, true) };
    bail!("the result has no table {name:?}\ntry: {meant}")
}

fn names(tables: &Tables) -> String {
    clean(&tables.names().join(", "), true)
}
