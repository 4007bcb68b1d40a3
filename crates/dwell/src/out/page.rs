//! Pages that were made of kept results, as results.

use super::kind::Kept;
use super::render::{Form, Render};
use report::Look;

/// A page for a browser.
#[derive(Debug)]
pub(crate) struct PageResult(pub(crate) String);

impl Render for PageResult {
    fn page(&self, _: Look) -> String {
        self.0.clone()
    }

    fn screen(&self, look: Look) -> String {
        self.page(look)
    }

    const FORMS: &'static [Form<Self>] = &[];
}

/// Kept results of any kind, one below the other, and what was asked for of their other forms.
pub(crate) struct KeptResults {
    pub(crate) results: Vec<Box<dyn Kept>>,
    /// As it is kept.
    pub(crate) json: Vec<u8>,
    pub(crate) html: String,
}

impl KeptResults {
    fn below_each_other(&self, page: impl Fn(&dyn Kept) -> String) -> String {
        self.results.iter().map(|result| page(result.as_ref())).collect::<Vec<_>>().join("\n")
    }
}

impl Render for KeptResults {
    fn page(&self, look: Look) -> String {
        self.below_each_other(|result| result.page(look))
    }

    fn screen(&self, look: Look) -> String {
        self.below_each_other(|result| result.screen(look))
    }

    const FORMS: &'static [Form<Self>] =
        &[Form::json(|kept| kept.json.clone()), Form::html(|kept| kept.html.clone().into_bytes())];
}
