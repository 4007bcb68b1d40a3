//! What policies and causes are called, and what loads did.

use super::{GAP, paragraphs};
use crate::Look;
use crate::load;
use crate::paint::{Ink, Line};
use crate::units::{counted, duration, exact};
use model::wake::load::Load;
use model::wake::spike::Cause;
use model::wake::{Mode, Policy, Sleeper, Wakeups};

/// As sched(7) has it.
pub(super) fn policy(policy: Policy) -> String {
    match policy {
        Policy::Fifo(priority) => format!("SCHED_FIFO {priority}"),
        Policy::Rr(priority) => format!("SCHED_RR {priority}"),
        Policy::Other(slack_ns) => format!("SCHED_OTHER with {} of timer slack", exact(slack_ns)),
        Policy::Deadline { runtime_ns, deadline_ns, period_ns } => format!(
            "SCHED_DEADLINE {} within {} of each {}",
            exact(runtime_ns),
            exact(deadline_ns),
            exact(period_ns)
        ),
    }
}

/// How the threads sleep.
pub(super) fn sleeper(sleeper: Sleeper) -> &'static str {
    match sleeper {
        Sleeper::ClockNanosleep => "clock_nanosleep",
        Sleeper::Timerfd => "timerfd",
        Sleeper::PosixTimer => "a POSIX timer",
    }
}

/// What is counted: wake-ups, or readings of the clock.
pub(super) fn cycles(mode: Mode) -> &'static str {
    match mode {
        Mode::Timer => "wake-up",
        Mode::Gap => "reading",
    }
}

/// What a part of a latency was, for people.
pub(super) fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::IdleExit => "idle exit",
        Cause::InterruptsOff => "interrupts off",
        Cause::Steal => "steal",
        Cause::Interrupt => "interrupt",
        Cause::Softirq => "softirq",
        Cause::TimerInterrupt => "timer interrupt",
        Cause::TimerSlack => "timer slack",
        Cause::Task => "task",
        Cause::PreemptionOff => "preemption off",
        Cause::Switching => "switch",
        Cause::Migration => "migration",
        Cause::Stopped => "stopped",
        Cause::ReturnToUser => "return to user",
        Cause::Unexplained => "unexplained",
    }
}

/// `softirq net_rx`, `idle exit`: hostile text, to be cleaned.
pub(super) fn cause_of(of: Cause, who: Option<&str>) -> String {
    who.map_or_else(|| cause(of).to_owned(), |who| format!("{} {who}", cause(of)))
}

/// The names of loads: `sched + memory`, or `idle`.
pub(super) fn loads_short(loads: &[Load]) -> String {
    let names: Vec<String> = loads.iter().map(load::name).collect();
    if names.is_empty() { "idle".into() } else { names.join(" + ") }
}

/// What each load did.
pub(super) fn loads(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    for done in &wakeups.loads {
        let (kind, sizes) = (load::name(&done.load), load::what(&done.load));
        let line = Line::new(look)
            .add(Ink::Bold, &format!("load {kind}"))
            .add(Ink::Plain, ": ")
            .glued(Ink::Plain, &load::rate(done))
            .add(Ink::Dim, &format!(" ({sizes}; "))
            .glued(Ink::Dim, &format!("{} of processor time", duration(done.cpu_ns)))
            .add(Ink::Dim, " in ")
            .glued(Ink::Dim, &duration(done.ran_ns))
            .add(Ink::Dim, ")");
        lines.extend(line.wrap(GAP));
        if done.mismatches_total > 0 {
            let wrong = format!("{} did not hold what was written", counted(done.mismatches_total, "place"));
            let mut line = Line::new(look).pad_to(GAP).add(Ink::Warn, &wrong);
            if let Some(first) = done.mismatches.first() {
                line = line.add(
                    Ink::Plain,
                    &format!(
                        "; the first at {:#x}: {:#x} instead of {:#x}, seen by processor {}",
                        first.at, first.actual, first.expected, first.cpu
                    ),
                );
            }
            lines.extend(line.wrap(GAP));
        }
        for limit in &done.limits {
            lines.extend(paragraphs(Line::new(look).pad_to(GAP), limit, look));
        }
    }
    lines
}
