//! Threads that wait for each other in turn, since only some of them at a time may wait for
//! something else: a pool of connections, workers or permits has fewer members than threads use it.

use super::{Cause, Manual, Outcome, places};
use crate::judge::Evidence;
use crate::judge::predict::{Kind, Removal};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::run::{ThreadLedger, WaitRow};
use model::sentence::Piece::{Count, Name, Ns as Time, Number};
use model::wait::{WaitTarget, WakerKind};
use model::{Ns, Pid, Sentence, State, Tid, say};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("pool-wait", "waits for a free member of a pool"),
    tiers: &[Tier::Bpf, Tier::Perf],
    manual: Manual {
        what: "Threads of a process need one of a few things to go on: a connection of a pool, a \
               permit of a semaphore, a slot of a queue. Those that have one wait for a peer, a \
               disk or a timer; the others wait until one is given back.",
        why: "The few that are under way could be more: what they wait for (a database, a service, \
              a disk) serves several at a time. With k members for n threads, n - k threads stand \
              still.",
        rule: "Three threads or more of one process wait for the same kind of thing (the network, a \
               disk, a pipe, a sleep), each for a hundredth of the time or more: less is the start \
               of something else. On average two or more are in that wait at once, but fewer than \
               there are threads; one at a time is a lock. The same threads wait for each other for \
               half as long or more: if there is a member for more than two of three of them, the \
               pool is not what they wait for most. And threads among them end half of these waits \
               or more: a thread that has nothing to do is woken by whoever has work for it. Without \
               BPF it is not seen who woke them, and the saving is assumed.",
        else_it_could_be: "The pool may be as small as it is for a reason: a limit of the peer, or \
                           of what it serves at a time. Without BPF, workers that have too little \
                           to do look the same.",
        change: "Give the pool more members, up to what the peer serves at a time. Take a member \
                 later and give it back sooner: not while something else is computed or waited for. \
                 Or start fewer threads, if the limit is wanted.",
        part: "Bounded: with a member for each of n threads in place of k, at most 1 - k/n of these \
               waits is saved, which is so if the peer serves n at a time as fast as k. If the peer is \
               no faster, nothing is saved.",
        assumes: "The peer serves as many at a time as there are threads. Their work needs no order.",
    },
    explains: &[],
    signs: &[],
    probe: None,
    check,
};

/// Fewer threads have no pool.
const THREADS_MIN: usize = 3;
/// A thread waits for the members' thing for this part of the time.
const MEMBER_PART: Ns = 100;
/// One at a time is a lock.
const AT_ONCE_MIN: f64 = 2.0;
/// Waits for each other, in parts of the members' waits.
const EACH_OTHER_PART: Ns = 2;
/// Of these, those that threads among them end.
const AMONG_THEM_PART: Ns = 2;
/// Calls that wait for any of several things: as a rule nobody else waits for what they do.
const LOOPS: &[&str] = &["poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"];
/// What members wait for.
const KINDS: [State; 4] = [State::Network, State::Disk, State::Pipe, State::Sleep];

fn check(evidence: &Evidence<'_>) -> Outcome {
    let mut processes = BTreeMap::<Pid, Vec<&ThreadLedger>>::default();
    for thread in evidence.run.threads.iter().filter(|thread| thread.together.is_none()) {
        processes.entry(thread.pid).or_default().push(thread);
    }
    let pools = KINDS
        .iter()
        .flat_map(|kind| processes.values().filter_map(|threads| Pool::of(evidence, *kind, threads)));
    let most = pools.max_by_key(|pool| pool.path_ns);
    let findings = most.map(|pool| finding(evidence, &pool));
    Outcome::of(
        findings,
        say!("no threads wait for each other while some of them wait for something else").into(),
    )
}

/// How long a thread waits for such a thing, as a member may. Without BPF waits are not known by
/// thread, but its states are.
fn waited_ns(evidence: &Evidence<'_>, kind: State, thread: &ThreadLedger) -> Ns {
    if evidence.tier != Tier::Bpf {
        return thread.ns_in(|state| state == kind);
    }
    let rows = evidence.run.waits.iter().filter(|wait| is_of_member(wait, kind));
    rows.flat_map(|wait| &wait.threads).filter(|of| of.tid == thread.tid).map(|of| of.ns).sum()
}

/// Whether members wait so: a loop that sleeps waits for what comes first.
fn is_of_member(wait: &WaitRow, kind: State) -> bool {
    let call = wait.call.syscall().map_or("", |call| &*call.name);
    wait.reason == kind && !(kind == State::Sleep && LOOPS.contains(&call))
}

/// Threads that share a pool.
struct Pool {
    kind: State,
    tids: FxHashSet<Tid>,
    /// How many of them are in the members' wait at once, on average.
    at_once: f64,
    /// What of these waits is on the path, or of active threads.
    path_ns: Ns,
    /// How long they wait for each other.
    each_other_ns: Ns,
}

impl Pool {
    fn of(evidence: &Evidence<'_>, kind: State, threads: &[&ThreadLedger]) -> Option<Self> {
        let waits = |thread: &&&ThreadLedger| waited_ns(evidence, kind, thread);
        let members: Vec<_> = threads
            .iter()
            .filter(|thread| waits(thread) > 0 && waits(thread) >= evidence.run.wall_ns / MEMBER_PART)
            .collect();
        let tids: FxHashSet<Tid> = members.iter().map(|thread| thread.tid).collect();
        let waited_ns: Ns = members.iter().map(waits).sum();
        let each_other_ns: Ns = members.iter().map(|thread| thread.ns_in(|state| state == State::Lock)).sum();
        let of_path_ns = evidence.account_ns(|state| state == kind);
        let (any_ns, path_ns) = match evidence.run.window {
            Some(_) => (evidence.run.wall_ns, waited_ns),
            None => (of_path_ns, of_path_ns),
        };
        let at_once = waited_ns as f64 / any_ns.max(1) as f64;
        let pool = Self { kind, tids, at_once, path_ns, each_other_ns };
        let is_pool = path_ns > 0
            && members.len() >= THREADS_MIN
            && at_once.round() >= AT_ONCE_MIN
            && at_once.round() < members.len() as f64
            && each_other_ns >= waited_ns / EACH_OTHER_PART
            && pool.is_among_them(evidence);
        is_pool.then_some(pool)
    }

    /// Whether threads among them end their waits for each other, as far as that is seen.
    fn is_among_them(&self, evidence: &Evidence<'_>) -> bool {
        let locks = evidence.run.waits.iter().filter(|wait| {
            wait.reason == State::Lock
                && !matches!(wait.on, WaitTarget::InterpreterLock(_))
                && wait.threads.iter().any(|thread| self.tids.contains(&thread.tid))
        });
        let (mut all_ns, mut among_ns) = (0, 0);
        for by in locks.flat_map(|wait| &wait.by) {
            all_ns += by.ns;
            let is_member =
                by.kind == WakerKind::Thread && by.tid.value().is_some_and(|tid| self.tids.contains(tid));
            among_ns += if is_member { by.ns } else { 0 };
        }
        evidence.tier != Tier::Bpf || (all_ns > 0 && among_ns >= all_ns / AMONG_THEM_PART)
    }

    fn threads(&self) -> u64 {
        self.tids.len() as u64
    }

    /// The row of waits that has most of the members' waits.
    fn row<'a>(&self, evidence: &Evidence<'a>) -> Option<(usize, &'a WaitRow)> {
        let of_members = |wait: &WaitRow| {
            is_of_member(wait, self.kind)
                && (wait.threads.is_empty()
                    || wait.threads.iter().any(|thread| self.tids.contains(&thread.tid)))
        };
        let rows = evidence.run.waits.iter().enumerate();
        rows.filter(|(_, wait)| of_members(wait)).max_by_key(|(_, wait)| wait.total_ns)
    }
}

fn finding(evidence: &Evidence<'_>, pool: &Pool) -> Finding {
    let row = pool.row(evidence);
    let all_ns = Interval { lo: pool.path_ns, hi: pool.path_ns };
    let goes = Removal::Account(all_ns, Kind::Waiting);
    let members = pool.at_once.round();
    let part = 1.0 - members / pool.threads() as f64;
    let known = if evidence.tier == Tier::Bpf { SavingBasis::Bounded } else { SavingBasis::Assumed };
    let thing = row.map_or_else(Sentence::default, |(_, wait)| match &wait.on {
        WaitTarget::Timer(_) => say!(" in a sleep"),
        on => say!(" for ", Name(on.to_string())),
    });
    let each = row.map(|(_, wait)| wait.total_ns / wait.calls.max(1));
    let at_a_time = || say!(Number(members as u64), " at a time wait").and(thing.clone());
    Finding {
        cause: CAUSE.name.clone(),
        place: row.map_or(RowRef::State(pool.kind), |(row, _)| RowRef::Wait(row)),
        what: say!("of ")
            .and(places::threads(pool.tids.len()))
            .and(say!(" "))
            .and(at_a_time())
            .and(row.map_or_else(Sentence::default, |(_, wait)| places::waiting(evidence, wait)))
            .and(say!(", and the others wait ", Time(pool.each_other_ns), " for one of these")),
        change: say!(
            "give the pool more than ",
            Number(members as u64),
            " members, or hold one for less time"
        ),
        share_ns: Interval { lo: 0, hi: pool.path_ns },
        saving: evidence.saving(&goes, (0.0, part), known),
        evidence: each
            .into_iter()
            .map(|each_ns| at_a_time().and(say!(", ", Time(each_ns), " each on average")))
            .chain([say!(
                Count(pool.threads(), "thread".into()),
                " wait so, and for each other ",
                Time(pool.each_other_ns / pool.threads().max(1)),
                " each on average"
            )])
            .collect(),
        assumes: vec![say!("what they wait for serves as many at a time as there are threads")],
        verify: vec![say!("dwell compare with a larger pool")],
        explains: Vec::new(),
        belief: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::diagnose;
    use crate::judge::samples::{found, judged, run, saves, sites, thread, wait, waiting};
    use model::network::Endpoint;
    use model::prediction::Site;
    use model::run::WakerRow;
    use model::{Profile, Run, Seen};

    const MS: Ns = 1_000_000;

    /// Ten threads, of which this many at a time wait for a peer for a second; the others wait for
    /// these, whom this thread wakes.
    fn of(at_once: u64, waker: Tid) -> Run {
        let (network_ns, lock_ns) = (at_once * 100 * MS, (1000 - at_once * 100) * MS);
        let mut run = run(&[(State::Network, 1000 * MS)]);
        let states = [(State::Network, network_ns), (State::Lock, lock_ns)];
        run.threads = (101..=110).map(|tid| thread(tid, &states)).collect();
        run.threads.push(thread(100, &[(State::Lock, 1000 * MS)]));
        let all = |ns: Ns| (101..=110).map(|tid| waiting(tid, ns)).collect::<Vec<_>>();
        let peer = WaitTarget::Tcp(Endpoint::read("192.0.2.1:5432").expect("an end"));
        let mut lock = wait(State::Lock, WaitTarget::Futex(Seen::Value(7)), &all(lock_ns));
        lock.by = vec![WakerRow {
            kind: WakerKind::Thread,
            name: "program".into(),
            pid: Seen::Value(100),
            tid: Seen::Value(waker),
            times: 10,
            ns: 10 * lock_ns,
            place: Seen::Absent,
            stack: Seen::Absent,
            meanwhile: Vec::new(),
        }];
        run.waits = vec![wait(State::Network, peer, &all(network_ns)), lock];
        run
    }

    fn judge(run: &Run) -> model::Diagnosis {
        judged(run, &sites(run, &[(Site::State(State::Network), [1000 * MS; 3])]))
    }

    #[test]
    fn two_members_for_ten_threads_could_be_ten() {
        let diagnosis = judge(&of(2, 101));
        let finding = found(&diagnosis, "pool-wait").expect("it is there");
        assert_eq!(saves(finding), (0, 800 * MS));
        assert_eq!(finding.place, RowRef::Wait(0));
    }

    #[test]
    fn one_at_a_time_is_a_lock_and_a_member_for_most_is_no_pool() {
        let is = |at_once| found(&judge(&of(at_once, 101)), "pool-wait").is_some();
        assert!(!is(1) && is(2) && is(6) && !is(7) && !is(10));
    }

    #[test]
    fn workers_that_are_given_work_wait_for_no_member() {
        assert!(found(&judge(&of(2, 100)), "pool-wait").is_none());
    }

    #[test]
    fn two_threads_have_no_pool() {
        let mut run = of(2, 101);
        run.threads.truncate(2);
        assert!(found(&judge(&run), "pool-wait").is_none());
    }

    #[test]
    fn without_wakers_the_saving_is_assumed() {
        let mut run = of(2, 101);
        for wait in &mut run.waits {
            (wait.by, wait.threads) = (Vec::new(), Vec::new());
        }
        let profile = Profile::default();
        let diagnosis = diagnose(&Evidence::of(Tier::Perf, &run, &profile));
        let finding = found(&diagnosis, "pool-wait").expect("it is there");
        assert_eq!(saves(finding), (0, 800 * MS));
        assert_eq!(finding.saving.value().expect("it is known").known, SavingBasis::Assumed);
    }
}
