//! The answer in a sentence, who was to blame, and the settings that were in force.

use super::GAP;
use super::table::processors_named;
use super::words::{self, cause_of};
use crate::Look;
use crate::paint::{Ink, Line};
use crate::units::{counted, duration, exact, share_of_one};
use model::Seen;
use model::wake::verdict::{Answer, Verdict};
use model::wake::{Mode, Policy, Wakeups};
use std::collections::BTreeSet;

pub(crate) fn lines(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    sentences(wakeups, look).into_iter().flat_map(|line| line.wrap(GAP)).collect()
}

/// Each is a paragraph, the answer first.
pub(crate) fn sentences(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    let mut lines =
        vec![answer(wakeups, look), blame(wakeups, look), place(wakeups, look), settings(wakeups, look)];
    lines.retain(|line| !line.is_empty());
    lines
}

/// `woke up within 84 us in 10,000,000 cycles on 4 processors`, and what that means for the deadline.
fn answer(wakeups: &Wakeups, look: Look) -> Line {
    let all = &wakeups.all;
    let line = Line::new(look);
    let Some(max_ns) = all.max_ns.value() else {
        return line.add(Ink::Bold, "no wake-up was measured");
    };
    let (lead, many) = match wakeups.settings.asked.mode {
        Mode::Timer => ("woke up within ", "cycle"),
        Mode::Gap => ("ran without a gap longer than ", "reading"),
    };
    let line = line
        .add(Ink::Bold, lead)
        .glued(Ink::Bold, &duration(*max_ns))
        .add(Ink::Plain, " in ")
        .glued(Ink::Plain, &counted(all.cycles, many))
        .add(Ink::Plain, " on ")
        .glued(Ink::Plain, &processors(wakeups.threads.len()));
    let line = match all.missed.value() {
        None | Some(0) => line,
        Some(missed) => {
            line.add(Ink::Plain, ", ").add(Ink::Warn, &format!("{} missed", counted(*missed, "period")))
        }
    };
    match &wakeups.verdict {
        Seen::Value(verdict) => met(line.add(Ink::Plain, "; "), verdict),
        _ => line,
    }
}

fn processors(many: usize) -> String {
    counted(many as u64, "processor")
}

/// `the deadline of 125 us less 20 % was met`.
fn met(line: Line, verdict: &Verdict) -> Line {
    let line = line.add(Ink::Plain, "the deadline of ").glued(Ink::Plain, &deadline(verdict));
    match verdict.answer {
        Answer::Pass => line.add(Ink::Bold, " was met"),
        Answer::Fail => line.add(Ink::Warn, " was not met"),
        Answer::Undecided => {
            line.add(Ink::Plain, " was met so far, which ").add(Ink::Warn, "does not decide it")
        }
    }
}

/// `125 us less 20 %`.
fn deadline(verdict: &Verdict) -> String {
    let asked = &verdict.deadline;
    match asked.margin {
        margin if margin > 0.0 => format!("{} less {}", exact(asked.deadline_ns), share_of_one(margin)),
        _ => exact(asked.deadline_ns),
    }
}

/// What made the latest late.
fn blame(wakeups: &Wakeups, look: Look) -> Line {
    let line = Line::new(look);
    let Some(latest) = wakeups.spikes.value().and_then(|spikes| spikes.iter().max_by_key(|spike| spike.ns))
    else {
        return line;
    };
    let share = latest.shares.iter().filter(|share| share.cause == latest.cause && share.who == latest.who);
    let share_ns: u64 = share.map(|share| share.ns).sum();
    // Which was the latest is known of all, what made it late perhaps only of others.
    let known = wakeups.all.max_ns.value().is_none_or(|max_ns| duration(*max_ns) == duration(latest.ns));
    let line = if known {
        line.add(Ink::Plain, "the latest: ")
    } else {
        line.add(Ink::Plain, "the latest whose cause was seen: ")
            .glued(Ink::Plain, &duration(latest.ns))
            .add(Ink::Plain, " ")
    };
    line.add(Ink::Plain, &format!("on processor {} after ", latest.cpu))
        .glued(Ink::Plain, &duration(latest.at_ns))
        .add(Ink::Plain, ", ")
        .glued(Ink::Plain, &duration(share_ns))
        .add(Ink::Plain, " of it ")
        .add(Ink::Bold, &cause_of(latest.cause, latest.who.as_deref()))
}

/// Where and when.
fn place(wakeups: &Wakeups, look: Look) -> Line {
    let host = &wakeups.host;
    let mut text = format!("{}: Linux {} {}", host.name, host.kernel, host.arch);
    if let Seen::Value(preemption) = &wakeups.environment.preemption {
        text += &format!(", preemption {preemption}");
    }
    text += &format!(", {}", processors(host.cpus as usize));
    if let Seen::Value(hypervisor) = &wakeups.environment.hypervisor {
        text += &format!(", {hypervisor}");
    }
    text += &format!(", {}, in {}", wakeups.started_at, duration(wakeups.took_ns));
    Line::new(look).add(Ink::Dim, &text)
}

/// What was in force, read back; what was asked for only where it differs.
fn settings(wakeups: &Wakeups, look: Look) -> Line {
    let asked = &wakeups.settings.asked;
    let environment = &wakeups.environment;
    let mut line = Line::new(look).add(Ink::Plain, "in force: ");
    line = policies(wakeups, line);
    line = line.add(Ink::Plain, ", ");
    line = match asked.mode {
        Mode::Timer => line
            .add(Ink::Plain, "every ")
            .glued(Ink::Plain, &exact(asked.interval_ns))
            .add(Ink::Plain, &format!(" by {}", words::sleeper(asked.sleeper))),
        Mode::Gap => line.add(Ink::Plain, "reading the clock without pause"),
    };
    // It is the process's, so any thread says it.
    if let Some(thread) = wakeups.settings.in_force.first() {
        let (ink, locked) = match (&thread.locked_bytes, &thread.locked_all) {
            (Seen::Value(0), _) => (Ink::Warn, "memory not locked"),
            (_, Seen::Value(true)) => (Ink::Plain, "memory locked"),
            (Seen::Value(_), Seen::Value(false)) => (Ink::Warn, "memory locked in part"),
            (Seen::Value(_), _) => (Ink::Plain, "memory locked at least in part"),
            _ => (Ink::Warn, "whether memory is locked is unknown"),
        };
        line = line.add(Ink::Plain, ", ").add(ink, locked);
    }
    line = match &environment.dma_latency_us {
        Seen::Value(us) => line.add(Ink::Plain, &format!(", idle states within {us} us")),
        _ => line.add(Ink::Plain, ", ").add(Ink::Warn, "idle states not limited"),
    };
    if let Seen::Value(clock) = &environment.clocksource {
        line = line.add(Ink::Plain, &format!(", clock {clock}"));
    }
    let governors: BTreeSet<&String> =
        environment.cpus.iter().filter_map(|cpu| cpu.governor.value()).collect();
    if !governors.is_empty() {
        let names: Vec<&str> = governors.iter().map(|name| name.as_str()).collect();
        line = line.add(Ink::Plain, &format!(", governor {}", names.join(" and ")));
    }
    for (what, cpus) in [("isolated", &environment.isolated), ("without tick", &environment.nohz_full)] {
        if let Some(cpus) = cpus.value().filter(|cpus| !cpus.is_empty()) {
            line = line.add(Ink::Plain, &format!(", {} {what}", processors_named(cpus)));
        }
    }
    match environment.housekeeping {
        Some(cpu) if !asked.cpus.contains(&cpu) => {
            line.add(Ink::Plain, &format!(", the rest of dwell on processor {cpu}"))
        }
        _ => line,
    }
}

/// The policies that threads have, with the processors where not all have the same.
fn policies(wakeups: &Wakeups, mut line: Line) -> Line {
    let asked = wakeups.settings.asked.policy;
    let threads = &wakeups.settings.in_force;
    let mut kinds: Vec<(Policy, Vec<u32>)> = Vec::new();
    for (thread, cpu) in threads.iter().zip(&wakeups.settings.asked.cpus) {
        match kinds.iter_mut().find(|(kind, _)| *kind == thread.policy) {
            Some((_, cpus)) => cpus.push(*cpu),
            None => kinds.push((thread.policy, vec![*cpu])),
        }
    }
    let alone = kinds.len() == 1;
    for (at, (kind, cpus)) in kinds.iter().enumerate() {
        let lead = if at > 0 { ", " } else { "" };
        let differs = *kind != asked;
        let ink = if differs { Ink::Warn } else { Ink::Plain };
        let on = if alone { String::new() } else { format!(" on {}", processors_named(cpus)) };
        line = line.add(Ink::Plain, lead).add(ink, &format!("{}{on}", words::policy(*kind)));
        if differs {
            line = line.add(Ink::Plain, &format!(" (asked for {})", words::policy(asked)));
        }
    }
    if kinds.is_empty() { line.add(Ink::Warn, "no thread ran") } else { line }
}
