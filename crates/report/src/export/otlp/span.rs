//! Spans of a trace, in the JSON of OpenTelemetry and as its protocol buffers: what they look like,
//! and nothing of what they are about.

use crate::clean::clean;
use crate::export::format::Exported;
use crate::export::proto::Message;
use crate::json::compact;
use crate::units::unix_ns;
use model::{Ns, Run};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::fmt::Write;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File {
    resource_spans: [ResourceSpans; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans {
    resource: Resource,
    scope_spans: [ScopeSpans; 1],
}

#[derive(Serialize)]
struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
struct ScopeSpans {
    scope: Scope,
    spans: Vec<Span>,
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    trace_id: Id<16>,
    span_id: Id<8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<Id<8>>,
    name: String,
    kind: u32,
    start_time_unix_nano: Number,
    end_time_unix_nano: Number,
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
pub(super) struct Attribute {
    key: String,
    value: AttributeValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum AttributeValue {
    StringValue(String),
    IntValue(Number),
}

/// An ID, which is hexadecimal digits in this JSON.
#[derive(Clone, Copy)]
pub(super) struct Id<const BYTES: usize>([u8; BYTES]);

impl<const BYTES: usize> Serialize for Id<BYTES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(&self.0))
    }
}

/// A number of 64 bits, which is text in this JSON.
#[derive(Clone, Copy)]
struct Number(u64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl Span {
    /// As `opentelemetry.proto.trace.v1.Span`.
    pub(super) fn message(&self) -> Message {
        let mut span = Message::default();
        span.bytes(1, &self.trace_id.0).bytes(2, &self.span_id.0);
        if let Some(parent) = &self.parent_span_id {
            span.bytes(4, &parent.0);
        }
        span.bytes(5, self.name.as_bytes()).number(6, self.kind.into());
        span.fixed(7, self.start_time_unix_nano.0).fixed(8, self.end_time_unix_nano.0);
        for Attribute { key, value } in &self.attributes {
            let mut any = Message::default();
            match value {
                AttributeValue::StringValue(text) => any.item(1, text.as_bytes()),
                AttributeValue::IntValue(number) => any.always(3, number.0),
            };
            let mut attribute = Message::default();
            span.message(9, attribute.bytes(1, key.as_bytes()).message(2, &any));
        }
        span
    }
}

/// `SpanKind`: what is done within a program, and what it does for a client.
pub(super) const INTERNAL: u32 = 1;
pub(super) const SERVER: u32 = 2;

/// The number of the first span of a trace. 0 is no ID.
const ROOT: u64 = 1;

/// The spans of one trace: the first is the whole, the others are its parts.
pub(super) struct Trace {
    id: Id<16>,
    /// What times count from, in nanoseconds since 1970.
    start: u64,
    kind: u32,
    spans: Vec<Span>,
}

impl Trace {
    /// A trace of a result: `what` tells it from others of the same result.
    pub(super) fn of(run: &Run, kind: u32, what: &[u8]) -> Self {
        let mut ids = Sha256::new();
        ids.update(&run.started_at);
        ids.update(run.command.join("\0"));
        ids.update(run.wall_ns.to_le_bytes());
        ids.update(what);
        let mut id = [0; 16];
        id.copy_from_slice(&ids.finalize()[..16]);
        Self { id: Id(id), start: unix_ns(&run.started_at), kind, spans: Vec::new() }
    }

    /// Adds a span that begins at this time of the result.
    pub(super) fn add(&mut self, name: String, at: Ns, ns: Ns, attributes: Vec<Attribute>) {
        let number = ROOT + self.spans.len() as u64;
        let is_whole = number == ROOT;
        self.spans.push(Span {
            trace_id: self.id,
            span_id: Id(number.to_be_bytes()),
            parent_span_id: (!is_whole).then_some(Id(ROOT.to_be_bytes())),
            name,
            kind: if is_whole { self.kind } else { INTERNAL },
            start_time_unix_nano: Number(self.start.saturating_add(at)),
            end_time_unix_nano: Number(self.start.saturating_add(at).saturating_add(ns)),
            attributes,
        });
    }

    pub(super) fn spans(self) -> Vec<Span> {
        self.spans
    }
}

/// A file with these spans.
pub(super) fn file(run: &Run, spans: Vec<Span>, left_out: Vec<String>) -> Exported {
    let command = clean(&run.command.join(" "), true);
    let resource = [
        ("service.name", run.service.as_deref().or(run.command.first().map(String::as_str)).unwrap_or("")),
        ("process.command_line", &command),
        ("host.name", &run.host.name),
        ("host.arch", &run.host.arch),
        ("os.version", &run.host.kernel),
    ];
    let resource = Resource { attributes: resource.map(|(key, value)| text(key, value)).into() };
    let scope = Scope { name: "dwell", version: env!("CARGO_PKG_VERSION") };
    let file =
        File { resource_spans: [ResourceSpans { resource, scope_spans: [ScopeSpans { scope, spans }] }] };
    Exported { bytes: compact(&file).into_bytes(), left_out }
}

pub(super) fn text(key: &str, value: &str) -> Attribute {
    Attribute { key: key.to_owned(), value: AttributeValue::StringValue(clean(value, true)) }
}

pub(super) fn number(key: &str, value: u64) -> Attribute {
    Attribute { key: key.to_owned(), value: AttributeValue::IntValue(Number(value)) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
