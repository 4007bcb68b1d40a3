//! The options of the outputs of a result: its forms, made from [`Render::FORMS`], and its page.

use super::outputs::{Outputs, Page};
use super::path::{OutputPath, Paths};
use super::render::Render;
use crate::look::LookArgs;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::Path;

/// Where the result of a measurement goes, and how its page looks. The last options of each verb
/// that measures something else than one program.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs<R: Render> {
    #[command(flatten)]
    pub(crate) forms: FormArgs<R>,

    /// Write the page to FILE, as text or in the form that its name ends in (`.html`, `.json`);
    /// `-`: standard output
    #[arg(id = "page_to", short = 'o', long = "output", value_name = "FILE")]
    pub(crate) page_to: Option<OutputPath>,

    /// Print no page and no progress (write files only)
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) look: LookArgs,
}

impl<R: Render> OutputArgs<R> {
    /// Where the page goes.
    pub(crate) fn page(&self) -> Page<'_> {
        match &self.page_to {
            Some(path) => Page::To(path),
            None if self.quiet => Page::None,
            None => Page::Stdout,
        }
    }

    /// Opens the outputs. `read` are the input files: none of them may be an output.
    pub(crate) fn open(&self, read: &[&Path]) -> anyhow::Result<Outputs<R>> {
        Outputs::open(&self.forms, self.page(), None, read)
    }
}

/// What `-o` is called.
const PAGE_TO: [&str; 2] = ["page_to", "output"];

/// The paths on the command line for the forms of `R`.
#[derive(Debug)]
pub(crate) struct FormArgs<R> {
    paths: Paths,
    of: PhantomData<fn() -> R>,
}

impl<R> Deref for FormArgs<R> {
    type Target = Paths;

    fn deref(&self) -> &Paths {
        &self.paths
    }
}

impl<R: Render> FromArgMatches for FormArgs<R> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let path = |name| Some((name, matches.get_one::<OutputPath>(name)?.clone()));
        let paths = R::FORMS.iter().filter_map(|form| path(form.name));
        let mut paths: Paths = paths.map(|(name, path)| (name.to_owned(), path)).collect();
        // `-o page.html` is `--html page.html`, for each verb that asks what its outputs are.
        let to = PAGE_TO.iter().find_map(|id| matches.try_get_one::<OutputPath>(id).ok().flatten());
        let named = |to: &OutputPath| R::FORMS.iter().find(|form| to.ending() == Some(form.name));
        if let Some((to, form)) = to.and_then(|to| Some((to, named(to)?))) {
            paths.entry(form.name.to_owned()).or_insert_with(|| to.clone());
        }
        Ok(Self { paths, of: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.paths.extend(Self::from_arg_matches(matches)?.paths);
        Ok(())
    }
}

impl<R: Render> Args for FormArgs<R> {
    fn augment_args(command: Command) -> Command {
        R::FORMS.iter().fold(command, |command, form| {
            let arg = Arg::new(form.name).long(form.name).value_name("FILE").help(form.help);
            let arg = arg.value_parser(OsStringValueParser::new().map(OutputPath::from));
            command.arg(match form.heading {
                Some(heading) => arg.help_heading(heading),
                None => arg,
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
