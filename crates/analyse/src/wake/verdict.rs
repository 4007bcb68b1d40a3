//! Whether a deadline is met, how sure that is, and what a longer run would show.
//!
//! A run of finite length cannot show that nothing is ever late. What it can show, and what a pass means here, is that at the
//! confidence asked for late wake-ups are rarer than one in a given time on each processor. docs/method/latency-verdict.md has the definition with its
//! reasons.

use super::words::{count, duration, percent, processors};
use model::wake::load::LoadDone;
use model::wake::verdict::{Answer, Deadline, Extreme, OfProcessor, Verdict};
use model::wake::{Asked, Bin, Block, Measurements, Mode, ThreadMeasured, Wakes};
use model::{Ns, Seen};
use stats::binomial;
use stats::extremes;
use std::mem::discriminant;

/// How much longer the run is whose maximum is estimated. The data say less and less of longer ones.
const TIMES: f64 = 10.0;

/// The verdict on what was measured; absent where no deadline was asked for.
pub(super) fn verdict(measured: &Measurements, all: &Wakes, threads: &[Wakes]) -> Seen<Verdict> {
    let Some(deadline) = measured.asked.deadline else { return Seen::Absent };
    let limit_ns = limit(&deadline);
    let extreme = extreme(all, measured.took_ns, deadline.confidence);
    let each = || threads.iter().zip(measured.threads.iter().map(|thread| period(measured, thread)));
    let of_processor: Vec<OfProcessor> =
        each().map(|(wakes, period_ns)| judged(wakes, &deadline, period_ns)).collect();
    // Each must hold by itself: a processor that is late must not hide among others that are not. Since all of them must pass,
    // the chance that the whole passes wrongly is no greater than that of one.
    let bound = of_processor.iter().map(|one| one.exceedance_bound).fold(0.0, f64::max);
    let one_in_ns = of_processor.iter().map(|one| one.one_in_ns).min().unwrap_or(0);
    let beyond = of_processor.iter().map(|one| one.beyond).sum();
    let later = extreme.value().is_some_and(|extreme| extreme.max_ns > deadline.deadline_ns);
    let enough = !of_processor.is_empty() && of_processor.iter().all(|one| one.answer != Answer::Undecided);
    let spoilt = spoilt(measured);
    let answer = match () {
        () if beyond > 0 => Answer::Fail,
        () if later || !enough || spoilt.is_some() => Answer::Undecided,
        () => Answer::Pass,
    };
    let run_more_ns = match answer {
        Answer::Pass | Answer::Fail => Seen::Absent,
        Answer::Undecided if spoilt.is_some() => {
            Seen::unseen("a longer run does not help: its load must work from begin to end")
        }
        Answer::Undecided if later && enough => {
            Seen::unseen("a longer run is expected to be later still: what makes the latest late must change")
        }
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
    if let (Answer::Undecided, Some(spoilt)) = (answer, spoilt) {
        verdict.why = format!("{spoilt}; {}", verdict.why);
    }
    Seen::Value(verdict)
}

/// What is known before a measurement: a pass would take longer than is asked for. None: it would not, or no pass is.
pub fn too_short(asked: &Asked) -> Option<String> {
    let deadline = asked.deadline.filter(|_| asked.mode == Mode::Timer)?;
    let clean_ns = clean_ns(&deadline, asked.interval_ns);
    if asked.for_ns >= clean_ns {
        return None;
    }
    // A hundredth more, for what may be missed.
    let cycles = asked.for_ns / asked.interval_ns.max(1);
    let bound = binomial::upper(0, cycles - cycles / 100, deadline.confidence);
    Some(format!(
        "a pass takes {} of clean cycles on each processor, and this measurement ends after {}: the answer can only be fail or undecided\n\
         try: --for {}, or --one-in {}",
        duration(clean_ns),
        duration(asked.for_ns),
        option(clean_ns.saturating_add(clean_ns / 100), Ns::div_ceil),
        option((asked.interval_ns as f64 / bound) as Ns, |ns, unit_ns| ns / unit_ns)
    ))
}

/// As an option is written, in whole units.
fn option(ns: Ns, whole: fn(Ns, Ns) -> Ns) -> String {
    const UNITS: [(Ns, &str); 4] =
        [(60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let (unit_ns, name) = UNITS.into_iter().find(|(unit_ns, _)| ns >= 10 * unit_ns).unwrap_or((1, "ns"));
    format!("{}{name}", whole(ns, unit_ns))
}

/// How long no wake-up may be late for a pass, at least.
pub fn clean_ns(deadline: &Deadline, interval_ns: Ns) -> Ns {
    clean_cycles(deadline, interval_ns as f64).saturating_mul(interval_ns)
}

fn clean_cycles(deadline: &Deadline, period_ns: f64) -> u64 {
    let bound = period_ns / deadline.one_in_ns.max(1) as f64;
    binomial::clean_trials(bound, deadline.confidence).ceil() as u64 + 1
}

/// Why the machine was not under the loads asked for all the while, or what they found wrong with it: nothing is met then, however
/// clean the wake-ups were.
fn spoilt(measured: &Measurements) -> Option<String> {
    let mut left: Vec<&LoadDone> = measured.loads.iter().collect();
    for asked in &measured.asked.loads {
        // By their kind: sizes may have been cut to what the machine has room for.
        let Some(at) = left.iter().position(|done| discriminant(&done.load) == discriminant(asked)) else {
            return Some(format!("what load {} did is not known", asked.kind()));
        };
        left.remove(at);
    }
    measured.loads.iter().find_map(|done| {
        let name = done.load.kind();
        if done.mismatches_total > 0 {
            Some(format!("load {name} did not read what it had written: this machine is not sound"))
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

/// From one wake-up to the next in nanoseconds: what turns a part of all wake-ups into a time.
fn period(measured: &Measurements, thread: &ThreadMeasured) -> f64 {
    match measured.asked.mode {
        Mode::Timer => measured.asked.interval_ns as f64,
        Mode::Gap if thread.cycles == 0 => measured.took_ns as f64,
        // Nothing is between two gaps, so all of them are the time that was measured: pauses are not.
        Mode::Gap => thread.sum_ns as f64 / thread.cycles as f64,
    }
}

fn judged(wakes: &Wakes, deadline: &Deadline, period_ns: f64) -> OfProcessor {
    let beyond = beyond(wakes, limit(deadline));
    let exceedance_bound = binomial::upper(beyond, wakes.cycles, deadline.confidence);
    let one_in_ns = (period_ns / exceedance_bound) as Ns;
    OfProcessor {
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

/// Wake-ups later than `limit_ns`. The bin that the limit lies in counts as later when anything is: a value is known to within
/// 1 %, the latest exactly.
fn beyond(wakes: &Wakes, limit_ns: Ns) -> u64 {
    if wakes.max_ns.value().is_none_or(|max_ns| *max_ns <= limit_ns) {
        return 0;
    }
    let later = |bin: &&Bin| bin.to_ns.saturating_sub(1) > limit_ns;
    wakes.histogram.iter().filter(later).map(|bin| bin.count).sum::<u64>().max(1)
}

/// How much longer to run until clean cycles are enough, at the pace that there was: pauses and missed periods take time too.
fn more(wakes: &Wakes, deadline: &Deadline, period_ns: f64, took_ns: Ns) -> Ns {
    let pace_ns = match wakes.cycles {
        0 => period_ns,
        cycles => (took_ns as f64 / cycles as f64).max(period_ns),
    };
    let missing = clean_cycles(deadline, period_ns).saturating_sub(wakes.cycles);
    (missing as f64 * pace_ns) as Ns
}

/// The latest of each stretch with a wake-up in it. The last one is shorter, unless the run was a multiple of them: it goes with
/// the one before, since what is late at the very end is as late as anything.
fn maxima(timeline: &[Block], took_ns: Ns) -> Vec<f64> {
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

/// The latest of a run ten times as long, from the latest of each stretch of this one.
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
        return "no wake-up was seen".to_owned();
    }
    let seen = count(verdict.cycles);
    if verdict.answer == Answer::Fail {
        let late: Vec<u32> =
            verdict.of_processor.iter().filter(|one| one.beyond > 0).filter_map(|one| one.cpu).collect();
        let max_ns = all.max_ns.value().copied().unwrap_or(0);
        let within =
            if max_ns <= deadline.deadline_ns { ", within the deadline but not its margin" } else { "" };
        let verb = if verdict.beyond == 1 { "was" } else { "were" };
        return format!(
            "{} of {seen} wake-ups {verb} later than {limit}, on {}: the latest by {}{within}",
            count(verdict.beyond),
            processors(&late),
            duration(max_ns)
        );
    }
    let clean = format!("none of {seen} wake-ups was later than {limit}");
    let asleep: Vec<u32> =
        verdict.of_processor.iter().filter(|one| one.cycles == 0).filter_map(|one| one.cpu).collect();
    if !asleep.is_empty() {
        return format!("{clean}, but on {} none was seen", processors(&asleep));
    }
    let sure = percent(deadline.confidence);
    let on = if verdict.of_processor.len() > 1 { " on each processor" } else { "" };
    let rarer = duration(verdict.one_in_ns);
    let foretold = match &verdict.extreme {
        Seen::Value(extreme) if extreme.max_ns > deadline.deadline_ns => format!(
            ", but the latest of {} is expected to be {}, beyond the deadline",
            duration(extreme.for_ns),
            duration(extreme.max_ns)
        ),
        Seen::Value(extreme) => match extreme.hi_ns {
            Some(hi_ns) if hi_ns <= deadline.deadline_ns => {
                format!(
                    "; the latest of {} is expected to be {} (up to {})",
                    duration(extreme.for_ns),
                    duration(extreme.max_ns),
                    duration(hi_ns)
                )
            }
            _ => format!(
                "; the latest of {} is expected to be {}, but may be beyond the deadline",
                duration(extreme.for_ns),
                duration(extreme.max_ns)
            ),
        },
        _ => String::new(),
    };
    if verdict.one_in_ns >= deadline.one_in_ns {
        return format!("{clean}; {sure} sure that fewer than one in {rarer} is{on}{foretold}");
    }
    let asked = duration(deadline.one_in_ns);
    format!(
        "{clean}, but that makes {sure} sure only that fewer than one in {rarer} is{on}, and less than one in {asked} is asked for{foretold}"
    )
}

#[cfg(test)]
mod tests;
