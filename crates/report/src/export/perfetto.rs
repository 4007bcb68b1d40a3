//! A trace for Perfetto (`https://perfetto.dev/docs/reference/trace-packet-proto`): a track for
//! each thread with its states, hand-overs as flows, and tracks of their own for the critical path,
//! the findings and each slow request. Times are nanoseconds from the start of the wall clock.

use super::format::{Exported, request_part};
use super::proto::Message;
use crate::clean::clean;
use crate::findings::in_words;
use crate::page::requests::kind_name;
use crate::units::duration;
use model::requests::Requests;
use model::run::FindingRow;
use model::timeline::{PathPiece, Slice, Timeline};
use model::{Ns, Reason, Run, RunResult};
use std::collections::HashMap;

/// All packets are of one sequence: names are written once.
const SEQUENCE: u64 = 1;
/// The first packet of the sequence, and packets that need names (`TracePacket.SequenceFlags`).
const CLEARED: u64 = 1;
const NEEDS_NAMES: u64 = 2;
/// `TrackEvent.Type`.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;

/// Identifiers of tracks. Threads and processes come after these.
const PATH: u64 = 1;
const FINDINGS: u64 = 2;
const THREADS: u64 = 1 << 32;
const PROCESSES: u64 = 2 << 32;
const REQUESTS: u64 = 3 << 32;

/// The file.
pub fn perfetto(result: &RunResult, timeline: &Timeline) -> Exported {
    let run = &result.run;
    let mut writer = Writer::default();
    writer.tracks(run, timeline);
    let flows = Flows::new(timeline);
    for piece in &timeline.path {
        let name = path_name(timeline, piece);
        writer.slice(PATH, &piece.slice, &name, (&[], &[]));
    }
    for (at, thread) in timeline.threads.iter().enumerate() {
        for (place, slice) in thread.slices.iter().enumerate() {
            let of_slice = (flows.from(at, place), flows.to(at, place));
            writer.slice(thread_track(at), slice, &slice_name(slice), of_slice);
        }
    }
    for finding in in_words(result).findings {
        writer.finding(&finding);
    }
    writer.requests(run);
    let mut left_out = vec![
        "within a stretch on a CPU calls come before own code: their order was not recorded; page faults and \
         interrupts are part of it"
            .to_owned(),
        "a sleep on the path is shown as a sleep: the account has what other threads did meanwhile".to_owned(),
        "stacks, tables and metrics of the host are not in it".to_owned(),
    ];
    if flows.lost > 0 {
        left_out.push(format!("{} hand-overs by or to what took no time have no flow", flows.lost));
    }
    if let Some(until_ns) = timeline.until_ns {
        let seconds = until_ns as f64 / 1e9;
        left_out.push(format!("threads did more than fits: it ends after {seconds:.3} s"));
    }
    Exported { bytes: writer.finish(), left_out }
}

/// The slow requests of a window, which has no path; none where there are none.
pub fn perfetto_of_requests(run: &Run) -> Option<Exported> {
    let mut writer = Writer::default();
    let some = writer.requests(run);
    let left_out = "a window has no critical path: it has its slow requests only, 20 at most".to_owned();
    some.then(|| Exported { bytes: writer.finish(), left_out: vec![left_out] })
}

/// Hand-overs by the slices that they begin and end at.
struct Flows {
    from: HashMap<(usize, usize), Vec<u64>>,
    to: HashMap<(usize, usize), Vec<u64>>,
    lost: usize,
}

impl Flows {
    fn new(timeline: &Timeline) -> Self {
        let mut flows = Self { from: HashMap::new(), to: HashMap::new(), lost: 0 };
        for (id, hand_over) in timeline.hand_overs.iter().enumerate() {
            let slices = |thread: u32| timeline.threads.get(thread as usize).map(|thread| &thread.slices);
            // The one that was under way, and the one that came next.
            let from = slices(hand_over.from).and_then(|slices| {
                slices.partition_point(|slice| slice.at_ns < hand_over.from_ns).checked_sub(1)
            });
            let to = slices(hand_over.to).and_then(|slices| {
                let next = slices.partition_point(|slice| slice.at_ns < hand_over.to_ns);
                (next < slices.len()).then_some(next)
            });
            let (Some(from), Some(to)) = (from, to) else {
                flows.lost += 1;
                continue;
            };
            let id = id as u64 + 1;
            flows.from.entry((hand_over.from as usize, from)).or_default().push(id);
            flows.to.entry((hand_over.to as usize, to)).or_default().push(id);
        }
        flows
    }

    fn from(&self, thread: usize, slice: usize) -> &[u64] {
        self.from.get(&(thread, slice)).map_or(&[], Vec::as_slice)
    }

    fn to(&self, thread: usize, slice: usize) -> &[u64] {
        self.to.get(&(thread, slice)).map_or(&[], Vec::as_slice)
    }
}

#[derive(Default)]
struct Writer {
    /// Packets after the first.
    packets: Vec<u8>,
    names: HashMap<String, u64>,
    interned: Message,
}

impl Writer {
    fn packet(&mut self, packet: &Message) {
        self.packets.extend(Message::default().message(1, packet).clone().finish());
    }

    fn tracks(&mut self, run: &Run, timeline: &Timeline) {
        let command = clean(&run.command.join(" "), true);
        let mut processes = Vec::new();
        for (at, thread) in timeline.threads.iter().enumerate() {
            if !processes.contains(&thread.pid) {
                processes.push(thread.pid);
                let mut process = Message::default();
                process.number(1, thread.pid.into());
                process.bytes(6, clean(&thread.process, true).as_bytes());
                self.track(PROCESSES + u64::from(thread.pid), |track| {
                    track.message(3, &process);
                });
            }
            let mut of_thread = Message::default();
            of_thread.number(1, thread.pid.into()).number(2, thread.tid.into());
            of_thread.bytes(5, clean(&thread.name, true).as_bytes());
            self.track(thread_track(at), |track| {
                track.message(4, &of_thread).number(5, PROCESSES + u64::from(thread.pid));
            });
        }
        self.track(PATH, |track| {
            track.bytes(2, format!("critical path of {command}").as_bytes());
        });
        self.track(FINDINGS, |track| {
            track.bytes(2, b"findings");
        });
    }

    fn track(&mut self, uuid: u64, describe: impl FnOnce(&mut Message)) {
        let mut track = Message::default();
        track.number(1, uuid);
        describe(&mut track);
        let mut packet = Message::default();
        packet.always(8, 0).number(10, SEQUENCE).message(60, &track);
        self.packet(&packet);
    }

    fn name(&mut self, name: &str) -> u64 {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = self.names.len() as u64 + 1;
        self.interned.message(2, Message::default().number(1, id).bytes(2, name.as_bytes()));
        self.names.insert(name.to_owned(), id);
        id
    }

    /// A slice with the flows that leave it and that come to it.
    fn slice(&mut self, track: u64, slice: &Slice, name: &str, (from, to): (&[u64], &[u64])) {
        self.stretch((track, slice.state.name()), (slice.at_ns, slice.ns), name, |event| {
            from.iter().for_each(|id| {
                event.fixed(47, *id);
            });
            to.iter().for_each(|id| {
                event.fixed(48, *id);
            });
        });
    }

    /// A stretch of time on a track, of a category.
    fn stretch(
        &mut self,
        (track, category): (u64, &str),
        (at_ns, ns): (Ns, Ns),
        name: &str,
        more: impl FnOnce(&mut Message),
    ) {
        let name = self.name(name);
        let mut event = Message::default();
        event.number(9, BEGIN).number(10, name).number(11, track).bytes(22, category.as_bytes());
        more(&mut event);
        self.event(at_ns, &event);
        let mut event = Message::default();
        event.number(9, END).number(11, track);
        self.event(at_ns + ns, &event);
    }

    /// A track for each slow request, below one for all; whether there are any.
    fn requests(&mut self, run: &Run) -> bool {
        let Some(all) = run.tables.requests.value().filter(|all| !all.slowest.is_empty()) else {
            return false;
        };
        let Requests { unit, slowest, .. } = all;
        let noun = unit.name();
        self.track(REQUESTS, |track| {
            track.bytes(2, format!("slow {noun}s").as_bytes());
        });
        for (at, slow) in slowest.iter().enumerate() {
            let own = REQUESTS + 1 + at as u64;
            let kind = clean(&kind_name(&slow.kind), true);
            let kind = if slow.kind.value().is_some() { kind } else { noun.to_owned() };
            let client = match &*slow.client {
                "" => String::new(),
                client => format!(", from {}", clean(client, true)),
            };
            // Tracks are sorted by their names, and put together if those are the same.
            let name = format!("{:02} {kind}, {}{client}", at + 1, duration(slow.latency_ns));
            self.track(own, |track| {
                track.bytes(2, name.as_bytes()).number(5, REQUESTS);
            });
            for span in &slow.spans {
                let when = (slow.began_ns + span.from_ns, span.ns);
                self.stretch((own, span.at.name()), when, &request_part(span, *unit), |event| {
                    if let Some(tid) = span.tid.value() {
                        event.message(4, &note("tid", &tid.to_string()));
                    }
                });
            }
        }
        true
    }

    fn finding(&mut self, finding: &FindingRow) {
        let name = self.name(&clean(&finding.cause, true));
        let mut event = Message::default();
        event.number(9, INSTANT).number(10, name).number(11, FINDINGS);
        let texts = [("where", &finding.place), ("action", &finding.action), ("saved", &finding.saved)];
        for (key, text) in texts {
            event.message(4, &note(key, &clean(text, true)));
        }
        if let Some(saving) = finding.saving_ns.value() {
            for (key, ns) in [("saving_ns.lo", saving.lo), ("saving_ns.hi", saving.hi)] {
                let mut note = Message::default();
                note.bytes(10, key.as_bytes()).always(3, ns);
                event.message(4, &note);
            }
        }
        self.event(0, &event);
    }

    fn event(&mut self, at_ns: Ns, event: &Message) {
        let mut packet = Message::default();
        packet.always(8, at_ns).number(10, SEQUENCE).number(13, NEEDS_NAMES).message(11, event);
        self.packet(&packet);
    }

    fn finish(self) -> Vec<u8> {
        let mut first = Message::default();
        first.always(8, 0).number(10, SEQUENCE).number(13, CLEARED).message(12, &self.interned);
        let mut bytes = Message::default().message(1, &first).clone().finish();
        bytes.extend(self.packets);
        bytes
    }
}

/// A `DebugAnnotation` with a text.
fn note(key: &str, text: &str) -> Message {
    let mut note = Message::default();
    note.bytes(10, key.as_bytes()).bytes(6, text.as_bytes());
    note
}

fn thread_track(thread: usize) -> u64 {
    THREADS + thread as u64
}

/// The state, and what is known of it.
pub(super) fn slice_name(slice: &Slice) -> String {
    match &slice.reason {
        Reason::None => slice.state.name().to_owned(),
        reason => clean(&format!("{}: {reason}", slice.state.name()), true),
    }
}

/// The same with whose it is.
fn path_name(timeline: &Timeline, piece: &PathPiece) -> String {
    let thread = piece.thread.and_then(|thread| timeline.threads.get(thread as usize));
    match thread {
        Some(thread) => format!("{} {}", clean(&thread.name, true), slice_name(&piece.slice)),
        None => slice_name(&piece.slice),
    }
}
