//! What waits are on, and who ended them where, told in small stories. Times are microseconds.

use crate::story::*;
use model::network::Lookup;
use model::recording::{
    CodeLocation, Event, FileKind, Function, Object, SocketEnds, WakeReason, WakeReasons, Waker,
};
use model::run::WaitRow;
use model::wait::{StackFrame, TargetKind, WaitTarget, WakerKind};
use model::wake_reason::LegacyWakeReason;
use model::{Run, Seen, State};

const POLL: u16 = 7;
const FUTEX: u16 = 202;
const IO_URING_ENTER: u16 = 426;

fn file(kind: FileKind, name: &str) -> Object {
    Object::File { kind, dev: 1, ino: 1, name: name.into() }
}

/// The one row of waits in this call.
fn row(run: &Run, state: State) -> &WaitRow {
    let mut rows = run.waits.iter().filter(|row| row.reason == state);
    let row = rows.next().unwrap_or_else(|| panic!("no wait of {state:?} in {:?}", run.waits));
    assert_eq!(rows.next(), None);
    row
}

/// The root waits in a call on something and a child that works on `object` wakes it.
fn waits_in(call: u16, on: Object, object: Object) -> Run {
    let mut story = Story::begins();
    story.after(9).forks(ROOT, CHILD, CHILD);
    story.after(1).leaves(ROOT, waiting_in(call, on), none()).comes(CHILD).after(100);
    let reasons = [WakeReason::Object(object)];
    story.wakes_for(ROOT, by_task(CHILD), reasons, none()).after(2).comes(ROOT);
    story.ends()
}

#[test]
fn an_older_recording_is_joined_as_it_comes_in() {
    let mut story = Story::begins();
    story.after(9).forks(ROOT, CHILD, CHILD);
    story.after(1).leaves(ROOT, waiting_in(POLL, Object::Unknown), none()).comes(CHILD).after(100);
    let because = LegacyWakeReason::Through(file(FileKind::Pipe, ""));
    story.push(|at| Event::Because { at, tid: ROOT, because });
    let waker = by_task(CHILD);
    story.push(|at| Event::Wake { at, cpu: 0, tid: ROOT, waker, calls: none() }).after(2).comes(ROOT);
    let today = waits_in(POLL, Object::Unknown, file(FileKind::Pipe, ""));
    assert_eq!(row(&today, State::Pipe).calls, 1);
    assert_eq!(format!("{:?}", story.ends()), format!("{today:?}"));
}

#[test]
fn a_poll_of_several_waited_for_what_its_waker_worked_on() {
    for (call, on) in [
        (POLL, Object::Unknown),
        (232, file(FileKind::Epoll, "[eventpoll]")),
        (IO_URING_ENTER, file(FileKind::Anonymous, "[io_uring]")),
    ] {
        let run = waits_in(call, on.clone(), file(FileKind::Pipe, ""));
        assert_eq!(row(&run, State::Pipe).on, WaitTarget::Pipe(Seen::Absent), "{call}");
        let run = waits_in(call, on, Object::Unix { ino: 5, peer: 6 });
        assert_eq!(row(&run, State::Pipe).on, WaitTarget::Unix(Seen::Absent), "{call}");
    }
    let run = waits_in(POLL, Object::Unknown, file(FileKind::EventFd, "[eventfd]"));
    assert_eq!(row(&run, State::Pipe).on, WaitTarget::Nameless(TargetKind::EventFd));
}

#[test]
fn a_local_socket_is_named_by_its_server_from_either_end() {
    // The waker's end is the client's, so what polls is the server.
    for (call, on) in [(POLL, Object::Unknown), (RECVFROM, Object::Unix { ino: 6, peer: 5 })] {
        let mut story = Story::begins();
        story.push(|_| Event::LocalSocket { ino: 5, serves: false, name: "/run/x".into() });
        story.after(9).forks(ROOT, CHILD, CHILD);
        story.after(1).leaves(ROOT, waiting_in(call, on), none()).comes(CHILD).after(100);
        let reasons = [WakeReason::Object(Object::Unix { ino: 5, peer: 6 })];
        story.wakes_for(ROOT, by_task(CHILD), reasons, none()).after(2).comes(ROOT);
        let run = story.ends();
        assert_eq!(row(&run, State::Pipe).on, WaitTarget::Unix(Seen::Value("/run/x".into())), "{call}");
    }
}

#[test]
fn who_writes_to_a_file_and_wakes_a_poll_by_the_way_is_not_what_it_waited_for() {
    let run = waits_in(POLL, Object::Unknown, file(FileKind::Disk, "watched"));
    assert_eq!(row(&run, State::OtherWait).on.kind(), TargetKind::Thread);
    // A wait that says itself what it is for is not about what the waker works on.
    let run = waits_in(RECVFROM, Object::Net(ends(80, 4000)), file(FileKind::Pipe, ""));
    assert_eq!(row(&run, State::Network).on.kind(), TargetKind::Tcp);
    let ring = file(FileKind::Anonymous, "[io_uring]");
    let run = waits_in(IO_URING_ENTER, ring.clone(), ring);
    assert_eq!(row(&run, State::OtherWait).on, WaitTarget::Nameless(TargetKind::IoUring));
}

#[test]
fn what_an_earlier_waker_worked_on_says_nothing_of_this_wait() {
    let mut story = Story::begins();
    story.after(9).forks(ROOT, CHILD, CHILD).comes(CHILD);
    story.wakes_for(ROOT, by_task(CHILD), [WakeReason::Object(file(FileKind::Pipe, ""))], none());
    story.after(1).leaves(ROOT, waiting_in(POLL, Object::Unknown), none());
    story.after(100).wakes(ROOT, by_task(CHILD), none()).after(2).comes(ROOT);
    assert_eq!(row(&story.ends(), State::OtherWait).calls, 1);
}

/// The stack `unlock` (of the C library) called by `lets_go` called by `main`, innermost last.
fn stack(story: &mut Story) -> u32 {
    for (number, (module, name)) in
        [("/app", "main"), ("/app", "lets_go"), ("/lib/libc.so.6", "pthread_mutex_unlock")]
            .into_iter()
            .enumerate()
    {
        let number = number as u32;
        let place = CodeLocation::Native { module: module.into(), address: u64::from(number) };
        let function = Function {
            name: Some(name.into()),
            source: Some(("/src/app.c".into(), number + 1)),
            inlined: false,
        };
        story.push(|_| Event::Place { id: number, place });
        story.push(|_| Event::Named { place: number, functions: vec![function] });
        story.push(|_| Event::Node { id: number + 1, caller: number, place: number });
    }
    3
}

#[test]
fn a_lock_says_where_it_was_let_go_and_what_went_on_until_then() {
    let mut story = Story::begins();
    let node = stack(&mut story);
    story.after(9).forks(ROOT, CHILD, ROOT).comes(CHILD);
    story.after(10).leaves(ROOT, waiting_in(FUTEX, Object::Futex { address: 0x40 }), none());
    story.after(50).leaves(CHILD, waiting_in(NANOSLEEP, Object::Unknown), inside(NANOSLEEP, 20));
    story.after(200).wakes(CHILD, Waker::Timer, none()).after(3).comes(CHILD);
    let mut woken_at = 0;
    story.after(7).push(|at| {
        woken_at = at;
        let (waker, reasons, calls) = (by_task(CHILD), WakeReasons::new(), inside(FUTEX, 2));
        Event::Woken { at, cpu: 1, tid: ROOT, waker, reasons, calls }
    });
    story.after(2).comes(ROOT);
    let from = |woken_at, node| move |at| Event::WakerStack { at, tid: ROOT, woken_at, node };
    story.push(from(woken_at, node));
    // Of a wake-up that has been followed by another since.
    story.push(from(woken_at - 1, 1));
    let run = story.exits(CHILD, none()).dies(CHILD).ends();
    let row = row(&run, State::Lock);
    assert_eq!((row.calls, row.total_ns), (1, 260_000));
    let [waker] = &row.by[..] else { panic!("{:?}", row.by) };
    assert_eq!((waker.kind, waker.times, waker.ns), (WakerKind::Thread, 1, 260_000));
    assert_eq!(waker.place, Seen::Value("lets_go (app.c:2)".into()), "not in the C library");
    let stack = ["pthread_mutex_unlock (app.c:3)", "lets_go (app.c:2)", "main (app.c:1)"];
    assert_eq!(waker.stack, Seen::Value(stack.map(StackFrame::from).to_vec()));
    // Until it slept it was 10 us on a CPU before the wait began, and 50 in it: its time in calls
    // is spread.
    let of = |state| waker.meanwhile.iter().filter(|(of, _)| *of == state).map(|(_, ns)| *ns).sum::<u64>();
    assert_eq!((of(State::Sleep), of(State::Runqueue)), (200_000, 3_000));
    assert_eq!(of(State::Kernel) + of(State::User), 57_000);
    assert_eq!(of(State::Kernel), 20_000 * 50 / 60 + 2_000);
    assert!(row.total_ns >= waker.meanwhile.iter().map(|(_, ns)| ns).sum::<u64>());
}

#[test]
fn a_wait_that_an_answer_ended_is_for_the_name_that_was_asked() {
    let server = SocketEnds { protocol: 17, remote_port: 53, ..ends(40_000, 53) };
    let mut story = Story::begins();
    let mut ask = |name: &str, answered_before_us: u64| {
        story.after(1).leaves(ROOT, waiting_in(POLL, Object::Net(server)), none()).after(30);
        story.push(|at| {
            Event::Lookup(Box::new(Lookup {
                tid: ROOT,
                ends: Some(server),
                name: name.into(),
                kind: 1,
                asked_at: at - 40_000,
                answered_at: Some(at - answered_before_us * 1000),
                code: Some(0),
            }))
        });
        let waker = Waker::Network { over: 9, ready: Some(server) };
        story.wakes(ROOT, waker, none()).after(2).comes(ROOT);
    };
    ask("a.example", 1);
    ask("b.example", 0);
    ask("a.example", 0);
    // That answer was there before the wait began, so something else ended it.
    ask("b.example", 31);
    let run = story.ends();
    let mut rows: Vec<_> = run.waits.iter().map(|row| (row.on.name().value().cloned(), row.calls)).collect();
    rows.sort();
    let named = |name: &str, calls| (Some(format!("127.0.0.1:53{name}")), calls);
    assert_eq!(rows, [named("", 1), named(" for a.example", 2), named(" for b.example", 1)]);
    assert!(run.waits.iter().all(|row| row.reason == State::Network && row.on.kind() == TargetKind::Udp));
}

#[test]
fn limits_that_ran_out_are_told_from_sleeps_and_from_alarms() {
    let timer = |call, on| {
        let mut story = Story::begins();
        story
            .leaves(ROOT, waiting_in(call, on), none())
            .after(30)
            .wakes(ROOT, Waker::Timer, none())
            .comes(ROOT);
        let run = story.ends();
        row(&run, State::Sleep).on.name().value().cloned()
    };
    assert_eq!(timer(NANOSLEEP, Object::Unknown), None);
    assert_eq!(timer(FUTEX, Object::Futex { address: 0x40 }).as_deref(), Some("time limit"));
    assert_eq!(timer(POLL, Object::Unknown).as_deref(), Some("time limit or timer"));
    assert_eq!(timer(RECVFROM, Object::OtherSocket { family: 16 }).as_deref(), Some("time limit"));
    assert_eq!(timer(READ, file(FileKind::TimerFd, "[timerfd]")), None);
}
