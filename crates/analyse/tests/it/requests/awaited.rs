//! What requests wait for others that are at something goes with that, whatever row it is in.

use super::{FUTEX, NANOSLEEP, US, client, none, requests};
use crate::story::{CHILD, ROOT, Story, by_task, waiting_in};
use model::recording::{Object, Waker};
use model::requests::{RequestPart, RequestTime, Requests, SlowOrTypical};
use model::{Ns, State, Tid};

const THIRD: Tid = CHILD + 1;

fn row(all: &Requests, at: RequestTime) -> &RequestPart {
    all.parts.iter().find(|part| part.at == at).expect("a row")
}

/// What is told first of slow requests, its cause, and p99 without it.
fn first(all: &Requests) -> (RequestTime, Option<&str>, Ns) {
    let found = all.findings.iter().find(|found| found.of == SlowOrTypical::Slow).expect("a finding");
    let part = &all.parts[found.part];
    (part.at, found.cause.value().map(|cause| &*cause.id), part.without.p99_ns)
}

#[test]
fn a_sleep_with_a_lock_takes_the_waits_for_that_along() {
    let mut story = Story::begins();
    let lock = || waiting_in(FUTEX, Object::Futex { address: 64 });
    story.forks(ROOT, CHILD, ROOT).comes(CHILD).forks(ROOT, THIRD, ROOT).comes(THIRD);
    for number in 0..1800 {
        story.receives(ROOT, client(50_000), 0).after(100);
        if number % 50 == 0 {
            // Two wait for the lock, the one behind the other.
            story.receives(CHILD, client(50_001), 150).after(10).leaves(CHILD, lock(), none());
            story.receives(THIRD, client(50_002), 0).after(10).leaves(THIRD, lock(), none());
            story.leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), none());
            story.after(9_000 + number).wakes(ROOT, Waker::Timer, none()).comes(ROOT);
            story.after(5).wakes(CHILD, by_task(ROOT), none()).comes(CHILD);
            story.after(20).wakes(THIRD, by_task(CHILD), none()).comes(THIRD);
            story.after(5).sends(CHILD, client(50_001)).sends(THIRD, client(50_002));
        }
        story.sends(ROOT, client(50_000)).after(10);
    }
    let run = story.ends();
    let all = requests(&run);
    let (sleep, lock) = (RequestTime::Thread(State::Sleep), RequestTime::Thread(State::Lock));
    let (at, cause, p99_ns) = first(all);
    assert_eq!((at, cause), (sleep, None), "all would be gone with it");
    assert!(p99_ns < 500 * US && row(all, lock).without.p99_ns > 9_000 * US, "{:#?}", all.parts);
    let [sleeps, waits] = [sleep, lock].map(|at| row(all, at).slow_ns);
    assert!(sleeps + row(all, sleep).awaited_slow_ns >= 9_000 * US && waits > 0);
    // Who waited behind another that waited is told who had the lock.
    let held = &row(all, lock).held;
    let of_sleep = held.iter().find(|held| held.slow_ns >= waits * 9 / 10).expect("one has most");
    assert!(
        of_sleep
            .call
            .value()
            .and_then(|call| call.syscall())
            .is_some_and(|name| name.to_string() == "nanosleep")
    );
}

#[test]
fn what_blocks_an_event_loop_takes_those_along_that_wait_for_it() {
    let mut story = Story::begins();
    for number in 0..1800 {
        let long = number % 50 == 0;
        story.receives(ROOT, client(50_000), 0).after(if long { 9_000 + number } else { 100 });
        story.sends(ROOT, client(50_000));
        if long {
            for port in 50_001..50_003 {
                story.receives(ROOT, client(port), 8_950 + number).after(100).sends(ROOT, client(port));
            }
        }
        story.after(10);
    }
    let run = story.ends();
    let all = requests(&run);
    let (at, cause, p99_ns) = first(all);
    assert_eq!(at, RequestTime::OnCpu);
    assert!(cause.is_some() && p99_ns < 500 * US, "{cause:?} {p99_ns}");
    let other = row(all, RequestTime::OtherRequest);
    assert!(other.without.p99_ns > 8_000 * US, "those that blocked it take as long");
}
