//! `dwell show`: a kept result as it was found, or a kept recording, analysed again.

use super::kept::{self, Found};
use super::{named, recordings, report, results, what_if};
use crate::cli::ShowArgs;
use crate::exit;
use crate::keep::ResultStore;
use crate::out::{Kept, KeptResults, Outputs, Page, RunOutput};
use analyse::extrapolate::with_job;
use anyhow::bail;

/// Shows it; returns the exit status.
pub(crate) fn show(mut args: ShowArgs, keeper: &ResultStore) -> anyhow::Result<u8> {
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
    match kept::find(&args.recording, keeper)? {
        Found::Run(found) => run(args, *found),
        Found::Others(kept) => others(&args, kept, keeper),
    }
}

fn run(args: ShowArgs, found: RunOutput) -> anyhow::Result<u8> {
    let RunOutput { result, sources, .. } = found;
    if result.profile.value().is_none() {
        refuse_stacks(&args, "has no stacks: it has a page and its JSON")?;
    }
    let outputs = args.page.open(Page::Stdout, None, &[&args.recording])?;
    let (result, unanswered) = with_job(result, args.page.job(None).as_ref());
    let result = RunOutput::new(result, args.page.code, sources);
    let mut outcome = outputs.write(&result, &args.page.look);
    outcome.errors.extend(unanswered.map(anyhow::Error::from));
    Ok(if outcome.complain() { exit::DWELL_FAILED } else { 0 })
}

/// Results of any kind: several where they are of a page.
fn others(args: &ShowArgs, mut kept: Vec<Box<dyn Kept>>, keeper: &ResultStore) -> anyhow::Result<u8> {
    let path = &args.recording;
    refuse_stacks(args, "is no run: it has a page and its JSON")?;
    if args.page.work.is_some() {
        bail!("{path:?} is no run, which --work is about\ntry: a result of dwell run");
    }
    let forms = &args.page.forms;
    let page = args.page.output.as_ref().map_or(Page::Stdout, Page::To);
    let outputs = Outputs::open(forms, page, None, &[path])?;
    kept.iter_mut().for_each(|result| result.show_code(&args.page.code));
    let json = if forms.contains_key("json") { results::json(path, keeper)? } else { Vec::new() };
    let mut shown = KeptResults { results: kept, json, html: String::new() };
    if forms.contains_key("html") {
        let named = shown.results.drain(..).map(|result| (path.as_path(), result)).collect::<Vec<_>>();
        shown.html = report::page(&named)?;
        shown.results = named.into_iter().map(|(_, result)| result).collect();
    }
    Ok(if outputs.write(&shown, &args.page.look).complain() { exit::DWELL_FAILED } else { 0 })
}

/// Refuses options that need stacks, for a result that has none.
fn refuse_stacks(args: &ShowArgs, why: &str) -> anyhow::Result<()> {
    let code = &args.page.code;
    let of_code = code.flame || !code.lines.is_empty() || !code.annotate.is_empty();
    let of_form = args.page.forms.keys().any(|form| !["json", "html"].contains(&form.as_str()));
    if of_code || of_form {
        bail!(
            "{:?} {why}, and nothing else can be made of it\n\
             try: dwell show ID of a result in dwell list; or dwell run --keep run.dwell ..., then dwell show run.dwell \
             with these options",
            args.recording
        );
    }
    Ok(())
}
