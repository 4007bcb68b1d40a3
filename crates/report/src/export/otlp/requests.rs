//! Slow requests of a server, a trace each: a span for the request, and one in it for each stretch
//! of its time, without gaps.

use super::span::{INTERNAL, SERVER, Span, Trace, number, text};
use crate::clean::clean;
use crate::export::format::request_part;
use model::Run;
use model::requests::{Requests, SlowRequest, Unit};

/// What is not in it.
pub(super) const LEFT_OUT: &str = "of requests it has the slowest followed ones, 20 at most; when they began is as exact as the \
     start of the result";

/// The spans; none of a program that answered no request.
pub(super) fn spans(run: &Run) -> Vec<Span> {
    let Some(all) = run.tables.requests.value() else { return Vec::new() };
    all.slowest.iter().flat_map(|slow| of_one(run, all, slow)).collect()
}

fn of_one(run: &Run, all: &Requests, slow: &SlowRequest) -> Vec<Span> {
    let mut whole = Vec::new();
    if let Some((address, port)) = slow.client.rsplit_once(':') {
        whole.push(text("client.address", address.trim_matches(['[', ']'])));
        whole.extend(port.parse().ok().map(|port| number("client.port", port)));
    }
    let noun = all.unit.name();
    let name = slow.kind.value().map_or_else(|| noun.to_owned(), |kind| clean(kind, true));
    let which = [slow.client.as_bytes(), &slow.began_ns.to_le_bytes(), name.as_bytes()].concat();
    // A cycle is for no client.
    let kind = if all.unit == Unit::Request { SERVER } else { INTERNAL };
    let mut trace = Trace::of(run, kind, &which);
    trace.add(name, slow.began_ns, slow.latency_ns, whole);
    for span in &slow.spans {
        let mut about = vec![text("dwell.at", span.at.name())];
        if let Some(tid) = span.tid.value() {
            about.push(number("thread.id", (*tid).into()));
        }
        trace.add(request_part(span, all.unit), slow.began_ns + span.from_ns, span.ns, about);
    }
    trace.spans()
}
