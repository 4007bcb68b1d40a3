//! What bounds the program, in the sentence that one would say to a colleague.

use super::super::{headline, peers, waits, words};
use crate::Look;
use crate::paint::{Ink, Line};
use crate::units::{counted, duration_precise, share, share_of_one};
use model::diagnosis::KernelWork;
use model::run::{Class, WaitRow};
use model::wait::{StackFrame, TargetKind, WaitCall, WaitTarget};
use model::{Diagnosis, Ns, Run, Seen, State};

/// The cause that says that requests wait for each other.
const SERIAL: &str = "serial-requests";

pub(super) fn line(run: &Run, diagnosis: &Diagnosis, look: Look) -> Line {
    let line = Line::new(look);
    if run.whole_ns() == 0 {
        return line.add(Ink::Plain, "the program finished too quickly to be measured");
    }
    let line = match run.window {
        Some(_) => line,
        None => {
            line.glued(Ink::Bold, &format!("wall {}", duration_precise(run.wall_ns))).add(Ink::Plain, "   ")
        }
    };
    if let Some(port) = diagnosis.serves_at {
        return headline::serves(line, port);
    }
    let shares = run.bound.shares;
    let lead = |line: Line, label: &str| line.add(Ink::Bold, label).add(Ink::Plain, ": ");
    let line = match run.bound.class {
        Class::Cpu => {
            let line = lead(line, "CPU-bound").add(Ink::Bold, "running user code ");
            let line = part(line, &share_of_one(shares.user), run);
            in_code(line, run, State::User)
        }
        Class::Kernel => {
            let line = lead(line, "kernel-bound").add(Ink::Bold, "in the kernel ");
            let line = part(line, &share_of_one(shares.kernel), run);
            headline::mostly(with_faults(line, run, diagnosis), diagnosis)
        }
        Class::Io => waiting(lead(line, words::io_label(run.bound.resource)), run, diagnosis, look),
        // These say it as the page with all tables does.
        Class::Mixed | Class::Starved => headline::class(line, run, diagnosis, look),
        Class::Idle => {
            let line = headline::class(line, run, diagnosis, look);
            let asleep = run.time_in(State::Sleep);
            match of_row(run, State::Sleep, asleep, look).filter(|_| asleep > 0) {
                Some(said) => line.add(Ink::Plain, ": ").add(Ink::Plain, &said),
                None => line,
            }
        }
    };
    let line = match diagnosis.behind_own_ns {
        Some(ns) => line
            .add(Ink::Plain, "; waiting for a CPU behind its own threads ")
            .glued(Ink::Plain, &share(ns, run.busy_ns())),
        None => line,
    };
    match diagnosis.held_up_ns.filter(|_| !headline::is_stopped(run)) {
        Some(ns) => line
            .add(Ink::Warn, "; waiting for a CPU, or stopped, ")
            .glued(Ink::Warn, &share(ns, run.busy_ns())),
        None => line,
    }
}

/// The bar below has page faults apart from other kernel time.
fn with_faults(line: Line, run: &Run, diagnosis: &Diagnosis) -> Line {
    let faults_ns = run.time_in(State::Fault);
    if faults_ns < run.busy_ns() / 20 || diagnosis.kernel_work == Some(KernelWork::Faults) {
        return line;
    }
    let faults = share(faults_ns, run.busy_ns());
    line.add(Ink::Plain, " (page faults ").glued(Ink::Plain, &faults).add(Ink::Plain, ")")
}

/// The share, of what in a window.
fn part(line: Line, share: &str, run: &Run) -> Line {
    let line = line.glued(Ink::Bold, share);
    if run.window.is_some() { line.add(Ink::Plain, headline::of_the_whole(run)) } else { line }
}

/// `: mostly in work (busy.py:12)`.
fn in_code(line: Line, run: &Run, state: State) -> Line {
    let of_state = run.time_in(state);
    let places = run.places.value().into_iter().flatten().filter(|place| place.state == state);
    let leading = places.clone().find(|place| place.code.is_some());
    let Some((ns, code)) = leading.and_then(|place| Some((place.ns, place.code.as_ref()?))) else {
        return line;
    };
    // A place that has little of it is no answer to what the program does.
    if ns * 5 < of_state {
        return line;
    }
    let most = if ns * 2 >= of_state { ": mostly in " } else { ": most in " };
    line.add(Ink::Plain, most).add(Ink::Plain, &code.to_string())
}

/// `waiting for the network 67 %: 24 requests to 127.0.0.1:5000, one after another`.
fn waiting(line: Line, run: &Run, diagnosis: &Diagnosis, look: Look) -> Line {
    let resource = run.bound.resource;
    let ns = run.time_in(resource);
    let line = line.add(Ink::Bold, "waiting ").add(Ink::Bold, what_for(resource)).add(Ink::Bold, " ");
    let line = part(line, &share(ns, run.busy_ns()), run);
    let all = share_of_one(run.bound.shares.waiting);
    let line = if run.bound.shares.waiting * 0.95 > ns as f64 / run.busy_ns() as f64 {
        line.add(Ink::Plain, " (all waiting ").glued(Ink::Plain, &all).add(Ink::Plain, ")")
    } else {
        line
    };
    match in_turn(run, diagnosis, look).or_else(|| of_row(run, resource, ns, look)) {
        Some(said) => line.add(Ink::Plain, ": ").add(Ink::Plain, &said),
        None => line,
    }
}

/// Requests of which each waited for the one before, where that is what was found.
fn in_turn(run: &Run, diagnosis: &Diagnosis, look: Look) -> Option<String> {
    let finding = diagnosis.findings.iter().find(|finding| finding.cause.id == SERIAL)?;
    let ("connections", Some(row)) = finding.place.table() else { return None };
    let of = run.tables.connections.value()?.get(row).filter(|_| run.bound.resource == State::Network)?;
    let requests = counted(of.turns.as_ref()?.times, "request");
    let peer = of.process.as_ref().map_or_else(|| of.remote.clone(), |process| peers::process(process, look));
    Some(format!("{requests} to {peer}, one after another"))
}

/// The waits that have most of the time: `recvfrom, tcp 127.0.0.1:5000, 24 times in f (a.py:3)`.
fn of_row(run: &Run, state: State, all_ns: Ns, look: Look) -> Option<String> {
    let weight = |row: &WaitRow| (row.path_ns, row.total_ns);
    let rows = run.waits.iter().filter(|row| row.reason == state);
    // Of equals the first.
    let row = rows.rev().max_by_key(|row| weight(row))?;
    let code = code(row);
    let most = if row.path_ns * 2 >= all_ns { "" } else { "most in " };
    let often = if row.calls == 1 { "once".to_owned() } else { counted(row.calls, "time") };
    let said = format!("{most}{}, {often}", waits_for(row, code.is_some(), run, look));
    Some(match code {
        Some(code) => format!("{said} in {code}"),
        None => said,
    })
}

/// The program's own frame of the stack.
fn code(row: &WaitRow) -> Option<&StackFrame> {
    row.stack.value()?.get(row.own_frame?)
}

/// The call and its target. The address of a lock says less than the code that waits for it.
fn waits_for(row: &WaitRow, has_code: bool, run: &Run, look: Look) -> String {
    let peer = match &row.on {
        WaitTarget::Tcp(end) => peers::at(run, &end.to_string()).map(|peer| peers::process(peer, look)),
        _ => None,
    };
    let target = match words::target(&row.on) {
        _ if let Some(peer) = peer => peer,
        Some(words) => words.to_owned(),
        None if has_code && row.reason == State::Lock => row.on.kind().name().to_owned(),
        None => match (row.on.kind(), row.on.name()) {
            (TargetKind::File, Seen::Unseen(_)) if row.calls > 1 => "files without a known name".to_owned(),
            (TargetKind::File, Seen::Unseen(_)) => "a file without a known name".to_owned(),
            _ => waits::target_of(row),
        },
    };
    let call = match &row.call {
        WaitCall::Syscall(name) => name.to_string(),
        WaitCall::Fault => "page fault".to_owned(),
        WaitCall::Unseen => return target,
    };
    // A sleep is for a timer anyway.
    let plain = target == call || row.on.kind() == TargetKind::Timer;
    if plain { call } else { format!("{call}, {target}") }
}

fn what_for(resource: State) -> &'static str {
    match resource {
        State::Disk => "for the disk",
        State::Network => "for the network",
        State::Lock => "for locks",
        State::Pipe => "for pipes, terminals or local sockets",
        State::Sleep => "for timers",
        _ => "for other things",
    }
}
