//! The head of the page: the result in a sentence, the cause of the maximum latency, and the
//! settings in force.

use super::table::cpus_named;
use super::words::{self, cause_of};
use crate::Look;
use crate::paint::{GAP, Ink, Line};
use crate::units::{count, counted, duration, exact, share_of_one, to_second};
use model::Seen;
use model::wake::verdict::{Answer, Verdict};
use model::wake::{Policy, WakeMode, Wakeups};
use std::collections::BTreeSet;

pub(crate) fn lines(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    [result(wakeups, look), place_and_settings(wakeups, look)].concat()
}

/// The result, what is not in it, and the cause of the maximum latency.
pub(crate) fn result(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    wrapped([answer(wakeups, look), elsewhere(wakeups, look), worst(wakeups, look)])
}

/// The host and the settings in force.
pub(crate) fn place_and_settings(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    wrapped([place(wakeups, look), settings(wakeups, look)])
}

fn wrapped<const N: usize>(lines: [Line; N]) -> Vec<Line> {
    lines.into_iter().filter(|line| !line.is_empty()).flat_map(|line| line.wrap(GAP)).collect()
}

/// The paragraphs of the head, the result first.
pub(crate) fn sentences(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    let mut lines = vec![
        answer(wakeups, look),
        elsewhere(wakeups, look),
        worst(wakeups, look),
        place(wakeups, look),
        settings(wakeups, look),
    ];
    lines.retain(|line| !line.is_empty());
    lines
}

/// `maximum latency 84 us in 10,000,000 cycles on 4 CPUs; deadline 125 us met`.
fn answer(wakeups: &Wakeups, look: Look) -> Line {
    let all = &wakeups.all;
    let line = Line::new(look);
    let Some(max_ns) = all.max_ns.value() else {
        return line.add(Ink::Bold, "no wake-up was measured");
    };
    let (lead, unit) = match wakeups.settings.asked.mode {
        WakeMode::Timer => ("maximum latency ", "cycle"),
        WakeMode::Gap => ("longest gap ", "reading"),
    };
    let line = line
        .add(Ink::Bold, lead)
        .glued(Ink::Bold, &duration(*max_ns))
        .add(Ink::Plain, " in ")
        .glued(Ink::Plain, &counted(all.cycles, unit))
        .add(Ink::Plain, " on ")
        .glued(Ink::Plain, &cpus(wakeups.threads.len()));
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

fn cpus(n: usize) -> String {
    counted(n as u64, "CPU")
}

/// `deadline 125 us less 20 % met`.
fn met(line: Line, verdict: &Verdict) -> Line {
    let line = line.add(Ink::Plain, "deadline ").glued(Ink::Plain, &deadline(verdict));
    match verdict.answer {
        Answer::Pass => line.add(Ink::Bold, " met"),
        Answer::Fail => line.add(Ink::Warn, " missed"),
        Answer::Undecided => line.add(Ink::Plain, " met so far, ").add(Ink::Warn, "undecided"),
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

/// `CPU 1 was offline or taken from dwell for 8,970 of 14,592 wake-ups, which are in no figure`:
/// the worst such CPU, and how many others.
fn elsewhere(wakeups: &Wakeups, look: Look) -> Line {
    let line = Line::new(look);
    let away = || wakeups.threads.iter().filter_map(|thread| Some((thread.cpu?, thread.elsewhere?, thread)));
    let Some((cpu, elsewhere, thread)) = away().max_by_key(|(_, elsewhere, _)| *elsewhere) else {
        return line;
    };
    let others = match away().count() - 1 {
        0 => String::new(),
        others => format!(", and {} for some", counted(others as u64, "other CPU")),
    };
    let cycles = count(elsewhere.saturating_add(thread.cycles));
    line.add(
        Ink::Warn,
        &format!(
            "CPU {cpu} was offline or taken from dwell for {} of {cycles} wake-ups, which no figure \
             includes{others}",
            count(elsewhere)
        ),
    )
}

/// Where and when the maximum was, and its main cause.
fn worst(wakeups: &Wakeups, look: Look) -> Line {
    let line = Line::new(look);
    let Some(worst) = wakeups.spikes.value().and_then(|spikes| spikes.iter().max_by_key(|spike| spike.ns))
    else {
        return line;
    };
    let share = worst.shares.iter().filter(|share| share.cause == worst.cause && share.who == worst.who);
    let share_ns: u64 = share.map(|share| share.ns).sum();
    // The maximum is known exactly; its cause is known only if it was traced.
    let known = wakeups.all.max_ns.value().is_none_or(|max_ns| duration(*max_ns) == duration(worst.ns));
    let line = if known {
        line.add(Ink::Plain, "max latency: ")
    } else {
        line.add(Ink::Plain, "largest traced spike: ")
            .glued(Ink::Plain, &duration(worst.ns))
            .add(Ink::Plain, " on ")
    };
    let part = duration(share_ns);
    let part = if part == duration(worst.ns) { "all" } else { &part };
    line.add(Ink::Plain, &format!("CPU {} at ", worst.cpu))
        .glued(Ink::Plain, &duration(worst.at_ns))
        .add(Ink::Plain, ", ")
        .glued(Ink::Plain, part)
        .add(Ink::Plain, " of it ")
        .add(Ink::Bold, &cause_of(worst.cause, worst.who.as_deref()))
}

/// The host, and when it was measured.
fn place(wakeups: &Wakeups, look: Look) -> Line {
    let host = &wakeups.host;
    let mut text = format!("{}: Linux {} {}", host.name, host.kernel, host.arch);
    if let Seen::Value(preemption) = &wakeups.environment.preemption {
        text += &format!(", preemption {preemption}");
    }
    text += &format!(", {}", cpus(host.cpus as usize));
    if let Seen::Value(hypervisor) = &wakeups.environment.hypervisor {
        text += &format!(", {hypervisor}");
    }
    text += &format!(", {}, for {}", to_second(&wakeups.started_at), duration(wakeups.took_ns));
    Line::new(look).add(Ink::Dim, &text)
}

/// The settings in force, as read back; what was asked for only where it differs.
fn settings(wakeups: &Wakeups, look: Look) -> Line {
    let asked = &wakeups.settings.asked;
    let environment = &wakeups.environment;
    let mut line = Line::new(look).add(Ink::Plain, "in force: ");
    line = policies(wakeups, line);
    line = line.add(Ink::Plain, ", ");
    line = match asked.mode {
        WakeMode::Timer => line
            .add(Ink::Plain, "interval ")
            .glued(Ink::Plain, &exact(asked.interval_ns))
            .add(Ink::Plain, &format!(" by {}", words::sleeper(asked.sleeper))),
        WakeMode::Gap => line.add(Ink::Plain, "busy loop"),
    };
    // A setting of the process: any thread has it.
    if let Some(thread) = wakeups.settings.in_force.first() {
        let (ink, locked) = match (&thread.locked_bytes, &thread.locked_all) {
            (Seen::Value(0), _) => (Ink::Warn, "memory not locked"),
            (_, Seen::Value(true)) => (Ink::Plain, "memory locked"),
            (Seen::Value(_), Seen::Value(false)) => (Ink::Warn, "memory locked in part"),
            (Seen::Value(_), _) => (Ink::Plain, "memory locked, perhaps in part"),
            _ => (Ink::Warn, "memory locking unknown"),
        };
        line = line.add(Ink::Plain, ", ").add(ink, locked);
    }
    line = match &environment.dma_latency_us {
        Seen::Value(us) => line.add(Ink::Plain, &format!(", idle states limited to {us} us")),
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
    for (what, cpus) in [("isolated", &environment.isolated), ("nohz_full", &environment.nohz_full)] {
        if let Some(cpus) = cpus.value().filter(|cpus| !cpus.is_empty()) {
            line = line.add(Ink::Plain, &format!(", {} {what}", cpus_named(cpus)));
        }
    }
    match environment.housekeeping {
        Some(cpu) if !asked.cpus.contains(&cpu) => {
            line.add(Ink::Plain, &format!(", dwell itself on CPU {cpu}"))
        }
        _ => line,
    }
}

/// The threads' policies, with CPUs where they differ.
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
        let on = if alone { String::new() } else { format!(" on {}", cpus_named(cpus)) };
        line = line.add(Ink::Plain, lead).add(ink, &format!("{}{on}", words::policy(*kind)));
        if differs {
            line = line.add(Ink::Plain, &format!(" ({} requested)", words::policy(asked)));
        }
    }
    if kinds.is_empty() { line.add(Ink::Warn, "no thread ran") } else { line }
}
