//! One measuring thread: its CPU, its policy, its memory, and then its loop.

use crate::gap;
use crate::guard::Guard;
use crate::request::only;
use crate::sleep::Sleep;
use crate::state::State;
use crate::timer::{self, Times};
use model::Ns;
use model::wake::{Policy, WakeMode, WakeRequest};
use rustix::thread::{
    CpuSet, current_timer_slack, sched_getaffinity, sched_setaffinity, set_current_timer_slack,
};
use std::io;
use std::num::NonZeroU64;
use sys::clock::{monotonic_ns, thread_cpu_ns};
use sys::policy;

/// Wake-ups of a warm-up round: they touch code, stack and timers, and show the CPU time of one.
const WARM_UPS: u64 = 10;
/// The length of a warm-up round, whatever the interval.
const WARM_UP_NS: Ns = 500_000;
const ROUNDS: usize = 5;
/// The policy before SCHED_DEADLINE is set, and if it is refused: the default of `dwell wake`.
const FALLBACK: Policy = Policy::Fifo(80);

/// The setup of a thread that is ready to measure.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// The timer slack, which only the thread itself can read.
    pub(crate) slack_ns: Ns,
    /// CPU time of one wake-up; none in gap mode.
    pub(crate) wake_cost_ns: Option<Ns>,
    /// What was refused.
    pub(crate) refused: Vec<String>,
}

/// Sets up the calling thread for measuring.
pub(crate) fn prepare(asked: &WakeRequest, cpu: u32) -> Result<Setup, String> {
    let mut refused = Vec::new();
    let inherited = sched_getaffinity(None);
    let deadline = matches!(asked.policy, Policy::Deadline { .. });
    // Policy before affinity: a task of lower priority on the CPU must not delay this thread.
    let mut refusal = adopt(if deadline { FALLBACK } else { asked.policy });
    let bind = || {
        sched_setaffinity(None, &only(cpu as usize))
            .map_err(|error| format!("the thread cannot be bound to CPU {cpu}: {error}"))
    };
    bind()?;
    if deadline {
        // The kernel allows a bound thread only without real-time throttling, or on a root domain
        // of its own. Otherwise the thread must keep the affinity that it inherited.
        refusal = adopt(asked.policy);
        if let (Some(_), Ok(inherited)) = (&refusal, &inherited)
            && inherited.is_set(cpu as usize)
            && sched_setaffinity(None, inherited).is_ok()
        {
            refusal = adopt(asked.policy);
            if refusal.is_some() {
                bind()?;
            }
        }
    }
    refused.extend(refusal);
    // Matters for ordinary threads only: real-time threads have no slack.
    let slack_ns = match asked.policy {
        Policy::Other(slack_ns) => slack_ns,
        _ => 1,
    };
    if let Err(error) = set_current_timer_slack(NonZeroU64::new(slack_ns)) {
        refused.push(format!("a timer slack of {slack_ns} ns was refused: {error}"));
    }
    let wake_cost_ns = match asked.mode {
        WakeMode::Timer => Some(warm_up(asked).map_err(|error| format!("cannot create the timer: {error}"))?),
        WakeMode::Gap => None,
    };
    Ok(Setup { slack_ns: current_timer_slack().unwrap_or(0), wake_cost_ns, refused })
}

/// Sets the policy asked for, or the best that is permitted; gives what was refused and what to
/// try.
fn adopt(asked: Policy) -> Option<String> {
    let error = policy::set(asked).err()?;
    let (name, priority) = match asked {
        Policy::Fifo(priority) => ("SCHED_FIFO", priority),
        Policy::Rr(priority) => ("SCHED_RR", priority),
        Policy::Other(_) => return Some(format!("SCHED_OTHER was refused: {error}")),
        Policy::Deadline { .. } => {
            let remedy = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
                Some(rustix::io::Errno::BUSY) => {
                    "a shorter runtime: the CPUs' bandwidth for SCHED_DEADLINE is used up"
                }
                Some(rustix::io::Errno::INVAL) => "a runtime of 1 us or more, not longer than the period",
                _ => {
                    "sudo, without taskset or cpuset: the thread must be allowed on every CPU of its \
                     root domain"
                }
            };
            return Some(format!("SCHED_DEADLINE was refused: {error}; try: {remedy}"));
        }
    };
    let limit = crate::rt_priority_max();
    // Not ulimit: the soft limit is raised already.
    let remedy = format!("try: sudo, or rtprio {priority} in /etc/security/limits.conf, then log in again");
    if limit == 0 {
        return Some(format!("{name} with priority {priority} was refused: {error}; {remedy}"));
    }
    if limit >= priority {
        return Some(format!(
            "{name} with priority {priority} was refused although RLIMIT_RTPRIO allows it: {error}; try: a \
             cpu.rt_runtime_us above 0 for the cgroup, or run outside of it"
        ));
    }
    let lower = if matches!(asked, Policy::Rr(_)) { Policy::Rr(limit) } else { Policy::Fifo(limit) };
    let fallback = match policy::set(lower) {
        Ok(()) => format!("using priority {limit}, the highest that is permitted"),
        Err(error) => format!("so was priority {limit}: {error}"),
    };
    Some(format!("{name} with priority {priority} was refused: {error}; {fallback}; {remedy}"))
}

/// Warms up with a few sleeps; gives the CPU time of one wake-up: the least of several rounds,
/// since interrupts and pauses of the hypervisor are charged to the thread too.
fn warm_up(asked: &WakeRequest) -> io::Result<Ns> {
    let interval_ns = asked.interval_ns.min(WARM_UP_NS / WARM_UPS);
    let mut least_ns = Ns::MAX;
    for _ in 0..ROUNDS {
        let (state, begun_ns) = (State::new(WARM_UP_NS, Ns::MAX), monotonic_ns());
        let times = Times {
            begun_ns,
            first_ns: begun_ns + interval_ns,
            interval_ns,
            end_ns: begun_ns + (WARM_UPS + 1) * interval_ns,
        };
        let sleep = Sleep::new(asked.sleeper, times.first_ns, interval_ns)?;
        let cpu_ns = thread_cpu_ns();
        timer::measure(&state, &sleep, times, None)?;
        if state.cycles() > 0 {
            least_ns = least_ns.min((thread_cpu_ns() - cpu_ns) / state.cycles());
        }
    }
    Ok(least_ns)
}

/// Measures; gives the CPU time used.
pub(crate) fn measure(asked: &WakeRequest, real_time: bool, state: &State, times: Times) -> io::Result<Ns> {
    // Under SCHED_DEADLINE it may run on any.
    if let Ok(bound) = sched_getaffinity(None)
        && bound.count() == 1
        && let Some(cpu) = (0..CpuSet::MAX_CPU).find(|cpu| bound.is_set(*cpu))
    {
        state.bound_to(cpu as u32);
    }
    let cpu_ns = thread_cpu_ns();
    match asked.mode {
        WakeMode::Timer => {
            let sleep = Sleep::new(asked.sleeper, times.first_ns, times.interval_ns)?;
            let guard = real_time.then(|| Guard::new(times.begun_ns, cpu_ns));
            timer::measure(state, &sleep, times, guard)?;
        }
        WakeMode::Gap => {
            let duty = if real_time { gap::REAL_TIME } else { gap::SHARED };
            gap::measure(state, duty, times.begun_ns, times.end_ns);
        }
    }
    Ok(thread_cpu_ns() - cpu_ns)
}
