//! Recordings made up to show one thing each. Times are in ms.

use super::mix::TICK_NS;
use super::*;
use model::recording::{
    Calls, Comm, Ending, FileKind, Host, Object, Rusage, SampleMode, SwitchIn, SwitchOut, SwitchOutState,
    ThreadSnapshot as Snapshot, WaitContext,
};
use model::{Account, Basis, Call, Pid, Seen, State, Tid};

pub(super) const MS: Ns = 1_000_000;
pub(super) const SLEEP: u16 = 230;
const WAIT4: u16 = 61;
const FSYNC: u16 = 74;

pub(crate) fn header(tier: Tier) -> Header {
    Header {
        format: 1,
        recorder: "test".into(),
        command: vec!["a".into()],
        started_at_unix_s: 0,
        started_at_ns: None,
        machine: None,
        root: 10,
        tier,
        sample_period_ns: MS,
        host: Host {
            name: "host".into(),
            kernel: "6".into(),
            arch: "x86_64".into(),
            cpus: 2,
            memory_bytes: Seen::Value(1),
            virtualisation: Seen::Absent,
        },
        devices: Vec::new(),
        units: Default::default(),
        attached: None,
        sources: vec![],
    }
}

pub(super) fn trailer(reaped_at: Ns, rusage: Seen<Rusage>) -> Trailer {
    Trailer {
        ending: Ending::Code(0),
        reaped_at,
        calls: Seen::Absent,
        rusage,
        host_cpu: Seen::Absent,
        living: vec![],
        living_until: None,
        peer_processes: Vec::new(),
        loads: Seen::unseen("not recorded by the dwell version that made this file"),
        counters: Seen::unseen("not recorded by the dwell version that made this file"),
        peaks: Vec::new(),
        began_at_bytes: None,
        files: Seen::unseen("not recorded by the dwell version that made this file"),
        disk_requests: Seen::unseen("not recorded by the dwell version that made this file"),
        lost_events: Seen::Value(0),
        cost: vec![],
        sources: vec![],
        kept_until: None,
        requests_left_out: None,
        units_followed: None,
        sliced: None,
        costs: Seen::unseen("no ladder is kept"),
        users: None,
    }
}

/// One thread in a look; `+` methods say more.
pub(super) fn sight(tid: Tid, pid: Pid, parent: Pid, state: u8) -> Snapshot {
    Snapshot {
        tid,
        pid,
        parent,
        name: Comm::from(format!("t{tid}").as_str()),
        state,
        call: Seen::Absent,
        on: Object::Unknown,
        wchan: Seen::Absent,
        cpu_ns: Seen::Value(0),
        runqueue_ns: Seen::Value(0),
        user_ns: 0,
        kernel_ns: 0,
        minor_faults: 0,
        major_faults: 0,
        pipes: vec![],
    }
}

pub(super) fn in_call(tid: Tid, pid: Pid, parent: Pid, call: u16) -> Snapshot {
    Snapshot { call: Seen::Value(Call(call)), ..sight(tid, pid, parent, b'S') }
}

fn on_pipe(tid: Tid, pid: Pid, parent: Pid, call: u16, ino: u64) -> Snapshot {
    let on = Object::File { kind: FileKind::Pipe, dev: 0, ino, name: Comm::from("pipe") };
    Snapshot { on, ..in_call(tid, pid, parent, call) }
}

pub(super) fn look(at_ms: Ns, threads: Vec<Snapshot>) -> Event {
    Event::Look { at: at_ms * MS, threads }
}

fn exec(at_ms: Ns) -> Event {
    let at = at_ms * MS;
    Event::Exec { at, entered: at, tid: 10, pid: 10, old_tid: 10, name: Comm::from("root") }
}

pub(super) fn out(at_ms: Ns, tid: Tid, runnable: bool) -> Event {
    let wait = WaitContext { call: None, uninterruptible: false, io: false, on: Object::Unknown };
    let left = if runnable { SwitchOutState::Runnable } else { SwitchOutState::Blocked(wait) };
    Event::Switch {
        at: at_ms * MS,
        cpu: 0,
        out: Some(SwitchOut { tid, left, calls: Calls::new() }),
        into: None,
    }
}

pub(super) fn back(at_ms: Ns, tid: Tid) -> Event {
    Event::Switch {
        at: at_ms * MS,
        cpu: 0,
        out: None,
        into: Some(SwitchIn { tid, ran: None, throttled_ns: 0 }),
    }
}

pub(super) fn fork(at_ms: Ns, tid: Tid, child: Tid, pid: Pid) -> Event {
    Event::Fork { at: at_ms * MS, tid, child, pid, name: Comm::from("child"), calls: Calls::new() }
}

pub(super) fn exit(at_ms: Ns, tid: Tid) -> Event {
    Event::Exit { at: at_ms * MS, tid, status: 0, last: true, calls: Calls::new() }
}

pub(super) fn sample(at_ms: Ns, tid: Tid, mode: SampleMode) -> Event {
    Event::Sampled { at: at_ms * MS, tid, mode, ip: 1, period_ns: 1_000_000, node: None }
}

/// Runs it through and checks what must always hold.
fn account(tier: Tier, events: Vec<Event>, end_ms: Ns, rusage: Seen<Rusage>) -> Closed {
    let mut poll = Poll::new(&header(tier));
    events.iter().for_each(|event| poll.event(event));
    let closed = poll.close(&trailer(end_ms * MS, rusage));
    let pieces = &closed.pieces;
    Account::new(pieces.wall_ns, pieces.parts.clone(), pieces.steps.times()).unwrap();
    for part in &pieces.parts {
        assert!(part.lo_ns <= part.ns && part.ns <= part.hi_ns && part.hi_ns <= pieces.wall_ns, "{part:?}");
    }
    let slices: Ns = pieces.phases.slices.iter().flatten().map(|(_, ns)| ns).sum();
    assert_eq!(slices, pieces.wall_ns);
    closed
}

fn perf(events: Vec<Event>) -> Closed {
    account(Tier::Perf, events, 1000, Seen::Absent)
}

fn proc(events: Vec<Event>, end_ms: Ns) -> Closed {
    account(Tier::Proc, events, end_ms, Seen::Absent)
}

fn ms(closed: &Closed, state: State) -> Ns {
    closed.pieces.parts.iter().filter(|part| part.state == state).map(|part| part.ns).sum::<Ns>() / MS
}

fn step(closed: &Closed, tid: Tid, state: State) -> (String, Ns) {
    let found = closed.pieces.steps.iter().find(|step| step.tid == tid && step.state == state);
    found
        .map(|step| (step.reason.text.clone(), step.ns / MS))
        .unwrap_or_else(|| panic!("{:?}", closed.pieces.steps))
}

#[test]
fn switches_bound_a_wait_and_a_look_into_it_names_it() {
    let closed = perf(vec![
        exec(0),
        out(10, 10, false),
        look(50, vec![in_call(10, 10, 1, SLEEP)]),
        back(210, 10),
        exit(220, 10),
    ]);
    assert_eq!(closed.pieces.wall_ns, 220 * MS);
    assert_eq!(step(&closed, 10, State::Sleep), ("clock_nanosleep, timer".into(), 200));
    let sleep = closed.pieces.parts.iter().find(|part| part.state == State::Sleep).unwrap();
    assert_eq!((sleep.basis, sleep.lo_ns, sleep.hi_ns), (Basis::Derived, 200 * MS, 200 * MS));
    let row = &closed.pieces.waits[0];
    assert_eq!((row.calls, row.total_ns, row.path_ns, row.max_ns), (1, 200 * MS, 200 * MS, 200 * MS));
}

#[test]
fn a_look_is_in_time_though_it_is_pushed_late() {
    let closed = perf(vec![
        exec(0),
        out(10, 10, false),
        back(20, 10),
        look(15, vec![in_call(10, 10, 1, SLEEP)]),
        exit(30, 10),
    ]);
    assert_eq!(ms(&closed, State::Sleep), 10);
}

#[test]
fn a_wait_that_no_look_fell_into_is_taken_for_the_threads_usual_one_and_the_interval_says_so() {
    let closed = perf(vec![
        exec(0),
        out(10, 10, false),
        look(20, vec![in_call(10, 10, 1, SLEEP)]),
        back(30, 10),
        out(40, 10, false),
        back(50, 10),
        exit(60, 10),
    ]);
    assert_eq!(ms(&closed, State::Sleep), 30);
    let sleep = closed.pieces.parts.iter().find(|part| part.state == State::Sleep).unwrap();
    assert_eq!((sleep.lo_ns, sleep.hi_ns), (20 * MS, 30 * MS));
}

#[test]
fn a_wait_of_which_nothing_is_known_is_an_other_wait() {
    let closed = perf(vec![exec(0), out(10, 10, false), back(30, 10), exit(40, 10)]);
    assert_eq!(ms(&closed, State::OtherWait), 20);
    let part = closed.pieces.parts.iter().find(|part| part.state == State::OtherWait).unwrap();
    assert_eq!(part.lo_ns, 0);
}

#[test]
fn a_preempted_thread_is_in_the_run_queue() {
    let closed = perf(vec![exec(0), out(10, 10, true), back(30, 10), exit(40, 10)]);
    assert_eq!(ms(&closed, State::Runqueue), 20);
    let part = closed.pieces.parts.iter().find(|part| part.state == State::Runqueue).unwrap();
    assert_eq!(part.basis, Basis::Measured);
}

#[test]
fn a_thread_that_many_looks_find_waiting_for_a_cpu_has_none() {
    let waits = |at| look(at, vec![Snapshot { cpu_ns: Seen::Value(10 * MS), ..sight(10, 10, 1, b'R') }]);
    let closed = perf(vec![
        exec(0),
        out(10, 10, true),
        waits(11),
        waits(15),
        waits(20),
        waits(25),
        back(30, 10),
        exit(40, 10),
    ]);
    assert_eq!(ms(&closed, State::Runqueue), 20);
}

#[test]
fn a_thread_that_is_still_seen_after_its_end_is_not_another_one() {
    let mut events = vec![exec(0), fork(0, 10, 20, 20), back(0, 20)];
    events.push(out(1, 10, false));
    events.push(look(5, vec![in_call(10, 10, 1, WAIT4), sight(20, 20, 10, b'R')]));
    events.extend((0..50).map(|at| sample(at, 20, SampleMode::User)));
    events.push(exit(50, 20));
    events.push(look(51, vec![in_call(10, 10, 1, WAIT4), sight(20, 20, 10, b'R')]));
    events.extend([back(52, 10), exit(53, 10)]);
    let closed = perf(events);
    assert!(ms(&closed, State::User) >= 48, "{:?}", closed.pieces.parts);
    assert_eq!(closed.pieces.threads.len(), 2);
}

#[test]
fn run_queue_time_after_a_wake_up_is_taken_out_of_the_wait_by_the_kernels_counter() {
    let seen = Snapshot { runqueue_ns: Seen::Value(5 * MS), ..sight(10, 10, 1, b'R') };
    let closed = perf(vec![
        exec(0),
        out(10, 10, false),
        look(20, vec![in_call(10, 10, 1, SLEEP)]),
        back(110, 10),
        look(120, vec![seen]),
        exit(130, 10),
    ]);
    assert_eq!((ms(&closed, State::Sleep), ms(&closed, State::Runqueue)), (95, 5));
}

#[test]
fn a_sleep_keeps_its_time_where_the_run_queue_is_of_the_waits_before_it() {
    let queued = |at_ms: Ns, state, ms| {
        let call = if state == b'S' { in_call(10, 10, 1, SLEEP) } else { in_call(10, 10, 1, FSYNC) };
        look(at_ms, vec![Snapshot { runqueue_ns: Seen::Value(ms * MS), state, ..call }])
    };
    let mut events = vec![exec(0), queued(1, b'R', 0)];
    // Four waits of 10 ms; of each a half is in the run queue.
    for turn in 0..4 {
        events.extend([out(10 + 20 * turn, 10, false), queued(12 + 20 * turn, b'D', 5 * turn)]);
        events.push(back(20 + 20 * turn, 10));
    }
    events.extend([queued(85, b'R', 20), out(90, 10, false), queued(100, b'S', 20), queued(300, b'S', 20)]);
    events.extend([back(390, 10), queued(391, b'R', 20), exit(400, 10)]);
    let closed = perf(events);
    let of = |state| ms(&closed, state);
    assert_eq!((of(State::Sleep), of(State::Runqueue), of(State::Disk)), (300, 20, 20));
    let part = |state| closed.pieces.parts.iter().find(|part| part.state == state).unwrap();
    assert_eq!((part(State::Sleep).lo_ns, part(State::Sleep).hi_ns), (300 * MS, 300 * MS));
    assert_eq!(part(State::Runqueue).basis, Basis::Derived, "when it was is not recorded");
}

#[test]
fn the_interval_of_waits_between_two_looks_holds_what_the_run_queue_may_have_of_either() {
    let queued = |at_ms: Ns, state, call, ms| {
        let looked = Snapshot { runqueue_ns: Seen::Value(ms * MS), ..in_call(10, 10, 1, call) };
        look(at_ms, vec![Snapshot { state, ..looked }])
    };
    let mut events = vec![exec(0), queued(1, b'R', SLEEP, 0), out(10, 10, false), queued(15, b'D', FSYNC, 0)];
    events.extend([
        back(30, 10),
        out(40, 10, false),
        back(70, 10),
        queued(80, b'R', SLEEP, 20),
        exit(90, 10),
    ]);
    let closed = perf(events);
    // Of two waits of a kind nothing is unsure but which of the states before them was longer.
    assert_eq!((ms(&closed, State::Disk), ms(&closed, State::Runqueue)), (30, 20));
    let part = |state| closed.pieces.parts.iter().find(|part| part.state == state).unwrap();
    assert!(part(State::Disk).hi_ns >= 50 * MS, "{:?}", part(State::Disk));
}

#[test]
fn samples_divide_time_on_a_cpu() {
    let mut events = vec![exec(0)];
    events.extend(
        (0..100).map(|at| sample(at, 10, if at % 4 == 0 { SampleMode::Kernel } else { SampleMode::User })),
    );
    events.push(exit(100, 10));
    let closed = perf(events);
    assert_eq!((ms(&closed, State::User), ms(&closed, State::Kernel)), (75, 25));
    let user = closed.pieces.parts.iter().find(|part| part.state == State::User).unwrap();
    assert_eq!(user.basis, Basis::Sampled);
    assert!(user.lo_ns > 60 * MS && user.hi_ns < 85 * MS, "{user:?}");
}

#[test]
fn where_kernel_samples_are_refused_those_that_are_missing_are_the_kernels() {
    // 200 ms on a CPU at a sample each ms, but only 50 samples came.
    let mut events = vec![exec(0)];
    events.extend((0..50).map(|at| sample(at * 4, 10, SampleMode::User)));
    events.push(exit(200, 10));
    let closed = perf(events);
    assert_eq!((ms(&closed, State::User), ms(&closed, State::Kernel)), (50, 150));
    // Or else their timers were late.
    let user = closed.pieces.parts.iter().find(|part| part.state == State::User).unwrap();
    assert!(user.lo_ns > 35 * MS && user.hi_ns == 200 * MS, "{user:?}");
}

#[test]
fn where_kernel_samples_are_refused_the_kernels_ticks_tell_late_timers_from_kernel_time() {
    // A program that computes, on a virtual CPU that stood still: 400 ms, 100 samples of a
    // millisecond each, and hardly a tick in the kernel.
    let used = Rusage { user_ns: 396 * MS, kernel_ns: 4 * MS, ..Rusage::default() };
    let mut events = vec![exec(0)];
    events.extend((0..100).map(|at| sample(at * 4, 10, SampleMode::User)));
    events.push(exit(400, 10));
    let closed = account(Tier::Perf, events, 400, Seen::Value(used));
    assert_eq!((ms(&closed, State::User), ms(&closed, State::Kernel)), (396, 4));
    let part = |state| closed.pieces.parts.iter().find(|part| part.state == state).unwrap();
    // The samples alone would have it otherwise, and are not ruled out.
    assert!(part(State::User).lo_ns < 100 * MS, "{:?}", part(State::User));
    assert!(part(State::Kernel).hi_ns > 300 * MS, "{:?}", part(State::Kernel));
    assert!(closed.pieces.threads[0].states.contains(&(State::User, 396 * MS)));
}

#[test]
fn a_run_too_short_for_samples_is_divided_in_the_middle_and_said_to_be_unsure() {
    // Without a tick in the kernel, rusage calls all of it user time.
    let used = Rusage { user_ns: 4 * MS, ..Rusage::default() };
    let mut events = vec![exec(0), exit(4, 10)];
    let closed = account(Tier::Perf, events.clone(), 5, Seen::Value(used));
    let either = MS / 2..=4 * MS - MS / 2;
    assert!(closed.pieces.parts.iter().all(|part| either.contains(&part.ns)), "{:?}", closed.pieces.parts);
    events.insert(1, sample(2, 10, SampleMode::User));
    let closed = account(Tier::Perf, events, 5, Seen::Absent);
    assert!(closed.pieces.parts.iter().all(|part| either.contains(&part.ns)), "{:?}", closed.pieces.parts);
}

#[test]
fn many_ticks_of_short_lived_threads_divide_their_time() {
    let used = Rusage { user_ns: 300 * MS, kernel_ns: 100 * MS, ..Rusage::default() };
    let events = (0..=40).map(|at| look(at * 10, vec![sight(10, 10, 1, b'R')])).collect();
    let closed = account(Tier::Proc, events, 400, Seen::Value(used));
    assert_eq!((ms(&closed, State::User), ms(&closed, State::Kernel)), (300, 100));
}

#[test]
fn waiting_for_a_child_is_what_the_child_does() {
    let closed = perf(vec![
        exec(0),
        fork(10, 10, 20, 20),
        out(10, 10, false),
        back(10, 20),
        out(110, 20, false),
        look(120, vec![in_call(10, 10, 1, WAIT4), in_call(20, 20, 10, SLEEP)]),
        back(210, 20),
        exit(220, 20),
        back(220, 10),
        exit(230, 10),
    ]);
    assert_eq!(step(&closed, 20, State::Sleep).1, 100);
    assert_eq!(ms(&closed, State::OtherWait), 0);
    let on_cpu_of = |tid| {
        closed.pieces.steps.iter().filter(|s| s.tid == tid && s.state.on_cpu()).map(|s| s.ns / MS).sum::<Ns>()
    };
    assert_eq!((on_cpu_of(10), on_cpu_of(20)), (20, 110));
}

#[test]
fn a_futex_leads_to_the_thread_that_runs() {
    let on = Object::Futex { address: 8 };
    let waiter = Snapshot { on, ..in_call(10, 10, 1, 202) };
    let closed = perf(vec![
        exec(0),
        fork(0, 10, 11, 10),
        back(0, 11),
        out(10, 10, false),
        look(15, vec![waiter.clone(), sight(11, 10, 1, b'R')]),
        out(60, 11, false),
        look(80, vec![waiter, in_call(11, 10, 1, SLEEP)]),
        back(100, 11),
        exit(105, 11),
        back(105, 10),
        exit(110, 10),
    ]);
    assert_eq!(ms(&closed, State::Lock), 0, "{:?}", closed.pieces.steps);
    assert_eq!(step(&closed, 11, State::Sleep).1, 40);
}

#[test]
fn a_poll_leads_to_a_thread_of_the_process_that_runs() {
    const EPOLL_WAIT: u16 = 232;
    let closed = perf(vec![
        exec(0),
        fork(0, 10, 11, 10),
        back(0, 11),
        out(10, 10, false),
        look(15, vec![in_call(10, 10, 1, EPOLL_WAIT), sight(11, 10, 1, b'R')]),
        out(90, 11, false),
        look(95, vec![in_call(10, 10, 1, EPOLL_WAIT), in_call(11, 10, 1, EPOLL_WAIT)]),
        back(100, 10),
        exit(105, 11),
        exit(110, 10),
    ]);
    assert_eq!(ms(&closed, State::OtherWait), 10, "{:?}", closed.pieces.steps);
}

#[test]
fn a_lock_without_a_known_holder_is_a_wait_for_a_lock() {
    let waiter = |tid| Snapshot { on: Object::Futex { address: 8 }, ..in_call(tid, 10, 1, 202) };
    let closed = perf(vec![
        exec(0),
        fork(0, 10, 11, 10),
        back(0, 11),
        out(5, 11, false),
        out(10, 10, false),
        look(50, vec![waiter(10), waiter(11)]),
        back(90, 10),
        exit(100, 10),
        exit(100, 11),
    ]);
    assert_eq!(ms(&closed, State::Lock), 80);
}

#[test]
fn a_pipe_leads_to_the_process_that_has_its_other_end() {
    let writer = || Snapshot { pipes: vec![(7, true)], ..in_call(20, 20, 10, SLEEP) };
    let reader = || Snapshot { pipes: vec![(7, false)], ..on_pipe(30, 30, 10, 0, 7) };
    let threads = || vec![in_call(10, 10, 1, WAIT4), writer(), reader()];
    let closed = proc((0..=20).map(|at| look(at * 10, threads())).collect(), 200);
    assert_eq!(step(&closed, 20, State::Sleep), ("clock_nanosleep, timer".into(), 200));
    // With the writer gone it is a pipe to somewhere else.
    let alone = || vec![in_call(10, 10, 1, WAIT4), reader()];
    let closed = proc((0..=20).map(|at| look(at * 10, alone())).collect(), 200);
    assert_eq!(step(&closed, 30, State::Pipe), ("read, pipe".into(), 200));
}

#[test]
fn two_that_wait_for_each_other_do_not_hang_the_analysis() {
    let one = || Snapshot { pipes: vec![(7, true), (8, false)], ..on_pipe(10, 10, 1, 0, 8) };
    let other = || Snapshot { pipes: vec![(7, false), (8, true)], ..on_pipe(20, 20, 10, 0, 7) };
    let closed = proc((0..=10).map(|at| look(at * 10, vec![one(), other()])).collect(), 100);
    assert_eq!(ms(&closed, State::Pipe), 100);
}

#[test]
fn where_the_kernel_does_not_count_each_look_speaks_for_half_the_way_to_the_next() {
    let sleeps = || vec![in_call(10, 10, 1, SLEEP)];
    let cpu_ns = || Seen::unseen("no schedstat");
    let runs =
        |ticks: Ns| vec![Snapshot { user_ns: ticks * TICK_NS, cpu_ns: cpu_ns(), ..sight(10, 10, 1, b'R') }];
    let mut events = vec![exec(0)];
    events.extend((0..50).map(|at| look(at * 10 + 5, if at < 20 { sleeps() } else { runs(at - 19) })));
    let closed = proc(events, 500);
    assert_eq!((ms(&closed, State::Sleep), ms(&closed, State::User)), (200, 300));
    let sleep = closed.pieces.parts.iter().find(|part| part.state == State::Sleep).unwrap();
    assert_eq!(sleep.basis, Basis::Sampled);
    // 20 of 50: 0.276 to 0.538.
    assert!(
        (130..150).contains(&(sleep.lo_ns / MS)) && (260..280).contains(&(sleep.hi_ns / MS)),
        "{sleep:?}"
    );
}

#[test]
fn the_kernels_counters_say_when_a_thread_turned_between_two_looks() {
    let busy = |tid, state, ms: Ns| {
        let (cpu_ns, runqueue_ns) = (Seen::Value(ms * MS), Seen::Value(0));
        let call = Seen::Value(Call(SLEEP));
        Snapshot { cpu_ns, runqueue_ns, call, ..sight(tid, tid, if tid == 10 { 1 } else { 10 }, state) }
    };
    let shell = || Snapshot { call: Seen::Value(Call(WAIT4)), ..sight(10, 10, 1, b'S') };
    let events = vec![
        exec(0),
        look(1, vec![shell(), busy(20, b'R', 1)]),
        // It ran for 30 ms more, and sleeps since.
        look(91, vec![shell(), busy(20, b'S', 31)]),
        // It ran for the last 10.
        look(171, vec![shell(), busy(20, b'R', 41)]),
        // It has ended, and the next one ran for 5 ms.
        look(251, vec![shell(), busy(30, b'R', 5)]),
    ];
    let closed = proc(events, 251);
    assert_eq!(step(&closed, 20, State::Sleep).1, 130);
    assert_eq!(ms(&closed, State::User) + ms(&closed, State::Kernel), 30 + 10 + 75 + 5);
}

#[test]
fn who_slept_ends_where_the_next_one_began() {
    let shell = || in_call(10, 10, 1, WAIT4);
    let next = Snapshot { cpu_ns: Seen::Value(80 * MS), ..sight(30, 30, 10, b'R') };
    let events =
        vec![exec(0), look(1, vec![shell(), in_call(20, 20, 10, SLEEP)]), look(97, vec![shell(), next])];
    let closed = proc(events, 97);
    assert_eq!(step(&closed, 20, State::Sleep).1, 16);
    assert_eq!(ms(&closed, State::User) + ms(&closed, State::Kernel), 80);
    let slept = closed.pieces.threads.iter().find(|thread| thread.tid == 20).unwrap();
    assert_eq!(slept.life_ns, 16 * MS + MS / 2);
}

#[test]
fn runnable_time_is_told_from_running_by_the_kernels_counters() {
    let seen = |at: Ns| {
        let (runqueue_ns, cpu_ns) = (Seen::Value(at * 3 * MS), Seen::Value(at * 7 * MS));
        Snapshot { runqueue_ns, cpu_ns, user_ns: at * 7 * MS / TICK_NS * TICK_NS, ..sight(10, 10, 1, b'R') }
    };
    let closed = proc((0..=40).map(|at| look(at * 10, vec![seen(at)])).collect(), 400);
    assert_eq!((ms(&closed, State::Runqueue), ms(&closed, State::User)), (120, 280));
}

#[test]
fn time_that_no_look_speaks_for_is_unexplained() {
    let sleeps = || vec![in_call(10, 10, 1, SLEEP)];
    let closed = proc(vec![exec(0), look(1, sleeps()), look(301, sleeps())], 500);
    // That it did not stir in between is known by its time on a CPU. After the last look, nothing:
    // its reach is 50 ms.
    assert_eq!((ms(&closed, State::Sleep), ms(&closed, State::Unexplained)), (351, 149));
    let stirred = Snapshot { cpu_ns: Seen::Value(MS), ..in_call(10, 10, 1, SLEEP) };
    let closed = proc(vec![exec(0), look(1, sleeps()), look(301, vec![stirred])], 500);
    assert_eq!((ms(&closed, State::Sleep), ms(&closed, State::Unexplained)), (151, 349));
}

#[test]
fn a_look_that_comes_too_late_for_a_short_program_says_nothing_of_it() {
    let used = Rusage { user_ns: MS, kernel_ns: MS, ..Rusage::default() };
    let closed =
        account(Tier::Proc, vec![exec(0), look(2, vec![sight(10, 10, 1, b'Z')])], 3, Seen::Value(used));
    assert_eq!(ms(&closed, State::Unexplained), 1);
}

#[test]
fn without_anything_seen_the_account_is_one_unexplained_part() {
    let closed = proc(vec![exec(0)], 3);
    assert_eq!(ms(&closed, State::Unexplained), 3);
    let closed = proc(vec![], 3);
    assert_eq!(closed.pieces.wall_ns, 0);
}

#[test]
fn a_run_too_short_for_a_look_has_the_cpu_time_that_the_kernel_counted() {
    let used = Rusage { user_ns: MS, kernel_ns: MS, ..Rusage::default() };
    let closed = account(Tier::Proc, vec![exec(0)], 3, Seen::Value(used));
    let all = [State::User, State::Kernel, State::Unexplained].map(|state| ms(&closed, state));
    assert_eq!(all, [1, 1, 1], "halves, without evidence");
}

#[test]
fn lost_events_blind_until_something_is_known_again() {
    let closed = perf(vec![
        exec(0),
        look(10, vec![sight(10, 10, 1, b'R')]),
        Event::Lost { at: 40 * MS, events: 9 },
        back(50, 10),
        exit(100, 10),
    ]);
    assert_eq!(ms(&closed, State::Unexplained), 40);
    assert_eq!(
        closed.pieces.steps.iter().filter(|step| step.state.on_cpu()).map(|step| step.ns / MS).sum::<Ns>(),
        60
    );
}

#[test]
fn a_program_that_the_switches_do_not_follow_any_more_is_followed_by_looks() {
    let asleep = |at| look(at, vec![in_call(10, 10, 1, SLEEP)]);
    let mut events = vec![exec(0)];
    events.extend((1..=20).map(|at| asleep(at * 10)));
    let closed = perf(events);
    assert!(ms(&closed, State::Sleep) >= 900, "{:?}", closed.pieces.parts);
}

#[test]
fn what_the_held_program_did_before_is_not_counted() {
    let closed = proc(
        vec![look(0, vec![on_pipe(10, 10, 1, 0, 3)]), exec(50), look(52, vec![in_call(10, 10, 1, SLEEP)])],
        100,
    );
    assert_eq!(closed.pieces.wall_ns, 50 * MS);
    assert_eq!((ms(&closed, State::Sleep), ms(&closed, State::Pipe)), (50, 0));
}

mod random {
    use super::*;
    use proptest::prelude::*;

    /// Any event of a small tree, at a time within a second.
    fn event() -> impl Strategy<Value = Event> {
        let tid = 10_u32..14;
        let at = 0_u64..1000;
        let state = prop::sample::select(vec![b'R', b'S', b'D', b'T', b'Z']);
        let call = prop::sample::select(vec![0, 1, SLEEP, WAIT4, 202, 7]);
        let seen = (10_u32..14, 0_u32..2, state, call, any::<bool>(), 0_u64..9).prop_map(
            |(tid, half, state, call, pipe, used)| {
                let pid = if half == 0 { tid } else { 10 };
                let parent = if pid == 10 { 1 } else { 10 };
                let seen =
                    if pipe { on_pipe(tid, pid, parent, call, 7) } else { in_call(tid, pid, parent, call) };
                Snapshot { state, user_ns: used * TICK_NS, pipes: vec![(7, tid % 2 == 0)], ..seen }
            },
        );
        prop_oneof![
            at.clone().prop_map(exec),
            (at.clone(), tid.clone(), any::<bool>()).prop_map(|(at, tid, runnable)| out(at, tid, runnable)),
            (at.clone(), tid.clone()).prop_map(|(at, tid)| back(at, tid)),
            (at.clone(), tid.clone(), 10_u32..14, any::<bool>()).prop_map(|(at, tid, child, thread)| fork(
                at,
                tid,
                child,
                if thread { tid } else { child }
            )),
            (at.clone(), tid.clone()).prop_map(|(at, tid)| exit(at, tid)),
            (at.clone(), tid).prop_map(|(at, tid)| sample(at, tid, SampleMode::User)),
            at.clone().prop_map(|at| Event::Lost { at: at * MS, events: 1 }),
            (at, prop::collection::vec(seen, 0..5)).prop_map(|(at, threads)| look(at, threads)),
        ]
    }

    proptest! {
        /// `account` checks that both ledgers and the phases sum to the wall, and each interval.
        #[test]
        fn any_recording_closes(mut events in prop::collection::vec(event(), 0..60), perf in any::<bool>(), sorted in any::<bool>()) {
            if sorted {
                events.sort_by_key(Event::at);
            }
            let tier = if perf { Tier::Perf } else { Tier::Proc };
            let closed = account(tier, events, 1000, Seen::Absent);
            for thread in &closed.pieces.threads {
                prop_assert_eq!(thread.states.iter().map(|(_, ns)| ns).sum::<Ns>(), thread.life_ns);
            }
        }
    }
}
