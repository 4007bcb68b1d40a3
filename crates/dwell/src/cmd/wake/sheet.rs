//! `dwell wake --sheet`: several cases measured one after another. Each is kept when it is done, so
//! that an interrupted sheet can be resumed (`--resume`).
//!
//! A case that was cut short is measured again: its results are on the page, but not kept.

mod file;

use super::super::results;
use super::{JUDGED, Setup, WakeProgress, asked, cases, ended_before_start, measure, refused, status};
use crate::cli::{VERSION, WakeArgs, load};
use crate::exit;
use crate::keep::ResultStore;
use crate::out::{Outputs, Paths, SheetResult, junit_has_verdict};
use crate::output::{self, clean_lines};
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use file::{SheetFile, given, new_path, resumed};
use loads::Running;
use model::wake::sheet::{Case, SCHEMA_SHEET, Sheet};
use model::wake::verdict::Answer;
use model::wake::{WakeRequest, Wakeups};
use model::{Ns, Seen};
use std::path::Path;
use std::process;
use std::time::Duration;
use store::unfinished::{LockedSheet, SCHEMA_UNFINISHED, Unfinished};
use sys::signals::Signals;

/// The default duration of each case.
const LENGTH_NS: Ns = 3600 * 1_000_000_000;
/// The most space for the result of one thread: its histogram and its timeline.
const THREAD_BYTES: u64 = 512 << 10;

/// Measures the remaining cases and reports all; returns the exit status.
pub(super) fn sheet(args: &WakeArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    let (mut unfinished, kept) = match &args.resume {
        Some(path) => resumed(path, args)?,
        None => (begun(args)?, SheetFile::New(new_path(args)?)),
    };
    wakes::check(&unfinished.asked, &wakes::usable_cpus(), wakes::resolution_ns()).map_err(refused)?;
    let remedy =
        if args.resume.is_some() { "without --junit; a resumed sheet keeps its settings" } else { JUDGED };
    let paths: Paths =
        unfinished.outputs.iter().map(|(form, path)| (form.clone(), path.clone().into())).collect();
    junit_has_verdict(&paths, unfinished.asked.deadline.is_some(), remedy)?;
    // Opening waits for the reader of a pipe: a signal ends that.
    let outputs = Outputs::open(&paths, args.outputs.page(), Some(kept.path()), own_cases(args).as_slice())?;
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    enough_room(&unfinished, kept.path())?;
    let stop = Stop::new(&mut signals);
    let to_come = unfinished.sheet.cases[unfinished.sheet.results.len()..].to_vec();
    rehearse(&to_come, &stop)?;
    analyse::wake::too_short(&unfinished.asked).iter().for_each(|note| output::complain(note));
    let mut held = kept.hold(&unfinished)?;
    let path = held.path().to_owned();
    if !args.outputs.quiet {
        output::to_stderr(&format!("each case is kept when done; {}\n", to_resume(&path)));
    }
    let cut_short = measure_cases(&mut unfinished, &to_come, &mut held, args.outputs.quiet, &stop)?;
    let Unfinished { mut sheet, .. } = unfinished;
    let json = paths.get("json").map(|json| json.text().to_string_lossy().into_owned());
    let done = sheet.results.len();
    sheet.results.extend(cut_short);
    let result = SheetResult { sheet, json };
    let ended_by = stop.status();
    signals.outlast_one();
    let outcome = outputs.write(&result, &args.outputs.look);
    let failed = outcome.complain();
    if done == result.sheet.cases.len() {
        keeper.offer(&result, None);
    }
    let SheetResult { sheet, .. } = result;
    if done < sheet.cases.len() {
        let line = format!("{done} of {} cases were completed; {}", sheet.cases.len(), to_resume(&path));
        output::complain(&line);
    } else if outcome.is_whole() {
        held.done()?;
    } else {
        let line = format!(
            "all cases were completed and are kept; to write them: dwell wake --resume {path:?} --json FILE"
        );
        output::complain(&line);
    }
    if failed {
        return Ok(exit::DWELL_FAILED);
    }
    if let Some(status) = ended_by {
        return Ok(status);
    }
    Ok(worst(&sheet.results))
}

/// Measures these cases, and keeps each. Gives the one that was cut short, if it has a result.
fn measure_cases(
    unfinished: &mut Unfinished,
    to_come: &[Case],
    held: &mut LockedSheet,
    quiet: bool,
    stop: &Stop<'_>,
) -> anyhow::Result<Option<Wakeups>> {
    for (at, case) in to_come.iter().enumerate() {
        if stop.asked() {
            break;
        }
        let for_ns = unfinished.sheet.for_ns;
        let mut progress = WakeProgress {
            before: position(&unfinished.sheet, case),
            after_ns: for_ns * (to_come.len() - at - 1) as u64,
            ..WakeProgress::new(quiet, for_ns)
        };
        let asked = WakeRequest { loads: case.loads.clone(), ..unfinished.asked.clone() };
        // The cases before are to be written, whatever happens.
        let at_once = None;
        let setup = Setup { idle_states: unfinished.idle_states, spikes: !unfinished.no_spikes, at_once };
        let measured = measure(&asked, setup, &mut progress, &|| stop.asked());
        drop(progress);
        if measured.as_ref().is_err_and(ended_before_start) {
            break;
        }
        let case = || format!("case {:?} ({})", case.name, to_resume(held.path()));
        let wakeups = analyse::wake::wakeups(&measured.with_context(case)?);
        if wakeups.interrupted {
            return Ok(Some(wakeups));
        }
        unfinished.sheet.results.push(wakeups);
        // The results are still reported at the end.
        if let Err(error) = held.keep(unfinished) {
            output::complain(&error.to_string());
        }
    }
    Ok(None)
}

/// The exit status of the worst verdict.
fn worst(results: &[Wakeups]) -> u8 {
    let answers: Vec<Answer> = results
        .iter()
        .filter_map(|wakeups| match &wakeups.verdict {
            Seen::Value(verdict) => Some(verdict.answer),
            Seen::Absent => None,
            Seen::Unseen(_) => Some(Answer::Undecided),
        })
        .collect();
    let worst =
        [Answer::Fail, Answer::Undecided, Answer::Pass].into_iter().find(|answer| answers.contains(answer));
    worst.map_or(0, status)
}

/// `case 2 of 5, sched: `.
fn position(sheet: &Sheet, case: &Case) -> String {
    let name = report::clean(&case.name, false);
    format!("case {} of {}, {name}: ", sheet.results.len() + 1, sheet.cases.len())
}

fn to_resume(path: &Path) -> String {
    format!("to resume: dwell wake --resume {path:?}")
}

/// The file with the user's own cases, if any.
fn own_cases(args: &WakeArgs) -> Option<&Path> {
    args.sheet.as_deref().filter(|path| !path.as_os_str().is_empty())
}

/// A new sheet, without results.
fn begun(args: &WakeArgs) -> anyhow::Result<Unfinished> {
    let (name, cases) = match own_cases(args) {
        None => cases::five(),
        Some(path) => {
            let bytes = results::bytes(path)?;
            cases::read(&String::from_utf8_lossy(&bytes), &load).map_err(|wrong| {
                // An error in a load has its own remedy.
                let remedy =
                    if wrong.contains("\ntry: ") { "" } else { "\ntry: the format shown by dwell help wake" };
                anyhow!("{path:?} is not a sheet: {}{remedy}", clean_lines(&wrong))
            })?
        }
    };
    let asked = WakeRequest { for_ns: args.length_ns.unwrap_or(LENGTH_NS), ..asked(args)? };
    Ok(Unfinished {
        schema: SCHEMA_UNFINISHED.to_owned(),
        recorder: VERSION.to_owned(),
        process: process::id(),
        host: observe::this_host(),
        idle_states: args.idle_states,
        no_spikes: args.no_spikes,
        outputs: given(args)?,
        sheet: Sheet {
            schema: SCHEMA_SHEET.to_owned(),
            name,
            for_ns: asked.for_ns,
            cases,
            results: Vec::new(),
        },
        asked,
    })
}

/// Checks the free space for the sheet, twice: there are two copies while the file is replaced.
fn enough_room(unfinished: &Unfinished, path: &Path) -> anyhow::Result<()> {
    let threads = unfinished.asked.cpus.len() as u64 + 1;
    let needed = 2 * (1 << 20) + 2 * THREAD_BYTES * threads * unfinished.sheet.cases.len() as u64;
    // The nearest directory that exists: missing ones are created later.
    let place = path.ancestors().skip(1).find(|above| above.exists()).unwrap_or(Path::new("."));
    let free = host::memory::disk_free_bytes(place)
        .with_context(|| format!("cannot read the free space of {place:?}"))?;
    if free < needed {
        bail!(
            "{place:?} has {} KiB free, and the sheet may take {} KiB\n\
             try: --json FILE in a file system with more free space",
            free >> 10,
            needed >> 10
        );
    }
    Ok(())
}

/// Starts the loads of every case once, to find errors now and not hours later.
fn rehearse(cases: &[Case], stop: &Stop<'_>) -> anyhow::Result<()> {
    for case in cases.iter().filter(|case| !case.loads.is_empty()) {
        if stop.asked() {
            break;
        }
        let running = Running::start(&case.loads, Duration::from_secs(60), &|| stop.asked());
        let running = running.with_context(|| format!("case {:?}", case.name));
        if running.as_ref().is_err_and(ended_before_start) {
            break;
        }
        let stopped = running?.stop(stop.asked());
        if stop.asked() {
            break;
        }
        if let Some((load, why)) = stopped.failed.first() {
            bail!("case {:?}: load {}: {why}", case.name, load.kind());
        }
    }
    Ok(())
}
