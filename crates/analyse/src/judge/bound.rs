//! What bounds a program: the classic test on real, user and system time, made on the wall account.
//!
//! D. Spinellis, "Code Quality" (2006), section 4.1: I/O-bound when real time is much more than
//! user and system time, kernel-bound when system time exceeds user time, CPU-bound when user time
//! is about real time.

use super::Evidence;
use model::diagnosis::{KernelWork, Mixed, TimeKind};
use model::run::{Bound, Class, Shares};
use model::{Account, Ns, Reason, State};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// The leading kinds are as good as equal below this distance, in points.
const MIXED_POINTS: f64 = 10.0;
/// Waiting is the class from this share on.
const WAITING_SHARE_MIN: f64 = 0.5;
/// A program that does anything but sleep and wait for work for less than this part of the wall
/// is idle.
const WORKING_PART: u128 = 10;
/// Time without a CPU is worth a word from this part of the account on.
const HELD_UP_PART: u128 = 10;

/// Decides the class, over a wall clock of `wall_ns`: what an account of a window sums to is more
/// than that where it has several threads.
///
/// `idle` when less than a tenth of the wall is anything but sleep and waiting for work; `mixed`
/// when the two leading kinds are within 10 points, or when waiting leads without being half;
/// `io` when waiting is at least half; else `kernel` or `cpu`, whichever is more. Shares are of the
/// time that was not waiting for work.
pub fn bound(account: &Account, wall_ns: Ns) -> Bound {
    let sum = |states: &dyn Fn(State) -> bool| -> Ns {
        account.parts().iter().filter(|part| states(part.state)).map(|part| part.ns).sum()
    };
    let busy_ns = sum(&|state| state != State::Idle);
    let share = |states: &dyn Fn(State) -> bool| sum(states) as f64 / busy_ns.max(1) as f64;
    let shares = Shares {
        waiting: share(&State::waits),
        kernel: share(&is_kernel),
        user: share(&|state| state == State::User),
    };
    let [(leading, most), (_, second), _] = kinds(shares);
    let margin_points = (most - second) * 100.0;
    let working_ns = busy_ns - account.ns(State::Sleep);
    let class = match leading {
        _ if busy_ns == 0 && account.wall_ns() == 0 => Class::Mixed,
        _ if u128::from(working_ns) * WORKING_PART <= u128::from(wall_ns) => Class::Idle,
        _ if margin_points < MIXED_POINTS => Class::Mixed,
        TimeKind::Waiting if shares.waiting < WAITING_SHARE_MIN => Class::Mixed,
        TimeKind::Waiting => Class::Io,
        TimeKind::Kernel => Class::Kernel,
        TimeKind::User => Class::Cpu,
    };
    let of_class = |state: State| match class {
        Class::Idle => state.blocked(),
        Class::Io => state.waits(),
        Class::Kernel => is_kernel(state),
        Class::Cpu => !state.blocked() && !is_kernel(state),
        Class::Mixed => state != State::Idle,
    };
    let leading = account.parts().iter().filter(|part| of_class(part.state)).max_by_key(|part| part.ns);
    Bound { class, resource: leading.map_or(State::Unexplained, |part| part.state), margin_points, shares }
}

fn is_kernel(state: State) -> bool {
    matches!(state, State::Kernel | State::Fault)
}

/// The kinds of time with their shares, largest first.
pub(super) fn kinds(shares: Shares) -> [(TimeKind, f64); 3] {
    let mut kinds = [
        (TimeKind::Waiting, shares.waiting),
        (TimeKind::Kernel, shares.kernel),
        (TimeKind::User, shares.user),
    ];
    kinds.sort_by(|one, other| other.1.total_cmp(&one.1));
    kinds
}

/// Why a class is `mixed`, where it is. What leads clearly and yet is no class is waiting.
pub(super) fn mixed(bound: &Bound) -> Option<Mixed> {
    (bound.class == Class::Mixed).then_some(if bound.margin_points >= MIXED_POINTS {
        Mixed::WaitingBelowHalf
    } else {
        Mixed::NoneLeads
    })
}

/// Neither working nor waiting for anything of its own: no class speaks of this time.
pub(super) fn held_up_ns(evidence: &Evidence<'_>) -> Option<Ns> {
    let held_up = |state| matches!(state, State::Runqueue | State::Throttled | State::Stopped);
    let ns = evidence.account_ns(held_up);
    (ns > 0 && u128::from(ns) * HELD_UP_PART >= u128::from(evidence.whole_ns)).then_some(ns)
}

/// What most of the kernel's work is, when one thing is at least half of it.
pub(super) fn kernel_work(evidence: &Evidence<'_>) -> Option<KernelWork> {
    let mut sums = FxHashMap::<KernelWork, (Ns, Reverse<usize>)>::default();
    for (at, step) in evidence.path.iter().enumerate() {
        let work = match step.state {
            State::Kernel => KernelWork::Calls(step.reason.clone()),
            State::Fault => KernelWork::Faults,
            _ => continue,
        };
        // Of equals the first on the path, so that it is the same each time.
        sums.entry(work).or_insert((0, Reverse(at))).0 += step.ns;
    }
    let all: Ns = sums.values().map(|(ns, _)| ns).sum();
    let (work, (ns, _)) = sums.into_iter().max_by_key(|(_, sum)| *sum)?;
    (ns >= all.div_ceil(2) && work != KernelWork::Calls(Reason::None)).then_some(work)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::measured;
    use model::{Reason, Step};

    fn class_over(wall_ns: Option<Ns>, parts: &[(State, u64)]) -> (Class, State) {
        let step = |(state, ns): &(State, u64)| Step {
            pid: 1,
            tid: 1,
            process: String::new(),
            state: *state,
            reason: Reason::None,
            ns: *ns,
            count: 1,
        };
        let wall = parts.iter().map(|(_, ns)| ns).sum();
        let account = Account::new(
            wall,
            parts.iter().map(|(state, ns)| measured(*state, *ns)).collect(),
            parts.iter().map(step).collect(),
        );
        let bound = bound(&account.unwrap(), wall_ns.unwrap_or(wall));
        (bound.class, bound.resource)
    }

    fn class(parts: &[(State, u64)]) -> (Class, State) {
        class_over(None, parts)
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
    fn threads_that_wait_for_work_bound_nothing() {
        // One of eight threads computes for half of the window, and waits for a lock a little.
        let server = [(State::Idle, 745), (State::User, 45), (State::Lock, 10)];
        assert_eq!(class_over(Some(100), &server), (Class::Cpu, State::User));
        let contended = [(State::Idle, 600), (State::User, 45), (State::Lock, 155)];
        assert_eq!(class_over(Some(100), &contended), (Class::Io, State::Lock));
        let asked_now_and_then =
            [(State::Idle, 390), (State::User, 3), (State::Network, 5), (State::Sleep, 2)];
        assert_eq!(class_over(Some(100), &asked_now_and_then), (Class::Idle, State::Idle));
    }

    #[test]
    fn a_program_that_is_not_let_run_is_bound_by_the_run_queue() {
        assert_eq!(class(&[(State::Runqueue, 60), (State::User, 40)]), (Class::Cpu, State::Runqueue));
    }
}
