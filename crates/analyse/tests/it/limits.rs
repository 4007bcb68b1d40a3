//! Waits that time ended: for what they were, and who has slept, told in small stories. Times are
//! microseconds.

use crate::locks::{stack, waits};
use crate::story::*;
use model::recording::{Event, FileKind, Object, SocketEnds, WakeReason, Waker};
use model::run::WaitRow;
use model::wait::{TargetKind, WakerKind};
use model::{Run, State};

const READ: u16 = 0;
const POLL: u16 = 7;
const RECVFROM: u16 = 45;
const FLOCK: u16 = 73;
const FUTEX: u16 = 202;
const EPOLL_WAIT: u16 = 232;
const OTHER: u32 = 200;

fn file(kind: FileKind, name: &str) -> Object {
    Object::File { kind, dev: 1, ino: 1, name: name.into() }
}

/// The only kind of wait.
fn row(run: &Run) -> &WaitRow {
    let [row] = &run.waits[..] else { panic!("{:?}", run.waits) };
    row
}

/// A row's state, what it is on, its number of waits, and how many of them time ended.
fn told(row: &WaitRow) -> (State, TargetKind, u64, u64) {
    let timed = row.by.iter().filter(|waker| waker.kind == WakerKind::Timer).map(|waker| waker.times);
    (row.reason, row.on.kind(), row.calls, timed.sum())
}

impl Story {
    /// The root waits until its time is up.
    fn times_out(&mut self, call: u16, on: Object, us: u64) -> &mut Self {
        self.after(1).leaves(ROOT, waiting_in(call, on), none());
        self.after(us).wakes(ROOT, Waker::Timer, none()).after(1).comes(ROOT)
    }

    /// The root waits until something comes on this connection.
    fn is_answered(&mut self, call: u16, on: Object, us: u64, ready: SocketEnds) -> &mut Self {
        self.after(1).leaves(ROOT, waiting_in(call, on), none());
        let waker = Waker::Network { over: 9000, ready: Some(ready) };
        self.after(us).wakes(ROOT, waker, none()).after(1).comes(ROOT)
    }

    fn asks(&mut self, ends: SocketEnds) -> &mut Self {
        self.after(1).push(|at| Event::Send { at, tid: ROOT, ends, calls: none() })
    }
}

/// The tree's end of a connection with another host.
fn far() -> SocketEnds {
    let mut far = ends(40_000, 80);
    far.remote[12..].copy_from_slice(&[192, 0, 2, 1]);
    far.local[12..].copy_from_slice(&[192, 0, 2, 9]);
    far
}

#[test]
fn who_polls_one_connection_with_a_limit_waits_for_its_peer() {
    let mut story = Story::begins();
    let on = || Object::Net(far());
    story.asks(far()).times_out(POLL, on(), 100).times_out(POLL, on(), 100);
    story.is_answered(POLL, on(), 50, far()).times_out(RECVFROM, on(), 70);
    let run = story.ends();
    assert_eq!((us(&run, State::Network), us(&run, State::Sleep)), (320, 0), "{:?}", run.path);
    let rows: Vec<_> = run.waits.iter().map(told).collect();
    assert_eq!(rows, [(State::Network, TargetKind::Tcp, 3, 2), (State::Network, TargetKind::Tcp, 1, 1)]);
}

#[test]
fn who_polls_several_with_a_limit_waits_for_the_peer_that_owes_an_answer() {
    let mut story = Story::begins();
    // As curl does for "100 Continue": it then sends the rest, and is answered.
    story.asks(far()).times_out(POLL, Object::Unknown, 1000);
    story.asks(far()).is_answered(POLL, Object::Unknown, 10, far());
    let run = story.ends();
    assert_eq!(told(row(&run)), (State::Network, TargetKind::Tcp, 2, 1));
    // With the answer there, it is its timer that it waits for; then it asks again.
    let mut story = Story::begins();
    story.asks(far()).is_answered(EPOLL_WAIT, Object::Unknown, 10, far());
    story.times_out(EPOLL_WAIT, Object::Unknown, 1000);
    story.asks(far()).is_answered(EPOLL_WAIT, Object::Unknown, 10, far());
    let run = story.ends();
    assert_eq!((us(&run, State::Network), us(&run, State::Sleep)), (20, 1000), "{:?}", run.waits);
    // A service has answered, and owes nothing.
    let served = SocketEnds { local_port: 80, remote_port: 40_000, ..far() };
    let mut story = Story::begins();
    story.asks(served).times_out(EPOLL_WAIT, Object::Unknown, 1000);
    assert_eq!(told(row(&story.ends())), (State::Sleep, TargetKind::Timer, 1, 1));
}

/// Three limits run out, and then a pipe becomes ready, or not.
fn polls_a_pipe(by: Option<Waker>, asks_between: bool, worked_us: u64) -> Run {
    let mut story = Story::begins();
    (0..3).for_each(|_| {
        story.times_out(POLL, Object::Unknown, 100);
    });
    if asks_between {
        story.asks(far());
    }
    if let Some(waker) = by {
        story.after(1 + worked_us).leaves(ROOT, waiting_in(POLL, Object::Unknown), none()).after(50);
        let reasons = [WakeReason::Object(file(FileKind::Pipe, ""))];
        story.wakes_for(ROOT, waker, reasons, none()).after(1).comes(ROOT);
    }
    story.ends()
}

#[test]
fn who_comes_back_at_once_to_poll_waited_for_what_then_came() {
    let outside = || Some(Waker::Task { tid: 9000, name: Some("writer".into()) });
    let run = polls_a_pipe(outside(), false, 0);
    assert_eq!(told(row(&run)), (State::Pipe, TargetKind::Pipe, 4, 3));
    assert_eq!((us(&run, State::Pipe), us(&run, State::Sleep)), (350, 0), "{:?}", run.path);
    for run in
        [polls_a_pipe(outside(), true, 0), polls_a_pipe(outside(), false, 500), polls_a_pipe(None, false, 0)]
    {
        assert_eq!(us(&run, State::Sleep), 300, "{:?}", run.waits);
    }
}

#[test]
fn an_alarm_ends_no_sleep_where_something_was_waited_for() {
    let state = |call, on| {
        let mut story = Story::begins();
        story.times_out(call, on, 30);
        let run = story.ends();
        row(&run).reason
    };
    assert_eq!(state(READ, file(FileKind::Pipe, "")), State::Pipe);
    assert_eq!(state(READ, Object::Unix { ino: 1, peer: 2 }), State::Pipe);
    assert_eq!(state(FLOCK, file(FileKind::Disk, "lock")), State::Lock);
    assert_eq!(state(POLL, file(FileKind::EventFd, "[eventfd]")), State::Pipe);
    assert_eq!(state(READ, file(FileKind::TimerFd, "[timerfd]")), State::Sleep);
    assert_eq!(state(EPOLL_WAIT, file(FileKind::Epoll, "[eventpoll]")), State::Sleep);
}

#[test]
fn a_condition_that_nobody_ever_makes_true_is_slept_on() {
    let mut story = Story::begins();
    let node = stack(&mut story, &["pthread_cond_timedwait", "pace", "main"]);
    story.after(9).forks(ROOT, OTHER, ROOT).comes(OTHER).after(1);
    for _ in 0..3 {
        waits(&mut story, OTHER, (FUTEX, Object::Futex { address: 0x40 }), 900, (Waker::Timer, 0), node);
    }
    let run = story.exits(OTHER, none()).dies(OTHER).ends();
    assert_eq!(told(row(&run)), (State::Sleep, TargetKind::Timer, 3, 3));
}

/// The root polls a pipe until its time is up, while another process of the tree computes for a
/// part of that.
#[test]
fn what_others_of_the_tree_do_until_a_limit_is_on_the_path_whatever_was_waited_for() {
    let run = |on: Object| {
        let mut story = Story::begins();
        story.forks(ROOT, CHILD, CHILD).leaves(ROOT, waiting_in(POLL, on), none()).comes(CHILD);
        story.after(60).dies(CHILD);
        story.after(40).wakes(ROOT, Waker::Timer, none()).comes(ROOT).after(10).ends()
    };
    let pipe = run(file(FileKind::Pipe, ""));
    assert_eq!((us_of(&pipe, CHILD, State::User), us(&pipe, State::Pipe)), (60, 40), "{:?}", pipe.path);
    let peer = run(Object::Net(far()));
    assert_eq!((us_of(&peer, CHILD, State::User), us(&peer, State::Network)), (0, 100), "{:?}", peer.path);
}
