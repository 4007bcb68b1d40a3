//! `dwell run`: the program, watched and accounted for.

use crate::cli::{PageArgs, RunArgs};
use crate::cmd::{count, hits, ladder};
use crate::deliver::{self, Outputs};
use crate::exit;
use crate::kept;
use crate::look::Onto;
use crate::output::{self, Target};
use analyse::Analyser;
use analyse::extrapolate::Work;
use anyhow::Context;
use model::{Event, Header, Trailer};
use observe::output_lines::OutputLines;
use observe::{Request, Sink};
use std::fs::File;
use std::path::PathBuf;
use store::Writer;
use sys::signals::Signals;
use sys::spawn::Command;
use sys::user::User;

/// Runs the program; gives the exit status.
pub(crate) fn run(mut args: RunArgs) -> anyhow::Result<u8> {
    // These two open their outputs themselves: opened twice, a new file would be taken for one that is not needed.
    if let Some(function) = &args.count_blocks {
        return count::run(&args, function);
    }
    if let Some(function) = &args.hits {
        return hits::run(&args, function);
    }
    // From here on Ctrl-C is the program's, and the report still comes.
    let mut signals = Signals::take_over().context("cannot take signals")?;
    let user = args.user.as_deref().map(User::look_up).transpose()?;
    let outputs = Outputs::open(&args.page, args.watching.keep.as_deref())?;
    let keep = args.watching.keep.as_deref().map(Target::open).transpose()?;

    let counts_lines = matches!(args.page.work, Some(Work::Lines(_)));
    let lines = counts_lines.then(OutputLines::before).transpose()?;
    let (program, arguments) = args.command.split_first().context("no program")?;
    let command = Command { program: program.clone(), args: arguments.to_vec(), user };
    let request = Request { command, watching: args.watching.watching() };
    let mut watcher = Watcher { analyser: None, kept: Kept::new(keep, args.watching.keep_limit) };
    let mut trailer = observe::record(&request, &mut watcher)?;
    if let Some(lines) = lines {
        args.page.work = Some(Work::Lines(lines.after()));
    }
    trailer.costs = if args.ladder { ladder::after_a_run(&mut signals, args.quiet) } else { kept::costs() };
    finish(watcher, &trailer, outputs, &args.page, args.quiet)
}

/// Ends the recording, analyses it and writes what was asked for; gives the exit status.
pub(super) fn finish(
    watcher: Watcher,
    trailer: &Trailer,
    outputs: Outputs,
    page: &PageArgs,
    quiet: bool,
) -> anyhow::Result<u8> {
    let Watcher { analyser, mut kept } = watcher;
    let header = kept.header.clone().context("the recording has no header")?;
    let analyser = analyser.context("the recording has no header")?;
    // The recording is completed first: should the analysis fail, it shows why.
    let mut failed = Vec::new();
    if !kept.is_full() {
        failed.extend(kept.finish(trailer, None).err());
    }
    let mut analysis = analyser.finish(trailer);
    failed.extend(deliver::extrapolate(page, &mut analysis.run).err());
    if kept.is_full() {
        failed.extend(
            kept.finish(
                trailer,
                Some(&serde_json::to_string(&analysis).context("cannot write the result down")?),
            )
            .err(),
        );
    }
    let silent = quiet && page.output.is_none();
    failed.extend(outputs.write(page, &header, &analysis, (!silent).then_some(Onto::Stderr)));

    for error in &failed {
        output::complain(&format!("{error:#}"));
    }
    // A result that was asked for and is missing must not look like success; a failure of the program counts more.
    Ok(match exit::of_program(trailer.ending) {
        0 if !failed.is_empty() => exit::DWELL_FAILED,
        status => status,
    })
}

/// Takes the recording as it comes.
pub(super) struct Watcher {
    pub(super) analyser: Option<Analyser>,
    pub(super) kept: Kept,
}

impl Sink for Watcher {
    fn header(&mut self, header: &Header) {
        self.analyser = Some(Analyser::new(header));
        self.kept.header = Some(header.clone());
    }

    fn event(&mut self, event: &Event) {
        if let Some(analyser) = &mut self.analyser {
            analyser.event(event);
        }
        self.kept.event(event);
    }
}

/// The recording on disk, where one was asked for. Nothing is written before the first event: the kernel may
/// still refuse the program.
pub(super) struct Kept {
    header: Option<Header>,
    target: Option<Target>,
    path: PathBuf,
    limit_bytes: u64,
    writer: Option<Writer<File>>,
    failed: Option<anyhow::Error>,
}

impl Kept {
    pub(super) fn new(target: Option<Target>, limit_bytes: u64) -> Self {
        let path = target.as_ref().map(|target| target.path().to_owned()).unwrap_or_default();
        Self { header: None, target, path, limit_bytes, writer: None, failed: None }
    }

    fn is_full(&self) -> bool {
        self.writer.as_ref().is_some_and(Writer::is_full)
    }

    fn event(&mut self, event: &Event) {
        self.start();
        if let Some(writer) = &mut self.writer {
            writer.event(event);
        }
    }

    /// Begins the file, once.
    fn start(&mut self) {
        let (Some(_), Some(header)) = (&self.target, &self.header) else { return };
        let Some(target) = self.target.take() else { return };
        match target.take() {
            Ok(file) => self.writer = Some(Writer::new(file, &self.path, header, self.limit_bytes)),
            Err(error) => self.failed = Some(error),
        }
    }

    fn finish(&mut self, trailer: &Trailer, result: Option<&str>) -> anyhow::Result<()> {
        self.start();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if let Some(writer) = self.writer.take() {
            writer.finish(trailer, result)?;
        }
        Ok(())
    }
}
