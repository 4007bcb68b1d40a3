//! Requests of programs that schedule tasks of their own: a task goes on with its request on
//! whichever thread runs it.

use super::{client, none, only, peer, requests, spans};
use crate::locks::{stack, waits};
use crate::story::{CHILD, ROOT, Story};
use model::recording::{Event, Object, Waker};
use model::requests::RequestTime::{self, NoThread, OnCpu, Peer};
use model::task::{TaskDid, TaskWait};
use model::wait::WaitTarget;
use model::{State, Tid};

const LOCK: RequestTime = RequestTime::Thread(State::Lock);
const SLEEP: RequestTime = RequestTime::Thread(State::Sleep);
const OTHER: RequestTime = RequestTime::Thread(State::OtherWait);
const QUEUED: RequestTime = RequestTime::Thread(State::Runqueue);

impl Story {
    /// Two threads that run tasks, both on a CPU.
    fn of_two_threads() -> Self {
        let mut story = Story::begins();
        story.forks(ROOT, CHILD, ROOT).comes(CHILD);
        // What is served is known.
        story.receives(ROOT, client(49_999), 0).sends(ROOT, client(49_999)).after(1);
        story
    }

    fn task(&mut self, tid: Tid, task: u64, did: TaskDid) -> &mut Self {
        self.push(|at| Event::Task { at, tid, task, did })
    }

    fn runs(&mut self, tid: Tid, task: u64) -> &mut Self {
        self.task(tid, task, TaskDid::Runs)
    }

    fn task_waits(&mut self, tid: Tid, task: u64, wait: TaskWait) -> &mut Self {
        let on = if wait == TaskWait::Sleep { 0 } else { 0xc000 + wait as u64 };
        self.task(tid, task, TaskDid::Waits { wait, on, node: None })
    }

    fn makes_ready(&mut self, tid: Tid, task: u64) -> &mut Self {
        self.task(tid, task, TaskDid::Ready)
    }

    /// The slowest request.
    fn slowest(&mut self) -> Vec<(RequestTime, u64)> {
        spans(&requests(&self.ends()).slowest[0])
    }
}

#[test]
fn a_task_that_waits_for_a_lock_goes_on_with_its_request_on_another_thread() {
    let mut story = Story::of_two_threads();
    story.runs(CHILD, 2).receives(CHILD, client(50_001), 0);
    story.runs(ROOT, 1).receives(ROOT, client(50_000), 0);
    story.after(10).task_waits(ROOT, 1, TaskWait::Mutex);
    // Meanwhile the thread has no task.
    story.polls(ROOT).after(30).makes_ready(CHILD, 1);
    story.after(5).task_waits(CHILD, 2, TaskWait::Sleep).after(2).runs(CHILD, 1);
    story.after(3).sends(CHILD, client(50_000));
    let run = story.ends();
    let all = requests(&run);
    assert_eq!(spans(&all.slowest[0]), [(OnCpu, 10), (LOCK, 30), (QUEUED, 7), (OnCpu, 3)]);
    let lock = all.parts.iter().find(|part| part.at == LOCK).expect("a row");
    assert_eq!(lock.on.value(), Some(&WaitTarget::Lock(model::Seen::Value("sync.Mutex".into()))));
    assert_eq!(lock.held[0].at, RequestTime::OtherRequest, "who had it was at that");
}

#[test]
fn a_task_hands_its_request_on_through_a_channel_and_waits_for_it() {
    let mut story = Story::of_two_threads();
    story.runs(CHILD, 2).task_waits(CHILD, 2, TaskWait::Channel);
    story.after(5).runs(ROOT, 1).receives(ROOT, client(50_000), 0);
    story.after(10).makes_ready(ROOT, 2).task_waits(ROOT, 1, TaskWait::Select);
    story.after(1).runs(CHILD, 2).after(4).task_waits(CHILD, 2, TaskWait::Sleep);
    // Who keeps the time works for none.
    story.after(50).makes_ready(ROOT, 2).after(2).runs(ROOT, 2);
    story.after(6).makes_ready(ROOT, 1).task_waits(ROOT, 2, TaskWait::Channel);
    story.after(3).runs(CHILD, 1).after(8).sends(CHILD, client(50_000));
    assert_eq!(
        story.slowest(),
        [(OnCpu, 10), (QUEUED, 1), (OnCpu, 4), (SLEEP, 50), (QUEUED, 2), (OnCpu, 6), (QUEUED, 3), (OnCpu, 8)]
    );
}

#[test]
fn a_free_place_that_another_request_gives_back_hands_nothing_over() {
    let mut story = Story::of_two_threads();
    story.runs(CHILD, 2).receives(CHILD, client(50_001), 0);
    story.runs(ROOT, 1).receives(ROOT, client(50_000), 0);
    story.after(10).task_waits(ROOT, 1, TaskWait::Channel);
    story.after(30).makes_ready(CHILD, 1).runs(ROOT, 1);
    story.after(5).sends(ROOT, client(50_000));
    story.after(50).sends(CHILD, client(50_001));
    let run = story.ends();
    let all = requests(&run);
    assert_eq!(spans(&all.slowest[0]), [(OnCpu, 95)]);
    assert_eq!(spans(&all.slowest[1]), [(OnCpu, 10), (OTHER, 30), (OnCpu, 5)]);
    let channel = all.parts.iter().find(|part| part.at == OTHER).expect("a row");
    assert_eq!(channel.on.value(), Some(&WaitTarget::OfTask(TaskWait::Channel)));
}

#[test]
fn a_peer_is_waited_for_by_the_task_while_its_thread_runs_another() {
    let mut story = Story::of_two_threads();
    story.runs(ROOT, 1).receives(ROOT, client(50_000), 0);
    story.after(10).sends(ROOT, peer()).task_waits(ROOT, 1, TaskWait::Io);
    story.after(1).runs(ROOT, 2).receives(ROOT, client(50_001), 0);
    story.after(70).sends(ROOT, client(50_001)).task_waits(ROOT, 2, TaskWait::Io);
    // What came in 20 ago made it ready, and no task did.
    story.runs(ROOT, 1).receives(ROOT, peer(), 20).after(4).sends(ROOT, client(50_000));
    let run = story.ends();
    let all = requests(&run);
    assert_eq!(spans(&all.slowest[0]), [(OnCpu, 10), (Peer, 51), (QUEUED, 20), (OnCpu, 4)]);
    assert_eq!(spans(&all.slowest[1]), [(OnCpu, 70)]);
}

#[test]
fn a_new_task_works_for_the_request_of_its_maker_which_waits_for_the_group() {
    let mut story = Story::of_two_threads();
    story.runs(ROOT, 1).receives(ROOT, client(50_000), 0);
    story.after(10).makes_ready(ROOT, 2).task_waits(ROOT, 1, TaskWait::Group);
    story.after(2).runs(CHILD, 2).after(40).makes_ready(CHILD, 1);
    // The task has ended, and another one has its place: it works for the next request.
    story.task(CHILD, 2, TaskDid::Ends);
    story.runs(CHILD, 1).after(5).sends(CHILD, client(50_000));
    story.receives(CHILD, client(50_001), 0).after(3).makes_ready(CHILD, 2);
    story.runs(ROOT, 2).after(1).sends(ROOT, client(50_001));
    let run = story.ends();
    let all = requests(&run);
    assert_eq!(spans(&all.slowest[0]), [(OnCpu, 10), (QUEUED, 2), (OnCpu, 45)]);
    assert_eq!(spans(&all.slowest[1]), [(OnCpu, 3), (OnCpu, 1)], "another thread goes on");
}

#[test]
fn a_task_that_makes_way_or_loses_its_thread_in_a_call_is_ready() {
    let mut story = Story::of_two_threads();
    story.runs(ROOT, 1).receives(ROOT, client(50_000), 0);
    // Others run in its place, twice: it says so, and it does not.
    story.after(10).makes_ready(ROOT, 1).runs(ROOT, 2).after(20).task_waits(ROOT, 2, TaskWait::Sleep);
    story.runs(ROOT, 1).after(5).runs(ROOT, 3).after(20).task_waits(ROOT, 3, TaskWait::Sleep);
    story.runs(CHILD, 1).after(5);
    // Its thread sleeps when the call is over, and another one goes on.
    story.leaves(CHILD, super::waiting_in(super::FUTEX, Object::Futex { address: 64 }), none());
    story.after(7).runs(ROOT, 1).after(2).sends(ROOT, client(50_000));
    story.after(90).wakes(CHILD, Waker::Timer, none()).comes(CHILD).after(1);
    assert_eq!(
        story.slowest(),
        [(OnCpu, 10), (QUEUED, 20), (OnCpu, 5), (QUEUED, 20), (OnCpu, 5), (QUEUED, 7), (OnCpu, 2)]
    );
}

#[test]
fn threads_go_on_where_tasks_are_no_longer_followed() {
    let mut story = Story::of_two_threads();
    story.runs(ROOT, 1).receives(ROOT, client(50_000), 0).after(10).task_waits(ROOT, 1, TaskWait::Mutex);
    story.after(5).task(0, 0, TaskDid::Unfollowed);
    // It was on its way.
    story.runs(CHILD, 7);
    story.after(20).sends(CHILD, client(50_000));
    // What that thread did since it last delivered something, as in any program.
    assert_eq!(story.slowest(), [(OnCpu, 10), (OnCpu, 25)]);
}

#[test]
fn an_exchange_with_a_peer_that_nobody_claims_is_for_what_is_answered_next() {
    let mut story = Story::begins();
    // The second one waits for the peer's connection, which the first one has.
    story.receives(ROOT, client(50_000), 0).after(10).sends(ROOT, peer());
    story.after(1).receives(ROOT, client(50_001), 0).after(2).polls(ROOT);
    story.after(50).is_reached(ROOT, peer()).comes(ROOT).receives(ROOT, peer(), 0);
    story.after(5).sends(ROOT, client(50_000)).after(1).sends(ROOT, peer());
    story.polls(ROOT).after(70).is_reached(ROOT, peer()).comes(ROOT).receives(ROOT, peer(), 0);
    story.after(5).sends(ROOT, client(50_001));
    let slowest = story.slowest();
    assert_eq!(slowest[slowest.len() - 3..], [(NoThread, 56), (Peer, 70), (OnCpu, 5)]);
}

#[test]
fn a_lock_with_a_time_limit_that_is_tried_again_is_a_lock() {
    let mut story = Story::begins();
    let node = stack(&mut story, &["park", "pthread_mutex_lock", "serve"]);
    story.receives(ROOT, client(50_000), 0).after(10);
    let wait = (super::FUTEX, Object::Futex { address: 64 });
    waits(&mut story, ROOT, wait, 300, (Waker::Timer, 0), node);
    story.sends(ROOT, client(50_000));
    assert_eq!(only(&story.ends()), [(OnCpu, 10), (LOCK, 300), (QUEUED, 2), (OnCpu, 1)]);
}
