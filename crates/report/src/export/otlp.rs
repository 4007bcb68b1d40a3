//! One trace of the critical path in the JSON of OpenTelemetry (OTLP/JSON,
//! `https://opentelemetry.io/docs/specs/otlp/`): a span for the run, and in it a span for each part
//! of the path, without gaps. `dwell push --otlp` sends the same spans as protocol buffers.

use super::format::Exported;
use super::perfetto::slice_name;
use super::proto::Message;
use crate::clean::clean;
use crate::findings::in_words;
use crate::json::compact;
use crate::units::unix_ns;
use model::timeline::{PathPiece, Timeline};
use model::{Ns, RunResult};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Parts of the path in a trace: what shows traces shows no more. Neighbours are put together.
const SPANS: usize = 10_000;

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
struct Span {
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
struct Attribute {
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
struct Id<const BYTES: usize>([u8; BYTES]);

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
    fn message(&self) -> Message {
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

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u32 = 1;

/// The spans as protocol buffers.
pub fn otlp_spans(result: &RunResult, timeline: &Timeline) -> Vec<Message> {
    spans(result, timeline).iter().map(Span::message).collect()
}

/// How many neighbours of the path one span stands for.
fn at_once(timeline: &Timeline) -> usize {
    timeline.path.len().div_ceil(SPANS).max(1)
}

/// The span of the run, and those of its path.
fn spans(result: &RunResult, timeline: &Timeline) -> Vec<Span> {
    let run = &result.run;
    let mut ids = Sha256::new();
    ids.update(&run.started_at);
    ids.update(run.command.join("\0"));
    ids.update(run.wall_ns.to_le_bytes());
    let mut trace = [0; 16];
    trace.copy_from_slice(&ids.finalize()[..16]);
    let start = unix_ns(&run.started_at);
    let span = |number: u64, name: String, at: Ns, ns: Ns, attributes: Vec<Attribute>| Span {
        trace_id: Id(trace),
        span_id: Id(number.to_be_bytes()),
        parent_span_id: (number > ROOT).then_some(Id(ROOT.to_be_bytes())),
        name,
        kind: INTERNAL,
        start_time_unix_nano: Number(start.saturating_add(at)),
        end_time_unix_nano: Number(start.saturating_add(at).saturating_add(ns)),
        attributes,
    };
    let mut whole = vec![text("dwell.class", run.bound.class.name())];
    whole.extend(run.account.iter().map(|part| number(&format!("dwell.{}_ns", part.state.name()), part.ns)));
    // No key may be there twice.
    let findings = in_words(result).findings.into_iter().enumerate();
    whole.extend(findings.map(|(at, finding)| text(&format!("dwell.finding.{}", at + 1), &finding.place)));
    let command = clean(&run.command.join(" "), true);
    let mut spans = vec![span(ROOT, command, 0, run.wall_ns, whole)];
    for (at, pieces) in timeline.path.chunks(at_once(timeline)).enumerate() {
        let ns = pieces.iter().map(|piece| piece.slice.ns).sum();
        let (name, attributes) = part(timeline, pieces);
        spans.push(span(ROOT + 1 + at as u64, name, pieces[0].slice.at_ns, ns, attributes));
    }
    spans
}

/// The file.
pub fn otlp(result: &RunResult, timeline: &Timeline) -> Exported {
    let run = &result.run;
    let command = clean(&run.command.join(" "), true);
    let spans = spans(result, timeline);
    let at_once = at_once(timeline);
    let resource = [
        ("service.name", run.command.first().map_or("", String::as_str)),
        ("process.command_line", &command),
        ("host.name", &run.host.name),
        ("host.arch", &run.host.arch),
        ("os.version", &run.host.kernel),
    ];
    let resource = Resource { attributes: resource.map(|(key, value)| text(key, value)).into() };
    let scope = Scope { name: "dwell", version: env!("CARGO_PKG_VERSION") };
    let file =
        File { resource_spans: [ResourceSpans { resource, scope_spans: [ScopeSpans { scope, spans }] }] };
    let mut left_out = vec![
        "it has the critical path only: what threads did beside it is not in it".to_owned(),
        "the start is known to the second: spans are right to the nanosecond among themselves".to_owned(),
        "a sleep on the path is shown as a sleep: the account has what other threads did meanwhile"
            .to_owned(),
    ];
    if at_once > 1 {
        left_out.push(format!(
            "the path has {} parts: {at_once} neighbours each are one span",
            timeline.path.len()
        ));
    }
    Exported { bytes: compact(&file).into_bytes(), left_out }
}

/// The number of the span of the run. 0 is not an ID.
const ROOT: u64 = 1;

/// The name and attributes of neighbours on the path.
fn part(timeline: &Timeline, pieces: &[PathPiece]) -> (String, Vec<Attribute>) {
    // One that stands for several is called by the longest.
    let Some(longest) = pieces.iter().max_by_key(|piece| piece.slice.ns) else { return Default::default() };
    let mut attributes = vec![
        text("dwell.state", longest.slice.state.name()),
        text("dwell.reason", &longest.slice.reason.to_string()),
    ];
    if let Some(thread) = longest.thread.and_then(|thread| timeline.threads.get(thread as usize)) {
        attributes.push(text("thread.name", &thread.name));
        attributes.push(number("thread.id", thread.tid.into()));
        attributes.push(number("process.pid", thread.pid.into()));
    }
    if pieces.len() > 1 {
        attributes.push(number("dwell.parts", pieces.len() as u64));
    }
    (slice_name(&longest.slice), attributes)
}

fn text(key: &str, value: &str) -> Attribute {
    Attribute { key: key.to_owned(), value: AttributeValue::StringValue(clean(value, true)) }
}

fn number(key: &str, value: u64) -> Attribute {
    Attribute { key: key.to_owned(), value: AttributeValue::IntValue(Number(value)) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
