//! A recording made by hand: every kind of event, and every variant below it, at least once.
//!
//! It is kept in `data`, so it may only grow with new variants; what is here must not change.

use model::call::{Call, CallStats, CallTime};
use model::coverage::{Extent, Source};
use model::recording::{
    Calls, CodeLocation, Comm, Cost, Counters, Ending, Event, FileKind, Function, Header, Host, HostCpu,
    Language, Object, Recording, Rusage, SampleMode, SocketEnds, SwitchIn, SwitchOut, SwitchOutState,
    ThreadSnapshot, Tier, Trailer, WaitContext, Waker,
};
use model::{Ns, Seen};
use smallvec::smallvec;

/// The whole recording.
pub(crate) fn recording() -> Recording {
    Recording { header: header(), events: events(), trailer: trailer() }
}

fn header() -> Header {
    Header {
        format: 1,
        recorder: "0.1.0".to_owned(),
        command: vec!["make".to_owned(), "-j2 \"ü\"".to_owned()],
        started_at_unix_s: 1_767_225_600,
        started_at_ns: None,
        machine: None,
        root: 1000,
        tier: Tier::Bpf,
        sample_period_ns: 1_001_001,
        host: Host {
            name: "board".to_owned(),
            kernel: "6.18.0".to_owned(),
            arch: "x86_64".to_owned(),
            cpus: 2,
            memory_bytes: Seen::Value(8 << 30),
            virtualisation: Seen::Absent,
        },
        devices: Vec::new(),
        units: Default::default(),
        attached: None,
        sources: vec![Source {
            name: "switches".to_owned(),
            seen: Extent::Full,
            why: String::new(),
            remedy: String::new(),
        }],
    }
}

fn calls() -> Calls {
    smallvec![
        CallTime { call: Call(0), count: 3, ns: 4_500 },
        CallTime { call: Call(Call::COMPAT | 4), count: 1, ns: 900 },
        CallTime { call: Call::OTHER, count: u32::MAX, ns: u64::MAX },
    ]
}

fn counters() -> Counters {
    Counters {
        cpu_ns: 1,
        runqueue_ns: 2,
        minor_faults: 3,
        major_faults: 4,
        voluntary_switches: 5,
        involuntary_switches: 6,
    }
}

fn ends() -> SocketEnds {
    let mut local = [0; 16];
    local[10..].copy_from_slice(&[0xff, 0xff, 127, 0, 0, 1]);
    SocketEnds { protocol: 6, local, local_port: 40_000, remote: [0x20; 16], remote_port: 443 }
}

fn file(kind: FileKind, name: &str) -> Object {
    Object::File { kind, dev: 0x801, ino: 1 << 40, name: name.into() }
}

fn objects() -> Vec<Object> {
    use FileKind::*;
    let files = [Disk, Remote, Pipe, Tty, Device, Epoll, EventFd, TimerFd, Anonymous];
    let mut objects: Vec<Object> = files.into_iter().map(|kind| file(kind, "fifteen letters")).collect();
    objects.extend([
        Object::Unknown,
        Object::Net(ends()),
        Object::Unix { ino: 7, peer: 0 },
        Object::OtherSocket { family: 16 },
        Object::Futex { address: u64::MAX },
    ]);
    objects
}

fn lefts() -> Vec<SwitchOutState> {
    let wait = |on| WaitContext { call: Some(Call(202)), uninterruptible: false, io: true, on };
    let fault = WaitContext { call: None, uninterruptible: true, io: true, on: Object::Unknown };
    let mut lefts = vec![
        SwitchOutState::Runnable,
        SwitchOutState::Stopped,
        SwitchOutState::Dead(counters()),
        SwitchOutState::Blocked(fault),
    ];
    lefts.extend(objects().into_iter().map(|on| SwitchOutState::Blocked(wait(on))));
    lefts
}

fn wakers() -> Vec<Waker> {
    vec![
        Waker::Task { tid: 1001, name: None },
        Waker::Task { tid: 5, name: Some(Comm(*b"\x1b[31mnot text\xff\xfe\0")) },
        Waker::Timer,
        Waker::Device,
        Waker::Network { over: 0, ready: Some(ends().reversed()) },
        Waker::Interrupt,
        Waker::Unknown,
    ]
}

fn looked() -> ThreadSnapshot {
    ThreadSnapshot {
        tid: 1001,
        pid: 1000,
        parent: 999,
        name: "looked at".into(),
        state: b'S',
        call: Seen::Value(Call(7)),
        on: file(FileKind::Pipe, ""),
        wchan: Seen::Value("pipe_read".to_owned()),
        cpu_ns: Seen::Value(10),
        runqueue_ns: Seen::unseen("no schedstat"),
        user_ns: 10_000_000,
        kernel_ns: 20_000_000,
        minor_faults: 9,
        major_faults: 8,
        pipes: vec![(1 << 33, true), (8, false)],
    }
}

fn events() -> Vec<Event> {
    let mut at: Ns = 1_000_000_000_000;
    let mut tick = || {
        at += 1_234;
        at
    };
    let name = Comm::from("cc1");
    let mut events = vec![
        Event::Start { at: tick(), tid: 1000 },
        Event::Exec { at: tick(), entered: 999_999_999_999, tid: 1000, pid: 1000, old_tid: 1001, name },
        Event::Fork { at: tick(), tid: 1000, child: 1001, pid: 1001, name, calls: calls() },
        Event::Rename { at: tick(), tid: 1001, name },
        Event::Flush { at: tick(), tid: 1001, calls: calls() },
        Event::Send { at: tick(), tid: 1001, ends: ends(), calls: Calls::new() },
        Event::Lost { at: tick(), events: 1 << 33 },
        Event::Look {
            at: tick(),
            threads: vec![looked(), ThreadSnapshot { call: Seen::Absent, ..looked() }],
        },
    ];
    for mode in [
        SampleMode::User,
        SampleMode::Call(Call(1)),
        SampleMode::Fault,
        SampleMode::Interrupt,
        SampleMode::Kernel,
    ] {
        events.push(Event::Sample {
            at: tick(),
            tid: 1001,
            mode,
            ip: 0xffff_ffff_8100_0000,
            period_ns: 497_003,
        });
    }
    for waker in wakers() {
        events.push(Event::Wake { at: tick(), cpu: 1, tid: 1001, waker, calls: calls() });
    }
    let into = SwitchIn { tid: 1000, ran: Some((0, Comm::default())), throttled_ns: 5 };
    events.push(Event::Switch { at: tick(), cpu: 255, out: None, into: Some(into) });
    for left in lefts() {
        let out = Some(SwitchOut { tid: 1001, left, calls: calls() });
        events.push(Event::Switch { at: tick(), cpu: 0, out, into: None });
    }
    events.push(Event::Exit { at: tick(), tid: 1000, status: 0x8b, last: true, calls: Calls::new() });
    events.extend(stacks(tick()));
    events
}

fn stacks(at: Ns) -> Vec<Event> {
    let places = [
        CodeLocation::Native { module: "/usr/bin/cc".to_owned(), address: 0x1234 },
        CodeLocation::Kernel { address: u64::MAX },
        CodeLocation::Script {
            language: Language::Python,
            function: "réduire".to_owned(),
            file: "/a.py".to_owned(),
            line: 7,
            first_line: 1,
        },
        CodeLocation::Broke { why: "no unwind information".to_owned() },
    ];
    let mut events = Vec::new();
    for (id, place) in (0..).zip(places) {
        events.push(Event::Place { id, place });
        events.push(Event::Node { id: id + 1, caller: id, place: id });
    }
    events.push(Event::SampleStack { at, tid: 1001, node: 4, mode: SampleMode::Entry, period_ns: 497_003 });
    events.push(Event::WaitStack { at, tid: 1001, node: 3, weight_ns: 1 << 40, call: Some(Call(7)) });
    let inner = Function { name: None, source: Some(("/a.c".to_owned(), 3)), inlined: true };
    let outer = Function { name: Some("main".to_owned()), source: None, inlined: false };
    events.push(Event::Named { place: 0, functions: vec![inner, outer] });
    events
}

/// Whether an event is of the kinds that came with stacks.
pub(crate) fn of_stacks(event: &Event) -> bool {
    matches!(variant(event), "Place" | "Node" | "SampleStack" | "WaitStack" | "Named")
}

fn trailer() -> Trailer {
    Trailer {
        ending: Ending::Signal(11),
        reaped_at: 1_000_100_000_000,
        calls: Seen::Value(vec![CallStats {
            call: Call(0),
            calls: 100,
            errors: 1,
            timed: None,
            total_ns: 5_000_000,
            cpu_ns: 4_000_000,
            max_ns: 70_000,
            histogram: vec![(3, 90), (1_023, 10)],
            results: None,
        }]),
        rusage: Seen::Value(Rusage { user_ns: 1, kernel_ns: 2, max_rss_bytes: 3, ..Rusage::default() }),
        host_cpu: Seen::Value(HostCpu { busy_ns: 1, span_ns: 2, ..HostCpu::default() }),
        living: vec![(1001, counters())],
        living_until: None,
        peer_processes: Vec::new(),
        loads: Seen::unseen("not recorded by the dwell version that made this file"),
        counters: Seen::unseen("not recorded by the dwell version that made this file"),
        peaks: Vec::new(),
        began_at_bytes: None,
        files: Seen::unseen("not recorded by the dwell version that made this file"),
        disk_requests: Seen::unseen("not recorded by the dwell version that made this file"),
        lost_events: Seen::Value(1 << 33),
        cost: vec![Cost { what: "switch".to_owned(), times: 12, each_ns: (100, 200) }],
        sources: Vec::new(),
        kept_until: None,
        requests_left_out: None,
        units_followed: None,
        sliced: None,
        // The value in older recordings.
        costs: Seen::unseen("not recorded by the dwell version that made this file"),
        users: None,
    }
}

/// The variant's name. A new variant does not compile here until it has one, and then needs its
/// event above.
pub(crate) fn variant(event: &Event) -> &'static str {
    match event {
        Event::Exec { .. } => "Exec",
        Event::Fork { .. } => "Fork",
        Event::Exit { .. } => "Exit",
        Event::Switch { .. } => "Switch",
        Event::Wake { .. } => "Wake",
        Event::Flush { .. } => "Flush",
        Event::Send { .. } => "Send",
        Event::Sample { .. } => "Sample",
        Event::Rename { .. } => "Rename",
        Event::Look { .. } => "Look",
        Event::Lost { .. } => "Lost",
        Event::Start { .. } => "Start",
        Event::Place { .. } => "Place",
        Event::Node { .. } => "Node",
        Event::SampleStack { .. } => "SampleStack",
        Event::WaitStack { .. } => "WaitStack",
        Event::Named { .. } => "Named",
        Event::Because { .. } => "Because",
        Event::Path { .. } => "Path",
        Event::Page { .. } => "Page",
        Event::Connection(_) => "Connection",
        Event::Lookup(_) => "Lookup",
        Event::Surroundings { .. } => "Surroundings",
        Event::Tracing { .. } => "Tracing",
        Event::Alive { .. } => "Alive",
        Event::Woken { .. } => "Woken",
        Event::Sampled { .. } => "Sampled",
        Event::WakerStack { .. } => "WakerStack",
        Event::Ran { .. } => "Ran",
        Event::Group { .. } => "Group",
        Event::Command { .. } => "Command",
        Event::LocalSocket { .. } => "LocalSocket",
        Event::AliveStack { .. } => "AliveStack",
        Event::MemoryPeak { .. } => "MemoryPeak",
        Event::Established { .. } => "Established",
        Event::Load { .. } => "Load",
        Event::Refaults { .. } => "Refaults",
        Event::FaultSampled { .. } => "FaultSampled",
        Event::Counted { .. } => "Counted",
        Event::Received { .. } => "Received",
        Event::RequestKind { .. } => "RequestKind",
        Event::LeftOut { .. } => "LeftOut",
        Event::Drawn { .. } => "Drawn",
        Event::Unit { .. } => "Unit",
        Event::Task { .. } => "Task",
    }
}
