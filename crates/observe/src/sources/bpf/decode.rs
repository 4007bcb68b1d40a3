//! Records of the kernel half (`wire.h`), byte for byte, into events.
//!
//! Some records only prepare the next one on the same CPU; the decoder holds them until it comes. Bytes come from
//! our own program, but a record that does not parse is dropped and counted, never trusted.

use super::lookups::{self, Lookups};
use super::paths::{Paths, Told};
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

/// Bytes before the fields of a record's own.
const HEAD: usize = 16;
const NO_CALL: u32 = u32::MAX;
/// The queue time of a request where the kernel does not keep when it was made.
const NOT_KEPT: u64 = u64::MAX;
/// The object of a switch: the path that the thread gave to its call.
const GIVEN_PATH: u64 = 1;

/// Bytes before the user's stack in a `struct stack_record`, and most entries of its kernel part.
const STACK_HEAD: usize = HEAD + 8 + 8 + 64 + 8 + KERNEL_MAX * 8;
const KERNEL_MAX: usize = 48;

/// What one entry of the call statistics is, in words of 64 bits (`struct stats`).
pub(crate) const STATS_WORDS: usize = 6 + BUCKETS / 2;
/// Buckets of the histogram in it.
pub(crate) const BUCKETS: usize = 320;
/// Entries of the statistics.
pub(crate) const DENSE: u32 = 128;
/// Words of `struct cpu`: two counters, four numbers, whose book it is, one pair of ends.
pub(crate) const CPU_WORDS: usize = 2 + 2 + 3 + 5;
/// Which of them counts calls.
pub(crate) const CPU_CALLS: usize = 1;

mod kind {
    pub(super) const START: u8 = 1;
    pub(super) const EXEC: u8 = 2;
    pub(super) const FORK: u8 = 3;
    pub(super) const EXIT: u8 = 4;
    pub(super) const SWITCH: u8 = 5;
    pub(super) const WAKE: u8 = 6;
    pub(super) const FLUSH: u8 = 7;
    pub(super) const SEND: u8 = 8;
    pub(super) const SAMPLE: u8 = 9;
    pub(super) const RENAME: u8 = 10;
    pub(super) const OBJECT: u8 = 11;
    pub(super) const RAN: u8 = 12;
    pub(super) const DEAD: u8 = 13;
    pub(super) const READY: u8 = 14;
    pub(super) const PATH: u8 = 20;
    pub(super) const PAGE: u8 = 21;
    pub(super) const REQUEST: u8 = 22;
    pub(super) const CONNECTION: u8 = 40;
    pub(super) const PACKET: u8 = 41;
    pub(super) const RESOLVED: u8 = 42;
    pub(super) const THROUGH: u8 = 23;
    pub(super) const ALIVE: u8 = 30;
    pub(super) const SAMPLE_STACK: u8 = 64;
    pub(super) const WAIT_STACK: u8 = 65;
    pub(super) const FAULT_STACK: u8 = 66;
    pub(super) const WAKER_STACK: u8 = 67;
}

/// A record, read field by field. Reading past its end gives zeros and marks it.
struct Record<'a> {
    bytes: &'a [u8],
    short: bool,
}

impl<'a> Record<'a> {
    fn bytes<const N: usize>(&mut self, at: usize) -> [u8; N] {
        match self.bytes.get(at..at + N) {
            Some(bytes) => bytes.try_into().expect("the length was asked for"),
            None => {
                self.short = true;
                [0; N]
            }
        }
    }

    fn u8(&mut self, at: usize) -> u8 {
        self.bytes::<1>(at)[0]
    }

    fn u16(&mut self, at: usize) -> u16 {
        u16::from_ne_bytes(self.bytes(at))
    }

    fn u32(&mut self, at: usize) -> u32 {
        u32::from_ne_bytes(self.bytes(at))
    }

    fn u64(&mut self, at: usize) -> u64 {
        u64::from_ne_bytes(self.bytes(at))
    }

    fn comm(&mut self, at: usize) -> Comm {
        Comm(self.bytes(at))
    }

    /// The slots from `at` to the end.
    fn calls(&mut self, at: usize) -> Calls {
        let count = usize::from(self.u8(11));
        let mut calls = Calls::new();
        for slot in 0..count {
            let at = at + slot * 16;
            calls.push(CallTime { call: call(self.u32(at)), count: self.u32(at + 4), ns: self.u64(at + 8) });
        }
        calls
    }

    fn counters(&mut self, at: usize) -> Counters {
        Counters {
            cpu_ns: self.u64(at),
            runqueue_ns: self.u64(at + 8),
            minor_faults: self.u64(at + 16),
            major_faults: self.u64(at + 24),
            voluntary_switches: self.u64(at + 32),
            involuntary_switches: self.u64(at + 40),
        }
    }

    fn ends(&mut self, at: usize) -> Ends {
        Ends {
            protocol: self.u16(at + 36) as u8,
            local: self.bytes(at),
            local_port: self.u16(at + 32),
            remote: self.bytes(at + 16),
            remote_port: self.u16(at + 34),
        }
    }
}

fn call(number: u32) -> Call {
    Call(number as u16)
}

/// Bytes of `struct ends`.
const ENDS: usize = 40;

/// How often each instrument told of the tree.
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
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> Option<Event> {
        let mut record = Record { bytes, short: false };
        let event = self.event(&mut record);
        match event {
            Some(Event::Switch { .. }) => self.seen.switches += 1,
            Some(Event::Wake { .. }) => self.seen.wakes += 1,
            Some(Event::Sample { .. }) => self.seen.samples += 1,
            _ => {}
        }
        if record.short {
            self.malformed += 1;
            return None;
        }
        event
    }

    fn event(&mut self, record: &mut Record<'_>) -> Option<Event> {
        let at = record.u64(0);
        let tid = record.u32(12);
        match record.u8(8) {
            kind::SWITCH => Some(self.switch(record, at, tid)),
            kind::WAKE => Some(self.wake(record, at, tid)),
            kind::FLUSH => Some(Event::Flush { at, tid, calls: record.calls(HEAD) }),
            kind::SAMPLE => {
                let mode = mode(record.u8(9), record.u32(HEAD + 8));
                Some(Event::Sample { at, tid, mode, ip: record.u64(HEAD), period_ns: record.u32(HEAD + 12) })
            }
            kind::SEND => {
                let ends = record.ends(HEAD + 8);
                Some(Event::Send { at, tid, ends, calls: record.calls(HEAD + 8 + ENDS) })
            }
            kind::START => Some(Event::Start { at, tid }),
            kind::EXEC => Some(Event::Exec {
                at,
                entered: record.u64(HEAD),
                tid,
                pid: record.u32(HEAD + 8),
                old_tid: record.u32(HEAD + 12),
                name: record.comm(HEAD + 16),
            }),
            kind::FORK => Some(Event::Fork {
                at,
                tid,
                child: record.u32(HEAD),
                pid: record.u32(HEAD + 4),
                name: record.comm(HEAD + 8),
                calls: record.calls(HEAD + 24),
            }),
            kind::EXIT => Some(Event::Exit {
                at,
                tid,
                status: record.u32(HEAD).cast_signed(),
                last: record.u8(10) & 4 != 0,
                calls: record.calls(HEAD + 8),
            }),
            kind::ALIVE => Some(self.alive(record, at, tid)),
            kind::RENAME => Some(Event::Rename { at, tid, name: record.comm(HEAD) }),
            kind::OBJECT => {
                let object = object(record);
                self.objects.insert(record.u64(HEAD), object);
                None
            }
            kind::RAN => {
                let ran = (tid, record.u32(HEAD + 4), record.comm(HEAD + 8), record.u64(HEAD + 24));
                self.ran.insert(record.u32(HEAD), ran);
                None
            }
            kind::DEAD => {
                let counters = record.counters(HEAD + 8);
                self.dead.insert(record.u32(HEAD), (tid, counters));
                None
            }
            kind::READY => {
                let ends = record.ends(HEAD + 8);
                self.ready.insert(record.u32(HEAD), (tid, ends));
                None
            }
            kind::PATH => self.path(record, tid),
            kind::PAGE => {
                let (ino, dev) = (record.u64(HEAD), record.u32(HEAD + 8));
                (ino != 0 || self.swaps).then_some(Event::Page { at, tid, dev, ino })
            }
            kind::REQUEST => {
                let request = Request {
                    dev: record.u32(HEAD),
                    bytes: record.u32(HEAD + 4),
                    queue_ns: Some(record.u64(HEAD + 8)).filter(|ns| *ns != NOT_KEPT),
                    device_ns: record.u64(HEAD + 16),
                    write: record.u32(HEAD + 24) != 0,
                };
                Some(Event::Because { at, tid, because: Because::Request(request) })
            }
            kind::THROUGH => {
                let object = self.objects.get(&record.u64(HEAD))?.clone();
                Some(Event::Because { at, tid, because: Because::Through(object) })
            }
            kind::CONNECTION => Some(Event::Connection(Box::new(connection(record, at, tid)))),
            kind::PACKET => {
                let len = record.u32(HEAD) as usize;
                let packet = record.bytes.get(HEAD + 8..).and_then(|packet| packet.get(..len));
                record.short |= packet.is_none();
                self.lookups.packet(at, tid, record.u8(9) != 0, packet?)
            }
            kind::RESOLVED => {
                let (asked_at, error, len) =
                    (record.u64(HEAD), record.u32(HEAD + 8), record.u32(HEAD + 12) as usize);
                let name = record.bytes.get(HEAD + 16..).and_then(|name| name.get(..len));
                record.short |= name.is_none();
                lookups::resolved(tid, name?, (asked_at, at), error.cast_signed())
            }
            _ => {
                record.short = true;
                None
            }
        }
    }

    fn path(&mut self, record: &mut Record<'_>, tid: Tid) -> Option<Event> {
        let length = record.u32(HEAD + 12) as usize;
        let Some(parts) = record.bytes.get(HEAD + 16..HEAD + 16 + length) else {
            record.short = true;
            return None;
        };
        let flags = record.u8(10);
        let told = Told { parts, cut: flags & 1 != 0, deleted: flags & 2 != 0, tid };
        let (dev, ino) = (record.u32(HEAD + 8), record.u64(HEAD));
        match record.u8(9) {
            0 => self.paths.of_file(dev, ino, &told),
            1 => self.paths.in_filesystem(dev, ino, &told),
            _ => {
                let (object, event) = self.paths.given(&told);
                self.given.insert(tid, object);
                event
            }
        }
    }

    fn switch(&mut self, record: &mut Record<'_>, at: Ns, tid: Tid) -> Event {
        let cpu = record.u32(HEAD);
        let into = record.u32(HEAD + 4);
        let left = match record.u8(9) {
            0 => None,
            1 => Some(Left::Runnable),
            2 => Some(Left::Blocked(self.wait(record, HEAD + 8, HEAD + 16))),
            3 => Some(Left::Stopped),
            _ => {
                let counters = self.dead.remove(&cpu).filter(|(dead, _)| *dead == tid);
                Some(Left::Dead(counters.map(|(_, counters)| counters).unwrap_or_default()))
            }
        };
        let out = left.map(|left| Out { tid, left, calls: record.calls(HEAD + 24) });
        let into = (into != 0).then(|| {
            let ran = if self.ran.is_empty() { None } else { self.ran.remove(&cpu) };
            match ran {
                Some((of, ran, name, throttled_ns)) if of == into => {
                    In { tid: into, ran: Some((ran, name)), throttled_ns }
                }
                _ => In { tid: into, ran: None, throttled_ns: 0 },
            }
        });
        Event::Switch { at, cpu, out, into }
    }

    fn alive(&self, record: &mut Record<'_>, at: Ns, tid: Tid) -> Event {
        let number = record.u32(HEAD + 4);
        let state = match record.u8(9) {
            2 => AliveState::Blocked(self.wait(record, HEAD + 4, HEAD + 8)),
            3 => AliveState::Stopped,
            _ => AliveState::Runnable((number != NO_CALL).then(|| call(number))),
        };
        let (pid, name, before) = (record.u32(HEAD), record.comm(HEAD + 16), record.counters(HEAD + 32));
        Event::Alive { at, tid, pid, name, state, before }
    }

    /// What it waits in and on, by the places of call and object in the record.
    fn wait(&self, record: &mut Record<'_>, call_at: usize, object_at: usize) -> Wait {
        let flags = record.u8(10);
        let number = record.u32(call_at);
        let object = record.u64(object_at);
        let on = match self.objects.get(&object) {
            None if object == GIVEN_PATH => {
                self.given.get(&record.u32(12)).cloned().unwrap_or(Object::Unknown)
            }
            Some(known) => known.clone(),
            // Not a descriptor that was told: the address of a futex, or nothing.
            None if object != 0 => Object::Futex { address: object },
            None => Object::Unknown,
        };
        Wait {
            call: (number != NO_CALL).then(|| call(number)),
            uninterruptible: flags & 1 != 0,
            io: flags & 2 != 0,
            on,
        }
    }

    fn wake(&mut self, record: &mut Record<'_>, at: Ns, tid: Tid) -> Event {
        let cpu = record.u32(HEAD);
        let over = record.u32(HEAD + 4);
        let waker = match record.u8(9) {
            0 => Waker::Task { tid: over, name: None },
            1 => Waker::Task { tid: over, name: Some(record.comm(HEAD + 8)) },
            2 => Waker::Timer,
            3 => Waker::Device,
            4 => {
                let ready = if self.ready.is_empty() { None } else { self.ready.remove(&cpu) };
                Waker::Network { over, ready: ready.filter(|(of, _)| *of == tid).map(|(_, ends)| ends) }
            }
            _ => Waker::Interrupt,
        };
        Event::Wake { at, cpu, tid, waker, calls: record.calls(HEAD + 24) }
    }
}

fn mode(byte: u8, number: u32) -> Mode {
    match byte {
        0 => Mode::User,
        1 => Mode::Call(call(number)),
        2 => Mode::Fault,
        3 => Mode::Interrupt,
        _ => Mode::Entry,
    }
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
pub(crate) fn of_stacks(bytes: &[u8]) -> Option<OfStacks> {
    match *bytes.get(8)? {
        K_PYTHON => python::record::stack(bytes).map(OfStacks::Python),
        K_PYTHON_CODE => Some(OfStacks::Described(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?))),
        _ => stack(bytes).map(|(at, stack)| OfStacks::Stack(at, Box::new(stack))),
    }
}

fn stack(bytes: &[u8]) -> Option<(Ns, RawStack)> {
    let mut record = Record { bytes, short: false };
    let at = record.u64(0);
    let number = record.u32(HEAD + 12);
    let stands_for_ns = record.u64(HEAD);
    let of = match record.u8(8) {
        kind::SAMPLE_STACK => Of::Sample {
            mode: mode(record.u8(9), number),
            period_ns: u32::try_from(stands_for_ns).unwrap_or(u32::MAX),
        },
        kind::WAIT_STACK => {
            Of::Wait { weight_ns: stands_for_ns, call: (number != NO_CALL).then(|| call(number)) }
        }
        kind::FAULT_STACK => Of::Fault,
        kind::WAKER_STACK => Of::Waker { woken: number, woken_at: stands_for_ns },
        _ => return None,
    };
    let entries = (record.u32(HEAD + 80) as usize / 8).min(KERNEL_MAX);
    let kernel = (0..entries).map(|entry| record.u64(HEAD + 88 + entry * 8)).collect();
    let user = bytes.get(STACK_HEAD..)?.to_vec();
    let stack = RawStack {
        tid: record.u32(12),
        pid: record.u32(HEAD + 8),
        of,
        registers: registers(std::array::from_fn(|index| record.u64(HEAD + 16 + index * 8))),
        kernel,
        user,
        python: None,
    };
    (!record.short).then_some((at, stack))
}

fn connection(record: &mut Record<'_>, at: Ns, tid: Tid) -> Connection {
    let began = match record.u8(9) {
        1 => Began::Opened,
        2 => Began::Accepted,
        _ => Began::Found,
    };
    let flags = record.u8(10);
    let some = |value: u64| (value != 0).then_some(value);
    // What was never measured is all zeros, or all ones for a minimum.
    let us = |value: u32| some(u64::from(value) * 1000).filter(|_| value != u32::MAX);
    Connection {
        ends: record.ends(HEAD + 48),
        tid: (tid != 0).then_some(tid),
        began,
        span: (record.u64(HEAD), at),
        established_at: some(record.u64(HEAD + 8)),
        closed: flags & 1 != 0,
        round_trip_ns: us(record.u32(HEAD + 32)),
        round_trip_ns_min: us(record.u32(HEAD + 36)),
        sent_bytes: record.u64(HEAD + 16),
        received_bytes: record.u64(HEAD + 24),
        retransmits: record.u32(HEAD + 40),
        segment_bytes_max: record.u32(HEAD + 44),
        no_delay: flags & 2 != 0,
    }
}

fn object(record: &mut Record<'_>) -> Object {
    let mode = record.u16(HEAD + 8);
    let dev = record.u32(HEAD + 12);
    let ino = record.u64(HEAD + 16);
    let ends = HEAD + 56;
    match record.u8(9) {
        2 => Object::Net(record.ends(ends)),
        3 => Object::Unix { ino, peer: record.u64(HEAD + 24) },
        4 => Object::OtherSocket { family: record.u16(ends + 38) },
        _ => {
            let name = record.comm(HEAD + 40);
            let magic = record.u64(HEAD + 32);
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

    fn head(kind: u8, a: u8, flags: u8, calls: u8, tid: u32, at: u64) -> Vec<u8> {
        let mut bytes = at.to_ne_bytes().to_vec();
        bytes.extend([kind, a, flags, calls]);
        bytes.extend(tid.to_ne_bytes());
        bytes
    }

    fn words(mut bytes: Vec<u8>, words: &[u32]) -> Vec<u8> {
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn a_switch_takes_its_slots_and_what_was_prepared_on_its_cpu() {
        let mut decoder = Decoder::default();
        let mut ran = words(head(kind::RAN, 0, 0, 0, 7, 90), &[1, 33]);
        ran.extend(Comm::from("other").0);
        ran.extend(5_u64.to_ne_bytes());
        assert_eq!(decoder.decode(&ran), None);
        let mut switch = words(head(kind::SWITCH, 1, 0, 1, 6, 100), &[1, 7, NO_CALL, 0, 0, 0]);
        switch = words(switch, &[0, 2]);
        switch.extend(40_u64.to_ne_bytes());
        let calls = [CallTime { call: Call(0), count: 2, ns: 40 }].into_iter().collect();
        let expected = Event::Switch {
            at: 100,
            cpu: 1,
            out: Some(Out { tid: 6, left: Left::Runnable, calls }),
            into: Some(In { tid: 7, ran: Some((33, Comm::from("other"))), throttled_ns: 5 }),
        };
        assert_eq!(decoder.decode(&switch), Some(expected));
    }

    #[test]
    fn records_cut_short_anywhere_are_counted_and_dropped() {
        let mut decoder = Decoder::default();
        let switch = words(head(kind::SWITCH, 2, 0, 3, 6, 100), &[1, 7, 0, 0, 0, 0, 0, 1, 2, 0]);
        for length in 0..switch.len() {
            assert_eq!(decoder.decode(&switch[..length]), None, "{length} bytes");
        }
        assert_eq!(decoder.malformed, switch.len() as u64);
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
