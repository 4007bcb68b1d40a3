//! One measuring thread: its processor, its policy, its memory, and then its loop.

use crate::asked::only;
use crate::gap;
use crate::guard::Guard;
use crate::sleep::Sleep;
use crate::state::State;
use crate::timer::{self, Times};
use model::Ns;
use model::wake::{Asked, Mode, Policy};
use rustix::thread::{current_timer_slack, sched_getaffinity, sched_setaffinity, set_current_timer_slack};
use std::io;
use std::num::NonZeroU64;
use sys::clock::{monotonic_ns, thread_cpu_ns};
use sys::policy;

/// Wake-ups of a turn before the start: they bring code, stack and timers into being, and tell what one costs.
const REHEARSALS: u64 = 10;
/// All of a turn take no longer, whatever the interval.
const REHEARSAL_NS: Ns = 500_000;
const TURNS: usize = 5;
/// What a thread has until it is under SCHED_DEADLINE, and where that is refused: the default of `dwell wake`.
const INSTEAD: Policy = Policy::Fifo(80);

/// A thread that is about to measure.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// Its timer slack, which only itself can ask for.
    pub(crate) slack_ns: Ns,
    /// Processor time of one wake-up; none in gap mode.
    pub(crate) wake_cost_ns: Option<Ns>,
    /// What was refused.
    pub(crate) refused: Vec<String>,
}

/// Makes the calling thread one that measures.
pub(crate) fn prepare(asked: &Asked, cpu: u32) -> Result<Prepared, String> {
    let mut refused = Vec::new();
    let born = sched_getaffinity(None);
    let deadline = matches!(asked.policy, Policy::Deadline { .. });
    // The policy before the processor: whoever holds that at a lower priority shall not hold this thread up.
    let mut refusal = adopt(if deadline { INSTEAD } else { asked.policy });
    let bind = || {
        sched_setaffinity(None, &only(cpu as usize))
            .map_err(|error| format!("the thread may not be on processor {cpu}: {error}"))
    };
    bind()?;
    if deadline {
        // Only where the kernel limits no real-time, or the processor is a root domain of its own, may the thread be bound. Else
        // it must be free to be wherever it may.
        refusal = adopt(asked.policy);
        if let (Some(_), Ok(born)) = (&refusal, &born)
            && born.is_set(cpu as usize)
            && sched_setaffinity(None, born).is_ok()
        {
            refusal = adopt(asked.policy);
            if refusal.is_some() {
                bind()?;
            }
        }
    }
    refused.extend(refusal);
    // Of consequence for ordinary threads alone; those of real-time have none.
    let slack_ns = match asked.policy {
        Policy::Other(slack_ns) => slack_ns,
        _ => 1,
    };
    if let Err(error) = set_current_timer_slack(NonZeroU64::new(slack_ns)) {
        refused.push(format!("a timer slack of {slack_ns} ns was refused: {error}"));
    }
    let wake_cost_ns = match asked.mode {
        Mode::Timer => Some(rehearse(asked).map_err(|error| format!("the timer cannot be had: {error}"))?),
        Mode::Gap => None,
    };
    Ok(Prepared { slack_ns: current_timer_slack().unwrap_or(0), wake_cost_ns, refused })
}

/// Takes the policy that was asked for, or the best that is permitted; says what was refused, and what would help.
fn adopt(asked: Policy) -> Option<String> {
    let error = policy::set(asked).err()?;
    let (name, priority) = match asked {
        Policy::Fifo(priority) => ("SCHED_FIFO", priority),
        Policy::Rr(priority) => ("SCHED_RR", priority),
        Policy::Other(_) => return Some(format!("SCHED_OTHER was refused: {error}")),
        Policy::Deadline { .. } => {
            let remedy = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
                Some(rustix::io::Errno::BUSY) => "a shorter runtime: the processors' share for it is full",
                Some(rustix::io::Errno::INVAL) => "a runtime of 1 us or more, not longer than the period",
                _ => {
                    "sudo, without taskset or cpuset: the thread must be free to be on every processor of its root domain"
                }
            };
            return Some(format!("SCHED_DEADLINE was refused: {error}; try: {remedy}"));
        }
    };
    let limit = crate::rt_priority_max();
    // Not ulimit: what it allows is taken already.
    let remedy = format!("try: sudo, or rtprio {priority} in /etc/security/limits.conf, then log in anew");
    if limit == 0 {
        return Some(format!("{name} with priority {priority} was refused: {error}; {remedy}"));
    }
    if limit >= priority {
        return Some(format!(
            "{name} with priority {priority} was refused though the user may: {error}; try: give the control group \
             real-time (cpu.rt_runtime_us), or run outside of it"
        ));
    }
    let lower = if matches!(asked, Policy::Rr(_)) { Policy::Rr(limit) } else { Policy::Fifo(limit) };
    let got = match policy::set(lower) {
        Ok(()) => format!("priority {limit} is the highest that the user may have"),
        Err(error) => format!("so was priority {limit}: {error}"),
    };
    Some(format!("{name} with priority {priority} was refused: {error}; {got}; {remedy}"))
}

/// Sleeps a few times, as it will; gives the processor time of one wake-up: of several turns the least, since what strikes one
/// (interrupts, a hypervisor's pause) is on the thread's bill too.
fn rehearse(asked: &Asked) -> io::Result<Ns> {
    let interval_ns = asked.interval_ns.min(REHEARSAL_NS / REHEARSALS);
    let mut least_ns = Ns::MAX;
    for _ in 0..TURNS {
        let (state, begun_ns) = (State::new(REHEARSAL_NS, Ns::MAX), monotonic_ns());
        let times = Times {
            begun_ns,
            first_ns: begun_ns + interval_ns,
            interval_ns,
            end_ns: begun_ns + (REHEARSALS + 1) * interval_ns,
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

/// Measures; gives the processor time that it took.
pub(crate) fn measure(asked: &Asked, real_time: bool, state: &State, times: Times) -> io::Result<Ns> {
    let cpu_ns = thread_cpu_ns();
    match asked.mode {
        Mode::Timer => {
            let sleep = Sleep::new(asked.sleeper, times.first_ns, times.interval_ns)?;
            let guard = real_time.then(|| Guard::new(times.begun_ns, cpu_ns));
            timer::measure(state, &sleep, times, guard)?;
        }
        Mode::Gap => {
            let turns = if real_time { gap::REAL_TIME } else { gap::SHARED };
            gap::measure(state, turns, times.begun_ns, times.end_ns);
        }
    }
    Ok(thread_cpu_ns() - cpu_ns)
}
