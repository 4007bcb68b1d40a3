//! Windows made up to show one thing each. They begin at 100 ms; times are in ms.

use super::super::Poll;
use super::super::tests::{MS, SLEEP, back, exit, fork, header, in_call, look, out, sample, sight, trailer};
use super::*;
use model::recording::{SampleMode, ThreadSnapshot as Snapshot, Trailer, WindowEnd};
use model::{Account, Event, Header, Seen, Tid, recording::Ending};

const ACCEPT: u16 = 43;
const FUTEX: u16 = 202;
const BEGIN: Ns = 100;

/// Runs it through, from 100 ms on, and checks what must always hold.
fn window(tier: Tier, events: Vec<Event>, end_ms: Ns) -> Closed {
    let attached = AttachWindow { at: BEGIN * MS, target: "a".into() };
    let header = Header { root: 0, attached: Some(attached), ..header(tier) };
    let mut poll = Poll::new(&header);
    events.iter().for_each(|event| poll.event(event));
    let ending = Ending::Window(WindowEnd::For);
    let closed = poll.close(&Trailer { ending, ..trailer(end_ms * MS, Seen::Absent) });
    let pieces = &closed.pieces;
    let whole = pieces.window.as_ref().unwrap().thread_ns;
    Account::new(whole, pieces.parts.clone(), pieces.steps.times()).unwrap();
    for part in &pieces.parts {
        assert!(part.lo_ns <= part.ns && part.ns <= part.hi_ns && part.hi_ns <= whole, "{part:?}");
    }
    for thread in &pieces.threads {
        let sum: Ns = thread.states.iter().map(|(_, ns)| ns).sum();
        assert!(sum == thread.life_ns && sum <= pieces.wall_ns, "{thread:?}");
    }
    let slices: Ns = pieces.phases.slices.iter().flatten().map(|(_, ns)| ns).sum();
    // Slices are rounded by themselves.
    assert!(slices.abs_diff(whole) < MS, "{slices} {whole}");
    closed
}

fn ms(closed: &Closed, state: State) -> Ns {
    closed.pieces.parts.iter().filter(|part| part.state == state).map(|part| part.ns).sum::<Ns>() / MS
}

fn step(closed: &Closed, tid: Tid, state: State) -> (String, Ns) {
    let of_thread = closed.pieces.steps.iter().filter(|step| step.tid == tid && step.state == state);
    let reasons: Vec<_> = of_thread.clone().map(|step| step.reason.text.clone()).collect();
    (reasons.join("; "), of_thread.map(|step| step.ns).sum::<Ns>() / MS)
}

fn counts(closed: &Closed) -> (u64, u64) {
    let window = closed.pieces.window.as_ref().unwrap();
    (window.threads_active, window.threads_idle)
}

/// A thread as the kernel had counted it: on a CPU and in the run queue.
fn counted(sight: Snapshot, cpu_ms: Ns, queue_ms: Ns) -> Snapshot {
    Snapshot { cpu_ns: Seen::Value(cpu_ms * MS), runqueue_ns: Seen::Value(queue_ms * MS), ..sight }
}

#[test]
fn the_kernels_counters_decide_how_long_and_the_looks_what_for() {
    // It sleeps in every snapshot, and yet it had 40 ms on a CPU and 20 ms in the run queue.
    let asleep = |cpu, queue| counted(in_call(10, 10, 1, SLEEP), cpu, queue);
    let events = (0..=10).map(|i| look(100 + 10 * i, vec![asleep(5000 + 4 * i, 3000 + 2 * i)])).collect();
    let closed = window(Tier::Proc, events, 200);
    assert_eq!([ms(&closed, State::Sleep), ms(&closed, State::Runqueue)], [40, 20]);
    assert_eq!(ms(&closed, State::User) + ms(&closed, State::Kernel), 40);
    let runqueue = closed.pieces.parts.iter().find(|part| part.state == State::Runqueue).unwrap();
    assert_eq!((runqueue.basis, runqueue.lo_ns, runqueue.hi_ns), (Basis::Measured, 20 * MS, 20 * MS));
    assert_eq!(counts(&closed), (1, 0));
    assert_eq!(closed.pieces.waits[0].path_ns, 40 * MS);
}

#[test]
fn a_thread_that_is_seen_to_run_more_than_it_did_waited_the_rest() {
    let threads = |i: Ns| {
        let at = if i == 5 { in_call(10, 10, 1, SLEEP) } else { sight(10, 10, 1, b'R') };
        vec![counted(at, 7 + 3 * i, 0)]
    };
    let events = (0..=10).map(|i| look(100 + 10 * i, threads(i))).collect();
    let closed = window(Tier::Proc, events, 200);
    assert_eq!(ms(&closed, State::Sleep), 70);
    assert_eq!(ms(&closed, State::Runqueue), 0);
}

#[test]
fn what_was_used_before_the_window_is_none_of_it() {
    let old = |state| Snapshot {
        user_ns: 4000 * MS,
        minor_faults: 900,
        ..counted(sight(10, 10, 1, state), 5000, 600)
    };
    let late =
        |sight: Snapshot| Snapshot { kernel_ns: 30 * MS, minor_faults: 910, ..counted(sight, 5030, 610) };
    let closed = window(
        Tier::Proc,
        vec![look(98, vec![old(b'R')]), look(150, vec![old(b'R')]), look(200, vec![late(old(b'R'))])],
        200,
    );
    assert_eq!(closed.faults.minor, 10);
    // In state R throughout: there is no wait that could have had what the counters lack.
    assert_eq!(ms(&closed, State::Runqueue), 25);
    assert_eq!(closed.pieces.threads[0].minor_faults, Seen::Value(10));
}

#[test]
fn threads_that_only_wait_for_work_are_set_apart() {
    let threads = |i: Ns| {
        vec![
            counted(sight(10, 10, 1, b'R'), 10 * i, 0),
            in_call(11, 10, 1, FUTEX),
            in_call(12, 10, 1, ACCEPT),
            // Woken for next to nothing now and then, always for work.
            Snapshot { cpu_ns: Seen::Value(i * 5_000), ..in_call(13, 10, 1, FUTEX) },
            // The same, asleep: that is no waiting for work.
            Snapshot { cpu_ns: Seen::Value(i * 5_000), ..in_call(14, 10, 1, SLEEP) },
            // Where calls cannot be read, where it sleeps says as much.
            Snapshot { wchan: Seen::Value("do_epoll_wait".into()), ..counted(sight(15, 10, 1, b'S'), 0, 0) },
        ]
    };
    let closed = window(Tier::Proc, (0..=10).map(|i| look(100 + 10 * i, threads(i))).collect(), 200);
    let idle = |tid| closed.pieces.threads.iter().find(|thread| thread.tid == tid).unwrap().idle;
    assert_eq!([10, 11, 12, 13, 14, 15].map(idle), [false, true, true, true, false, true]);
    assert_eq!(closed.pieces.window.as_ref().unwrap().thread_ns, 200 * MS);
    assert_eq!(ms(&closed, State::Lock), 0);
}

#[test]
fn threads_end_and_are_born_half_way_between_looks() {
    let one = || counted(sight(10, 10, 1, b'R'), 10, 0);
    let other = || counted(sight(20, 20, 10, b'R'), 10, 0);
    let closed = window(
        Tier::Proc,
        vec![
            look(100, vec![one()]),
            look(120, vec![one(), other()]),
            look(160, vec![other()]),
            look(180, vec![]),
            look(200, vec![]),
        ],
        200,
    );
    let life = |tid| closed.pieces.threads.iter().find(|thread| thread.tid == tid).unwrap().life_ns / MS;
    assert_eq!([life(10), life(20)], [40, 60]);
    assert_eq!(closed.pieces.window.as_ref().unwrap().processes, 2);
    assert!(closed.pieces.threads.iter().all(|thread| !thread.outlived));
}

#[test]
fn switches_bound_and_looks_name_and_what_came_before_takes_no_time() {
    let waits = |cpu, queue| counted(in_call(10, 10, 1, ACCEPT), cpu, queue);
    let closed = window(
        Tier::Perf,
        vec![
            look(98, vec![waits(7, 1000), counted(sight(11, 10, 1, b'R'), 50, 0)]),
            // Of the time before the window.
            out(99, 11, true),
            back(120, 11),
            sample(125, 11, SampleMode::Kernel),
            sample(126, 11, SampleMode::User),
            back(150, 10),
            fork(155, 10, 20, 20),
            back(156, 20),
            exit(166, 20),
            out(170, 10, false),
            // Of the 80 ms that it was blocked it had been woken, but had no CPU, for 8.
            look(200, vec![waits(27, 1008), counted(sight(11, 10, 1, b'R'), 130, 20)]),
        ],
        200,
    );
    let row = |tid| closed.pieces.threads.iter().find(|thread| thread.tid == tid).unwrap();
    let of = |tid, wanted: &[State]| -> Ns {
        let states = row(tid).states.iter().filter(|(state, _)| wanted.contains(state));
        states.map(|(_, ns)| ns).sum::<Ns>() / MS
    };
    const ON_CPU: &[State] = &[State::User, State::Kernel];
    assert_eq!([of(11, &[State::Runqueue]), of(11, ON_CPU)], [20, 80]);
    assert_eq!([of(10, ON_CPU), of(20, ON_CPU)], [20, 10]);
    assert_eq!(of(10, &[State::Runqueue]), 8);
    assert_eq!(row(20).life_ns / MS, 11);
    assert_eq!(step(&closed, 10, State::Idle), ("accept, external".to_owned(), 72));
    assert_eq!(
        closed.cpu, None,
        "of the one that was gone before a look came the scheduler's count is not known"
    );
    assert_eq!(counts(&closed), (3, 0));
}

#[test]
fn a_window_without_a_look_is_unexplained() {
    let closed = window(Tier::Proc, vec![], 200);
    assert_eq!(closed.pieces.window.as_ref().unwrap().thread_ns, 0);
    let closed = window(Tier::Proc, vec![look(100, vec![in_call(10, 10, 1, SLEEP)])], 1100);
    assert_eq!([ms(&closed, State::Sleep), ms(&closed, State::Unexplained)], [50, 950]);
}

#[test]
fn a_single_look_is_one_snapshot() {
    let note = |looks| notes(Tier::Perf, looks, MS).remove(0);
    assert!(note(1).contains(" 1 snapshot of ") && note(2).contains(" 2 snapshots of "));
}
