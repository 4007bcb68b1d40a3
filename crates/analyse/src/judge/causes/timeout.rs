//! Waits that end because a time limit runs out, and not because what was waited for came.

use super::{Cause, Manual, Outcome, peers, places, sleep_polling};
use crate::judge::Evidence;
use crate::judge::predict::{ALL, Kind, Removal};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::network::{ConnectionOrigin, Endpoint};
use model::peers::ConnectionRow;
use model::recording::Tier;
use model::run::WaitRow;
use model::sentence::Piece::{Count, Name, Ns as Time};
use model::wait::{WaitTarget, WakerKind};
use model::{Ns, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("timeout", "time limits that run out"),
    tiers: &[Tier::Bpf, Tier::Perf],
    manual: Manual {
        what: "The program waits for something with a time limit, and the limit ends the wait: a \
               peer does not answer, nobody wakes the thread, or the kernel waits before it sends a \
               lost packet again.",
        why: "What was waited for did not come in that time, or never would. The program goes on \
              when the limit says, which is chosen for the worst case: a tenth of a second to many \
              seconds, each time.",
        rule: "One of three. First, a `poll`, `select`, `epoll_wait` or a read waits for one peer \
               (a socket or a pipe), and a timer wakes the thread. Without BPF wakers are not \
               seen: there the longest wait of a `poll`, or all of them together (what is left of \
               a limit is waited for in pieces), last 100 ms or more and as long as a limit: a \
               multiple of 100 ms, which people choose, and up to 0.1 % more and 0.5 ms, by which \
               the kernel lets such a timer be late. One wait of another kind in fifty looks the \
               same. `select` does not count there, since programs use it to sleep. Second, a \
               `futex` wait (a condition variable, a semaphore, a join) is ended by its time \
               limit 5 times or more, while other threads of the program work for a tenth of that \
               time or more: with less, the limit sets a pace. If they work for half of the time, \
               that is sleep-polling. Without BPF all these waits have to be of one length, which \
               is that of a limit of 10 ms or more, and no other thread sleeps for half as long. \
               Third, a connection takes a second or more, and no more than a tenth of a second \
               beyond whole seconds: the kernel sends the first packet of a connection again \
               after 1 s, and then at longer intervals (RFC 6298); networks answer sooner. \
               Sleeps, limits of loops that wait for any of several things, and waits of servers \
               for requests do not count. A `rt_sigtimedwait` counts, since nobody waits for a \
               signal to let time pass.",
        else_it_could_be: "A program may wait in slices, to look in between whether it should stop. \
                           Then a slow peer is the reason, and no limit. Of TCP that is seen, since \
                           all that was asked was answered, and not claimed. Else the low end is 0 if \
                           answers came in other waits for that peer. Without BPF a peer that sleeps for a \
                           round time looks the same.",
        change: "Find out why nothing came: the finding says from whom. If a name server does not \
                 answer, remove it from `/etc/resolv.conf`, or put it last. If a connection waits \
                 for the kernel to send again, the server's listen queue is full or packets are \
                 lost: make the queue longer (`listen`, `net.core.somaxconn`), accept sooner. If a \
                 client waits for `100 Continue`, send no `Expect`. If a thread waits on a \
                 condition, signal it under its lock. A shorter limit only makes the waste smaller.",
        part: "Bounded: at most the time of these waits that delays the program is saved. If \
               nothing ever came in these waits, all of it is certain, since what follows needs \
               nothing of it. If answers came in others, or the wait is for a thread, the low end \
               is 0. For a thread the high end has one limit more: what it waits for comes anywhere \
               in one. For connections the high end includes what the program waited for that peer \
               afterwards, behind those who came meanwhile. The low end leaves what other threads \
               waited for the peer's answers at the same time: then the peer was busy.",
        assumes: "What was waited for can come at once, or the program can do without it.",
    },
    explains: &["dns-lookups", "serial-requests"],
    signs: &[],
    probe: None,
    check,
};

/// Calls that wait for a peer, with a limit of their own or of the socket.
const WAITS: &[&str] = &["epoll_wait", "epoll_pwait", "epoll_pwait2", "recvfrom", "recvmsg", "read"];
/// Those of them that are told what to wait for each time.
const POLLS: &[&str] = &["poll", "ppoll", "select", "pselect6"];
/// Without wakers, a limit of a call for a peer is this long or longer, and a multiple of it.
const PEER_UNIT: Ns = 100_000_000;
/// The same of a limit for another thread.
const THREAD_UNIT: Ns = 10_000_000;
/// The kernel lets a timer of `poll` be late by this part of it (`select_estimate_accuracy`), and a
/// thread needs so long to run after it.
const LATE_PART: Ns = 1000;
const LATE_NS: Ns = 500_000;
/// Waits for a thread that ran out: fewer are pauses.
const TIMES_MIN: u64 = 5;
/// Other threads work for this part of them; from the second on it is sleep-polling.
const WORK_SHARE_MIN: f64 = 0.1;
const WORK_SHARE_MAX: f64 = 0.5;
/// Equal waits differ by no more than this part.
const ALIKE_PART: Ns = 50;
/// The kernel sends the first packet of a connection again after this, and is late by no more than
/// that: the wheel of its timers, and a round trip.
const SECOND: Ns = 1_000_000_000;
const HANDSHAKE_LATE_NS: Ns = 100_000_000;
/// Findings at most.
const FOUND: usize = 3;

/// Whose limit it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// That of the call, for a peer.
    Call,
    /// That of the call, for another thread.
    Thread,
    /// The kernel's, until it sends the first packet of a connection again.
    Handshake,
}

/// A limit that ran out.
#[derive(Debug, Clone)]
struct RanOut {
    place: RowRef,
    limit: Limit,
    /// Whether it waited for a name server.
    name_server: bool,
    times: u64,
    longest_ns: Ns,
    /// For whom, and where.
    what: Sentence,
    /// Its time on the path, or of active threads.
    ns: Interval,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let rows = evidence.run.waits.iter().enumerate();
    let mut all: Vec<RanOut> = rows.filter_map(|(row, wait)| of_wait(evidence, row, wait)).collect();
    let connections = evidence.run.tables.connections.value().map_or(&[][..], Vec::as_slice);
    if all.iter().all(|one| one.limit != Limit::Handshake) {
        let rows = connections.iter().enumerate();
        all.extend(rows.filter_map(|(row, of)| of_connection(evidence, row, of)));
    }
    all.sort_by_key(|one| std::cmp::Reverse((one.ns.lo, one.ns.hi)));
    let findings = all.into_iter().take(FOUND).map(|one| finding(evidence, one));
    Outcome::of(findings, say!("no wait that delays the program was ended by a time limit").into())
}

fn of_wait(evidence: &Evidence<'_>, row: usize, wait: &WaitRow) -> Option<RanOut> {
    let call = &*wait.call.syscall()?.name;
    if wait.path_ns == 0 || wait.reason == State::Idle {
        return None;
    }
    let polls = POLLS.contains(&call);
    let (limit, times, ns) = match call {
        "connect" => of_handshake(evidence, wait)?,
        "futex" => of_thread(evidence, wait)?,
        "rt_sigtimedwait" if evidence.tier == Tier::Bpf => of_signal(wait)?,
        _ if (polls || WAITS.contains(&call)) && evidence.tier == Tier::Bpf => of_peer(evidence, wait)?,
        "poll" | "ppoll" | "rt_sigtimedwait" => of_length(wait)?,
        _ => return None,
    };
    let what = say!(Name(call.to_owned())).and(places::waiting(evidence, wait)).and(say!(" waited for "));
    Some(RanOut {
        place: RowRef::Wait(row),
        limit,
        name_server: is_name_server(&wait.on),
        times,
        longest_ns: wait.max_ns,
        what: what.and(target(limit, wait)),
        ns,
    })
}

fn target(limit: Limit, wait: &WaitRow) -> Sentence {
    match (&wait.on, limit) {
        (_, Limit::Thread) => say!("another thread"),
        _ if wait.call.syscall().is_some_and(|call| call.name == "rt_sigtimedwait") => say!("a signal"),
        (WaitTarget::External(_), _) => say!("a peer"),
        (on, _) if is_name_server(on) => say!("the name server ", Name(on.to_string())),
        (on, _) => say!(Name(on.to_string())),
    }
}

fn is_name_server(on: &WaitTarget) -> bool {
    matches!(on, WaitTarget::Answer(_)) || matches!(on, WaitTarget::Udp(end) if end.port == 53)
}

/// What of the limits of waits for a peer only cut the wait for an answer into slices: the program
/// sent nothing more until it came. Without a limit that would have been as long.
fn sliced_ns(evidence: &Evidence<'_>, wait: &WaitRow) -> Ns {
    let WaitTarget::Tcp(end) = &wait.on else { return 0 };
    let rows = evidence.run.tables.connections.value().map_or(&[][..], Vec::as_slice);
    peers::turns(rows, *end).sliced_ns
}

/// A timer ended waits for one peer. What came in others is no proof that it would have come in
/// these, nor that it would not.
fn of_peer(evidence: &Evidence<'_>, wait: &WaitRow) -> Option<(Limit, u64, Interval)> {
    let peer = matches!(
        wait.on,
        WaitTarget::Tcp(_)
            | WaitTarget::Udp(_)
            | WaitTarget::Answer(_)
            | WaitTarget::Unix(_)
            | WaitTarget::Pipe(_)
    );
    let timer = wait.by.iter().find(|by| by.kind == WakerKind::Timer).filter(|_| peer)?;
    let limits_ns = timer.ns.saturating_sub(sliced_ns(evidence, wait));
    // What is left is what the two differ by in how they count.
    if limits_ns.saturating_mul(10) <= timer.ns {
        return None;
    }
    let others_ns = wait.total_ns.saturating_sub(timer.ns);
    let lo = if timer.times == wait.calls { wait.path_ns.saturating_sub(others_ns) } else { 0 };
    Some((Limit::Call, timer.times, Interval { lo, hi: wait.path_ns.min(limits_ns) }))
}

/// No signal came: nobody waits for one to let time pass.
fn of_signal(wait: &WaitRow) -> Option<(Limit, u64, Interval)> {
    let ran_out = matches!(wait.on, WaitTarget::TimeLimit);
    ran_out.then_some((Limit::Call, wait.calls, Interval { lo: wait.path_ns, hi: wait.path_ns }))
}

/// The longest wait is as long as limits are, or all of them are.
fn of_length(wait: &WaitRow) -> Option<(Limit, u64, Interval)> {
    let waits = matches!(wait.reason, State::Network | State::OtherWait);
    let is = [wait.max_ns, wait.total_ns].into_iter().any(|ns| is_limit(ns, PEER_UNIT));
    let ns = Interval { lo: 0, hi: wait.path_ns };
    (waits && is).then(|| (Limit::Call, longest(wait), ns))
}

/// Waits in the octave of the longest.
fn longest(wait: &WaitRow) -> u64 {
    wait.histogram.iter().max_by_key(|(end, _)| *end).map_or(1, |(_, times)| *times).max(1)
}

/// Whether a wait ended when a limit of a multiple of this ends one.
fn is_limit(ns: Ns, unit: Ns) -> bool {
    ns >= unit && ns % unit <= ns / LATE_PART + LATE_NS
}

/// Time limits of waits for another thread, which work meanwhile.
fn of_thread(evidence: &Evidence<'_>, wait: &WaitRow) -> Option<(Limit, u64, Interval)> {
    let found = match (evidence.tier, wait.reason) {
        (Tier::Bpf, State::Sleep) => {
            let share = sleep_polling::share_of_others(evidence, wait);
            evidence.run.window.is_none()
                && matches!(wait.on, WaitTarget::TimeLimit)
                && (WORK_SHARE_MIN..WORK_SHARE_MAX).contains(&share)
        }
        (Tier::Perf, State::Lock) => {
            let mean_ns = wait.total_ns / wait.calls.max(1);
            let alike = wait.max_ns.saturating_sub(mean_ns) <= wait.max_ns / ALIKE_PART;
            let sleeps = evidence.run.waits.iter().filter(|other| other.reason == State::Sleep);
            let slept_ns: Ns = sleeps.map(|other| other.total_ns).sum();
            let work = evidence.account_ns(State::on_cpu) as f64 / evidence.run.whole_ns().max(1) as f64;
            alike
                && is_limit(wait.max_ns, THREAD_UNIT)
                && slept_ns < wait.total_ns / 2
                && work >= WORK_SHARE_MIN
        }
        _ => false,
    };
    let often = wait.calls >= TIMES_MIN;
    // What it waits for comes anywhere in a limit: another run may lose one more.
    let hi = wait.path_ns.saturating_add(wait.max_ns).min(wait.total_ns);
    (found && often).then_some((Limit::Thread, wait.calls, Interval { lo: 0, hi }))
}

/// Whether the kernel sent the first packet of a connection again.
fn is_handshake(ns: Ns) -> bool {
    ns >= SECOND && ns % SECOND <= HANDSHAKE_LATE_NS
}

/// Connections that waited for the kernel to send again. Meanwhile the peer may have been busy with
/// others; and who comes late waits behind those who came in between.
fn of_handshake(evidence: &Evidence<'_>, wait: &WaitRow) -> Option<(Limit, u64, Interval)> {
    if !is_handshake(wait.max_ns) {
        return None;
    }
    let answers = |other: &&WaitRow| {
        let call = other.call.syscall().map_or("", |call| &*call.name);
        let socket = matches!(other.reason, State::Network | State::OtherWait);
        let called = POLLS.contains(&call) || WAITS.contains(&call);
        called && socket && (other.on == wait.on || evidence.tier != Tier::Bpf)
    };
    let answers = || evidence.run.waits.iter().filter(answers);
    let path_ns: Ns = answers().map(|other| other.path_ns).sum();
    let beside_ns: Ns = answers().map(|other| other.total_ns.saturating_sub(other.path_ns)).sum();
    let ns =
        Interval { lo: wait.path_ns.saturating_sub(beside_ns), hi: wait.path_ns.saturating_add(path_ns) };
    let late = wait.histogram.iter().filter(|(end, _)| *end >= SECOND).map(|(_, times)| times);
    Some((Limit::Handshake, late.sum::<u64>().max(1), ns))
}

/// The same where the program did not wait in `connect`.
fn of_connection(evidence: &Evidence<'_>, row: usize, of: &ConnectionRow) -> Option<RanOut> {
    let connect = of.connect.filter(|connect| is_handshake(connect.max_ns))?;
    if of.began != ConnectionOrigin::Opened || of.retransmits == 0 {
        return None;
    }
    let target = Endpoint::read(&of.remote).map(WaitTarget::Tcp)?;
    let waits = evidence.run.waits.iter().filter(|wait| wait.on == target);
    let hi = waits.map(|wait| wait.path_ns).sum::<Ns>().min(connect.total_ns);
    (hi > 0).then(|| RanOut {
        place: RowRef::Connection(row),
        limit: Limit::Handshake,
        name_server: false,
        times: of.retransmits,
        longest_ns: connect.max_ns,
        what: say!("the program waited for ").and(super::peers::name(of)),
        ns: Interval { lo: 0, hi },
    })
}

fn finding(evidence: &Evidence<'_>, one: RanOut) -> Finding {
    let share_ns = Interval { lo: one.ns.lo.min(one.ns.hi), ..one.ns };
    let goes = match evidence.run.window {
        Some(_) => Removal::Account(share_ns, Kind::Waiting),
        None => Removal::Wall(share_ns),
    };
    let times = say!(Count(one.times, "time".into()), ", ", Time(one.longest_ns), " at most");
    let (until, change) = match one.limit {
        Limit::Call if one.name_server => (
            say!(" until its time limit ran out, "),
            say!("see why this server does not answer; if /etc/resolv.conf names others, put it last"),
        ),
        Limit::Call => (
            say!(" until its time limit ran out, "),
            say!("see why nothing comes in that time, or do without (HTTP: no Expect: 100-continue)"),
        ),
        Limit::Thread => (
            say!(" until its time limit ran out, "),
            say!("wake it when it may go on: signal the condition under its lock"),
        ),
        Limit::Handshake => (
            say!(" until the kernel sent the first packet of a connection again, "),
            say!(
                "let the server accept sooner or queue more (listen, net.core.somaxconn), or connect less at once"
            ),
        ),
    };
    Finding {
        cause: CAUSE.name.clone(),
        place: one.place,
        what: one.what.and(until).and(times.clone()),
        change,
        share_ns,
        saving: evidence.saving(&goes, ALL, SavingBasis::Bounded),
        evidence: vec![match (one.limit, evidence.tier) {
            (Limit::Handshake, _) => say!("a second and its multiples are the kernel's own limits"),
            (_, Tier::Bpf) => say!("a timer ended these waits: ").and(times),
            _ => say!("no waker was seen; the length is that of a limit"),
        }],
        assumes: vec![say!("what it waited for can come at once, or is not needed")],
        verify: vec![say!("dwell compare of both versions; these waits are gone in `dwell run`")],
        explains: Vec::new(),
        belief: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::diagnose;
    use crate::judge::file_samples::wait;
    use crate::judge::samples::{connection, found, judged, run, saves, thread};
    use model::peers::{Lengths, Turns};
    use model::run::TimedWaits;
    use model::{Diagnosis, Profile, Run, Seen};

    const MS: Ns = 1_000_000;

    fn udp() -> WaitTarget {
        WaitTarget::Udp(Endpoint::read("192.0.2.53:53").expect("an end"))
    }

    /// A second and some of this wait.
    fn of(wait: WaitRow) -> Run {
        let mut run = run(&[(State::User, 100 * MS), (wait.reason, wait.total_ns)]);
        run.waits = vec![wait];
        run
    }

    fn judge(run: &Run) -> Diagnosis {
        judged(run, &Seen::Absent)
    }

    fn by_length(run: &Run) -> Diagnosis {
        diagnose(&Evidence::of(Tier::Perf, run, &Profile::default()))
    }

    #[test]
    fn a_limit_that_ended_all_waits_for_a_peer_goes_for_certain() {
        let run = of(wait(State::Network, "poll", udp(), 2, 1000 * MS, WakerKind::Timer));
        assert_eq!(saves(found(&judge(&run), "timeout").expect("it is there")), (1000 * MS, 1000 * MS));
        let answered = of(wait(State::Network, "poll", udp(), 2, 1000 * MS, WakerKind::Network));
        assert!(found(&judge(&answered), "timeout").is_none());
    }

    #[test]
    fn answers_in_other_waits_leave_nothing_certain() {
        let mut run = of(wait(State::Network, "poll", udp(), 4, 1000 * MS, WakerKind::Timer));
        (run.waits[0].by[0].times, run.waits[0].by[0].ns) = (3, 900 * MS);
        assert_eq!(saves(found(&judge(&run), "timeout").expect("it is there")), (0, 900 * MS));
    }

    #[test]
    fn slices_of_a_wait_for_what_came_are_no_limit() {
        let end = "192.0.2.1:5432";
        let tcp = WaitTarget::Tcp(Endpoint::read(end).expect("an end"));
        let mut run = of(wait(State::Network, "poll", tcp, 60, 5000 * MS, WakerKind::Timer));
        (run.waits[0].by[0].times, run.waits[0].by[0].ns) = (40, 4000 * MS);
        assert!(found(&judge(&run), "timeout").is_some(), "nothing is known of the connection");
        let with = |sliced_ns: Ns| {
            let turns = Turns { times: 20, total_ns: 5000 * MS, sliced_ns, ..Turns::default() };
            let of_peer = ConnectionRow { turns: Some(turns), ..connection(end) };
            let mut run = run.clone();
            run.tables.connections = Seen::Value(vec![of_peer]);
            found(&judge(&run), "timeout").is_some()
        };
        assert!(!with(4000 * MS), "each wait went on until the answer came");
        assert!(with(1000 * MS), "after most of the limits it sent something else");
    }

    #[test]
    fn without_wakers_a_limit_is_told_by_its_length() {
        let is = |longest_ns: Ns| {
            let mut run = of(wait(State::OtherWait, "poll", udp(), 4, longest_ns, WakerKind::Unknown));
            (run.waits[0].max_ns, run.waits[0].total_ns) = (longest_ns, longest_ns + 50 * MS);
            run.waits[0].by.clear();
            found(&by_length(&run), "timeout").is_some()
        };
        assert!(is(800 * MS) && is(800 * MS + 1_301_301) && !is(800 * MS + 1_301_302));
        assert!(!is(799 * MS) && is(100 * MS) && !is(90 * MS));
    }

    #[test]
    fn a_thread_that_nobody_wakes_while_others_work_waits_too_long() {
        let limits = |times: u64, others_ns: Ns| {
            let mut run =
                of(wait(State::Sleep, "futex", WaitTarget::TimeLimit, times, 1000 * MS, WakerKind::Timer));
            let timed = TimedWaits { times, total_ns: 1000 * MS, ..TimedWaits::default() };
            run.threads[0].timed_waits = Some(TimedWaits { others_on_cpu_ns: others_ns, ..timed });
            run.waits[0].threads = vec![crate::judge::samples::waiting(100, 1000 * MS)];
            run.threads.push(thread(101, &[(State::User, others_ns)]));
            found(&judge(&run), "timeout").is_some()
        };
        assert!(limits(5, 100 * MS) && limits(5, 499 * MS));
        assert!(!limits(5, 99 * MS) && !limits(4, 100 * MS) && !limits(5, 500 * MS));
    }

    #[test]
    fn without_wakers_equal_waits_for_a_thread_are_a_limit() {
        let is = |each_ns: Ns, longest_ns: Ns| {
            let on = WaitTarget::Futex(Seen::Value(7));
            let mut run = of(wait(State::Lock, "futex", on, 10, 10 * each_ns, WakerKind::Unknown));
            run.waits[0].max_ns = longest_ns;
            found(&by_length(&run), "timeout").is_some()
        };
        assert!(is(50 * MS, 50 * MS + 100_000) && is(49 * MS, 50 * MS));
        assert!(!is(48 * MS, 50 * MS) && !is(45 * MS, 45 * MS));
    }

    #[test]
    fn a_connection_that_takes_whole_seconds_was_asked_for_again() {
        let tcp = || WaitTarget::Tcp(Endpoint::read("192.0.2.1:80").expect("an end"));
        let connects = |ns: Ns| {
            let mut run = of(wait(State::Network, "connect", tcp(), 1, ns, WakerKind::Network));
            let mut answers = wait(State::Network, "recvfrom", tcp(), 3, 300 * MS, WakerKind::Network);
            answers.path_ns = 100 * MS;
            run.account[1].ns += 100 * MS;
            run.wall_ns += 100 * MS;
            run.waits.push(answers);
            found(&judge(&run), "timeout").map(saves)
        };
        assert_eq!(connects(1010 * MS), Some((810 * MS, 1110 * MS)));
        assert!(connects(3100 * MS).is_some());
        assert!(connects(999 * MS).is_none() && connects(1101 * MS).is_none());
    }

    #[test]
    fn a_connection_that_is_not_waited_for_in_connect_has_its_own_figures() {
        let tcp = WaitTarget::Tcp(Endpoint::read("192.0.2.1:80").expect("an end"));
        let mut run = of(wait(State::Network, "epoll_wait", tcp, 5, 1500 * MS, WakerKind::Network));
        let of = |retransmits| {
            let ns = 1020 * MS;
            let connect = Some(Lengths { total_ns: ns, p50_ns: ns, p99_ns: ns, max_ns: ns });
            ConnectionRow { connect, retransmits, ..connection("192.0.2.1:80") }
        };
        run.tables.connections = Seen::Value(vec![of(1)]);
        assert_eq!(saves(found(&judge(&run), "timeout").expect("it is there")), (0, 1020 * MS));
        run.tables.connections = Seen::Value(vec![of(0)]);
        assert!(found(&judge(&run), "timeout").is_none());
    }

    #[test]
    fn a_server_that_waits_for_requests_has_no_limit_to_lose() {
        let run = of(wait(State::Idle, "poll", udp(), 2, 1000 * MS, WakerKind::Timer));
        assert!(found(&judge(&run), "timeout").is_none());
    }
}
