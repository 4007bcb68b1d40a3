//! Results and where they go: the page, and the forms that are exported.
//!
//! A result implements [`Render`] in a file of its own. A new export format of a result is a
//! function in `report` and a line in the result's [`Render::forms`]: its option, its help and its
//! check come from that line.

mod args;
mod diff;
mod ladder;
mod load;
mod path;
pub(crate) mod run;
mod wake;

pub(crate) use args::FormArgs;
pub(crate) use diff::{LadderDiffResult, WakeDiffResult};
pub(crate) use ladder::LadderResult;
pub(crate) use load::LoadResult;
pub(crate) use path::{OutputPath, Paths};
pub(crate) use run::RunResult;
pub(crate) use wake::{SheetResult, WakeResult};

use crate::cli::LookArgs;
use crate::look::{OutputKind, look};
use crate::output::{self, Target};
use anyhow::{Context, bail};
use report::Look;
use std::path::Path;

/// A result that can be shown and exported.
pub(crate) trait Render: Sized + 'static {
    /// The page for a terminal.
    fn page(&self, look: Look) -> String;

    /// The forms that it can be exported in, in the order of the help.
    fn forms() -> &'static [Form<Self>];
}

/// A form of a result other than the page.
pub(crate) struct Form<R: 'static> {
    /// The name of its option: `json`.
    pub(crate) name: &'static str,
    /// The help of the option.
    pub(crate) help: &'static str,
    /// The heading in the help; none for the general options.
    pub(crate) heading: Option<&'static str>,
    /// Whether it holds all of the result.
    whole: bool,
    write: fn(&R) -> Vec<u8>,
}

impl<R> Form<R> {
    /// All of the result, as JSON.
    pub(crate) const fn json(write: fn(&R) -> Vec<u8>) -> Self {
        let help = "Write the result as JSON to FILE (`-`: standard output)";
        Self { whole: true, ..Self::new("json", help, write) }
    }

    /// A picture, as SVG.
    pub(crate) const fn svg(write: fn(&R) -> Vec<u8>) -> Self {
        Self::new("svg", "Write the result as an SVG image to FILE", write)
    }

    /// The same picture, as PNG.
    pub(crate) const fn png(write: fn(&R) -> Vec<u8>) -> Self {
        Self::new("png", "Write the result as a PNG image to FILE", write)
    }

    /// Any other.
    pub(crate) const fn new(name: &'static str, help: &'static str, write: fn(&R) -> Vec<u8>) -> Self {
        Self { name, help, heading: None, whole: false, write }
    }

    /// The same under a heading of the help.
    pub(crate) const fn under(self, heading: &'static str) -> Self {
        Self { heading: Some(heading), ..self }
    }
}

/// Where the page goes.
pub(crate) enum Page<'a> {
    /// Nowhere.
    None,
    /// To standard output, unless another form goes there.
    Stdout,
    /// To standard error.
    Stderr,
    /// To the path on the command line.
    To(&'a OutputPath),
}

/// The outputs of one result, open and not yet written.
pub(crate) struct Outputs<R: Render> {
    page: Option<Destination>,
    forms: Vec<(&'static Form<R>, Destination)>,
}

/// Where one output goes.
enum Destination {
    Stdout,
    Stderr,
    File(Target),
}

impl Destination {
    fn open(path: &OutputPath) -> anyhow::Result<Self> {
        match path {
            OutputPath::Stdout => Ok(Self::Stdout),
            OutputPath::File(path) => Target::open(path).map(Self::File),
        }
    }

    fn kind(&self) -> OutputKind {
        match self {
            Self::Stdout => OutputKind::Stdout,
            Self::Stderr => OutputKind::Stderr,
            Self::File(_) => OutputKind::File,
        }
    }

    /// Writes `content`; returns whether all of it was accepted.
    fn put(self, content: impl AsRef<[u8]>) -> anyhow::Result<bool> {
        match self {
            Self::Stdout => output::put_to_stdout(content),
            Self::Stderr => Ok(output::put_to_stderr(content)),
            Self::File(target) => target.put(content),
        }
    }
}

impl<R: Render> Outputs<R> {
    /// Opens all outputs. `written` is another file that is written at the same time, `read` are
    /// the input files: none of them may be an output.
    pub(crate) fn open(
        paths: &Paths,
        page: Page<'_>,
        written: Option<&Path>,
        read: &[&Path],
    ) -> anyhow::Result<Self> {
        let to = if let Page::To(path) = page { Some(path) } else { None };
        path::distinct(paths.values().chain(to), written, read)?;
        let mut forms = Vec::new();
        for (name, path) in paths {
            let form = R::forms().iter().find(|form| form.name == name);
            let form = form.with_context(|| format!("this result has no form called {name:?}"))?;
            forms.push((form, Destination::open(path)?));
        }
        forms.sort_by_key(|(form, _)| R::forms().iter().position(|other| other.name == form.name));
        let shown = !paths.values().any(|path| *path == OutputPath::Stdout);
        let page = match page {
            Page::None => None,
            Page::Stdout => shown.then_some(Destination::Stdout),
            Page::Stderr => Some(Destination::Stderr),
            Page::To(path) => Some(Destination::open(path)?),
        };
        Ok(Self { page, forms })
    }

    /// Whether there is a page.
    pub(crate) fn has_page(&self) -> bool {
        self.page.is_some()
    }

    /// Writes the result to all outputs.
    pub(crate) fn write(self, result: &R, args: &LookArgs) -> Outcome {
        let mut outcome = Outcome::default();
        let (mut asked, mut taken) = (0, 0);
        if let Some(page) = self.page {
            asked += 1;
            let text = result.page(look(args, page.kind()));
            taken += usize::from(outcome.add(page.put(text)));
        }
        for (form, destination) in self.forms {
            asked += 1;
            if outcome.add(destination.put((form.write)(result))) {
                taken += 1;
                outcome.whole |= form.whole;
            }
        }
        outcome.whole |= asked > 0 && taken == asked;
        outcome
    }
}

/// The outcome of writing the outputs.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Outcome {
    /// Whether all of the result was written: as JSON, or to every output.
    whole: bool,
    /// What could not be written.
    pub(crate) errors: Vec<anyhow::Error>,
}

impl Outcome {
    /// Records one output; returns whether all of it was accepted.
    fn add(&mut self, put: anyhow::Result<bool>) -> bool {
        put.unwrap_or_else(|error| {
            self.errors.push(error);
            false
        })
    }

    /// Whether the result is safe: nothing failed, and all of it was written.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole && self.errors.is_empty()
    }

    /// Prints the errors to standard error; returns whether there are any.
    pub(crate) fn complain(&self) -> bool {
        for error in &self.errors {
            output::complain(&format!("{error:#}"));
        }
        !self.errors.is_empty()
    }
}

/// Checks that `--junit` has a verdict to write.
pub(crate) fn junit_has_verdict(paths: &Paths, deadline: bool, remedy: &str) -> anyhow::Result<()> {
    if paths.contains_key(wake::JUNIT) && !deadline {
        bail!("--junit needs a deadline: it writes the verdict\ntry: {remedy}");
    }
    Ok(())
}
