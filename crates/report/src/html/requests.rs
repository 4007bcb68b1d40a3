//! Slow requests of a server, each from beginning to end: a bar of what it was spent at, and the
//! same as a table. All of them are on one axis.

use super::svg::{self, BarPart};
use super::{blocks, escape};
use crate::clean::clean;
use crate::page::requests::{at, ink, reason};
use crate::paint::{Grid, Ink, Line};
use crate::units::{count, duration, duration_precise};
use model::requests::{RequestSpan, RequestTime, Requests, SlowRequest, Unit};
use model::{Ns, Run, Seen};
use std::fmt::Write;

/// Requests that are drawn.
const DRAWN: usize = 12;

/// The sections: all of them, then the slow ones; nothing of a program that answered no request.
pub(super) fn section(run: &Run, lines: &[Line]) -> String {
    let Some(all) = run.tables.requests.value().filter(|_| !lines.is_empty()) else {
        return String::new();
    };
    let name = all.unit.name();
    let heading = format!("{}{}s", name[..1].to_uppercase(), &name[1..]);
    let whole = blocks::sections(&[(&heading, blocks::lines(lines))]);
    if all.slowest.is_empty() { whole } else { whole + &slow(all) }
}

fn slow(all: &Requests) -> String {
    let longest = all.slowest.iter().map(|one| one.latency_ns).max().unwrap_or(1);
    let mut html = format!(
        "<section class=\"requests\">\n<h2>Slow {}s</h2>\n{}",
        all.unit.name(),
        blocks::paragraph(
            "dim",
            &format!(
                "the slowest of {} that were followed, on an axis of {}",
                count(all.times),
                duration(longest)
            )
        )
    );
    for slow in all.slowest.iter().take(DRAWN) {
        let asked = slow.kind.value().map(|kind| format!("{}, ", clean(kind, true))).unwrap_or_default();
        let client = if slow.client.is_empty() { String::new() } else { format!(", from {}", slow.client) };
        let (ns, began) = (duration(slow.latency_ns), duration(slow.began_ns));
        let what = format!("{asked}{ns}, {began} after the beginning{client}");
        let bars: Vec<BarPart> = slow.spans.iter().map(|span| bar(span, all.unit, longest)).collect();
        let _ = write!(
            html,
            "<p>{}</p>\n{}",
            escape::text(&what),
            svg::bar(&bars, &format!("{}: {what}", all.unit.name()))
        );
    }
    let _ = write!(
        html,
        "<details><summary>The same as a table</summary>\n{}</details>\n</section>\n",
        blocks::table(&table(all))
    );
    html
}

/// A stretch of a request.
fn bar(span: &RequestSpan, unit: Unit, longest: Ns) -> BarPart {
    let reason = reason(&span.call, &span.on, span.at, false);
    let class = match span.at {
        RequestTime::OnCpu => "user".to_owned(),
        RequestTime::Peer => "network".to_owned(),
        RequestTime::Thread(state) => state.name().to_owned(),
        RequestTime::OtherRequest | RequestTime::Unread | RequestTime::ReleasedLate => "runqueue".to_owned(),
        RequestTime::NoThread | RequestTime::Rest => "idle".to_owned(),
    };
    let text = [at(span.at, unit).to_owned(), reason, duration(span.ns)];
    let text: Vec<String> = text.into_iter().filter(|text| !text.is_empty()).collect();
    BarPart {
        share: span.ns as f64 / longest.max(1) as f64,
        class: format!("s-{class}"),
        text: clean(&text.join(" "), true),
    }
}

/// The stretches of the requests that are drawn.
fn table(all: &Requests) -> Grid {
    let heads = [
        (all.unit.name(), true),
        ("from", true),
        ("for", true),
        ("thread", true),
        ("at", false),
        ("what for", false),
    ];
    let row = |slow: &SlowRequest, span: &RequestSpan| {
        let thread = match span.tid {
            Seen::Value(tid) => tid.to_string(),
            _ => String::new(),
        };
        let cells = [
            (Ink::Plain, duration(slow.latency_ns)),
            (Ink::Plain, duration_precise(span.from_ns)),
            (Ink::Plain, duration(span.ns)),
            (Ink::Plain, thread),
            (ink(span.at), at(span.at, all.unit).to_owned()),
            (Ink::Plain, reason(&span.call, &span.on, span.at, false)),
        ];
        (cells.map(|(ink, text)| (ink, clean(&text, true))).to_vec(), false)
    };
    let drawn = all.slowest.iter().take(DRAWN);
    Grid {
        title: format!("slow {}s", all.unit.name()),
        heads: heads.map(|(head, figures)| (head.to_owned(), figures)).to_vec(),
        rows: drawn.flat_map(|slow| slow.spans.iter().map(move |span| row(slow, span))).collect(),
    }
}
