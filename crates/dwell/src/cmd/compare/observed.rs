//! Pairs that are observed after those that were timed, for the difference's place: each run by a
//! `dwell run` of its own, with the same environment, input and output.

use super::expand::ExpandedCommand;
use super::first;
use super::sitting::Sitting;
use crate::child;
use crate::cli::{IgnoredStatuses, StreamArg};
use crate::out;
use crate::progress;
use anyhow::{Context, bail};
use model::compare::commands::{CompareEnd, Comparison, PREDICTS_NOTHING};
use model::compare::why::{SignedInterval, TimeDifference};
use model::timing::Figure;
use model::{Ns, Run, RunResult, Seen};
use stats::Random;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;
use sys::clock::monotonic_ns;
use sys::output_file;
use sys::scratch::{Kind, Scratch};

/// Pairs at least, and at most; in between as many as fit into the time.
const PAIRS_MIN: usize = 3;
const PAIRS_MAX: usize = 10;
const TIME_NS: Ns = 3_000_000_000;

/// Adds to each comparison why the command differs from the first.
pub(super) fn explain(comparison: &mut Comparison, sitting: &Sitting<'_, '_>) -> anyhow::Result<()> {
    let set = |comparison: &mut Comparison, why: &str| {
        comparison.comparisons.iter_mut().for_each(|change| change.why = Seen::unseen(why));
    };
    if sitting.args.no_why {
        set(comparison, "disabled by --no-why");
        return Ok(());
    }
    if comparison.ended == CompareEnd::Failed {
        set(comparison, "a command fails run after run");
        return Ok(());
    }
    if matches!(comparison.settings.on, Figure::Memory | Figure::Printed) {
        set(comparison, "an account is of time, and this is none");
        return Ok(());
    }
    let commands = &sitting.made.commands;
    let again = first::same_as_first(commands);
    // Without others there is nothing to explain.
    let asked: Vec<usize> = (1..commands.len()).filter(|at| !again.contains(at)).collect();
    for at in again {
        comparison.comparisons[at - 1].why = Seen::unseen("it is the same command");
    }
    if asked.is_empty() {
        return Ok(());
    }
    let mut runs = match observe_all(sitting, &asked) {
        Ok(runs) => runs,
        Err(error) => {
            set(comparison, &format!("{error:#}"));
            return Ok(());
        }
    };
    let reference = std::mem::take(&mut runs[0]);
    for at in asked {
        let both = reference.iter().zip(&runs[at]);
        let pairs: Vec<(&Run, &Run)> = both.filter_map(|(a, b)| Some((a.as_ref()?, b.as_ref()?))).collect();
        let change = &mut comparison.comparisons[at - 1];
        if pairs.is_empty() {
            change.why = Seen::unseen("no pair was observed whole");
            continue;
        }
        let mut why = analyse::compare::why(&pairs);
        if let Some(timed) = change.ratio.filter(|_| comparison.settings.on == Figure::Wall) {
            why.limits.extend(analyse::compare::not_as_timed(&why, &timed));
        }
        change.why = Seen::Value(why);
    }
    Ok(())
}

/// Says of each comparison whether the savings came that this run predicts.
pub(super) fn predict(comparison: &mut Comparison, run: &RunResult) {
    let ns = |value: f64| value.round() as i64;
    let mut nothing = false;
    let figures: Vec<_> = comparison.commands.iter().map(|command| command.figure).collect();
    for change in &mut comparison.comparisons {
        let figure = |of: u32| figures[of as usize].map(|figure| figure.median);
        let (Some(a), Some(b)) = (figure(change.a), figure(change.b)) else { continue };
        let by = change.difference.filter(|_| change.no_verdict.is_empty());
        let measured = TimeDifference {
            a_ns: a.round() as Ns,
            b_ns: b.round() as Ns,
            ns: by.map_or(ns(b - a), |by| ns(by.estimate)),
            interval: by.map(|by| SignedInterval { lo: ns(by.lo), hi: ns(by.hi) }),
        };
        match analyse::compare::predicted(run, &measured) {
            Seen::Value(found) => change.predicted = found,
            _ => nothing = true,
        }
    }
    if nothing {
        comparison.limits.push(PREDICTS_NOTHING.to_owned());
    }
}

/// Runs of each command by their numbers; none for one that does not count.
type Observed = Vec<Vec<Option<Run>>>;

fn observe_all(sitting: &Sitting<'_, '_>, asked: &[usize]) -> anyhow::Result<Observed> {
    let directory = Scratch::new(&std::env::temp_dir(), Kind::Compare);
    let directory = directory.context("cannot make a directory for accounts")?;
    let mut random = Random::new(monotonic_ns());
    let mut runs: Observed = vec![Vec::new(); sitting.made.commands.len()];
    let begun_ns = monotonic_ns();
    for pair in 0..PAIRS_MAX {
        if pair >= PAIRS_MIN && monotonic_ns() - begun_ns > TIME_NS {
            break;
        }
        let mut order: Vec<usize> = [&[0_usize][..], asked].concat();
        shuffle(&mut order, &mut random);
        for at in order {
            let command = &sitting.made.commands[at];
            let (run_ns, done) = (monotonic_ns(), runs.iter().map(Vec::len).sum::<usize>());
            let least = PAIRS_MIN.max(pair + 1) * (asked.len() + 1);
            let show = || {
                let name = report::clean(&command.name, false);
                let so_far = progress::running(monotonic_ns() - run_ns, None);
                let elapsed = Duration::from_nanos(run_ns - begun_ns);
                let left = progress::left(elapsed, done as f64 / least as f64);
                let of = if pair < PAIRS_MIN { format!(" of {PAIRS_MIN} or more") } else { String::new() };
                format!("observing pair {}{of}, {name}{so_far}{left}; Ctrl-C to stop", pair + 1)
            };
            sitting.line.put(show);
            let run = observe(sitting, command, &directory, &|| sitting.line.update(show))?;
            if sitting.stop.asked() {
                // What is there stays: whole pairs only.
                return Ok(runs);
            }
            runs[at].push(run);
        }
    }
    Ok(runs)
}

/// Puts them into a random order (R. A. Fisher and F. Yates, 1938).
fn shuffle(order: &mut [usize], random: &mut Random) {
    for last in (1..order.len()).rev() {
        let at = (random.uniform() * (last + 1) as f64) as usize;
        order.swap(last, at.min(last));
    }
}

/// Runs a command under dwell, with what runs before and after it.
fn observe(
    sitting: &Sitting<'_, '_>,
    command: &ExpandedCommand,
    directory: &Scratch,
    tick: &dyn Fn(),
) -> anyhow::Result<Option<Run>> {
    let json = directory.path().join("run.json");
    let mut run = Command::new(std::env::current_exe().context("cannot find dwell itself")?);
    run.args(["run", "--no-store", "--quiet", "--json"]).arg(&json).arg("--").args(&command.words);
    run.envs(command.env.iter().map(|(name, value)| (name, value)));
    redirect(sitting, &mut run)?;
    beside(sitting, command.prepare.as_deref(), "--prepare", tick)?;
    let _ = std::fs::remove_file(&json);
    let stopped_ns = sitting.stop.stopped_ns();
    let status = child::wait(
        sitting.stop,
        sys::signals::as_before(&mut run).spawn().context("cannot start dwell run")?,
        Some(tick),
    )?;
    beside(sitting, command.conclude.as_deref(), "--conclude", tick)?;
    let counts = match (&sitting.args.parts.ignore_failure, status) {
        (_, Some(0)) | (Some(IgnoredStatuses::All), Some(_)) => true,
        (Some(IgnoredStatuses::These(codes)), Some(status)) => codes.contains(&status),
        _ => false,
    };
    let text = match std::fs::read(&json) {
        Ok(text) if !text.is_empty() => text,
        _ if counts || sitting.stop.asked() => return Ok(None),
        _ => bail!(
            "{:?} could not be observed\ntry: dwell run -- {}",
            command.name,
            command.words.first().map_or("", String::as_str)
        ),
    };
    let value = serde_json::from_slice(&text).context("cannot read the account of an observed run")?;
    let run = out::read_run(&json, value)?.run;
    // Ctrl-Z is no part of the difference.
    let was_stopped = sitting.stop.stopped_ns() > stopped_ns;
    Ok((counts && !was_stopped).then_some(run))
}

/// Its input and output, as those of the timed runs.
fn redirect(sitting: &Sitting<'_, '_>, run: &mut Command) -> anyhow::Result<()> {
    let parts = &sitting.args.parts;
    run.stdin(match &parts.input {
        StreamArg::File(path) => {
            Stdio::from(File::open(path).with_context(|| format!("cannot read {path:?}"))?)
        }
        _ => Stdio::null(),
    });
    let (output, error) = match &parts.output {
        _ if parts.show_output => (Stdio::inherit(), Stdio::inherit()),
        StreamArg::Inherit => (Stdio::inherit(), Stdio::inherit()),
        StreamArg::Null => (Stdio::null(), Stdio::null()),
        StreamArg::Pipe => (Stdio::piped(), Stdio::null()),
        StreamArg::File(path) => {
            let file = output_file::emptied(path).with_context(|| format!("cannot write {path:?}"))?;
            (Stdio::from(file), Stdio::null())
        }
    };
    run.stdout(output).stderr(error);
    Ok(())
}

/// Runs what is to run before or after.
fn beside(
    sitting: &Sitting<'_, '_>,
    words: Option<&[String]>,
    option: &str,
    tick: &dyn Fn(),
) -> anyhow::Result<()> {
    let Some((program, arguments)) = words.and_then(<[String]>::split_first) else { return Ok(()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = command.spawn().with_context(|| format!("cannot start {option}"))?;
    match child::wait(sitting.stop, started, Some(tick))? {
        Some(0) => Ok(()),
        _ if sitting.stop.asked() => Ok(()),
        _ => bail!("{option} failed before or after an observed run"),
    }
}
