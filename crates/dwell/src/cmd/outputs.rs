//! The forms of a result, and where each goes.

use crate::cli::{FormArgs, Place};
use crate::output::{self, Target};
use model::wake::sheet::Places;
use std::path::Path;

/// The forms of a result.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    Page,
    Json,
    Svg,
    Png,
    /// Of verdicts alone.
    Junit,
}

/// What became of the outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// All of the result is where it was to go: as JSON, or in all forms that were asked for.
    Whole,
    /// Nothing failed, but it went nowhere, or who read it was gone before its end.
    Part,
    /// Something could not be written, and that was said.
    Failed,
}

/// Where the arguments have each form go.
pub(super) fn places(forms: &FormArgs, junit: Option<&Place>) -> Places {
    let text = |place: &Option<Place>| place.as_ref().map(Place::text);
    Places {
        json: text(&forms.json),
        svg: text(&forms.svg),
        png: text(&forms.png),
        junit: junit.map(Place::text),
    }
}

/// What is written besides the page, open and not yet written; without a file it goes to standard output, instead of the
/// page.
pub(super) struct Outputs(Vec<(Form, Option<Target>)>);

impl Outputs {
    /// Opens all; `kept` is a file that is written meanwhile, and removed at the end, and `read` are those of results.
    pub(super) fn open(places: &Places, kept: Option<&Path>, read: &[&Path]) -> anyhow::Result<Self> {
        let asked = [
            (Form::Json, &places.json),
            (Form::Svg, &places.svg),
            (Form::Png, &places.png),
            (Form::Junit, &places.junit),
        ];
        let asked: Vec<(Form, Place)> =
            asked.into_iter().filter_map(|(form, place)| Some((form, place.clone()?.into()))).collect();
        let kept = kept.map(|path| Place::File(path.to_owned()));
        output::apart(asked.iter().map(|(_, place)| place).chain(&kept), read.iter().copied())?;
        let open = |place: &Place| place.path().map(Target::open).transpose();
        let opened: anyhow::Result<_> = asked.iter().map(|(form, place)| Ok((*form, open(place)?))).collect();
        Ok(Self(opened?))
    }

    /// Writes all of them, and the page where it is wanted; complains of what cannot be written.
    pub(super) fn write(self, quiet: bool, content: &dyn Fn(Form) -> Vec<u8>) -> Written {
        let page = !quiet && !self.0.iter().any(|(_, target)| target.is_none());
        let mut written = Vec::new();
        let mut all_in_one = false;
        for (form, target) in self.0 {
            let one = match target {
                Some(target) => target.put(content(form)),
                None => output::put_to_stdout(content(form)),
            };
            all_in_one |= matches!((form, &one), (Form::Json, Ok(true)));
            written.push(one);
        }
        if page {
            written.push(output::put_to_stdout(content(Form::Page)));
        }
        for error in written.iter().filter_map(|written| written.as_ref().err()) {
            output::complain(&format!("{error:#}"));
        }
        if written.iter().any(Result::is_err) {
            return Written::Failed;
        }
        let taken = !written.is_empty() && written.iter().all(|written| matches!(written, Ok(true)));
        if all_in_one || taken { Written::Whole } else { Written::Part }
    }
}
