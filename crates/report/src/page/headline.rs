//! The first lines: what ran, for how long, and what bounds it.

use super::{limits, threads, words};
use crate::Look;
use crate::clean::clean;
use crate::command;
use crate::paint::{Ink, Line};
use crate::units::{count, counted, duration, duration_precise, share, share_of_one};
use model::diagnosis::{KernelWork, Mixed, Starved, TimeKind};
use model::recording::{Ending, WindowEnd};
use model::run::{Class, WindowSummary};
use model::{Diagnosis, Ns, Run, Seen, State};

fn name(kind: TimeKind) -> &'static str {
    match kind {
        TimeKind::Waiting => "waiting",
        TimeKind::Kernel => "kernel",
        TimeKind::User => "user",
    }
}

pub(super) fn lines(run: &Run, diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let mut lines = match &run.window {
        Some(window) => attached(window, run, look).wrap(2),
        None => vec![command::line(&run.command, look)],
    };
    lines.extend(figures(run, look).wrap(2));
    if let Some(ending) = ending(run.exit, run.window.is_some()) {
        lines.extend(Line::new(look).add(Ink::Warn, &ending).wrap(2));
    }
    lines.extend(verdict(run, diagnosis, look).wrap(2));
    lines
}

/// The target, the length of the window, and how many threads were active.
pub(super) fn attached(window: &WindowSummary, run: &Run, look: Look) -> Line {
    let threads = window.threads_active + window.threads_idle;
    let who = format!("attached to {}", clean(&window.target, look.unicode));
    let many = format!(
        " ({}, {})",
        counted_as(window.processes, "process", "processes"),
        counted(threads, "thread")
    );
    let line = Line::new(look).add(Ink::Bold, &who).add(Ink::Plain, &many);
    let line = line.add(Ink::Plain, " for ").glued(Ink::Plain, &duration(run.wall_ns));
    let active = match window.threads_active {
        0 => ": none active".to_owned(),
        active if window.threads_idle == 0 && active == 1 => String::new(),
        active if window.threads_idle == 0 => format!(": all {} active", count(active)),
        active => format!(": {} active", counted(active, "thread")),
    };
    line.add(Ink::Plain, &active)
}

fn counted_as(of: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(of), if of == 1 { one } else { many })
}

/// The whole that shares of the class refer to.
pub(super) fn of_the_whole(run: &Run) -> &'static str {
    let one = run.window.as_ref().map(|window| window.threads_active == 1);
    match (one, run.time_in(State::Idle)) {
        (None, 0) => " of the wall clock",
        (None, _) => " of the busy time",
        (Some(true), 0) => " of the thread's time",
        (Some(false), 0) => " of the threads' time",
        (Some(true), _) => " of the thread's busy time",
        (Some(false), _) => " of the threads' busy time",
    }
}

fn figures(run: &Run, look: Look) -> Line {
    let waits = run.account.iter().filter(|part| part.state.waits()).map(|part| part.ns).sum::<Ns>();
    let mut line = Line::new(look)
        .glued(Ink::Bold, &format!("wall {}", duration_precise(run.wall_ns)))
        .add(Ink::Plain, "   ");
    for (name, ink, seen) in [("user", State::User, &run.user_ns), ("kernel", State::Kernel, &run.kernel_ns)]
    {
        line = line.glued(Ink::Of(ink), &format!("{name} "));
        line = match seen {
            Seen::Value(ns) => line.glued(Ink::Plain, &duration(*ns)),
            Seen::Absent => line.glued(Ink::Plain, "none"),
            Seen::Unseen(why) => line.add(Ink::Warn, &format!("no data: {why}")),
        }
        .add(Ink::Plain, "   ");
    }
    if let (Some(_), Seen::Value(queue)) = (&run.window, &run.run_queue) {
        let cpus = format!("{:.2} of {} used", queue.cpus_used, counted(run.host.cpus.into(), "CPU"));
        line = line.glued(Ink::Plain, &cpus).add(Ink::Plain, "   ");
    }
    // Parallel threads can have more CPU time than there is wall clock.
    let of = match (&run.window, threads::in_the_sum(run)) {
        // The number of threads, and of active ones, is in the line above.
        (Some(_), _) if run.threads.len() > 1 => Some("(sum of all threads)".to_owned()),
        (None, many @ 2..) => Some(format!("(sum of {} threads)", count(many))),
        _ => None,
    };
    if let Some(of) = of {
        line = line.glued(Ink::Dim, &of).add(Ink::Plain, "   ");
    }
    line = line.glued(Ink::Plain, &format!("waiting {}", duration(waits)));
    let idle_ns = run.time_in(State::Idle);
    if idle_ns > 0 {
        line = line.add(Ink::Plain, "   ").glued(Ink::Of(State::Idle), "idle ");
        line = line.glued(Ink::Plain, &duration(idle_ns));
    }
    line
}

/// How it ended, if not with status 0 or at the end of the window.
pub(super) fn ending(exit: Ending, is_window: bool) -> Option<String> {
    const LEFT: &str = "a signal ended the recording; the program kept running";
    match exit {
        Ending::Window(WindowEnd::Signal) if !is_window => Some(LEFT.to_owned()),
        Ending::Code(0) | Ending::Window(WindowEnd::For | WindowEnd::Signal) => None,
        Ending::Window(WindowEnd::TargetGone) => Some("the window ended early: the target exited".to_owned()),
        Ending::Code(code) => Some(format!("the program exited with status {code}")),
        Ending::Signal(signal) => Some(match signal_name(signal) {
            Some(name) => format!("the program was killed by signal {signal} ({name})"),
            None => format!("the program was killed by signal {signal}"),
        }),
    }
}

/// Names of the signals that end programs, as numbered on x86_64 and aarch64 alike.
fn signal_name(signal: i32) -> Option<&'static str> {
    const NAMES: [&str; 15] = [
        "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL",
        "SIGUSR1", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM",
    ];
    match signal {
        24 => Some("SIGXCPU"),
        25 => Some("SIGXFSZ"),
        31 => Some("SIGSYS"),
        _ => NAMES.get(usize::try_from(signal).ok()?.checked_sub(1)?).copied(),
    }
}

fn verdict(run: &Run, diagnosis: &Diagnosis, look: Look) -> Line {
    let line = Line::new(look);
    if run.whole_ns() == 0 {
        return line.add(Ink::Plain, "the program finished too quickly to be measured");
    }
    if let Some(port) = diagnosis.serves_at {
        return serves(line, port);
    }
    let line = class(line, run, diagnosis, look);
    let line = behind_own(line, run, diagnosis);
    // Other time runnable or stopped belongs to no class, so the headline names it.
    let Some(held_up_ns) = diagnosis.held_up_ns.filter(|_| !is_stopped(run)) else { return line };
    line.add(Ink::Warn, "; ")
        .glued(Ink::Warn, &share(held_up_ns, run.busy_ns()))
        .add(Ink::Warn, " is waiting for a CPU, or stopped")
}

/// The words for a server that was run: what bounds it is no question of its wall clock.
pub(super) fn serves(line: Line, port: u16) -> Line {
    line.add(Ink::Bold, "a server")
        .add(Ink::Plain, ": it waited for work at port ")
        .glued(Ink::Plain, &port.to_string())
        .add(Ink::Plain, "; while it has work, type: ")
        .glued(Ink::Bold, &format!("dwell attach :{port}"))
}

/// The class and what it is by.
pub(super) fn class(line: Line, run: &Run, diagnosis: &Diagnosis, look: Look) -> Line {
    let bound = &run.bound;
    let shares = bound.shares;
    let lead = |line: Line, label: &str| line.add(Ink::Bold, label).add(Ink::Plain, ": ");
    if is_stopped(run) {
        return lead(line, "stopped")
            .glued(Ink::Plain, &share(run.time_in(State::Stopped), run.busy_ns()))
            .add(Ink::Plain, of_the_whole(run))
            .add(Ink::Plain, ", by a signal, a debugger or a frozen control group");
    }
    match bound.class {
        Class::Cpu => {
            let line = lead(line, "CPU-bound").glued(Ink::Plain, &share_of_one(shares.user));
            let line = line.add(Ink::Plain, of_the_whole(run)).add(Ink::Plain, " is user code");
            margin(line, run, diagnosis, TimeKind::User)
        }
        Class::Kernel => {
            let line = lead(line, "kernel-bound").glued(Ink::Plain, &share_of_one(shares.kernel));
            let line = line.add(Ink::Plain, of_the_whole(run)).add(Ink::Plain, " is kernel code");
            margin(mostly(line, diagnosis), run, diagnosis, TimeKind::Kernel)
        }
        Class::Io => {
            let line =
                lead(line, words::io_label(bound.resource)).glued(Ink::Plain, &share_of_one(shares.waiting));
            let line = line.add(Ink::Plain, of_the_whole(run)).add(Ink::Plain, " is waiting, mainly ");
            margin(line.add(Ink::Plain, resource(bound.resource)), run, diagnosis, TimeKind::Waiting)
        }
        Class::Idle => {
            let (asleep, idle) = (run.time_in(State::Sleep), run.time_in(State::Idle));
            let what = match (asleep, idle) {
                (_, 0) => " is timed sleep",
                (0, _) => " is waiting for work",
                _ => " is waiting for work or timed sleep",
            };
            let whole = match &run.window {
                None => " of the wall clock",
                Some(window) if window.threads_active + window.threads_idle == 1 => " of the thread's time",
                Some(_) => " of the threads' time",
            };
            lead(line, "idle")
                .glued(Ink::Plain, &share(asleep + idle, run.whole_ns()))
                .add(Ink::Plain, whole)
                .add(Ink::Plain, what)
        }
        Class::Starved => starved(lead(line, "starved"), run, diagnosis, look),
        Class::Mixed => {
            let mut line = lead(line, "mixed");
            for (index, (kind, fraction)) in diagnosis.kinds.into_iter().enumerate() {
                let comma = if index > 0 { ", " } else { "" };
                line = line.add(Ink::Plain, &format!("{comma}{} ", name(kind)));
                line = line.glued(Ink::Plain, &share_of_one(fraction));
            }
            match diagnosis.mixed {
                Some(Mixed::WaitingBelowHalf) => line.add(
                    Ink::Plain,
                    &format!("; {} is the largest part, but less than half", name(TimeKind::Waiting)),
                ),
                Some(Mixed::NoneLeads) | None => {
                    let apart = points(bound.margin_points);
                    line.add(Ink::Plain, "; no part leads")
                        .add(Ink::Dim, &format!(" (the two largest are {apart} apart)"))
                }
            }
        }
    }
}

/// Whether it was stopped for half of the time or more. Such time belongs to no class.
pub(super) fn is_stopped(run: &Run) -> bool {
    run.time_in(State::Stopped) * 2 >= run.whole_ns()
}

/// Who had the CPUs instead, most first.
fn starved(line: Line, run: &Run, diagnosis: &Diagnosis, look: Look) -> Line {
    let Some(Starved { others_ns, throttled_ns, stolen_ns, unknown_ns }) = diagnosis.starved else {
        return line;
    };
    let whole = run.busy_ns();
    let mut line = line
        .add(Ink::Plain, "ready to run for ")
        .glued(Ink::Plain, &share(others_ns + throttled_ns + stolen_ns + unknown_ns, whole))
        .add(Ink::Plain, of_the_whole(run))
        .add(Ink::Plain, ", but had no CPU");
    let mut whose: [(Ns, &str, WhoseDetail); 4] = [
        (others_ns, "other programs ran for", rival),
        (throttled_ns, "its CPU quota was used up for", quota),
        (stolen_ns, "a hypervisor ran for", |line, _, _| line.add(Ink::Dim, " (estimated)")),
        (unknown_ns, "unknown tasks ran for", |line, _, _| line),
    ];
    whose.sort_by_key(|(ns, ..)| std::cmp::Reverse(*ns));
    let named = whose.iter().filter(|(ns, ..)| u128::from(*ns) * 100 >= u128::from(whole));
    for (index, (ns, what, detail)) in named.enumerate() {
        line = line.add(Ink::Plain, if index > 0 { ", " } else { ": " });
        line = line.add(Ink::Plain, &format!("{what} ")).glued(Ink::Plain, &share(*ns, whole));
        line = detail(line, run, look);
    }
    line
}

/// Adds, in brackets, what more is known of those who had the CPUs.
type WhoseDetail = fn(Line, &Run, Look) -> Line;

fn rival(line: Line, run: &Run, look: Look) -> Line {
    let Some(rival) = run.run_queue.value().and_then(|queue| queue.others.first()) else { return line };
    let line = line.add(Ink::Dim, &format!(" (most: {}", clean(&rival.name, look.unicode)));
    let line = match &rival.pid {
        Seen::Value(pid) => line.add(Ink::Dim, ", ").glued(Ink::Dim, &format!("PID {pid}")),
        Seen::Absent | Seen::Unseen(_) => line,
    };
    line.glued(Ink::Dim, ")")
}

fn quota(line: Line, run: &Run, look: Look) -> Line {
    match run.limits.value().and_then(|limits| limits.cpu.value()) {
        Some(quota) => limits::quota(line.add(Ink::Dim, " ("), Ink::Dim, quota, look).glued(Ink::Dim, ")"),
        None => line,
    }
}

/// Time in which its own threads had all CPUs.
fn behind_own(line: Line, run: &Run, diagnosis: &Diagnosis) -> Line {
    let (Some(ns), Seen::Value(queue)) = (diagnosis.behind_own_ns, &run.run_queue) else { return line };
    let allowed = run.limits.value().and_then(|limits| limits.cpus_allowed.value());
    let cpus = counted(u64::from(allowed.copied().unwrap_or(run.host.cpus)), "CPU");
    line.add(Ink::Plain, "; ")
        .glued(Ink::Plain, &share(ns, run.busy_ns()))
        .add(Ink::Plain, " is waiting for a CPU behind its own threads, which used ")
        .glued(Ink::Plain, &format!("{:.1} of {cpus}", queue.cpus_used))
        .add(Ink::Plain, " and needed ")
        .glued(Ink::Plain, &format!("{:.1}", queue.cpus_wanted))
}

/// The lead of the class; or the share of waiting, where that is larger, but below the half that
/// would make it the class.
fn margin(line: Line, run: &Run, diagnosis: &Diagnosis, own: TimeKind) -> Line {
    let [(first, most), (second, _), _] = diagnosis.kinds;
    if first == own {
        let lead = points(run.bound.margin_points);
        return line.add(Ink::Dim, &format!(" ({lead} ahead of {})", name(second)));
    }
    let line = line.add(Ink::Dim, &format!(" ({} ", name(first))).glued(Ink::Dim, &share_of_one(most));
    line.add(Ink::Dim, ", less than half)")
}

fn points(points: f64) -> String {
    match points.round() {
        1.0 => "1 point".into(),
        rounded if rounded == 0.0 && points > 0.0 => "less than 1 point".into(),
        rounded => format!("{rounded:.0} points"),
    }
}

/// The system call, or page faults, where one of them is at least half of the kernel time.
pub(super) fn mostly(line: Line, diagnosis: &Diagnosis) -> Line {
    let what = match &diagnosis.kernel_work {
        None => return line,
        Some(KernelWork::Faults) => "page faults".to_owned(),
        Some(KernelWork::Interrupts) => "interrupts".to_owned(),
        Some(KernelWork::Calls(reason)) => words::reason(reason),
    };
    line.add(Ink::Plain, ", mostly ").add(Ink::Bold, &what)
}

fn resource(resource: State) -> &'static str {
    match resource {
        State::Disk => "for the disk",
        State::Network => "for the network",
        State::Lock => "for locks",
        State::Pipe => "for pipes, terminals or local sockets outside the program",
        State::Sleep => "for timers",
        _ => "for something other than disk, network, locks and pipes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_other_than_success_are_named() {
        let ending = |exit| ending(exit, false);
        assert_eq!(ending(Ending::Code(0)), None);
        assert_eq!(ending(Ending::Code(3)).unwrap(), "the program exited with status 3");
        assert_eq!(ending(Ending::Signal(9)).unwrap(), "the program was killed by signal 9 (SIGKILL)");
        assert_eq!(ending(Ending::Signal(15)).unwrap(), "the program was killed by signal 15 (SIGTERM)");
        assert_eq!(ending(Ending::Signal(40)).unwrap(), "the program was killed by signal 40");
        let by_signal = Ending::Window(WindowEnd::Signal);
        assert!(ending(by_signal).unwrap().ends_with("the program kept running"));
        assert_eq!(super::ending(by_signal, true), None, "it is how such a window ends");
    }

    #[test]
    fn points_are_rounded() {
        assert_eq!(
            ["1 point", "less than 1 point", "55 points"],
            [1.2, 0.3, 55.4].map(points).each_ref().map(|p| p.as_str())
        );
    }
}
