//! Servers of one thread in which one task keeps all others waiting.

use super::{Cause, Manual, Outcome, peers, places};
use crate::judge::Evidence;
use crate::judge::predict::{ALL, Kind, Removal};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::run::{ThreadLedger, WaitRow};
use model::sentence::Piece::{Count, Name, Ns as Time, Number, Share};
use model::wait::WakerKind;
use model::{Ns, RuledOut, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("blocked-event-loop", "one task that blocks all others of its thread"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "One thread serves several connections. While it sleeps, waits for something else or \
               computes for one of them, requests on the others wait.",
        why: "An event loop, or a server that serves one after another, does one thing at a time. A \
              task that takes 20 ms delays each request that comes meanwhile by up to 20 ms, and \
              with several such tasks they queue.",
        rule: "In the time that was observed the program had two accepted connections or more: one \
               has no others to keep waiting. One thread of it does most. Its time is taken without \
               its waits for a CPU. For half of that or more it is blocked in sleeps or in waits for \
               a disk, a pipe or another peer, so that every other request that comes finds it so. \
               Waits for any of several things (`epoll_wait`, `poll`, `select`) are the loop's own \
               and do not count. Or for half of it or more it computes, and for 10 ms or more for \
               each connection: with less, the thread has much to do, but no task of it delays \
               others by what a person or a client notices. This is a quarter of all of its time or \
               more: with less, it waits for a CPU most of all. No other thread does half as much, \
               and none is woken by the network where it waits for requests: that one would serve \
               them.",
        else_it_could_be: "The clients may ask one after the other, so that no request waits. The \
                           addresses of clients do not tell.",
        change: "Let the task wait without its thread: `await asyncio.sleep`, an asynchronous \
                 client, an executor or a pool of threads for what blocks or computes \
                 (`run_in_executor`, worker threads, the asynchronous form of the call). Or serve \
                 each connection in a thread or process of its own.",
        part: "Bounded: at most all of the time for which the thread is blocked, or what other CPUs \
               can take of what it computes. At least nothing: requests may come one by one.",
        assumes: "Requests come while the thread is blocked.",
    },
    explains: &[],
    signs: &[],
    probe: None,
    check,
};

/// Connections that were accepted.
const ACCEPTED_MIN: u64 = 2;
/// The thread is blocked, or computes, for this part of its time.
const BLOCKED_PART: Ns = 2;
/// That is this part of all of its time, with its waits for a CPU.
const OF_ALL_PART: Ns = 4;
/// It computes for so long for each connection.
const TASK_NS_MIN: Ns = 10_000_000;
/// Another thread does this part of what it does: then it is not alone.
const OTHER_PART: Ns = 2;
/// Calls that wait for any of several things.
const LOOPS: &[&str] = &["poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"];

fn check(evidence: &Evidence<'_>) -> Outcome {
    Outcome::of_table(&evidence.run.tables.connections, |rows| {
        let accepted: u64 = rows.iter().filter(|row| peers::is_served(row)).map(|row| row.times).sum();
        if accepted < ACCEPTED_MIN {
            let what = say!("accepted");
            let figure = Count(accepted, "connection".into());
            return Outcome::RuledOut(RuledOut::below(figure, what, Number(ACCEPTED_MIN)));
        }
        let does =
            |thread: &ThreadLedger| thread.ns_in(|state| state.on_cpu()) + blocked_ns(evidence, thread);
        let mut threads: Vec<_> = evidence.run.threads.iter().enumerate().collect();
        threads.sort_by_key(|(_, thread)| std::cmp::Reverse(does(thread)));
        let Some((row, thread)) = threads.first().copied() else {
            return Outcome::RuledOut(say!("there is no thread").into());
        };
        let others_ns = threads.get(1).map_or(0, |(_, other)| does(other));
        if others_ns > does(thread) / OTHER_PART {
            return Outcome::RuledOut(say!("several threads serve").into());
        }
        if others_serve(evidence, thread) {
            return Outcome::RuledOut(say!("another thread waits for requests").into());
        }
        match Blocked::of(evidence, row, thread, accepted) {
            Some(blocked) => Outcome::Found(vec![finding(evidence, thread, &blocked, accepted)]),
            None => {
                let part = does(thread) as f64 / of_itself_ns(thread).max(1) as f64;
                let needed = 1.0 / BLOCKED_PART as f64;
                let why = if part < needed {
                    let what = say!("of the time of the thread that serves it is in tasks or blocked");
                    RuledOut::below(Share(part), what, Share(needed))
                } else {
                    say!("the thread that serves has no tasks of 10 ms, or waits for a CPU most of all")
                        .into()
                };
                Outcome::RuledOut(why)
            }
        }
    })
}

/// Waits of a thread in which it can serve nobody, by row.
fn blocking<'a>(evidence: &Evidence<'a>, thread: &ThreadLedger) -> Vec<(usize, &'a WaitRow, Ns)> {
    let blocks = |wait: &WaitRow| {
        let call = wait.call.syscall().map_or("", |call| &*call.name);
        matches!(wait.reason, State::Sleep | State::Network | State::Disk | State::Pipe)
            && !LOOPS.contains(&call)
    };
    let tid = thread.tid;
    let rows = evidence.run.waits.iter().enumerate().filter(|(_, wait)| blocks(wait));
    let own = |wait: &WaitRow| wait.threads.iter().find(|of| of.tid == tid).map(|of| of.ns);
    rows.filter_map(|(row, wait)| Some((row, wait, own(wait)?))).collect()
}

/// The time of a thread without its waits for a CPU, which are neither its own nor free.
fn of_itself_ns(thread: &ThreadLedger) -> Ns {
    thread.life_ns.saturating_sub(thread.ns_in(|state| state == State::Runqueue))
}

fn blocked_ns(evidence: &Evidence<'_>, thread: &ThreadLedger) -> Ns {
    blocking(evidence, thread).iter().map(|(.., ns)| ns).sum()
}

/// Whether a request wakes another thread.
fn others_serve(evidence: &Evidence<'_>, thread: &ThreadLedger) -> bool {
    evidence.run.waits.iter().filter(|wait| wait.reason == State::Idle).any(|wait| {
        let by_network = wait.by.iter().any(|by| by.kind == WakerKind::Network);
        by_network && wait.threads.iter().any(|other| other.tid != thread.tid)
    })
}

/// What the thread does while requests wait.
struct Blocked<'a> {
    place: RowRef,
    ns: Ns,
    kind: Kind,
    /// The wait that has most of it.
    most: Option<&'a WaitRow>,
}

impl<'a> Blocked<'a> {
    fn of(evidence: &Evidence<'a>, row: usize, thread: &ThreadLedger, accepted: u64) -> Option<Self> {
        let half = |ns: Ns| {
            ns > 0 && ns >= of_itself_ns(thread) / BLOCKED_PART && ns >= thread.life_ns / OF_ALL_PART
        };
        let waits = blocking(evidence, thread);
        let ns = waits.iter().map(|(.., ns)| ns).sum();
        if half(ns) {
            let most = waits.into_iter().max_by_key(|(.., ns)| *ns);
            let place = most.map_or(RowRef::Thread(row), |(row, ..)| RowRef::Wait(row));
            return Some(Self { place, ns, kind: Kind::Waiting, most: most.map(|(_, wait, _)| wait) });
        }
        let ns = thread.ns_in(|state| state.on_cpu());
        let long = ns / TASK_NS_MIN >= accepted;
        (half(ns) && long).then_some(Self { place: RowRef::Thread(row), ns, kind: Kind::Cpu, most: None })
    }
}

fn finding(evidence: &Evidence<'_>, thread: &ThreadLedger, blocked: &Blocked<'_>, accepted: u64) -> Finding {
    let elsewhere = match blocked.kind {
        Kind::Waiting => 1.0,
        Kind::Cpu => 1.0 - 1.0 / evidence.cpus_allowed().max(1.0),
    };
    let share_ns = Interval { lo: 0, hi: (blocked.ns as f64 * elsewhere) as Ns };
    let does = match blocked.most {
        Some(wait) => {
            let call = wait.call.syscall().map_or_else(|| "a wait".to_owned(), ToString::to_string);
            say!("is blocked for ", Time(blocked.ns), ", most of all in ", Name(call))
                .and(places::waiting(evidence, wait))
        }
        None => {
            say!("computes for ", Time(blocked.ns), ", ", Time(blocked.ns / accepted), " for each connection")
        }
    };
    let change = match blocked.kind {
        Kind::Waiting => say!("wait without the thread (await, a pool), or give each connection a thread"),
        Kind::Cpu => say!("compute in other threads (a pool, workers), not in the one that serves all"),
    };
    let served = || Count(accepted, "connection".into());
    Finding {
        cause: CAUSE.name.clone(),
        place: blocked.place,
        what: say!("the one thread of ", Name(thread.name.clone()), " that serves ", served(), " ")
            .and(does)
            .and(say!(", and the others wait")),
        change,
        share_ns,
        saving: evidence.saving(&Removal::Account(share_ns, blocked.kind), ALL, SavingBasis::Bounded),
        evidence: vec![say!(
            "of ",
            Time(thread.life_ns),
            " it waited for requests for ",
            Time(thread.ns_in(|state| state == State::Idle)),
            ", and for a CPU for ",
            Time(thread.life_ns - of_itself_ns(thread))
        )],
        assumes: vec![say!("requests come while it is blocked")],
        verify: vec![say!("dwell attach again: the thread mostly waits for requests")],
        explains: Vec::new(),
        belief: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{connection, found, judged, run, saves, thread};
    use model::network::{ConnectionOrigin, Endpoint};
    use model::peers::ConnectionRow;
    use model::run::{WaitingThread, WindowSummary};
    use model::wait::WaitTarget;
    use model::{Run, Seen};

    const MS: Ns = 1_000_000;

    /// A window of a second of one thread that is so long in this state, and serves this number of
    /// connections.
    fn of(state: State, ns: Ns, accepted: u64) -> Run {
        let states = [(state, ns), (State::Idle, 1000 * MS - ns)];
        let mut run = run(&states);
        run.window = Some(WindowSummary {
            target: "server".into(),
            processes: 1,
            threads_active: 1,
            threads_idle: 0,
            thread_ns: 1000 * MS,
            idle_ns: 0,
        });
        let row = connection("192.0.2.9");
        let (began, local) = (ConnectionOrigin::Found, "192.0.2.1:80".to_owned());
        run.tables.connections = Seen::Value(vec![ConnectionRow { began, local, times: accepted, ..row }]);
        run
    }

    fn sleeps(call: &'static str, ns: Ns) -> Run {
        let mut run = of(State::Sleep, ns, 10);
        let timer = WaitTarget::Timer(Seen::Absent);
        let mut wait = crate::judge::file_samples::wait(State::Sleep, call, timer, 50, ns, WakerKind::Timer);
        wait.threads = vec![WaitingThread { pid: 100, tid: 100, name: "program".into(), ns }];
        run.waits = vec![wait];
        run
    }

    fn is(run: &Run) -> bool {
        found(&judged(run, &Seen::Absent), "blocked-event-loop").is_some()
    }

    #[test]
    fn a_thread_that_sleeps_keeps_the_other_connections_waiting() {
        let diagnosis = judged(&sleeps("clock_nanosleep", 500 * MS), &Seen::Absent);
        let finding = found(&diagnosis, "blocked-event-loop").expect("it is there");
        assert_eq!((saves(finding), finding.place), ((0, 500 * MS), RowRef::Wait(0)));
        assert!(!is(&sleeps("clock_nanosleep", 499 * MS)));
        assert!(!is(&sleeps("epoll_wait", 900 * MS)), "the loop waits for what comes first");
    }

    #[test]
    fn a_thread_that_computes_for_long_for_each_does_too() {
        assert!(is(&of(State::User, 500 * MS, 50)) && !is(&of(State::User, 500 * MS, 51)));
        assert!(!is(&of(State::User, 499 * MS, 2)) && !is(&of(State::User, 900 * MS, 1)));
    }

    #[test]
    fn waits_for_a_cpu_are_no_time_in_which_it_was_free() {
        let mut run = of(State::User, 460 * MS, 2);
        assert!(!is(&run));
        run.threads = vec![thread(
            100,
            &[(State::User, 460 * MS), (State::Runqueue, 80 * MS), (State::Idle, 460 * MS)],
        )];
        assert!(is(&run));
        let starved = [(State::User, 240 * MS), (State::Runqueue, 740 * MS), (State::Idle, 20 * MS)];
        run.threads = vec![thread(100, &starved)];
        assert!(!is(&run), "the CPU is what it waits for");
    }

    #[test]
    fn a_thread_for_each_connection_is_none() {
        let mut run = of(State::User, 900 * MS, 10);
        run.threads.push(thread(101, &[(State::User, 450 * MS), (State::Idle, 550 * MS)]));
        assert!(is(&run));
        run.threads[1] = thread(101, &[(State::User, 451 * MS), (State::Idle, 549 * MS)]);
        assert!(!is(&run));
    }

    #[test]
    fn where_requests_wake_another_thread_that_one_serves() {
        let mut run = sleeps("clock_nanosleep", 900 * MS);
        let accepts = WaitTarget::Tcp(Endpoint::read("192.0.2.1:80").expect("an end"));
        let mut idle = crate::judge::file_samples::wait(
            State::Idle,
            "accept4",
            accepts,
            9,
            900 * MS,
            WakerKind::Network,
        );
        idle.threads = vec![WaitingThread { pid: 100, tid: 101, name: "program".into(), ns: 900 * MS }];
        run.waits.push(idle);
        assert!(!is(&run));
    }
}
