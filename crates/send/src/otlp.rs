//! A result for OpenTelemetry, as the protocol buffers of OTLP
//! (`https://github.com/open-telemetry/opentelemetry-proto`): what was concluded as logs, shares as
//! gauges, and lengths of waits and latencies as exponential histograms.
//!
//! Made of the rows of the result's tables, so names are plain text, and what is taken out there is
//! not here. Metrics have no commands, paths or peers in any case: each would be a series of its
//! own. Each signal of a result is a whole request; requests of several results one after another
//! are one, as messages with repeated fields are.

mod histogram;

use histogram::Histogram;
use report::export::proto::Message;
use std::collections::BTreeMap;
use tables::{Record, ResultTables};

/// The signals, in the order in which they are sent, with the path below the endpoint. Gauges go
/// alone: where histograms are refused, what came with them would be lost.
pub const PARTS: [(&str, &str); 4] =
    [("logs", "v1/logs"), ("shares", "v1/metrics"), ("lengths", "v1/metrics"), ("traces", "v1/traces")];

/// What is the same for all results of a sender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Histograms are of this result alone (delta); else each result begins a stream of its own
    /// (cumulative).
    pub delta: bool,
    /// The name of the service in place of the result's.
    pub service: Option<String>,
    /// Further attributes of the resource, which are stronger than the result's.
    pub resource: Vec<(String, String)>,
}

/// The requests of a result, by the names of [`PARTS`]; a signal of which it has nothing is left
/// out.
pub fn signals(result: &ResultTables, settings: &Settings) -> Vec<(&'static str, Vec<u8>)> {
    let Some(of) = Of::new(result, settings) else { return Vec::new() };
    let gauges = of.shares();
    let histograms = [of.waits(), of.wakeups()].concat();
    let mut signals = vec![("logs", of.request(&of.logs()))];
    for (part, metrics) in [("shares", gauges), ("lengths", histograms)] {
        if !metrics.is_empty() {
            signals.push((part, of.request(&metrics)));
        }
    }
    signals
}

/// The attributes of the resource that a result is of, as they are in all its signals.
pub fn resource(result: &ResultTables, settings: &Settings) -> Option<Message> {
    Of::new(result, settings).map(|of| of.resource)
}

/// A request with these records, metrics or spans: `Export…ServiceRequest`, `Resource…`, `Scope…`
/// have the same numbers of fields for all signals.
pub fn request(resource: &Message, things: &[Message]) -> Vec<u8> {
    let mut scope = Message::default();
    scope.bytes(1, b"dwell").bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
    let mut of_scope = Message::default();
    of_scope.message(1, &scope);
    for thing in things {
        of_scope.message(2, thing);
    }
    let mut of_resource = Message::default();
    of_resource.message(1, resource).message(2, &of_scope);
    let mut request = Message::default();
    request.message(1, &of_resource);
    request.finish()
}

/// Attributes under way to a field.
#[derive(Default)]
struct Attributes(Vec<Message>);

impl Attributes {
    fn text(mut self, key: &str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.0.push(text_attribute(key, value));
        }
        self
    }

    fn whole(mut self, key: &str, value: Option<i64>) -> Self {
        if let Some(value) = value {
            let mut any = Message::default();
            any.always(3, value as u64);
            self.0.push(attribute(key, &any));
        }
        self
    }

    fn double(mut self, key: &str, value: Option<f64>) -> Self {
        if let Some(value) = value {
            let mut any = Message::default();
            any.double(4, value);
            self.0.push(attribute(key, &any));
        }
        self
    }

    fn into(self, field: u32, message: &mut Message) {
        for one in &self.0 {
            message.message(field, one);
        }
    }
}

/// An attribute with a text.
pub fn text_attribute(key: &str, value: &str) -> Message {
    let mut any = Message::default();
    any.item(1, value.as_bytes());
    attribute(key, &any)
}

fn attribute(key: &str, any: &Message) -> Message {
    let mut attribute = Message::default();
    attribute.bytes(1, key.as_bytes()).message(2, any);
    attribute
}

/// How grave a record is: `SEVERITY_NUMBER_INFO`, `_WARN`.
const INFO: u64 = 9;
const WARN: u64 = 13;
/// `AGGREGATION_TEMPORALITY_DELTA`, `_CUMULATIVE`.
const DELTA: u64 = 1;
const CUMULATIVE: u64 = 2;
/// Bins an octave: 32 for waits, whose own have 8, and 128 for wake-ups, whose own have as many.
const WAITS: i32 = 5;
const WAKEUPS: i32 = 7;

/// A result under way.
struct Of<'a> {
    result: &'a ResultTables,
    summary: Record<'a>,
    resource: Message,
    delta: bool,
    /// When it began and ended, in nanoseconds since 1970.
    from_ns: u64,
    to_ns: u64,
}

impl<'a> Of<'a> {
    fn new(result: &'a ResultTables, settings: &Settings) -> Option<Self> {
        let summary = result.records("results").next()?;
        let from_ns = u64::try_from(summary.whole("started_at")?).unwrap_or(0).saturating_mul(1000);
        let took_ns = summary.whole("wall_ns").and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0);
        Some(Self {
            result,
            summary,
            resource: resource_of(&summary, settings),
            delta: settings.delta,
            from_ns,
            to_ns: from_ns.saturating_add(took_ns),
        })
    }

    fn request(&self, things: &[Message]) -> Vec<u8> {
        request(&self.resource, things)
    }

    /// The result itself, its findings, the commands that it compared and its spikes.
    fn logs(&self) -> Vec<Message> {
        let summary = &self.summary;
        let verdict = summary.text("verdict");
        let concluded = verdict.or(summary.text("class")).unwrap_or("measured");
        let mut body = format!("{}: {concluded}", summary.text("verb").unwrap_or("result"));
        if let Some(first) = summary.text("first_finding") {
            body += &format!(", {first}");
        }
        let attributes = Attributes::default()
            .text("dwell.verb", summary.text("verb"))
            .text("dwell.class", summary.text("class"))
            .text("dwell.verdict", verdict)
            .text("dwell.finding", summary.text("first_finding"))
            .whole("dwell.wall_ns", summary.whole("wall_ns"))
            .text("dwell.command", summary.text("command"));
        let grave = if verdict == Some("fail") { WARN } else { INFO };
        let whole = self.record("dwell.result", self.to_ns, grave, &body, attributes);
        let findings = self.result.records("findings").map(|row| {
            let attributes = Attributes::default()
                .text("dwell.cause", row.text("cause"))
                .text("dwell.saved", row.text("saved"))
                .whole("dwell.saving_lo_ns", row.whole("saving_lo_ns"))
                .whole("dwell.saving_hi_ns", row.whole("saving_hi_ns"))
                .double("dwell.belief", row.double("belief"))
                .text("dwell.action", row.text("action"));
            let body = row.text("place").or(row.text("cause")).unwrap_or_default();
            self.record("dwell.finding", self.to_ns, INFO, body, attributes)
        });
        let compared = self.result.records("comparisons").map(|row| {
            let verdict = row.text("verdict").unwrap_or_default();
            let attributes = Attributes::default()
                .text("dwell.verdict", Some(verdict))
                .text("dwell.a", row.text("a"))
                .text("dwell.b", row.text("b"))
                .text("dwell.figure", row.text("figure"))
                .double("dwell.ratio", row.double("ratio"))
                .double("dwell.ratio_lo", row.double("ratio_lo"))
                .double("dwell.ratio_hi", row.double("ratio_hi"));
            let grave = if verdict == "slower" { WARN } else { INFO };
            self.record("dwell.comparison", self.to_ns, grave, verdict, attributes)
        });
        let spikes = self.spikes();
        [whole].into_iter().chain(findings).chain(compared).chain(spikes).collect()
    }

    fn spikes(&self) -> Vec<Message> {
        let mut spikes = BTreeMap::<i64, Vec<Record<'_>>>::new();
        for part in self.result.records("spike_parts") {
            spikes.entry(part.whole("spike").unwrap_or_default()).or_default().push(part);
        }
        let spikes = spikes.into_values().filter_map(|mut parts| {
            parts.sort_by_key(|part| std::cmp::Reverse(part.whole("ns")));
            let largest = *parts.first()?;
            let ns =
                |record: &Record<'_>, column| u64::try_from(record.whole(column).unwrap_or(0)).unwrap_or(0);
            let words = parts.iter().map(|part| {
                let cause = part.text("cause").unwrap_or_default();
                let who = part.text("who").map(|who| format!(" {who}")).unwrap_or_default();
                format!("{cause}{who} {}", report::units::duration(ns(part, "ns")))
            });
            let words = words.collect::<Vec<_>>().join(", ");
            let late = report::units::duration(ns(&largest, "latency_ns"));
            let attributes = Attributes::default()
                .text("dwell.cause", largest.text("cause"))
                .whole("dwell.latency_ns", largest.whole("latency_ns"))
                .whole("dwell.cpu", largest.whole("cpu"));
            let at = self.from_ns.saturating_add(ns(&largest, "at_ns"));
            Some(self.record("dwell.spike", at, WARN, &format!("{late} late: {words}"), attributes))
        });
        spikes.collect()
    }

    fn record(&self, name: &str, at_ns: u64, grave: u64, body: &str, attributes: Attributes) -> Message {
        let mut text = Message::default();
        text.item(1, body.as_bytes());
        let mut record = Message::default();
        record.fixed(1, at_ns).number(2, grave);
        record.bytes(3, if grave == WARN { b"WARN" } else { b"INFO" }).message(5, &text);
        attributes.text("dwell.result.id", Some(&self.result.id)).into(6, &mut record);
        record.fixed(11, self.to_ns).bytes(12, name.as_bytes());
        record
    }

    /// The account by state, as shares of its whole.
    fn shares(&self) -> Vec<Message> {
        let parts: Vec<_> = self.result.records("account").collect();
        let whole: i64 = parts.iter().filter_map(|part| part.whole("ns")).sum();
        if whole <= 0 {
            return Vec::new();
        }
        let mut gauge = Message::default();
        for part in &parts {
            let Some(ns) = part.whole("ns") else { continue };
            let mut point = Message::default();
            Attributes::default().text("dwell.state", part.text("state")).into(7, &mut point);
            point.fixed(2, self.from_ns).fixed(3, self.to_ns).double(4, ns as f64 / whole as f64);
            gauge.message(1, &point);
        }
        vec![metric("dwell.time.share", "Shares of the time by state, which sum to 1", "1", 5, &gauge)]
    }

    /// Lengths of waits by state and kind of what was waited for.
    fn waits(&self) -> Vec<Message> {
        let mut by_kind = BTreeMap::<(&str, &str), Histogram>::new();
        let kind = |row: &Record<'a>| {
            (row.text("state").unwrap_or_default(), row.text("target_kind").unwrap_or_default())
        };
        for bin in self.result.records("wait_bins") {
            by_kind.entry(kind(&bin)).or_insert_with(|| Histogram::new(WAITS)).add(&bin);
        }
        for wait in self.result.records("waits") {
            if let Some(of) = by_kind.get_mut(&kind(&wait)) {
                of.sum_ns += wait.whole("total_ns").unwrap_or(0) as f64;
            }
        }
        let points = by_kind.into_iter().map(|((state, kind), of)| {
            let about =
                Attributes::default().text("dwell.state", Some(state)).text("dwell.target.kind", Some(kind));
            (about, of)
        });
        self.histograms("dwell.wait.duration", "Lengths of waits", points)
    }

    /// Latencies of wake-ups of all CPUs together. Where the clock was read in a loop, there were
    /// none.
    fn wakeups(&self) -> Vec<Message> {
        let all = |row: &Record<'_>| row.whole("cpu") == Some(-1);
        let Some(wakes) = self.result.records("wakes").find(all) else { return Vec::new() };
        if wakes.text("mode") != Some("timer") {
            return Vec::new();
        }
        let mut of = Histogram::new(WAKEUPS);
        self.result.records("wake_bins").filter(all).for_each(|bin| of.add(&bin));
        let (cycles, mean) = (wakes.whole("cycles").unwrap_or(0), wakes.whole("avg_ns").unwrap_or(0));
        of.sum_ns = cycles as f64 * mean as f64;
        of.ends_ns = wakes.whole("min_ns").zip(wakes.whole("max_ns"));
        self.histograms("dwell.wakeup.latency", "Latencies of wake-ups", [(Attributes::default(), of)])
    }

    fn histograms(
        &self,
        name: &str,
        description: &str,
        points: impl IntoIterator<Item = (Attributes, Histogram)>,
    ) -> Vec<Message> {
        let mut data = Message::default();
        let mut any = false;
        for (attributes, of) in points.into_iter().filter(|(_, of)| of.count() > 0) {
            let mut point = Message::default();
            attributes.into(1, &mut point);
            point.fixed(2, self.from_ns).fixed(3, self.to_ns);
            of.write(&mut point);
            data.message(1, &point);
            any = true;
        }
        if !any {
            return Vec::new();
        }
        data.number(2, if self.delta { DELTA } else { CUMULATIVE });
        vec![metric(name, description, "s", 10, &data)]
    }
}

fn metric(name: &str, description: &str, unit: &str, kind: u32, data: &Message) -> Message {
    let mut metric = Message::default();
    metric.bytes(1, name.as_bytes()).bytes(2, description.as_bytes()).bytes(3, unit.as_bytes());
    metric.message(kind, data);
    metric
}

/// What a result is of. Hosts that are copies of one image have the same machine, and hosts of two
/// networks may have the same name: both together are the instance.
fn resource_of(summary: &Record<'_>, settings: &Settings) -> Message {
    let host = summary.text("host").unwrap_or_default();
    let instance = summary.text("machine").map(|machine| format!("{host}-{machine}"));
    let by_verb = format!("dwell-{}", summary.text("verb").unwrap_or("result"));
    let own = [
        ("service.name", summary.text("service").or(Some(&by_verb))),
        ("service.instance.id", instance.as_deref().or(Some(host))),
        ("host.name", Some(host)),
        ("host.arch", summary.text("arch")),
        ("os.type", Some("linux")),
        ("os.version", summary.text("kernel")),
        ("dwell.version", summary.text("dwell")),
    ];
    let own = own.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let mut all: BTreeMap<&str, &str> = own.collect();
    all.extend(settings.resource.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    all.extend(settings.service.as_deref().map(|name| ("service.name", name)));
    let mut resource = Message::default();
    for (key, value) in all {
        resource.message(1, &text_attribute(&report::clean(key, true), &report::clean(value, true)));
    }
    resource
}

#[cfg(test)]
mod tests;
