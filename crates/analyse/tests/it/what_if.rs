//! What the wall clock would have been with edits, told in small stories. Times are microseconds.
//!
//! At the end, programs are simulated on machines with few CPUs and with many, recorded, and
//! simulated again as edited: what they take there is the truth.

use crate::story::*;
use dwell_analyse::what_if::{Edit, Refused, Replayer};
use model::recording::{
    CodeLocation, Comm, Event, FileKind, Function, Object, SampleMode, SwitchIn, SwitchOut, SwitchOutState,
    Tier, Waker,
};
use model::run::Class;
use model::what_if::ReplayAssumption;
use model::{Ns, Seen, State, Tid, WhatIf};

mod machine;

const FSYNC: u16 = 74;
const FUTEX: u16 = 202;
const EXIT: u16 = 60;
const US: Ns = 1000;

/// The story's replay, which without edits is the recorded wall clock.
fn replayed(story: &Story, edits: &[&str]) -> WhatIf {
    let what_if = story.replayed(edits).unwrap_or_else(|refused| panic!("{edits:?}: {refused}"));
    assert_eq!(what_if.replay.unedited_ns, what_if.wall_ns, "{what_if:#?}");
    for (path, wall_ns) in
        [(&what_if.path_before, what_if.replay.unedited_ns), (&what_if.path_after, what_if.replay.edited_ns)]
    {
        assert_eq!(path.account.iter().map(|part| part.ns).sum::<Ns>(), wall_ns);
        assert_eq!(path.places.iter().map(|place| place.ns).sum::<Ns>() + path.rest_ns, wall_ns);
    }
    what_if
}

/// By how much the story is shorter: at least, and by what was seen.
fn saved_us(story: &Story, edits: &[&str]) -> (i64, i64) {
    let WhatIf { saving, after, .. } = replayed(story, edits);
    let chance_ns = after.chance_ns as i64;
    assert_eq!(saving.hi_ns, saving.ns + chance_ns, "the replay is exact without edits");
    ((saving.lo_ns + chance_ns) / US as i64, saving.ns / US as i64)
}

fn refused(story: &Story, edits: &[&str]) -> String {
    story.replayed(edits).expect_err("it names nothing").to_string()
}

fn futex(address: u64) -> SwitchOutState {
    waiting_in(FUTEX, Object::Futex { address })
}

/// Ends the story: the root leaves.
fn ends(story: &mut Story) {
    story.exits(ROOT, inside(EXIT_GROUP, 0));
    story.after(1).leaves(ROOT, SwitchOutState::Dead(Default::default()), inside(EXIT_GROUP, 1));
}

/// A thread ends and wakes the root, which waits for its end.
fn ends_and_wakes_root(story: &mut Story, tid: Tid) {
    story.exits(tid, inside(EXIT, 0));
    story.wakes(ROOT, by_task(tid), inside(EXIT, 0)).comes(ROOT).dies(tid);
}

fn flushes(story: &mut Story, us: u64, number: u16, call_us: u64) {
    story.after(us).push(|at| Event::Flush { at, tid: ROOT, calls: call(number, call_us) });
}

/// Two threads that each work for 100 with a lock: the second one waits for the first. The root
/// joins both.
fn two_under_one_lock() -> Story {
    let mut story = Story::begins();
    let (one, two) = (CHILD, CHILD + 1);
    story.forks(ROOT, one, ROOT).comes(one).forks(ROOT, two, ROOT).comes(two);
    story.leaves(ROOT, futex(4096), none()).leaves(two, futex(16), none());
    story.after(100).wakes(two, by_task(one), inside(FUTEX, 0)).comes(two);
    ends_and_wakes_root(&mut story, one);
    story.leaves(ROOT, futex(8192), none());
    story.after(100);
    ends_and_wakes_root(&mut story, two);
    ends(&mut story);
    story
}

#[test]
fn a_lock_that_is_dropped_lets_two_threads_run_at_once() {
    let story = two_under_one_lock();
    assert_eq!(saved_us(&story, &["lock=0"]), (0, 100), "while it waited, the other one worked");
    assert_eq!(saved_us(&story, &["lock:0x10=0"]), (0, 100));
    assert_eq!(saved_us(&story, &["lock=0.25"]), (0, 75), "it waits for a quarter of the time");
    assert_eq!(saved_us(&story, &["lock=30us"]), (0, 70));
    assert_eq!(saved_us(&story, &["lock=0", "cpus=1"]), (0, 0), "one CPU has the work of both");
    let after = replayed(&story, &["lock=0"]);
    assert_eq!(
        (after.edits[0].times.clone(), after.edits[0].path_ns.clone()),
        (Seen::Value(1), Seen::Value(100 * US))
    );
    assert!(after.assumptions.contains(&ReplayAssumption::FutexesAreLocks), "no stack says that it is one");
    let nearest = refused(&story, &["lock:0x11=0"]);
    assert!(nearest.contains("lock:0x10 (0.100 ms)") && nearest.contains("no futex lock"), "{nearest}");
}

#[test]
fn who_waits_for_a_child_goes_on_when_it_has_ended() {
    let mut story = Story::begins();
    story.after(9).forks(ROOT, CHILD, CHILD).comes(CHILD);
    story.leaves(ROOT, waiting_in(WAIT4, Object::Unknown), none());
    story.after(90).exits(CHILD, call(READ, 60)).wakes(ROOT, by_task(CHILD), none()).dies(CHILD).comes(ROOT);
    story.after(10);
    ends(&mut story);
    assert_eq!(saved_us(&story, &["read=0"]), (60, 60));
    assert_eq!(saved_us(&story, &["read=0.5"]), (30, 30));
    assert_eq!(saved_us(&story, &["read=2"]), (-60, -60), "it may also take longer");
    assert_eq!(saved_us(&story, &["program:root=0"]).1, 110 + 1 - 1, "all but the execve");
    let error = refused(&story, &["wait4=0"]);
    assert!(error.contains("no system call of that name") && error.contains("read (0.060 ms)"), "{error}");
}

#[test]
fn the_rest_of_a_sleep_that_was_interrupted_is_of_the_call_that_was_made() {
    const RESTART_SYSCALL: u16 = 219;
    let mut story = Story::begins();
    let signalled = || Waker::Task { tid: 7, name: Some(Comm::from("kill")) };
    story.after(9).leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), none());
    story.after(40).wakes(ROOT, signalled(), none()).comes(ROOT);
    story.leaves(ROOT, SwitchOutState::Stopped, call(NANOSLEEP, 0));
    story.after(5).wakes(ROOT, signalled(), none()).comes(ROOT);
    story.leaves(ROOT, waiting_in(RESTART_SYSCALL, Object::Unknown), none());
    story.after(60).wakes(ROOT, Waker::Timer, none()).comes(ROOT).after(10);
    ends(&mut story);
    assert_eq!(saved_us(&story, &["nanosleep=0"]), (100, 100), "both parts of it");
    let error = refused(&story, &["restart_syscall=0"]);
    assert!(error.contains("nanosleep (0.100 ms)"), "{error}");
}

#[test]
fn each_of_two_that_take_turns_waits_for_the_other() {
    let mut story = Story::begins();
    story.forks(ROOT, CHILD, ROOT).comes(CHILD).leaves(CHILD, futex(16), none());
    for _ in 0..5 {
        story.after(10).wakes(CHILD, by_task(ROOT), none()).comes(CHILD).leaves(ROOT, futex(32), none());
        story.after(20).wakes(ROOT, by_task(CHILD), call(READ, 8)).comes(ROOT).leaves(
            CHILD,
            futex(16),
            none(),
        );
    }
    story.wakes(CHILD, by_task(ROOT), none()).comes(CHILD);
    story.exits(CHILD, none()).dies(CHILD);
    ends(&mut story);
    assert_eq!(saved_us(&story, &["read=0"]), (40, 40));
    assert_eq!(saved_us(&story, &["cpus=1"]), (0, 0), "only one of them works at a time");
    assert_eq!(saved_us(&story, &["lock=0"]).1, 51, "the one that works longer is left");
}

/// Four children that each work for 3,000 on two CPUs, by turns of 1,000.
fn four_on_two_cpus() -> Story {
    let mut story = Story::begins();
    for child in CHILD..CHILD + 4 {
        story.forks(ROOT, child, child);
    }
    let switch = |at, cpu, out: Option<(Tid, SwitchOutState)>, into: Option<Tid>| Event::Switch {
        at,
        cpu,
        out: out.map(|(tid, left)| SwitchOut { tid, left, calls: none() }),
        into: into.map(|tid| SwitchIn { tid, ran: None, throttled_ns: 0 }),
    };
    let waits = || waiting_in(WAIT4, Object::Unknown);
    story.push(|at| switch(at, 0, Some((ROOT, waits())), Some(CHILD)));
    story.push(|at| switch(at, 1, None, Some(CHILD + 1)));
    for turn in 1..6 {
        story.after(1000);
        for cpu in 0..2 {
            let of = |turn: u32| CHILD + (turn % 2) * 2 + cpu;
            let (out, into) = (of(turn - 1), of(turn));
            let left =
                if turn == 5 { SwitchOutState::Dead(Default::default()) } else { SwitchOutState::Runnable };
            if turn == 5 {
                story.exits(out, none());
            }
            story.push(|at| switch(at, cpu, Some((out, left)), Some(into)));
        }
    }
    story.after(1000);
    for cpu in 0..2 {
        let child = CHILD + 2 + cpu;
        story.exits(child, none());
        if cpu == 1 {
            story.wakes(ROOT, by_task(child), none());
        }
        let into = (cpu == 1).then_some(ROOT);
        story.push(|at| switch(at, cpu, Some((child, SwitchOutState::Dead(Default::default()))), into));
    }
    ends(&mut story);
    story
}

#[test]
fn four_that_want_a_cpu_take_half_the_time_on_twice_as_many() {
    let story = four_on_two_cpus();
    assert_eq!(saved_us(&story, &["cpus=4"]), (3000, 3000));
    assert_eq!(saved_us(&story, &["cpus=1"]), (-6000, -6000));
    assert_eq!(saved_us(&story, &["cpus=3"]), (2000, 2000), "four times 3000 on three");
    let what_if = replayed(&story, &["cpus=4"]);
    assert_eq!((what_if.replay.cpus_recorded, what_if.replay.cpus), (2, 4));
    assert_eq!(what_if.path_after.bound.class, Class::Cpu);
    let queued = |path: &model::what_if::ReplayedPath| -> Ns {
        path.account.iter().filter(|part| part.state == State::Runqueue).map(|part| part.ns).sum()
    };
    assert_eq!((queued(&what_if.path_before), queued(&what_if.path_after)), (3_000_000, 0));
    assert!(what_if.assumptions.contains(&ReplayAssumption::EqualCpus));
    // Others had one of two CPUs; they may be on the two that come into use as well.
    let beside = story.trailer_beside(12_000 + 1_000_000);
    let after = story.replayed_with(&["cpus=4"], &beside).expect("it is whole").after;
    assert_eq!(after.ns, what_if.after.ns);
    let later_us = (after.hi_ns - after.chance_ns - after.ns) / US;
    assert!((1400..=1600).contains(&later_us), "half as long again: {later_us}");
    let fewer = story.replayed_with(&["cpus=1"], &beside).expect("it is whole").after;
    assert_eq!(fewer.hi_ns - fewer.chance_ns, fewer.ns, "on fewer CPUs there is more room");
}

/// Three times: 10 of its own, a flush that takes 4 on a CPU, 50 for the disk, 1 until the CPU has
/// woken up, and 2 on it again.
fn flush_each_record() -> Story {
    let file = Object::File { kind: FileKind::Disk, dev: 254 << 20, ino: 7, name: "log".into() };
    let mut story = Story::begins();
    for _ in 0..3 {
        story.after(14).leaves(ROOT, waiting_in(FSYNC, file.clone()), inside(FSYNC, 4));
        story.after(50).wakes(ROOT, Waker::Device, none()).after(1).comes_after(
            ROOT,
            Some((0, "swapper")),
            0,
        );
        flushes(&mut story, 2, FSYNC, 2);
    }
    ends(&mut story);
    story
}

#[test]
fn a_flush_that_costs_nothing_leaves_out_its_wait_and_the_wake_up() {
    let story = flush_each_record();
    assert_eq!(saved_us(&story, &["fsync=0"]), (3 * 57, 3 * 57), "the CPU need not wake up after it");
    assert_eq!(saved_us(&story, &["disk=0"]), (153, 153));
    assert_eq!(saved_us(&story, &["file:…/log=0"]), (153, 153));
    assert_eq!(saved_us(&story, &["disk=20us"]), (90, 90), "each wait");
    assert_eq!(saved_us(&story, &["fsync=30us"]), (78, 78), "each call, with what it does on a CPU");
    assert_eq!(saved_us(&story, &["runqueue=0"]), (3, 3));
    assert_eq!(saved_us(&story, &["disk=0.5", "fsync=10us"]), (138, 138), "one after the other");
    let what_if = replayed(&story, &["fsync=0"]);
    let edit = &what_if.edits[0];
    assert_eq!([&edit.total_ns, &edit.path_ns], [&Seen::Value(168 * US); 2]);
    assert_eq!(edit.times, Seen::Value(3));
    let places: Vec<_> = what_if.path_after.places.iter().map(|place| place.state).collect();
    assert!(!places.contains(&State::Disk), "{places:?}");
    let nearest = refused(&story, &["fdatasync=0"]);
    assert!(nearest.contains("try: fsync (0.168 ms)"), "{nearest}");
}

/// Who does not wait any more is no longer behind others than it has run since they had its CPU.
#[test]
fn others_have_no_more_of_a_cpu_than_who_does_not_wait_there() {
    let mut story = Story::begins();
    for _ in 0..3 {
        story.after(10).leaves(ROOT, waiting_in(FSYNC, Object::Unknown), inside(FSYNC, 0));
        story.after(50).wakes(ROOT, Waker::Device, none());
        story.after(40).comes_after(ROOT, Some((9, "hog")), 0);
    }
    ends(&mut story);
    let what_if = story.replayed(&["fsync=0"]).expect("it is whole");
    let (wall_us, after) = (what_if.wall_ns / US, what_if.after);
    let within = [after.lo_ns + after.chance_ns, after.ns, after.hi_ns - after.chance_ns].map(|ns| ns / US);
    // It has run for 11, 10 and 10.
    assert_eq!(within, [wall_us - 270, wall_us - 239, wall_us - 239]);
}

fn far_peer() -> model::recording::SocketEnds {
    let mut far = ends_of(40_000, 5432);
    far.local[12..].copy_from_slice(&[192, 0, 2, 9]);
    far.remote[12..].copy_from_slice(&[192, 0, 2, 1]);
    far
}

use crate::story::ends as ends_of;

#[test]
fn each_wait_for_a_peer_takes_a_millisecond_at_most() {
    let far = far_peer();
    let mut story = Story::begins();
    for us in [5000, 700, 3000] {
        story.after(10).leaves(ROOT, waiting_in(RECVFROM, Object::Net(far)), none());
        story.after(us).wakes(ROOT, Waker::Network { over: 9000, ready: Some(far) }, none()).comes(ROOT);
    }
    ends(&mut story);
    let edit = "tcp 192.0.2.1:5432=1ms";
    assert_eq!(saved_us(&story, &[edit]), (6000, 6000));
    assert_eq!(saved_us(&story, &["network=0"]), (8700, 8700));
    assert_eq!(replayed(&story, &[edit]).edits[0].times, Seen::Value(3));
    let nearest = refused(&story, &["tcp 192.0.2.1:5433=0"]);
    assert!(nearest.contains("try: 'tcp 192.0.2.1:5432' (8.700 ms)"), "{nearest}");
}

#[test]
fn what_a_peer_in_the_tree_sends_takes_its_way() {
    let mut story = Story::begins();
    story.forks(ROOT, CHILD, CHILD).comes(CHILD);
    story.leaves(ROOT, waiting_in(RECVFROM, Object::Net(ends_of(40_000, 80))), none());
    story.after(95).push(|at| Event::Send {
        at,
        tid: CHILD,
        ends: ends_of(80, 40_000),
        calls: call(READ, 40),
    });
    let over = Waker::Network { over: 9000, ready: Some(ends_of(40_000, 80)) };
    story.after(5).wakes(ROOT, over, none()).comes(ROOT);
    story.exits(CHILD, none()).dies(CHILD);
    ends(&mut story);
    assert_eq!(saved_us(&story, &["read=0"]), (0, 40), "who waits for a peer is under way");
    assert_eq!(saved_us(&story, &["tcp 127.0.0.1:80=0"]).1, 5, "the way, and not what the server does");
}

#[test]
fn polls_save_all_of_their_sleeps_at_most_and_what_nobody_worked_in_at_least() {
    let mut story = Story::begins();
    for child in (CHILD..).take(6) {
        story.forks(ROOT, child, child).comes(child);
        story.leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), none());
        story.after(90_000).exits(child, none()).dies(child);
        story.after(160_000).wakes(ROOT, Waker::Timer, none()).comes(ROOT);
    }
    ends(&mut story);
    assert_eq!(saved_us(&story, &["sleep=0"]), (960_000, 1_500_000));
    let path = replayed(&story, &["sleep=0.9"]).path_before.account;
    let sleep = path.iter().find(|part| part.state == State::Sleep).expect("the rest");
    assert_eq!(sleep.ns, 960_000 * US, "what others did is not sleep");
}

#[test]
fn a_quota_that_goes_lets_threads_run() {
    let mut story = Story::begins();
    story.after(20).leaves(ROOT, SwitchOutState::Runnable, none());
    story.after(80).comes_after(ROOT, Some((9, "other")), 60);
    ends(&mut story);
    let WhatIf { saving, after, .. } = replayed(&story, &["quota=none"]);
    let chance_ns = after.chance_ns as i64;
    let us = [saving.lo_ns + chance_ns, saving.ns, saving.hi_ns - chance_ns].map(|ns| ns / US as i64);
    assert_eq!(us, [60, 60, 80], "others had the CPU for 20, perhaps only since it was out of quota");
    assert_eq!(saved_us(&story, &["runqueue=0"]), (20, 20));
    assert!(replayed(&story, &["runqueue=0"]).assumptions.contains(&ReplayAssumption::QuotaAsRecorded));
    assert!(refused(&two_under_one_lock(), &["quota=none"]).contains("it was never out of quota"));
}

/// A thousand of its own, in which a sample stands for each 100: three of `spin`, called from
/// `main`, one of `main`, and one of a fault.
fn sampled() -> Story {
    let mut story = Story::begins();
    for (id, name) in [(0, "main"), (1, "spin")] {
        story.events.push(Event::Place {
            id,
            place: CodeLocation::Native { module: "demo".into(), address: id.into() },
        });
        let function = Function { name: Some(name.into()), source: None, inlined: false };
        story.events.push(Event::Named { place: id, functions: vec![function] });
    }
    story.events.push(Event::Node { id: 1, caller: 0, place: 0 });
    story.events.push(Event::Node { id: 2, caller: 1, place: 1 });
    let samples = [
        (SampleMode::User, 2),
        (SampleMode::User, 2),
        (SampleMode::User, 2),
        (SampleMode::User, 1),
        (SampleMode::Fault, 1),
    ];
    for (mode, node) in samples {
        story.after(200).push(|at| Event::Sampled {
            at,
            tid: ROOT,
            mode,
            ip: 1,
            period_ns: 100_000,
            node: Some(node),
        });
    }
    story.after(1).leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), none());
    story.after(500).wakes(ROOT, Waker::Timer, none()).comes(ROOT);
    ends(&mut story);
    story
}

#[test]
fn a_function_has_its_part_of_the_stretches_that_its_samples_fell_in() {
    let story = sampled();
    // From the execve on: 1 before it, and 1 at the end, where no sample is: as all of the thread.
    assert_eq!(saved_us(&story, &["user:spin=0"]), (601, 601));
    assert_eq!(saved_us(&story, &["user:spin=0.5"]), (300, 300));
    assert_eq!(saved_us(&story, &["user:main=0"]), (801, 801), "with what it calls");
    assert_eq!(saved_us(&story, &["fault=0"]), (200, 200));
    let what_if = replayed(&story, &["user:spin=0"]);
    assert_eq!(what_if.edits[0].times, Seen::Value(3), "samples");
    assert!(what_if.assumptions.contains(&ReplayAssumption::FunctionBySamples));
    let nearest = refused(&story, &["user:spim=0"]);
    assert!(
        nearest.contains("no function of that name") && nearest.contains("try: user:spin ("),
        "{nearest}"
    );
}

#[test]
fn all_processes_of_one_program_are_one_site() {
    let mut story = Story::begins();
    story.runs_two("cc1");
    ends(&mut story);
    assert_eq!(saved_us(&story, &["program:cc1=0"]), (120, 120));
    let nearest = refused(&story, &["program:cc=0"]);
    assert!(nearest.contains("program:cc1 (0.120 ms)"), "{nearest}");
}

#[test]
fn who_is_ended_with_its_process_holds_nobody_up() {
    let mut story = Story::begins();
    story.after(10).forks(ROOT, CHILD, ROOT).comes(CHILD);
    story.after(30).exits(ROOT, call(READ, 20));
    story.after(1).dies(CHILD);
    story.after(1).leaves(ROOT, SwitchOutState::Dead(Default::default()), none());
    assert_eq!(saved_us(&story, &["read=0"]).1, 20);
}

#[test]
fn what_cannot_be_replayed_says_what_would_help() {
    let story = flush_each_record();
    let header = story.header();
    let said = |header: &model::Header| Replayer::new(header, Vec::new()).expect_err("refused").to_string();
    let perf = said(&model::Header { tier: Tier::Perf, ..header.clone() });
    assert!(perf.contains("source perf") && perf.contains("try: dwell run --source bpf"), "{perf}");
    let attached = Some(model::recording::AttachWindow { at: 0, target: "x".into() });
    let window = said(&model::Header { attached, ..header.clone() });
    assert!(
        window.contains("a window has no end") && window.contains("try: a recording of dwell run"),
        "{window}"
    );
    let many = vec![Edit::read("cpus=2").unwrap(); 65];
    assert_eq!(Replayer::new(&header, many).unwrap_err(), Refused::TooMany(65));
    let trailer = model::Trailer { kept_until: Some(1_500_000_000), ..story.trailer() };
    let cut = story.replayed_with(&["fsync=0"], &trailer).unwrap_err().to_string();
    assert!(cut.contains("the first 1.5 s (--keep-limit)") && cut.contains("larger --keep-limit"), "{cut}");
    let mut unfinished = Story::begins();
    unfinished.after(10).push(|at| Event::Flush { at, tid: ROOT, calls: call(READ, 1) });
    assert_eq!(unfinished.replayed(&["read=0"]).unwrap_err(), Refused::Unfinished);
}

#[test]
fn of_a_recording_with_too_many_steps_the_rest_is_taken_as_it_was() {
    let story = flush_each_record();
    let edits = || vec![Edit::read("fsync=0").unwrap()];
    let mut replayer = Replayer::new(&story.header(), edits()).unwrap().keeping(8);
    story.events.iter().for_each(|event| replayer.event(event));
    let what_if = replayer.finish(&story.trailer()).unwrap();
    let Seen::Value(until_ns) = what_if.replay.until_ns else { panic!("{:?}", what_if.replay) };
    assert!(until_ns < what_if.wall_ns && what_if.replay.rest_ns > 0, "{:?}", what_if.replay);
    assert_eq!(what_if.replay.unedited_ns, what_if.wall_ns);
    let all = replayed(&story, &["fsync=0"]);
    assert!(what_if.saving.ns > 0 && what_if.saving.ns < all.saving.ns, "{:?}", what_if.saving);
    assert!(what_if.assumptions.contains(&ReplayAssumption::RestAsRecorded));
}
