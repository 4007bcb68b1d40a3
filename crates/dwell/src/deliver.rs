//! Where a result goes: the page, JSON and the files for other viewers, each to a stream or a file.

use crate::annotate;
use crate::cli::{PageArgs, Place};
use crate::look::{Onto, look};
use crate::output::{self, Target};
use analyse::extrapolate::{self, Work};
use anyhow::bail;
use model::{Analysis, Header, Run};
use report::Look;
use report::profile::{self, About, FlameOptions, FoldedOptions, Part, SourceOptions};
use std::path::Path;

/// Says what the whole job takes, where that was asked for.
pub(crate) fn extrapolate(args: &PageArgs, run: &mut Run) -> anyhow::Result<()> {
    if let (Some(work), Some(of)) = (&args.work, args.of) {
        run.extrapolation = Some(extrapolate::extrapolate(run, work, of)?);
    }
    Ok(())
}

/// What is written besides the page on the terminal, open and not yet written.
pub(crate) struct Outputs {
    page: Option<Target>,
    /// To a file, or to standard output.
    others: Vec<(Form, Option<Target>)>,
}

/// A result in another form than the page.
#[derive(Debug, Clone, Copy)]
enum Form {
    Json,
    Folded,
    Firefox,
    Speedscope,
}

impl Outputs {
    /// Opens what the arguments name, if they can be answered; `recording` is written or read meanwhile.
    pub(crate) fn open(args: &PageArgs, recording: Option<&Path>) -> anyhow::Result<Self> {
        if let (Some(Work::Units(done)), Some(of)) = (&args.work, args.of)
            && of < *done
        {
            bail!(extrapolate::Error::Less { done: *done, of });
        }
        let recording = recording.map(|path| Place::File(path.to_owned()));
        let others = [
            (Form::Json, &args.json),
            (Form::Folded, &args.code.folded),
            (Form::Firefox, &args.code.firefox),
            (Form::Speedscope, &args.code.speedscope),
        ];
        let places = others.iter().map(|(_, place)| *place).chain([&args.output, &recording]);
        output::apart(places.flatten(), None)?;
        let open = |place: &Place| place.path().map(Target::open).transpose();
        let others = others.into_iter().filter_map(|(form, place)| Some((form, place.as_ref()?)));
        Ok(Self {
            page: args.output.as_ref().map(open).transpose()?.flatten(),
            others: others.map(|(form, place)| Ok((form, open(place)?))).collect::<anyhow::Result<_>>()?,
        })
    }

    /// Writes the result everywhere it is wanted; `page` is where the page goes when the arguments do not say.
    /// Gives what could not be written.
    pub(crate) fn write(
        self,
        args: &PageArgs,
        header: &Header,
        analysis: &Analysis,
        page: Option<Onto>,
    ) -> Vec<anyhow::Error> {
        let onto = match &args.output {
            Some(Place::Stdout) => Some(Onto::Stdout),
            Some(Place::File(_)) => Some(Onto::File),
            None => page,
        };
        let mut written = Vec::new();
        if let Some(onto) = onto {
            let text = page_text(args, analysis, look(&args.look, onto));
            written.push(match (self.page, onto) {
                (Some(target), _) => target.write(&text),
                (None, Onto::Stdout) => output::to_stdout(&text),
                (None, _) => {
                    output::to_stderr(&text);
                    Ok(())
                }
            });
        }
        for (form, target) in self.others {
            let text = form.text(header, analysis);
            written.push(match target {
                Some(target) => target.write(&text),
                None => output::to_stdout(&text),
            });
        }
        written.into_iter().filter_map(Result::err).collect()
    }
}

impl Form {
    fn text(self, header: &Header, analysis: &Analysis) -> String {
        let about = About::of(&analysis.run, header.started_at_unix_s);
        let tree = &analysis.profile;
        match self {
            Form::Json => report::json(&analysis.run),
            Form::Folded => profile::folded(tree, FoldedOptions { part: Part::All, threads: false }),
            Form::Firefox => profile::firefox(tree, &about),
            Form::Speedscope => profile::speedscope(tree, &about),
        }
    }
}

/// The page, and below it what was asked for of the code.
fn page_text(args: &PageArgs, analysis: &Analysis, look: Look) -> String {
    let mut text = report::terminal(&analysis.run, look);
    if args.code.flame {
        text.push('\n');
        text.push_str(&profile::flame(&analysis.profile, &FlameOptions::new(look)));
    }
    for function in &args.code.lines {
        text.push('\n');
        let options = SourceOptions { look, rows: SOURCE_ROWS };
        let table = profile::source_table(
            &analysis.profile,
            function,
            &options,
            observe::source_text,
            |share, worth| {
                let share = stats::wilson_of(share, worth.max(1) as f64);
                (share.lo, share.hi)
            },
        );
        text.push_str(&table.unwrap_or_else(|| {
            format!("no stack leads through a function called {}\n", report::clean(function, look.unicode))
        }));
    }
    for function in &args.code.annotate {
        text.push('\n');
        text.push_str(&match annotate::sampled(function, &analysis.addresses, look) {
            Ok(listing) => listing,
            Err(error) => {
                format!("{error:#}").lines().map(|line| report::clean(line, look.unicode) + "\n").collect()
            }
        });
    }
    text
}

/// Lines of a function's source that are shown at most.
const SOURCE_ROWS: usize = 40;
