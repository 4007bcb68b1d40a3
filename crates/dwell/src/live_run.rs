//! A run that is recorded and analysed at once, and kept with `--keep`.
//!
//! Shared by the verbs that record. Outputs of the result are left to [`out`](crate::out).

use crate::cli::WatchArgs;
use crate::output::{self, Growing};
use crate::to_reader::ToReader;
use analyse::Analyser;
use analyse::extrapolate::{Job, with_job};
use anyhow::Context;
use model::requests::{Unit, Units};
use model::{Event, Header, RunResult, Seen, Trailer};
use observe::Sink;
use std::path::PathBuf;
use store::Writer;
use sys::at_once::EndAtOnce;

/// The analysis and the file of a recording in progress.
pub(crate) struct LiveRun {
    analyser: Option<Analyser>,
    /// What is accounted for, and how long it should take.
    units: Units,
    kept: RecordingFile,
    /// While instruments are set up.
    setting_up: Option<EndAtOnce>,
}

/// What the run came to.
pub(crate) struct Analysed {
    pub(crate) result: RunResult,
    /// Failures to keep the recording, or to extrapolate.
    pub(crate) errors: Vec<anyhow::Error>,
}

impl LiveRun {
    /// Opens the file of the recording, if any.
    pub(crate) fn prepare(args: &WatchArgs) -> anyhow::Result<Self> {
        let target = args.keep.as_deref().map(Growing::open).transpose()?;
        let kept = RecordingFile::new(target, args.keep_limit);
        Ok(Self { analyser: None, units: Units::default(), kept, setting_up: None })
    }

    /// Completes the recording and its analysis; `job` is the work of this run, and that of the
    /// whole job.
    pub(crate) fn analyse(self, trailer: &Trailer, job: Option<&Job>) -> anyhow::Result<Analysed> {
        let Self { analyser, units, mut kept, .. } = self;
        let analyser = analyser.context("the recording has no header")?;
        let mut errors = Vec::new();
        // The recording is completed first: if the analysis fails, it shows why.
        let is_kept = kept.end(trailer).map_err(|error| errors.push(error)).is_ok();
        let (result, unanswered) = with_job(analyser.finish(trailer)?, job);
        errors.extend(unanswered.map(anyhow::Error::from));
        if let Some(idle) = idle_deadline(&units, &result) {
            output::complain(&output::clean_lines(&idle));
        }
        if is_kept {
            errors.extend(kept.finish(&result).err());
        }
        Ok(Analysed { result, errors })
    }
}

impl Sink for LiveRun {
    fn sets_up(&mut self) {
        // Without it signals are looked for when all is set up.
        self.setting_up = EndAtOnce::begin(output::remove_unwritten).ok();
    }

    fn header(&mut self, header: &Header) {
        self.setting_up = None;
        self.analyser = Some(Analyser::new(header));
        self.units = header.units.clone();
        self.kept.header = Some(header.clone());
    }

    fn event(&mut self, event: &Event) {
        if let Some(analyser) = &mut self.analyser {
            analyser.event(event);
        }
        self.kept.event(event);
    }
}

/// That there were no requests for a deadline to count.
fn idle_deadline(units: &Units, result: &RunResult) -> Option<String> {
    if units.unit != Unit::Request || units.deadline_ns.is_none() {
        return None;
    }
    let why = match &result.run.tables.requests {
        Seen::Value(all) if all.times > 0 => return None,
        Seen::Unseen(why) => format!("requests were not followed: {why}"),
        _ => "the program answered no requests".to_owned(),
    };
    Some(format!(
        "--slower-than (--deadline) counted nothing: {why}\ntry: --unit cycle, for a program that works in cycles"
    ))
}

/// The recording on disk, if it is kept. Nothing is written before the first event: the kernel may
/// still refuse the program.
struct RecordingFile {
    header: Option<Header>,
    target: Option<Growing>,
    path: PathBuf,
    limit_bytes: u64,
    writer: Option<Writer<ToReader>>,
    failed: Option<anyhow::Error>,
}

impl RecordingFile {
    fn new(target: Option<Growing>, limit_bytes: u64) -> Self {
        let path = target.as_ref().map(|target| target.path().to_owned()).unwrap_or_default();
        Self { header: None, target, path, limit_bytes, writer: None, failed: None }
    }

    fn event(&mut self, event: &Event) {
        self.start();
        if let Some(writer) = &mut self.writer {
            writer.event(event);
        }
    }

    /// Writes the header, once.
    fn start(&mut self) {
        let (Some(_), Some(header)) = (&self.target, &self.header) else { return };
        let Some(target) = self.target.take() else { return };
        match target.take().and_then(|file| Ok(ToReader::new(file)?)) {
            Ok(file) => self.writer = Some(Writer::new(file, &self.path, header, self.limit_bytes)),
            Err(error) => self.failed = Some(error),
        }
    }

    fn end(&mut self, trailer: &Trailer) -> anyhow::Result<()> {
        self.start();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.writer.iter_mut().for_each(|writer| writer.end(trailer));
        Ok(())
    }

    /// Adds what was concluded.
    fn finish(self, result: &RunResult) -> anyhow::Result<()> {
        let Some(writer) = self.writer else { return Ok(()) };
        let concluded = if writer.is_full() {
            report::result::whole(result)
        } else {
            serde_json::to_string(&result.found())?
        };
        writer.finish(Some(&concluded))?;
        Ok(())
    }
}
