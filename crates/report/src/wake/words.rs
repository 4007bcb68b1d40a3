//! The words for policies, loads and causes, and the lines of what loads did.

use crate::Look;
use crate::paint::{GAP, Ink, Line, paragraphs};
use crate::units::{bytes, count, counted, duration, exact, three_digits};
use model::wake::load::{Load, LoadDone, Transport, Workers};
use model::wake::spike::Cause;
use model::wake::{Policy, Sleeper, WakeMode, Wakeups};

/// A policy in the words of sched(7).
pub(crate) fn policy(policy: Policy) -> String {
    match policy {
        Policy::Fifo(priority) => format!("SCHED_FIFO {priority}"),
        Policy::Rr(priority) => format!("SCHED_RR {priority}"),
        Policy::Other(slack_ns) => format!("SCHED_OTHER with {} of timer slack", exact(slack_ns)),
        Policy::Deadline { runtime_ns, deadline_ns, period_ns } => format!(
            "SCHED_DEADLINE runtime {}, deadline {}, period {}",
            exact(runtime_ns),
            exact(deadline_ns),
            exact(period_ns)
        ),
    }
}

/// The call that a thread sleeps in.
pub(crate) fn sleeper(sleeper: Sleeper) -> &'static str {
    match sleeper {
        Sleeper::ClockNanosleep => "clock_nanosleep",
        Sleeper::Timerfd => "timerfd",
        Sleeper::PosixTimer => "a POSIX timer",
    }
}

/// The unit of the histogram: wake-ups, or readings of the clock.
pub(crate) fn cycles(mode: WakeMode) -> &'static str {
    match mode {
        WakeMode::Timer => "wake-up",
        WakeMode::Gap => "reading",
    }
}

/// The cause of a part of a latency.
pub(crate) fn cause(cause: Cause) -> &'static str {
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

/// `softirq net_rx`, `idle exit`: untrusted text, to be cleaned.
pub(crate) fn cause_of(of: Cause, who: Option<&str>) -> String {
    who.map_or_else(|| cause(of).to_owned(), |who| format!("{} {who}", cause(of)))
}

/// A load's kind and sizes: untrusted text (a directory), to be cleaned.
pub(crate) fn load(load: &Load) -> (&'static str, String) {
    match load {
        Load::Sched { groups, pairs, message_bytes, transport, workers } => {
            let transport = match transport {
                Transport::Sockets => "sockets",
                Transport::Pipes => "pipes",
            };
            let workers = match workers {
                Workers::Processes => "processes",
                Workers::Threads => "threads",
            };
            let groups = counted(u64::from(*groups), "group");
            (
                "sched",
                format!(
                    "{groups} of {pairs} + {pairs} {workers}, {} over {transport}",
                    bytes(u64::from(*message_bytes))
                ),
            )
        }
        Load::Memory { threads, bytes: size } => {
            ("memory", format!("{}, {}", counted(u64::from(*threads), "thread"), bytes(*size)))
        }
        Load::Disk { threads, bytes: size, dir } => {
            let files = counted(u64::from(*threads), "file");
            let place = dir.as_ref().map_or_else(String::new, |dir| format!(" in {dir}"));
            ("disk", format!("{files} of {}{place}", bytes(*size)))
        }
        Load::Network { threads, message_bytes } => {
            let pairs = counted(u64::from(*threads), "pair");
            ("network", format!("{pairs} of threads, messages of {}", bytes(u64::from(*message_bytes))))
        }
        Load::Cpu { threads } => ("cpu", counted(u64::from(*threads), "thread")),
        Load::Irq { threads, rate_hz } => {
            let timers = counted(u64::from(*threads), "timer");
            ("irq", format!("{timers} at {} Hz", count(u64::from(*rate_hz))))
        }
    }
}

/// The names of loads: `sched + memory`, or `idle`.
pub(crate) fn loads_short(loads: &[Load]) -> String {
    let names: Vec<&str> = loads.iter().map(|each| load(each).0).collect();
    if names.is_empty() { "idle".into() } else { names.join(" + ") }
}

/// The rate of a load.
pub(crate) fn rate(done: &LoadDone) -> String {
    if done.ran_ns == 0 {
        return "did not run".into();
    }
    let per_second = done.done as f64 * 1e9 / done.ran_ns as f64;
    if done.unit == "bytes" {
        return format!("{}/s", bytes(per_second.round() as u64));
    }
    format!("{} {}/s", three_digits(per_second), done.unit)
}

/// What each load did.
pub(crate) fn loads(wakeups: &Wakeups, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    for done in &wakeups.loads {
        let (kind, sizes) = load(&done.load);
        let line = Line::new(look)
            .add(Ink::Bold, &format!("load {kind}"))
            .add(Ink::Plain, ": ")
            .glued(Ink::Plain, &rate(done))
            .add(Ink::Dim, &format!(" ({sizes}; "))
            .glued(Ink::Dim, &format!("{} CPU time", duration(done.cpu_ns)))
            .add(Ink::Dim, " in ")
            .glued(Ink::Dim, &duration(done.ran_ns))
            .add(Ink::Dim, ")");
        lines.extend(line.wrap(GAP));
        if done.mismatches_total > 0 {
            let mut line = Line::new(look).pad_to(GAP).add(Ink::Warn, &mismatches(done.mismatches_total));
            if let Some(first) = done.mismatches.first() {
                line = line.add(
                    Ink::Plain,
                    &format!(
                        "; the first at {:#x}: {:#x} instead of {:#x}, on CPU {}",
                        first.at, first.actual, first.expected, first.cpu
                    ),
                );
            }
            lines.extend(line.wrap(GAP));
        }
        lines.extend(not_as_asked(done, look));
    }
    lines
}

/// `3 mismatches: data read back differs from data written`.
pub(crate) fn mismatches(n: u64) -> String {
    let plural = if n == 1 { "" } else { "es" };
    format!("{} mismatch{plural}: data read back differs from data written", count(n))
}

/// The failures of a load, and what it could not do as asked.
pub(crate) fn not_as_asked(done: &LoadDone, look: Look) -> Vec<Line> {
    let failed = |failure: &String| Line::new(look).pad_to(GAP).add(Ink::Warn, failure).wrap(GAP);
    let limited = |limit: &String| paragraphs(Line::new(look).pad_to(GAP), limit, GAP);
    done.failures.iter().flat_map(failed).chain(done.limits.iter().flat_map(limited)).collect()
}
