//! What the processor's counters say of the path, told in small stories.

use crate::story::*;
use model::counters::{Counted, CountedCode, Counter, CounterTimes, CountersObserved};
use model::recording::{Counters, Event, Object, SwitchOutState, Tier, Trailer, Waker};
use model::{Run, Seen, Tid};

const PERIOD: u64 = 1000;

/// Adds samples of cycles, and half as many of instructions, in this thread's own code.
fn struck(story: &mut Story, tid: Tid, samples: u64) -> &mut Story {
    for (counter, samples) in [(Counter::Cycles, samples), (Counter::Instructions, samples / 2)] {
        for _ in 0..samples {
            story.push(|at| Event::Counted { at, tid, counter, count: PERIOD, kernel: false, node: None });
        }
    }
    story
}

fn were_there(trailer: &mut Trailer) {
    let times = CounterTimes { enabled_ns: 1, running_ns: 1, period: PERIOD, precise: false };
    let of = [Counter::Cycles, Counter::Instructions].map(|counter| (counter, Seen::Value(times)));
    let slots_per_cycle = Seen::Absent;
    trailer.counters =
        Seen::Value(CountersObserved { of: of.into(), slots_per_cycle, kernel: true, lost: 0 });
}

fn thousands(counted: &Counted) -> [u64; 2] {
    [0, 1].map(|at| counted.counts[at].count.value().expect("it counted") / PERIOD)
}

/// Thousands of cycles and of instructions in user code: of all threads, and of the path.
fn cycles(run: &Run) -> ([u64; 2], Seen<[u64; 2]>) {
    let table = run.tables.counters.value().expect("there are counters");
    let path = table.path.as_ref().map(|path: &CountedCode| thousands(&path.user));
    (thousands(&table.all.user), path)
}

/// The root waits for a child; another process computes beside it, and holds nothing up.
fn two_beside(told: impl FnOnce(&Story) -> Run) -> Run {
    let mut story = Story::begins();
    story.after(9).forks(ROOT, CHILD, CHILD).forks(ROOT, 300, 300);
    story.after(1).leaves(ROOT, waiting_in(WAIT4, Object::Unknown), none()).comes(CHILD).comes(300);
    struck(&mut story, CHILD, 40);
    struck(story.after(50), 300, 90);
    story.after(50).exits(CHILD, none()).wakes(ROOT, by_task(CHILD), none()).dies(CHILD).comes(ROOT);
    struck(story.after(5), ROOT, 10);
    story.after(5).exits(ROOT, none());
    story.leaves(ROOT, SwitchOutState::Dead(Counters::default()), none());
    told(&story)
}

#[test]
fn the_path_has_what_was_counted_of_those_who_held_it_up() {
    let run = two_beside(|story| story.told_as(Tier::Bpf, were_there));
    assert_eq!(cycles(&run), ([140, 70], Seen::Value([50, 25])));
    let path = run.tables.counters.value().and_then(|table| table.path.value()).expect("there is a path");
    assert_eq!(path.samples, 50);
    let clock = path.clock_hz.value().expect("enough samples");
    // 50,000 cycles in 120 us of user code and none in the kernel.
    assert!((clock / 1e9 - 0.417).abs() < 0.001, "{clock}");
}

/// What stands for a sleep has the part of the counts that it has of the worker's time.
#[test]
fn a_sleep_that_others_worked_through_has_what_was_counted_of_them() {
    let worker = 101;
    let mut story = Story::begins();
    story.forks(ROOT, worker, ROOT).comes(worker);
    story.leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), none());
    struck(story.after(50), worker, 60);
    story.after(50).wakes(ROOT, Waker::Timer, none()).comes(ROOT).after(5);
    let ends = SwitchOutState::Dead(Counters::default());
    story.exits(ROOT, inside(EXIT_GROUP, 0)).leaves(ROOT, ends, none());
    story.after(2).exits(worker, none()).after(3).dies(worker);
    let run = story.told_as(Tier::Bpf, were_there);
    let (all, path) = cycles(&run);
    // 100 of the 105 us of it that were heard of together are on the path.
    assert_eq!((all, path), ([60, 30], Seen::Value([57, 28])));
}

#[test]
fn without_wake_ups_the_path_has_what_was_counted_while_it_lay_there() {
    let run = two_beside(|story| story.told_as(Tier::Perf, were_there));
    let (all, path) = cycles(&run);
    let path = path.value().copied().expect("there is a path");
    assert_eq!(all, [140, 70]);
    assert!(path[0] >= 10 && path[0] <= 100, "one of both children, and the root: {path:?}");
}
