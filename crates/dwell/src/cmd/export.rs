//! `dwell export`: a kept result in the format of another tool.

use super::named;
use super::recordings::{self, AnyReader, Kept};
use super::results;
use crate::cli::{ExportArgs, ExportFormat};
use crate::exit;
use crate::keep::Keeper;
use crate::look::LookArgs;
use crate::out::{
    CodeArgs, ExportResult, LadderResult, Outputs, Page, Paths, RunOutput, SheetResult, WakeResult, in_form,
};
use crate::output;
use crate::suggest;
use analyse::what_if::{Refused, Replayer};
use anyhow::{Context, bail};
use model::compare::commands::{Comparison, SCHEMA_COMPARE};
use model::doctor::{Doctor, SCHEMA_DOCTOR};
use model::lab::{LabRun, SCHEMA_LAB, SCHEMA_SCORE};
use model::ladder::SCHEMA_LADDER;
use model::run::{SCHEMA_ATTACH, SCHEMA_RUN};
use model::timeline::Timeline;
use model::wake::load::{LoadRun, SCHEMA_LOAD};
use model::wake::sheet::SCHEMA_SHEET;
use model::wake::{SCHEMA_WAKE, Wakeups};
use model::what_if::{SCHEMA_WHAT_IF, WhatIf};
use model::{Header, Run, RunResult, Seen};
use report::export::tables::Tables;
use report::export::{self, Exported};
use report::profile::{self, ProfileMetadata};
use report::{clean, compare};
use serde_json::Value;
use std::path::Path;

/// Writes the result in this format; returns the exit status.
pub(crate) fn export(mut args: ExportArgs, keeper: &Keeper) -> anyhow::Result<u8> {
    // Another result may be the last one before the content is read.
    args.result = named::settled(&args.result, keeper)?;
    let args = &args;
    let name = args.format.name();
    if args.table.is_some() && !matches!(args.format, ExportFormat::Csv | ExportFormat::Markdown) {
        bail!("--table chooses a table of csv and markdown, and {name} has none\ntry: leave it out");
    }
    let paths = Paths::from([(name.to_owned(), args.output.clone())]);
    let outputs = Outputs::open(&paths, Page::None, None, &[&args.result])?;
    let Exported { bytes, left_out } = match args.format {
        ExportFormat::Perfetto | ExportFormat::Otlp => over_time(args, keeper)?,
        ExportFormat::Hdr => hdr(args, keeper)?,
        _ => exported(args, &open(&args.result, keeper)?)?,
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

/// What is exported.
enum Opened {
    /// A run.
    Run(Box<RunOutput>),
    /// A comparison.
    Comparison(Box<Comparison>),
    /// Latencies of wake-ups.
    Wake(Box<WakeResult>),
    /// Several of them.
    Sheet(Box<SheetResult>),
    /// A ladder.
    Ladder(Box<LadderResult>),
    /// Any other result, which has tables only.
    Other { schema: String, tables: Tables },
}

impl Opened {
    fn schema(&self) -> &str {
        match self {
            Self::Run(output) => output.result.run.schema,
            Self::Comparison(comparison) => &comparison.schema,
            Self::Wake(_) => SCHEMA_WAKE,
            Self::Sheet(_) => SCHEMA_SHEET,
            Self::Ladder(_) => SCHEMA_LADDER,
            Self::Other { schema, .. } => schema,
        }
    }

    /// The formats that it has besides tables, and whether they need its recording.
    fn formats(&self) -> (&'static [ExportFormat], bool) {
        use ExportFormat::{
            Firefox, Folded, Hdr, Hyperfine, Hyperfine1, Junit, Otlp, Perfetto, Png, Pprof, Speedscope, Svg,
        };
        match self.schema() {
            SCHEMA_RUN => (&[Pprof, Perfetto, Otlp, Hdr, Firefox, Speedscope, Folded], true),
            SCHEMA_ATTACH => (&[Pprof, Hdr, Firefox, Speedscope, Folded], true),
            SCHEMA_WAKE => (&[Hdr, Svg, Png, Junit], false),
            SCHEMA_SHEET => (&[Svg, Png, Junit], false),
            SCHEMA_LADDER => (&[Svg, Png], false),
            SCHEMA_COMPARE => (&[Hyperfine, Hyperfine1], false),
            _ => (&[], false),
        }
    }

    fn tables(&self) -> Tables {
        match self {
            Self::Run(output) => Tables::of(&report::result::tables(&output.result)),
            Self::Comparison(comparison) => Tables::of(comparison),
            Self::Wake(result) => Tables::of(&result.0),
            Self::Sheet(result) => Tables::of(&result.sheet),
            Self::Ladder(result) => Tables::of(&result.ladder),
            Self::Other { tables, .. } => tables.clone(),
        }
    }
}

fn open(path: &Path, keeper: &Keeper) -> anyhow::Result<Opened> {
    if let Some(Kept { result, sources }) = recordings::open_run(path, keeper)? {
        return Ok(Opened::Run(Box::new(RunOutput::new(result, CodeArgs::default(), sources))));
    }
    let (schema, value) = results::read(path, keeper)?;
    Ok(match schema.as_str() {
        SCHEMA_COMPARE => Opened::Comparison(Box::new(results::comparison(path, value)?)),
        SCHEMA_WAKE => Opened::Wake(Box::new(WakeResult(results::typed(path, value)?))),
        SCHEMA_SHEET => {
            Opened::Sheet(Box::new(SheetResult { sheet: results::typed(path, value)?, json: None }))
        }
        SCHEMA_LADDER => {
            let ladder = results::ladder(path, value)?;
            Opened::Ladder(Box::new(LadderResult { ladder, others: Vec::new() }))
        }
        _ => {
            let tables = tables(path, &schema, value)?;
            Opened::Other { schema, tables }
        }
    })
}

/// The tables of a result that has nothing else, which is what its schema says.
fn tables(path: &Path, schema: &str, value: Value) -> anyhow::Result<Tables> {
    match schema {
        SCHEMA_LOAD => Ok(Tables::of(&results::typed::<LoadRun>(path, value)?)),
        SCHEMA_DOCTOR => Ok(Tables::of(&results::typed::<Doctor>(path, value)?)),
        SCHEMA_WHAT_IF => Ok(Tables::of(&results::typed::<WhatIf>(path, value)?)),
        SCHEMA_LAB => Ok(Tables::of(&results::typed::<LabRun>(path, value)?)),
        SCHEMA_SCORE => Ok(Tables::of(&results::score(path, value)?)),
        other => bail!(
            "this version of dwell cannot export {other:?}\n\
             try: results of dwell run, attach, compare, ladder, wake, load, doctor, lab"
        ),
    }
}

fn exported(args: &ExportArgs, opened: &Opened) -> anyhow::Result<Exported> {
    use ExportFormat::{Firefox, Folded, Pprof, Speedscope};
    match (args.format, opened) {
        (Pprof | Firefox | Speedscope | Folded, Opened::Run(output))
            if output.result.profile.value().is_none() =>
        {
            refused(args, args.format, opened)
        }
        (ExportFormat::Csv, _) => csv(args, &opened.tables()),
        (ExportFormat::Markdown, _) => markdown(args, &opened.tables()),
        (ExportFormat::Hyperfine, Opened::Comparison(comparison)) => Ok(Exported {
            bytes: compare::commands_hyperfine(comparison).into_bytes(),
            left_out: left_out_of_hyperfine(comparison),
        }),
        (ExportFormat::Hyperfine1, Opened::Comparison(comparison)) => {
            let (text, missing) = compare::commands_hyperfine_1(comparison);
            let mut left_out = left_out_of_hyperfine(comparison);
            if missing > 0 {
                left_out.push(format!("{missing} commands have no run that counts, and are not in it"));
            }
            Ok(Exported { bytes: text.into_bytes(), left_out })
        }
        (ExportFormat::Pprof, Opened::Run(output)) => {
            let RunResult { run, .. } = &output.result;
            Ok(profile::pprof(run, output.result.profile(), &ProfileMetadata::of(run)))
        }
        (ExportFormat::Junit, Opened::Wake(result)) => {
            has_verdict(&args.result, [&result.0])?;
            in_form_of_verb(args, opened)
        }
        (ExportFormat::Junit, Opened::Sheet(result)) => {
            has_verdict(&args.result, &result.sheet.results)?;
            in_form_of_verb(args, opened)
        }
        _ => in_form_of_verb(args, opened),
    }
}

/// A form that the verb of the result writes by an option as well.
fn in_form_of_verb(args: &ExportArgs, opened: &Opened) -> anyhow::Result<Exported> {
    let name = args.format.name();
    if !opened.formats().0.contains(&args.format) {
        return refused(args, args.format, opened);
    }
    let bytes = match opened {
        Opened::Run(output) => in_form(output.as_ref(), name),
        Opened::Wake(result) => in_form(result.as_ref(), name),
        Opened::Sheet(result) => in_form(result.as_ref(), name),
        Opened::Ladder(result) => in_form(result.as_ref(), name),
        Opened::Comparison(_) | Opened::Other { .. } => None,
    };
    match bytes {
        Some(bytes) => Ok(Exported { bytes, left_out: left_out_of(args.format, opened) }),
        None => refused(args, args.format, opened),
    }
}

/// What such a form does not hold.
fn left_out_of(format: ExportFormat, opened: &Opened) -> Vec<String> {
    let what = match format {
        ExportFormat::Folded => {
            "it has sums of stacks: no times, no account, no path and no findings are in it"
        }
        ExportFormat::Firefox | ExportFormat::Speedscope => {
            "it has stacks over time: no account, no path, no hand-overs and no findings are in it"
        }
        ExportFormat::Svg | ExportFormat::Png => {
            "it is a picture: the tables and what qualifies them are not in it"
        }
        ExportFormat::Junit => "it has the verdict: no histograms and no spikes are in it",
        _ => return Vec::new(),
    };
    let mut left_out = vec![what.to_owned()];
    if let (ExportFormat::Firefox | ExportFormat::Speedscope, Opened::Run(output)) = (format, opened)
        && output.result.profile().thinned > 1
    {
        let thinned = output.result.profile().thinned;
        left_out.push(format!("of samples and waits every {thinned}th is in it"));
    }
    left_out
}

/// Checks that there is a verdict to write.
fn has_verdict<'a>(path: &Path, measured: impl IntoIterator<Item = &'a Wakeups>) -> anyhow::Result<()> {
    if measured.into_iter().all(|wakeups| matches!(wakeups.verdict, Seen::Absent)) {
        bail!("{path:?} has no verdict, which is what JUnit's tests are of\ntry: dwell wake --deadline TIME");
    }
    Ok(())
}

/// Steps of threads in a file over time: a viewer holds no more.
const STEPS: u64 = 1_000_000;

/// The formats that show threads over time: a recording is read once more, step by step.
fn over_time(args: &ExportArgs, keeper: &Keeper) -> anyhow::Result<Exported> {
    let path = &args.result;
    let Some(reader) = recordings::open(path, keeper)? else {
        return refused(args, args.format, &open(path, keeper)?);
    };
    let header = reader.header().clone();
    if header.attached.is_some() {
        return refused(args, args.format, &open(path, keeper)?);
    }
    let (result, timeline) = replayed(&header, reader).with_context(|| format!("{path:?}"))?;
    Ok(match args.format {
        ExportFormat::Otlp => export::otlp(&result, &timeline),
        _ => export::perfetto(&result, &timeline),
    })
}

/// A run step by step.
fn replayed(header: &Header, mut reader: AnyReader) -> Result<(RunResult, Timeline), Refused> {
    let mut replayer = Replayer::new(header, Vec::new())?.keeping(STEPS);
    reader.by_ref().for_each(|event| replayer.event(&event));
    let trailer = reader.end().trailer.ok_or(Refused::Unfinished)?;
    replayer.timeline(&trailer)
}

/// Histograms of the waits of a run, each with its own length if there is a recording that has
/// them, or of wake-ups.
fn hdr(args: &ExportArgs, keeper: &Keeper) -> anyhow::Result<Exported> {
    let path = &args.result;
    if let Some(reader) = recordings::open(path, keeper)? {
        let header = reader.header().clone();
        return match replayed(&header, reader) {
            Ok((result, timeline)) => Ok(export::hdr_of_waits(&result.run, Some(&timeline))),
            Err(Refused::Open(why)) => Err(Refused::Open(why)).with_context(|| format!("{path:?}")),
            // Its account can be told all the same, and has octaves.
            Err(_) => match open(path, keeper)? {
                Opened::Run(output) => of_octaves(path, &output.result.run),
                opened => refused(args, args.format, &opened),
            },
        };
    }
    let (schema, value) = results::read(path, keeper)?;
    match schema.as_str() {
        SCHEMA_RUN | SCHEMA_ATTACH => of_octaves(path, &results::run(path, value)?.run),
        SCHEMA_WAKE => {
            let wakeups = results::typed::<Wakeups>(path, value)?;
            Ok(export::hdr_of_wakeups(&wakeups))
        }
        _ => refused(args, args.format, &open(path, keeper)?),
    }
}

/// Histograms of waits whose octaves are known.
fn of_octaves(path: &Path, run: &Run) -> anyhow::Result<Exported> {
    if !run.waits.is_empty() && run.waits.iter().all(|row| row.histogram.is_empty()) {
        bail!(
            "{path:?} has no lengths of waits: they are seen with BPF only\n\
             try: dwell run --source bpf --keep, as root"
        );
    }
    Ok(export::hdr_of_waits(run, None))
}

/// Says which formats a result has.
fn refused(args: &ExportArgs, format: ExportFormat, opened: &Opened) -> anyhow::Result<Exported> {
    let (path, name) = (&args.result, format.name());
    let (formats, of_recording) = opened.formats();
    if formats.contains(&format) && of_recording {
        bail!(
            "{path:?} is a result without its recording, of which {name} is made\n\
             try: dwell run --keep run.dwell ..., then dwell export run.dwell --as {name}"
        );
    }
    let names: Vec<&str> = [ExportFormat::Csv, ExportFormat::Markdown]
        .iter()
        .chain(formats)
        .map(|format| format.name())
        .collect();
    bail!("{path:?} is a {:?}, which has no {name}\ntry: {}", opened.schema(), names.join(", "))
}

fn left_out_of_hyperfine(comparison: &Comparison) -> Vec<String> {
    let mut left_out = Vec::new();
    if !comparison.comparisons.is_empty() {
        left_out.push("pairs, ratios and verdicts are not in it: hyperfine compares means".to_owned());
    }
    let counted = comparison.runs.iter().filter(|run| comparison.settings.counts(run)).count();
    if counted < comparison.runs.len() {
        let others = comparison.runs.len() - counted;
        left_out.push(format!("{others} runs warmed up or failed, and are not in it"));
    }
    left_out
}

fn csv(args: &ExportArgs, tables: &Tables) -> anyhow::Result<Exported> {
    match &args.table {
        Some(name) => Ok(export::csv(named(tables, name)?)),
        None => bail!("CSV has one table\ntry: --table NAME, one of: {}", names(tables)),
    }
}

fn markdown(args: &ExportArgs, tables: &Tables) -> anyhow::Result<Exported> {
    match &args.table {
        Some(name) => Ok(export::markdown([named(tables, name)?])),
        None => Ok(export::markdown(&tables.tables)),
    }
}

fn named<'a>(tables: &'a Tables, name: &str) -> anyhow::Result<&'a export::tables::Table> {
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
