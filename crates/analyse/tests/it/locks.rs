//! Waits that are for locks however they end, whose they are and who had the lock, told in small
//! stories. Times are microseconds.

use crate::story::*;
use model::call::Call;
use model::recording::{
    AliveState, CodeLocation, Counters, Event, FileKind, Function, Language, Object, WaitContext, Waker,
};
use model::run::{Class, WaitRow};
use model::wait::{TargetKind, WaitTarget, WakerKind};
use model::{Run, Seen, State, Tid};

const OTHER: u32 = 200;
const THIRD: u32 = 201;
const FUTEX: u16 = 202;
const EPOLL_WAIT: u16 = 232;
const KILL: u16 = 62;

/// Tells a stack of these functions, the innermost first; its innermost node.
pub(crate) fn stack(story: &mut Story, functions: &[&str]) -> u32 {
    let told = |event: &&Event| matches!(event, Event::Place { .. });
    let first = story.events.iter().filter(told).count() as u32;
    for (number, name) in functions.iter().rev().enumerate() {
        let (id, caller) = (first + number as u32, if number == 0 { 0 } else { first + number as u32 });
        let place = CodeLocation::Native { module: "/app".into(), address: u64::from(id) };
        let function = Function { name: Some((*name).into()), source: None, inlined: false };
        story.push(|_| Event::Place { id, place });
        story.push(|_| Event::Named { place: id, functions: vec![function] });
        story.push(|_| Event::Node { id: id + 1, caller, place: id });
    }
    first + functions.len() as u32
}

/// A thread waits in a call for so long, is woken, runs and tells the stack of its wait.
pub(crate) fn waits(
    story: &mut Story,
    tid: Tid,
    (call, on): (u16, Object),
    us: u64,
    (waker, calls): (Waker, u16),
    node: u32,
) {
    story.leaves(tid, waiting_in(call, on), none());
    let waking = if calls == 0 { none() } else { inside(calls, 1) };
    story.after(us).wakes(tid, waker, waking).after(2).comes(tid);
    story.push(|at| Event::WaitStack { at, tid, node, weight_ns: us * 1000, call: None }).after(1);
}

fn futex(address: u64) -> (u16, Object) {
    (FUTEX, Object::Futex { address })
}

fn in_state(run: &Run, state: State) -> Vec<&WaitRow> {
    run.waits.iter().filter(|row| row.reason == state).collect()
}

/// A thread's time in a state, in microseconds.
fn thread_us(run: &Run, tid: Tid, state: State) -> u64 {
    let thread = run.threads.iter().find(|thread| thread.tid == tid).expect("the thread");
    thread.states.iter().filter(|(of, _)| *of == state).map(|(_, ns)| ns / 1000).sum()
}

/// Three threads of a window sleep on one futex, in turn, and each time `by` wakes one, which
/// sleeps elsewhere for a while, unless it is to wait again at once.
fn woken_in_turn(functions: &[&str], by: impl Fn(u32) -> u32, again: bool) -> Run {
    const WORKERS: [Tid; 3] = [OTHER, THIRD, 202];
    const PRODUCER: Tid = 203;
    let mut story = Story::begins();
    story.events.clear();
    let node = stack(&mut story, functions);
    let mut from = 0;
    for tid in WORKERS.into_iter().chain([PRODUCER]) {
        let state = AliveState::Runnable(None);
        story.push(|at| {
            from = at;
            Event::Alive { at, tid, pid: OTHER, name: "pool".into(), state, before: Counters::default() }
        });
    }
    let sleeps = |story: &mut Story, tid| {
        story.after(1).comes(tid).after(1).leaves(tid, waiting_in(NANOSLEEP, Object::Unknown), none());
    };
    WORKERS.into_iter().chain([PRODUCER]).for_each(|tid| sleeps(&mut story, tid));
    for turn in 0..30u32 {
        let worker = if again { OTHER } else { WORKERS[turn as usize % 3] };
        let waker = match by(turn) {
            0 => PRODUCER,
            next => WORKERS[(turn + next) as usize % 3],
        };
        if turn == 0 || !again {
            story.after(50).wakes(worker, Waker::Timer, none()).after(1).comes(worker).after(30);
        }
        story.after(3).leaves(worker, waiting_in(FUTEX, futex(0x40).1), none());
        story.after(2_000).wakes(waker, Waker::Timer, none()).after(1).comes(waker).after(1);
        story.wakes(worker, by_task(waker), inside(FUTEX, 1));
        story.after(1).leaves(waker, waiting_in(NANOSLEEP, Object::Unknown), none());
        story.comes(worker);
        story.push(|at| Event::WaitStack { at, tid: worker, node, weight_ns: 2_000_000, call: None });
        if !again {
            story.after(30).leaves(worker, waiting_in(NANOSLEEP, Object::Unknown), none());
        }
    }
    story.after(100).seen_from(from)
}

#[test]
fn a_semaphore_of_a_window_is_how_work_comes_unless_those_that_take_it_give_it_back() {
    let us = |run: &Run, state| -> u64 {
        let on_it = |row: &&&WaitRow| row.on.kind() == TargetKind::Futex;
        in_state(run, state).iter().filter(on_it).map(|row| row.total_ns / 1000).sum()
    };
    let semaphore = ["futex_abstimed_wait_common64", "__new_sem_wait_slow64", "take", "start_thread"];
    let pool = woken_in_turn(&semaphore, |_| 0, false);
    assert!(us(&pool, State::Idle) > 55_000 && us(&pool, State::Lock) == 0, "{:?}", pool.waits);
    let lock = woken_in_turn(&semaphore, |turn| turn % 2, false);
    assert!(us(&lock, State::Lock) > 55_000 && us(&lock, State::Idle) == 0, "{:?}", lock.waits);
    let barged = woken_in_turn(&semaphore, |_| 0, true);
    assert!(us(&barged, State::Lock) > 55_000 && us(&barged, State::Idle) == 0, "{:?}", barged.waits);
    let mutex = ["futex_wait", "__lll_lock_wait", "pthread_mutex_lock", "take", "start_thread"];
    let mutex = woken_in_turn(&mutex, |_| 0, false);
    assert!(us(&mutex, State::Lock) > 55_000 && us(&mutex, State::Idle) == 0, "{:?}", mutex.waits);
}

/// The root computes and another thread of it wants its lock: two limits run out, then it is given.
fn takes_turns(function: &str) -> Run {
    let mut story = Story::begins();
    let node = stack(&mut story, &["pthread_cond_timedwait", function, "main"]);
    story.after(9).forks(ROOT, OTHER, ROOT).comes(OTHER).after(1);
    waits(&mut story, OTHER, futex(0x40), 5_000, (Waker::Timer, 0), node);
    waits(&mut story, OTHER, futex(0x44), 5_000, (Waker::Timer, 0), node);
    waits(&mut story, OTHER, futex(0x44), 90, (by_task(ROOT), FUTEX), node);
    story.exits(OTHER, none()).dies(OTHER).ends()
}

#[test]
fn a_lock_whose_limit_ran_out_is_a_lock_of_who_had_it() {
    let run = takes_turns("take_gil");
    let [row] = &in_state(&run, State::Lock)[..] else { panic!("{:?}", run.waits) };
    assert_eq!(row.on, WaitTarget::InterpreterLock(Language::Python));
    assert_eq!((row.calls, row.total_ns), (3, 10_090_000), "one lock has two futexes");
    let [waker] = &row.by[..] else { panic!("{:?}", row.by) };
    assert_eq!((waker.kind, &*waker.name, waker.times, waker.ns), (WakerKind::Thread, "root", 3, 10_090_000));
    assert_eq!((&waker.pid, &waker.tid), (&Seen::Value(ROOT), &Seen::Value(ROOT)));
    let had = waker.meanwhile.iter().map(|(_, ns)| ns).sum::<u64>();
    assert!(had > 5_000_000 && had <= waker.ns, "{:?}", waker.meanwhile);
    assert!(in_state(&run, State::Sleep).is_empty());
    assert_eq!((thread_us(&run, OTHER, State::Lock), thread_us(&run, OTHER, State::Sleep)), (10_090, 0));
}

#[test]
fn a_condition_whose_limits_ran_out_before_it_was_true_was_waited_for_all_along() {
    let run = takes_turns("next_job");
    assert!(in_state(&run, State::Sleep).is_empty(), "{:?}", run.waits);
    assert_eq!((thread_us(&run, OTHER, State::Lock), thread_us(&run, OTHER, State::Sleep)), (10_090, 0));
}

#[test]
fn what_a_runtime_keeps_time_with_is_a_sleep_also_where_it_is_told_to_end() {
    let run = takes_turns("WatcherThread::sleep");
    let sleeps = in_state(&run, State::Sleep);
    assert!(sleeps.iter().all(|row| row.on == WaitTarget::TimeLimit), "{sleeps:?}");
    assert_eq!(sleeps.iter().map(|row| row.calls).sum::<u64>(), 2);
    assert!(sleeps.iter().all(|row| row.by.iter().all(|waker| waker.kind == WakerKind::Timer)));
    assert_eq!((thread_us(&run, OTHER, State::Lock), thread_us(&run, OTHER, State::Sleep)), (90, 10_000));
}

#[test]
fn a_mutex_with_a_limit_keeps_its_address() {
    let run = takes_turns("pthread_mutex_timedlock");
    let locks = in_state(&run, State::Lock);
    let addresses: Vec<_> = locks.iter().map(|row| row.on.clone()).collect();
    assert_eq!(addresses, [0x44, 0x40].map(|address| WaitTarget::Futex(Seen::Value(address))));
}

fn polls() -> (u16, Object) {
    let poll = Object::File { kind: FileKind::Epoll, dev: 1, ino: 1, name: "[eventpoll]".into() };
    (EPOLL_WAIT, poll)
}

#[test]
fn a_lock_between_processes_is_known_by_its_function_and_its_waker_by_pid() {
    let mut story = Story::begins();
    let sleeps = stack(&mut story, &["epoll_wait", "WaitLatch", "ProcSleep", "LockAcquire", "PostgresMain"]);
    let writes = stack(&mut story, &["epoll_wait", "WaitLatch", "WalWriterMain", "PostmasterMain"]);
    story.after(9).forks(ROOT, OTHER, OTHER).comes(OTHER).after(1);
    story.forks(ROOT, THIRD, THIRD).comes(THIRD).after(1);
    waits(&mut story, OTHER, polls(), 700, (by_task(ROOT), KILL), sleeps);
    waits(&mut story, THIRD, polls(), 900, (by_task(ROOT), KILL), writes);
    let run = story.exits(OTHER, none()).dies(OTHER).exits(THIRD, none()).dies(THIRD).ends();
    let [lock] = &in_state(&run, State::Lock)[..] else { panic!("{:?}", run.waits) };
    assert_eq!(lock.on, WaitTarget::Lock(Seen::Value("ProcSleep".into())));
    assert_eq!(lock.threads.iter().map(|thread| thread.tid).collect::<Vec<_>>(), [OTHER]);
    assert_eq!(lock.by.iter().map(|waker| waker.pid.clone()).collect::<Vec<_>>(), [Seen::Value(ROOT)]);
    let [signal] = &in_state(&run, State::OtherWait)[..] else { panic!("{:?}", run.waits) };
    assert_eq!((signal.on.kind(), signal.total_ns), (TargetKind::Signal, 900_000));
    assert_eq!(signal.threads[0].tid, THIRD);
    assert_eq!(thread_us(&run, THIRD, State::Lock), 0, "its stack says that it waits for work");
}

#[test]
fn waits_of_threads_with_other_stacks_are_other_rows() {
    let mut story = Story::begins();
    let one = stack(&mut story, &["clock_nanosleep", "pace", "main"]);
    let two = stack(&mut story, &["clock_nanosleep", "beat", "start_thread"]);
    story.after(9).forks(ROOT, OTHER, ROOT).comes(OTHER).after(1);
    story.forks(ROOT, THIRD, ROOT).comes(THIRD).after(1);
    let sleep = (NANOSLEEP, Object::Unknown);
    waits(&mut story, ROOT, sleep.clone(), 500, (Waker::Timer, 0), one);
    waits(&mut story, OTHER, sleep.clone(), 300, (Waker::Timer, 0), two);
    waits(&mut story, THIRD, sleep, 400, (Waker::Timer, 0), two);
    let run = story.exits(OTHER, none()).dies(OTHER).exits(THIRD, none()).dies(THIRD).ends();
    let rows: Vec<_> = in_state(&run, State::Sleep)
        .into_iter()
        .map(|row| (row.total_ns / 1000, row.threads.iter().map(|thread| thread.tid).collect::<Vec<_>>()))
        .collect();
    assert_eq!(rows, [(700, vec![THIRD, OTHER]), (500, vec![ROOT])]);
}

/// A window on a thread that is in this wait when it is found, and to the end: with its stack.
fn sleeps_through((call, on): (u16, Object), functions: &[&str], woken: bool) -> Run {
    let mut story = Story::begins();
    story.events.clear();
    let node = stack(&mut story, functions);
    let wait = WaitContext { call: Some(Call(call)), uninterruptible: false, io: false, on };
    let mut from = 0;
    story.push(|at| {
        from = at + 1000;
        let (name, state, before) = ("backend".into(), AliveState::Blocked(wait), Counters::default());
        Event::Alive { at, tid: OTHER, pid: OTHER, name, state, before }
    });
    if woken {
        let again = waiting_in(FUTEX, Object::Unknown);
        story.wakes(OTHER, Waker::Timer, none()).comes(OTHER).leaves(OTHER, again, none());
    }
    story.push(|at| Event::AliveStack { at, tid: OTHER, node });
    story.after(3_001).seen_from(from)
}

const WAITS_FOR_A_ROW: [&str; 5] = ["epoll_wait", "WaitLatch", "ProcSleep", "LockAcquire", "PostgresMain"];

#[test]
fn a_lock_that_is_waited_for_all_along_is_known_by_the_stack_it_was_found_with() {
    let run = sleeps_through(polls(), &WAITS_FOR_A_ROW, false);
    let [lock] = &run.waits[..] else { panic!("{:?}", run.waits) };
    assert_eq!((lock.reason, &lock.on), (State::Lock, &WaitTarget::Lock(Seen::Value("ProcSleep".into()))));
    assert_eq!((lock.total_ns, thread_us(&run, OTHER, State::Lock)), (3_000_000, 3_000));
    assert_eq!(run.bound.class, Class::Io);
    assert!(!run.threads[0].idle, "who waits for a lock wants to work");

    let run = sleeps_through(futex(0x40), &["__lll_lock_wait", "pthread_mutex_lock", "main"], false);
    assert_eq!(run.waits[0].on, WaitTarget::Futex(Seen::Value(0x40)), "{:?}", run.waits);
    assert_eq!((run.waits[0].reason, run.threads[0].idle), (State::Lock, false));
}

#[test]
fn what_sleeps_all_along_for_no_lock_that_is_known_is_idle() {
    let work = ["epoll_wait", "WaitLatch", "WalWriterMain", "PostmasterMain"];
    let pool = ["__futex_abstimed_wait_common", "pthread_cond_wait", "Pool::run", "start_thread"];
    for (wait, functions) in [(polls(), &work), (futex(0x40), &pool), (futex(0x40), &["f", "g", "h", "i"])] {
        let run = sleeps_through(wait, functions, false);
        assert_eq!((run.bound.class, run.threads[0].idle), (Class::Idle, true), "{functions:?}");
        assert!(matches!(run.waits[0].stack, Seen::Value(_)), "{:?}", run.waits);
    }
}

/// A thread of a window reads a pipe, and waits for what comes in these functions.
fn reads_a_pipe(functions: &[&str]) -> Run {
    let mut story = Story::begins();
    story.events.clear();
    let node = stack(&mut story, functions);
    let mut from = 0;
    story.push(|at| {
        from = at;
        let (state, before) = (AliveState::Runnable(None), Counters::default());
        Event::Alive { at, tid: OTHER, pid: OTHER, name: "pool".into(), state, before }
    });
    story.after(1).comes(OTHER).after(1);
    let pipe = Object::File { kind: FileKind::Pipe, dev: 1, ino: 7, name: "".into() };
    waits(&mut story, OTHER, (0, pipe), 5_000, (Waker::Task { tid: 900, name: None }, 0), node);
    story.after(10).seen_from(from)
}

#[test]
fn a_pool_that_reads_its_work_from_a_pipe_has_none_meanwhile() {
    let pool = reads_a_pipe(&["read", "python3.11+0x10", "g_async_queue_pop", "main"]);
    assert_eq!((thread_us(&pool, OTHER, State::Idle), thread_us(&pool, OTHER, State::Pipe)), (5_000, 0));
    let other = reads_a_pipe(&["read", "python3.11+0x10", "answer", "main"]);
    assert_eq!((thread_us(&other, OTHER, State::Idle), thread_us(&other, OTHER, State::Pipe)), (0, 5_000));
}

/// A thread is found on a futex, and another one of the tree wakes it after this time.
fn found_and_woken(after_us: u64, functions: &[&str]) -> Run {
    let mut story = Story::begins();
    story.events.clear();
    let node = (!functions.is_empty()).then(|| stack(&mut story, functions));
    let mut from = 0;
    for (tid, state) in [(OTHER, Some(futex(0x40).1)), (THIRD, None)] {
        let wait = |on| WaitContext { call: Some(Call(FUTEX)), uninterruptible: false, io: false, on };
        let state = state.map_or(AliveState::Runnable(None), |on| AliveState::Blocked(wait(on)));
        story.push(|at| {
            from = at + 1000;
            Event::Alive { at, tid, pid: OTHER, name: "pool".into(), state, before: Counters::default() }
        });
    }
    story.after(1).comes(THIRD);
    if let Some(node) = node {
        story.push(|at| Event::AliveStack { at, tid: OTHER, node });
    }
    story.after(after_us).wakes(OTHER, by_task(THIRD), inside(FUTEX, 1)).after(1).comes(OTHER);
    story.after(10).seen_from(from)
}

#[test]
fn a_long_wait_that_a_thread_was_found_in_is_for_work_where_no_stack_tells() {
    let us = |run: &Run, state| thread_us(run, OTHER, state);
    let pool = found_and_woken(150_000, &[]);
    assert_eq!((us(&pool, State::Idle), us(&pool, State::Lock)), (150_000, 0));
    let lock = found_and_woken(50_000, &[]);
    assert_eq!((us(&lock, State::Idle), us(&lock, State::Lock)), (0, 50_000));
    let lock = found_and_woken(150_000, &["__lll_lock_wait", "pthread_mutex_lock", "main"]);
    assert_eq!((us(&lock, State::Idle), us(&lock, State::Lock)), (0, 150_000));
}

/// A thread is found in such a wait, which ends after this time; it works for a moment, waits again
/// and is cut by the end of the window.
fn cut_after(wait: (u16, Object), first_us: u64, functions: &[&str]) -> Run {
    let mut story = Story::begins();
    story.events.clear();
    let node = (!functions.is_empty()).then(|| stack(&mut story, functions));
    let context =
        WaitContext { call: Some(Call(wait.0)), uninterruptible: false, io: false, on: wait.1.clone() };
    let mut from = 0;
    story.push(|at| {
        from = at + 1000;
        let (name, state, before) = ("backend".into(), AliveState::Blocked(context), Counters::default());
        Event::Alive { at, tid: OTHER, pid: OTHER, name, state, before }
    });
    story.after(1);
    if let Some(node) = node {
        story.push(|at| Event::AliveStack { at, tid: OTHER, node });
    }
    let outsider = Waker::Task { tid: 9000, name: Some("backend".into()) };
    story.after(first_us).wakes(OTHER, outsider, none()).after(1).comes(OTHER);
    story.after(3).leaves(OTHER, waiting_in(wait.0, wait.1), none());
    story.after(20_000).seen_from(from)
}

#[test]
fn a_wait_that_the_window_cuts_is_what_the_threads_others_in_this_call_were() {
    let us = |run: &Run, state| thread_us(run, OTHER, state);
    let row = cut_after(polls(), 50_000, &WAITS_FOR_A_ROW);
    assert_eq!((us(&row, State::Lock), us(&row, State::Idle)), (70_000, 0), "{:?}", row.waits);
    let loop_ = cut_after(polls(), 50_000, &["epoll_wait", "WaitLatch", "WalWriterMain", "PostmasterMain"]);
    assert_eq!((us(&loop_, State::Lock), us(&loop_, State::Idle)), (0, 70_000), "{:?}", loop_.waits);
}

#[test]
fn a_thread_of_a_pool_that_has_worked_waits_for_work_again() {
    let us = |run: &Run, state| thread_us(run, OTHER, state);
    let pool = cut_after(futex(0x40), 150_000, &[]);
    assert_eq!((us(&pool, State::Idle), us(&pool, State::Lock)), (170_000, 0), "{:?}", pool.waits);
    let lock = cut_after(futex(0x40), 50_000, &[]);
    assert_eq!((us(&lock, State::Idle), us(&lock, State::Lock)), (0, 70_000), "{:?}", lock.waits);
}

#[test]
fn the_stack_that_a_thread_was_found_with_is_of_no_later_wait() {
    let run = sleeps_through(polls(), &WAITS_FOR_A_ROW, true);
    assert!(run.waits.iter().all(|row| matches!(row.stack, Seen::Unseen(_))), "{:?}", run.waits);
}
