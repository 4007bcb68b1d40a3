//! One line of `perf script --show-switch-events -F pid,tid,cpu,time,event,trace`: what happened to
//! which thread.
//!
//! perf prints switches and wake-ups in two forms: as the kernel's format says, and shorter where
//! its plugins are installed. Both are read.

use std::str::FromStr;

/// A thread, or the process named by its first one, as the kernel numbers them.
pub(crate) type Tid = i32;

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) at_ns: u64,
    pub(crate) cpu: usize,
    /// The process of the thread that was on the CPU.
    pub(crate) process: Tid,
    pub(crate) what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Switch {
        from: Tid,
        left: Left,
        to: Tid,
    },
    /// It waits for a CPU from now on, for this one where the line says which.
    Wake {
        tid: Tid,
        cpu: Option<usize>,
    },
    /// A wake-up some time before, which was not traced: it gets its CPU now.
    WakeUnseen {
        tid: Tid,
        cpu: usize,
        /// When it gets the CPU is told by what was charged to it, not by a record.
        by_charge: bool,
    },
    /// It has got the CPU (perf's own record of a switch, in addition to the trace's event where
    /// there was one).
    Came {
        tid: Tid,
    },
    /// It waits for another CPU from now on, if it waits for one.
    Migrate {
        tid: Tid,
        cpu: usize,
    },
    Fork {
        parent: Tid,
        child: Tid,
    },
    Exec {
        tid: Tid,
        file: Box<str>,
    },
    /// Time on a CPU that is charged to it: at each tick, and when it leaves its CPU.
    Ran {
        tid: Tid,
        ns: u64,
    },
}

/// How a thread left its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Something else ran, but it could have gone on.
    Runnable,
    Blocked,
    /// In a way that no signal ends: for a disk, as a rule.
    Uninterruptible,
    /// It ended.
    Dead,
}

/// The event of a line; none for lines of other events.
pub(crate) fn event(line: &str) -> Option<Event> {
    let (task, rest) = line.trim_start().split_once(char::is_whitespace)?;
    let (process, thread) = task.split_once('/')?;
    let process = process.parse().ok()?;
    let (cpu, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let cpu = cpu.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
    let (time, rest) = rest.trim_start().split_once(": ")?;
    let (name, text) = rest.trim_start().split_once(": ")?;
    let text = text.trim();
    let what = match name.trim_start_matches("sched:") {
        "sched_switch" => switch(text)?,
        // It can run from its waking on, as perf sched has it too. Who is still on its way off a
        // CPU is not held back by that, and has the second event.
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => What::Wake {
            tid: number(text, " pid=").or_else(|| bracketed(text))?,
            cpu: number(text, " target_cpu=").or_else(|| number(text, " CPU:")),
        },
        "sched_migrate_task" => {
            What::Migrate { tid: number(text, " pid=")?, cpu: number(text, " dest_cpu=")? }
        }
        "sched_process_fork" => {
            What::Fork { parent: number(text, " pid=")?, child: number(text, " child_pid=")? }
        }
        "sched_process_exec" => {
            let file = text.strip_prefix("filename=")?.rsplit_once(" pid=")?.0;
            What::Exec { tid: number(text, " pid=")?, file: file.into() }
        }
        came if came.starts_with("PERF_RECORD_SWITCH_CPU_WIDE IN ") => {
            What::Came { tid: thread.parse().ok()? }
        }
        "sched_stat_runtime" => What::Ran { tid: number(text, " pid=")?, ns: number(text, " runtime=")? },
        _ => return None,
    };
    Some(Event { at_ns: nanoseconds(time)?, cpu, process, what })
}

fn switch(text: &str) -> Option<What> {
    let (before, after) = text.split_once(" ==> ")?;
    if let Some(from) = number(before, " prev_pid=") {
        let state = before.rsplit_once("prev_state=")?.1;
        return Some(What::Switch { from, left: left(state), to: number(after, " next_pid=")? });
    }
    let (task, state) = before.rsplit_once(' ')?;
    Some(What::Switch { from: bracketed(task)?, left: left(state), to: bracketed(after)? })
}

/// From the letters of the state: `R` and `R+`, `S`, `D`, `X` and the like.
fn left(state: &str) -> Left {
    match state {
        _ if state.starts_with('R') => Left::Runnable,
        // The plugin has the two the other way round; a dead thread is one of them.
        _ if state.contains(['X', 'Z']) => Left::Dead,
        _ if state.starts_with('D') => Left::Uninterruptible,
        _ => Left::Blocked,
    }
}

/// The number after a key. A thread's name may hold anything, so the last one counts.
fn number<T: FromStr>(text: &str, key: &str) -> Option<T> {
    let digits = &text[text.rfind(key)? + key.len()..];
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// As the plugin writes a thread: `name:123 [120]`, and more behind.
fn bracketed(text: &str) -> Option<Tid> {
    text.rsplit_once(" [")?.0.rsplit_once(':')?.1.parse().ok()
}

/// `12.000345678`, seconds with any number of digits behind the point.
pub(crate) fn nanoseconds(time: &str) -> Option<u64> {
    let (seconds, fraction) = time.split_once('.')?;
    let fraction = format!("{fraction:0<9}");
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + fraction.get(..9)?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(line: &str) -> Option<What> {
        event(line).map(|event| event.what)
    }

    #[test]
    fn both_forms_of_a_switch_are_read() {
        let kernels = "  12/13    [001]   7.000000123:  sched:sched_switch: prev_comm=a b prev_pid=13 \
                       prev_prio=120 prev_state=R+ ==> next_comm=swapper/1 next_pid=0 next_prio=120";
        let switch = What::Switch { from: 13, left: Left::Runnable, to: 0 };
        assert_eq!(
            event(kernels),
            Some(Event { at_ns: 7_000_000_123, cpu: 1, process: 12, what: switch.clone() })
        );
        let plugins = "12/13 [001] 7.000000123: sched:sched_switch: a b:13 [120] R ==> swapper/1:0 [120]";
        assert_eq!(what(plugins), Some(switch));
    }

    #[test]
    fn how_a_thread_left_its_cpu() {
        let of = |state: &str| left(state);
        assert_eq!(["R", "R+"].map(of), [Left::Runnable; 2]);
        assert_eq!(["S", "T", "I"].map(of), [Left::Blocked; 3]);
        assert_eq!(["D", "D|W"].map(of), [Left::Uninterruptible; 2]);
        assert_eq!(["X", "Z", "Z|X"].map(of), [Left::Dead; 3]);
    }

    #[test]
    fn wake_ups_migrations_forks_and_executed_files() {
        let of = |rest: &str| what(&format!("1/1 [000] 1.5: sched:{rest}"));
        let wake = |cpu| Some(What::Wake { tid: 9, cpu });
        assert_eq!(of("sched_wakeup: comm=x pid=1 y pid=9 prio=120 target_cpu=001"), wake(Some(1)));
        assert_eq!(of("sched_wakeup_new: x [1] z:9 [120] CPU:010"), wake(Some(10)));
        assert_eq!(of("sched_waking: comm=z pid=9 prio=120 target_cpu=001"), wake(Some(1)));
        assert_eq!(of("sched_wakeup: z:9 [120]"), wake(None));
        let migrate = of("sched_migrate_task: comm=a pid=4 prio=120 orig_cpu=0 dest_cpu=1");
        assert_eq!(migrate, Some(What::Migrate { tid: 4, cpu: 1 }));
        let fork = of("sched_process_fork: comm=sh pid=4 child_comm=sh child_pid=5");
        assert_eq!(fork, Some(What::Fork { parent: 4, child: 5 }));
        let exec = of("sched_process_exec: filename=/a b/c pid=5 old_pid=5");
        assert_eq!(exec, Some(What::Exec { tid: 5, file: "/a b/c".into() }));
        let ran = of("sched_stat_runtime: comm=a pid=1 pid=5 runtime=34884 [ns]");
        assert_eq!(ran, Some(What::Ran { tid: 5, ns: 34_884 }));
    }

    #[test]
    fn perfs_own_record_says_who_came() {
        let of = |rest: &str| what(&format!("12/13 [000] 1.5: PERF_RECORD_SWITCH_CPU_WIDE {rest}"));
        assert_eq!(of("IN           prev pid/tid:     0/0"), Some(What::Came { tid: 13 }));
        assert_eq!(of("OUT preempt  next pid/tid:     0/0"), None);
    }

    #[test]
    fn other_lines_are_passed_over() {
        assert_eq!(event(""), None);
        assert_eq!(event("1/1 [000] 1.5: sched:sched_process_exit: comm=a pid=1 prio=120"), None);
        assert_eq!(event("1/1 [000] x: sched:sched_wakeup: a:1 [120]"), None);
    }

    #[test]
    fn times_have_any_number_of_digits() {
        assert_eq!(nanoseconds("1.5"), Some(1_500_000_000));
        assert_eq!(nanoseconds("0.123456"), Some(123_456_000));
        assert_eq!(nanoseconds("12"), None);
    }
}
