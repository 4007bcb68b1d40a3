//! The programs' own clocks, and the two ways to let time pass: asleep and at work.
#![allow(unsafe_code)]

use std::hint::black_box;

/// A millisecond in nanoseconds.
pub const MS: u64 = 1_000_000;

fn read(clock: libc::clockid_t) -> u64 {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `at` is valid for writes; the clocks asked for exist on every Linux, so the call
    // cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut at) };
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}

/// The monotonic clock, in ns.
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// CPU time of this thread, in ns. A system call, unlike [`now`].
pub fn thread_cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// A duration by two clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// By the monotonic clock.
    pub wall_ns: u64,
    /// On a CPU, this thread alone.
    pub cpu_ns: u64,
}

/// Runs `work` and measures how long it took.
pub fn time<T>(work: impl FnOnce() -> T) -> (T, Spent) {
    let (wall, cpu) = (now(), thread_cpu());
    let result = work();
    (result, Spent { cpu_ns: thread_cpu() - cpu, wall_ns: now() - wall })
}

/// Work of some tens of microseconds without a system call. The compiler cannot predict any step,
/// so it removes none.
pub fn burn() {
    let mut value = 1u64;
    for _ in 0..10_000 {
        value = black_box(value).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    black_box(value);
}

/// Uses `cpu_ns` of CPU time in user code, on a busy machine too, and measures how long it took.
pub fn spin(cpu_ns: u64) -> Spent {
    let ((), spent) = time(|| {
        let from = thread_cpu();
        while thread_cpu() - from < cpu_ns {
            // The clock of a thread is a system call: many burns a reading keep the loop's time in
            // user code.
            for _ in 0..4 {
                burn();
            }
        }
    });
    spent
}

/// Sleeps for at least `ns` and measures how long it took.
pub fn sleep(ns: u64) -> Spent {
    let ((), spent) = time(|| {
        let mut left =
            libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
        // A signal ends the call early and leaves the rest in `left`.
        // SAFETY: both pointers are to the same valid timespec, which the call allows.
        while unsafe { libc::nanosleep(&raw const left, &raw mut left) } != 0 {}
    });
    spent
}

/// How a program lets time pass.
#[derive(Debug, Clone, Copy)]
pub enum Pass {
    /// Blocked until a timer fires.
    Asleep,
    /// On a CPU.
    AtWork,
}

impl Pass {
    /// Lets `ns` pass: of the wall clock when asleep, of CPU time when at work.
    pub fn pass(self, ns: u64) -> Spent {
        match self {
            Pass::Asleep => sleep(ns),
            Pass::AtWork => spin(ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spin_uses_the_cpu_time_asked_for_and_a_sleep_hardly_any() {
        let spun = spin(20 * MS);
        assert!(spun.cpu_ns >= 20 * MS && spun.wall_ns + MS >= spun.cpu_ns, "{spun:?}");
        let slept = sleep(20 * MS);
        assert!(slept.wall_ns >= 20 * MS && slept.cpu_ns < 10 * MS, "{slept:?}");
    }
}
