//! A page for a browser that was made already, as a result.

use super::render::{Form, Render};
use report::Look;

/// The page.
#[derive(Debug)]
pub(crate) struct PageResult(pub(crate) String);

impl Render for PageResult {
    fn page(&self, _: Look) -> String {
        self.0.clone()
    }

    fn screen(&self, look: Look) -> String {
        self.page(look)
    }

    fn forms() -> &'static [Form<Self>] {
        &[]
    }
}
