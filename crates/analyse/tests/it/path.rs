//! Where the path goes, told in small stories. Times are microseconds.

use crate::story::*;
use model::recording::{
    Counters, Event, FileKind, HostCpu, Object, SampleMode, SwitchOutState, WaitContext, WakeReason, Waker,
};
use model::wake_reason::BlockRequest;
use model::{Reason, Run, Seen, State, WaitTarget};

#[test]
fn a_sleep_is_counted_once() {
    let mut story = Story::begins();
    story.after(10).leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), inside(NANOSLEEP, 2));
    story.after(200).wakes(ROOT, Waker::Timer, none());
    story.after(5).comes_after(ROOT, Some((7, "other")), 0);
    let run = story.after(10).ends();
    assert_eq!(us(&run, State::Sleep), 200);
    assert_eq!(us(&run, State::Runqueue), 5);
    assert_eq!(us(&run, State::Kernel), 2 + 1, "nanosleep, exit_group");
    assert_eq!(us(&run, State::User), 1 + 8 + 10);
    assert_eq!(run.wall_ns, 227_000);
    let queued = run.path.iter().find(|step| step.state == State::Runqueue).unwrap();
    assert_eq!(queued.reason, Reason::Preempted("other".into()));
}

/// Its other thread computes for 60 of the 200 microseconds.
#[test]
fn a_server_that_nobody_connects_to_waits_for_work_beside_what_it_does() {
    let accept = 43;
    let listener = Object::Net(ends(8080, 0));
    let mut story = Story::begins();
    story.after(9).forks(ROOT, CHILD, ROOT);
    story.after(1).leaves(ROOT, waiting_in(accept, listener), inside(accept, 1)).comes(CHILD);
    story.after(60).dies(CHILD);
    story.after(140).wakes(ROOT, Waker::Network { over: 9, ready: Some(ends(8080, 0)) }, none());
    let run = story.comes(ROOT).after(10).ends();
    assert_eq!((us(&run, State::Idle), us(&run, State::Network)), (140, 0));
    assert_eq!(us_of(&run, CHILD, State::User), 60);
}

#[test]
fn waiting_for_a_child_becomes_what_the_child_did() {
    let mut story = Story::begins();
    story.after(9).forks(ROOT, CHILD, CHILD);
    story.after(1).leaves(ROOT, waiting_in(WAIT4, Object::Unknown), inside(WAIT4, 1)).comes(CHILD);
    story.after(100).exits(CHILD, call(READ, 40)).wakes(ROOT, by_task(CHILD), none());
    story.dies(CHILD).after(2).comes(ROOT);
    let run = story.after(10).ends();
    assert_eq!(us(&run, State::OtherWait), 0);
    assert_eq!(us_of(&run, CHILD, State::User), 60);
    assert_eq!(us_of(&run, CHILD, State::Kernel), 40);
    assert_eq!(us_of(&run, CHILD, State::Runqueue), 1, "until the parent left the CPU");
    assert_eq!(us_of(&run, ROOT, State::User), 10 + 10);
    // The parent's own ledger has waited all the same.
    let root = run.threads.iter().find(|thread| thread.tid == ROOT).unwrap();
    assert!(root.states.contains(&(State::OtherWait, 100_000)), "{:?}", root.states);
}

#[test]
fn of_two_branches_the_later_one_is_the_path() {
    let mut story = Story::begins();
    story.after(9).forks(ROOT, CHILD, CHILD).forks(ROOT, 300, 300);
    story.leaves(ROOT, waiting_in(WAIT4, Object::Unknown), none()).comes(CHILD).comes(300);
    story.after(50).exits(CHILD, none()).wakes(ROOT, by_task(CHILD), none()).dies(CHILD).comes(ROOT);
    story.leaves(ROOT, waiting_in(WAIT4, Object::Unknown), none());
    story.after(70).exits(300, none()).wakes(ROOT, by_task(300), none()).dies(300).comes(ROOT);
    let run = story.after(10).ends();
    assert_eq!(us_of(&run, 300, State::User), 120);
    assert_eq!(us_of(&run, CHILD, State::User), 0);
}

#[test]
fn a_wake_up_seen_before_its_switch_out_means_that_nothing_was_blocked() {
    let mut story = Story::begins();
    story.after(10).wakes(ROOT, Waker::Timer, none());
    story.after(1).leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), inside(NANOSLEEP, 1));
    story.after(30).comes(ROOT);
    let run = story.ends();
    assert_eq!(us(&run, State::Runqueue), 30);
    assert_eq!(us(&run, State::Sleep) + us(&run, State::Unexplained), 0);
}

#[test]
fn an_early_wake_up_that_was_for_something_else_does_not_hide_the_next_wait() {
    let mut story = Story::begins();
    story.after(10).wakes(ROOT, Waker::Timer, none());
    story.after(1).leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), inside(NANOSLEEP, 1));
    story.after(30).wakes(ROOT, Waker::Timer, none()).after(2).comes(ROOT);
    let run = story.ends();
    assert_eq!(us(&run, State::Sleep), 30);
    assert_eq!(us(&run, State::Runqueue), 2);
}

#[test]
fn a_wake_up_seen_before_a_thread_was_preempted_on_its_way_out_counts_as_well() {
    // The waker's clock was read first; before it came to the woken thread, that one was preempted
    // and back.
    for wakes_first in [true, false] {
        let mut story = Story::begins();
        story.after(10);
        if wakes_first {
            story.wakes(ROOT, Waker::Timer, none());
        }
        story.leaves(ROOT, SwitchOutState::Runnable, inside(NANOSLEEP, 0)).after(5);
        if !wakes_first {
            story.wakes(ROOT, Waker::Timer, none());
        }
        story.comes(ROOT).after(1);
        story
            .leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), inside(NANOSLEEP, 1))
            .after(30)
            .comes(ROOT);
        let run = story.ends();
        assert_eq!(us(&run, State::Runqueue), 35);
        assert_eq!(us(&run, State::Sleep) + us(&run, State::Unexplained), 0);
    }
}

#[test]
fn a_wait_without_a_wake_up_is_unexplained() {
    let mut story = Story::begins();
    story.after(10).leaves(ROOT, waiting_in(READ, Object::Unknown), none()).after(40).comes(ROOT);
    let run = story.ends();
    assert_eq!(us(&run, State::Unexplained), 40);
    assert_eq!(run.coverage.unexplained_ns, 40_000);
}

#[test]
fn a_wake_up_from_outside_stays_a_wait_on_its_object() {
    let mut story = Story::begins();
    let pipe = Object::File { kind: model::recording::FileKind::Pipe, dev: 1, ino: 2, name: "".into() };
    story.after(10).leaves(ROOT, waiting_in(READ, pipe), none());
    let outsider = Waker::Task { tid: 9000, name: Some("feeder".into()) };
    story.after(40).wakes(ROOT, outsider, none()).comes(ROOT);
    assert_eq!(us(&story.ends(), State::Pipe), 40);
}

#[test]
fn over_loopback_the_path_jumps_to_the_last_send_of_the_other_end() {
    let server = CHILD;
    let mut story = Story::begins();
    story.forks(ROOT, server, server).comes(server);
    story.leaves(ROOT, waiting_in(RECVFROM, Object::Net(ends(40_000, 80))), none());
    // The server works for 100, sends, and works on; the soft interrupt comes 5 later, over
    // somebody innocent.
    story.after(100).push(|at| Event::Send { at, tid: server, ends: ends(80, 40_000), calls: none() });
    story.after(5).wakes(ROOT, Waker::Network { over: 9000, ready: None }, none()).comes(ROOT);
    let run = story.after(10).ends();
    assert_eq!(us_of(&run, server, State::User), 100, "what it did up to the send");
    assert_eq!(us_of(&run, ROOT, State::Network), 5, "what was under way");
}

#[test]
fn a_first_word_over_loopback_is_the_running_senders() {
    let server = CHILD;
    let mut story = Story::begins();
    story.forks(ROOT, server, server).comes(server);
    story.leaves(ROOT, waiting_in(RECVFROM, Object::Net(ends(40_000, 80))), none());
    let over = Waker::Network { over: server, ready: Some(ends(40_000, 80)) };
    story.after(100).wakes(ROOT, over, inside(SENDTO, 3)).comes(ROOT);
    let run = story.ends();
    assert_eq!(us_of(&run, server, State::User) + us_of(&run, server, State::Kernel), 100);
    assert_eq!(us(&run, State::Network), 0);
}

#[test]
fn a_network_wake_up_over_an_innocent_thread_of_the_tree_is_not_its_doing() {
    let mut story = Story::begins();
    story.forks(ROOT, CHILD, CHILD).comes(CHILD);
    let mut far = ends(40_000, 80);
    far.remote[12..].copy_from_slice(&[192, 0, 2, 1]);
    far.local[12..].copy_from_slice(&[192, 0, 2, 9]);
    story.leaves(ROOT, waiting_in(RECVFROM, Object::Net(far)), none());
    story
        .after(100)
        .wakes(ROOT, Waker::Network { over: CHILD, ready: Some(far) }, inside(SENDTO, 3))
        .comes(ROOT);
    assert_eq!(us_of(&story.ends(), ROOT, State::Network), 100);
}

#[test]
fn a_stopped_thread_was_stopped_whatever_continued_it() {
    let mut story = Story::begins();
    story.forks(ROOT, CHILD, CHILD).comes(CHILD).leaves(ROOT, SwitchOutState::Stopped, none());
    story.after(50).wakes(ROOT, by_task(CHILD), none()).comes(ROOT);
    assert_eq!(us(&story.ends(), State::Stopped), 50);
}

#[test]
fn quota_is_told_from_the_run_queue() {
    let mut story = Story::begins();
    story.leaves(ROOT, SwitchOutState::Runnable, none()).after(90).comes_after(ROOT, None, 60);
    let run = story.ends();
    assert_eq!((us(&run, State::Throttled), us(&run, State::Runqueue)), (60, 30));
}

#[test]
fn a_fault_that_reads_is_disk() {
    let mut story = Story::begins();
    let fault = SwitchOutState::Blocked(WaitContext {
        call: None,
        uninterruptible: true,
        io: true,
        on: Object::Unknown,
    });
    story.leaves(ROOT, fault, none()).after(20).wakes(ROOT, Waker::Device, none()).comes(ROOT);
    assert_eq!(us(&story.ends(), State::Disk), 20);
}

#[test]
fn when_a_process_ends_as_a_whole_its_other_threads_end_by_the_one_that_said_so() {
    // The worker computes all the time; the main thread sleeps, then ends the process. What stands
    // for the sleep is the worker's time.
    let worker = 101;
    let mut story = Story::begins();
    story.forks(ROOT, worker, ROOT).comes(worker);
    story.leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), none());
    story.after(100).wakes(ROOT, Waker::Timer, none()).comes(ROOT);
    story.after(5).exits(ROOT, inside(EXIT_GROUP, 0)).leaves(
        ROOT,
        SwitchOutState::Dead(Default::default()),
        none(),
    );
    story.after(2).exits(worker, none()).after(3).dies(worker);
    let run = story.told();
    let of = |tid| run.path.iter().filter(|step| step.tid == tid).map(|step| step.ns / 1000).sum::<u64>();
    assert_eq!((us(&run, State::Sleep), of(worker), of(ROOT)), (0, 105, 6), "{:?}", run.path);
    assert_eq!(run.wall_ns, 111_000);
}

#[test]
fn while_a_worker_waits_for_completions_a_sleep_stands_for_the_disk() {
    // As fio with libaio: the kernel does not flag this call as IO. What ends it tells, afterwards.
    let (worker, io_getevents) = (101, 208);
    let mut story = Story::begins();
    story.forks(ROOT, worker, ROOT).comes(worker);
    story.leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), none());
    story.leaves(worker, waiting_in(io_getevents, Object::Unknown), none());
    story.after(30).wakes(worker, Waker::Device, none()).wakes(ROOT, Waker::Timer, none());
    let run = story.comes(ROOT).ends();
    assert_eq!((us_of(&run, worker, State::Disk), us(&run, State::Sleep)), (30, 0), "{:?}", run.path);
}

/// Waits for 100 us in `call` on `on`, which a far server ends, while another thread computes for
/// 60 of them.
fn beside_a_worker(call: u16, on: Object) -> Run {
    let mut far = ends(40_000, 80);
    far.remote[12..].copy_from_slice(&[192, 0, 2, 1]);
    far.local[12..].copy_from_slice(&[192, 0, 2, 9]);
    let on = if matches!(on, Object::Net(_)) { Object::Net(far) } else { on };
    let mut story = Story::begins();
    story.forks(ROOT, CHILD, ROOT).leaves(ROOT, waiting_in(call, on), none()).comes(CHILD);
    story.after(60).dies(CHILD);
    story.after(40).wakes(ROOT, Waker::Network { over: 9000, ready: Some(far) }, none()).comes(ROOT);
    story.after(10).ends()
}

#[test]
fn an_event_loops_wait_for_the_network_is_passed_over_while_others_compute() {
    let epoll_wait = 232;
    let run = beside_a_worker(epoll_wait, Object::Unknown);
    assert_eq!((us_of(&run, CHILD, State::User), us(&run, State::Network)), (60, 40), "{:?}", run.path);
    // Its own ledger has waited all the same, and it was no wait with a time limit.
    let root = run.threads.iter().find(|thread| thread.tid == ROOT).unwrap();
    assert!(root.states.contains(&(State::Network, 100_000)), "{:?}", root.states);
    assert_eq!(root.timed_waits, None);
}

#[test]
fn a_wait_for_one_connection_is_the_paths_whatever_others_compute() {
    let run = beside_a_worker(RECVFROM, Object::Net(ends(40_000, 80)));
    assert_eq!((us_of(&run, CHILD, State::User), us(&run, State::Network)), (0, 100), "{:?}", run.path);
}

#[test]
fn a_thread_that_executes_takes_its_leaders_place() {
    let second = 101;
    let mut story = Story::begins();
    story.forks(ROOT, second, ROOT).after(5).comes(second);
    story.after(5).exits(ROOT, inside(60, 0)).dies(ROOT);
    story.after(5).push(|at| Event::Exec {
        at,
        entered: at,
        tid: ROOT,
        pid: ROOT,
        old_tid: second,
        name: "new".into(),
    });
    let run = story.after(20).ends();
    assert_eq!(run.threads.len(), 2);
    assert_eq!(run.wall_ns, 37_000);
    assert_eq!(us(&run, State::Unexplained), 0);
}

#[test]
fn user_and_fault_are_split_by_samples_and_say_so() {
    let mut story = Story::begins();
    for sample in 0..10 {
        let mode = if sample < 4 { SampleMode::Fault } else { SampleMode::User };
        story.after(100).push(|at| Event::Sampled {
            at,
            tid: ROOT,
            mode,
            ip: 0,
            period_ns: 500_000,
            node: None,
        });
    }
    let run = story.ends();
    let fault = run.account.iter().find(|part| part.state == State::Fault).unwrap();
    assert_eq!(fault.ns / 1000, 400);
    assert_eq!(fault.basis, model::Basis::Sampled);
    assert!(fault.lo_ns < 200_000 && fault.hi_ns > 600_000, "ten samples say little: {fault:?}");
}

#[test]
fn lost_events_leave_a_gap_and_not_a_guess() {
    let mut story = Story::begins();
    story.after(10).push(|at| Event::Flush { at, tid: ROOT, calls: none() });
    story.after(50).push(|at| Event::Lost { at, events: 3 });
    story.after(5).push(|at| Event::Flush { at, tid: ROOT, calls: call(READ, 1) });
    let run = story.after(10).ends();
    assert_eq!(us(&run, State::Unexplained), 55);
}

#[test]
fn a_recording_that_never_heard_of_the_root_is_without_evidence_and_closes() {
    let mut story = Story::begins();
    story.events.clear();
    story.push(|at| Event::Rename { at, tid: ROOT + 1, name: "stranger".into() });
    let run = story.after(40).told();
    assert_eq!((us(&run, State::Unexplained), run.wall_ns), (41, 41_000));
    assert_eq!(run.threads.len(), 1, "{:?}", run.threads);
}

#[test]
fn the_many_children_of_a_long_build_share_a_ledger_and_lose_nothing() {
    let mut story = Story::begins();
    let children = 25_000;
    for child in 0..children {
        let tid = 1000 + child % 500;
        story.forks(ROOT, tid, tid).leaves(ROOT, waiting_in(WAIT4, Object::Unknown), none()).comes(tid);
        story.after(10).exits(tid, call(READ, 4)).wakes(ROOT, by_task(tid), none()).dies(tid).comes(ROOT);
    }
    let run = story.ends();
    assert_eq!(
        us(&run, State::User),
        u64::from(children) * 6 + 1,
        "the first microsecond is the root's execve"
    );
    assert_eq!(us(&run, State::Kernel), u64::from(children) * 4 + 1);
    assert!(run.threads.len() < 20_500, "{}", run.threads.len());
    let lives: u64 =
        run.threads.iter().filter(|thread| thread.tid != ROOT).map(|thread| thread.life_ns).sum();
    assert_eq!(lives, u64::from(children) * 10_000);
}

#[test]
fn a_thread_whose_counters_were_lost_has_no_faults_that_were_counted() {
    let run = Story::begins().after(10).ends();
    assert!(matches!(run.threads[0].minor_faults, model::Seen::Unseen(_)), "{:?}", run.threads[0]);
}

const DISK: u32 = 254 << 20;

/// The root waits for a disk in a call on this file, and a request's end wakes it.
fn waits_for_file(story: &mut Story, ino: u64, us: u64) {
    let on = Object::File { kind: FileKind::Disk, dev: DISK, ino, name: "x".into() };
    waits_for_disk(story, Some(model::Call(READ)), on, us);
}

/// The same in a fault.
fn faults_on(story: &mut Story, on: Object, us: u64) {
    waits_for_disk(story, None, on, us);
}

fn waits_for_disk(story: &mut Story, call: Option<model::Call>, on: Object, us: u64) {
    let left = SwitchOutState::Blocked(WaitContext { call, uninterruptible: true, io: true, on });
    story.after(1).leaves(ROOT, left, none());
    let request = BlockRequest { dev: DISK, write: false, bytes: 4096, queue_ns: Some(300), device_ns: 700 };
    let reasons = [WakeReason::Request(request)];
    story.after(us).wakes_for(ROOT, Waker::Device, reasons, none()).comes(ROOT);
}

fn path(dev: u32, ino: u64, path: &str) -> Event {
    Event::Path { dev, ino, path: path.into() }
}

#[test]
fn each_file_is_a_wait_of_its_own_and_the_path_names_the_one_that_is_most_of_it() {
    let mut story = Story::begins();
    for ino in 1..=100 {
        story.push(|_| path(DISK, ino, &format!("/f{ino}")));
        waits_for_file(&mut story, ino, 10);
    }
    let many = story.told();
    waits_for_file(&mut story, 7, 2000);
    let one = story.ends();
    let steps = |run: &model::Run| -> Vec<_> {
        let disk = run.path.iter().filter(|step| step.state == State::Disk);
        disk.map(|step| (step.reason.to_string(), step.ns / 1000, step.count)).collect()
    };
    assert_eq!(steps(&many), [("read, file".to_owned(), 1000, 100)]);
    assert_eq!(steps(&one), [("read, file /f7".to_owned(), 2010, 2), ("read, file".to_owned(), 990, 99)]);
    assert_eq!(one.waits.len(), 100);
    let row = &one.waits[0];
    assert_eq!(row.on, WaitTarget::File(Seen::Value("/f7".into())));
    assert_eq!((row.calls, row.path_ns), (2, 2_010_000));
    assert_eq!((&row.device, &row.requests), (&Seen::Value("vda".into()), &Seen::Value(2)));
    assert_eq!((&row.queue_ns, &row.device_ns), (&Seen::Value(600), &Seen::Value(1400)));
}

#[test]
fn a_fault_is_on_a_file_on_swap_or_on_what_was_not_seen() {
    let mut story = Story::begins();
    story.push(|_| path(DISK, 9, "/lib"));
    faults_on(&mut story, Object::Page { dev: DISK, ino: 9 }, 10);
    faults_on(&mut story, Object::SwapPage, 20);
    faults_on(&mut story, Object::Unknown, 30);
    let run = story.ends();
    let targets: Vec<_> = run.waits.iter().map(|row| row.on.clone()).collect();
    let unseen = WaitTarget::File(Seen::unseen("the file was not observed"));
    assert_eq!(targets, [unseen, WaitTarget::Swap, WaitTarget::File(Seen::Value("/lib".into()))]);
}

#[test]
fn past_the_bound_files_are_one_row_and_the_account_still_closes() {
    let mut story = Story::begins();
    for ino in 1..=30_000 {
        story.push(|_| path(DISK, ino, &format!("/f{ino}")));
        waits_for_file(&mut story, ino, 1);
    }
    let left = waiting_in(NANOSLEEP, Object::Unknown);
    story.after(1).leaves(ROOT, left, none()).after(5).wakes(ROOT, Waker::Timer, none()).comes(ROOT);
    let run = story.ends();
    assert!(run.waits.len() < 4096, "{} rows", run.waits.len());
    let total: u64 = run.waits.iter().map(|row| row.total_ns).sum();
    let on_path: u64 = run.waits.iter().map(|row| row.path_ns).sum();
    assert_eq!((total, on_path), (30_005_000, 30_005_000));
    assert!(
        run.waits.iter().any(|row| row.reason == State::Sleep && row.on == WaitTarget::Timer(Seen::Absent))
    );
    assert_eq!(run.path.iter().filter(|step| step.state == State::Disk).count(), 1);
}

#[test]
fn where_the_kernel_does_not_keep_when_requests_are_made_their_queue_is_unseen() {
    let mut story = Story::begins();
    waits_for_file(&mut story, 7, 20);
    let on = Object::File { kind: FileKind::Disk, dev: DISK, ino: 7, name: "x".into() };
    let call = Some(model::Call(READ));
    story.after(1).leaves(
        ROOT,
        SwitchOutState::Blocked(WaitContext { call, uninterruptible: true, io: true, on }),
        none(),
    );
    let request = BlockRequest { dev: DISK, write: false, bytes: 4096, queue_ns: None, device_ns: 700 };
    let reasons = [WakeReason::Request(request)];
    story.after(5).wakes_for(ROOT, Waker::Device, reasons, none()).comes(ROOT);
    let run = story.ends();
    let wait = run.waits.iter().find(|wait| wait.reason == State::Disk).unwrap();
    assert_eq!((&wait.requests, &wait.device_ns), (&Seen::Value(2), &Seen::Value(1400)));
    assert!(
        matches!(&wait.queue_ns, Seen::Unseen(why) if why.contains("does not record")),
        "{:?}",
        wait.queue_ns
    );
}

// ---- checks
// -----------------------------------------------------------------------------------------------

/// A program of a whole second on a CPU; the scheduler counted `scheduler_ms`.
fn works_a_second(scheduler_ms: u64) -> Story {
    let mut story = Story::begins();
    story.after(1_000_000).exits(ROOT, inside(EXIT_GROUP, 0));
    let counters = Counters { cpu_ns: scheduler_ms * 1_000_000, ..Counters::default() };
    story.leaves(ROOT, SwitchOutState::Dead(counters), inside(EXIT_GROUP, 0));
    story
}

fn host_with(steal_ns: u64) -> HostCpu {
    HostCpu { busy_ns: 1_000_000_000, steal_ns, interrupt_ns: 0, span_ns: 1_100_000_000, dwell_ns: 0 }
}

#[test]
fn what_a_hypervisor_took_is_no_contradiction_and_anything_else_is() {
    let agrees = |scheduler_ms, steal_ns| {
        let run = works_a_second(scheduler_ms).told_on(host_with(steal_ns));
        let check =
            run.coverage.checks.iter().find(|check| check.what.starts_with("CPU time of exited threads"));
        check.expect("it is made of every run").agrees
    };
    assert!(agrees(995, 0));
    assert!(!agrees(900, 0), "100 ms that nobody took");
    assert!(agrees(900, 90_000_000));
    assert!(!agrees(900, 10_000_000), "a tenth of it was taken");
}

/// A sleep of 500 ms, then 400 ms until the CPU that had to wake up for it did, and 300 ms of work;
/// the scheduler counted this. Whether the checks of its CPU time and its run queue agree.
fn an_idle_cpu_takes_400_ms(last: u32, cpu_ms: u64, runqueue_ms: u64) -> (bool, bool) {
    let mut story = Story::begins();
    story.leaves(ROOT, waiting_in(NANOSLEEP, Object::Unknown), inside(NANOSLEEP, 1));
    story.after(500_000).wakes(ROOT, Waker::Timer, none());
    story.after(400_000).comes_after(ROOT, Some((last, "")), 0);
    story.after(300_000).exits(ROOT, inside(EXIT_GROUP, 0));
    let [cpu_ns, runqueue_ns] = [cpu_ms, runqueue_ms].map(|ms| ms * 1_000_000);
    let counters = Counters { cpu_ns, runqueue_ns, ..Counters::default() };
    story.leaves(ROOT, SwitchOutState::Dead(counters), inside(EXIT_GROUP, 0));
    let run = story.told();
    let agrees =
        |what: &str| run.coverage.checks.iter().find(|check| check.what.starts_with(what)).unwrap().agrees;
    (agrees("CPU time of exited threads"), agrees("run-queue time of exited threads"))
}

#[test]
fn the_scheduler_may_count_the_wait_for_an_idle_cpu_as_its_time_on_it() {
    let idle = |cpu_ms, runqueue_ms| an_idle_cpu_takes_400_ms(0, cpu_ms, runqueue_ms);
    assert_eq!(idle(300, 400), (true, true), "as we do");
    assert_eq!(idle(700, 0), (true, true), "PREEMPT_RT");
    assert_eq!(idle(300, 0), (true, true), "queued by the idle CPU itself");
    assert_eq!(idle(750, 0), (false, true), "50 ms more than that");
    assert_eq!(idle(250, 450), (false, false), "the other way round nobody does");
    // The CPU was another program's: it waited for that.
    assert_eq!(an_idle_cpu_takes_400_ms(7, 700, 0), (false, false));
}
