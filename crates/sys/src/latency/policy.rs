//! Scheduling policies of threads: sched(7), sched_setattr(2), which rustix lacks.
#![allow(unsafe_code)]

use model::Ns;
use model::wake::Policy;
use rustix::process::{getpriority_process, setpriority_process};
use std::io;

/// `struct sched_attr` in its first version, which every kernel since 3.14 knows.
#[repr(C)]
#[derive(Debug, Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

const SIZE: u32 = size_of::<SchedAttr>() as u32;
const SCHED_OTHER: u32 = 0;
const SCHED_FIFO: u32 = 1;
const SCHED_RR: u32 = 2;
const SCHED_BATCH: u32 = 3;
const SCHED_IDLE: u32 = 5;
const SCHED_DEADLINE: u32 = 6;

/// Sets the policy of the calling thread. [`Policy::Other`] keeps the nice value; its timer slack
/// is set by another call: `rustix::thread::set_current_timer_slack`.
///
/// # Errors
/// `EPERM`: no CAP_SYS_NICE and a priority above `RLIMIT_RTPRIO`, or a cgroup without real-time;
/// for `SCHED_DEADLINE` also an affinity smaller than the root domain. `EBUSY`: not enough
/// `SCHED_DEADLINE` bandwidth left. `EINVAL`: no such priority.
pub fn set(policy: Policy) -> io::Result<()> {
    let mut attr = SchedAttr { size: SIZE, ..SchedAttr::default() };
    match policy {
        Policy::Fifo(priority) => (attr.policy, attr.priority) = (SCHED_FIFO, priority),
        Policy::Rr(priority) => (attr.policy, attr.priority) = (SCHED_RR, priority),
        Policy::Other(_) => (attr.policy, attr.nice) = (SCHED_OTHER, getpriority_process(None)?),
        Policy::Deadline { runtime_ns, deadline_ns, period_ns } => {
            attr.policy = SCHED_DEADLINE;
            (attr.runtime_ns, attr.deadline_ns, attr.period_ns) = (runtime_ns, deadline_ns, period_ns);
        }
    }
    apply(&attr)
}

/// The current policy of a thread of this process (0: the calling one). `slack_ns` is its timer
/// slack, which only the thread itself can read. `SCHED_BATCH` and `SCHED_IDLE` are an error,
/// since nothing that is measured has them.
///
/// # Errors
/// `ESRCH`: there is no such thread. `Unsupported`: a policy that [`Policy`] cannot name.
pub fn of(tid: u32, slack_ns: Ns) -> io::Result<Policy> {
    let mut attr = SchedAttr::default();
    // SAFETY: the kernel writes at most as many bytes as the size that it gets.
    if unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut attr, SIZE, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(match attr.policy {
        SCHED_OTHER => Policy::Other(slack_ns),
        SCHED_FIFO => Policy::Fifo(attr.priority),
        SCHED_RR => Policy::Rr(attr.priority),
        SCHED_DEADLINE => Policy::Deadline {
            runtime_ns: attr.runtime_ns,
            deadline_ns: attr.deadline_ns,
            period_ns: attr.period_ns,
        },
        SCHED_BATCH => return Err(io::Error::new(io::ErrorKind::Unsupported, "SCHED_BATCH")),
        SCHED_IDLE => return Err(io::Error::new(io::ErrorKind::Unsupported, "SCHED_IDLE")),
        other => return Err(io::Error::new(io::ErrorKind::Unsupported, format!("policy {other}"))),
    })
}

/// The calling thread runs before others of its policy until this is dropped: it is to end, on a
/// machine that is busy, perhaps by its own loads. Threads and processes that it starts meanwhile
/// would inherit it.
#[derive(Debug)]
pub struct RtBoost {
    /// The nice value before; none where the system refuses another one, or nothing changed.
    before: Option<i32>,
}

impl RtBoost {
    /// The highest priority of ordinary threads: setpriority(2).
    const HIGHEST: i32 = -20;

    /// From now on. An ordinary user stays as nice as before, and who runs so already as he does.
    pub fn begin() -> Self {
        let before = getpriority_process(None).ok().filter(|nice| *nice > Self::HIGHEST);
        Self { before: before.filter(|_| setpriority_process(None, Self::HIGHEST).is_ok()) }
    }
}

impl Drop for RtBoost {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // A lower priority is never refused.
            let _ = setpriority_process(None, before);
        }
    }
}

/// The calling thread leaves its CPU to others until this is dropped: it preempts no thread when it
/// wakes up (`SCHED_BATCH`), and one that wakes up on its CPU preempts it, because that one has the
/// shorter slice (sched_setattr(2), `sched_runtime`; since Linux 6.12, before which it is ignored).
/// It has its share of the CPUs as before. Threads that it starts meanwhile inherit it.
#[derive(Debug)]
pub struct Background {
    /// Whether there is something to take back.
    set: bool,
}

impl Background {
    /// The longest slice that the kernel takes: `kernel/sched/syscalls.c`.
    const SLICE_NS: u64 = 100_000_000;

    /// From now on. A thread that was given another policy than `SCHED_OTHER` keeps it.
    pub fn begin() -> Self {
        let ordinary = matches!(of(0, 0), Ok(Policy::Other(_)));
        Self { set: ordinary && ordinary_slices(SCHED_BATCH, Self::SLICE_NS).is_ok() }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if self.set {
            // Neither is a right that could be refused.
            let _ = ordinary_slices(SCHED_OTHER, 0);
        }
    }
}

/// An ordinary policy with slices of this length, 0 for the kernel's own, as nice as before.
fn ordinary_slices(policy: u32, runtime_ns: u64) -> io::Result<()> {
    let nice = getpriority_process(None)?;
    apply(&SchedAttr { size: SIZE, policy, nice, runtime_ns, ..SchedAttr::default() })
}

/// sched_setattr(2) of the calling thread.
fn apply(attr: &SchedAttr) -> io::Result<()> {
    // SAFETY: 0 is the calling thread; the struct is as long as it says and is only read.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *attr, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a separate thread: its policy ends with it.
    fn alone<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(work).join().unwrap()
    }

    #[test]
    fn what_is_set_is_read_back() {
        for policy in [Policy::Fifo(7), Policy::Rr(3), Policy::Other(1)] {
            let (set, got) = alone(move || (set(policy), of(0, 1).unwrap()));
            match set {
                Ok(()) => assert_eq!(got, policy),
                // An ordinary user may not.
                Err(error) => assert_eq!((error.raw_os_error(), got), (Some(libc::EPERM), Policy::Other(1))),
            }
        }
    }

    #[test]
    fn an_ordinary_thread_stays_as_nice_as_it_was() {
        let (set, nice) = alone(|| {
            rustix::process::setpriority_process(None, 5).unwrap();
            (set(Policy::Other(1)), getpriority_process(None))
        });
        assert_eq!((set.map_err(|error| error.to_string()), nice), (Ok(()), Ok(5)));
    }

    #[test]
    fn a_thread_that_hurries_is_as_nice_as_before_afterwards() {
        let (during, after) = alone(|| {
            rustix::process::setpriority_process(None, 5).unwrap();
            let hurry = RtBoost::begin();
            let during = (getpriority_process(None).unwrap(), hurry.before);
            drop(hurry);
            (during, getpriority_process(None).unwrap())
        });
        // An ordinary user may not.
        assert!([(-20, Some(5)), (5, None)].contains(&during), "{during:?}");
        assert_eq!(after, 5);
    }

    #[test]
    fn a_thread_in_the_background_is_an_ordinary_one_again_afterwards() {
        let (during, nice, after) = alone(|| {
            rustix::process::setpriority_process(None, 5).unwrap();
            let background = Background::begin();
            let during = (of(0, 1).unwrap_err().to_string(), getpriority_process(None).unwrap());
            drop(background);
            (during, getpriority_process(None).unwrap(), of(0, 1).unwrap())
        });
        assert_eq!((during.0.as_str(), during.1), ("SCHED_BATCH", 5));
        assert_eq!((nice, after), (5, Policy::Other(1)));
    }

    #[test]
    fn a_policy_that_somebody_chose_is_kept_in_the_background() {
        let (during, after) = alone(|| {
            let idle = SchedAttr { size: SIZE, policy: SCHED_IDLE, ..SchedAttr::default() };
            apply(&idle).unwrap();
            let background = Background::begin();
            let during = of(0, 1).unwrap_err().to_string();
            drop(background);
            (during, of(0, 1).unwrap_err().to_string())
        });
        assert_eq!((during.as_str(), after.as_str()), ("SCHED_IDLE", "SCHED_IDLE"));
    }

    #[test]
    fn a_deadline_is_kept_or_refused() {
        let asked = Policy::Deadline { runtime_ns: 100_000, deadline_ns: 10_000_000, period_ns: 10_000_000 };
        let (set, got) = alone(move || (set(asked), of(0, 1).unwrap()));
        assert_eq!(got, if set.is_ok() { asked } else { Policy::Other(1) });
    }

    #[test]
    fn impossible_priorities_and_threads_are_errors() {
        let refused = alone(|| set(Policy::Fifo(100))).unwrap_err();
        assert!(matches!(refused.raw_os_error(), Some(libc::EINVAL | libc::EPERM)), "{refused}");
        assert_eq!(of(u32::MAX >> 1, 1).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
