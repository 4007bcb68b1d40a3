//! Whether a deadline is met, at which confidence, and what a longer run would show.
//!
//! No run of finite length can show that no wake-up is ever late. A pass means that, at the
//! confidence asked for, late wake-ups are rarer than one in a given time on each CPU.
//! docs/method/latency-verdict.md has the definition and the reasons.

use super::words::{count, cpus_named, duration, percent};
use model::wake::load::LoadDone;
use model::wake::verdict::{Answer, CpuVerdict, Deadline, Extreme, Verdict};
use model::wake::{Bin, LatencyBlock, ThreadMeasured, WakeMeasurements, WakeMode, WakeRequest, Wakes};
use model::{Ns, Seen};
use stats::binomial;
use stats::extremes;
use std::mem::discriminant;

/// The run whose maximum is estimated is this many times as long. The estimate for a longer one is
/// less certain.
const TIMES: f64 = 10.0;

/// The verdict; absent where no deadline was given.
pub(super) fn verdict(measured: &WakeMeasurements, all: &Wakes, threads: &[Wakes]) -> Seen<Verdict> {
    let Some(deadline) = measured.asked.deadline else { return Seen::Absent };
    let limit_ns = limit(&deadline);
    let extreme = extreme(all, measured.took_ns, deadline.confidence);
    let each = || threads.iter().zip(measured.threads.iter().map(|thread| period(measured, thread)));
    let of_processor: Vec<CpuVerdict> =
        each().map(|(wakes, period_ns)| cpu_verdict(wakes, &deadline, period_ns)).collect();
    // Each CPU must pass by itself: a late one must not hide among others. Since all of them must
    // pass, the whole passes wrongly no more often than one CPU does.
    let bound = of_processor.iter().map(|one| one.exceedance_bound).fold(0.0, f64::max);
    let one_in_ns = of_processor.iter().map(|one| one.one_in_ns).min().unwrap_or(0);
    let beyond = of_processor.iter().map(|one| one.beyond).sum();
    let exceeds = extreme.value().is_some_and(|extreme| extreme.max_ns > deadline.deadline_ns);
    let enough = !of_processor.is_empty() && of_processor.iter().all(|one| one.answer != Answer::Undecided);
    let load_fault = load_fault(measured);
    let answer = match () {
        () if beyond > 0 => Answer::Fail,
        () if exceeds || !enough || load_fault.is_some() => Answer::Undecided,
        () => Answer::Pass,
    };
    let run_more_ns = match answer {
        Answer::Pass | Answer::Fail => Seen::Absent,
        Answer::Undecided if load_fault.is_some() => {
            Seen::unseen("a longer run does not help: the load must run from start to end")
        }
        Answer::Undecided if exceeds && enough => Seen::unseen(
            "a longer run is expected to have a higher maximum: remove the cause of the spikes first",
        ),
        Answer::Undecided => each()
            .map(|(wakes, period_ns)| more(wakes, &deadline, period_ns, measured.took_ns))
            .max()
            .map_or_else(|| Seen::unseen("nothing was measured"), Seen::Value),
    };
    let mut verdict = Verdict {
        deadline,
        limit_ns,
        answer,
        why: String::new(),
        cycles: all.cycles,
        beyond,
        exceedance_bound: if of_processor.is_empty() { 1.0 } else { bound },
        one_in_ns,
        extreme,
        run_more_ns,
        of_processor,
    };
    verdict.why = why(&verdict, all);
    if let (Answer::Undecided, Some(load_fault)) = (answer, load_fault) {
        verdict.why = format!("{load_fault}; {}", verdict.why);
    }
    Seen::Value(verdict)
}

/// What is known before a measurement: why it is too short for a pass. None: it is long enough, or
/// no verdict is asked for.
pub fn too_short(asked: &WakeRequest) -> Option<String> {
    let deadline = asked.deadline.filter(|_| asked.mode == WakeMode::Timer)?;
    let clean_ns = clean_ns(&deadline, asked.interval_ns);
    if asked.for_ns >= clean_ns {
        return None;
    }
    // A hundredth more, for missed periods.
    let cycles = asked.for_ns / asked.interval_ns.max(1);
    let bound = binomial::upper(0, cycles - cycles / 100, deadline.confidence);
    Some(format!(
        "a pass needs {} without a late wake-up on each CPU, and this measurement ends after {}: \
         the verdict can only be fail or undecided\n\
         try: --for {}, or --one-in {}",
        duration(clean_ns),
        duration(asked.for_ns),
        option(clean_ns.saturating_add(clean_ns / 100), Ns::div_ceil),
        option((asked.interval_ns as f64 / bound) as Ns, |ns, unit_ns| ns / unit_ns)
    ))
}

/// A duration as an option takes it, in whole units.
fn option(ns: Ns, whole: fn(Ns, Ns) -> Ns) -> String {
    const UNITS: [(Ns, &str); 4] =
        [(60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let (unit_ns, name) = UNITS.into_iter().find(|(unit_ns, _)| ns >= 10 * unit_ns).unwrap_or((1, "ns"));
    format!("{}{name}", whole(ns, unit_ns))
}

/// The least time without a late wake-up that a pass needs.
pub fn clean_ns(deadline: &Deadline, interval_ns: Ns) -> Ns {
    clean_cycles(deadline, interval_ns as f64).saturating_mul(interval_ns)
}

fn clean_cycles(deadline: &Deadline, period_ns: f64) -> u64 {
    let bound = period_ns / deadline.one_in_ns.max(1) as f64;
    binomial::clean_trials(bound, deadline.confidence).ceil() as u64 + 1
}

/// Why the loads did not run as asked for from start to end, or the fault that they found in the
/// machine. The deadline is not met then, whatever the latencies are.
fn load_fault(measured: &WakeMeasurements) -> Option<String> {
    let mut left: Vec<&LoadDone> = measured.loads.iter().collect();
    for asked in &measured.asked.loads {
        // By kind: sizes may have been reduced to the memory and disk that the machine has.
        let Some(at) = left.iter().position(|done| discriminant(&done.load) == discriminant(asked)) else {
            return Some(format!("load {} has no result", asked.kind()));
        };
        left.remove(at);
    }
    measured.loads.iter().find_map(|done| {
        let name = done.load.kind();
        if done.mismatches_total > 0 {
            Some(format!(
                "load {name} read back other data than it had written: this machine is not reliable"
            ))
        } else if done.ran_ns < measured.took_ns {
            let (ran, took) = (duration(done.ran_ns), duration(measured.took_ns));
            Some(format!("load {name} ended after {ran} of {took}"))
        } else if !done.failures.is_empty() {
            Some(format!("a worker of load {name} ended early"))
        } else {
            None
        }
    })
}

/// The deadline less its margin.
fn limit(deadline: &Deadline) -> Ns {
    (deadline.deadline_ns as f64 * (1.0 - deadline.margin.clamp(0.0, 1.0))).round() as Ns
}

/// Nanoseconds from one wake-up to the next: turns a fraction of all wake-ups into a time.
fn period(measured: &WakeMeasurements, thread: &ThreadMeasured) -> f64 {
    match measured.asked.mode {
        WakeMode::Timer => measured.asked.interval_ns as f64,
        WakeMode::Gap if thread.cycles == 0 => measured.took_ns as f64,
        // Gaps follow each other without a break, so their sum is the time measured, without
        // pauses.
        WakeMode::Gap => thread.sum_ns as f64 / thread.cycles as f64,
    }
}

fn cpu_verdict(wakes: &Wakes, deadline: &Deadline, period_ns: f64) -> CpuVerdict {
    let beyond = beyond(wakes, limit(deadline));
    let exceedance_bound = binomial::upper(beyond, wakes.cycles, deadline.confidence);
    let one_in_ns = (period_ns / exceedance_bound) as Ns;
    CpuVerdict {
        cpu: wakes.cpu,
        answer: match () {
            () if beyond > 0 => Answer::Fail,
            () if wakes.cycles == 0 || one_in_ns < deadline.one_in_ns => Answer::Undecided,
            () => Answer::Pass,
        },
        cycles: wakes.cycles,
        beyond,
        max_ns: wakes.max_ns.clone(),
        exceedance_bound,
        one_in_ns,
    }
}

/// Wake-ups later than `limit_ns`. The limit's own bin counts as late if any wake-up was: a value
/// is known to within 1 %, the maximum exactly.
fn beyond(wakes: &Wakes, limit_ns: Ns) -> u64 {
    if wakes.max_ns.value().is_none_or(|max_ns| *max_ns <= limit_ns) {
        return 0;
    }
    let later = |bin: &&Bin| bin.to_ns.saturating_sub(1) > limit_ns;
    wakes.histogram.iter().filter(later).map(|bin| bin.count).sum::<u64>().max(1)
}

/// How much longer to run for a pass, at the rate of cycles so far, which includes pauses and
/// missed periods.
fn more(wakes: &Wakes, deadline: &Deadline, period_ns: f64, took_ns: Ns) -> Ns {
    let pace_ns = match wakes.cycles {
        0 => period_ns,
        cycles => (took_ns as f64 / cycles as f64).max(period_ns),
    };
    let missing = clean_cycles(deadline, period_ns).saturating_sub(wakes.cycles);
    (missing as f64 * pace_ns) as Ns
}

/// The maximum of each block that has a wake-up. The last block is mostly shorter than the others,
/// so it is joined with the one before: its maximum must not be lost.
fn maxima(timeline: &[LatencyBlock], took_ns: Ns) -> Vec<f64> {
    let length_ns = timeline.windows(2).map(|two| two[1].at_ns.saturating_sub(two[0].at_ns)).min();
    let woken = || timeline.iter().filter(|block| block.cycles > 0);
    let mut maxima: Vec<f64> = woken().map(|block| block.max_ns as f64).collect();
    if let Some(last) = woken().next_back()
        && took_ns < last.at_ns.saturating_add(length_ns.unwrap_or(0))
        && let [.., before, last] = maxima[..]
    {
        maxima.pop();
        maxima.pop();
        maxima.push(before.max(last));
    }
    maxima
}

/// The maximum latency of a run ten times as long, from the maxima of this one's blocks.
fn extreme(all: &Wakes, took_ns: Ns, confidence: f64) -> Seen<Extreme> {
    let maxima = maxima(&all.timeline, took_ns);
    match extremes::largest(&maxima, all.cycles, TIMES, confidence) {
        Ok(found) => {
            let ns = |value: f64| value.max(0.0).round() as Ns;
            Seen::Value(Extreme {
                for_ns: (took_ns as f64 * TIMES) as Ns,
                max_ns: ns(found.median),
                lo_ns: ns(found.lo),
                hi_ns: found.hi.map(ns),
            })
        }
        Err(why) => Seen::unseen(why.to_string()),
    }
}

fn why(verdict: &Verdict, all: &Wakes) -> String {
    let Verdict { deadline, limit_ns, .. } = verdict;
    let limit = match deadline.margin {
        0.0 => format!("the deadline of {}", duration(*limit_ns)),
        margin => {
            format!(
                "{} (the deadline of {} less {})",
                duration(*limit_ns),
                duration(deadline.deadline_ns),
                percent(margin)
            )
        }
    };
    if verdict.cycles == 0 {
        return "no wake-up was measured".to_owned();
    }
    let cycles = count(verdict.cycles);
    if verdict.answer == Answer::Fail {
        let late: Vec<u32> =
            verdict.of_processor.iter().filter(|one| one.beyond > 0).filter_map(|one| one.cpu).collect();
        let max_ns = all.max_ns.value().copied().unwrap_or(0);
        let within =
            if max_ns <= deadline.deadline_ns { ", within the deadline but not the margin" } else { "" };
        return format!(
            "{} of {cycles} wake-ups exceeded {limit}, on {}: maximum latency {}{within}",
            count(verdict.beyond),
            cpus_named(&late),
            duration(max_ns)
        );
    }
    let clean = format!("none of {cycles} wake-ups exceeded {limit}");
    let asleep: Vec<u32> =
        verdict.of_processor.iter().filter(|one| one.cycles == 0).filter_map(|one| one.cpu).collect();
    if !asleep.is_empty() {
        return format!("{clean}, but {} had no wake-up", cpus_named(&asleep));
    }
    let confidence = percent(deadline.confidence);
    let on = if verdict.of_processor.len() > 1 { " per CPU" } else { "" };
    let rarer = duration(verdict.one_in_ns);
    let estimate = match &verdict.extreme {
        Seen::Value(extreme) if extreme.max_ns > deadline.deadline_ns => format!(
            "; the maximum of {} is estimated at {}, beyond the deadline",
            duration(extreme.for_ns),
            duration(extreme.max_ns)
        ),
        Seen::Value(extreme) => match extreme.hi_ns {
            Some(hi_ns) if hi_ns <= deadline.deadline_ns => {
                format!(
                    "; the maximum of {} is estimated at {} (up to {})",
                    duration(extreme.for_ns),
                    duration(extreme.max_ns),
                    duration(hi_ns)
                )
            }
            _ => format!(
                "; the maximum of {} is estimated at {}, but may be beyond the deadline",
                duration(extreme.for_ns),
                duration(extreme.max_ns)
            ),
        },
        _ => String::new(),
    };
    if verdict.one_in_ns >= deadline.one_in_ns {
        return format!("{clean}: with {confidence} confidence fewer than one in {rarer}{on}{estimate}");
    }
    let asked = duration(deadline.one_in_ns);
    format!(
        "{clean}: with {confidence} confidence fewer than one in {rarer}{on}, but fewer than one in \
         {asked} is required{estimate}"
    )
}

#[cfg(test)]
mod tests;
