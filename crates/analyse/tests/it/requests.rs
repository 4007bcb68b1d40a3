//! Requests that a server answers: who works for which, and where their time goes.

mod awaited;
mod tasks;

use crate::story::{CHILD, READ, RECVFROM, ROOT, Story, by_task, ends, none, waiting_in};
use model::recording::{Event, Object, SocketEnds, Waker};
use model::requests::{RequestTime, Requests, SlowRequest, Unit, Units};
use model::{Ns, Run, Seen, State, Tid};

const US: Ns = 1000;
const FUTEX: u16 = 202;
const EPOLL_WAIT: u16 = 232;
const NANOSLEEP: u16 = 35;

/// A client's connection, and one to a peer.
fn client(port: u16) -> SocketEnds {
    ends(80, port)
}

fn peer() -> SocketEnds {
    ends(40_000, 5432)
}

impl Story {
    /// A thread receives what came in `before_us` before.
    fn receives(&mut self, tid: Tid, ends: SocketEnds, before_us: u64) -> &mut Self {
        let bytes = 10;
        self.push(|at| Event::Received {
            at,
            tid,
            ends,
            arrived: Some(at - before_us * US),
            bytes,
            calls: none(),
        })
    }

    fn hears_no_more(&mut self, tid: Tid, ends: SocketEnds) -> &mut Self {
        self.push(|at| Event::Received { at, tid, ends, arrived: None, bytes: 0, calls: none() })
    }

    fn sends(&mut self, tid: Tid, ends: SocketEnds) -> &mut Self {
        self.push(|at| Event::Send { at, tid, ends, calls: none() })
    }

    fn turns_to_left_out(&mut self, tid: Tid, ends: SocketEnds) -> &mut Self {
        self.push(|at| Event::LeftOut { at, tid, ends, calls: none() })
    }

    fn comes_past(&mut self, tid: Tid, begins: bool) -> &mut Self {
        self.push(|at| Event::Unit { at, tid, begins })
    }

    fn polls(&mut self, tid: Tid) -> &mut Self {
        self.leaves(tid, waiting_in(EPOLL_WAIT, Object::Unknown), none())
    }

    fn is_reached(&mut self, tid: Tid, ready: SocketEnds) -> &mut Self {
        self.wakes(tid, Waker::Network { over: 9000, ready: Some(ready) }, none())
    }
}

fn requests(run: &Run) -> &Requests {
    run.tables.requests.value().expect("it answered some")
}

/// One whole request, as (what, microseconds), in order.
fn spans(request: &SlowRequest) -> Vec<(RequestTime, u64)> {
    let sum: Ns = request.spans.iter().map(|span| span.ns).sum();
    assert_eq!(sum, request.latency_ns, "it closes");
    request.spans.iter().map(|span| (span.at, span.ns / US)).collect()
}

fn only(run: &Run) -> Vec<(RequestTime, u64)> {
    let all = requests(run);
    assert_eq!((all.times, all.slowest.len()), (1, 1), "{all:#?}");
    let sum: Ns = all.parts.iter().map(|part| part.mean_ns).sum();
    assert_eq!(sum, all.latency.max_ns);
    spans(&all.slowest[0])
}

#[test]
fn the_time_of_a_request_is_that_of_who_received_it_until_its_answer() {
    let mut story = Story::begins();
    story.forks(ROOT, CHILD, ROOT);
    story.leaves(ROOT, waiting_in(RECVFROM, Object::Net(client(50_000))), none()).comes(CHILD);
    // It holds the lock, for a request that it does not answer.
    story.receives(CHILD, client(50_001), 0);
    story.after(100).is_reached(ROOT, client(50_000)).after(7).comes(ROOT);
    story.after(3).receives(ROOT, client(50_000), 10);
    let lock = Object::Futex { address: 64 };
    story.after(20).leaves(ROOT, waiting_in(FUTEX, lock), none());
    story.after(30).wakes(ROOT, by_task(CHILD), none()).after(4).comes(ROOT);
    story.after(5).sends(ROOT, client(50_000));
    // What it does afterwards is of no request.
    story.after(500).leaves(ROOT, waiting_in(READ, Object::Unknown), none());
    story.after(5).wakes(ROOT, by_task(CHILD), none()).comes(ROOT);
    let run = story.ends();
    let all = requests(&run);
    assert_eq!((all.times, all.under_way), (1, 1), "the other is not answered");
    let lock = RequestTime::Thread(State::Lock);
    let queued = RequestTime::Thread(State::Runqueue);
    assert_eq!(
        spans(&all.slowest[0]),
        [(queued, 7), (RequestTime::OnCpu, 23), (lock, 30), (queued, 4), (RequestTime::OnCpu, 5)]
    );
    assert_eq!(all.latency.max_ns, 69 * US);
    let waited = all.parts.iter().find(|part| part.at == lock).expect("a row");
    assert_eq!((waited.typical_ns, waited.slow_ns, waited.more_ns), (30 * US, 30 * US, [0, 0]));
    assert_eq!(waited.held[0].at, RequestTime::OtherRequest, "who held it was at that");
}

#[test]
fn an_event_loop_turns_from_one_request_to_another_and_back() {
    let mut story = Story::begins();
    story.receives(ROOT, client(50_000), 0);
    story.after(10).sends(ROOT, peer());
    story.after(5).polls(ROOT);
    story.after(100).is_reached(ROOT, client(50_001)).comes(ROOT);
    story.receives(ROOT, client(50_001), 0);
    // The peer answers 60 after that request came, which takes 80.
    story.after(80).sends(ROOT, client(50_001));
    story.receives(ROOT, peer(), 20);
    story.after(30).sends(ROOT, client(50_000));
    let run = story.ends();
    let all = requests(&run);
    assert_eq!(all.times, 2);
    assert_eq!(
        spans(&all.slowest[0]),
        [
            (RequestTime::OnCpu, 15),
            (RequestTime::Peer, 160),
            (RequestTime::OtherRequest, 20),
            (RequestTime::OnCpu, 30)
        ]
    );
    assert_eq!(spans(&all.slowest[1]), [(RequestTime::OnCpu, 80)]);
    let of_peer = all.parts.iter().find(|part| part.at == RequestTime::Peer).expect("a row");
    assert_eq!(of_peer.on.value().map(ToString::to_string).as_deref(), Some("tcp 127.0.0.1:5432"));
}

#[test]
fn a_request_that_is_counted_only_takes_no_part_of_one_that_is_followed() {
    let mut story = Story::begins();
    story.receives(ROOT, client(50_000), 0);
    story.after(10).sends(ROOT, peer());
    story.after(5).polls(ROOT);
    story.after(100).is_reached(ROOT, client(50_001)).comes(ROOT);
    // It takes 80, and asks a peer on another connection, whose answer is taken at once.
    story.turns_to_left_out(ROOT, client(50_001));
    story.after(40).sends(ROOT, ends(40_001, 5432)).receives(ROOT, ends(40_001, 5432), 0);
    story.after(40).receives(ROOT, peer(), 20);
    story.after(30).sends(ROOT, client(50_000));
    // The next one on its own connection is no part of it either, nor is that one's answer.
    story.after(10).turns_to_left_out(ROOT, client(50_000));
    story.after(10).sends(ROOT, client(50_000));
    let run = story.ends();
    assert_eq!(
        only(&run),
        [
            (RequestTime::OnCpu, 15),
            (RequestTime::Peer, 160),
            (RequestTime::OtherRequest, 20),
            (RequestTime::OnCpu, 30)
        ]
    );
}

#[test]
fn what_a_followed_request_waits_for_after_one_that_is_counted_only_is_its_own() {
    let mut story = Story::begins();
    // Another request is followed, so that there is one.
    story.receives(ROOT, client(50_000), 0).sends(ROOT, client(50_000));
    story.after(5).turns_to_left_out(ROOT, client(50_001));
    story.after(40).polls(ROOT);
    story.after(100).is_reached(ROOT, client(50_002)).after(30).comes(ROOT);
    story.after(4).receives(ROOT, client(50_002), 34);
    story.after(10).sends(ROOT, client(50_002));
    let run = story.ends();
    let slowest = &requests(&run).slowest[0];
    let queued = RequestTime::Thread(State::Runqueue);
    assert_eq!(spans(slowest), [(queued, 30), (RequestTime::OnCpu, 14)]);
}

#[test]
fn requests_of_busy_times_count_as_much_as_those_of_quiet_ones() {
    let mut story = Story::begins();
    // 100 that stand for themselves take 10 us, and 100 that stand for eight each take 50.
    for number in 0..200_u16 {
        if number >= 100 {
            story.push(|at| Event::Drawn { at, tid: ROOT, one_in: 8 });
        }
        story.receives(ROOT, client(40_000 + number), 0);
        story.after(if number < 100 { 10 } else { 50 }).sends(ROOT, client(40_000 + number));
    }
    let all = story.ends();
    let all = requests(&all);
    assert_eq!(all.times, 200, "that many were followed");
    // (100 + 800)^2 / (100 + 100 * 64): an even draw of that many tells as much.
    let drawn: u64 = all.bins.iter().map(|bin| bin.times).sum();
    assert_eq!(drawn, 125);
    let slow: u64 = all.bins.iter().filter(|bin| bin.ns_min > 30 * US).map(|bin| bin.times).sum();
    assert!((110..=112).contains(&slow), "eight of nine: {slow}");
}

#[test]
fn who_is_woken_from_a_queue_goes_on_with_the_request_and_hands_it_back() {
    let queue = || waiting_in(FUTEX, Object::Futex { address: 128 });
    let mut story = Story::begins();
    story.forks(ROOT, CHILD, ROOT).comes(CHILD).leaves(CHILD, queue(), none());
    story.after(10).receives(ROOT, client(50_000), 0);
    story.after(10).wakes(CHILD, by_task(ROOT), none());
    story.leaves(ROOT, waiting_in(FUTEX, Object::Futex { address: 256 }), none());
    story.after(2).comes(CHILD);
    let timer = waiting_in(NANOSLEEP, Object::Unknown);
    story.after(8).leaves(CHILD, timer, none()).after(50).wakes(CHILD, Waker::Timer, none()).comes(CHILD);
    story.after(5).wakes(ROOT, by_task(CHILD), none()).leaves(CHILD, queue(), none());
    story.after(3).comes(ROOT).after(4).sends(ROOT, client(50_000));
    let queued = RequestTime::Thread(State::Runqueue);
    assert_eq!(
        only(&story.ends()),
        [
            (RequestTime::OnCpu, 10),
            (queued, 2),
            (RequestTime::OnCpu, 8),
            (RequestTime::Thread(State::Sleep), 50),
            (RequestTime::OnCpu, 5),
            (queued, 3),
            (RequestTime::OnCpu, 4)
        ]
    );
}

#[test]
fn what_a_busy_loop_left_in_the_socket_waited_for_its_other_request() {
    let mut story = Story::begins();
    story.receives(ROOT, client(50_000), 0);
    story.after(90).sends(ROOT, client(50_000));
    story.receives(ROOT, client(50_001), 40);
    story.after(10).sends(ROOT, client(50_001));
    let run = story.ends();
    let all = requests(&run);
    assert_eq!(spans(&all.slowest[1]), [(RequestTime::OtherRequest, 40), (RequestTime::OnCpu, 10)]);
}

#[test]
fn a_timer_of_the_program_is_no_threads_time() {
    let mut story = Story::begins();
    story.receives(ROOT, client(50_000), 0);
    story.after(10).polls(ROOT);
    story.after(20).is_reached(ROOT, client(50_001)).comes(ROOT);
    story.receives(ROOT, client(50_001), 0);
    story.after(5).sends(ROOT, client(50_001)).polls(ROOT);
    story.after(30).wakes(ROOT, Waker::Timer, none()).after(1).comes(ROOT);
    story.after(6).sends(ROOT, client(50_000));
    let run = story.ends();
    assert_eq!(
        spans(&requests(&run).slowest[0]),
        [
            (RequestTime::OnCpu, 10),
            (RequestTime::NoThread, 55),
            (RequestTime::Thread(State::Runqueue), 1),
            (RequestTime::OnCpu, 6)
        ]
    );
}

#[test]
fn an_answer_ends_with_its_last_piece_and_what_is_pushed_later_belongs_to_none() {
    let mut story = Story::begins();
    story.receives(ROOT, client(50_000), 0);
    story.after(10).sends(ROOT, client(50_000));
    let timer = || waiting_in(NANOSLEEP, Object::Unknown);
    story.leaves(ROOT, timer(), none()).after(5).wakes(ROOT, Waker::Timer, none()).comes(ROOT);
    story.sends(ROOT, client(50_000));
    // Idle, for half a minute; then it is at another, and pushes something to this one.
    story.polls(ROOT).after(30_000_000).is_reached(ROOT, client(50_001)).comes(ROOT);
    story.receives(ROOT, client(50_001), 0);
    story.after(3).sends(ROOT, client(50_000)).sends(ROOT, client(50_001));
    let run = story.ends();
    let all = requests(&run);
    let taken: Vec<u64> = all.slowest.iter().map(|one| one.latency_ns / US).collect();
    assert_eq!((all.times, &taken[..]), (2, &[15, 3][..]));
}

#[test]
fn requests_that_end_otherwise_are_counted_apart() {
    let mut story = Story::begins();
    story.receives(ROOT, client(50_000), 0).after(10).hears_no_more(ROOT, client(50_000));
    // In two pieces, answered once.
    story.receives(ROOT, client(50_001), 0).after(10).receives(ROOT, client(50_001), 0);
    story.after(10).sends(ROOT, client(50_001));
    story.receives(ROOT, client(50_002), 0);
    let run = story.ends();
    let all = requests(&run);
    assert_eq!((all.times, all.abandoned, all.under_way, all.began_before), (1, 1, 1, 0));
    assert_eq!(all.latency.max_ns, 20 * US);
}

#[test]
fn of_a_window_only_those_count_that_began_in_it() {
    let mut story = Story::begins();
    story.receives(ROOT, client(50_000), 0).after(10);
    let window = 1_000_000 + 6 * US;
    story.sends(ROOT, client(50_000)).receives(ROOT, client(50_000), 0);
    story.after(10).sends(ROOT, client(50_000));
    let run = story.seen_from(window);
    let all = requests(&run);
    assert_eq!((all.times, all.began_before), (1, 1));
}

#[test]
fn a_program_that_serves_nothing_has_no_requests() {
    let mut story = Story::begins();
    story.sends(ROOT, peer()).after(10).receives(ROOT, peer(), 3);
    let run = story.ends();
    assert!(matches!(run.tables.requests, Seen::Absent));
}

#[test]
fn slow_requests_have_more_of_what_was_planted() {
    let mut story = Story::begins();
    let timer = || waiting_in(NANOSLEEP, Object::Unknown);
    for number in 0..600u64 {
        story.receives(ROOT, client(50_000), 0).after(100 + number % 7);
        if number % 100 == 50 {
            story.leaves(ROOT, timer(), none()).after(9_000).wakes(ROOT, Waker::Timer, none()).comes(ROOT);
        }
        story.sends(ROOT, client(50_000)).after(10);
    }
    let run = story.ends();
    let all = requests(&run);
    assert_eq!((all.times, all.slow, all.typical), (600, 6, 120));
    let first = &all.parts[0];
    assert_eq!(
        (first.at, first.typical_ns, first.slow_ns),
        (RequestTime::Thread(State::Sleep), 0, 9_000 * US)
    );
    assert_eq!(first.more_ns, [9_000_000, 9_000_000]);
    let sum = |of: fn(&model::requests::RequestPart) -> Ns| all.parts.iter().map(of).sum::<Ns>();
    assert!(sum(|part| part.mean_ns).abs_diff(all.latency.mean_ns) <= all.parts.len() as u64);
    let slow: Ns = all.slowest[..6].iter().map(|one| one.latency_ns).sum::<Ns>() / 6;
    assert!(sum(|part| part.slow_ns).abs_diff(slow) <= all.parts.len() as u64);
    assert!((9_090_000..9_110_000).contains(&all.slow_ns_min), "{}", all.slow_ns_min);
}

#[test]
fn what_the_tree_asks_itself_is_part_of_what_it_is_asked() {
    let asked = |outside: bool| {
        let mut story = Story::begins();
        let (front, back) = (ends(80, 50_000), ends(70, 40_000));
        story.forks(ROOT, CHILD, CHILD).comes(CHILD);
        if outside {
            story.receives(ROOT, front, 0);
        }
        story.after(10).sends(ROOT, back.reversed()).receives(CHILD, back, 0);
        story.after(20).sends(CHILD, back).receives(ROOT, back.reversed(), 0);
        if outside {
            story.after(5).sends(ROOT, front);
        }
        let run = story.ends();
        requests(&run).slowest.iter().map(|one| one.latency_ns / US).collect::<Vec<_>>()
    };
    assert_eq!(asked(true), [35]);
    assert_eq!(asked(false), [20], "where nobody else asks, these are the requests");
}

#[test]
fn a_cycle_is_what_a_thread_does_between_two_sleeps() {
    let timer = || waiting_in(NANOSLEEP, Object::Unknown);
    let mut story = Story::begins();
    story.forks(ROOT, CHILD, ROOT);
    // What comes before the first sleep is of no cycle.
    story.after(50).leaves(ROOT, timer(), none()).comes(CHILD);
    story.after(100).wakes(ROOT, Waker::Timer, none()).after(7).comes(ROOT);
    story.after(20).leaves(ROOT, waiting_in(FUTEX, Object::Futex { address: 64 }), none());
    story.after(30).wakes(ROOT, by_task(CHILD), none()).after(4).comes(ROOT);
    story.after(5).leaves(ROOT, timer(), none());
    story.after(40).wakes(ROOT, Waker::Timer, none()).comes(ROOT);
    story.after(9).leaves(ROOT, timer(), none());
    story.after(40).wakes(ROOT, Waker::Timer, none()).comes(ROOT).after(1);
    let deadline_ns = Some(50 * US);
    let run = story.told_in(Units { unit: Unit::Cycle, deadline_ns, ..Units::default() });
    let all = requests(&run);
    assert_eq!((all.times, all.under_way, all.deadline.map(|of| of.missed)), (2, 1, Some(1)));
    let (late, lock) = (RequestTime::ReleasedLate, RequestTime::Thread(State::Lock));
    let queued = RequestTime::Thread(State::Runqueue);
    assert_eq!(
        spans(&all.slowest[0]),
        [(late, 7), (RequestTime::OnCpu, 20), (lock, 30), (queued, 4), (RequestTime::OnCpu, 5)]
    );
    assert_eq!(spans(&all.slowest[1]), [(RequestTime::OnCpu, 9)]);
    assert_eq!((all.slow, all.kinds.len()), (1, 1), "the late one is the slow one");
    let of_others = Units { unit: Unit::Cycle, thread: Some("nobody".into()), ..Units::default() };
    assert_eq!(requests(&story.told_in(of_others)).times, 0);
}

#[test]
fn a_call_is_what_its_thread_does_from_mark_to_mark() {
    let timer = || waiting_in(NANOSLEEP, Object::Unknown);
    let mut story = Story::begins();
    // One that began before is none.
    story.after(10).comes_past(ROOT, false);
    story.after(20).comes_past(ROOT, true).after(30).leaves(ROOT, timer(), none());
    story.after(100).wakes(ROOT, Waker::Timer, none()).after(7).comes(ROOT);
    story.after(5).comes_past(ROOT, false);
    // One that is left without an end, one that takes no longer than its own code, one under way.
    story.after(3).comes_past(ROOT, true).after(4).comes_past(ROOT, true);
    story.after(9).comes_past(ROOT, false).after(40).comes_past(ROOT, true).after(11);
    let units = Units { unit: Unit::Call, of: Some("work".into()), ..Units::default() };
    let run = story.told_in(units);
    let all = requests(&run);
    assert_eq!((all.times, all.abandoned, all.under_way), (2, 1, 1));
    assert_eq!((all.unit, all.unit_of.as_deref()), (Unit::Call, Some("work")));
    let (sleep, queued) = (RequestTime::Thread(State::Sleep), RequestTime::Thread(State::Runqueue));
    assert_eq!(
        spans(&all.slowest[0]),
        [(RequestTime::OnCpu, 30), (sleep, 100), (queued, 7), (RequestTime::OnCpu, 5)]
    );
    assert_eq!(spans(&all.slowest[1]), [(RequestTime::OnCpu, 9)]);
}
