//! `dwell attach`: running processes, recorded for a window and accounted for.

mod every;
mod shortage;
mod target;

use crate::cli::AttachArgs;
use crate::cmd::run::{OfRun, finish};
use crate::cmd::unit;
use crate::keep::ResultStore;
use crate::live_run::LiveRun;
use crate::out::Page;
use crate::progress::ProgressLine;
use crate::{exit, last_ladder, output};
use anyhow::{Context, bail};
use model::Ns;
use observe::{MaxOverhead, Sources, Window};
use shortage::HostReadings;
use std::path::PathBuf;
use sys::policy::RtBoost;
use sys::rights;
use sys::signals::Signals;
use sys::untrusted_file::Rights;
use target::target;

/// Records the target, once or in each interval; returns the exit status.
pub(crate) fn attach(args: AttachArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    match (args.every_ns, args.length_ns) {
        (Some(every), Some(length)) if !every::is_window() => every::every(&args, every, length),
        _ => once(args, keeper),
    }
}

fn once(args: AttachArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    if args.skip_if_busy
        && let Some(shortage) = HostReadings::read(host::here()).shortage()
    {
        output::complain(&format!("the window was skipped: {shortage}"));
        return Ok(exit::SKIPPED);
    }
    let target = target(&args)?;
    // Those of one process; of the others it is looked while they are recorded.
    let rights = target.first().and_then(|pid| Rights::of_process(pid).ok()).unwrap_or_else(Rights::own);
    let began = target.first().and_then(code::began);
    let page = if args.quiet { Page::None } else { Page::Stdout };
    let outputs = args.page.open(page, args.watching.keep.as_deref(), &[])?;
    let mut live_run = LiveRun::prepare(&args.watching)?;
    // From here on Ctrl-C ends the window, and the report is still written.
    let signals = Signals::take_over().context("cannot handle signals")?;
    let (mut watching, length_ns) = (args.watching.watching(MaxOverhead::All(0.02)), args.length_ns);
    unit::follow(&args.watching.unit, &mut watching, |file| {
        let files = target.files(file.map(PathBuf::as_path));
        if files.is_empty() {
            match file {
                Some(file) => bail!("no process of {} uses {file:?}", target.name),
                None => bail!("{} is gone", target.name),
            }
        }
        Ok(files)
    })?;
    let window = Window { target, watching, length_ns, jvm_names: args.jvm_names };
    let line = ProgressLine::new(args.quiet);
    let recorded =
        observe::attach(&window, &mut live_run, &mut |ns| line.update(|| passed(ns, args.length_ns)))?;
    drop(line);
    // What comes now may wait: for the reader of a pipe, for a disk.
    signals.outlast_one();
    // Somebody waits for the end: before the right to do so is given up.
    let _hurry = recorded.was_asked_to_end().then(RtBoost::begin);
    rights::after_recording();
    let sources = Sources::of(rights, recorded.users()).in_roots(recorded.roots()).of_begun(began);
    let of_run = OfRun { job: args.page.job(None), sources, recording: args.watching.keep };
    let trailer = recorded.trailer(last_ladder::costs(keeper));
    finish(keeper, live_run, &trailer, outputs, args.page, of_run, |_| ())
}

/// `recording: 3 s of 10 s; Ctrl-C to stop`.
fn passed(ns: Ns, length_ns: Option<Ns>) -> String {
    let seconds = report::units::duration(ns / 1_000_000_000 * 1_000_000_000);
    let of = length_ns.map(|length| format!(" of {}", report::units::duration(length))).unwrap_or_default();
    format!("recording: {seconds}{of}; Ctrl-C to stop")
}
