//! `dwell show`: a kept result as it was found, or a kept recording, analysed again.

use super::recordings::{self, Kept};
use super::{named, report, show_result, what_if};
use crate::cli::ShowArgs;
use crate::exit;
use crate::keep::Keeper;
use crate::out::{Page, RunOutput};
use analyse::extrapolate::with_job;
use anyhow::bail;
use observe::Sources;

/// Shows it; returns the exit status.
pub(crate) fn show(mut args: ShowArgs, keeper: &Keeper) -> anyhow::Result<u8> {
    // Another result may be the last one before all is written.
    args.recording = named::settled(&args.recording, keeper)?;
    if !args.what_if.is_empty() {
        let Some(reader) = recordings::open(&args.recording, keeper)? else {
            bail!(
                "{:?} is a result, and --what-if replays a recording\n\
                 try: dwell run --keep run.dwell ..., then dwell show run.dwell --what-if EDIT",
                args.recording
            );
        };
        return what_if::what_if(&args, reader);
    }
    match recordings::open_run(&args.recording, keeper)? {
        Some(Kept { result, sources }) => run(args, result, sources),
        None => {
            show_result::show(&args, keeper)?;
            match args.page.forms.get("html") {
                Some(html) => report::write(&[args.recording], html, keeper),
                None => Ok(0),
            }
        }
    }
}

fn run(args: ShowArgs, result: model::RunResult, sources: Sources) -> anyhow::Result<u8> {
    show_result::has_stacks(&args, &result)?;
    let outputs = args.page.open(Page::Stdout, None, &[&args.recording])?;
    let (result, unanswered) = with_job(result, args.page.job(None).as_ref());
    let result = RunOutput::new(result, args.page.code, sources);
    let mut outcome = outputs.write(&result, &args.page.look);
    outcome.errors.extend(unanswered.map(anyhow::Error::from));
    Ok(if outcome.complain() { exit::DWELL_FAILED } else { 0 })
}
