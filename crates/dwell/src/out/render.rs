//! What a result can be shown as: its page, and the forms that it can be exported in.

use report::Look;

/// A result that can be shown and exported.
pub(crate) trait Render: Sized + 'static {
    /// The page for a terminal, with all tables.
    fn page(&self, look: Look) -> String;

    /// The page that fits a screen.
    fn screen(&self, look: Look) -> String {
        report::fit(&self.page(look), look)
    }

    /// The forms that it can be exported in, in the order of the help.
    const FORMS: &'static [Form<Self>];
}

/// The result in the form of this name; nothing where it has none such.
pub(crate) fn in_form<R: Render>(result: &R, name: &str) -> Option<Vec<u8>> {
    R::FORMS.iter().find(|form| form.name == name).map(|form| (form.write)(result))
}

/// A form of a result other than the page.
pub(crate) struct Form<R: 'static> {
    /// The name of its option: `json`.
    pub(crate) name: &'static str,
    /// The help of the option.
    pub(crate) help: &'static str,
    /// The heading in the help; none for the general options.
    pub(crate) heading: Option<&'static str>,
    /// Whether it holds all of the result.
    pub(super) whole: bool,
    pub(super) write: fn(&R) -> Vec<u8>,
}

impl<R> Form<R> {
    /// All of the result, as JSON.
    pub(crate) const fn json(write: fn(&R) -> Vec<u8>) -> Self {
        let help = "Write the result as JSON to FILE (`-`: standard output)";
        Self { whole: true, ..Self::new("json", help, write) }
    }

    /// A page for a browser.
    pub(crate) const fn html(write: fn(&R) -> Vec<u8>) -> Self {
        let help =
            "Write the result as a page of HTML to FILE, for a browser: one file, which needs no network";
        Self { whole: true, ..Self::new("html", help, write) }
    }

    /// A picture, as SVG.
    pub(crate) const fn svg(write: fn(&R) -> Vec<u8>) -> Self {
        Self::new("svg", "Write the result as an SVG image to FILE", write)
    }

    /// The same picture, as PNG.
    pub(crate) const fn png(write: fn(&R) -> Vec<u8>) -> Self {
        Self::new("png", "Write the result as a PNG image to FILE", write)
    }

    /// Any other.
    pub(crate) const fn new(name: &'static str, help: &'static str, write: fn(&R) -> Vec<u8>) -> Self {
        Self { name, help, heading: None, whole: false, write }
    }

    /// The same under a heading of the help.
    pub(crate) const fn under(self, heading: &'static str) -> Self {
        Self { heading: Some(heading), ..self }
    }
}
