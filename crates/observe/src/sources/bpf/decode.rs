//! Records of the kernel half (`wire.rs`) into events.
//!
//! Some records only prepare the next one on the same CPU; the decoder holds them until it comes.
//! Bytes come from our own program, but a record that does not parse is dropped and counted, never
//! trusted. Records are read in place.

use super::lookups::{self, Lookups};
use super::paths::{Paths, Told};
use super::wire::{self, GIVEN_PATH, Head, Kind, NO_CALL, NOT_KEPT};
use crate::stacks::{Of, RawStack};
use code::Registers;
use model::because::{Because, Request};
use model::call::{Call, CallTime};
use model::network::{Began, Connection};
use model::recording::{
    AliveState, Calls, Comm, Counters, Ends, Event, FileKind, In, Left, Mode, Object, Out, Wait, Waker,
};
use model::{Ns, Tid};
use python::record::{K_PYTHON, K_PYTHON_CODE};
use std::collections::HashMap;
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// A record is too short for what it says that it is, or of no kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Malformed;

/// The fields of a record, and what follows them.
fn read<T: FromBytes + KnownLayout + Immutable>(record: &[u8]) -> Result<(&T, &[u8]), Malformed> {
    T::ref_from_prefix(record).map_err(|_| Malformed)
}

/// The first bytes of what follows a record.
fn first(rest: &[u8], bytes: u32) -> Result<&[u8], Malformed> {
    rest.get(..bytes as usize).ok_or(Malformed)
}

/// The slots that follow a record.
fn calls(head: &Head, rest: &[u8]) -> Result<Calls, Malformed> {
    let slots = <[wire::Slot]>::ref_from_prefix_with_elems(rest, head.calls.into());
    let (slots, _) = slots.map_err(|_| Malformed)?;
    Ok(slots.iter().map(|slot| CallTime { call: call(slot.call), count: slot.count, ns: slot.ns }).collect())
}

fn call(number: u32) -> Call {
    Call(number as u16)
}

fn known(number: u32) -> Option<Call> {
    (number != NO_CALL).then(|| call(number))
}

impl From<wire::Counters> for Counters {
    fn from(counters: wire::Counters) -> Self {
        Self {
            cpu_ns: counters.cpu_ns,
            runqueue_ns: counters.runqueue_ns,
            minor_faults: counters.minor_faults,
            major_faults: counters.major_faults,
            voluntary_switches: counters.voluntary,
            involuntary_switches: counters.involuntary,
        }
    }
}

impl From<wire::Ends> for Ends {
    fn from(ends: wire::Ends) -> Self {
        let wire::Ends { local, remote, local_port, remote_port, protocol, .. } = ends;
        Self { protocol: protocol as u8, local, local_port, remote, remote_port }
    }
}

/// How many records of the tree each instrument made.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) switches: u64,
    pub(crate) wakes: u64,
    pub(crate) samples: u64,
}

/// Turns records into events.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    objects: HashMap<u64, Object>,
    ran: HashMap<u32, (Tid, Tid, Comm, Ns)>,
    dead: HashMap<u32, (Tid, Counters)>,
    ready: HashMap<u32, (Tid, Ends)>,
    paths: Paths,
    /// The path that a thread gave to the call it is in.
    given: HashMap<Tid, Object>,
    /// A fault that reads and is on no file is on swap.
    swaps: bool,
    /// Questions for names.
    pub(super) lookups: Lookups,
    /// Records that could not be read.
    pub(crate) malformed: u64,
    /// Switches, wake-ups and samples that were.
    pub(crate) seen: Seen,
}

impl Decoder {
    /// With `swaps`, a fault that waits for a disk and is on no file is taken for one on swap.
    pub(crate) fn new(swaps: bool) -> Self {
        Self { swaps, ..Self::default() }
    }

    /// Reads one record; an event where it is one by itself.
    pub(crate) fn decode(&mut self, record: &[u8]) -> Option<Event> {
        let Ok(event) = self.event(record) else {
            self.malformed += 1;
            return None;
        };
        match event {
            Some(Event::Switch { .. }) => self.seen.switches += 1,
            Some(Event::Wake { .. }) => self.seen.wakes += 1,
            Some(Event::Sample { .. }) => self.seen.samples += 1,
            _ => {}
        }
        event
    }

    fn event(&mut self, record: &[u8]) -> Result<Option<Event>, Malformed> {
        let (head, rest): (&Head, _) = read(record)?;
        let Head { at, tid, .. } = *head;
        let event = match Kind::from_wire(head.kind).ok_or(Malformed)? {
            Kind::Switch => self.switch(record)?,
            Kind::Wake => self.wake(record)?,
            Kind::Flush => Event::Flush { at, tid, calls: calls(head, rest)? },
            Kind::Sample => {
                let (sample, _): (&wire::Sample, _) = read(record)?;
                let mode = mode(head.a, sample.call)?;
                Event::Sample { at, tid, mode, ip: sample.ip, period_ns: sample.period_ns }
            }
            Kind::Send => {
                let (send, rest): (&wire::OfEnds, _) = read(record)?;
                Event::Send { at, tid, ends: send.ends.into(), calls: calls(head, rest)? }
            }
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
            Kind::Alive => self.alive(record)?,
            Kind::Rename => {
                let (wire::Rename { name, .. }, _) = read(record)?;
                Event::Rename { at, tid, name: Comm(*name) }
            }
            Kind::Page => {
                let (wire::Page { ino, dev, .. }, _) = read(record)?;
                let known = *ino != 0 || self.swaps;
                return Ok(known.then_some(Event::Page { at, tid, dev: *dev, ino: *ino }));
            }
            Kind::Request => {
                let (wire::Request { about, .. }, _) = read(record)?;
                Event::Because { at, tid, because: Because::Request(request(about)) }
            }
            Kind::Connection => Event::Connection(Box::new(connection(record)?)),
            Kind::Through => return self.through(record),
            Kind::Path => return self.path(record),
            Kind::Packet => return self.packet(record),
            Kind::Resolved => return resolved(record),
            Kind::Object | Kind::Ran | Kind::Dead | Kind::Ready => return self.prepare(record),
            Kind::SampleStack | Kind::WaitStack | Kind::FaultStack | Kind::WakerStack => {
                return Err(Malformed);
            }
        };
        Ok(Some(event))
    }

    /// Holds what the next record on the same CPU, or a later one, is to have.
    fn prepare(&mut self, record: &[u8]) -> Result<Option<Event>, Malformed> {
        let (head, _): (&Head, _) = read(record)?;
        match Kind::from_wire(head.kind) {
            Some(Kind::Ran) => {
                let (wire::Ran { cpu, ran, name, throttled_ns, .. }, _) = read(record)?;
                self.ran.insert(*cpu, (head.tid, *ran, Comm(*name), *throttled_ns));
            }
            Some(Kind::Dead) => {
                let (wire::Dead { cpu, counters, .. }, _) = read(record)?;
                self.dead.insert(*cpu, (head.tid, (*counters).into()));
            }
            Some(Kind::Ready) => {
                let (wire::OfEnds { cpu, ends, .. }, _) = read(record)?;
                self.ready.insert(*cpu, (head.tid, (*ends).into()));
            }
            _ => {
                let (of, _): (&wire::Object, _) = read(record)?;
                self.objects.insert(of.object, object(of));
            }
        }
        Ok(None)
    }

    fn through(&mut self, record: &[u8]) -> Result<Option<Event>, Malformed> {
        let (wire::Through { head, object }, _) = read(record)?;
        let through = |object: &Object| Event::Because {
            at: head.at,
            tid: head.tid,
            because: Because::Through(object.clone()),
        };
        Ok(self.objects.get(object).map(through))
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
        let told = Told { parts, cut, deleted, tid };
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

    fn switch(&mut self, record: &[u8]) -> Result<Event, Malformed> {
        let (switch, rest): (&wire::Switch, _) = read(record)?;
        let wire::Switch { head, cpu, into, .. } = *switch;
        let Head { at, tid, .. } = head;
        let left = match wire::Left::from_wire(head.a).ok_or(Malformed)? {
            wire::Left::None => None,
            wire::Left::Runnable => Some(Left::Runnable),
            wire::Left::Blocked => Some(Left::Blocked(self.wait(&head, switch.call, switch.object))),
            wire::Left::Stopped => Some(Left::Stopped),
            wire::Left::Dead => {
                let counters = self.dead.remove(&cpu).filter(|(dead, _)| *dead == tid);
                Some(Left::Dead(counters.map(|(_, counters)| counters).unwrap_or_default()))
            }
        };
        let calls = calls(&head, rest)?;
        let out = left.map(|left| Out { tid, left, calls });
        let into = (into != 0).then(|| {
            let ran = if self.ran.is_empty() { None } else { self.ran.remove(&cpu) };
            match ran {
                Some((of, ran, name, throttled_ns)) if of == into => {
                    In { tid: into, ran: Some((ran, name)), throttled_ns }
                }
                _ => In { tid: into, ran: None, throttled_ns: 0 },
            }
        });
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
    fn wait(&self, head: &Head, number: u32, object: u64) -> Wait {
        let on = match self.objects.get(&object) {
            None if object == GIVEN_PATH => self.given.get(&head.tid).cloned().unwrap_or(Object::Unknown),
            Some(known) => known.clone(),
            // No object that was described: the address of a futex, or nothing.
            None if object != 0 => Object::Futex { address: object },
            None => Object::Unknown,
        };
        let (uninterruptible, io) = (head.flags & wire::F_UNINTERRUPTIBLE != 0, head.flags & wire::F_IO != 0);
        Wait { call: known(number), uninterruptible, io, on }
    }

    fn wake(&mut self, record: &[u8]) -> Result<Event, Malformed> {
        let (wire::Wake { head, cpu, waker: over, name }, rest) = read(record)?;
        let (cpu, over) = (*cpu, *over);
        let Head { at, tid, .. } = *head;
        let waker = match wire::WakerKind::from_wire(head.a).ok_or(Malformed)? {
            wire::WakerKind::Task => Waker::Task { tid: over, name: None },
            wire::WakerKind::OtherTask => Waker::Task { tid: over, name: Some(Comm(*name)) },
            wire::WakerKind::Timer => Waker::Timer,
            wire::WakerKind::Device => Waker::Device,
            wire::WakerKind::Network => {
                let ready = if self.ready.is_empty() { None } else { self.ready.remove(&cpu) };
                Waker::Network { over, ready: ready.filter(|(of, _)| *of == tid).map(|(_, ends)| ends) }
            }
            wire::WakerKind::Interrupt => Waker::Interrupt,
        };
        Ok(Event::Wake { at, cpu, tid, waker, calls: calls(head, rest)? })
    }
}

fn request(about: &wire::RequestAbout) -> Request {
    Request {
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

fn mode(mode: u8, number: u32) -> Result<Mode, Malformed> {
    Ok(match wire::Mode::from_wire(mode).ok_or(Malformed)? {
        wire::Mode::User => Mode::User,
        wire::Mode::Call => Mode::Call(call(number)),
        wire::Mode::Fault => Mode::Fault,
        wire::Mode::Interrupt => Mode::Interrupt,
        wire::Mode::Entry => Mode::Entry,
    })
}

/// `USER_REGS` of `kernel.h`, by their DWARF numbers.
#[cfg(target_arch = "x86_64")]
fn registers([ip, sp, bp, bx, r12, r13, r14, r15]: [u64; 8]) -> Registers {
    let kept = [(3, bx), (12, r12), (13, r13), (14, r14), (15, r15)];
    kept.into_iter().fold(Registers::x86_64(ip, sp, bp), |all, (number, value)| all.with(number, value))
}

/// `USER_REGS` of `kernel.h`, by their DWARF numbers.
#[cfg(target_arch = "aarch64")]
fn registers([pc, sp, fp, lr, x19, x20, x21, x22]: [u64; 8]) -> Registers {
    let kept = [(19, x19), (20, x20), (21, x21), (22, x22)];
    kept.into_iter().fold(Registers::aarch64(pc, sp, fp, lr), |all, (number, value)| all.with(number, value))
}

/// A record of the ring of stacks.
pub(crate) enum OfStacks {
    Stack(Ns, Box<RawStack>),
    /// The Python part of the stack that comes next for its thread.
    Python(python::record::Stack),
    /// A description of a Python code object.
    Described(Ns),
}

/// Reads one record of the ring of stacks. None when it is cut short or of another kind.
pub(crate) fn of_stacks(record: &[u8]) -> Option<OfStacks> {
    let (head, _): (&Head, _) = read(record).ok()?;
    match head.kind {
        K_PYTHON => python::record::stack(record).map(OfStacks::Python),
        K_PYTHON_CODE => Some(OfStacks::Described(head.at)),
        _ => stack(record).ok().map(|(at, stack)| OfStacks::Stack(at, Box::new(stack))),
    }
}

fn stack(record: &[u8]) -> Result<(Ns, RawStack), Malformed> {
    let (stack, user): (&wire::Stack, _) = read(record)?;
    let of = match Kind::from_wire(stack.head.kind) {
        Some(Kind::SampleStack) => Of::Sample {
            mode: mode(stack.head.a, stack.call)?,
            period_ns: u32::try_from(stack.stands_for_ns).unwrap_or(u32::MAX),
        },
        Some(Kind::WaitStack) => Of::Wait { weight_ns: stack.stands_for_ns, call: known(stack.call) },
        Some(Kind::FaultStack) => Of::Fault,
        Some(Kind::WakerStack) => Of::Waker { woken: stack.call, woken_at: stack.stands_for_ns },
        _ => return Err(Malformed),
    };
    let at = stack.head.at;
    let entries = stack.kernel_len as usize / size_of::<u64>();
    let stack = RawStack {
        tid: stack.head.tid,
        pid: stack.pid,
        of,
        registers: registers(stack.regs),
        kernel: stack.kernel.iter().take(entries).copied().collect(),
        user: user.to_vec(),
        python: None,
    };
    Ok((at, stack))
}

fn connection(record: &[u8]) -> Result<Connection, Malformed> {
    let (of, _): (&wire::Connection, _) = read(record)?;
    let Head { at, tid, a, flags, .. } = of.head;
    let began = match wire::Began::from_wire(a).ok_or(Malformed)? {
        wire::Began::Opened => Began::Opened,
        wire::Began::Accepted => Began::Accepted,
        wire::Began::Found => Began::Found,
    };
    let some = |value: u64| (value != 0).then_some(value);
    // What was never measured is all zeros, or all ones for a minimum.
    let us = |value: u32| some(u64::from(value) * 1000).filter(|_| value != u32::MAX);
    Ok(Connection {
        ends: of.ends.into(),
        tid: (tid != 0).then_some(tid),
        began,
        span: (of.began, at),
        established_at: some(of.established),
        closed: flags & wire::F_CLOSED != 0,
        round_trip_ns: us(of.round_trip_us),
        round_trip_ns_min: us(of.round_trip_us_min),
        sent_bytes: of.sent,
        received_bytes: of.received,
        retransmits: of.retransmits,
        segment_bytes_max: of.segment_bytes_max,
        no_delay: flags & wire::F_NO_DELAY != 0,
    })
}

fn object(of: &wire::Object) -> Object {
    let wire::Object { mode, dev, ino, magic, ends, .. } = *of;
    match wire::ObjectKind::from_wire(of.head.a) {
        Some(wire::ObjectKind::Net) => Object::Net(ends.into()),
        Some(wire::ObjectKind::Unix) => Object::Unix { ino, peer: of.peer },
        Some(wire::ObjectKind::OtherSocket) => Object::OtherSocket { family: ends.family },
        Some(wire::ObjectKind::File) | None => {
            let name = Comm(of.name);
            Object::File { kind: file_kind(mode, dev, magic, name), dev, ino, name }
        }
    }
}

/// Filesystem magic numbers from `include/uapi/linux/magic.h` and the filesystems' own headers.
fn file_kind(mode: u16, dev: u32, magic: u64, name: Comm) -> FileKind {
    const REMOTE: [u64; 6] = [0x6969, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x0102_1997, 0x00c3_6400];
    const ANON_INODE: u64 = 0x0904_1934;
    match mode & 0o170_000 {
        0o010_000 => FileKind::Pipe,
        0o020_000 => match dev >> 20 {
            // Terminals: tty, ttyS and friends, pseudo terminals.
            4 | 5 | 136..=143 | 204 => FileKind::Tty,
            _ => FileKind::Device,
        },
        0o100_000 | 0o040_000 | 0o060_000 if REMOTE.contains(&magic) => FileKind::Remote,
        _ if magic == ANON_INODE => match name.to_text().as_str() {
            "[eventpoll]" => FileKind::Epoll,
            "[eventfd]" => FileKind::EventFd,
            "[timerfd]" => FileKind::TimerFd,
            _ => FileKind::Anonymous,
        },
        0o100_000 | 0o040_000 | 0o060_000 => FileKind::Disk,
        _ => FileKind::Anonymous,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::IntoBytes;

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
    fn a_switch_takes_its_slots_and_what_was_prepared_on_its_cpu() {
        let mut decoder = Decoder::default();
        let name = Comm::from("other");
        let ran = head(Kind::Ran, 0, 0, 7, 90);
        let ran = wire::Ran { head: ran, cpu: 1, ran: 33, name: name.0, throttled_ns: 5 };
        assert_eq!(decoder.decode(ran.as_bytes()), None);
        let slots = [wire::Slot { call: 0, count: 2, ns: 40 }];
        let switch = whole(switch(wire::Left::Runnable, 1, NO_CALL).as_bytes(), &slots);
        let calls = [CallTime { call: Call(0), count: 2, ns: 40 }].into_iter().collect();
        let expected = Event::Switch {
            at: 100,
            cpu: 1,
            out: Some(Out { tid: 6, left: Left::Runnable, calls }),
            into: Some(In { tid: 7, ran: Some((33, name)), throttled_ns: 5 }),
        };
        assert_eq!(decoder.decode(switch.as_bytes()), Some(expected));
        assert_eq!(decoder.malformed, 0);
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

    #[test]
    fn descriptors_are_told_apart_by_what_waiting_on_them_means() {
        let none = Comm::default();
        assert_eq!(file_kind(0o010_600, 0, 0, none), FileKind::Pipe);
        assert_eq!(file_kind(0o020_600, 136 << 20, 0, none), FileKind::Tty);
        assert_eq!(file_kind(0o020_600, (1 << 20) | 3, 0, none), FileKind::Device);
        assert_eq!(file_kind(0o100_644, 0, 0xef53, none), FileKind::Disk);
        assert_eq!(file_kind(0o100_644, 0, 0x6969, none), FileKind::Remote);
        assert_eq!(file_kind(0o600, 0, 0x0904_1934, Comm::from("[eventpoll]")), FileKind::Epoll);
    }
}
