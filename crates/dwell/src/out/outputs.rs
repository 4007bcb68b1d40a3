//! The outputs of one result: opened before it is there, written once.

use super::path::{self, OutputPath, Paths};
use super::render::{Form, Render};
use crate::look::{LookArgs, OutputKind, look};
use crate::output::{self, Target};
use anyhow::Context;
use std::path::Path;

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
    File(Box<Target>),
}

impl Destination {
    fn open(path: &OutputPath) -> anyhow::Result<Self> {
        match path {
            OutputPath::Stdout => Ok(Self::Stdout),
            OutputPath::File(path) => Target::open(path).map(|target| Self::File(Box::new(target))),
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
            Self::Stderr => output::put_page_to_stderr(content),
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
        // `-o page.html` is among the forms.
        let page = match page {
            Page::To(path) if path.ending().is_some_and(|name| paths.get(name) == Some(path)) => Page::None,
            page => page,
        };
        let to = if let Page::To(path) = page { Some(path) } else { None };
        // What has no form at all is one: a page for a browser.
        let names: Vec<_> = R::FORMS.iter().map(|form| form.name).collect();
        to.filter(|_| !names.is_empty()).map_or(Ok(()), |to| path::is_text(to, &names, paths))?;
        path::distinct(paths.values().chain(to), written, read)?;
        let mut forms = Vec::new();
        for (name, path) in paths {
            let form = R::FORMS.iter().find(|form| form.name == name);
            let form = form.with_context(|| format!("this result has no --{name}"))?;
            path::is_of_form(name, path)?;
            forms.push((form, Destination::open(path)?));
        }
        forms.sort_by_key(|(form, _)| R::FORMS.iter().position(|other| other.name == form.name));
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
            let look = look(args, page.kind());
            let text = if args.verbose { result.page(look) } else { result.screen(look) };
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
            output::complain(&output::told(error));
        }
        !self.errors.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::Look;

    struct Both;

    impl Render for Both {
        fn page(&self, _: Look) -> String {
            "a page\n".to_owned()
        }

        const FORMS: &'static [Form<Self>] = &[Form::json(|_| b"{}".to_vec())];
    }

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        outputs: crate::out::args::OutputArgs<Both>,
    }

    fn opened(words: &[&Path]) -> anyhow::Result<Outputs<Both>> {
        let line: Line = clap::Parser::parse_from([&[Path::new("x")], words].concat());
        line.outputs.open(&[])
    }

    fn open(path: &Path) -> anyhow::Result<Outputs<Both>> {
        opened(&[Path::new("-o"), path])
    }

    #[test]
    fn a_page_is_written_in_the_form_that_its_name_ends_in() {
        let top = tempfile::tempdir().unwrap();
        for (name, content) in [("x.json", "{}"), ("x.txt", "a page\n"), ("json", "a page\n")] {
            let path = top.path().join(name);
            assert!(open(&path).unwrap().write(&Both, &LookArgs::default()).is_whole());
            assert_eq!(std::fs::read_to_string(path).unwrap(), content, "{name}");
        }
        let picture = top.path().join("x.svg");
        let refused = open(&picture).err().expect("it has no picture").to_string();
        assert!(refused.contains("has no svg") && !picture.exists(), "{refused}");
        assert!(refused.ends_with("a file that ends in .json or .txt"), "{refused}");
        let [one, two] = ["1.json", "2.json"].map(|name| top.path().join(name));
        let twice = opened(&[Path::new("-o"), &one, Path::new("--json"), &two]);
        let refused = twice.err().expect("only one can be written").to_string();
        assert!(refused.ends_with("ask for the same form\ntry: one of them"), "{refused}");
    }
}
