//! How late a thread wakes that asked to be woken: with the slack that the kernel allows itself,
//! and with as good as none.

use super::pinned;
use crate::bench::Bench;
use crate::cpu::pin::home;
use crate::single::sample_singly;
use crate::{Rung, RungDescription, RungGroup, Samples, Unmeasured, about};
use rustix::thread::{ClockId, clock_nanosleep_absolute, current_timer_slack, set_current_timer_slack};
use rustix::time::Timespec;
use std::num::NonZeroU64;
use sys::clock::monotonic_ns;

/// How far ahead it is asked for: long enough to be asleep by then.
const AHEAD_NS: u64 = 500_000;
const NS_PER_S: u64 = 1_000_000_000;

pub(crate) fn precise() -> Rung {
    rung(
        "timer-wake-precise",
        "wake-up latency of a timer, with a timer slack of 1 ns",
        "a thread sleeps by clock_nanosleep until a time half a millisecond ahead, with a timer slack of 1 ns (prctl): how much \
         later it reads the clock",
        NonZeroU64::new(1),
    )
}

pub(crate) fn default() -> Rung {
    rung(
        "timer-wake",
        "wake-up latency of a timer, with the timer slack in force",
        "the same with the timer slack that dwell was started with, 50 us unless it was changed: the kernel may be so \
         late to wake for several timers at once",
        None,
    )
}

fn rung(id: &str, what: &str, method: &str, slack: Option<NonZeroU64>) -> Rung {
    let about = RungDescription {
        excludes:
            "the sleep itself, real-time priorities, and a machine that is under load: that is `dwell wake`"
                .into(),
        method: method.into(),
        source: "cyclictest, with ordinary priority; prctl(2), PR_SET_TIMERSLACK".into(),
        ..about(id, RungGroup::Kernel, what)
    };
    let measure = move |bench: &Bench<'_>| measure(bench, slack);
    Rung { about, parts: 1.0, watch_cycle: false, measure: Box::new(measure) }
}

fn measure(bench: &Bench<'_>, slack: Option<NonZeroU64>) -> Result<Samples, Unmeasured> {
    let _pinned = pinned(home(bench.machine))?;
    let slack = Slack::set(slack)?;
    let mut samples = sample_singly(bench, || {
        let until = monotonic_ns() + AHEAD_NS;
        let request = Timespec { tv_sec: (until / NS_PER_S) as i64, tv_nsec: (until % NS_PER_S) as i64 };
        match clock_nanosleep_absolute(ClockId::Monotonic, &request) {
            Ok(()) => Ok(Some(monotonic_ns().saturating_sub(until) as f64)),
            // A signal came first.
            Err(rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(Unmeasured::Unseen(format!("clock_nanosleep was refused: {error}"))),
        }
    })?;
    samples.limits.push(match slack.in_force_ns {
        1_000.. => format!("the timer slack was {} us", slack.in_force_ns / 1_000),
        ns => format!("the timer slack was {ns} ns"),
    });
    Ok(samples)
}

/// The calling thread's timer slack, as it was again when this goes.
#[derive(Debug)]
struct Slack {
    before_ns: u64,
    in_force_ns: u64,
}

impl Slack {
    /// Sets it; or leaves it and only says what it is.
    fn set(slack: Option<NonZeroU64>) -> Result<Self, Unmeasured> {
        let refused = |error: rustix::io::Errno| {
            Unmeasured::Unseen(format!("the timer slack is not available: {error}"))
        };
        let before_ns = current_timer_slack().map_err(refused)?;
        let mut guard = Self { before_ns, in_force_ns: before_ns };
        if slack.is_some() {
            set_current_timer_slack(slack).map_err(refused)?;
        }
        // What the kernel made of it: real-time threads have none.
        guard.in_force_ns = current_timer_slack().map_err(refused)?;
        Ok(guard)
    }
}

impl Drop for Slack {
    fn drop(&mut self) {
        // It was in force before; none is set for 0, which would mean the default.
        if let Some(before) = NonZeroU64::new(self.before_ns) {
            let _ = set_current_timer_slack(Some(before));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slack_is_as_it_was_again() {
        let before = current_timer_slack().unwrap();
        {
            let slack = Slack::set(NonZeroU64::new(1)).unwrap();
            assert_eq!((slack.before_ns, slack.in_force_ns), (before, current_timer_slack().unwrap()));
        }
        assert_eq!(current_timer_slack().unwrap(), before);
        assert_eq!(Slack::set(None).unwrap().in_force_ns, before);
    }
}
