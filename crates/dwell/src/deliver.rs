//! Where a result goes: the page and the JSON, each to a stream or a file.

use crate::cli::{PageArgs, Place};
use crate::look::{Onto, look};
use crate::output::{self, Target};
use anyhow::bail;
use model::Run;
use std::path::Path;

/// What is written besides the page on the terminal, open and not yet written.
pub(crate) struct Outputs {
    json: Option<Target>,
    page: Option<Target>,
}

impl Outputs {
    /// Opens what the arguments name; `recording` is written or read meanwhile.
    pub(crate) fn open(args: &PageArgs, recording: Option<&Path>) -> anyhow::Result<Self> {
        let recording = recording.map(|path| Place::File(path.to_owned()));
        let places: Vec<&Place> = [&args.json, &args.output, &recording].into_iter().flatten().collect();
        for (i, place) in places.iter().enumerate() {
            // Two that go to the same device, `/dev/null` above all, do not spoil each other.
            let device = place.path().is_some_and(|path| path.exists() && !path.is_file());
            if places[..i].contains(place) && !device {
                bail!("two outputs cannot go to the same place\ntry: a file for each");
            }
        }
        let open = |place: &Option<Place>| place.as_ref().and_then(Place::path).map(Target::open).transpose();
        Ok(Self { json: open(&args.json)?, page: open(&args.output)? })
    }

    /// Writes the result everywhere it is wanted; `page` is where the page goes when the arguments do not say.
    /// Gives what could not be written.
    pub(crate) fn write(self, args: &PageArgs, run: &Run, page: Option<Onto>) -> Vec<anyhow::Error> {
        let onto = match &args.output {
            Some(Place::Stdout) => Some(Onto::Stdout),
            Some(Place::File(_)) => Some(Onto::File),
            None => page,
        };
        let mut written = Vec::new();
        if let Some(onto) = onto {
            let text = report::terminal(run, look(args, onto));
            written.push(match (self.page, onto) {
                (Some(target), _) => target.write(&text),
                (None, Onto::Stdout) => output::to_stdout(&text),
                (None, _) => {
                    output::to_stderr(&text);
                    Ok(())
                }
            });
        }
        if args.json.is_some() {
            let text = report::json(run);
            written.push(match self.json {
                Some(target) => target.write(&text),
                None => output::to_stdout(&text),
            });
        }
        written.into_iter().filter_map(Result::err).collect()
    }
}
