//! Threads that look again and again whether something has happened, and never sleep.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::named::{called, place};
use crate::judge::predict::{ALL, Kind, Removal};
use crate::judge::results::hedge;
use crate::judge::shortfall::ShareNeeded;
use crate::judge::signs::{By, Sign};
use crate::judge::spins::{self, Spins};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavedTime, Saving, SavingBasis};
use model::recording::Tier;
use model::sentence::Piece::{self, Count, Name, Ns as Time, Number};
use model::syscall_rows::CallRow;
use model::{Ns, Seen, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("busy-wait", "polling in a loop without sleeping"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "A thread checks in a loop whether something has happened, and does not sleep in \
               between. It calls `poll` with a timeout of 0, `sched_yield`, or a read that would \
               block.",
        why: "The thread keeps a CPU busy all the time. If all CPUs are busy, it takes CPU time \
              from the thread that it waits for. Otherwise it uses power, and CPU time that other \
              programs could use.",
        rule: "A polling call returned a thousand times or more. Polling calls are `sched_yield`; \
               `poll`, `select`, `epoll_wait` and `waitpid`, if nine tenths of the calls or more \
               returned 0; and a read, if nine tenths or more failed with `EAGAIN`. Each call took \
               20 us or less on average: a call that was given time to wait takes longer. The \
               functions that are in one thread for half of their time in the kernel for these \
               calls (a quarter, where an interpreter runs them) have a twentieth of all samples \
               or more, 10 at least, since the interval of fewer says nothing. And some thread does \
               little else. A loop that checks memory without a system call cannot be told from \
               other work: it is reported as hot code.",
        else_it_could_be: "The loop may do some work each time and poll in between: then polling \
                           is a small part of its time.",
        change: "Sleep until it has happened: use a condition variable or a futex instead of \
                 `sched_yield`, a timeout other than 0, `waitpid` without `WNOHANG`, a blocking \
                 read or `epoll_wait`. If the wait is always shorter than a wake-up, spin for a \
                 few microseconds and then sleep.",
        part: "Bounded by how long the threads that compute waited for a CPU. The low end is the \
               wait of the thread that waited least, as far as the program itself had the CPU. The \
               high end is the wait of the thread that waited most. If the threads hardly waited, the \
               change saves CPU time but no wall-clock time.",
        assumes: "The threads that the polling thread keeps from a CPU do what it waits for. A \
                  wake-up takes no longer than the polling thread needs to notice.",
    },
    explains: &["cpu-contention", "oversubscription"],
    signs: &[Sign {
        by: By::Calls(&["sched_yield"], &[]),
        although: false,
        change: "sleep until it has happened: a condition variable or a futex instead of sched_yield",
    }],
    probe: None,
    check,
};

/// The least share of the samples that spinning has: the low end.
const SHARE_MIN: f64 = 0.05;
const SAMPLES_MIN: u64 = 10;
const NEEDED: ShareNeeded = ShareNeeded { value: SHARE_MIN, lo: SHARE_MIN, samples: SAMPLES_MIN };
/// A thread that computes for less than this part of the wall is none that is kept from it.
const COMPUTES_PART: Ns = 20;
/// Less of the wall is not worth a change; of CPU time it is the same part.
const WORTH_PART: Ns = 20;

fn check(evidence: &Evidence<'_>) -> Outcome {
    if let Seen::Unseen(why) = &evidence.run.tables.syscalls {
        return Outcome::Unavailable(why.clone());
    }
    let (calls, unseen) = spins::calls(evidence);
    if calls.is_empty() {
        return match unseen {
            Some(why) => Outcome::Unavailable(format!("what calls returned: {why}")),
            None => Outcome::RuledOut(
                say!("no polling call returned ", Number(spins::CALLS_MIN), " times without result").into(),
            ),
        };
    }
    if let Seen::Unseen(why) = &evidence.run.tables.functions {
        return Outcome::Unavailable(why.clone());
    }
    let spins = spins::of(evidence, calls);
    let (_, call) = spins.calls[0];
    let what = say!("of CPU time in loops around ", Name(call.name.to_string()));
    if let Some(why) = NEEDED.why_not(&spins.share, spins.samples, what) {
        return Outcome::RuledOut(why);
    }
    if spins.threads.is_empty() {
        return Outcome::RuledOut(looks(call).and(say!(", but no thread does mostly that")).into());
    }
    Outcome::Found(vec![finding(evidence, &spins)])
}

/// `poll was called 8,000 times without result`.
fn looks(call: &CallRow) -> Sentence {
    say!(
        Name(call.name.to_string()),
        " was called ",
        hedge(call),
        Count(call.calls, "time".into()),
        " without result"
    )
}

fn finding(evidence: &Evidence<'_>, spins: &Spins<'_>) -> Finding {
    let (row, call) = spins.calls[0];
    let cpu_ns = evidence.cpu_ns() as f64;
    let spent_ns = Interval { lo: (cpu_ns * spins.share.lo) as Ns, hi: (cpu_ns * spins.share.hi) as Ns };
    let kept_ns = kept_from_cpus(evidence, spins);
    let delays = kept_ns.hi >= evidence.run.whole_ns() / WORTH_PART && kept_ns.hi > 0;
    let who = match &spins.by {
        Some(by) => called(by).and(say!(" calls ")),
        None => say!("the program calls "),
    };
    let what = who.and(say!(
        Name(call.name.to_string()),
        " ",
        hedge(call),
        Count(call.calls, "time".into()),
        " without result; this takes ",
        Piece::Share(spins.share.value),
        " of the CPU time"
    ));
    let what = match delays {
        true => what.and(say!(", while threads with work to do wait ", Time(kept_ns.hi), " for a CPU")),
        false => what,
    };
    let saving = match delays {
        _ if evidence.run.window.is_some() => {
            evidence.saving(&Removal::Account(spent_ns, Kind::Cpu), ALL, SavingBasis::Bounded)
        }
        true => evidence.saving(&Removal::Wall(kept_ns), ALL, SavingBasis::Bounded),
        false => Seen::Value(Saving {
            ns: spent_ns,
            of: SavedTime::Cpu,
            part: ALL,
            known: SavingBasis::Bounded,
            queued_ns: 0,
            shared: None,
            learnt: None,
        }),
    };
    let on_cpu_ns = evidence.account_ns(State::on_cpu) as f64;
    Finding {
        cause: CAUSE.name.clone(),
        place: spins.by.as_ref().map_or(RowRef::Call(row), |by| place(evidence, by)),
        what,
        change: change(call),
        share_ns: Interval { lo: (on_cpu_ns * spins.share.lo) as Ns, hi: (on_cpu_ns * spins.share.hi) as Ns },
        saving,
        evidence: vec![
            looks(call).and(say!(", each in ", Time(call.total_ns / call.calls.max(1)), " on average")),
            say!(
                "almost no other work in ",
                Count(spins.threads.len() as u64, "thread".into()),
                ", by ",
                Count(spins.samples, "sample".into())
            ),
        ],
        assumes: vec![say!("the threads that it keeps from a CPU do what it waits for")],
        verify: vec![say!("the table of system calls in the next dwell run has no such calls")],
        explains: Vec::new(),
        belief: None,
    }
}

/// How long threads that do something else waited for a CPU: the one that waited least, as far as
/// the program itself had it, and the one that waited most.
fn kept_from_cpus(evidence: &Evidence<'_>, spins: &Spins<'_>) -> Interval {
    let behind_own = evidence.run.run_queue.value().map_or(0.0, |queue| {
        let seen = queue.behind_own_ns + queue.behind_others_ns;
        if seen > 0 { queue.behind_own_ns as f64 / seen as f64 } else { 0.0 }
    });
    let others = evidence.run.threads.iter().filter(|thread| !spins.threads.contains(&thread.tid));
    let computes =
        others.filter(|thread| thread.ns_in(State::on_cpu) >= evidence.run.wall_ns / COMPUTES_PART);
    let waits: Vec<Ns> = computes.map(|thread| thread.ns_in(|state| state == State::Runqueue)).collect();
    let least_ns = waits.iter().min().copied().unwrap_or(0);
    Interval { lo: (least_ns as f64 * behind_own) as Ns, hi: waits.iter().max().copied().unwrap_or(0) }
}

fn change(call: &CallRow) -> Sentence {
    match &*call.name.name {
        "sched_yield" => say!("sleep until woken: use a condition variable, a futex or a semaphore"),
        "wait4" | "waitid" => say!("wait for the child without WNOHANG, or for SIGCHLD"),
        "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" => {
            say!(
                "give ",
                Name(call.name.to_string()),
                " a timeout other than 0, so that it sleeps until there is an event"
            )
        }
        _ => say!("wait for data with poll or epoll, or let the call block"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::own_code::tests::{Told, native};
    use crate::judge::samples::{call, found, judged_with, run, thread};
    use model::profile::{Activity, Frame, Owner};
    use model::recording::Language;
    use model::syscall_rows::ResultsRow;
    use model::{Diagnosis, Run, RunQueue};

    const MS: Ns = 1_000_000;

    /// Thread 100 looks with this call for a second; 101 computes, and waits so long for a CPU.
    fn looks(call: CallRow, waits_ns: Ns) -> Run {
        let mut run = run(&[(State::Kernel, 700 * MS), (State::User, 300 * MS)]);
        run.threads.push(thread(101, &[(State::User, 1000 * MS - waits_ns), (State::Runqueue, waits_ns)]));
        run.tables.syscalls = Seen::Value(vec![call]);
        run.run_queue = Seen::Value(RunQueue {
            behind_own_ns: 10 * MS,
            behind_others_ns: 0,
            idle_cpu_ns: 0,
            unseen_ns: 0,
            others: Vec::new(),
            cpus_used: 2.0,
            cpus_wanted: 2.0,
            of_all: Seen::Absent,
        });
        run
    }

    /// Samples of thread 100 in its polling, in `entry` of the kernel and around it; thread 101 has
    /// the rest of a thousand.
    fn told(entry: &str, samples: u64) -> Told {
        let kernel = Frame { language: Language::Kernel, ..native("[kernel]", entry) };
        let look = native("program", "look");
        let mut told = Told::default()
            .stack(samples / 2, Activity::Kernel, &[kernel, native("libc.so.6", "poll"), look.clone()])
            .stack(samples - samples / 2, Activity::User, &[look])
            .stack(1000 - samples, Activity::User, &[native("program", "work")]);
        told.0.threads.push(Owner { pid: 100, tid: 101, name: "work".into() });
        told.0.weights[2].thread = 1;
        told
    }

    fn poll(calls: u64, zeros: u64) -> CallRow {
        let results = ResultsRow { zeros, ..ResultsRow::default() };
        CallRow { results: Seen::Value(results), ..call("poll", calls, calls * 1000) }
    }

    fn judge(run: &Run, told: &Told) -> Diagnosis {
        judged_with(run, &told.0, &Seen::Absent)
    }

    fn saved(diagnosis: &Diagnosis) -> Option<(SavedTime, Ns, Ns)> {
        let saving = found(diagnosis, "busy-wait")?.saving.value()?;
        Some((saving.of, saving.structure().lo, saving.structure().hi))
    }

    #[test]
    fn samples_in_the_wrapper_of_a_short_call_are_the_calls() {
        let is_found = |wrapper: &'static str| {
            let kernel = Frame { language: Language::Kernel, ..native("[kernel]", "__x64_sys_poll") };
            let look = native("program", "look");
            let mut told = Told::default()
                .stack(200, Activity::Kernel, &[kernel, native("libc.so.6", "poll"), look.clone()])
                .stack(300, Activity::User, &[native("libc.so.6", wrapper), look])
                .stack(500, Activity::User, &[native("program", "work")]);
            told.0.threads.push(Owner { pid: 100, tid: 101, name: "work".into() });
            told.0.weights[2].thread = 1;
            found(&judge(&looks(poll(100_000, 100_000), 400 * MS), &told), "busy-wait").is_some()
        };
        assert!(is_found("__poll"));
        assert!(!is_found("memcpy"), "it does something else as well");
    }

    #[test]
    fn who_is_kept_from_a_cpu_gains_what_it_waited() {
        let run = looks(call("sched_yield", 100_000, 700 * MS), 400 * MS);
        let diagnosis = judge(&run, &told("__x64_sys_sched_yield", 500));
        assert_eq!(saved(&diagnosis), Some((SavedTime::Wall, 400 * MS, 400 * MS)));
    }

    /// The interpreter of one process polls, that of another computes.
    #[test]
    fn an_interpreter_is_judged_by_thread() {
        let is_found = |polls: u64| {
            let kernel = Frame { language: Language::Kernel, ..native("[kernel]", "__x64_sys_poll") };
            let perl = || native("perl", "Perl_runops");
            let mut told = Told::default()
                .stack(polls, Activity::Kernel, &[kernel, native("libc.so.6", "poll"), perl()])
                .stack(500 - polls, Activity::User, &[perl()])
                .stack(500, Activity::User, &[perl()]);
            told.0.threads.push(Owner { pid: 101, tid: 101, name: "perl".into() });
            told.0.weights[2].thread = 1;
            found(&judge(&looks(poll(100_000, 100_000), 400 * MS), &told), "busy-wait").is_some()
        };
        assert!(is_found(150), "most of a step is the interpreter's");
        assert!(!is_found(120), "it does more than that");
    }

    #[test]
    fn what_others_had_of_the_cpu_may_stay() {
        let mut run = looks(call("sched_yield", 100_000, 700 * MS), 400 * MS);
        let queue =
            RunQueue { behind_others_ns: 30 * MS, ..run.run_queue.value().expect("it is seen").clone() };
        run.run_queue = Seen::Value(queue);
        let diagnosis = judge(&run, &told("__x64_sys_sched_yield", 500));
        assert_eq!(saved(&diagnosis), Some((SavedTime::Wall, 100 * MS, 400 * MS)));
    }

    #[test]
    fn where_cpus_are_free_it_saves_cpu_time_only() {
        let run = looks(poll(100_000, 95_000), 10 * MS);
        let diagnosis = judge(&run, &told("__x64_sys_poll", 500));
        let (of, lo, hi) = saved(&diagnosis).expect("it is there");
        assert!(of == SavedTime::Cpu && lo > 900 * MS && hi < 1100 * MS, "{lo} to {hi} of 2 s");
        let causes: Vec<&str> = diagnosis.findings.iter().map(|finding| &*finding.cause.id).collect();
        assert_eq!(causes, ["busy-wait", "hot-code"], "its work is hot, its looks are not");
    }

    #[test]
    fn looks_that_find_something_are_no_cause() {
        let is = |row: CallRow, samples: u64| {
            found(&judge(&looks(row, 400 * MS), &told("__x64_sys_poll", samples)), "busy-wait").is_some()
        };
        assert!(is(poll(1000, 900), 500));
        assert!(!is(poll(1000, 899), 500));
        assert!(!is(poll(999, 999), 500));
        assert!(!is(poll(1000, 900), 40), "a small part of the time");
        assert!(!is(CallRow { total_ns: 1000 * 20_001, ..poll(1000, 900) }, 500), "it was given time");
        assert!(is(CallRow { total_ns: 1000 * 20_000, ..poll(1000, 900) }, 500));
    }

    #[test]
    fn what_calls_returned_may_not_be_known() {
        let row = CallRow { results: Seen::unseen("not in this recording"), ..poll(1000, 900) };
        let diagnosis = judge(&looks(row, 400 * MS), &told("__x64_sys_poll", 500));
        assert!(diagnosis.unavailable.iter().any(|(cause, _)| cause.id == "busy-wait"));
    }
}
