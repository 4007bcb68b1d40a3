//! `dwell show --what-if`: a kept recording, replayed with edits.

use crate::cli::ShowArgs;
use crate::exit;
use crate::out::{Outputs, Page};
use analyse::what_if::{Edit, Refused, Replayer};
use anyhow::{Context, bail};
use std::io::Read;
use store::Reader;

/// Replays the recording; returns the exit status.
pub(crate) fn what_if<R: Read>(args: &ShowArgs, mut reader: Reader<R>) -> anyhow::Result<u8> {
    let edits = args.what_if.iter().map(|text| Edit::read(text)).collect::<Result<Vec<_>, _>>()?;
    let page = args.page.output.as_ref().map_or(Page::Stdout, Page::To);
    let outputs = Outputs::open(&args.page.forms, page, None, &[&args.recording])?;
    let of_recording = || format!("{:?}", args.recording);
    let mut replayer = Replayer::new(reader.header(), edits).with_context(of_recording)?;
    reader.by_ref().for_each(|event| replayer.event(&event));
    let end = reader.end();
    let Some(trailer) = end.trailer else {
        bail!(anyhow::Error::from(Refused::Unfinished).context(of_recording()))
    };
    let result = replayer.finish(&trailer).with_context(of_recording)?;
    Ok(if outputs.write(&result, &args.page.look).complain() { exit::DWELL_FAILED } else { 0 })
}
