//! Commands that were compared, as a result.

use super::kind::{Export, Kind, Rows, json_as_it_is};
use super::render::{Form, Render};
use super::row::{in_shell, row};
use analyse::{identity, service};
use model::compare::Change;
use model::compare::commands::{Comparison, SCHEMA_COMPARE};
use report::export::Exported;
use report::units::counted;
use report::{Look, compare};
use store::results::NewResult;

impl Render for Comparison {
    fn page(&self, look: Look) -> String {
        compare::commands(self, look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|result| report::json(result).into_bytes()),
        Form::html(|result| report::html::comparisons(&[result]).into_bytes()),
        Form::new("csv", "Write each run as a row of CSV to FILE", |result| {
            compare::commands_csv(result).into_bytes()
        }),
        Form::new("markdown", "Write the commands as a table in Markdown to FILE", |result| {
            compare::commands_markdown(result).into_bytes()
        }),
        Form::new("hyperfine", "Write the runs as JSON of hyperfine 2, for its scripts, to FILE", |result| {
            compare::commands_hyperfine(result).into_bytes()
        }),
    ];
}

impl Kind for Comparison {
    json_as_it_is!(SCHEMA_COMPARE, report::html::comparisons);

    fn exports(&self) -> &'static [Export<Self>] {
        const EXPORTS: &[Export<Comparison>] = &[
            Export::own("hyperfine", |comparison, _| {
                let bytes = compare::commands_hyperfine(comparison).into_bytes();
                Ok(Some(Exported { bytes, left_out: left_out_of_hyperfine(comparison) }))
            }),
            Export::own("hyperfine-1", |comparison, _| {
                let (text, missing) = compare::commands_hyperfine_1(comparison);
                let mut left_out = left_out_of_hyperfine(comparison);
                if missing > 0 {
                    left_out.push(format!(
                        "{} no run that counts, not in it",
                        if missing == 1 {
                            "1 command has".to_owned()
                        } else {
                            format!("{missing} commands have")
                        }
                    ));
                }
                Ok(Some(Exported { bytes: text.into_bytes(), left_out }))
            }),
        ];
        EXPORTS
    }

    fn rows(&self, beside: &tables::Kept, options: tables::Options) -> Option<Rows> {
        let words = self.commands.first().map_or(&[][..], |first| &first.command);
        let beside = tables::Kept {
            id: identity::known(&self.origin, || identity::of_comparison(self)),
            service: service::name(None, words),
            ..beside.clone()
        };
        Some(tables::comparison(self, &beside, options).map(|rows| vec![rows]))
    }

    fn row(&self) -> Option<NewResult> {
        let names: Vec<String> = self.commands.iter().map(|command| command.name.clone()).collect();
        let word = |change: &Change| match change {
            Change::Less => "faster",
            Change::More => "slower",
            Change::Same => "same",
            Change::Undecided => "undecided",
        };
        let verdicts: Vec<&str> = self.comparisons.iter().map(|change| word(&change.verdict)).collect();
        Some(NewResult {
            command: in_shell(&names),
            wall_ns: Some(self.took_ns),
            verdict: (!verdicts.is_empty()).then(|| verdicts.join(", ")),
            ..row("compare", &self.host, &self.schema, report::json(self))
        })
    }
}

fn left_out_of_hyperfine(comparison: &Comparison) -> Vec<String> {
    let mut left_out = Vec::new();
    if !comparison.comparisons.is_empty() {
        left_out.push("pairs, ratios and verdicts are not in it: hyperfine compares means".to_owned());
    }
    let that_count = comparison.runs.iter().filter(|run| comparison.settings.counts(run)).count();
    if that_count < comparison.runs.len() {
        let others = comparison.runs.len() - that_count;
        left_out.push(format!("{} warmed up or failed: not in it", counted(others as u64, "run")));
    }
    left_out
}
