//! Which threads of a window did anything, which only keep time, and what a window is about.

use model::run::WindowSummary;
use model::{Ns, Pid};
use std::collections::BTreeSet;

/// Of its life an idle thread is on a CPU for less than one part in this many, and for less than
/// that in waits that are not for work.
const IDLE_SHARE: Ns = 1000;

/// What a thread did in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) life_ns: Ns,
    pub(crate) on_cpu_ns: Ns,
    /// In the run queue.
    pub(crate) queued_ns: Ns,
    /// In calls that wait for work.
    pub(crate) for_work_ns: Ns,
    /// All of it was one wait, as far as was seen, and not for a lock as far as is known.
    pub(crate) one_wait: bool,
}

impl Life {
    /// Whether it did nothing but wait for work: it was in one wait, or next to never on a CPU and
    /// otherwise in calls that wait for work.
    pub(crate) fn is_idle(&self) -> bool {
        let known_ns = self.for_work_ns + self.queued_ns + self.on_cpu_ns;
        let rest_ns = self.life_ns.saturating_sub(known_ns);
        let only_for_work = self.for_work_ns > 0
            && self.on_cpu_ns * IDLE_SHARE < self.life_ns
            && rest_ns * IDLE_SHARE < self.life_ns;
        self.life_ns > 0 && (self.one_wait || only_for_work)
    }
}

/// The work of threads that are next to never on a CPU is that of the window from this part of one
/// CPU on, if it is this part of all work, too.
const WORKING_PART: Ns = 10;

/// Which threads of a window did nothing but wait for work.
///
/// Each by itself, unless the many that are next to never on a CPU do the work together: a pool of
/// thousands whose threads take turns. Then those that were on a CPU are active.
pub(crate) fn idle(lives: &[Life]) -> Vec<bool> {
    let sum = |lives: &mut dyn Iterator<Item = &Life>| -> Ns { lives.map(|life| life.on_cpu_ns).sum() };
    let all_ns = sum(&mut lives.iter());
    let idle_ns = sum(&mut lives.iter().filter(|life| life.is_idle()));
    let longest_ns = lives.iter().map(|life| life.life_ns).max().unwrap_or(0);
    let take_turns = idle_ns * WORKING_PART >= longest_ns.max(1) && idle_ns * WORKING_PART >= all_ns;
    lives.iter().map(|life| life.is_idle() && !(take_turns && life.on_cpu_ns > 0)).collect()
}

/// Of its life, but for the run queue, a thread that keeps time does anything but sleep and wait
/// for work for less than this part: as a program that is idle (`judge::bound`).
const WAKES_PART: Ns = 10;

/// How a thread of a window keeps time, if that is all it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) life_ns: Ns,
    pub(crate) on_cpu_ns: Ns,
    pub(crate) queued_ns: Ns,
    pub(crate) slept_ns: Ns,
    pub(crate) idle_ns: Ns,
}

impl Pace {
    fn keeps_time(&self) -> bool {
        let rest_ns = self.life_ns.saturating_sub(self.queued_ns + self.slept_ns + self.idle_ns);
        self.slept_ns > 0 && rest_ns * WAKES_PART <= self.life_ns
    }
}

/// Which threads of a window only keep time for the others: they look after them at intervals, as
/// the monitor of Go's runtime does. What they sleep bounds nothing.
///
/// None does where the others are on a CPU for no longer than those that sleep: then their sleep is
/// what the window is about.
pub(crate) fn keep_time(paces: &[Pace]) -> Vec<bool> {
    let on_cpu_ns = |keeps: bool| -> Ns {
        paces.iter().filter(|pace| pace.keeps_time() == keeps).map(|pace| pace.on_cpu_ns).sum()
    };
    let others_work = on_cpu_ns(false) > on_cpu_ns(true);
    paces.iter().map(|pace| others_work && pace.keeps_time()).collect()
}

/// A thread of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) pid: Pid,
    pub(crate) life_ns: Ns,
    pub(crate) idle: bool,
}

/// What a window is about: those of its threads that are not idle, or all where all are.
pub(crate) fn window(target: String, members: &[Member]) -> WindowSummary {
    let processes: BTreeSet<Pid> = members.iter().map(|member| member.pid).collect();
    let life_ns = |idle: bool| -> Ns {
        members.iter().filter(|member| member.idle == idle).map(|member| member.life_ns).sum()
    };
    let threads_idle = members.iter().filter(|member| member.idle).count();
    let threads_active = members.len() - threads_idle;
    WindowSummary {
        target,
        processes: processes.len() as u64,
        threads_active: threads_active as u64,
        threads_idle: threads_idle as u64,
        thread_ns: life_ns(threads_active == 0),
        idle_ns: life_ns(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: Life =
        Life { life_ns: 100_000, on_cpu_ns: 50, queued_ns: 0, for_work_ns: 99_900, one_wait: false };

    #[test]
    fn less_than_a_thousandth_on_a_cpu_and_less_than_that_in_other_waits_is_idle() {
        assert!(WAITS.is_idle());
        assert!(!Life { on_cpu_ns: 100, ..WAITS }.is_idle());
        assert!(!Life { for_work_ns: 99_850, ..WAITS }.is_idle(), "a thousandth in another wait");
        assert!(Life { for_work_ns: 90_000, queued_ns: 9_900, ..WAITS }.is_idle(), "a busy machine");
        assert!(!Life { for_work_ns: 0, ..WAITS }.is_idle());
        assert!(Life { for_work_ns: 0, on_cpu_ns: 0, one_wait: true, ..WAITS }.is_idle());
        assert!(!Life { life_ns: 0, for_work_ns: 0, on_cpu_ns: 0, queued_ns: 0, one_wait: true }.is_idle());
    }

    #[test]
    fn many_that_take_turns_are_active() {
        let pool = |threads: usize| {
            let turn = Life { for_work_ns: 99_950, ..WAITS };
            let never = Life { on_cpu_ns: 0, for_work_ns: 0, one_wait: true, ..WAITS };
            let mut lives = vec![turn; threads];
            lives.push(never);
            idle(&lives)
        };
        assert_eq!(pool(199), [true; 200], "a tenth of a CPU is not reached");
        let of_many = pool(200);
        assert_eq!(of_many.iter().filter(|idle| **idle).count(), 1, "who never had a turn");
        assert!(of_many[200]);
        let busy = Life { on_cpu_ns: 99_000, for_work_ns: 0, ..WAITS };
        assert_eq!(idle(&[busy, WAITS, WAITS]), [false, true, true]);
    }

    #[test]
    fn who_only_sleeps_beside_others_that_work_keeps_time() {
        let sleeps = Pace { life_ns: 1000, on_cpu_ns: 60, queued_ns: 100, slept_ns: 700, idle_ns: 100 };
        let works = Pace { life_ns: 1000, on_cpu_ns: 300, queued_ns: 0, slept_ns: 100, idle_ns: 600 };
        assert_eq!(keep_time(&[sleeps, works]), [true, false]);
        assert_eq!(keep_time(&[sleeps, sleeps]), [false, false], "their sleep is all there is");
        let little = Pace { on_cpu_ns: 60, ..works };
        assert_eq!(keep_time(&[sleeps, little]), [false, false]);
        let waits = Pace { slept_ns: 600, ..sleeps };
        assert_eq!(keep_time(&[waits, works]), [false, false], "a fifth is in other waits, or work");
        let pool = Pace { slept_ns: 0, idle_ns: 840, ..sleeps };
        assert_eq!(keep_time(&[pool, works]), [false, false], "it does not sleep");
    }

    #[test]
    fn a_window_is_about_its_active_threads_or_about_all() {
        let member = |pid, idle| Member { pid, life_ns: 10, idle };
        let some = window("a".into(), &[member(1, false), member(1, true), member(2, true)]);
        assert_eq!((some.processes, some.threads_active, some.threads_idle), (2, 1, 2));
        assert_eq!((some.thread_ns, some.idle_ns), (10, 20));
        let none = window("a".into(), &[member(1, true), member(2, true)]);
        assert_eq!((none.thread_ns, none.idle_ns), (20, 20));
    }
}
