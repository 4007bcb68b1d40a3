//! Runs to render: each a kind of program, built so that its account closes.

mod costs;
mod judged;
mod requests;
mod series;
mod starved;

use analyse::judge::bound::bound;
use analyse::judge::starved::Contention;
use model::account::{Account, AccountPart, Basis, State, Step};
use model::coverage::{Check, Coverage, Extent, InstrumentOverhead, Interval, Source};
use model::hand_overs::HandOvers;
use model::network::ConnectionOrigin;
use model::peers::{ConnectionRow, DelayedAck, Lengths, LookupRow};
use model::processes::MemoryPeak;
use model::recording::{Ending, Host, WindowEnd};
use model::run::{
    Faults, FunctionRow, LineRow, Phases, Run, Share, ThreadLedger, WaitEnd, WaitRow, WakerRow, WindowSummary,
};
use model::syscall_rows::CallRow;
use model::tables::Tables;
use model::wait::{StackFrame, WaitCall, WaitTarget, WakerKind};
use model::{Ns, Pid, Reason, Rival, RunQueue, Seen};
use std::collections::BTreeMap;

pub(crate) use costs::journal;
pub(crate) use judged::result;
pub(crate) use requests::{served, served_faster};
pub(crate) use starved::{crowded, starved};

pub(crate) const US: Ns = 1_000;
pub(crate) const MS: Ns = 1_000_000;
pub(crate) const S: Ns = 1_000_000_000;

/// All samples by name.
pub(crate) fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("ls", ls()),
        ("sleep", sleep()),
        ("pipeline", pipeline()),
        ("python", python()),
        ("degraded", degraded()),
        ("hostile", hostile()),
        ("build", build()),
        ("server", server()),
        ("attached", attached()),
        ("crunch", crunch()),
        ("crawler", crawler()),
        ("empty", empty()),
        ("download", download()),
        ("journal", journal()),
        ("starved", starved()),
        ("crowded", crowded()),
        ("served", served()),
        ("served-faster", served_faster()),
    ]
}

/// One step: process, pid, tid, state, reason, time, count.
type Place<'a> = (&'a str, u32, u32, State, &'a str, Ns, u64);

/// A run whose account and path are these places; everything else is filled in plainly.
fn run(command: &[&str], places: &[Place], sampled_part: f64) -> Run {
    let mut steps: Vec<Step> = places
        .iter()
        .map(|(process, pid, tid, state, reason, ns, count)| Step {
            together: None,
            pid: *pid,
            tid: *tid,
            process: (*process).into(),
            state: *state,
            reason: Reason::read(*state, reason),
            ns: *ns,
            count: *count,
        })
        .collect();
    steps.sort_by_key(|step| std::cmp::Reverse(step.ns));
    let mut by_state = BTreeMap::<State, Ns>::new();
    for step in &steps {
        *by_state.entry(step.state).or_default() += step.ns;
    }
    let wall_ns = by_state.values().sum();
    let parts: Vec<AccountPart> =
        by_state.iter().map(|(state, ns)| part(*state, *ns, sampled_part)).collect();
    let queue = run_queue(&steps);
    let account = Account::new(wall_ns, parts, by_state).expect("a sample's account closes");
    let coverage = full_coverage(wall_ns);
    let contention = Contention { queue: &queue, coverage: &coverage, cpus: 2, wall_ns };
    Run {
        schema: "dwell.run/1",
        command: command.iter().map(|word| (*word).into()).collect(),
        exit: Ending::Code(0),
        started_at: "2026-11-20T10:47:33Z".into(),
        origin: model::Origin::default(),
        dwell: None,
        service: None,
        host: Host {
            name: "build-1".into(),
            kernel: "6.18.5".into(),
            arch: "x86_64".into(),
            cpus: 2,
            memory_bytes: Seen::Value(8_321_499_136),
            virtualisation: Seen::Value("kvm".into()),
        },
        wall_ns,
        user_ns: Seen::Value(account.ns(State::User)),
        kernel_ns: Seen::Value(account.ns(State::Kernel) + account.ns(State::Fault)),
        bound: bound(&account, contention),
        phases: phases(&account, 200),
        window: None,
        account: account.parts().to_vec(),
        path: steps,
        utilization: Seen::unseen("not recorded"),
        threads: Vec::new(),
        waits: Vec::new(),
        tables: Tables {
            connections: Seen::Value(Vec::new()),
            lookups: Seen::Value(Vec::new()),
            syscalls: Seen::Value(Vec::new()),
            faults: Seen::Value(Faults { minor: 312, major: 0 }),
            counters: Seen::unseen(model::seen::UNRECORDED),
            ..Tables::unseen()
        },
        series: Seen::unseen("devices are not watched yet"),
        places: Seen::Absent,
        extrapolation: None,
        folded: Vec::new(),
        costs: Seen::unseen("no ladder of this host is kept\ntry: dwell ladder"),
        run_queue: Seen::Value(queue),
        limits: Seen::Absent,
        coverage,
    }
}

/// Who had the CPUs, by the reasons of these steps.
fn run_queue(steps: &[Step]) -> RunQueue {
    let ns = |of: fn(&Reason) -> bool| {
        steps.iter().filter(|step| of(&step.reason)).map(|step| step.ns).sum::<Ns>()
    };
    let behind_others_ns = ns(|reason| matches!(reason, Reason::Preempted(_)));
    let other = |step: &Step| match &step.reason {
        Reason::Preempted(name) => Some(Rival { name: name.clone(), pid: Seen::Value(31), ns: step.ns }),
        _ => None,
    };
    RunQueue {
        behind_own_ns: ns(|reason| matches!(reason, Reason::PreemptedByOwn(_))),
        behind_others_ns,
        idle_cpu_ns: ns(|reason| matches!(reason, Reason::IdleCpu)),
        unseen_ns: 0,
        others: steps.iter().filter_map(other).collect(),
        cpus_used: 1.0,
        cpus_wanted: 1.5,
        of_all: Seen::Absent,
    }
}

fn part(state: State, ns: Ns, sampled_part: f64) -> AccountPart {
    let sampled = matches!(state, State::User | State::Fault) && sampled_part > 0.0;
    let off = if sampled { (ns as f64 * sampled_part) as Ns } else { 0 };
    let basis = if sampled { Basis::Sampled } else { Basis::Measured };
    AccountPart { state, ns, basis, lo_ns: ns - off, hi_ns: ns + off }
}

/// The account spread over time: its states come and go, in a way that is the same each time.
fn phases(account: &Account, count: u64) -> Phases {
    let slice_ns = account.wall_ns().div_ceil(count).max(1);
    let mut left: Vec<(State, Ns)> = account.parts().iter().map(|part| (part.state, part.ns)).collect();
    let mut slices = Vec::new();
    let mut at = 0;
    while at < account.wall_ns() {
        let mut room = slice_ns.min(account.wall_ns() - at);
        at += room;
        let turn = slices.len();
        let kinds = left.len();
        let mut slice = BTreeMap::<State, Ns>::new();
        let all: Ns = left.iter().map(|(_, ns)| ns).sum();
        for (index, (state, ns)) in left.iter_mut().enumerate() {
            // Each state is denser in its own stretch of the run.
            let near = if turn * kinds / count as usize == index { 3 } else { 1 };
            let fair = (u128::from(*ns) * u128::from(room) * near / u128::from(all.max(1))) as Ns;
            let taken = fair.min(*ns).min(room);
            *slice.entry(*state).or_default() += taken;
            *ns -= taken;
            room -= taken;
        }
        for (state, ns) in &mut left {
            let taken = room.min(*ns);
            *slice.entry(*state).or_default() += taken;
            *ns -= taken;
            room -= taken;
        }
        slices.push(slice.into_iter().filter(|(_, ns)| *ns > 0).collect());
    }
    Phases { slice_ns, slices }
}

fn source(name: &str, seen: Extent, why: &str, remedy: &str) -> Source {
    Source { name: name.into(), seen, why: why.into(), remedy: remedy.into() }
}

fn full_coverage(wall_ns: Ns) -> Coverage {
    let names = ["switches", "calls", "faults", "code", "objects", "surroundings"];
    Coverage {
        sources: names.map(|name| source(name, Extent::Full, "", "")).to_vec(),
        lost_events: Seen::Value(0),
        unexplained_ns: 0,
        overhead_ns: Seen::Value(Interval { lo: wall_ns / 400, hi: wall_ns / 90 }),
        overhead_by: vec![InstrumentOverhead {
            what: "calls".into(),
            times: wall_ns / 40_000,
            lo_ns: wall_ns / 400,
            hi_ns: wall_ns / 90,
        }],
        reader_cpu_ns: Seen::Value(wall_ns / 30),
        host_busy: Seen::Value(0.031),
        steal_ns: Seen::Value(0),
        checks: vec![Check {
            what: "CPU time against getrusage".into(),
            ours_ns: wall_ns,
            theirs_ns: wall_ns,
            agrees: true,
        }],
        notes: Vec::new(),
    }
}

fn call(name: &str, calls: u64, errors: u64, total_ns: Ns, cpu_ns: Ns) -> CallRow {
    let mean = total_ns / calls.max(1);
    CallRow {
        name: name.into(),
        calls,
        errors,
        total_ns,
        cpu_ns,
        p50_ns: Seen::Value(mean * 9 / 10),
        p99_ns: Seen::Value(mean * 3),
        max_ns: Seen::Value(mean * 40),
        results: Seen::unseen("not recorded"),
        timed: None,
        estimate: None,
    }
}

/// What a result reads as that has this kind and name.
fn target(kind: &str, name: Seen<String>) -> WaitTarget {
    serde_json::from_value(serde_json::json!({ "kind": kind, "name": name })).unwrap()
}

fn wait(
    reason: State,
    call: &str,
    (kind, name): (&str, &str),
    calls: u64,
    total_ns: Ns,
    path_ns: Ns,
) -> WaitRow {
    let mean = total_ns / calls.max(1);
    let name = if name.is_empty() { Seen::Absent } else { Seen::Value(name.into()) };
    WaitRow {
        ended: WaitEnd::default(),
        own_frame: None,
        together: None,
        reason,
        call: if call.is_empty() { WaitCall::Fault } else { WaitCall::Syscall(call.into()) },
        on: target(kind, name),
        calls,
        total_ns,
        path_ns,
        p50_ns: mean * 8 / 10,
        p99_ns: total_ns.min(mean * 4),
        max_ns: total_ns.min(mean * 6),
        stack: Seen::unseen("stacks are not taken yet"),
        device: if reason == State::Disk { Seen::Value("vda".into()) } else { Seen::Absent },
        requests: if reason == State::Disk { Seen::Value(calls) } else { Seen::Absent },
        queue_ns: if reason == State::Disk { Seen::Value(total_ns / 20) } else { Seen::Absent },
        device_ns: if reason == State::Disk { Seen::Value(total_ns) } else { Seen::Absent },
        by: Vec::new(),
        histogram: Vec::new(),
        bins: Vec::new(),
        threads: Vec::new(),
        places: Vec::new(),
    }
}

/// The same wait with the stacks of both ends, for a lock that `who` released at `place`.
fn unlocked(wait: WaitRow, who: &str, place: &str, meanwhile: &[(State, Ns)]) -> WaitRow {
    let stack = |inner: &str| Seen::Value([inner, place, "main (main.c:9)"].map(StackFrame::from).to_vec());
    let by = WakerRow {
        kind: WakerKind::Thread,
        name: who.into(),
        pid: Seen::Value(4_711),
        tid: Seen::Value(4_713),
        times: wait.calls,
        ns: wait.total_ns,
        place: Seen::Value(place.into()),
        stack: stack("pthread_mutex_unlock (pthread_mutex_unlock.c:68)"),
        meanwhile: meanwhile.to_vec(),
    };
    WaitRow { stack: stack("pthread_mutex_lock (pthread_mutex_lock.c:93)"), by: vec![by], ..wait }
}

fn thread(pid: u32, tid: u32, name: &str, states: &[(State, Ns)]) -> ThreadLedger {
    ThreadLedger {
        together: None,
        timed_waits: None,
        pid,
        tid,
        name: name.into(),
        command: None,
        life_ns: states.iter().map(|(_, ns)| ns).sum(),
        idle: false,
        outlived: false,
        states: states.to_vec(),
        minor_faults: Seen::Value(312),
        major_faults: Seen::Value(0),
    }
}

/// A recursive long listing: kernel-bound by its stat calls.
pub(crate) fn ls() -> Run {
    use State::*;
    let places: &[Place] = &[
        ("ls", 812, 812, Kernel, "newfstatat", 842 * MS, 212_644),
        ("ls", 812, 812, User, "", 591 * MS, 300_123),
        ("ls", 812, 812, Kernel, "getdents64", 311 * MS, 44_021),
        ("ls", 812, 812, Kernel, "lgetxattr", 290 * MS, 212_644),
        ("ls", 812, 812, Kernel, "openat", 120 * MS, 22_011),
        ("ls", 812, 812, Fault, "", 41 * MS, 1_200),
        ("ls", 812, 812, Kernel, "write", 38 * MS, 9_120),
        ("ls", 812, 812, Disk, "ext4 vda1", 12 * MS, 31),
        ("ls", 812, 812, Kernel, "close", 10 * MS, 22_012),
        ("ls", 812, 812, Runqueue, "kworker/0:1", 4 * MS, 77),
        ("ls", 812, 812, Kernel, "fstat", 3 * MS, 22_012),
        ("ls", 812, 812, Kernel, "mmap", 600 * US, 41),
        ("ls", 812, 812, Unexplained, "", 900 * US, 4),
    ];
    let mut ls = run(&["ls", "-lR", "/usr"], places, 0.06);
    ls.tables.syscalls = Seen::Value(vec![
        call("newfstatat", 212_644, 12, 850 * MS, 842 * MS),
        call("getdents64", 44_021, 0, 320 * MS, 311 * MS),
        call("lgetxattr", 212_644, 212_644, 291 * MS, 290 * MS),
        call("openat", 22_011, 3, 122 * MS, 120 * MS),
        call("write", 9_120, 0, 38 * MS, 38 * MS),
        call("close", 22_012, 0, 10 * MS, 10 * MS),
        call("fstat", 22_012, 0, 3 * MS, 3 * MS),
        call("mmap", 41, 0, 600 * US, 600 * US),
        call("brk", 211, 0, 400 * US, 400 * US),
        call("ioctl", 2, 1, 4 * US, 4 * US),
    ]);
    ls.waits = vec![wait(Disk, "getdents64", ("file", "vda1"), 31, 12 * MS, 12 * MS)];
    ls.threads = vec![thread(812, 812, "ls", &[(Kernel, 1_614 * MS), (User, 591 * MS), (Fault, 41 * MS)])];
    ls.coverage.unexplained_ns = 900 * US;
    ls
}

/// `sleep 0.2`: nothing but waiting for time to pass.
pub(crate) fn sleep() -> Run {
    use State::*;
    let places: &[Place] = &[
        ("sleep", 900, 900, Sleep, "clock_nanosleep", 200_071 * US, 1),
        ("sleep", 900, 900, Kernel, "execve", 410 * US, 1),
        ("sleep", 900, 900, Fault, "", 212 * US, 61),
        ("sleep", 900, 900, User, "", 190 * US, 62),
        ("sleep", 900, 900, Kernel, "exit_group", 65 * US, 1),
    ];
    let mut sleep = run(&["sleep", "0.2"], places, 0.4);
    sleep.waits = vec![wait(Sleep, "clock_nanosleep", ("timer", ""), 1, 200_071 * US, 200_071 * US)];
    sleep.threads = vec![thread(900, 900, "sleep", &[(Sleep, 200_071 * US), (Kernel, 475 * US)])];
    sleep
}

/// Three processes in a row; the one in the middle holds the others up.
pub(crate) fn pipeline() -> Run {
    use State::*;
    let places: &[Place] = &[
        ("gzip", 1002, 1002, User, "", 3_310 * MS, 4_100),
        ("gzip", 1002, 1002, Kernel, "read", 95 * MS, 4_101),
        ("gzip", 1002, 1002, Kernel, "write", 61 * MS, 1_400),
        ("cat", 1001, 1001, Disk, "file big.img", 212 * MS, 96),
        ("cat", 1001, 1001, Kernel, "read", 88 * MS, 4_096),
        ("cat", 1001, 1001, Kernel, "write", 49 * MS, 4_096),
        ("sh", 1000, 1000, Kernel, "clone", 2 * MS, 3),
        ("sh", 1000, 1000, User, "", MS, 5),
        ("wc", 1003, 1003, User, "", 24 * MS, 1_398),
        ("wc", 1003, 1003, Runqueue, "gzip", 31 * MS, 1_102),
    ];
    let mut pipeline = run(&["sh", "-c", "cat big.img | gzip -6 | wc -c"], places, 0.02);
    pipeline.threads = vec![
        thread(1000, 1000, "sh", &[(User, MS), (Kernel, 2 * MS), (OtherWait, 3_870 * MS)]),
        thread(1001, 1001, "cat", &[(Kernel, 302 * MS), (Disk, 240 * MS), (Pipe, 3_300 * MS)]),
        thread(1002, 1002, "gzip", &[(User, 3_310 * MS), (Kernel, 160 * MS), (Pipe, 390 * MS)]),
        thread(
            1003,
            1003,
            "wc",
            &[(User, 24 * MS), (Kernel, 12 * MS), (Runqueue, 61 * MS), (Pipe, 3_770 * MS)],
        ),
    ];
    pipeline.user_ns = Seen::Value(3_335 * MS);
    pipeline.kernel_ns = Seen::Value(476 * MS);
    pipeline.waits = vec![
        wait(Pipe, "read", ("pipe", "pipe:[8812]"), 1_398, 3_770 * MS, 0),
        wait(Disk, "read", ("file", "big.img"), 96, 240 * MS, 212 * MS),
        unlocked(
            wait(Lock, "futex", ("futex", "0x7f12a0"), 211, 1_258 * MS, 0),
            "xz",
            "flush (block.c:120)",
            &[(User, 300 * MS), (Kernel, 20 * MS), (Pipe, 900 * MS)],
        ),
    ];
    pipeline
}

/// A Python grid that gives its memory back and takes it again: the kernel's time is page faults.
pub(crate) fn python() -> Run {
    use State::*;
    let places: &[Place] = &[
        ("python3", 77, 77, Fault, "", 1_720 * MS, 905_112),
        ("python3", 77, 77, User, "", 880 * MS, 905_300),
        ("python3", 77, 77, Kernel, "munmap", 540 * MS, 3_500),
        ("python3", 77, 77, Kernel, "mmap", 31 * MS, 3_512),
        ("python3", 77, 77, Kernel, "execve", 900 * US, 1),
        ("python3", 77, 77, Runqueue, "dwell", 6 * MS, 31),
    ];
    let mut python = run(&["python3", "grid.py", "--size", "4096"], places, 0.05);
    python.tables.faults = Seen::Value(Faults { minor: 905_112, major: 3 });
    python.tables.syscalls = Seen::Value(vec![
        call("munmap", 3_500, 0, 541 * MS, 540 * MS),
        call("mmap", 3_512, 0, 31 * MS, 31 * MS),
        call("read", 211, 0, 2 * MS, 2 * MS),
        call("newfstatat", 402, 131, 2 * MS, 2 * MS),
    ]);
    python.threads =
        vec![thread(77, 77, "python3", &[(Fault, 1_720 * MS), (User, 880 * MS), (Kernel, 572 * MS)])];
    python
}

/// A program seen through `/proc` only, by an ordinary user, and killed.
pub(crate) fn degraded() -> Run {
    use State::*;
    let places: &[Place] = &[
        ("rsync", 4242, 4242, Network, "socket", 6_120 * MS, 611),
        ("rsync", 4242, 4242, Disk, "", 2_250 * MS, 224),
        ("rsync", 4242, 4242, Kernel, "", 710 * MS, 70),
        ("rsync", 4242, 4242, User, "", 590 * MS, 58),
        ("rsync", 4242, 4242, Unexplained, "", 480 * MS, 50),
    ];
    let mut rsync = run(&["rsync", "-a", "backup:/srv/", "/srv/"], places, 0.0);
    for part in &mut rsync.account {
        part.basis = Basis::Sampled;
        part.lo_ns = part.ns * 9 / 10;
        part.hi_ns = part.ns * 11 / 10;
    }
    let paranoid = "perf_event_paranoid is 4 and this user may not change it";
    rsync.exit = Ending::Signal(9);
    rsync.tables.syscalls = Seen::unseen("BPF was refused (operation not permitted)");
    rsync.tables.faults = Seen::Absent;
    rsync.kernel_ns = Seen::unseen("the program was not reaped by dwell");
    let mut socket = wait(Network, "read", ("tcp", ""), 611, 6_120 * MS, 6_120 * MS);
    socket.on =
        WaitTarget::Other(socket.on.kind(), Seen::unseen("/proc/4242/fd cannot be read (permission denied)"));
    rsync.waits = vec![
        socket,
        wait(Disk, "", ("file", ""), 224, 2_250 * MS, 2_250 * MS),
        wait(Unexplained, "", ("external", ""), 50, 480 * MS, 480 * MS),
    ];
    rsync.coverage = Coverage {
        sources: vec![
            source(
                "switches",
                Extent::Partial,
                "looked at every 10 ms in /proc: BPF was refused (operation not permitted)",
                "sudo dwell run --user $USER -- rsync …",
            ),
            source("calls", Extent::None, "BPF was refused (operation not permitted)", ""),
            source("code", Extent::None, paranoid, "sudo sysctl kernel.perf_event_paranoid=1"),
            source("surroundings", Extent::Full, "", ""),
        ],
        lost_events: Seen::unseen("without BPF there are no events to count"),
        unexplained_ns: 480 * MS,
        overhead_ns: Seen::unseen("the cost of looking was not measured"),
        overhead_by: Vec::new(),
        reader_cpu_ns: Seen::Value(24 * MS),
        host_busy: Seen::Value(0.41),
        steal_ns: Seen::Value(310 * MS),
        checks: vec![Check {
            what: "CPU time against getrusage".into(),
            ours_ns: 1_300 * MS,
            theirs_ns: 1_520 * MS,
            agrees: false,
        }],
        notes: vec!["events after 5.00 s were counted but not kept (--keep 200MB)".into()],
    };
    rsync
}

/// Names that try to take over the terminal, reverse the page or push it out of shape.
pub(crate) fn hostile() -> Run {
    use State::*;
    let wide = "日本語のとても長いプロセスの名前がここにあります".repeat(3);
    let long = "x".repeat(5_000);
    let places: &[Place] = &[
        ("\x1b[2J\x1b[31mroot", 1, 1, User, "\x1b]0;owned\x07", 50 * MS, 2),
        ("a\nwall 0 ns", 2, 2, Kernel, "read\r\x1b[A", 30 * MS, 1),
        ("\u{202e}gpj.exe", 3, 3, Disk, &wide, 20 * MS, 1),
        ("\u{9b}31m\u{200b}\u{feff}", 4, 4, Lock, &long, 10 * MS, 1),
        ("e\u{301}\u{301}\u{301}\u{301}", 5, 5, Sleep, "\u{2066}\u{2028}\u{e0041}", 9 * MS, 1),
        ("", 0, 0, OtherWait, "\0\u{7f}", 8 * MS, 1),
    ];
    let mut hostile = run(&["./a\x1b[1m", "b\nc", &wide, &long, "last\u{202e}"], places, 0.1);
    hostile.host.name = "\x1b[31mhost\u{85}".into();
    hostile.coverage.notes = vec!["\x1b[0;5mnote\n\nfake line\x1b]8;;http://evil\x07".into(), long.clone()];
    hostile.coverage.sources[1] = source("\x1bc", Extent::None, "why\x1b[2K\r", &format!("{wide}\x1b[8m"));
    hostile.coverage.checks = vec![Check { what: "\x1b#8".into(), ours_ns: 1, theirs_ns: 2, agrees: false }];
    hostile.waits = vec![wait(Disk, "\x1bM", ("file", &format!("\x1b[6n{wide}")), 3, 20 * MS, 20 * MS)];
    let lock = wait(Lock, "futex", ("udp", "\x1b[6n for \x1b[2J"), 3, 20 * MS, 0);
    hostile.waits.push(unlocked(
        lock,
        "\x1b[2Junlock\r",
        &format!("\x1b[5munlock{wide}"),
        &[(Sleep, 20 * MS)],
    ));
    hostile.tables.syscalls = Seen::Value(vec![call("\x1b[5m", 1, 1, MS, MS), call(&long, 1, 0, MS, MS)]);
    hostile.tables.functions = Seen::unseen("\x1b[?1049h\u{202e}");
    hostile.costs = Seen::Value(costs::hostile());
    hostile.threads = (1..5).map(|id| thread(id, id, "\x1b[7m\u{200f}t", &[(User, 20 * MS)])).collect();
    hostile
}

/// A build: hundreds of short compilers behind one make.
pub(crate) fn build() -> Run {
    use State::*;
    let mut places: Vec<Place> = vec![
        ("make", 10, 10, User, "", 210 * MS, 2_200),
        ("make", 10, 10, Kernel, "newfstatat", 120 * MS, 9_000),
        ("ld", 9_999, 9_999, User, "", 1_250 * MS, 800),
        ("ld", 9_999, 9_999, Kernel, "write", 340 * MS, 120),
    ];
    for child in 0..512 {
        let pid = 100 + child;
        places.push(("cc1", pid, pid, User, "", 41 * MS, 90));
        places.push(("cc1", pid, pid, Fault, "", 8 * MS, 4_000));
        places.push(("cc1", pid, pid, Runqueue, "cc1", 5 * MS, 30));
        places.push(("as", 1_000 + child, 1_000 + child, User, "", 3 * MS, 20));
        places.push(("sh", 2_000 + child, 2_000 + child, Kernel, "vfork", MS, 2));
    }
    let mut build = run(&["make", "-j2", "CFLAGS=-O2 -g", "all"], &places, 0.03);
    let state = |ns: &Ns| *ns;
    build.threads = places
        .iter()
        .map(|(name, pid, tid, kind, _, ns, _)| thread(*pid, *tid, name, &[(*kind, state(ns))]))
        .filter(|thread| thread.states[0].0 == User)
        .collect();
    build.user_ns = Seen::Value(51 * S);
    build.tables.memory_peak = peak(431_194_112, false, 417, "cc1");
    build
}

/// A threaded server that waits for a database, with named threads, half its time in the kernel.
pub(crate) fn server() -> Run {
    use State::*;
    let places: &[Place] = &[
        ("server", 50, 51, Network, "tcp 10.0.0.7:5432", 910 * MS, 4_100),
        ("server", 50, 51, Kernel, "sendto", 502 * MS, 4_100),
        ("server", 50, 51, Kernel, "recvfrom", 371 * MS, 8_200),
        ("server", 50, 52, Lock, "futex 0x7f12a0", 120 * MS, 911),
        ("server", 50, 50, User, "", 402 * MS, 9_000),
        ("server", 50, 53, User, "", 55 * MS, 40),
    ];
    let mut server = run(&["./server", "--requests", "4100"], places, 0.04);
    server.exit = Ending::Code(3);
    server.threads = vec![
        thread(50, 50, "server", &[(User, 402 * MS), (Lock, 1_958 * MS)]),
        thread(50, 51, "db-client", &[(Kernel, 873 * MS), (Network, 1_400 * MS)]),
        thread(50, 52, "cache", &[(User, 12 * MS), (Lock, 2_300 * MS)]),
        thread(50, 53, "server", &[(User, 55 * MS), (Sleep, 2_000 * MS)]),
    ];
    server.waits = vec![
        wait(Lock, "futex", ("futex", "0x7f12a0"), 40_211, 4_258 * MS, 120 * MS),
        wait(Sleep, "epoll_wait", ("timer", ""), 200, 2_000 * MS, 0),
        wait(Network, "recvfrom", ("tcp", "10.0.0.7:5432"), 4_100, 1_400 * MS, 910 * MS),
    ];
    server.tables.syscalls = Seen::Value(vec![
        call("recvfrom", 8_200, 0, 1_771 * MS, 371 * MS),
        call("sendto", 4_100, 0, 502 * MS, 502 * MS),
        call("futex", 91_000, 4_000, 4_300 * MS, 42 * MS),
    ]);
    server
}

/// A window on a server: most threads live for half a millisecond, and some are idle.
pub(crate) fn attached() -> Run {
    use State::*;
    let short = |tid: u32| thread(50, tid, "worker", &[(User, 200_000), (Kernel, 300_000)]);
    let mut threads = vec![thread(50, 50, "server", &[(Network, 1_900 * MS), (User, 100 * MS)])];
    threads.extend((100..140).map(short));
    threads.extend(
        (200..203).map(|tid| ThreadLedger { idle: true, ..thread(50, tid, "pool", &[(Lock, 2_000 * MS)]) }),
    );
    let mut places: Vec<Place> = vec![
        ("server", 50, 50, Network, "accept4, tcp :8080", 1_900 * MS, 40),
        ("server", 50, 50, User, "", 100 * MS, 40),
    ];
    for tid in 100..140 {
        places.push(("worker", 50, tid, User, "", 200_000, 1));
        places.push(("worker", 50, tid, Kernel, "sendto", 300_000, 1));
    }
    let mut run = run(&["./server"], &places, 0.04);
    run.schema = model::run::SCHEMA_ATTACH;
    run.exit = Ending::Window(WindowEnd::For);
    run.wall_ns = 2_000 * MS;
    run.window = Some(WindowSummary {
        target: "server (process 50)".into(),
        processes: 1,
        threads_active: 41,
        threads_idle: 3,
        thread_ns: 2_020 * MS,
        idle_ns: 6_000 * MS,
    });
    run.threads = threads;
    run
}

/// Waiting for a slow link, on a host where much else goes on.
pub(crate) fn download() -> Run {
    use State::*;
    let places: &[Place] = &[
        ("curl", 40, 40, Network, "tcp 10.0.0.7:80", 2_290 * MS, 1_988),
        ("curl", 40, 40, Kernel, "recvfrom", 51 * MS, 1_990),
        ("curl", 40, 40, User, "", 19 * MS, 310),
    ];
    let mut download = run(&["curl", "-O", "http://10.0.0.7/big"], places, 0.04);
    download.waits = vec![wait(Network, "poll", ("tcp", "10.0.0.7:80"), 1_988, 2_290 * MS, 2_290 * MS)];
    download.series = Seen::Value(series::everything());
    download.costs = Seen::Value(costs::of_a_ladder());
    download
}

/// Many peers and names, one of each hostile in some way.
pub(crate) fn crawler() -> Run {
    use State::*;
    let places: &[Place] = &[
        ("crawler", 60, 60, Network, "poll, udp 192.0.2.53:53", 1_510 * MS, 52),
        ("crawler", 60, 60, Network, "recvfrom, tcp 198.51.100.7:443", 2_800 * MS, 240),
        ("crawler", 60, 60, User, "", 310 * MS, 300),
    ];
    let mut crawler = run(&["./crawler"], places, 0.04);
    crawler.waits = vec![wait(Network, "recvfrom", ("tcp", "198.51.100.7:443"), 240, 2_800 * MS, 2_800 * MS)];
    crawler.waits.extend((0..13).map(|host| {
        let name = format!("192.0.2.53:53 for host{host}.example.org");
        wait(Network, "poll", ("udp", &name), 4, (130 - host) * MS, (130 - host) * MS)
    }));
    let lengths = |times: u64, each: Ns| {
        Some(Lengths { total_ns: times * each, p50_ns: each, p99_ns: each * 2, max_ns: each * 3 })
    };
    let connection = |remote: &str, service: Option<&str>, times: u64| ConnectionRow {
        together: None,
        protocol: "tcp".into(),
        began: ConnectionOrigin::Opened,
        local: "192.0.2.10".into(),
        remote: remote.into(),
        service: service.map(str::to_owned),
        times,
        failed: 0,
        open: 0,
        connect: lengths(times, 11 * MS),
        round_trip_ns: Some(12 * MS),
        round_trip_ns_min: Some(10 * MS),
        sent_bytes: 412 * times,
        received_bytes: 91_233 * times,
        retransmits: times / 30,
        open_ns: 60 * MS * times,
        waited_ns: 13 * MS * times,
        waits: times,
        bytes_per_s_open: Some(1_527_416),
        bytes_per_s_waited: Some(7_049_615),
        delayed_ack: None,
        turns: None,
        opening: None,
        process: None,
        process_does: None,
        dialogue: None,
    };
    let (total_ns, other_ns, write_bytes_mean) = (820 * MS, 0, 38);
    let twenty_late = DelayedAck { waits: 20, of_waits: 21, total_ns, other_ns, write_bytes_mean };
    let delayed = ConnectionRow {
        began: ConnectionOrigin::Found,
        delayed_ack: Some(twenty_late),
        ..connection("[2001:db8:85a3:8d3:1319:8a2e:370:7348]:6379", Some("redis"), 1)
    };
    let failed = ConnectionRow {
        failed: 3,
        connect: None,
        round_trip_ns: None,
        round_trip_ns_min: None,
        bytes_per_s_open: None,
        bytes_per_s_waited: None,
        ..connection("203.0.113.99:8081", None, 3)
    };
    let accepted = ConnectionRow {
        began: ConnectionOrigin::Accepted,
        local: "192.0.2.10:80".into(),
        connect: None,
        ..connection("203.0.113.5", Some("http"), 9)
    };
    let mut connections = vec![connection("198.51.100.7:443", Some("https"), 240), delayed, failed, accepted];
    connections.extend((20..60).map(|last| connection(&format!("198.51.100.{last}:443"), Some("https"), 1)));
    crawler.tables.connections = Seen::Value(connections);
    let lookup = |name: &str, kind: &str, times: u64, answered: u64| LookupRow {
        together: None,
        name: Seen::Value(name.into()),
        kind: kind.into(),
        server: "192.0.2.53:53".into(),
        times,
        answered,
        failed: 0,
        repeated: times - 1,
        repeated_ns: 0,
        answer: lengths(answered, 30 * MS).filter(|_| answered > 0),
    };
    let long = "a-name-as-long-as-a-label-may-be.and-then-some.example.org";
    crawler.tables.lookups = Seen::Value(vec![
        lookup("www.example.org", "A", 24, 24),
        // Names are escaped before they come here; should one not be, the page is safe all the
        // same.
        lookup("\u{1b}[31m.example.\u{202e}", "TYPE65280", 1, 0),
        lookup("www.example.org", "AAAA", 24, 24),
        LookupRow { failed: 2, ..lookup(long, "SVCB", 2, 2) },
        LookupRow { name: Seen::unseen("too many"), ..lookup("", "A", 1, 1) },
    ]);
    crawler
}

/// Two threads that wait for each other in turn, and 20 hand-overs of which some had no stack.
#[allow(dead_code, reason = "the example shows other ones")]
pub(crate) fn turns() -> Run {
    use State::*;
    let places: &[Place] =
        &[("make", 100, 100, User, "", 28 * MS, 8), ("make", 100, 100, Pipe, "pipe", 20 * MS, 20)];
    let mut turns = run(&["./turns"], places, 0.01);
    turns.threads = vec![
        thread(100, 100, "make", &[(User, 18 * MS), (Pipe, 30 * MS)]),
        thread(100, 101, "take", &[(User, 10 * MS), (Pipe, 38 * MS)]),
        thread(100, 102, "timer", &[(Sleep, 48 * MS)]),
    ];
    turns.tables.hand_overs = Seen::Value(HandOvers { rows: Vec::new(), other_times: 20 });
    turns
}

/// Own code only, with functions seen: the page that symbols will give.
pub(crate) fn crunch() -> Run {
    use State::*;
    let places: &[Place] = &[
        ("crunch", 5, 5, User, "", 9_812 * MS, 400),
        ("crunch", 5, 5, Fault, "", 105 * MS, 8_000),
        ("crunch", 5, 5, Runqueue, "dwell", 1_305 * MS, 399),
    ];
    let mut crunch = run(&["./crunch"], places, 0.01);
    let share = |value: f64| Share { value, lo: value * 0.95, hi: value * 1.05 };
    let function = |name: &str, module: &str, mode: &str, value| FunctionRow {
        own: false,
        name: name.into(),
        module: module.into(),
        mode: mode.into(),
        share: share(value),
        samples: (value * 9_900.0) as u64,
        total: None,
        unnamed: None,
    };
    crunch.tables.functions = Seen::Value(vec![
        function("matrix::multiply", "crunch", "user", 0.81),
        function("__memmove_avx_unaligned_erms", "libc.so.6", "user", 0.11),
        function("clear_page_rep", "[kernel]", "kernel", 0.009),
    ]);
    crunch.tables.lines = Seen::Value(vec![LineRow {
        own: false,
        file: "src/matrix.rs".into(),
        line: 42,
        function: "matrix::multiply".into(),
        language: "rust".into(),
        share: share(0.6),
        samples: 5_940,
        total: None,
    }]);
    crunch.series = Seen::Absent;
    crunch.host.virtualisation = Seen::Absent;
    crunch
}

/// Nothing at all: a wall of zero.
pub(crate) fn empty() -> Run {
    let mut empty = run(&["true"], &[], 0.0);
    empty.tables.memory_peak = peak(2_035_712, true, 812, "true");
    empty
}

fn peak(bytes: u64, at_most: bool, pid: Pid, name: &str) -> Seen<MemoryPeak> {
    Seen::Value(MemoryPeak { bytes, at_most, pid: Seen::Value(pid), name: Seen::Value(name.into()) })
}
