//! What is open where most of a run is not judged: what is known of that time, what would have to
//! be true for a change to help, and what to type to find out.

use crate::judge::Evidence;
use model::finding::SavedTime;
use model::network::Endpoint;
use model::run::WaitRow;
use model::sentence::Piece::{Count, Name, Ns as Time, Share};
use model::wait::{SyscallName, TargetKind, WaitCall, WaitTarget, WakerKind};
use model::{
    Explained, ExplainedBy, Explanation, Finding, Ns, OpenQuestion, Run, Seen, Sentence, State,
    UnjudgedWaits, say,
};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// The same with the question that its largest row leaves open, where that is worth a word: it is
/// longer than what the first finding explains, and than what that saves at most, since a change
/// may also shorten waits that are no part of its place. Who waits for work leaves none.
pub(super) fn with_question(
    evidence: &Evidence<'_>,
    findings: &[Finding],
    mut explanation: Explanation,
) -> Explanation {
    if evidence.run.window.as_ref().is_some_and(|window| window.threads_active == 0) {
        return explanation;
    }
    let saving = findings.first().and_then(|first| first.saving.value());
    let saved_ns =
        saving.filter(|saving| saving.of != SavedTime::Cpu).map_or(0, |saving| saving.structure().hi);
    let first_ns = explanation.of_finding(0).max(saved_ns);
    let unjudged = |row: &Explained| match &row.by {
        ExplainedBy::NotJudged { state, waits } => Some((*state, row.ns, waits.clone())),
        ExplainedBy::Finding(_) | ExplainedBy::OwnWork(_) => None,
    };
    let most = explanation.rows().iter().filter_map(unjudged).max_by_key(|(_, ns, _)| *ns);
    explanation.open_question = most
        .filter(|(state, ns, _)| *state != State::Idle && evidence.is_notable(*ns) && *ns > first_ns)
        .map(|(state, ns, waits)| question(evidence, state, ns, waits.as_ref()));
    explanation
}

/// The rows of such waits: of one call and target, or of all in a state.
pub(super) fn rows_of<'a>(
    run: &'a Run,
    state: State,
    of: Option<(&WaitCall, &WaitTarget)>,
) -> impl Iterator<Item = &'a WaitRow> {
    let is_of = move |wait: &&WaitRow| {
        wait.reason == state && of.is_none_or(|(call, on)| (call, on) == (&wait.call, &wait.on))
    };
    run.waits.iter().filter(is_of)
}

fn question(evidence: &Evidence<'_>, state: State, ns: Ns, waits: Option<&UnjudgedWaits>) -> OpenQuestion {
    let rows: Vec<_> = rows_of(evidence.run, state, waits.map(|waits| (&waits.call, &waits.on))).collect();
    let share = Share(ns as f64 / evidence.run.whole_ns().max(1) as f64);
    let of = match waits {
        Some(waits) => waited(evidence, state, waits, &rows),
        None => without_waits(evidence, state),
    };
    let waker = main_waker(&rows);
    let by_time = matches!(waker, Some((WakerKind::Timer, ..)));
    let kind = match waits.map(|waits| &waits.on) {
        Some(WaitTarget::TimeLimit | WaitTarget::TimeLimitOrTimer) => Kind::Limit,
        _ if by_time && matches!(state, State::Network | State::Pipe | State::Lock) => Kind::Limit,
        Some(WaitTarget::Answer(_)) => Kind::Answer,
        _ if waits.and_then(|waits| waits.call.syscall()).is_some_and(SyscallName::writes) => Kind::Write,
        _ => Kind::Other,
    };
    OpenQuestion {
        known: say!(Time(ns), " (", share, ") ").and(of).and(waker.map(ended).unwrap_or_default()),
        when: when(evidence, state, kind),
        next: next(evidence, state, kind, waits.map(|waits| &waits.on), &rows),
    }
}

/// What tells waits of one state apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A time limit ended them: what they were for did not come.
    Limit,
    /// For a name server.
    Answer,
    /// Until a disk has something.
    Write,
    /// Anything else.
    Other,
}

/// `in 8 sleeps of up to 251 ms in clock_nanosleep in main (work.py:12)`.
fn waited(evidence: &Evidence<'_>, state: State, waits: &UnjudgedWaits, rows: &[&WaitRow]) -> Sentence {
    let thing = if state == State::Sleep { "sleep" } else { "wait" };
    let length = match (&waits.max_ns, waits.calls) {
        (Seen::Value(ns), 1) => say!(" of ", Time(*ns)),
        (Seen::Value(ns), _) => say!(" of up to ", Time(*ns)),
        _ => Sentence::default(),
    };
    let call = match &waits.call {
        WaitCall::Syscall(call) => say!(" in ", Name(call.to_string())),
        WaitCall::Fault => say!(" in page faults"),
        WaitCall::Unseen => Sentence::default(),
    };
    let most = rows.iter().max_by_key(|wait| wait.path_ns);
    let caller = most.map(|wait| evidence.caller_waiting(wait)).unwrap_or_default();
    let on = match &waits.on {
        WaitTarget::Futex(_) => Sentence::default(),
        WaitTarget::Timer(name) | WaitTarget::External(name) if name.value().is_none() => Sentence::default(),
        WaitTarget::TimeLimit | WaitTarget::TimeLimitOrTimer => say!(" with a time limit"),
        on => say!(" for ", Name(on.to_string())),
    };
    say!("in ", Count(waits.calls, thing.into())).and(length).and(call).and(caller).and(on)
}

/// What is not judged of a state, where it is no wait of one kind.
fn without_waits(evidence: &Evidence<'_>, state: State) -> Sentence {
    let queue = evidence.run.run_queue.value().map(|queue| (queue.behind_own_ns, queue.behind_others_ns));
    match (state, queue) {
        (State::Runqueue, Some((own_ns, others_ns))) if own_ns > others_ns => {
            say!("of waiting for a CPU, most of it behind its own threads")
        }
        (State::Runqueue, Some((_, others_ns))) if others_ns > 0 => {
            say!("of waiting for a CPU, most of it behind other programs")
        }
        (State::Runqueue, _) => say!("of waiting for a CPU"),
        (State::Throttled, _) => say!("without the CPU, since a quota was used up"),
        (State::Stopped, _) => say!("stopped, by a signal or a tracer"),
        (State::Unexplained, _) => say!("of which nothing was seen"),
        (state, _) => say!("in waits of several kinds (", state.name(), ")"),
    }
}

/// What ended most of the time, and whether it ended all of it.
fn main_waker<'a>(rows: &[&'a WaitRow]) -> Option<(WakerKind, &'a str, bool)> {
    let mut wakers = FxHashMap::<(WakerKind, &str), Ns>::default();
    for by in rows.iter().flat_map(|wait| &wait.by) {
        *wakers.entry((by.kind, &by.name)).or_default() += by.ns;
    }
    let all_ns: Ns = wakers.values().sum();
    let most = wakers.into_iter().max_by_key(|(waker, ns)| (*ns, Reverse(*waker)));
    most.map(|((kind, name), ns)| (kind, name, ns == all_ns))
}

/// `; NAME, which is no part of it, ended most of them`.
fn ended((kind, name, all): (WakerKind, &str, bool)) -> Sentence {
    let who = match kind {
        WakerKind::Thread => say!("; its own thread ", Name(name.to_owned())),
        WakerKind::Outside => say!("; ", Name(name.to_owned()), ", which is no part of it,"),
        WakerKind::Timer => say!("; timers"),
        WakerKind::Device => say!("; a device"),
        WakerKind::Network => say!("; what came from the network"),
        WakerKind::Interrupt | WakerKind::Unknown => return Sentence::default(),
    };
    who.and(if all { say!(" ended them") } else { say!(" ended most of them") })
}

/// What would have to be true.
fn when(evidence: &Evidence<'_>, state: State, kind: Kind) -> Sentence {
    let queue = evidence.run.run_queue.value();
    let own = queue.is_some_and(|queue| queue.behind_own_ns > queue.behind_others_ns);
    match (state, kind) {
        (_, Kind::Limit) => {
            say!(
                "if nothing was to come, a shorter time limit saves it; if something was, its sender is late"
            )
        }
        (_, Kind::Answer) => {
            say!("if the name server is slow, or asked too often, a nearer one or a cache saves it")
        }
        (State::Sleep, _) => {
            say!("if it sleeps until something else has happened, a wait for that itself ends sooner")
        }
        (State::Network, _) => say!("if the peer works in that time, the reason is there"),
        (State::Lock, _) => say!("if what ends them can come sooner, or need not be waited for, it is less"),
        (State::Disk, Kind::Write) => say!("if fewer writes need be on the disk at once, it is less"),
        (State::Disk, _) => say!("if the data were in memory, or asked for sooner, nothing would wait"),
        (State::Pipe, _) => say!("if the program at the other end works in that time, the reason is there"),
        (State::Runqueue, _) if own => {
            say!("if it had more CPUs, or fewer threads at work at once, it is less")
        }
        (State::Runqueue | State::Throttled, _) => say!("if it had the CPUs to itself, it is less"),
        (State::Unexplained, _) => say!("if more of it can be seen, a cause may be known"),
        _ => say!("if what ends it can come sooner, the reason is there"),
    }
}

/// What to type.
fn next(
    evidence: &Evidence<'_>,
    state: State,
    kind: Kind,
    on: Option<&WaitTarget>,
    rows: &[&WaitRow],
) -> Sentence {
    let verb = || if evidence.run.window.is_some() { say!("dwell attach -v") } else { say!("dwell run -v") };
    let outside = rows
        .iter()
        .flat_map(|wait| &wait.by)
        .filter(|by| by.kind == WakerKind::Outside && !by.name.is_empty())
        .max_by_key(|by| (by.ns, Reverse(&by.name)));
    match (state, on) {
        _ if kind == Kind::Answer => say!("dwell run --names … has each lookup"),
        (State::Network, Some(WaitTarget::Tcp(end) | WaitTarget::Udp(end))) => peer(evidence, *end),
        (State::Disk, _) if kind == Kind::Write => say!("dwell explain sync-writes"),
        (State::Disk, _) => say!("dwell run … once more finds in memory what this run has read"),
        (State::Unexplained, _) => say!("dwell doctor tells what would let dwell see more"),
        (State::Sleep, _) => verb().and(say!(" … lists the calls that it makes between the sleeps")),
        (State::Lock, _) => verb().and(say!(" … has who ended these waits, and what that did meanwhile")),
        (State::Runqueue | State::Throttled, _) => {
            verb().and(say!(" … has who had the CPUs meanwhile, and its limits"))
        }
        _ if let Some(by) = outside => say!(
            "dwell attach ",
            Name(by.name.clone()),
            " --for 10s, while this runs, shows what the other end does"
        ),
        (State::Pipe, Some(on)) if on.kind() == TargetKind::Pipe => {
            say!("dwell run sh -c 'a | b' measures the programs at both ends together")
        }
        _ => verb().and(say!(" … has these waits, with what ended them")),
    }
}

/// The peer's own time is seen where it runs.
fn peer(evidence: &Evidence<'_>, end: Endpoint) -> Sentence {
    let rows = evidence.run.tables.connections.value().map_or(&[][..], Vec::as_slice);
    let process =
        rows.iter().filter(|row| row.remote == end.to_string()).find_map(|row| row.process.as_ref());
    if let Some(process) = process {
        let (pid, name) = (process.pid.to_string(), process.name.clone());
        let attach = say!("dwell attach ", Name(pid), " --for 10s, while this runs, shows what ");
        return attach.and(say!(Name(name), " does"));
    }
    let attach = say!("dwell attach :", Name(end.port.to_string()), " --for 10s, while this runs, ");
    let v4 = |address: std::net::Ipv6Addr| address.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback());
    match end.address.filter(|address| !address.is_loopback() && !v4(*address)) {
        Some(_) => attach.and(say!("on that host, shows what the peer does")),
        None => attach.and(say!("shows what the peer does")),
    }
}
