//! A run, or a window, as a result, and the options for which code to show below its page.

use super::code::{CODE, CodeArgs};
use super::kind::{Export, Kind, Rows, typed};
use super::render::{Form, Render, in_form};
use super::row::{in_shell, row};
use crate::{annotate, suggest};
use analyse::{identity, service};
use anyhow::{anyhow, bail};
use model::run::{SCHEMA_ATTACH, SCHEMA_RUN};
use model::{KeptRun, Probed, RunResult, Seen};
use observe::Sources;
use report::Look;
use report::export::proto::Message;
use report::export::tables::Tables;
use report::export::{self, Exported};
use report::profile::{self, FlameOptions, FoldedOptions, FoldedTime, ProfileMetadata, SourceOptions};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use store::results::NewResult;
use sys::clock;
use sys::untrusted_file::Rights;

/// A user who may read only what everybody may.
pub(crate) const NOBODY: u32 = 65_534;

/// The result of a run, and which code to show below its page.
#[derive(Debug)]
pub(crate) struct RunOutput {
    pub(crate) result: RunResult,
    pub(crate) code: CodeArgs,
    pub(crate) sources: Sources,
}

impl RunOutput {
    /// `sources` reads what its programs named.
    pub(crate) fn new(result: RunResult, code: CodeArgs, sources: Sources) -> Self {
        Self { result, code, sources }
    }

    /// Puts what a probe gave beside the finding of this index.
    pub(crate) fn set_probed(&mut self, finding: usize, probed: Seen<Probed>) {
        self.result.diagnosis.probed = Some((finding, probed));
    }

    fn metadata(&self) -> ProfileMetadata<'_> {
        ProfileMetadata::of(&self.result.run)
    }
}

impl Render for RunOutput {
    fn page(&self, look: Look) -> String {
        below(self, report::terminal(&self.result.run, &self.result.diagnosis, look), look)
    }

    fn screen(&self, look: Look) -> String {
        below(self, report::screen(&self.result.run, &self.result.diagnosis, look), look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|output| report::result::without_stacks(&output.result).into_bytes()),
        Form::html(|output| report::html::runs(&[&output.result]).into_bytes()),
        Form::new(
            "folded",
            "Write folded stacks, in nanoseconds, to FILE (for flamegraph.pl, inferno, speedscope)",
            |output: &RunOutput| {
                let options = FoldedOptions { part: FoldedTime::All, threads: false };
                profile::folded(output.result.profile(), options).into_bytes()
            },
        )
        .under(CODE),
        Form::new("firefox", "Write a profile for profiler.firefox.com to FILE", |output: &RunOutput| {
            profile::firefox(output.result.profile(), &output.metadata()).into_bytes()
        })
        .under(CODE),
        Form::new("speedscope", "Write a profile for speedscope.app to FILE", |output: &RunOutput| {
            profile::speedscope(output.result.profile(), &output.metadata()).into_bytes()
        })
        .under(CODE),
    ];
}

/// Reads the JSON of a run, or of a window.
///
/// # Errors
/// It is none, or contradicts itself, as somebody changed the file.
pub(crate) fn read_run(path: &Path, json: Value) -> anyhow::Result<RunResult> {
    analyse::whole(typed::<KeptRun>(path, json)?)
        .map_err(|error| anyhow!("{path:?} was changed since it was written: {error}"))
}

impl Kind for RunOutput {
    const SCHEMAS: &'static [&'static str] = &[SCHEMA_RUN, SCHEMA_ATTACH];

    /// It does not say whose its programs were: their files are read as far as everybody may.
    fn read(path: &Path, json: Value) -> anyhow::Result<Self> {
        let sources = Sources::of(Rights::own(), &[NOBODY].into());
        Ok(Self::new(read_run(path, json)?, CodeArgs::default(), sources))
    }

    fn schema(&self) -> &'static str {
        self.result.run.schema
    }

    fn tables(&self) -> Tables {
        Tables::of(&report::result::tables(&self.result))
    }

    fn html(kept: &[(&Path, &Self)]) -> Option<String> {
        Some(report::html::runs(&kept.iter().map(|(_, one)| &one.result).collect::<Vec<_>>()))
    }

    fn exports(&self) -> &'static [Export<Self>] {
        if self.result.run.window.is_some() { OF_WINDOW } else { OF_RUN }
    }

    fn row(&self) -> Option<NewResult> {
        let RunResult { run, diagnosis, .. } = &self.result;
        let verb = if run.window.is_some() { "attach" } else { "run" };
        Some(NewResult {
            command: in_shell(&run.command),
            wall_ns: Some(run.wall_ns),
            verdict: Some(report::results::class(&run.bound).to_owned()),
            finding: diagnosis.findings.first().map(|finding| finding.cause.id.to_string()),
            ..row(verb, &run.host, run.schema, report::result::whole(&self.result))
        })
    }

    fn rows(&self, beside: &tables::Kept, options: tables::Options) -> Option<Rows> {
        let run = &self.result.run;
        let target = run.window.as_ref().map(|window| &*window.target);
        let beside = tables::Kept {
            id: identity::known(&run.origin, || identity::of_run(run)),
            service: run.service.clone().or_else(|| service::name(target, &run.command)),
            ..beside.clone()
        };
        let words = report::in_words(&self.result);
        Some(tables::run(run, &words, &beside, options).map(|rows| vec![rows]))
    }

    fn spans(&self) -> Vec<Message> {
        report::export::otlp_spans_of_requests(&self.result.run)
    }

    fn whole(&self) -> Option<Vec<u8>> {
        Some(report::result::whole(&self.result).into_bytes())
    }

    fn show_code(&mut self, code: &CodeArgs) {
        self.code = code.clone();
    }
}

const PPROF: Export<RunOutput> = Export::own("pprof", |output, _| {
    let run = &output.result.run;
    let exported = |profile| profile::pprof(run, profile, &ProfileMetadata::of(run));
    Ok(output.result.profile.value().map(exported))
});
const PERFETTO: Export<RunOutput> = Export::of_recording("perfetto");
const OTLP: Export<RunOutput> = Export::of_recording("otlp");
/// Octaves: a recording has the length of each wait.
const HDR: Export<RunOutput> = Export::own("hdr", |output, path| {
    let run = &output.result.run;
    if !run.waits.is_empty() && run.waits.iter().all(|row| row.histogram.is_empty()) {
        bail!(
            "{path:?} has no lengths of waits: they are seen with BPF only\n\
             try: dwell run --source bpf --keep, as root"
        );
    }
    Ok(Some(export::hdr_of_waits(run, None)))
});
const FIREFOX: Export<RunOutput> = Export::own("firefox", |output, _| Ok(over_time(output, "firefox")));
const SPEEDSCOPE: Export<RunOutput> =
    Export::own("speedscope", |output, _| Ok(over_time(output, "speedscope")));
const FOLDED: Export<RunOutput> = Export::own("folded", |output, _| {
    Ok(of_stacks(
        output,
        "folded",
        "it has sums of stacks: no times, no account, no path and no findings are in it",
    ))
});

const OF_RUN: &[Export<RunOutput>] = &[PPROF, PERFETTO, OTLP, HDR, FIREFOX, SPEEDSCOPE, FOLDED];
/// A window has no critical path, but slow requests.
const PERFETTO_OF_WINDOW: Export<RunOutput> = Export::own("perfetto", |output, path| {
    slow_requests(path, report::export::perfetto_of_requests(&output.result.run))
});
const OTLP_OF_WINDOW: Export<RunOutput> = Export::own("otlp", |output, path| {
    slow_requests(path, report::export::otlp_of_requests(&output.result.run))
});
const OF_WINDOW: &[Export<RunOutput>] =
    &[PPROF, PERFETTO_OF_WINDOW, OTLP_OF_WINDOW, HDR, FIREFOX, SPEEDSCOPE, FOLDED];

fn slow_requests(path: &Path, exported: Option<Exported>) -> anyhow::Result<Option<Exported>> {
    match exported {
        None => bail!(
            "{path:?} is a window, which has no critical path, and none of its requests is known\n\
             try: dwell attach :PORT while clients ask, as root"
        ),
        some => Ok(some),
    }
}

/// A form of the stacks, where there are any.
fn of_stacks(output: &RunOutput, form: &str, left_out: &str) -> Option<Exported> {
    output.result.profile.value()?;
    in_form(output, form).map(|bytes| Exported { bytes, left_out: vec![left_out.to_owned()] })
}

fn over_time(output: &RunOutput, form: &str) -> Option<Exported> {
    let what = "it has stacks over time: no account, no path, no hand-overs and no findings are in it";
    let mut exported = of_stacks(output, form, what)?;
    let thinned = output.result.profile().thinned;
    if thinned > 1 {
        exported.left_out.push(format!("of samples and waits every {thinned}th is in it"));
    }
    Some(exported)
}

/// The page, with the requested views of code below it.
fn below(output: &RunOutput, mut text: String, look: Look) -> String {
    let RunOutput { result, code, sources } = output;
    let recorded = clock::read_rfc3339(&result.run.started_at);
    if code.causes {
        text.push('\n');
        text.push_str(&report::causes(&result.run, &result.diagnosis, look));
    }
    if code.flame {
        text.push('\n');
        text.push_str(&profile::flame(result.profile(), &FlameOptions::new(look)));
    }
    for function in &code.lines {
        text.push('\n');
        let options = SourceOptions { look, rows: SOURCE_ROWS };
        let newer = RefCell::new(BTreeSet::new());
        let read = |path: &str| {
            let source = sources.text(path)?;
            if recorded.is_some_and(|recorded| sources.is_newer(&source, recorded)) {
                newer.borrow_mut().insert(path.to_owned());
            }
            Some(source.text)
        };
        let table = profile::source_table(result.profile(), function, &options, read);
        text.push_str(&table.unwrap_or_else(|| {
            let names = profile::names(result.profile());
            let near = suggest::nearest(function, names.iter().map(String::as_str)).join(", ");
            let meant = if near.is_empty() { String::new() } else { format!("; did you mean: {near}?") };
            let said = format!("no stack contains a function, a file or a line called {function}{meant}");
            report::clean(&said, look.unicode) + "\n"
        }));
        for path in newer.into_inner() {
            let said = format!(
                "! {path} was changed after the program began: these lines may not be those that ran"
            );
            text.push_str(&(report::clean(&said, look.unicode) + "\n"));
        }
    }
    for function in &code.annotate {
        text.push('\n');
        text.push_str(&match annotate::sampled(function, &result.addresses, sources, look) {
            Ok(listing) => listing,
            Err(error) => {
                format!("{error:#}").lines().map(|line| report::clean(line, look.unicode) + "\n").collect()
            }
        });
    }
    text
}

/// The most lines of a function's source on the page.
const SOURCE_ROWS: usize = 40;
