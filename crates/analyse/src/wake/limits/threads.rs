//! Caveats that come from the measuring threads: what they were refused, and what they cannot show.

use super::grouped;
use crate::wake::words::{count, cpus_named, duration};
use model::wake::{Policy, ThreadMeasured, WakeMeasurements, WakeMode, Wakes};
use model::{Ns, Seen};

/// A thread that uses this share of the real-time runtime is about to be throttled.
const OF_RUNTIME: f64 = 0.9;
/// A timer slack up to this does not show in the figures.
const SLACK_NS: Ns = 1_000;

pub(super) fn limits(measured: &WakeMeasurements, all: &Wakes) -> Vec<String> {
    let mut limits = refused(measured);
    limits.extend(policy(measured));
    limits.extend(affinity(measured));
    limits.extend(elsewhere(measured));
    limits.extend(memory(measured));
    limits.extend(slack(measured));
    limits.extend(throttling(measured));
    limits.extend(cgroup(measured));
    limits.extend(housekeeping(measured));
    limits.extend(resolution(measured));
    limits.extend(missed(measured, all));
    limits.extend(mismatches(measured));
    limits.extend(early(measured));
    limits
}

fn cpus_by(
    measured: &WakeMeasurements,
    of: impl Fn(&ThreadMeasured) -> Option<String>,
) -> Vec<(Vec<u32>, String)> {
    grouped(measured.threads.iter().filter_map(|thread| Some((thread.cpu, of(thread)?))))
}

/// CPUs that were not there all the time. Their threads woke up on others meanwhile, which says
/// nothing of them.
fn elsewhere(measured: &WakeMeasurements) -> Vec<String> {
    let away = measured.threads.iter().filter(|thread| thread.elsewhere > 0);
    let sentence = |thread: &ThreadMeasured| {
        format!(
            "CPU {} was offline or taken from dwell (cpuset) for {} of {} wake-ups: they took place on other \
             CPUs and are in no figure",
            thread.cpu,
            count(thread.elsewhere),
            count(thread.elsewhere + thread.cycles)
        )
    };
    away.map(sentence).collect()
}

/// What was refused; CPUs are listed unless it was refused on all of them.
fn refused(measured: &WakeMeasurements) -> Vec<String> {
    let each = measured
        .threads
        .iter()
        .flat_map(|thread| thread.in_force.refused.iter().map(|sentence| (thread.cpu, sentence.clone())));
    let whole = |(cpus, sentence): (Vec<u32>, String)| {
        if cpus.len() == measured.threads.len() {
            sentence
        } else {
            format!("{}: {sentence}", cpus_named(&cpus))
        }
    };
    grouped(each).into_iter().map(whole).collect()
}

fn policy(measured: &WakeMeasurements) -> Vec<String> {
    let asked = measured.asked.policy;
    let differs = cpus_by(measured, |thread| {
        let in_force = thread.in_force.policy;
        // The timer slack has a caveat of its own.
        let same = in_force == asked || matches!((in_force, asked), (Policy::Other(_), Policy::Other(_)));
        (!same).then(|| name(in_force))
    });
    let sentence = |(cpus, in_force): (Vec<u32>, String)| {
        format!("{} measured under {in_force}, not {}", cpus_named(&cpus), name(asked))
    };
    differs.into_iter().map(sentence).collect()
}

/// As sched(7) names it.
pub(crate) fn name(policy: Policy) -> String {
    match policy {
        Policy::Fifo(priority) => format!("SCHED_FIFO priority {priority}"),
        Policy::Rr(priority) => format!("SCHED_RR priority {priority}"),
        Policy::Other(_) => "SCHED_OTHER".to_owned(),
        Policy::Deadline { runtime_ns, period_ns, .. } => {
            format!("SCHED_DEADLINE with {} in {}", duration(runtime_ns), duration(period_ns))
        }
    }
}

fn affinity(measured: &WakeMeasurements) -> Vec<String> {
    let free = cpus_by(measured, |thread| {
        // Unknown is a caveat of its own, below.
        let bound = thread.in_force.cpus.value().is_none_or(|cpus| *cpus == [thread.cpu]);
        // The kernel refuses to bind these, unless the CPU is a root domain of its own.
        let deadline = matches!(thread.in_force.policy, Policy::Deadline { .. });
        (!bound).then(|| if deadline { " (SCHED_DEADLINE allows no affinity)" } else { "" }.to_owned())
    });
    let sentence = |(cpus, why): (Vec<u32>, String)| {
        format!("the threads of {} were not bound to their CPU{why}", cpus_named(&cpus))
    };
    let unknown = cpus_by(measured, |thread| match &thread.in_force.cpus {
        Seen::Unseen(why) => Some(why.clone()),
        _ => None,
    });
    let not_known = |(cpus, why): (Vec<u32>, String)| {
        format!("whether the threads of {} were bound to their CPU is unknown: {why}", cpus_named(&cpus))
    };
    free.into_iter().map(sentence).chain(unknown.into_iter().map(not_known)).collect()
}

fn memory(measured: &WakeMeasurements) -> Option<String> {
    let none = |thread: &ThreadMeasured| thread.in_force.locked_bytes == Seen::Value(0);
    (!measured.threads.is_empty() && measured.threads.iter().all(none)).then(|| {
        "memory was not locked: a page fault may delay a wake-up\n\
         try: sudo, or memlock unlimited in /etc/security/limits.conf, then log in again"
            .to_owned()
    })
}

fn slack(measured: &WakeMeasurements) -> Vec<String> {
    let slack = cpus_by(measured, |thread| match thread.in_force.policy {
        Policy::Other(slack_ns) if slack_ns > SLACK_NS => Some(duration(slack_ns)),
        _ => None,
    });
    let sentence = |(cpus, slack): (Vec<u32>, String)| {
        format!(
            "{} measured under SCHED_OTHER with a timer slack of {slack}: each latency may include up \
             to that much",
            cpus_named(&cpus)
        )
    };
    slack.into_iter().map(sentence).collect()
}

/// The kernel throttles real-time threads that use too much CPU time, which looks like latency.
fn throttling(measured: &WakeMeasurements) -> Option<String> {
    let Seen::Value((runtime_us, period_us)) = measured.environment.rt_runtime_us else { return None };
    if runtime_us < 0 || runtime_us >= period_us || measured.took_ns == 0 {
        return None;
    }
    let most = runtime_us as f64 / period_us as f64 * OF_RUNTIME;
    let meets = |thread: &ThreadMeasured| {
        matches!(thread.in_force.policy, Policy::Fifo(_) | Policy::Rr(_))
            && (measured.asked.mode == WakeMode::Gap || thread.cpu_ns as f64 > measured.took_ns as f64 * most)
    };
    let cpus: Vec<u32> =
        measured.threads.iter().filter(|thread| meets(thread)).map(|thread| thread.cpu).collect();
    (!cpus.is_empty()).then(|| {
        format!(
            "real-time threads may run for {} in {}, and the measurement itself uses nearly all of {}: \
             gaps may be real-time throttling\ntry: sysctl kernel.sched_rt_runtime_us=-1",
            duration(runtime_us.unsigned_abs() * 1_000),
            duration(period_us.unsigned_abs() * 1_000),
            cpus_named(&cpus)
        )
    })
}

fn cgroup(measured: &WakeMeasurements) -> Option<String> {
    let Seen::Value(runtime_us) = measured.environment.cgroup_rt_runtime_us else { return None };
    let real_time = |policy| matches!(policy, Policy::Fifo(_) | Policy::Rr(_));
    // The limit of all real-time threads has a caveat of its own.
    let all_us = measured.environment.rt_runtime_us.value().map_or(i64::MAX, |(runtime_us, _)| *runtime_us);
    match runtime_us {
        _ if runtime_us > 0 && runtime_us >= all_us => None,
        ..0 => None,
        // The kernel refuses a real-time policy then.
        0 if real_time(measured.asked.policy) => Some(
            "the cgroup may not run real-time threads: its cpu.rt_runtime_us is 0\n\
             try: a larger one, or measure in the root cgroup"
                .to_owned(),
        ),
        0 => None,
        _ if measured.threads.iter().any(|thread| real_time(thread.in_force.policy)) => Some(format!(
            "real-time threads of the cgroup may run for {} per period in all",
            duration(runtime_us.unsigned_abs() * 1_000)
        )),
        _ => None,
    }
}

fn housekeeping(measured: &WakeMeasurements) -> Option<String> {
    let remedy = if measured.asked.cpus.len() > 1 { "\ntry: leave one out of --cpus" } else { "" };
    measured.environment.housekeeping.is_none().then(|| {
        format!("all CPUs that dwell may use are measured, so dwell itself runs on one of them{remedy}")
    })
}

fn resolution(measured: &WakeMeasurements) -> Option<String> {
    (measured.resolution_ns > 1_000).then(|| {
        format!(
            "the resolution of the clock is {}: the kernel has no high-resolution timers",
            duration(measured.resolution_ns)
        )
    })
}

fn missed(measured: &WakeMeasurements, all: &Wakes) -> Option<String> {
    let missed = all.missed.value().copied().unwrap_or(0);
    (missed > 0 && measured.asked.mode == WakeMode::Timer).then(|| {
        format!(
            "{} periods were missed while a thread was late: percentiles are of the {} wake-ups that \
             took place",
            count(missed),
            count(all.cycles)
        )
    })
}

fn mismatches(measured: &WakeMeasurements) -> Option<String> {
    let total: u64 = measured.loads.iter().map(|load| load.mismatches_total).sum();
    (total > 0).then(|| {
        format!(
            "data read back from memory or files differed from what was written, {} times: this machine \
             is not reliable",
            count(total)
        )
    })
}

fn early(measured: &WakeMeasurements) -> Option<String> {
    measured.interrupted.then(|| {
        format!("ended early, after {} of {}", duration(measured.took_ns), duration(measured.asked.for_ns))
    })
}
