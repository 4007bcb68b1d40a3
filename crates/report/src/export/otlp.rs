//! Traces in the JSON of OpenTelemetry (OTLP/JSON, `https://opentelemetry.io/docs/specs/otlp/`): of
//! the critical path of a run, with a span for the run and one for each part of the path, without
//! gaps; and of slow requests, one trace each. `dwell push --otlp` sends the same spans as protocol
//! buffers.

mod requests;
mod span;

use super::format::Exported;
use super::perfetto::slice_name;
use super::proto::Message;
use crate::clean::clean;
use crate::findings::in_words;
use model::timeline::{PathPiece, Timeline};
use model::{Run, RunResult};
use span::{Attribute, INTERNAL, Span, Trace, file, number, text};

/// Parts of the path in a trace: what shows traces shows no more. Neighbours are put together.
const SPANS: usize = 10_000;

/// The spans of the critical path as protocol buffers.
pub fn otlp_spans(result: &RunResult, timeline: &Timeline) -> Vec<Message> {
    spans(result, timeline).iter().map(Span::message).collect()
}

/// The spans of slow requests as protocol buffers.
pub fn otlp_spans_of_requests(run: &Run) -> Vec<Message> {
    requests::spans(run).iter().map(Span::message).collect()
}

/// A file with the traces of slow requests; none where there are none.
pub fn otlp_of_requests(run: &Run) -> Option<Exported> {
    let spans = requests::spans(run);
    (!spans.is_empty()).then(|| file(run, spans, vec![requests::LEFT_OUT.to_owned()]))
}

/// How many neighbours of the path one span stands for.
fn at_once(timeline: &Timeline) -> usize {
    timeline.path.len().div_ceil(SPANS).max(1)
}

/// The span of the run, and those of its path.
fn spans(result: &RunResult, timeline: &Timeline) -> Vec<Span> {
    let run = &result.run;
    let mut whole = vec![text("dwell.class", run.bound.class.name())];
    whole.extend(run.account.iter().map(|part| number(&format!("dwell.{}_ns", part.state.name()), part.ns)));
    // No key may be there twice.
    let findings = in_words(result).findings.into_iter().enumerate();
    whole.extend(findings.map(|(at, finding)| text(&format!("dwell.finding.{}", at + 1), &finding.place)));
    let mut trace = Trace::of(run, INTERNAL, b"");
    trace.add(clean(&run.command.join(" "), true), 0, run.wall_ns, whole);
    for pieces in timeline.path.chunks(at_once(timeline)) {
        let ns = pieces.iter().map(|piece| piece.slice.ns).sum();
        let (name, attributes) = part(timeline, pieces);
        trace.add(name, pieces[0].slice.at_ns, ns, attributes);
    }
    trace.spans()
}

/// The file.
pub fn otlp(result: &RunResult, timeline: &Timeline) -> Exported {
    let run = &result.run;
    let mut all = spans(result, timeline);
    let of_requests = requests::spans(run);
    let at_once = at_once(timeline);
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
    if !of_requests.is_empty() {
        left_out.push(requests::LEFT_OUT.to_owned());
        all.extend(of_requests);
    }
    file(run, all, left_out)
}

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
