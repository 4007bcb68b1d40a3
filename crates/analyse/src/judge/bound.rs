//! What bounds a program: the classic test on real, user and system time, made on the wall account.
//!
//! D. Spinellis, "Code Quality" (2006), section 4.1: I/O-bound when real time is much more than
//! user and system time, kernel-bound when system time exceeds user time, CPU-bound when user time
//! is about real time. Time in which the program was ready to run and not let is divided first
//! (`starved`): behind its own threads it counts as work, behind others it may be the class, and
//! until an idle CPU has woken up it is the end of a wait.

use super::Evidence;
use super::starved::{Contention, RunnableSplit};
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
/// is idle, also where it was not let run for as much again.
const WORKING_PART: u128 = 10;
/// A program that is not let run for this share is starved.
const STARVED_SHARE_MIN: f64 = 0.5;

/// Decides the class. What an account of a window sums to is more than its wall clock where it has
/// several threads.
///
/// `idle` when less than a tenth of the wall is anything but sleep and waiting for work, beside up
/// to another tenth that others had the CPUs for; `starved`
/// when half is time ready to run that others, a quota or a hypervisor had; `mixed` when the two
/// leading kinds are within 10 points, or when waiting leads without being half; `io` when waiting
/// is at least half; else `kernel` or `cpu`, whichever is more. Run queue behind its own threads
/// counts as what they did: kernel and user time in proportion. Until an idle CPU has woken up it
/// counts as waiting, up to as much as there is of that: without waits there are no wake-ups, but
/// those of threads that hand over to each other end none on the path. Shares are of the time that
/// was not waiting for work.
pub fn bound(account: &Account, contention: Contention<'_>) -> Bound {
    let held = contention.held(account.parts());
    let sum = |states: &dyn Fn(State) -> bool| -> Ns {
        account.parts().iter().filter(|part| states(part.state)).map(|part| part.ns).sum()
    };
    let busy_ns = sum(&|state| state != State::Idle);
    let of_busy = |ns: Ns| ns as f64 / busy_ns.max(1) as f64;
    let share = |states: &dyn Fn(State) -> bool| of_busy(sum(states));
    let shares = Shares {
        waiting: share(&State::waits),
        kernel: share(&State::in_kernel),
        user: share(&|state| state == State::User),
    };
    let [(leading, most), (_, second), _] = kinds(shares, held, busy_ns);
    let margin_points = (most - second) * 100.0;
    let working_ns = busy_ns - account.ns(State::Sleep);
    let little = |ns: Ns| u128::from(ns) * WORKING_PART <= u128::from(contention.wall_ns);
    let class = match leading {
        _ if busy_ns == 0 && account.wall_ns() == 0 => Class::Mixed,
        _ if little(working_ns.saturating_sub(held.starved_ns())) && little(held.starved_ns()) => Class::Idle,
        _ if of_busy(held.starved_ns()) >= STARVED_SHARE_MIN => Class::Starved,
        _ if margin_points < MIXED_POINTS => Class::Mixed,
        TimeKind::Waiting if most < WAITING_SHARE_MIN => Class::Mixed,
        TimeKind::Waiting => Class::Io,
        TimeKind::Kernel => Class::Kernel,
        TimeKind::User => Class::Cpu,
    };
    let of_class = |state: State| match class {
        Class::Idle => state.blocked(),
        Class::Io => state.waits(),
        Class::Kernel => state.in_kernel(),
        Class::Cpu => !state.blocked() && !state.in_kernel(),
        Class::Starved => matches!(state, State::Runqueue | State::Throttled),
        Class::Mixed => state != State::Idle,
    };
    let leading = account.parts().iter().filter(|part| of_class(part.state)).max_by_key(|part| part.ns);
    Bound { class, resource: leading.map_or(State::Unexplained, |part| part.state), margin_points, shares }
}

/// The kinds of time with their shares of the whole, largest first: with the parts of the run queue
/// that count as theirs.
pub(super) fn kinds(shares: Shares, held: RunnableSplit, whole_ns: Ns) -> [(TimeKind, f64); 3] {
    let share = |ns: Ns| ns as f64 / whole_ns.max(1) as f64;
    let (behind_own, waking) = (share(held.own_ns), share(held.waking_ns).min(shares.waiting));
    let on_cpu = shares.kernel + shares.user;
    let in_kernel = if on_cpu > 0.0 { behind_own * shares.kernel / on_cpu } else { 0.0 };
    let mut kinds = [
        (TimeKind::Waiting, shares.waiting + waking),
        (TimeKind::Kernel, shares.kernel + in_kernel),
        (TimeKind::User, shares.user + behind_own - in_kernel),
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

/// Neither working nor waiting for anything of its own: no class speaks of this time but `starved`.
/// Behind its own threads it is work.
pub(super) fn held_up_ns(evidence: &Evidence<'_>, own_ns: Ns) -> Option<Ns> {
    let held_up = |state| matches!(state, State::Runqueue | State::Throttled | State::Stopped);
    let ns = evidence.account_ns(held_up).saturating_sub(own_ns);
    (evidence.run.bound.class != Class::Starved && evidence.is_notable(ns)).then_some(ns)
}

/// What most of the kernel's work is, when one thing is at least half of it.
pub(super) fn kernel_work(evidence: &Evidence<'_>) -> Option<KernelWork> {
    let mut sums = FxHashMap::<KernelWork, (Ns, Reverse<usize>)>::default();
    for (at, step) in evidence.run.path.iter().enumerate() {
        let work = match step.state {
            State::Kernel => KernelWork::Calls(step.reason.clone()),
            State::Fault => KernelWork::Faults,
            State::Interrupt => KernelWork::Interrupts,
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
mod tests;
