//! A thread for each small item.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::by_signs;
use crate::judge::predict::{ALL, Kind, Removal};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::sentence::Piece::{Count, Name, Ns as Time, Number, Share};
use model::{Ns, Pid, RuledOut, State, say};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("thread-spawning", "a thread for each small item"),
    tiers: &[Tier::Bpf, Tier::Perf],
    manual: Manual {
        what: "The program starts many threads that each do little.",
        why: "A thread costs its creation, a stack that is mapped, touched and unmapped, its first \
              wait for a CPU and its end: from 20 to 100 us, and more in a managed language, whose \
              runtime prepares each. A pool has its threads ready.",
        rule: "100 threads or more of one process began and ended, beside its first, and the \
               calls that make them and their stacks have a twentieth of its CPU time or more. \
               Fewer threads are a pool; if the calls take less, the threads do enough to be worth \
               their start. Of the calls, no more than one of a kind counts for each thread.",
        else_it_could_be: "A server may start a thread for each connection, and the connections \
                           may be what is short.",
        change: "Give the items to a pool of threads that stay: a thread pool, an executor, \
                 rayon, OpenMP, a work queue; as many threads as there are CPUs. Or do several \
                 items in each thread.",
        part: "Bounded. At most the critical path of the process but for its own code is saved: the \
               kernel's work, page faults, and waits for a CPU. In a window the calls that make the \
               threads are saved at least. Of a run nothing is certain, since other threads could \
               have taken their place.",
        assumes: "The items can be done by threads that are there already.",
    },
    explains: &["oversubscription", "page-faults", "lock-contention", "context-switching"],
    signs: &[],
    probe: None,
    check,
};

/// Fewer are a pool.
const THREADS_MIN: u64 = 100;
/// The least part of the CPU time for making and ending them: one in this many.
const PART: Ns = 20;

/// Calls that make a thread.
const MAKE: &[&str] = &["clone3", "clone"];
/// Calls that map its stack and give it back.
const STACK: &[&str] = &["mmap", "mprotect", "munmap", "madvise", "exit"];

/// The short threads of a process.
#[derive(Debug, Clone, Copy, Default)]
struct Short<'a> {
    threads: u64,
    life_ns: Ns,
    /// The name of one, by its row.
    named: Option<(usize, &'a str)>,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let most = short_threads(evidence).into_iter().max_by_key(|(pid, short)| (short.threads, Reverse(*pid)));
    let (pid, short) = most.unwrap_or_default();
    if short.threads < THREADS_MIN {
        let figure = Count(short.threads, "thread".into());
        return Outcome::RuledOut(RuledOut::below(figure, say!("started and ended"), Number(THREADS_MIN)));
    }
    let (costs_ns, cpu_ns) = (costs_ns(evidence, short.threads), evidence.cpu_ns());
    if costs_ns < cpu_ns / PART {
        let what = say!("of CPU time for starting and ending ", Count(short.threads, "thread".into()));
        let share = Share(costs_ns as f64 / cpu_ns.max(1) as f64);
        return Outcome::RuledOut(RuledOut::below(share, what, Share(1.0 / PART as f64)));
    }
    Outcome::Found(vec![finding(evidence, pid, short, costs_ns)])
}

/// Threads that ended, beside those that lead their process.
fn short_threads<'a>(evidence: &Evidence<'a>) -> FxHashMap<Pid, Short<'a>> {
    let mut all: FxHashMap<Pid, Short<'a>> = FxHashMap::default();
    let rows = evidence.run.threads.iter().enumerate();
    for (row, thread) in rows.filter(|(_, thread)| thread.processes() == 0 && !thread.outlived) {
        let short = all.entry(thread.pid).or_default();
        short.threads += thread.threads();
        short.life_ns += thread.life_ns;
        short.named = short.named.or(Some((row, &thread.name)));
    }
    all
}

/// CPU time of the calls that make them and their stacks: as counted, or by samples.
fn costs_ns(evidence: &Evidence<'_>, threads: u64) -> Ns {
    if evidence.run.tables.syscalls.value().is_none() {
        return by_signs::work_ns(evidence, &[MAKE, STACK].concat(), &[]);
    }
    let rows = evidence.calls_named(&[MAKE, STACK].concat());
    let of = |calls: u64, cpu_ns: Ns| cpu_ns as f64 * (threads as f64 / calls.max(1) as f64).min(1.0);
    rows.iter().map(|(_, row)| of(row.calls, row.cpu_ns) as Ns).sum()
}

fn finding(evidence: &Evidence<'_>, pid: Pid, short: Short<'_>, costs_ns: Ns) -> Finding {
    let not_own = |state: State| state.wants_cpu() && state != State::User;
    let path_ns: Ns = evidence
        .run
        .path
        .iter()
        .filter(|step| step.pid == pid && not_own(step.state))
        .map(|step| step.ns)
        .sum();
    let hi = path_ns.max(costs_ns).min(evidence.run.whole_ns());
    let share_ns = Interval { lo: costs_ns.min(hi), hi };
    let (row, name) = short.named.unwrap_or((0, ""));
    let place = evidence.calls_named(MAKE).into_iter().max_by_key(|(row, call)| (call.cpu_ns, Reverse(*row)));
    Finding {
        cause: CAUSE.name.clone(),
        place: place.map_or(RowRef::Thread(row), |(row, _)| RowRef::Call(row)),
        what: say!(
            Count(short.threads, "thread".into()),
            " are started, as ",
            Name(name.to_owned()),
            ", and live for ",
            Time(short.life_ns / short.threads.max(1)),
            " each: making and ending them takes ",
            Time(costs_ns),
            " of CPU time"
        ),
        change: say!("give the items to a pool of threads that stay"),
        share_ns,
        saving: evidence.saving(&Removal::Account(share_ns, Kind::Cpu), ALL, SavingBasis::Bounded),
        evidence: vec![say!("their lives add up to ", Time(short.life_ns))],
        assumes: vec![say!("the items can be done by threads that are there already")],
        verify: vec![say!("measure both versions: dwell compare BEFORE AFTER")],
        explains: Vec::new(),
        belief: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{call, found, judged, run, saves, sites, thread};
    use model::{Run, Seen};

    const MS: Ns = 1_000_000;

    /// A process that starts this many threads; making each takes a tenth of a millisecond.
    fn starter(threads: u32, life_ns: Ns) -> Run {
        let all_ns = u64::from(threads) * life_ns;
        let mut run = run(&[(State::User, all_ns), (State::Runqueue, 100 * MS)]);
        run.threads.extend((0..threads).map(|one| thread(200 + one, &[(State::User, life_ns)])));
        run.tables.syscalls = Seen::Value(vec![call("clone3", threads.into(), MS / 10 * u64::from(threads))]);
        run
    }

    fn is_found(run: &Run) -> bool {
        found(&judged(run, &sites(run, &[])), "thread-spawning").is_some()
    }

    #[test]
    fn a_hundred_short_threads_are_one_for_each_item() {
        assert!(is_found(&starter(100, MS)));
        assert!(!is_found(&starter(99, MS)));
    }

    #[test]
    fn threads_that_do_much_are_worth_their_start() {
        assert!(!is_found(&starter(100, 3 * MS)), "making them is a thirtieth");
        let mut run = starter(100, MS);
        run.threads.iter_mut().for_each(|thread| thread.outlived = true);
        assert!(!is_found(&run), "they are a pool");
    }

    #[test]
    fn at_most_all_goes_that_is_not_the_own_code() {
        let mut run = starter(100, MS);
        run.path = vec![
            crate::judge::file_samples::step(State::User, model::Reason::None, 100 * MS),
            crate::judge::file_samples::step(State::Runqueue, model::Reason::None, 60 * MS),
        ];
        let (pid, queued) = (run.path[0].pid, [(State::User, 100 * MS), (State::Runqueue, 80 * MS)]);
        run.threads.iter_mut().for_each(|thread| thread.pid = pid);
        run.threads[0].states = queued.to_vec();
        let diagnosis = judged(&run, &sites(&run, &[]));
        assert_eq!(saves(found(&diagnosis, "thread-spawning").expect("it is there")).1, 60 * MS);
    }
}
