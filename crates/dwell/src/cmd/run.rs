//! `dwell run`: a program, recorded and accounted for.

mod misplaced;
mod probe;

use crate::cli::{PageArgs, RunArgs};
use crate::cmd::{count, hits, ladder, unit};
use crate::exit;
use crate::keep::ResultStore;
use crate::last_ladder;
use crate::live_run::LiveRun;
use crate::out::{Outputs, Page, RunOutput};
use crate::output;
use analyse::extrapolate::{Job, Work};
use anyhow::Context;
use model::Trailer;
use observe::output_lines::OutputLines;
use observe::{MaxOverhead, Request, Sources};
use probe::Repeated;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use sys::policy::RtBoost;
use sys::resolve::resolve_as;
use sys::rights;
use sys::signals::Signals;
use sys::spawn::Command;
use sys::untrusted_file::Rights;
use sys::user::User;

/// Runs the program; returns the exit status.
pub(crate) fn run(args: RunArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    // These two open their outputs themselves: opened twice, a new file would be removed as unused.
    if let Some(function) = &args.count_blocks {
        return count::run(&args, function, keeper);
    }
    if let Some(function) = &args.hits {
        return hits::run(&args, function, keeper);
    }
    let asked = probe::Asked::of(args.probe)?;
    let user = args.user.as_deref().map(User::look_up).transpose()?;
    let page = if args.quiet { Page::None } else { Page::Stderr };
    let outputs = args.page.open(page, args.watching.keep.as_deref(), &[])?;
    let mut live_run = LiveRun::prepare(&args.watching)?;
    // Outputs are open: that of a pipe waits for its reader, and Ctrl-C ends that. From here on it
    // goes to the program, and the report is still written.
    let mut signals = Signals::take_over().context("cannot handle signals")?;

    let counts_lines = matches!(args.page.work, Some(Work::Lines(_)));
    let lines = counts_lines.then(OutputLines::before).transpose()?;
    let (program, arguments) = args.command.split_first().context("no program")?;
    let command = Command { program: program.clone(), args: arguments.to_vec(), user };
    let mut watching = args.watching.watching(MaxOverhead::BesideCounting(0.05));
    unit::follow(&args.watching.unit, &mut watching, |file| {
        let own = || resolve_as(&command.program, command.user.as_ref());
        let own = file.map_or_else(own, |file| Ok(file.clone()));
        Ok(vec![own.map_err(|error| observe::Error::Start(error.into()))?])
    })?;
    let stop_after = args.stop_after.map(Duration::from_secs);
    let request = Request { command, watching, stop_after };
    let recorded = observe::record(&request, &mut live_run)?;
    let job = args.page.job(lines.and_then(OutputLines::after));
    let costs = if args.ladder {
        ladder::after_a_run(&mut signals, args.quiet, keeper)
    } else {
        last_ladder::costs(keeper)
    };
    let asked_to_end = recorded.was_asked_to_end();
    let left = recorded.left();
    output::complain_of_left(left, "recorded");
    let rights = request.command.user.as_ref().map_or_else(Rights::own, Rights::of_user);
    let sources = Sources::of(rights, recorded.users()).in_roots(recorded.roots());
    let trailer = recorded.trailer(costs);
    let quiet = args.quiet;
    // What comes now may wait as well.
    signals.outlast_one();
    // What is run again for a probe would inherit it.
    let _hurry = (asked_to_end && asked.is_none()).then(RtBoost::begin);
    if asked.is_none() {
        rights::after_recording();
    }
    let job = OfRun { job, sources, recording: args.watching.keep };
    let status = finish(keeper, live_run, &trailer, outputs, args.page, job, |result| {
        let repeated = Repeated { command: &request.command, ending: trailer.ending, asked_to_end, quiet };
        if let Some(asked) = asked {
            match Signals::take_over() {
                Ok(mut signals) => asked.probe(result, &repeated, &mut signals),
                Err(error) => output::complain(&format!("no probe: cannot handle signals: {error}")),
            }
        }
    })?;
    let typed: Vec<OsString> = env::args_os().collect();
    if !quiet && let Some(meant) = misplaced::meant(&args.command, &typed, status != 0) {
        output::complain(&output::clean_lines(&meant));
    }
    Ok(if status == 0 { exit::of_left(left, 0) } else { status })
}

/// What is known of a run besides its recording.
pub(super) struct OfRun {
    /// Its work, and that of the whole job.
    pub(super) job: Option<Job>,
    /// Reads the sources that its programs named.
    pub(super) sources: Sources,
    /// The file of its recording.
    pub(super) recording: Option<PathBuf>,
}

/// Analyses the recording, does what is left to do with the result, and writes the outputs; returns
/// the exit status.
pub(super) fn finish(
    keeper: &mut ResultStore,
    live_run: LiveRun,
    trailer: &Trailer,
    outputs: Outputs<RunOutput>,
    page: PageArgs,
    of_run: OfRun,
    then: impl FnOnce(&mut RunOutput),
) -> anyhow::Result<u8> {
    let analysed = live_run.analyse(trailer, of_run.job.as_ref())?;
    let mut result = RunOutput::new(analysed.result, page.code, of_run.sources);
    then(&mut result);
    let mut outcome = outputs.write(&result, &page.look);
    outcome.errors.splice(..0, analysed.errors);
    let failed = outcome.complain();
    keeper.offer(&result, of_run.recording.as_deref());
    // A missing output must not look like success; a failure of the program takes precedence.
    Ok(match exit::of_program(trailer.ending) {
        0 if failed => exit::DWELL_FAILED,
        status => status,
    })
}
