//! `dwell wake --sheet`: several cases measured one after another. Each is kept when it is done, so
//! that an interrupted sheet can be resumed (`--resume`).
//!
//! A case that was cut short is measured again: its results are on the page, but not kept.

use super::super::results;
use super::{JUDGED, Setup, WakeProgress, asked, cases, ended_before_start, measure, refused, status};
use crate::cache;
use crate::cli::{WakeArgs, load};
use crate::exit;
use crate::keep::Keeper;
use crate::out::{OutputPath, Outputs, Paths, SheetResult, junit_has_verdict};
use crate::output::{self, clean_lines};
use crate::stop::Stop;
use anyhow::{Context, anyhow, bail};
use loads::Running;
use model::recording::Host;
use model::wake::sheet::{Case, SCHEMA_SHEET, Sheet};
use model::wake::verdict::Answer;
use model::wake::{WakeRequest, Wakeups};
use model::{Ns, Seen};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, process};
use store::unfinished::{LockedSheet, ResumeError, Resumer, SCHEMA_UNFINISHED, Unfinished};
use sys::clock::{rfc3339, unix_s};
use sys::signals::Signals;

/// The default duration of each case.
const LENGTH_NS: Ns = 3600 * 1_000_000_000;
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The most space for the result of one thread: its histogram and its timeline.
const THREAD_BYTES: u64 = 512 << 10;
/// The suffix of unfinished sheets.
const SUFFIX: &str = ".unfinished";

/// Measures the remaining cases and reports all; returns the exit status.
pub(super) fn sheet(args: &WakeArgs, keeper: &mut Keeper) -> anyhow::Result<u8> {
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
    let mut signals = Signals::take_over().context("cannot handle signals")?;
    let outputs = Outputs::open(&paths, args.outputs.page(), Some(kept.path()), own_cases(args).as_slice())?;
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
    let mut ended_early: Option<Wakeups> = None;
    for (at, case) in to_come.iter().enumerate() {
        if stop.asked() {
            break;
        }
        let for_ns = unfinished.sheet.for_ns;
        let mut progress = WakeProgress {
            before: position(&unfinished.sheet, case),
            after_ns: for_ns * (to_come.len() - at - 1) as u64,
            ..WakeProgress::new(args.outputs.quiet, for_ns)
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
        let measured = measured.with_context(|| format!("case {:?} ({})", case.name, to_resume(&path)))?;
        let wakeups = analyse::wake::wakeups(&measured);
        if wakeups.interrupted {
            ended_early = Some(wakeups);
            break;
        }
        unfinished.sheet.results.push(wakeups);
        // The results are still reported at the end.
        if let Err(error) = held.keep(&unfinished) {
            output::complain(&error.to_string());
        }
    }
    let Unfinished { mut sheet, .. } = unfinished;
    let json = paths.get("json").map(|json| json.text().to_string_lossy().into_owned());
    let done = sheet.results.len();
    sheet.results.extend(ended_early);
    let result = SheetResult { sheet, json };
    let ended_by = stop.status();
    drop(signals);
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
                let remedy = if wrong.contains("\ntry: ") {
                    ""
                } else {
                    "\ntry: the format shown by dwell wake --help"
                };
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

/// The outputs on the command line, as absolute paths: the sheet may be resumed in another
/// directory.
fn given(args: &WakeArgs) -> anyhow::Result<BTreeMap<String, OsString>> {
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

/// The file of an unfinished sheet.
enum SheetFile {
    /// To be created.
    New(PathBuf),
    /// Locked by this process.
    Old(LockedSheet),
}

impl SheetFile {
    fn path(&self) -> &Path {
        match self {
            SheetFile::New(path) => path,
            SheetFile::Old(held) => held.path(),
        }
    }

    /// Writes the sheet so far; the file stays locked.
    fn hold(self, unfinished: &Unfinished) -> anyhow::Result<LockedSheet> {
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
fn resumed(path: &Path, args: &WakeArgs) -> anyhow::Result<(Unfinished, SheetFile)> {
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
fn new_path(args: &WakeArgs) -> anyhow::Result<PathBuf> {
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
