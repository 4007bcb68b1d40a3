//! `dwell show`: a kept recording, analysed again, or a kept result.

use super::recordings::{self, AnyReader, Kept};
use super::{named, report, show_result, what_if};
use crate::cli::ShowArgs;
use crate::exit;
use crate::keep::Keeper;
use crate::out::{Page, RunResult};
use analyse::extrapolate::with_job;

/// Shows it; returns the exit status.
pub(crate) fn show(mut args: ShowArgs, keeper: &Keeper) -> anyhow::Result<u8> {
    // Another result may be the last one before all is written.
    args.recording = named::settled(&args.recording, keeper)?;
    match recordings::open(&args.recording, keeper)? {
        Some(reader) if args.what_if.is_empty() => recording(args, reader),
        Some(reader) => what_if::what_if(&args, reader),
        None => {
            show_result::show(&args, keeper)?;
            match args.page.forms.get("html") {
                Some(html) => report::write(&[args.recording], html, keeper),
                None => Ok(0),
            }
        }
    }
}

fn recording(args: ShowArgs, reader: AnyReader) -> anyhow::Result<u8> {
    let outputs = args.page.open(Page::Stdout, None, &[&args.recording])?;
    let Kept { header, analysis, sources } = recordings::analysed(reader, &args.recording)?;
    let (analysis, unanswered) = with_job(analysis, args.page.job(None).as_ref());
    let result = RunResult::new(header, analysis, args.page.code, sources);
    let mut outcome = outputs.write(&result, &args.page.look);
    outcome.errors.extend(unanswered.map(anyhow::Error::from));
    Ok(if outcome.complain() { exit::DWELL_FAILED } else { 0 })
}
