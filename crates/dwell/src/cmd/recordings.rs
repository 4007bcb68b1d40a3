//! The reader of kept recordings: found by a path or by the name of a result, and analysed again.

use super::named;
use crate::keep::ResultStore;
use crate::out::{CodeArgs, NOBODY, RunOutput};
use crate::output;
use crate::progress::{self, ProgressLine};
use analyse::Analyser;
use anyhow::Context;
use model::recording::{Ending, WindowEnd};
use model::{Event, Found, Header, KeptRun, Ns, RunResult, Trailer};
use observe::Sources;
use report::judged_anew;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Instant;
use store::Reader;
use sys::untrusted_file::Rights;

/// The ending of a program whose end was not recorded; no program can exit with this status.
const NO_ENDING: Ending = Ending::Code(-1);

/// The part of a file that tells whether it is text: more than recordings begin with.
const TEXT_BYTES: u64 = 64;

/// How many events are analysed between looks at the clock.
const EVENTS_A_LOOK: usize = 4096;

/// What recordings are read from: a file, or a packed one of the store.
pub(super) type AnyReader = Reader<Box<dyn Read + Send>>;

/// The recording of this name, which may be a path or a result of the store; none where the name is
/// that of a result without one.
///
/// # Errors
/// There is nothing of this name, or it cannot be read.
pub(super) fn open(path: &Path, keeper: &ResultStore) -> anyhow::Result<Option<AnyReader>> {
    Ok(match named::find(path, keeper)? {
        Some(row) if row.recording_bytes > 0 => Some(named::recording(&row, keeper)?),
        Some(_) => None,
        // One that may not be looked at is not missing: opening it says why.
        None if matches!(path.try_exists(), Ok(false)) => {
            return Err(named::missing(
                path,
                "dwell list, which has the IDs, or a file of dwell run --keep or of --json",
            ));
        }
        None if is_result(path) => None,
        None => Some(Reader::open(path)?.boxed()),
    })
}

/// Whether the file is text: JSON, a page with it, or what another tool printed. A recording begins
/// with bytes of its own.
fn is_result(path: &Path) -> bool {
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(TEXT_BYTES).read_to_end(&mut first));
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    read.is_ok_and(|bytes| bytes > 0) && !first.starts_with(store::MAGIC) && first.iter().all(is_text)
}

/// Analyses the recording at this path.
pub(super) fn analysed(mut reader: AnyReader, path: &Path) -> anyhow::Result<RunOutput> {
    let header = reader.header().clone();
    let mut analyser = Analyser::new(&header);
    let mut seen = LastSeen::default();
    let line = ProgressLine::new(false);
    let begun = Instant::now();
    for count in 1_usize.. {
        let Some(event) = reader.next() else { break };
        seen.event(&header, &event);
        analyser.event(&event);
        if count.is_multiple_of(EVENTS_A_LOOK)
            && let Some(part) = reader.part()
        {
            let left = progress::left(begun.elapsed(), part);
            if !left.is_empty() {
                line.update(|| format!("analysing: {:.0} %{left}; Ctrl-C to stop", part * 100.0));
            }
        }
    }
    drop(line);
    let owner = reader.owner();
    let end = reader.end();
    let trailer = end.trailer.unwrap_or_else(|| seen.trailer());
    let sources = sources(&trailer, owner);
    let mut result = match &end.concluded {
        // Events beyond the limit were analysed during the recording, and are not kept.
        Some(result) if trailer.kept_until.is_some() => stored(result, path)?,
        _ => analyser.finish(&trailer).with_context(|| {
            format!("cannot show {path:?}: it was changed since it was written, or dwell has a mistake")
        })?,
    };
    // Text that is not understood was written by a later version, and is left out.
    let then = end.concluded.and_then(|json| serde_json::from_str::<Found>(&json).ok());
    if let Some(otherwise) = then.and_then(|then| judged_anew(&header.recorder, &then, &result.found())) {
        output::complain(&format!("{}: {otherwise}", path.display()));
        result.run.coverage.notes.push(otherwise);
    }
    if let Some(notice) = end.notice {
        let notice = format!("{notice}; the report covers what could be read");
        output::complain(&format!("{}: {notice}", path.display()));
        result.run.coverage.notes.push(notice);
    }
    Ok(RunOutput::new(result, CodeArgs::default(), sources))
}

/// Reads what the recording names: that is up to the users of the programs, and to whoever could
/// write the file.
fn sources(trailer: &Trailer, owner: Option<u32>) -> Sources {
    let users = trailer.users.clone().unwrap_or_else(|| vec![NOBODY]);
    Sources::of(Rights::own(), &users.into_iter().chain(owner).collect())
}

/// The result stored in place of events that were not kept.
fn stored(result: &str, path: &Path) -> anyhow::Result<RunResult> {
    let kept: KeptRun =
        serde_json::from_str(result).with_context(|| format!("cannot read the result stored in {path:?}"))?;
    analyse::whole(kept)
        .with_context(|| format!("the result stored in {path:?} was changed since it was written"))
}

/// The last event, for a trailer that was never written.
#[derive(Default)]
struct LastSeen {
    at: Ns,
    ending: Option<Ending>,
    attached: bool,
}

impl LastSeen {
    fn event(&mut self, header: &Header, event: &Event) {
        self.at = event.at().unwrap_or(self.at);
        self.attached = header.attached.is_some();
        if let Event::Exit { tid, status, .. } = event
            && *tid == header.root
        {
            let status = ExitStatus::from_raw(*status);
            self.ending = status.code().map(Ending::Code).or(status.signal().map(Ending::Signal));
        }
    }

    fn trailer(&self) -> Trailer {
        const WHY: &str = "the recording ends before the program did";
        // The window ended when dwell was killed.
        let window = self.attached.then_some(Ending::Window(WindowEnd::Signal));
        let ending = self.ending.or(window).unwrap_or(NO_ENDING);
        Trailer::unwritten(ending, self.at, WHY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_other_tools_print_is_text_and_a_recording_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let is = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            is_result(&path)
        };
        assert!(is(b"{}") && is(b"# Histogram\n") && is(b"T: 0 ( 1911) P:80"));
        assert!(!is(&[store::MAGIC, &[0, 1, 2]].concat()) && !is(b"") && !is(b"\x7fELF"));
        assert!(!is(store::MAGIC));
    }
}
