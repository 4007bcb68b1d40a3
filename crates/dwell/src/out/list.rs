//! A list of kept results. It is written, and never read again.

use super::render::{Form, Render};
use model::list::ResultList;
use report::{Look, results};

impl Render for ResultList {
    fn page(&self, look: Look) -> String {
        let lines: String = self.results.iter().map(|row| results::line(row, look)).collect();
        match self.results.len() as u64 {
            0 => "no such result\n".to_owned(),
            shown if self.more => results::head(look) + &lines + &results::more(shown, look),
            _ => results::head(look) + &lines,
        }
    }

    /// As many lines as were asked for.
    fn screen(&self, look: Look) -> String {
        self.page(look)
    }

    const FORMS: &'static [Form<Self>] = &[Form::json(|list| report::json(list).into_bytes())];
}
