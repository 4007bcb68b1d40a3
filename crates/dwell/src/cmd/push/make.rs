//! What is sent of a result of the store.

use crate::cmd::export::{self, lake};
use crate::cmd::{named, recordings, results};
use crate::keep::ResultStore;
use anyhow::Context;
use report::export::proto::Message;
use send::Files;
use send::otlp::{self, Settings};
use std::path::Path;
use store::results::{Found, Named, NewItem, ResultRow, StoreError};
use tables::Options;

/// In which form results are sent.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// Files of tables.
    Rows(Options),
    /// Requests of OpenTelemetry.
    Otlp { options: Options, settings: Settings, parts: Vec<&'static str> },
}

impl Form {
    /// Its name: results are sent in each form on its own, so that one that was sent whole is sent
    /// once more without names.
    pub(super) fn name(&self) -> String {
        let (mut name, options) = match self {
            Self::Rows(options) => ("rows".to_owned(), options),
            Self::Otlp { options, parts, .. } => {
                let signals = match parts[..] {
                    ["logs", "shares", "lengths"] => String::new(),
                    ["shares", "lengths"] => ", metrics".to_owned(),
                    [.., "traces"] if parts.len() > 1 => ", with traces".to_owned(),
                    _ => format!(", {}", parts.concat()),
                };
                (format!("otlp{signals}"), options)
            }
        };
        for (is_so, word) in [(options.detail, ", detail"), (options.redact, ", redacted")] {
            name.push_str(if is_so { word } else { "" });
        }
        name
    }

    /// The parts in which a result is sent.
    pub(super) fn parts(&self) -> Vec<&'static str> {
        match self {
            Self::Rows(_) => vec![""],
            Self::Otlp { parts, .. } => parts.clone(),
        }
    }
}

/// Makes what is sent.
pub(super) struct Maker<'a> {
    pub(super) keeper: &'a ResultStore,
    pub(super) form: Form,
}

/// Items by their part, or why there can be none.
pub(super) type Made = Result<Vec<(&'static str, NewItem)>, String>;

impl Maker<'_> {
    /// What is sent of the result in this row; nothing of kinds without rows.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn make(&self, row: &ResultRow) -> anyhow::Result<Made> {
        let id = &row.id;
        let json = self.keeper.at_length(|place| {
            let store = named::read(place)?;
            let named = Named::read(id).with_context(|| format!("{id:?} is no ID of a result"))?;
            Ok(match store.find(&named)? {
                Found::One(row) => match store.json(&row) {
                    Err(error @ StoreError::Damaged { .. }) => Some(Err(error.to_string())),
                    json => Some(Ok(json?)),
                },
                // It was deleted meanwhile.
                Found::None | Found::Several(_) => None,
            })
        })?;
        Ok(match json {
            None => Ok(Vec::new()),
            Some(Err(damaged)) => Err(damaged),
            Some(Ok(json)) => self.of_json(row, &json),
        })
    }

    fn of_json(&self, row: &ResultRow, json: &[u8]) -> Made {
        let path = Path::new(&row.id);
        let result = results::read(path, json).map_err(|error| format!("{error:#}"))?;
        let (Form::Rows(options) | Form::Otlp { options, .. }) = self.form;
        let Some(rows) = result.rows(&lake::beside(Some(row)), options) else { return Ok(Vec::new()) };
        let rows = rows.map_err(|tables::NoTime(text)| format!("it began at {text:?}, which is no time"))?;
        let mut made = Vec::new();
        for of_one in &rows {
            let item = |content| NewItem { result: of_one.id.clone(), seq: row.seq, content };
            match &self.form {
                Form::Rows(_) => {
                    let packed = Files::of(of_one).and_then(|files| files.pack());
                    made.push(("", item(packed.map_err(|error| error.to_string())?)));
                }
                Form::Otlp { settings, parts, .. } => {
                    let mut signals = otlp::signals(of_one, settings);
                    signals.retain(|(part, _)| parts.contains(part));
                    if parts.contains(&"traces") {
                        let mut spans = if row.recording_bytes > 0 { self.path(path) } else { Vec::new() };
                        spans.extend(result.spans());
                        let resource = otlp::resource(of_one, settings).filter(|_| !spans.is_empty());
                        signals.extend(resource.map(|of| ("traces", otlp::request(&of, &spans))));
                    }
                    made.extend(signals.into_iter().map(|(part, request)| (part, item(request))));
                }
            }
        }
        Ok(made)
    }

    /// The spans of the critical path, by the recording of a run. A window has none, and what
    /// cannot be read keeps nothing else from being sent.
    fn path(&self, path: &Path) -> Vec<Message> {
        let replayed = || {
            let reader = recordings::open(path, self.keeper).ok()??;
            let header = reader.header().clone();
            let of_run = header.attached.is_none();
            of_run.then(|| export::replayed(&header, reader).ok())?
        };
        replayed().map_or_else(Vec::new, |(result, timeline)| report::export::otlp_spans(&result, &timeline))
    }
}
