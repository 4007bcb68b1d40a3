//! One trace of the critical path in the JSON of OpenTelemetry (OTLP/JSON,
//! `https://opentelemetry.io/docs/specs/otlp/`): a span for the run, and in it a span for each part
//! of the path, without gaps.

use super::format::Exported;
use super::perfetto::slice_name;
use crate::clean::clean;
use crate::findings::in_words;
use crate::json::compact;
use crate::units::unix_ns;
use model::timeline::{PathPiece, Timeline};
use model::{Ns, RunResult};
use serde::Serialize;
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
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: String,
    kind: u32,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
struct Attribute {
    key: String,
    value: AttributeValue,
}

/// 64-bit numbers are text in this JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum AttributeValue {
    StringValue(String),
    IntValue(String),
}

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u32 = 1;

/// The file.
pub fn otlp(result: &RunResult, timeline: &Timeline) -> Exported {
    let run = &result.run;
    let mut ids = Sha256::new();
    ids.update(&run.started_at);
    ids.update(run.command.join("\0"));
    ids.update(run.wall_ns.to_le_bytes());
    let trace = hex(&ids.finalize()[..16]);
    let start = unix_ns(&run.started_at);
    let span = |number: u64, name: String, at: Ns, ns: Ns, attributes: Vec<Attribute>| Span {
        trace_id: trace.clone(),
        span_id: format!("{number:016x}"),
        parent_span_id: (number > ROOT).then(|| format!("{ROOT:016x}")),
        name,
        kind: INTERNAL,
        start_time_unix_nano: start.saturating_add(at).to_string(),
        end_time_unix_nano: start.saturating_add(at).saturating_add(ns).to_string(),
        attributes,
    };
    let mut whole = vec![text("dwell.class", run.bound.class.name())];
    whole.extend(run.account.iter().map(|part| number(&format!("dwell.{}_ns", part.state.name()), part.ns)));
    // No key may be there twice.
    let findings = in_words(result).findings.into_iter().enumerate();
    whole.extend(findings.map(|(at, finding)| text(&format!("dwell.finding.{}", at + 1), &finding.place)));
    let command = clean(&run.command.join(" "), true);
    let mut spans = vec![span(ROOT, command.clone(), 0, run.wall_ns, whole)];
    let at_once = timeline.path.len().div_ceil(SPANS).max(1);
    for (at, pieces) in timeline.path.chunks(at_once).enumerate() {
        let ns = pieces.iter().map(|piece| piece.slice.ns).sum();
        let (name, attributes) = part(timeline, pieces);
        spans.push(span(ROOT + 1 + at as u64, name, pieces[0].slice.at_ns, ns, attributes));
    }
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
    Attribute { key: key.to_owned(), value: AttributeValue::IntValue(value.to_string()) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
