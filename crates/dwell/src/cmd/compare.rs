//! `dwell compare`: commands run in alternation and compared.

mod expand;
mod first;
mod observed;
mod pace;
mod parameters;
mod revisions;
mod sitting;

use crate::cli::{CompareArgs, IgnoredStatuses, StreamArg};
use crate::cmd::results;
use crate::exit;
use crate::keep::ResultStore;
use crate::out::RunOutput;
use crate::output;
use crate::progress::ProgressLine;
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use expand::{ExpandedCommand, ExpandedCommands};
use model::RunResult;
use model::compare::commands::{CommandChange, CompareEnd, CompareSettings, Comparison};
use model::run::SCHEMA_RUN;
use model::timing::Figure;
use sitting::{SLOWER, Sitting};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::Path;
use sys::clock::{monotonic_ns, unix_s};
use sys::signals::Signals;
use timings::{IgnoredFailures, Input, Metric, Output, Plan, Planned, Runner};

/// The chance of a wrong `faster` or `slower`.
pub(super) const ALPHA: f64 = 0.05;
/// The exit status where it is undecided whether a command is slower than it may be.
const UNDECIDED: u8 = 2;

/// Compares; returns the exit status.
pub(crate) fn compare(args: &CompareArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    if let StreamArg::File(path) = &args.parts.output {
        output::is_no_store(path)?;
    }
    let trees = revisions::trees(&args.revisions, args.outputs.quiet)?;
    let made = expand::expand(&args.commands, &args.parts, args.floor, &trees)?;
    let metric = args.metric.as_deref().map(Metric::new).transpose().map_err(|error| anyhow!(error))?;
    let settings = settings(args, &made);
    let predicted = args.predicted.as_deref().map(|path| predicted(path, settings.on, keeper)).transpose()?;
    made.notes.iter().for_each(|note| output::complain(&output::clean_lines(note)));
    say_if_too_few(args, &settings, made.commands.len());
    let read: Vec<_> = args.predicted.as_deref().into_iter().collect();
    // Opening waits for the reader of a pipe: a signal ends that.
    let outputs = args.outputs.open(&read)?;
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    let watch = signals.as_fd().try_clone_to_owned().context("cannot handle signals")?;
    let plan = Plan { watch: Some(watch), ..plan(args, &made, metric, settings.seed) };
    let mut runner = Runner::begin(plan).map_err(sitting::failed)?;

    let stop = Stop::new(&mut signals);
    let line = ProgressLine::new(args.outputs.quiet);
    let sitting = Sitting { args, made: &made, stop: &stop, line: &line };
    let compared = sitting.hold(&mut runner, settings);
    let cleaned = sitting.clean_up(&mut runner);
    drop(runner);
    let mut comparison = match (compared, stop.status()) {
        (Ok(Some(comparison)), _) => comparison,
        (Ok(None), status) => return Ok(status.unwrap_or(exit::DWELL_FAILED)),
        (Err(error), _) => return Err(error),
    };
    cleaned?;
    if stop.status().is_none() {
        observed::explain(&mut comparison, &sitting)?;
    }
    if let Some(run) = predicted {
        observed::predict(&mut comparison, &run);
    }
    drop(line);
    let ended_by = stop.status();
    // Writing may wait: for the reader of a pipe, for a disk.
    signals.outlast_one();
    let failed = outputs.write(&comparison, &args.outputs.look).complain();
    keeper.offer(&comparison, None);
    if let StreamArg::File(path) = &args.parts.output
        && path.metadata().is_ok_and(|found| found.is_file() && found.len() == 0)
    {
        let said = "is empty, as the commands printed nothing (--output); the page: -o FILE";
        output::complain(&format!("{path:?} {said}"));
    }
    if failed {
        return Ok(exit::DWELL_FAILED);
    }
    Ok(ended_by.unwrap_or_else(|| status(&comparison, args.fail_if_slower)))
}

/// The exit status of the comparison.
fn status(comparison: &Comparison, fail_if_slower: Option<f64>) -> u8 {
    if comparison.ended == CompareEnd::Failed {
        return exit::DWELL_FAILED;
    }
    let Some(slower) = fail_if_slower else { return 0 };
    let of = |change: &CommandChange| match change.ratio {
        Some(ratio) if change.no_verdict.is_empty() => sitting::against(ratio, slower).unwrap_or(UNDECIDED),
        _ => UNDECIDED,
    };
    let all: Vec<u8> = comparison.comparisons.iter().map(of).collect();
    [SLOWER, UNDECIDED].into_iter().find(|status| all.contains(status)).unwrap_or(0)
}

/// What is asked for, with defaults filled in.
fn settings(args: &CompareArgs, made: &ExpandedCommands) -> CompareSettings {
    let on = if args.metric.is_some() { Figure::Printed } else { args.on.into() };
    CompareSettings {
        on,
        metric: args.metric.clone(),
        margin: args.margin,
        warmup: args.warmup.max(1),
        alpha: ALPHA,
        pairs: args.pairs,
        for_ns: args.for_ns,
        shell: made.shell.clone(),
        seed: args.seed.unwrap_or_else(|| monotonic_ns() ^ unix_s().rotate_left(32)),
    }
}

/// The run whose predictions are held against what is measured.
fn predicted(path: &Path, on: Figure, keeper: &ResultStore) -> anyhow::Result<RunResult> {
    if on != Figure::Wall {
        bail!("--predicted is of the wall clock\ntry: without --on and --metric");
    }
    let kept = results::one(path, results::all(path, keeper)?)?;
    if kept.schema != SCHEMA_RUN {
        bail!("{path:?} is a {}\ntry: a file written by dwell run --json", kept.schema);
    }
    Ok(kept.read::<RunOutput>()?.result)
}

/// Says that the pairs which were asked for cannot decide, whatever they show.
fn say_if_too_few(args: &CompareArgs, settings: &CompareSettings, commands: usize) {
    let Some(asked) = args.pairs.or(args.max_pairs) else { return };
    let pace = pace::Pace::of(args, 0, commands < 2);
    let needed = analyse::compare::commands::pairs_min(settings, commands) as u32;
    if let Some(said) = pace.too_few(0, needed).filter(|_| asked < needed) {
        output::complain(&said);
    }
}

fn plan(args: &CompareArgs, made: &ExpandedCommands, metric: Option<Metric>, seed: u64) -> Plan {
    let parts = &args.parts;
    let os = |words: &Vec<String>| words.iter().map(OsString::from).collect::<Vec<_>>();
    let planned = |command: &ExpandedCommand| Planned {
        argv: os(&command.words),
        prepare: command.prepare.as_ref().map(os),
        conclude: command.conclude.as_ref().map(os),
        env: command.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
    };
    Plan {
        commands: made.commands.iter().map(planned).collect(),
        input: match &parts.input {
            StreamArg::File(path) => Input::File(path.clone()),
            _ => Input::Null,
        },
        output: match &parts.output {
            _ if parts.show_output => Output::Inherit,
            StreamArg::Null => Output::Null,
            StreamArg::Pipe => Output::Pipe,
            StreamArg::Inherit => Output::Inherit,
            StreamArg::File(path) => Output::File(path.clone()),
        },
        metric,
        seed,
        ignored: match &parts.ignore_failure {
            None => IgnoredFailures::None,
            Some(IgnoredStatuses::All) => IgnoredFailures::All,
            Some(IgnoredStatuses::These(codes)) => IgnoredFailures::Codes(codes.clone()),
        },
        padding: true,
        watch: None,
    }
}
