//! The class of accounts with a known answer.

use super::*;
use crate::judge::samples;
use model::RunQueue;
use model::run::measured;

/// An account of these states, in which the run queue is all behind its own threads, or all behind
/// others.
fn class_of(parts: &[(State, u64)], behind_own: bool) -> (Class, State) {
    class_over(None, parts, behind_own)
}

/// The same over a wall clock of that length.
fn class_over(wall_ns: Option<u64>, parts: &[(State, u64)], behind_own: bool) -> (Class, State) {
    class_queued(wall_ns, parts, |ns| if behind_own { (ns, 0, 0) } else { (0, ns, 0) })
}

/// The same; of the run queue, what is behind its own threads, behind others, and until an idle CPU
/// had woken up.
fn class_queued(
    wall_ns: Option<u64>,
    parts: &[(State, u64)],
    divide: impl Fn(u64) -> (u64, u64, u64),
) -> (Class, State) {
    let wall = parts.iter().map(|(_, ns)| ns).sum();
    let account = Account::new(
        wall,
        parts.iter().map(|(state, ns)| measured(*state, *ns)).collect(),
        parts.iter().copied(),
    );
    let account = account.unwrap();
    let (behind_own_ns, behind_others_ns, idle_cpu_ns) = divide(account.ns(State::Runqueue));
    let queue = RunQueue {
        behind_own_ns,
        behind_others_ns,
        idle_cpu_ns,
        unseen_ns: 0,
        others: Vec::new(),
        cpus_used: 1.0,
        cpus_wanted: 2.0,
        of_all: model::Seen::Absent,
    };
    let coverage = samples::coverage();
    let contention =
        Contention { queue: &queue, coverage: &coverage, cpus: 2, wall_ns: wall_ns.unwrap_or(wall) };
    let bound = bound(&account, contention);
    (bound.class, bound.resource)
}

fn class(parts: &[(State, u64)]) -> (Class, State) {
    class_of(parts, true)
}

#[test]
fn the_textbook_cases() {
    assert_eq!(class(&[(State::User, 90), (State::Kernel, 10)]), (Class::Cpu, State::User));
    assert_eq!(
        class(&[(State::User, 30), (State::Kernel, 30), (State::Fault, 40)]),
        (Class::Kernel, State::Fault)
    );
    assert_eq!(
        class(&[(State::Disk, 60), (State::Network, 10), (State::User, 30)]),
        (Class::Io, State::Disk)
    );
    assert_eq!(class(&[(State::Sleep, 95), (State::User, 5)]), (Class::Idle, State::Sleep));
    assert_eq!(class(&[(State::User, 45), (State::Kernel, 40), (State::Disk, 15)]).0, Class::Mixed);
    assert_eq!(class(&[(State::Disk, 45), (State::Kernel, 30), (State::User, 25)]).0, Class::Mixed);
}

#[test]
fn who_sleeps_is_idle_also_beside_others() {
    let beside =
        |queue| class_of(&[(State::Sleep, 95 - queue), (State::User, 5), (State::Runqueue, queue)], false).0;
    assert_eq!((beside(10), beside(11)), (Class::Idle, Class::Io));
}

#[test]
fn an_idle_cpu_that_wakes_up_ends_a_wait() {
    let waking = |parts| class_queued(None, parts, |ns| (0, 0, ns)).0;
    let quick_disk = &[(State::Disk, 42), (State::Runqueue, 14), (State::Kernel, 30), (State::User, 14)];
    assert_eq!(waking(quick_disk), Class::Io);
    assert_eq!(class_of(quick_disk, false).0, Class::Mixed, "behind others");
    // Threads that hand over to each other wait for nothing on the path.
    let hand_over = &[(State::Disk, 2), (State::Runqueue, 58), (State::Kernel, 30), (State::User, 10)];
    assert_eq!(waking(hand_over), Class::Kernel);
}

#[test]
fn threads_that_wait_for_work_bound_nothing() {
    let class_over = |parts| class_over(Some(100), parts, true);
    // One of eight threads computes for half of the window, and waits for a lock a little.
    let server = &[(State::Idle, 745), (State::User, 45), (State::Lock, 10)];
    assert_eq!(class_over(server), (Class::Cpu, State::User));
    let contended = &[(State::Idle, 600), (State::User, 45), (State::Lock, 155)];
    assert_eq!(class_over(contended), (Class::Io, State::Lock));
    let asked_now_and_then = &[(State::Idle, 390), (State::User, 3), (State::Network, 5), (State::Sleep, 2)];
    assert_eq!(class_over(asked_now_and_then), (Class::Idle, State::Idle));
}

/// Two processes that send each other a byte, on CPUs that they share.
#[test]
fn behind_threads_that_work_in_the_kernel_it_is_the_kernel_that_bounds() {
    assert_eq!(class(&[(State::Kernel, 50), (State::User, 2), (State::Runqueue, 48)]).0, Class::Kernel);
    let kernel = [(State::Runqueue, 45), (State::User, 15), (State::Kernel, 40)];
    assert_eq!(class(&kernel), (Class::Kernel, State::Kernel));
}

#[test]
fn a_program_whose_own_threads_have_used_up_the_cpus_is_bound_by_them() {
    assert_eq!(class(&[(State::Runqueue, 60), (State::User, 40)]), (Class::Cpu, State::Runqueue));
    let user = [(State::Runqueue, 60), (State::User, 30), (State::Kernel, 10)];
    assert_eq!(class(&user), (Class::Cpu, State::Runqueue));
}

#[test]
fn a_program_that_others_do_not_let_run_is_starved() {
    let busy = [(State::Runqueue, 84), (State::User, 8), (State::Disk, 8)];
    assert_eq!(class_of(&busy, false), (Class::Starved, State::Runqueue));
    let quota = [(State::Throttled, 80), (State::User, 20)];
    assert_eq!(class_of(&quota, false), (Class::Starved, State::Throttled));
    let both = [(State::Throttled, 30), (State::Runqueue, 20), (State::User, 50)];
    assert_eq!(class_of(&both, false), (Class::Starved, State::Throttled));
    let less = [(State::Throttled, 49), (State::User, 51)];
    assert_eq!(class_of(&less, false), (Class::Cpu, State::User));
}

#[test]
fn a_short_run_in_which_nobody_was_seen_is_starved_if_it_had_a_cpu_for_each_thread() {
    let parts = [(State::Kernel, 15), (State::User, 7), (State::Disk, 5), (State::Runqueue, 73)];
    let account = Account::new(100, parts.map(|(state, ns)| measured(state, ns)).into(), parts).unwrap();
    let class = |cpus_wanted| {
        let queue = RunQueue {
            behind_own_ns: 0,
            behind_others_ns: 0,
            idle_cpu_ns: 0,
            unseen_ns: 73,
            others: Vec::new(),
            cpus_used: 0.2,
            cpus_wanted,
            of_all: model::Seen::Absent,
        };
        let coverage = samples::coverage();
        bound(&account, Contention { queue: &queue, coverage: &coverage, cpus: 2, wall_ns: 100 }).class
    };
    assert_eq!((class(0.9), class(2.1)), (Class::Starved, Class::Mixed));
}
