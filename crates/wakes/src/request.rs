//! Checks a request before anything is started, and finds out what this process may use.

use model::Ns;
use model::wake::{Policy, WakeMode, WakeRequest};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CpuSet, capabilities, sched_setaffinity};
use thiserror::Error as ThisError;

/// The shortest interval. A wake-up (syscall, timer interrupt, two context switches) takes some
/// microseconds on every machine, and a real-time thread that never sleeps blocks its CPU.
pub const INTERVAL_NS_MIN: Ns = 10_000;
/// The longest interval: Ctrl-C waits for up to one.
const INTERVAL_NS_MAX: Ns = 10_000_000_000;

/// Why nothing was measured.
#[derive(Debug, ThisError, Clone, PartialEq, Eq)]
pub enum Error {
    /// The request is impossible.
    #[error("{0}")]
    Request(String),
    /// The system did not allow it.
    #[error("{0}")]
    System(String),
}

/// A set of one CPU.
pub(crate) fn only(cpu: usize) -> CpuSet {
    let mut one = CpuSet::new();
    one.set(cpu);
    one
}

/// The CPUs that the calling thread may run on; at least one.
pub fn allowed_cpus() -> Vec<u32> {
    let cpus = host::cpus::allowed(None).map_or_else(|_| Vec::new(), |cpus| cpus.into_vec());
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// The CPUs that a thread of this process can be bound to: isolcpus included, but not those outside
/// the cgroup's cpuset.
pub fn usable_cpus() -> Vec<u32> {
    // A request for all CPUs gives those of the cpuset and moves no thread. Trying each CPU in turn
    // would disturb CPUs that are not measured, and wait for busy ones.
    let granted = || {
        let mut all = CpuSet::new();
        (0..CpuSet::MAX_CPU).for_each(|cpu| all.set(cpu));
        let _ = sched_setaffinity(None, &all);
        allowed_cpus()
    };
    // In a thread of its own, since the affinity stays.
    let thread = std::thread::Builder::new().spawn(granted);
    thread.ok().and_then(|thread| thread.join().ok()).unwrap_or_else(allowed_cpus)
}

/// The highest real-time priority that this process may have: 0 is none, and with CAP_SYS_NICE it
/// is 99.
pub fn rt_priority_max() -> u32 {
    let may_all = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE));
    if may_all {
        return 99;
    }
    // None means unlimited.
    getrlimit(Resource::Rtprio).current.map_or(99, |limit| limit.min(99) as u32)
}

/// Raises the soft limits to the hard limits.
pub(crate) fn raise_limits() {
    for resource in [Resource::Rtprio, Resource::Memlock] {
        let limit = getrlimit(resource);
        // A refusal shows in the settings in force.
        let _ = setrlimit(resource, Rlimit { current: limit.maximum, ..limit });
    }
}

/// Checks a request against the usable CPUs and the resolution of the clock.
///
/// # Errors
/// [`Error::Request`] with what is wrong and what to try.
pub fn check(asked: &WakeRequest, usable: &[u32], resolution_ns: Ns) -> Result<(), Error> {
    let refuse = |why: String| Err(Error::Request(why));
    let known: Vec<String> = usable.iter().map(u32::to_string).collect();
    if asked.cpus.is_empty() {
        return refuse(format!("no CPU to measure\ntry: one of {}", known.join(",")));
    }
    for (at, cpu) in asked.cpus.iter().enumerate() {
        if !usable.contains(cpu) {
            return refuse(format!("CPU {cpu} cannot be used\ntry: one of {}", known.join(",")));
        }
        if asked.cpus[..at].contains(cpu) {
            return refuse(format!("CPU {cpu} is listed twice"));
        }
    }
    if asked.mode == WakeMode::Timer && asked.interval_ns < INTERVAL_NS_MIN {
        return refuse(format!(
            "an interval of {} ns is shorter than a wake-up takes\ntry: {} us or more",
            asked.interval_ns,
            INTERVAL_NS_MIN / 1_000
        ));
    }
    if asked.interval_ns > INTERVAL_NS_MAX {
        return refuse(format!(
            "the interval is too long\ntry: {} s or less",
            INTERVAL_NS_MAX / 1_000_000_000
        ));
    }
    if asked.mode == WakeMode::Timer && asked.for_ns < asked.interval_ns {
        return refuse("--for ends before the first wake-up\ntry: a --for longer than --interval".into());
    }
    if asked.for_ns > 366 * 86_400 * 1_000_000_000 {
        return refuse("--for is longer than a year\ntry: a shorter one".into());
    }
    policy(asked)?;
    if let Some(deadline) = asked.deadline {
        if deadline.deadline_ns <= resolution_ns {
            return refuse(format!(
                "the resolution of the clock is {resolution_ns} ns, too coarse for a deadline of {} ns\n\
                 try: --deadline above {resolution_ns}ns",
                deadline.deadline_ns
            ));
        }
        if !(0.0..1.0).contains(&deadline.margin) {
            return refuse("the margin must be below 100 % of the deadline\ntry: --margin 20%".into());
        }
        if !(deadline.confidence > 0.0 && deadline.confidence < 1.0) {
            return refuse("a confidence must be above 0 % and below 100 %\ntry: --confidence 95%".into());
        }
    }
    Ok(())
}

fn policy(asked: &WakeRequest) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::Request(why.into()));
    match asked.policy {
        Policy::Fifo(priority) | Policy::Rr(priority) if !(1..=99).contains(&priority) => {
            Err(Error::Request(format!("{priority} is not a real-time priority\ntry: 1 to 99")))
        }
        Policy::Other(0) => refuse("a timer slack of 0 means the default slack\ntry: 1 ns"),
        Policy::Deadline { runtime_ns, deadline_ns, period_ns }
            if runtime_ns < 1_024 || runtime_ns > deadline_ns || deadline_ns > period_ns =>
        {
            refuse("the kernel requires 1024 ns <= runtime <= deadline <= period\ntry: deadline:100us/1ms")
        }
        Policy::Deadline { .. } if asked.mode == WakeMode::Gap => {
            refuse("a SCHED_DEADLINE thread cannot spin beyond its runtime\ntry: --policy other")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::wake::Sleeper;
    use model::wake::verdict::Deadline;

    fn asked() -> WakeRequest {
        WakeRequest {
            mode: WakeMode::Timer,
            sleeper: Sleeper::ClockNanosleep,
            cpus: vec![0],
            interval_ns: 1_000_000,
            for_ns: 1_000_000_000,
            policy: Policy::Fifo(80),
            loads: Vec::new(),
            deadline: None,
            spike_ns: None,
        }
    }

    fn refused(change: impl FnOnce(&mut WakeRequest)) -> String {
        let mut asked = asked();
        change(&mut asked);
        check(&asked, &[0, 1], 1).unwrap_err().to_string()
    }

    #[test]
    fn what_is_impossible_is_refused_with_what_to_try() {
        assert_eq!(check(&asked(), &[0, 1], 1), Ok(()));
        assert!(refused(|asked| asked.cpus = vec![7]).contains("try: one of 0,1"));
        assert!(refused(|asked| asked.cpus = vec![1, 1]).contains("twice"));
        assert!(refused(|asked| asked.cpus.clear()).contains("no CPU"));
        assert!(refused(|asked| asked.interval_ns = 0).contains("10 us or more"));
        assert!(refused(|asked| asked.interval_ns = u64::MAX).contains("too long"));
        assert!(refused(|asked| asked.for_ns = 10).contains("--for longer"));
        assert!(refused(|asked| asked.for_ns = u64::MAX).contains("year"));
        for priority in [0, 100] {
            assert!(refused(|asked| asked.policy = Policy::Rr(priority)).contains("1 to 99"));
        }
        let deadline = |deadline_ns, margin, confidence| {
            Some(Deadline { deadline_ns, margin, confidence, one_in_ns: 3_600_000_000_000 })
        };
        assert!(
            refused(|asked| asked.deadline = deadline(1, 0.2, 0.95)).contains("try: --deadline above 1ns")
        );
        assert!(refused(|asked| asked.deadline = deadline(100, 1.0, 0.95)).contains("margin"));
        assert!(refused(|asked| asked.deadline = deadline(100, f64::NAN, 0.95)).contains("margin"));
        for confidence in [0.0, 1.0] {
            let why = refused(|asked| asked.deadline = deadline(100, 0.2, confidence));
            assert!(why.contains("above 0 % and below 100 %"), "{why}");
        }
        let kept = |runtime_ns, period_ns| Policy::Deadline { runtime_ns, deadline_ns: period_ns, period_ns };
        assert!(refused(|asked| asked.policy = kept(2_000_000, 1_000_000)).contains("runtime"));
        assert!(
            refused(|asked| {
                asked.policy = kept(10_000, 1_000_000);
                asked.mode = WakeMode::Gap;
            })
            .contains("spin")
        );
    }

    #[test]
    fn this_process_may_use_a_cpu() {
        let (allowed, usable) = (allowed_cpus(), usable_cpus());
        assert!(
            !allowed.is_empty() && allowed.iter().all(|cpu| usable.contains(cpu)),
            "{allowed:?} {usable:?}"
        );
        // The question changes no affinity, and a thread bound to one CPU can be bound to others.
        let kept = std::thread::spawn(move || {
            sched_setaffinity(None, &only(allowed[0] as usize)).unwrap();
            (usable_cpus(), allowed_cpus() == allowed[..1])
        });
        assert_eq!(kept.join().unwrap(), (usable, true));
        assert!(rt_priority_max() <= 99);
    }
}
