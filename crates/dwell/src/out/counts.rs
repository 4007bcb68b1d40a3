//! Exact counts as results: executions of lines, and of basic blocks. What was asked for is shown
//! whole.

use super::kind::{Kind, json_as_it_is};
use super::render::{Form, Render};
use super::row::{in_shell, row};
use listing::{CountedBlocks, SCHEMA_BLOCKS};
use model::hits::{Hits, SCHEMA_HITS};
use report::Look;
use store::results::NewResult;

impl Render for Hits {
    fn page(&self, look: Look) -> String {
        report::hits::terminal(self, look)
    }

    fn screen(&self, look: Look) -> String {
        self.page(look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|result| report::json(result).into_bytes()),
        Form::html(|result| {
            let text = result.page(Look::PLAIN);
            report::html::plain("hits", "dwell run --hits", &text, result).into_bytes()
        }),
    ];
}

impl Kind for Hits {
    json_as_it_is!(SCHEMA_HITS);

    fn row(&self) -> Option<NewResult> {
        Some(NewResult {
            command: counted("--hits", self.function.as_deref(), &self.command),
            ..row("run", &self.host, &self.schema, report::json(self))
        })
    }
}

impl Render for CountedBlocks {
    fn page(&self, look: Look) -> String {
        report::blocks::terminal(self, look)
    }

    fn screen(&self, look: Look) -> String {
        self.page(look)
    }

    const FORMS: &'static [Form<Self>] = &[
        Form::json(|result| report::json(result).into_bytes()),
        Form::html(|result| {
            let text = result.page(Look::PLAIN);
            report::html::plain("blocks", "dwell run --count-blocks", &text, result).into_bytes()
        }),
    ];
}

impl Kind for CountedBlocks {
    json_as_it_is!(SCHEMA_BLOCKS);

    fn row(&self) -> Option<NewResult> {
        let function = self.function.as_ref().map(|function| function.asked.as_str());
        Some(NewResult {
            command: counted("--count-blocks", function, &self.command),
            ..row("run", &self.host, &self.schema, report::json(self))
        })
    }
}

/// A counted command, with the option that says what was counted. It has no wall clock: one that
/// was counted is not to be taken for another.
fn counted(option: &str, function: Option<&str>, command: &[String]) -> String {
    let of = function.map(|function| format!("={}", in_shell([&function.to_owned()])));
    format!("{option}{} {}", of.unwrap_or_default(), in_shell(command))
}
