//! What the verbs ask of a result that is kept: for each kind one `impl` beside its page and its
//! forms. The list of kinds is in `kinds`.
//!
//! `show`, `report`, `export` and the store know no names of JSON: they ask the result.

use super::code::CodeArgs;
use super::render::{Render, in_form};
use anyhow::{anyhow, bail};
use report::Look;
use report::export::Exported;
use report::export::proto::Message;
use report::export::tables::Tables;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::any::Any;
use std::path::Path;
use store::results::NewResult;

/// A kind of result that is read again after it was written.
pub(crate) trait Kind: Render {
    /// The names of its JSON (`dwell.run/1`).
    const SCHEMAS: &'static [&'static str];

    /// Reads its JSON.
    ///
    /// # Errors
    /// The JSON is not what its schema says, or was changed since it was written.
    fn read(path: &Path, json: Value) -> anyhow::Result<Self>;

    /// The name of its JSON.
    fn schema(&self) -> &'static str {
        Self::SCHEMAS[0]
    }

    /// What is on its page as tables.
    fn tables(&self) -> Tables;

    /// One page for a browser with several of them; none where they have no page side by side.
    fn html(_kept: &[(&Path, &Self)]) -> Option<String> {
        None
    }

    /// Formats of `dwell export` besides the tables, in the order of its help.
    fn exports(&self) -> &'static [Export<Self>] {
        &[]
    }

    /// Its rows in the tables of many hosts, for each result that it holds; none where that kind
    /// has none.
    fn rows(&self, _beside: &tables::Kept, _options: tables::Options) -> Option<Rows> {
        None
    }

    /// What it has for a trace of OpenTelemetry without its recording.
    fn spans(&self) -> Vec<Message> {
        Vec::new()
    }

    /// Its JSON with all that is kept of it; none where it has no JSON.
    fn whole(&self) -> Option<Vec<u8>> {
        in_form(self, "json")
    }

    /// Its row in the store, with its JSON; none where it is not kept.
    fn row(&self) -> Option<NewResult> {
        None
    }

    /// Takes the options for which code is on the page.
    fn show_code(&mut self, _code: &CodeArgs) {}
}

/// What a kind says whose JSON is the whole of it: its name and its page of several, if any.
macro_rules! json_as_it_is {
    ($schema:expr) => {
        const SCHEMAS: &'static [&'static str] = &[$schema];

        fn read(path: &std::path::Path, json: serde_json::Value) -> anyhow::Result<Self> {
            crate::out::kind::typed(path, json)
        }

        fn tables(&self) -> report::export::tables::Tables {
            report::export::tables::Tables::of(self)
        }
    };
    ($schema:expr, $html:path) => {
        $crate::out::kind::json_as_it_is!($schema);

        fn html(kept: &[(&std::path::Path, &Self)]) -> Option<String> {
            Some($html(&kept.iter().map(|(_, one)| *one).collect::<Vec<_>>()))
        }
    };
}
pub(super) use json_as_it_is;

/// A format of `dwell export`.
pub(crate) struct Export<K: 'static> {
    /// Its name on the command line.
    name: &'static str,
    make: Make<K>,
}

enum Make<K: 'static> {
    /// The form that an option of the verb writes as well, with what is not in it.
    Form(&'static str),
    /// None where its recording is needed.
    Own(fn(&K, &Path) -> anyhow::Result<Option<Exported>>),
}

impl<K> Export<K> {
    /// The form of this name, which leaves something out.
    pub(super) const fn form(name: &'static str, left_out: &'static str) -> Self {
        Self { name, make: Make::Form(left_out) }
    }

    /// A format that only `dwell export` writes.
    pub(super) const fn own(
        name: &'static str,
        make: fn(&K, &Path) -> anyhow::Result<Option<Exported>>,
    ) -> Self {
        Self { name, make: Make::Own(make) }
    }

    /// A format that is made of a recording, step by step.
    pub(super) const fn of_recording(name: &'static str) -> Self {
        Self::own(name, |_, _| Ok(None))
    }
}

/// Reads what the JSON is by its schema.
///
/// # Errors
/// Where it is not that.
pub(super) fn typed<T: DeserializeOwned>(path: &Path, json: Value) -> anyhow::Result<T> {
    // The error may quote the file.
    serde_json::from_value(json).map_err(|error| {
        anyhow!("{path:?} does not match its schema: {}", report::clean(&error.to_string(), false))
    })
}

/// The rows of results, by result.
pub(crate) type Rows = Result<Vec<tables::ResultTables>, tables::NoTime>;

/// A kept result of any kind.
pub(crate) trait Kept: Any {
    /// The name of its JSON.
    fn schema(&self) -> &'static str;
    /// The page for a terminal, with all tables.
    fn page(&self, look: Look) -> String;
    /// The page that fits a screen.
    fn screen(&self, look: Look) -> String;
    /// Takes the options for which code is on the page.
    fn show_code(&mut self, code: &CodeArgs);
    /// What is on its page as tables.
    fn tables(&self) -> Tables;
    /// Its rows in the tables of many hosts; none where that kind has none.
    fn rows(&self, beside: &tables::Kept, options: tables::Options) -> Option<Rows>;
    /// What it has for a trace of OpenTelemetry without its recording.
    fn spans(&self) -> Vec<Message>;
    /// Its JSON with all that is kept of it; none where it has no JSON.
    fn whole(&self) -> Option<Vec<u8>>;
    /// The names of the formats of `dwell export` besides the tables and JSON.
    fn formats(&self) -> Vec<&'static str>;
    /// The result in this format; none where it has none such, or its recording is needed.
    ///
    /// # Errors
    /// The result lacks what the format is about.
    fn export(&self, name: &str, path: &Path) -> anyhow::Result<Option<Exported>>;
    /// A page for a browser with all of these results, of which this is the first.
    ///
    /// # Errors
    /// They are not of one kind, or have no page side by side.
    fn html(&self, kept: &[(&Path, Box<dyn Kept>)]) -> anyhow::Result<String>;
}

impl<K: Kind> Kept for K {
    fn schema(&self) -> &'static str {
        Kind::schema(self)
    }

    fn page(&self, look: Look) -> String {
        Render::page(self, look)
    }

    fn screen(&self, look: Look) -> String {
        Render::screen(self, look)
    }

    fn show_code(&mut self, code: &CodeArgs) {
        Kind::show_code(self, code);
    }

    fn tables(&self) -> Tables {
        Kind::tables(self)
    }

    fn rows(&self, beside: &tables::Kept, options: tables::Options) -> Option<Rows> {
        Kind::rows(self, beside, options)
    }

    fn spans(&self) -> Vec<Message> {
        Kind::spans(self)
    }

    fn whole(&self) -> Option<Vec<u8>> {
        Kind::whole(self)
    }

    fn formats(&self) -> Vec<&'static str> {
        self.exports().iter().map(|export| export.name).collect()
    }

    fn export(&self, name: &str, path: &Path) -> anyhow::Result<Option<Exported>> {
        let Some(export) = self.exports().iter().find(|export| export.name == name) else {
            return Ok(None);
        };
        match export.make {
            Make::Form(left_out) => {
                Ok(in_form(self, name).map(|bytes| Exported { bytes, left_out: vec![left_out.to_owned()] }))
            }
            Make::Own(make) => make(self, path),
        }
    }

    fn html(&self, kept: &[(&Path, Box<dyn Kept>)]) -> anyhow::Result<String> {
        let mut all = Vec::new();
        for (path, result) in kept {
            match (result.as_ref() as &dyn Any).downcast_ref::<K>() {
                Some(result) => all.push((*path, result)),
                None => bail!(
                    "{:?} is a {:?} and {path:?} a {:?}: they cannot share a page\ntry: results of one kind",
                    kept[0].0,
                    Kind::schema(self),
                    result.schema()
                ),
            }
        }
        let own = || in_form(self, "html").filter(|_| kept.len() == 1);
        let page = K::html(&all).or_else(|| own().and_then(|page| String::from_utf8(page).ok()));
        page.ok_or_else(|| {
            anyhow!("results of {:?} have no page side by side\ntry: one file", Kind::schema(self))
        })
    }
}
