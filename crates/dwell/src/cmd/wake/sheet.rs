//! `dwell wake --sheet`: one measurement under one load after the other, kept case by case so that it can go on after whatever
//! ended it (`--resume`).
//!
//! A case that was ended before its time is measured anew: what it had seen is shown, and not kept.

use super::super::ladder::{Form, Outputs};
use super::{How, Left, asked, before_it_began, cases, junit_target, measure, refused, status, write_junit};
use crate::cli::{WakeArgs, load};
use crate::exit;
use crate::kept;
use crate::look::{Onto, look};
use crate::output;
use crate::progress::Line;
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use loads::Running;
use model::wake::sheet::{Case, SCHEMA_SHEET, SCHEMA_UNFINISHED, Sheet, Unfinished};
use model::wake::verdict::Answer;
use model::wake::{Asked, Wakeups};
use model::{Ns, Seen};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::unfinished::{self, CannotGoOn};
use sys::signals::Signals;

/// Of each case, unless asked otherwise.
const LENGTH_NS: Ns = 3600 * 1_000_000_000;
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What the result of one thread takes in a file, at most: its histogram and its timeline.
const THREAD_BYTES: u64 = 512 << 10;

/// Measures the cases that are to come and shows all; gives the exit status.
pub(super) fn sheet(args: &WakeArgs) -> anyhow::Result<u8> {
    let (mut unfinished, path) = match &args.resume {
        Some(path) => (resumed(path)?, path.clone()),
        None => (begun(args)?, new_path(args)?),
    };
    wakes::sound(&unfinished.asked, &wakes::usable_cpus(), wakes::resolution_ns()).map_err(refused)?;
    let mut signals = Signals::take_over().context("cannot take signals")?;
    let outputs = Outputs::open(&args.forms)?;
    let junit = junit_target(args)?;
    enough_room(&unfinished, &path)?;
    let stop = Stop::new(&mut signals);
    let to_come = unfinished.sheet.cases[unfinished.sheet.results.len()..].to_vec();
    rehearse(&to_come, &stop)?;
    unfinished::keep(&path, &unfinished)?;
    let look = look(&args.look, Onto::Stdout);
    let mut ended_early: Option<Wakeups> = None;
    for (at, case) in to_come.iter().enumerate() {
        if stop.asked() {
            break;
        }
        let mut progress = Left {
            line: Line::new(args.quiet, look.width),
            for_ns: unfinished.sheet.for_ns,
            before: said(&unfinished.sheet, case),
            after_ns: unfinished.sheet.for_ns * (to_come.len() - at - 1) as u64,
        };
        let asked = Asked { loads: case.loads.clone(), ..unfinished.asked.clone() };
        let how = How { idle_states: unfinished.idle_states, spikes: !unfinished.no_spikes };
        let measured = measure(&asked, how, &mut progress, &|| stop.asked());
        drop(progress);
        if measured.as_ref().is_err_and(before_it_began) {
            break;
        }
        let measured = measured.with_context(|| format!("case {:?} ({})", case.name, to_go_on(&path)))?;
        let wakeups = analyse::wake::wakeups(&measured);
        if wakeups.interrupted {
            ended_early = Some(wakeups);
            break;
        }
        unfinished.sheet.results.push(wakeups);
        // What was measured is still shown at the end.
        if let Err(error) = unfinished::keep(&path, &unfinished) {
            output::complain(&error.to_string());
        }
    }
    let Unfinished { mut sheet, .. } = unfinished;
    let done = sheet.results.len();
    sheet.results.extend(ended_early);
    let failed = outputs.write(args.quiet, &|form| match form {
        Form::Page => report::wake::sheet_terminal(&sheet, look).into_bytes(),
        Form::Json => report::wake::sheet_json(&sheet).into_bytes(),
        Form::Svg => report::wake::sheet_svg(&sheet).into_bytes(),
        Form::Png => report::wake::sheet_png(&sheet),
    }) | write_junit(junit, || report::wake::sheet_junit(&sheet));
    if done < sheet.cases.len() {
        let line =
            format!("{done} of {} cases were measured to their end; {}", sheet.cases.len(), to_go_on(&path));
        output::complain(&line);
    } else if failed {
        output::complain(&format!("all cases were measured, and are kept; {}", to_go_on(&path)));
    } else {
        unfinished::done(&path)?;
    }
    if failed {
        return Ok(exit::DWELL_FAILED);
    }
    if let Some(status) = stop.status() {
        return Ok(status);
    }
    Ok(worst(&sheet.results))
}

/// The status of the worst verdict.
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

fn said(sheet: &Sheet, case: &Case) -> String {
    let name = report::clean(&case.name, false);
    format!("case {} of {}, {name}: ", sheet.results.len() + 1, sheet.cases.len())
}

fn to_go_on(path: &Path) -> String {
    format!("to go on: dwell wake --resume {path:?}")
}

/// A sheet of which nothing is measured yet.
fn begun(args: &WakeArgs) -> anyhow::Result<Unfinished> {
    let (name, cases) = match args.sheet.as_deref().filter(|path| !path.as_os_str().is_empty()) {
        None => cases::five(),
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {path:?}"))?;
            cases::read(&text, &load)
                .map_err(|wrong| anyhow!("{path:?} is no sheet: {}", clean_lines(&wrong)))?
        }
    };
    let asked = Asked { for_ns: args.length_ns.unwrap_or(LENGTH_NS), ..asked(args)? };
    Ok(Unfinished {
        schema: SCHEMA_UNFINISHED.to_owned(),
        recorder: VERSION.to_owned(),
        host: observe::this_host(),
        idle_states: args.idle_states,
        no_spikes: args.no_spikes,
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

/// Quotes of a file, without what a terminal would obey.
fn clean_lines(text: &str) -> String {
    text.lines().map(|line| report::clean(line, false)).collect::<Vec<_>>().join("\n")
}

fn resumed(path: &Path) -> anyhow::Result<Unfinished> {
    unfinished::kept(path, &observe::this_host(), VERSION).map_err(|error| match error {
        CannotGoOn::Unreadable { .. } | CannotGoOn::Other(_) => anyhow!("{error}"),
        // They quote what is in the file.
        error => anyhow!("{}", clean_lines(&error.to_string())),
    })
}

/// Where it is kept until it is done: beside its result, or with other things that dwell keeps.
fn new_path(args: &WakeArgs) -> anyhow::Result<PathBuf> {
    let result = args.forms.json.as_ref().and_then(|place| place.path()).filter(|path| {
        // A device or a pipe has no place beside it.
        !path.exists() || path.is_file()
    });
    let path = match result {
        Some(result) => {
            let mut name = result.as_os_str().to_owned();
            name.push(".unfinished");
            PathBuf::from(name)
        }
        None => kept::sheet_path()
            .context("there is no place to keep what was measured so far\ntry: --json FILE")?,
    };
    if path.exists() {
        bail!("{path:?} is of a sheet that was ended early\n{}, or remove it", to_go_on(&path));
    }
    Ok(path)
}

/// That what will be measured can be kept, twice: while it is replaced there are two of it.
fn enough_room(unfinished: &Unfinished, path: &Path) -> anyhow::Result<()> {
    let threads = unfinished.asked.cpus.len() as u64 + 1;
    let needed = 2 * (1 << 20) + 2 * THREAD_BYTES * threads * unfinished.sheet.cases.len() as u64;
    // The nearest that is there: directories are made.
    let place = path.ancestors().skip(1).find(|above| above.exists()).unwrap_or(Path::new("."));
    let free = sys::room::free_bytes(place).with_context(|| format!("cannot look at {place:?}"))?;
    if free < needed {
        bail!(
            "{place:?} has {} KiB free, and keeping the sheet may take {} KiB\ntry: --json FILE, where there is more room",
            free >> 10,
            needed >> 10
        );
    }
    Ok(())
}

/// Starts the loads of every case once: what cannot be had shall be known now, not in hours.
fn rehearse(cases: &[Case], stop: &Stop<'_>) -> anyhow::Result<()> {
    for case in cases.iter().filter(|case| !case.loads.is_empty()) {
        if stop.asked() {
            break;
        }
        let running = Running::start(&case.loads, Duration::from_secs(60), &|| stop.asked());
        let running = running.with_context(|| format!("case {:?}", case.name));
        if running.as_ref().is_err_and(before_it_began) {
            break;
        }
        let stopped = running?.stop();
        if let Some((load, why)) = stopped.failed.first() {
            bail!("case {:?}: load {}: {why}", case.name, loads::spec::name(load));
        }
    }
    Ok(())
}
