//! Records of the kernel half (`wire.rs`) into events.
//!
//! Some records are parts of the next one of the same thread and time: what comes out is joined
//! (`model::join`), but for stacks, which come through a ring of their own: `crate::stacks` gives
//! them to samples. Bytes come from our own program, but a record that does not parse is dropped
//! and counted, never trusted. Records are read in place.

mod connections;
mod fields;
pub(super) mod objects;
mod sockets;
mod stacks;

use super::lookups::{self, Lookups};
use super::paths::{PathParts, Paths};
use super::wire::{self, GIVEN_PATH, Head, Kind, NOT_KEPT};
use crate::request_kind;
use fields::{Malformed, calls, first, known, mode, read};
use model::fault_places::FaultMapping;
use model::join::{EventPart, Joiner};
use model::recording::{
    AliveState, Comm, Counters, Event, Object, SwitchIn, SwitchOut, SwitchOutState, WaitContext, WakeReasons,
    Waker,
};
use model::task::{TaskDid, TaskWait};
use model::wake_reason::BlockRequest;
use model::{Pid, Tid};
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::param::page_size;
use sockets::Sockets;
pub(super) use stacks::{OfStacks, of_stacks, registers};
use std::collections::HashMap;

/// How many records of the tree each instrument made.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) switches: u64,
    pub(crate) wakes: u64,
    pub(crate) samples: u64,
    pub(crate) faults: u64,
    pub(crate) sends: u64,
}

/// What the kernel half reports here.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reports {
    /// A page fault that reads and is on no file is on swap.
    pub(crate) swaps: bool,
    /// Interrupts are unseen: who seems to wake a thread may be the thread that was interrupted.
    pub(crate) no_contexts: bool,
}

/// Turns records into events.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// What records call by the address of a kernel structure.
    objects: HashMap<u64, Object>,
    joiner: Joiner,
    paths: Paths,
    sockets: Sockets,
    /// The path that a thread gave to the call it is in.
    given: HashMap<Tid, Object>,
    /// What the kernel half reports.
    reports: Reports,
    /// What waits of tasks are for, by their numbers in a process.
    pub(super) task_waits: FxHashMap<Pid, Vec<TaskWait>>,
    /// Addresses of the stack of the last event, where it is of a task that waits.
    pub(super) callers: Option<(Pid, Vec<u64>)>,
    /// Threads that have received something where the tree serves, since that was asked last.
    pub(super) served: FxHashSet<Tid>,
    /// Questions for names.
    pub(super) lookups: Lookups,
    /// Records that could not be read.
    pub(crate) malformed: u64,
    /// Switches, wake-ups and samples that were.
    pub(crate) seen: Seen,
}

impl Decoder {
    pub(crate) fn new(reports: Reports) -> Self {
        Self { reports, ..Self::default() }
    }

    /// Reads one record; an event, with all its parts but its stack, where it is not itself a part.
    pub(crate) fn decode(&mut self, record: &[u8]) -> Option<Event> {
        let Ok(event) = self.event(record) else {
            self.malformed += 1;
            return None;
        };
        let mut event = event?;
        match event {
            Event::Switch { .. } => self.seen.switches += 1,
            Event::Woken { .. } => self.seen.wakes += 1,
            Event::Sampled { .. } => self.seen.samples += 1,
            Event::FaultSampled { .. } => self.seen.faults += 1,
            Event::Send { .. } => self.seen.sends += 1,
            _ => {}
        }
        self.joiner.complete(&mut event);
        Some(event)
    }

    fn event(&mut self, record: &[u8]) -> Result<Option<Event>, Malformed> {
        let (head, rest): (&Head, _) = read(record)?;
        let Head { at, tid, .. } = *head;
        let event = match Kind::from_wire(head.kind).ok_or(Malformed)? {
            Kind::Switch => self.switch(record)?,
            Kind::Wake => wake(record, self.reports)?,
            Kind::Flush => Event::Flush { at, tid, calls: calls(head, rest)? },
            Kind::Sample => {
                let (sample, _): (&wire::Sample, _) = read(record)?;
                let mode = mode(head.a, sample.call)?;
                let (ip, period_ns) = (sample.ip, sample.period_ns);
                Event::Sampled { at, tid, mode, ip, period_ns, node: None }
            }
            Kind::Fault => fault(record)?,
            Kind::Send => {
                let (send, rest): (&wire::OfEnds, _) = read(record)?;
                Event::Send { at, tid, ends: send.ends.into(), calls: calls(head, rest)? }
            }
            Kind::Received => {
                let (wire::Received { arrived, bytes, ends, .. }, rest) = read(record)?;
                if head.a != 0 {
                    self.served.insert(tid);
                }
                let (arrived, bytes) = (Some(*arrived).filter(|at| *at > 0), *bytes);
                Event::Received { at, tid, ends: (*ends).into(), arrived, bytes, calls: calls(head, rest)? }
            }
            Kind::LeftOut => {
                let (of, rest): (&wire::OfEnds, _) = read(record)?;
                Event::LeftOut { at, tid, ends: of.ends.into(), calls: calls(head, rest)? }
            }
            Kind::Unit => Event::Unit { at, tid, begins: head.a == 1 },
            Kind::Drawn => Event::Drawn { at, tid, one_in: 1 << (head.a & 31) },
            Kind::Task => {
                let (wire::Task { task, .. }, _) = read(record)?;
                let did = match wire::TaskDid::from_wire(head.a).ok_or(Malformed)? {
                    wire::TaskDid::Runs => TaskDid::Runs,
                    wire::TaskDid::Ready => TaskDid::Ready,
                    wire::TaskDid::Ends => TaskDid::Ends,
                };
                Event::Task { at, tid, task: *task, did }
            }
            Kind::TaskWaits => self.task_waits(record)?,
            Kind::Start => Event::Start { at, tid },
            Kind::Exec => {
                let (wire::Exec { entered, pid, old_tid, name, .. }, _) = read(record)?;
                let (entered, pid, old_tid, name) = (*entered, *pid, *old_tid, Comm(*name));
                Event::Exec { at, entered, tid, pid, old_tid, name }
            }
            Kind::Fork => {
                let (wire::Fork { child, pid, name, .. }, rest) = read(record)?;
                let calls = calls(head, rest)?;
                Event::Fork { at, tid, child: *child, pid: *pid, name: Comm(*name), calls }
            }
            Kind::Exit => {
                let (wire::Exit { status, .. }, rest) = read(record)?;
                let last = head.flags & wire::F_LAST != 0;
                Event::Exit { at, tid, status: *status, last, calls: calls(head, rest)? }
            }
            Kind::Peak => {
                let (wire::Peak { pages, .. }, _) = read(record)?;
                Event::MemoryPeak { at, pid: tid, bytes: pages.saturating_mul(page_size() as u64) }
            }
            Kind::Alive => self.alive(record)?,
            Kind::Occupant => {
                let (wire::Occupant { from, to, cpu, pid, name, .. }, _) = read(record)?;
                let (from, cpu, pid, name) = (*from, *cpu, *pid, Comm(*name));
                Event::Ran { at: *to, from, cpu, tid, pid, name }
            }
            Kind::Rename => {
                let (wire::Rename { name, .. }, _) = read(record)?;
                Event::Rename { at, tid, name: Comm(*name) }
            }
            Kind::Established => {
                let (wire::OfEnds { ends, .. }, _) = read(record)?;
                let serves = head.a == wire::Began::Accepted as u8;
                Event::Established { at, ends: (*ends).into(), serves }
            }
            Kind::Connection => Event::Connection(Box::new(connections::connection(record)?)),
            Kind::RequestText => {
                let (wire::RequestText { len, bytes, .. }, _) = read(record)?;
                let kind = request_kind::of(first(bytes, *len)?);
                return Ok(kind.map(|kind| Event::RequestKind { at, tid, kind: kind.into() }));
            }
            Kind::Path => return self.path(record),
            Kind::SocketNames => return self.sockets.decode(record),
            Kind::Packet => return self.packet(record),
            Kind::Resolved => return resolved(record),
            Kind::Object => {
                let (of, _): (&wire::Object, _) = read(record)?;
                self.objects.insert(of.object, objects::object(of));
                return Ok(None);
            }
            kind @ (Kind::Ran | Kind::Dead | Kind::Ready | Kind::Page | Kind::Request | Kind::Through) => {
                if let Some(part) = self.part(kind, record)? {
                    self.joiner.part(at, tid, part);
                }
                return Ok(None);
            }
            Kind::SampleStack
            | Kind::WaitStack
            | Kind::FaultStack
            | Kind::WakerStack
            | Kind::FaultSampleStack
            | Kind::Counted => return Err(Malformed),
        };
        Ok(Some(event))
    }

    /// What an event that comes is to have; none where it is not known what that is.
    fn part(&self, kind: Kind, record: &[u8]) -> Result<Option<EventPart>, Malformed> {
        Ok(match kind {
            Kind::Ran => {
                let (wire::Ran { ran, name, throttled_ns, .. }, _) = read(record)?;
                Some(EventPart::Ran { ran: (*ran, Comm(*name)), throttled_ns: *throttled_ns })
            }
            Kind::Dead => {
                let (wire::Dead { counters, .. }, _) = read(record)?;
                Some(EventPart::Counted((*counters).into()))
            }
            Kind::Ready => {
                let (wire::OfEnds { ends, .. }, _) = read(record)?;
                Some(EventPart::Ready((*ends).into()))
            }
            Kind::Page => {
                let (wire::Page { ino, dev, .. }, _) = read(record)?;
                match (*dev, *ino) {
                    (_, 0) => self.reports.swaps.then_some(EventPart::FaultOn(Object::SwapPage)),
                    (dev, ino) => Some(EventPart::FaultOn(Object::Page { dev, ino })),
                }
            }
            Kind::Request => {
                let (wire::Request { about, .. }, _) = read(record)?;
                Some(EventPart::Request(request(about)))
            }
            Kind::Through => {
                let (wire::Through { object, .. }, _) = read(record)?;
                self.objects.get(object).cloned().map(EventPart::WorkedOn)
            }
            _ => return Err(Malformed),
        })
    }

    fn task_waits(&mut self, record: &[u8]) -> Result<Event, Malformed> {
        let (wire::TaskWaits { head, task, on, pid, reason, callers }, _) = read(record)?;
        let wait = self.task_waits.get(pid).and_then(|waits| waits.get(*reason as usize));
        let wait = wait.copied().unwrap_or(TaskWait::Other);
        self.callers = Some((*pid, callers.iter().copied().take_while(|caller| *caller != 0).collect()));
        let did = TaskDid::Waits { wait, on: *on, node: None };
        Ok(Event::Task { at: head.at, tid: head.tid, task: *task, did })
    }

    fn packet(&mut self, record: &[u8]) -> Result<Option<Event>, Malformed> {
        let (wire::Packet { head, len, bytes, .. }, _) = read(record)?;
        Ok(self.lookups.packet(head.at, head.tid, head.a != 0, first(bytes, *len)?))
    }

    fn path(&mut self, record: &[u8]) -> Result<Option<Event>, Malformed> {
        let (path, rest): (&wire::Path, _) = read(record)?;
        let wire::Path { head: Head { flags, tid, .. }, dev, ino, .. } = *path;
        let parts = first(rest, path.length)?;
        let (cut, deleted) = (flags & wire::PATH_CUT != 0, flags & wire::PATH_DELETED != 0);
        let told = PathParts { parts, cut, deleted, tid };
        Ok(match wire::PathKind::from_wire(path.head.a).ok_or(Malformed)? {
            wire::PathKind::OfFile => self.paths.of_file(dev, ino, &told),
            wire::PathKind::InFilesystem => self.paths.in_filesystem(dev, ino, &told),
            wire::PathKind::Given => {
                let (object, event) = self.paths.given(&told);
                self.given.insert(tid, object);
                event
            }
        })
    }

    fn switch(&self, record: &[u8]) -> Result<Event, Malformed> {
        let (switch, rest): (&wire::Switch, _) = read(record)?;
        let wire::Switch { head, cpu, into, .. } = *switch;
        let Head { at, tid, .. } = head;
        let left = match wire::Left::from_wire(head.a).ok_or(Malformed)? {
            wire::Left::None => None,
            wire::Left::Runnable => Some(SwitchOutState::Runnable),
            wire::Left::Blocked => {
                Some(SwitchOutState::Blocked(self.wait(&head, switch.call, switch.object)))
            }
            wire::Left::Stopped => Some(SwitchOutState::Stopped),
            wire::Left::Dead => Some(SwitchOutState::Dead(Counters::default())),
        };
        let calls = calls(&head, rest)?;
        let out = left.map(|left| SwitchOut { tid, left, calls });
        let ran = (head.flags & wire::F_WAS_IDLE != 0).then(|| (0, Comm::from("swapper")));
        let into = (into != 0).then_some(SwitchIn { tid: into, ran, throttled_ns: 0 });
        Ok(Event::Switch { at, cpu, out, into })
    }

    fn alive(&self, record: &[u8]) -> Result<Event, Malformed> {
        let (alive, _): (&wire::Alive, _) = read(record)?;
        let wire::Alive { head, pid, call: number, object, name, counters } = *alive;
        let state = match wire::Left::from_wire(head.a).ok_or(Malformed)? {
            wire::Left::Blocked => AliveState::Blocked(self.wait(&head, number, object)),
            wire::Left::Stopped => AliveState::Stopped,
            _ => AliveState::Runnable(known(number)),
        };
        let (at, tid, name, before) = (head.at, head.tid, Comm(name), counters.into());
        Ok(Event::Alive { at, tid, pid, name, state, before })
    }

    /// Which call a thread waits in, and for what.
    fn wait(&self, head: &Head, number: u32, object: u64) -> WaitContext {
        let on = match self.objects.get(&object) {
            None if object == GIVEN_PATH => self.given.get(&head.tid).cloned().unwrap_or(Object::Unknown),
            Some(known) => known.clone(),
            // No object that was described: the address of a futex, or nothing.
            None if object != 0 => Object::Futex { address: object },
            None => Object::Unknown,
        };
        let (uninterruptible, io) = (head.flags & wire::F_UNINTERRUPTIBLE != 0, head.flags & wire::F_IO != 0);
        WaitContext { call: known(number), uninterruptible, io, on }
    }
}

fn wake(record: &[u8], reports: Reports) -> Result<Event, Malformed> {
    let (wire::Wake { head, cpu, waker: over, name }, rest) = read(record)?;
    let (cpu, over) = (*cpu, *over);
    let Head { at, tid, .. } = *head;
    let waker = match wire::WakerKind::from_wire(head.a).ok_or(Malformed)? {
        wire::WakerKind::Task | wire::WakerKind::OtherTask if reports.no_contexts => Waker::Unknown,
        wire::WakerKind::Task => Waker::Task { tid: over, name: None },
        wire::WakerKind::OtherTask => Waker::Task { tid: over, name: Some(Comm(*name)) },
        wire::WakerKind::Timer => Waker::Timer,
        wire::WakerKind::Device => Waker::Device,
        wire::WakerKind::Network => Waker::Network { over, ready: None },
        wire::WakerKind::Interrupt => Waker::Interrupt,
    };
    let (reasons, calls) = (WakeReasons::new(), calls(head, rest)?);
    Ok(Event::Woken { at, cpu, tid, waker, reasons, calls })
}

fn fault(record: &[u8]) -> Result<Event, Malformed> {
    let (fault, _): (&wire::Fault, _) = read(record)?;
    let wire::Fault { head: Head { at, tid, a, .. }, ino, dev, faults, name } = *fault;
    let mapping = match wire::MappingKind::from_wire(a).ok_or(Malformed)? {
        wire::MappingKind::Unknown => FaultMapping::Unknown,
        wire::MappingKind::Anonymous => FaultMapping::Anonymous,
        wire::MappingKind::Heap => FaultMapping::Heap,
        wire::MappingKind::Stack => FaultMapping::Stack,
        wire::MappingKind::File => FaultMapping::File { dev, ino, name: Comm(name) },
    };
    Ok(Event::FaultSampled { at, tid, faults, mapping, node: None })
}

fn request(about: &wire::RequestAbout) -> BlockRequest {
    BlockRequest {
        dev: about.dev,
        bytes: about.bytes,
        queue_ns: Some(about.queue_ns).filter(|ns| *ns != NOT_KEPT),
        device_ns: about.device_ns,
        write: about.write != 0,
    }
}

fn resolved(record: &[u8]) -> Result<Option<Event>, Malformed> {
    let (wire::Resolved { head, asked_at, error, len, name }, _) = read(record)?;
    Ok(lookups::resolved(head.tid, first(name, *len)?, (*asked_at, head.at), *error))
}

#[cfg(test)]
mod tests {
    use super::wire::NO_CALL;
    use super::*;
    use model::call::{Call, CallTime};
    use zerocopy::{FromBytes, IntoBytes};

    /// What interrupted a thread would be taken for that thread.
    #[test]
    fn without_interrupts_no_thread_is_said_to_wake_another() {
        let head = head(Kind::Wake, wire::WakerKind::Task as u8, 0, 6, 100);
        let record = wire::Wake { head, cpu: 1, waker: 7, name: [0; 16] };
        let waker = |no_contexts| {
            let reports = Reports { no_contexts, ..Reports::default() };
            match wake(IntoBytes::as_bytes(&record), reports).unwrap() {
                Event::Woken { waker, .. } => waker,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(waker(false), Waker::Task { tid: 7, name: None });
        assert_eq!(waker(true), Waker::Unknown);
    }

    fn head(kind: Kind, a: u8, calls: u8, tid: u32, at: u64) -> Head {
        Head { at, kind: kind as u8, a, flags: 0, calls, tid }
    }

    fn switch(left: wire::Left, calls: u8, call: u32) -> wire::Switch {
        let head = head(Kind::Switch, left as u8, calls, 6, 100);
        wire::Switch { head, cpu: 1, into: 7, call, pad: 0, object: 0 }
    }

    /// A record and its slots in one piece of memory, as aligned as those of the kernel half.
    fn whole(record: &[u8], slots: &[wire::Slot]) -> Vec<u64> {
        let bytes = [record, slots.as_bytes()].concat();
        bytes.chunks(8).map(|word| u64::read_from_bytes(word).unwrap()).collect()
    }

    #[test]
    fn a_switch_takes_its_slots_and_its_parts() {
        let mut decoder = Decoder::default();
        let name = Comm::from("other");
        let ran = head(Kind::Ran, 0, 0, 7, 100);
        let ran = wire::Ran { head: ran, cpu: 1, ran: 33, name: name.0, throttled_ns: 5 };
        assert_eq!(decoder.decode(ran.as_bytes()), None);
        let slots = [wire::Slot { call: 0, count: 2, ns: 40 }];
        let switch = whole(switch(wire::Left::Runnable, 1, NO_CALL).as_bytes(), &slots);
        let calls = [CallTime { call: Call(0), count: 2, ns: 40 }].into_iter().collect();
        let expected = Event::Switch {
            at: 100,
            cpu: 1,
            out: Some(SwitchOut { tid: 6, left: SwitchOutState::Runnable, calls }),
            into: Some(SwitchIn { tid: 7, ran: Some((33, name)), throttled_ns: 5 }),
        };
        assert_eq!(decoder.decode(switch.as_bytes()), Some(expected));
        assert_eq!(decoder.malformed, 0);
    }

    #[test]
    fn a_cpu_that_was_idle_needs_no_record_of_its_own() {
        let mut decoder = Decoder::default();
        let mut idle = switch(wire::Left::None, 0, NO_CALL);
        idle.head.flags = wire::F_WAS_IDLE;
        let Some(Event::Switch { into: Some(into), out: None, .. }) = decoder.decode(idle.as_bytes()) else {
            panic!("{}", decoder.malformed);
        };
        assert_eq!(into, SwitchIn { tid: 7, ran: Some((0, Comm::from("swapper"))), throttled_ns: 0 });
    }

    #[test]
    fn what_had_a_cpu_is_an_event_of_its_own() {
        let mut decoder = Decoder::default();
        let name = Comm::from("hog");
        let head = head(Kind::Occupant, 0, 0, 33, 100);
        let occupant = wire::Occupant { head, from: 20, to: 90, cpu: 1, pid: 32, name: name.0 };
        let expected = Event::Ran { at: 90, from: 20, cpu: 1, tid: 33, pid: 32, name };
        assert_eq!(decoder.decode(occupant.as_bytes()), Some(expected));
    }

    #[test]
    fn a_page_fault_is_in_its_mapping() {
        let fault = |a| wire::Fault {
            head: head(Kind::Fault, a, 0, 7, 100),
            ino: 12,
            dev: 8,
            faults: 251,
            name: Comm::from("data").0,
        };
        let mut decoder = Decoder::default();
        let event = |mapping| Event::FaultSampled { at: 100, tid: 7, faults: 251, mapping, node: None };
        let heap = decoder.decode(fault(wire::MappingKind::Heap as u8).as_bytes());
        assert_eq!(heap, Some(event(FaultMapping::Heap)));
        let file = decoder.decode(fault(wire::MappingKind::File as u8).as_bytes());
        assert_eq!(file, Some(event(FaultMapping::File { dev: 8, ino: 12, name: "data".into() })));
        assert_eq!((decoder.decode(fault(99).as_bytes()), decoder.malformed), (None, 1));
    }

    #[test]
    fn a_peak_is_in_bytes_and_of_a_process() {
        let peak = wire::Peak { head: head(Kind::Peak, 0, 0, 32, 100), pages: 3 };
        let expected = Event::MemoryPeak { at: 100, pid: 32, bytes: 3 * page_size() as u64 };
        assert_eq!(Decoder::default().decode(peak.as_bytes()), Some(expected));
    }

    #[test]
    fn records_cut_short_anywhere_are_counted_and_dropped() {
        let mut decoder = Decoder::default();
        let slots = [wire::Slot { call: 0, count: 1, ns: 2 }; 3];
        let switch = whole(switch(wire::Left::Blocked, 3, 0).as_bytes(), &slots);
        let switch = switch.as_bytes();
        for length in 0..switch.len() {
            assert_eq!(decoder.decode(&switch[..length]), None, "{length} bytes");
        }
        assert_eq!(decoder.malformed, switch.len() as u64);
        assert!(decoder.decode(switch).is_some());
    }

    #[test]
    fn a_record_of_no_kind_or_out_of_line_is_counted_and_dropped() {
        let mut decoder = Decoder::default();
        let unknown = Head { kind: 99, ..head(Kind::Start, 0, 0, 7, 10) };
        assert_eq!(decoder.decode(unknown.as_bytes()), None);
        let start = [0, 0, 0, 0].map(|_| head(Kind::Start, 0, 0, 7, 10));
        assert_eq!(decoder.decode(&start.as_bytes()[1..]), None);
        assert_eq!(decoder.malformed, 2);
        assert_eq!(decoder.decode(start[0].as_bytes()), Some(Event::Start { at: 10, tid: 7 }));
    }
}
