//! Threads that wait for the lock of their language's interpreter, which
//! [`purpose`](crate::purpose) knows by functions.

use super::{Cause, Manual, Outcome, places};
use crate::judge::Evidence;
use crate::judge::predict::{ALL, Kind, Removal, divided};
use crate::judge::signs::{By, SeenSign, Sign};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::profile::Frame;
use model::recording::Tier;
use model::run::{WaitRow, WaitingThread};
use model::sentence::Piece::{Count, Ns as Time, Share};
use model::wait::{StackFrame, WaitTarget};
use model::{Ns, RuledOut, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("interpreter-lock", "waits for the interpreter's lock"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "Threads of a Python program wait for the global interpreter lock (GIL).",
        why: "Only the thread that holds the lock runs Python code, so threads that compute take \
              turns on one CPU.",
        rule: "A function that takes the lock is among the 8 innermost frames of the wait. Such \
               waits have a hundredth of the time or more. And two threads or more wait at least \
               a quarter as long as the thread that waits longest: if one thread computes and \
               another mostly sleeps, there is no work to divide. Without BPF no function is \
               seen: there two threads or more compute, and the longest of their waits for each \
               other are as long as turns of the interpreter: 5 to 10 ms in CPython, 100 to 105 \
               ms in CRuby.",
        else_it_could_be: "One thread may hold the lock in an extension that does not release it: \
                           the table of waits names the holder.",
        change: "Compute in several processes (`multiprocessing`, \
                 `concurrent.futures.ProcessPoolExecutor`), in code that releases the lock (NumPy \
                 and the like), or with a free-threaded build of Python.",
        part: "Bounded: at least nothing. At most, the time in which these threads were on a CPU or \
               ready to run is divided evenly among as many processes, on the CPUs that the \
               program may use. It is no more than the time that one thread waited for the lock \
               or, once woken, for a CPU.",
        assumes: "What a thread computes needs no results of the others, and little data has to be \
                  passed to it and back.",
    },
    explains: &["lock-contention", "single-thread", "context-switching"],
    signs: &[
        Sign {
            by: By::Waits(is_for_it, SIGNS_MIN, "the interpreter lock, which another thread keeps,"),
            although: true,
            change: APART,
        },
        Sign { by: By::Shown(takes_turns), although: true, change: APART },
    ],
    probe: None,
    check,
};

const APART: &str =
    "compute in processes (multiprocessing, ProcessPoolExecutor), or in code that releases the lock";
/// How long a thread waits until it asks for the lock of CPython (`sys.getswitchinterval`), and
/// keeps that of CRuby (`TIME_QUANTUM_MSEC` in thread.c); and how much longer the longest wait is,
/// by another turn or a time slice of the scheduler.
const TURNS: &[([&str; 2], Ns, f64)] =
    &[(["python", "libpython"], 5_000_000, 2.0), (["ruby", "libruby"], 100_000_000, 1.05)];
/// Waits of such a length.
const TURNS_MIN: u64 = 5;
/// A thread that computes for less than this part of the whole needs no CPU of its own.
const COMPUTES_PART: Ns = 20;
/// Threads of which one runs at a time use no more than one CPU, but for this part of the whole in
/// code without the lock.
const ONE_CPU_PART: Ns = 10;
/// Less than this part of the whole is no cause.
const WHOLE_PART: Ns = 100;
/// A thread with less than this part of the longest one's waits computes little beside it.
const THREAD_PART: Ns = 4;
/// Fewer waits are those of threads that start and end.
const SIGNS_MIN: u64 = 20;

fn is_for_it(wait: &WaitRow) -> bool {
    matches!(wait.on, WaitTarget::InterpreterLock(_))
}

/// Where no stack of a wait is seen: threads that compute, on one CPU in all, and whose longest
/// waits for each other are as long as turns of their interpreter.
fn takes_turns(evidence: &Evidence<'_>) -> Option<SeenSign> {
    let threads = evidence.run.threads.iter();
    let computes: Vec<_> = threads
        .filter(|thread| thread.ns_in(State::on_cpu) >= evidence.run.whole_ns() / COMPUTES_PART)
        .collect();
    let runs = |files: &[&str; 2]| {
        let is_of = |frame: &Frame| files.iter().any(|start| frame.module.starts_with(start));
        computes.iter().any(|thread| evidence.runs(thread.pid, is_of))
    };
    let (_, turn_ns, longer) = TURNS.iter().find(|(files, ..)| runs(files))?;
    let is_turn = |wait: &WaitRow| {
        let most_ns = (*turn_ns as f64 * longer) as Ns;
        wait.reason == State::Lock && (*turn_ns..most_ns).contains(&wait.max_ns)
    };
    let waits = || evidence.run.waits.iter().enumerate().filter(|(_, wait)| is_turn(wait));
    let on_cpu_ns: Ns = computes.iter().map(|thread| thread.ns_in(State::on_cpu)).sum();
    if on_cpu_ns > evidence.run.whole_ns() + evidence.run.whole_ns() / ONE_CPU_PART {
        return None;
    }
    let total_ns: Ns = waits().map(|(_, wait)| wait.total_ns).sum();
    let times: u64 = waits().map(|(_, wait)| wait.calls).sum();
    let waited = computes.iter().map(|thread| thread.ns_in(|state| state == State::Lock));
    let ns = waited.max()?.min(total_ns);
    let (row, _) = waits().max_by_key(|(_, wait)| wait.total_ns)?;
    (times >= TURNS_MIN && computes.len() >= 2 && evidence.cpus_allowed() >= 2.0).then(|| SeenSign {
        ns,
        kind: Kind::Waiting,
        place: RowRef::Wait(row),
        what: places::threads(computes.len()).and(say!(
            " compute by turns of ",
            Time(*turn_ns),
            ", and one of them waits ",
            Time(ns)
        )),
        evidence: vec![say!(Count(times, "wait".into()), " of up to such a turn")],
    })
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let waits = || {
        let waits = evidence.run.waits.iter().enumerate();
        waits.filter(|(_, wait)| matches!(wait.on, WaitTarget::InterpreterLock(_)))
    };
    let total_ns: Ns = waits().map(|(_, wait)| wait.total_ns).sum();
    let long = waits().filter(|(_, wait)| wait.total_ns >= evidence.run.whole_ns() / WHOLE_PART);
    let findings = long.filter_map(|(row, wait)| {
        let threads = contenders(wait);
        (threads.len() >= 2).then(|| finding(evidence, row, wait, &threads))
    });
    let longest_ns = waits().map(|(_, wait)| wait.total_ns).max().unwrap_or(0);
    let needed_ns = evidence.run.whole_ns() / WHOLE_PART;
    let why_not = match total_ns {
        0 => say!("no waits for an interpreter lock").into(),
        _ if longest_ns < needed_ns => {
            RuledOut::below(Time(longest_ns), say!("waited for an interpreter lock"), Time(needed_ns))
        }
        _ => say!("one thread waited ", Time(total_ns), " for an interpreter lock, the others hardly at all")
            .into(),
    };
    Outcome::of(findings, why_not)
}

/// The threads that have a good part of the waits.
fn contenders(wait: &WaitRow) -> Vec<&WaitingThread> {
    let most_ns = wait.threads.iter().map(|thread| thread.ns).max().unwrap_or(0);
    wait.threads.iter().filter(|thread| thread.ns > 0 && thread.ns >= most_ns / THREAD_PART).collect()
}

fn finding(evidence: &Evidence<'_>, row: usize, wait: &WaitRow, threads: &[&WaitingThread]) -> Finding {
    let cpus = evidence.cpus_allowed();
    let goes = if evidence.run.window.is_some() {
        in_window(wait, threads, cpus)
    } else {
        of_wall(evidence, threads, cpus)
    };
    let place = wait.stack.value().and_then(|stack| stack.iter().find(|frame| frame.is_script()));
    let waited =
        wait.total_ns as f64 / (wait.total_ns + ran_ns(evidence, threads).iter().sum::<Ns>()).max(1) as f64;
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Wait(row),
        what: places::threads(threads.len())
            .and(say!(" took turns with Python's interpreter lock"))
            .and(place.map(within).unwrap_or_default())
            .and(say!(" and waited ", Time(wait.total_ns), " for it")),
        change: say!(
            "compute in processes (multiprocessing, ProcessPoolExecutor), or in code that releases the lock"
        ),
        share_ns: Interval { lo: wait.path_ns, hi: goes.hi.max(wait.path_ns) },
        saving: evidence.saving(&Removal::Wall(goes), ALL, SavingBasis::Bounded),
        evidence: vec![
            say!(Count(wait.calls, "wait".into()), ", ", Time(wait.total_ns), " in total"),
            say!("these threads spent ", Share(waited), " of their time waiting for the lock"),
        ],
        assumes: vec![say!("no thread needs the results of another")],
        verify: vec![say!("measure both versions: dwell compare BEFORE AFTER")],
        explains: Vec::new(),
        belief: None,
    }
}

fn within(frame: &StackFrame) -> Sentence {
    say!(" in ").and(places::frame(frame))
}

/// What divides among CPUs, in time of the wall.
fn of_wall(evidence: &Evidence<'_>, threads: &[&WaitingThread], cpus: f64) -> Interval {
    let ran = ran_ns(evidence, threads);
    let (total_ns, longest_ns) = (ran.iter().sum(), ran.iter().copied().max().unwrap_or_default());
    let apart_ns = divided(total_ns, longest_ns, cpus.min(threads.len() as f64));
    // The last one to end has waited for so long.
    let queued = in_states(evidence, threads, |state| state == State::Runqueue);
    let waited = threads.iter().zip(queued).map(|(thread, queued_ns)| thread.ns + queued_ns);
    Interval { lo: 0, hi: apart_ns.min(waited.max().unwrap_or_default()) }
}

/// In a window no end comes earlier: of n threads that take turns k could run, so that n - k wait
/// in place of n - 1.
fn in_window(wait: &WaitRow, threads: &[&WaitingThread], cpus: f64) -> Interval {
    let (n, k) = (threads.len() as f64, cpus.min(threads.len() as f64).max(1.0));
    let ns = (wait.total_ns as f64 * (k - 1.0) / (n - 1.0)) as Ns;
    Interval { lo: ns, hi: ns }
}

/// How long each was on a CPU or ready to run.
fn ran_ns(evidence: &Evidence<'_>, threads: &[&WaitingThread]) -> Vec<Ns> {
    in_states(evidence, threads, |state| state.on_cpu() || state == State::Runqueue)
}

/// How long each was in such states.
fn in_states(evidence: &Evidence<'_>, threads: &[&WaitingThread], is: fn(State) -> bool) -> Vec<Ns> {
    let ledger =
        |waiting: &WaitingThread| evidence.run.threads.iter().find(|thread| thread.tid == waiting.tid);
    threads.iter().map(|thread| ledger(thread).map_or(0, |ledger| ledger.ns_in(is))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{found, is_assumed, judged, run, saves, thread, wait, waiting};
    use model::recording::Language;
    use model::sentence::Piece;
    use model::{Run, Seen};

    const MS: Ns = 1_000_000;

    /// A run of this many threads that each compute for 1 s, one at a time.
    fn of(threads: model::Tid) -> Run {
        let total_ns = Ns::from(threads) * 1000 * MS;
        let mut run = run(&[(State::User, total_ns)]);
        let waited_ns = total_ns - 1000 * MS;
        let each = [(State::User, 1000 * MS), (State::Lock, waited_ns)];
        run.threads = (1..=threads).map(|tid| thread(100 + tid, &each)).collect();
        let tids: Vec<_> = (1..=threads).map(|tid| waiting(100 + tid, waited_ns)).collect();
        run.waits = vec![wait(State::Lock, WaitTarget::InterpreterLock(Language::Python), &tids)];
        run
    }

    #[test]
    fn threads_on_cpus_of_their_own_end_with_the_longest() {
        let run = of(2);
        let diagnosis = judged(&run, &Seen::unseen("not asked for"));
        assert_eq!(saves(found(&diagnosis, "interpreter-lock").unwrap()), (0, 1000 * MS));
    }

    #[test]
    fn more_threads_than_cpus_are_divided_among_these() {
        let mut run = of(4);
        run.host.cpus = 2;
        let diagnosis = judged(&run, &Seen::unseen("not asked for"));
        assert_eq!(saves(found(&diagnosis, "interpreter-lock").unwrap()), (0, 2000 * MS));
    }

    #[test]
    fn all_threads_that_took_turns_are_counted_or_the_number_is_a_least_one() {
        let said = |threads| {
            let run = of(threads);
            let diagnosis = judged(&run, &Seen::unseen("not asked for"));
            found(&diagnosis, "interpreter-lock").unwrap().what.0[..2].to_vec()
        };
        assert_eq!(said(16)[0], Count(16, "thread".into()));
        assert_eq!(said(64), [Piece::from("at least "), Count(64, "thread".into())]);
    }

    #[test]
    fn without_bpf_waits_as_long_as_a_turn_of_the_interpreter_are_for_its_lock() {
        let is = |file: &str, longest_ns: Ns, computes_ns: Ns| {
            let mut run = of(2);
            run.threads[1] = thread(102, &[(State::User, computes_ns), (State::Lock, 900 * MS)]);
            run.waits[0].on = WaitTarget::Futex(Seen::Value(8));
            run.waits[0].max_ns = longest_ns;
            let own = crate::judge::own_code::tests::native(file, "eval");
            let told = crate::judge::own_code::tests::Told::default();
            let profile = told.stack(9, model::profile::Activity::User, &[own]).0;
            let diagnosis = crate::judge::diagnose(&Evidence::of(Tier::Perf, &run, &profile));
            found(&diagnosis, "interpreter-lock").is_some()
        };
        assert!(is("python3.11", 6 * MS, 500 * MS) && is("libruby-3.1.so", 101 * MS, 500 * MS));
        assert!(!is("program", 6 * MS, 500 * MS) && !is("python3.11", 60 * MS, 500 * MS));
        assert!(!is("python3.11", 6 * MS, 90 * MS), "one thread computes");
    }

    #[test]
    fn one_cpu_gains_nothing() {
        let mut run = of(2);
        run.host.cpus = 1;
        let diagnosis = judged(&run, &Seen::unseen("not asked for"));
        assert!(found(&diagnosis, "interpreter-lock").is_none());
    }

    #[test]
    fn a_thread_that_computes_and_one_that_mostly_sleeps_are_no_two() {
        let mut run = of(2);
        run.waits[0].threads[1].ns = 40 * MS;
        run.waits[0].total_ns = 1040 * MS;
        let diagnosis = judged(&run, &Seen::unseen("not asked for"));
        assert!(is_assumed(&diagnosis, "interpreter-lock"), "its waits alone are a sign");
    }
}
