//! Threads that wait for a lock while another one has it.
//!
//! Which waits are for a lock, and where it is taken, [`purpose`](crate::purpose) knows by
//! functions. The lock of an interpreter is a cause of its own.

use super::{Cause, Manual, Outcome, places};
use crate::judge::Evidence;
use crate::judge::predict::{Kind, Part, Removal, on_path};
use crate::judge::signs::{By, Sign};
use crate::purpose::{sleeps_apart, takes_lock_in};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::prediction::Site;
use model::recording::Tier;
use model::run::{ThreadLedger, WaitRow, WakerRow};
use model::sentence::Piece::{Count, Name, Ns as Time, Number, Share};
use model::wait::{StackFrame, SyscallName, WaitTarget, WakerKind};
use model::{Ns, Seen, Sentence, State, Tid, say};
use std::borrow::Cow;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("lock-contention", "waits for a lock"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "Threads wait for a lock that another thread holds, and the run takes longer because \
               of it.",
        why: "Only one thread at a time runs what is under the lock, however many CPUs there are. \
              If the holder sleeps, or waits for a disk or a peer, all others wait with it.",
        rule: "A function that takes a lock is on the stacks of the waits. These waits are a \
               hundredth of the time or more: a smaller part does not show in the wall clock. And \
               the run would end earlier without them. Waits for a condition variable, a barrier, \
               a semaphore or the end of a thread are in the same system call, but do not count. \
               Without BPF waits for futexes count as such, but not those of Go, whose threads \
               also sleep there where no goroutine is ready.",
        else_it_could_be: "The holder may wait for its CPU (`during the waits: waiting for a \
                           CPU`): then other threads or programs delay it, not the lock. A lock \
                           that is only tried in a loop shows as CPU time.",
        change: "Hold the lock for what the threads share and for nothing else: wait, read, write \
                 and compute outside of it. To let more threads in, use one lock for each part of \
                 the data, or a lock that readers share.",
        part: "Bounded by the structure: from half of the waits gone to all.",
        assumes: "The work under the lock needs no other order than the order in which its threads \
                  waited.",
    },
    explains: &["single-thread", "context-switching", "sleep-polling"],
    signs: &[
        Sign {
            by: By::Waits(is_for_a_file_lock, 2, "the lock of a file"),
            although: true,
            change: "hold the lock for less: do the work before it is taken, or lock parts",
        },
        Sign {
            by: By::WaitsWhere(is_for_a_lock, SIGNS_MIN, "locks and other threads", |evidence, _| {
                !is_go(evidence)
            }),
            although: false,
            change: "hold the lock for less: do the work before it is taken, or give each thread its part",
        },
        Sign {
            by: By::Calls(&["futex"], &[]),
            although: false,
            change: "hold the lock for less: do the work before it is taken, or give each thread its part",
        },
    ],
    probe: None,
    check,
};

/// Less than this part of the whole has no clock.
const WHOLE_PART: Ns = 100;
/// Half of the waits, or all.
const PART: Part = (0.5, 1.0);

/// Fewer waits are for the end of a thread, or of its work.
const SIGNS_MIN: u64 = 20;

/// Whether the threads of the process that waits so most run goroutines: a lock stops these, and a
/// thread sleeps where none is ready.
fn is_go(evidence: &Evidence<'_>) -> bool {
    let waited = |thread: &&ThreadLedger| thread.ns_in(|state| state == State::Lock);
    let most = evidence.run.threads.iter().max_by_key(waited);
    most.is_some_and(|most| evidence.runs(most.pid, |frame| frame.function.starts_with("runtime.")))
}

fn is_for_a_file_lock(wait: &WaitRow) -> bool {
    let locks = |call: &SyscallName| matches!(&*call.name, "flock" | "fcntl");
    wait.reason == State::Lock && wait.call.syscall().is_some_and(locks)
}

fn is_for_a_lock(wait: &WaitRow) -> bool {
    wait.reason == State::Lock && !is_for_a_file_lock(wait)
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let of_locks = || evidence.run.waits.iter().enumerate().filter(|(_, wait)| wait.reason == State::Lock);
    let is_window = evidence.run.window.is_some();
    let mut known = Vec::new();
    let mut findings = Vec::new();
    let mut apart: Vec<&StackFrame> = Vec::new();
    for Contended { row, waits, taken, sleeps_apart } in contended(of_locks()) {
        if waits.total_ns < evidence.run.whole_ns() / WHOLE_PART || known.contains(&lock_of(&waits)) {
            continue;
        }
        if !is_window && sleeps_apart {
            // The clock of one futex has what one thread waits: others that wait for the lock would
            // still hold it up.
            apart.push(taken);
        } else if let Some(goes) = goes(evidence, &waits) {
            known.push(lock_of(&waits));
            findings.push(finding(evidence, row, &waits, taken, &goes));
        }
    }
    if let (Some(taken), true) = (apart.first(), findings.is_empty()) {
        return Outcome::Unavailable(format!(
            "each thread that waits for the lock in {} sleeps on a futex of its own, so the cost of the lock is unknown",
            taken.function
        ));
    }
    let total_ns: Ns = of_locks().map(|(_, wait)| wait.total_ns).sum();
    let why_not = match total_ns {
        0 => say!("no thread waited for a lock"),
        _ => say!(Time(total_ns), " of waits for other threads, but none for a lock that delays the end"),
    };
    Outcome::of(findings, why_not.into())
}

/// Waits for what is one lock, as far as it can be told.
struct Contended<'a> {
    /// The first of its rows.
    row: usize,
    /// All of them as one.
    waits: Cow<'a, WaitRow>,
    taken: &'a StackFrame,
    /// Whether each thread sleeps on a futex of its own: where it is taken tells the lock then.
    sleeps_apart: bool,
}

fn contended<'a>(waits: impl Iterator<Item = (usize, &'a WaitRow)>) -> Vec<Contended<'a>> {
    let mut all: Vec<Contended<'a>> = Vec::new();
    for (row, wait) in waits {
        let Some(stack) = wait.stack.value() else { continue };
        let Some(taken) = takes_lock_in(stack) else { continue };
        let sleeps_apart = sleeps_apart(stack);
        let process = |wait: &WaitRow| wait.threads.first().map(|thread| thread.pid);
        // What a JVM still interprets at first, or anew, is a method that has a name elsewhere.
        let is_at =
            |of: &StackFrame| of == taken || places::is_interpreted(of) || places::is_interpreted(taken);
        let is_same = |of: &&mut Contended<'_>| {
            sleeps_apart && of.sleeps_apart && is_at(of.taken) && process(&of.waits) == process(wait)
        };
        match all.iter_mut().find(is_same) {
            Some(of) => {
                if places::is_interpreted(of.taken) {
                    of.taken = taken;
                }
                add(of.waits.to_mut(), wait);
            }
            None => all.push(Contended { row, waits: Cow::Borrowed(wait), taken, sleeps_apart }),
        }
    }
    all
}

/// Adds what a finding says of waits.
fn add(to: &mut WaitRow, more: &WaitRow) {
    to.calls += more.calls;
    to.total_ns += more.total_ns;
    to.path_ns += more.path_ns;
    to.by.extend(more.by.iter().cloned());
    let known: Vec<Tid> = to.threads.iter().map(|thread| thread.tid).collect();
    to.threads.extend(more.threads.iter().filter(|thread| !known.contains(&thread.tid)).cloned());
}

/// The lock, where it is a futex.
fn lock_of(wait: &WaitRow) -> Option<Site> {
    match (&wait.on, wait.threads.first()) {
        (WaitTarget::Futex(Seen::Value(address)), Some(thread)) => {
            Some(Site::Lock { pid: thread.pid, address: *address })
        }
        _ => None,
    }
}

/// None where the run would end no earlier without the lock, or it is the interpreter's.
fn goes(evidence: &Evidence<'_>, wait: &WaitRow) -> Option<Removal> {
    if matches!(wait.on, WaitTarget::InterpreterLock(_)) {
        return None;
    }
    if evidence.run.window.is_some() {
        let all = Interval { lo: wait.total_ns, hi: wait.total_ns };
        return Some(Removal::Account(all, Kind::Waiting));
    }
    let on_path_ns = on_path(evidence, State::Lock, wait.total_ns);
    match (lock_of(wait), evidence.prediction) {
        (Some(site), Some(_)) => {
            // Where others compute meanwhile, it delays the end by less than it is waited for.
            let saved_ns = evidence.site(&site)?.saved_ns.value().copied().unwrap_or(on_path_ns);
            Some(Removal::Account(saved_ns, Kind::Waiting))
        }
        _ => Some(Removal::Account(on_path_ns, Kind::Waiting)),
    }
}

fn finding(
    evidence: &Evidence<'_>,
    row: usize,
    wait: &WaitRow,
    taken: &StackFrame,
    goes: &Removal,
) -> Finding {
    let share_ns = match goes {
        Removal::Account(ns, _) => *ns,
        _ => Interval::default(),
    };
    let holder = Holder::of(wait);
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Wait(row),
        what: places::threads(wait.threads.len().max(1))
            .and(say!(" waited ", Time(wait.total_ns), " for the lock taken in "))
            .and(places::frame(taken))
            .and(holder.what()),
        change: holder.change(),
        share_ns,
        saving: evidence.saving(goes, PART, SavingBasis::Bounded),
        evidence: vec![say!(
            Count(wait.calls, "wait".into()),
            " for ",
            Name(wait.on.to_string()),
            ", each ",
            Time(mean_ns(wait)),
            " on average"
        )]
        .into_iter()
        .chain(holder.evidence())
        .collect(),
        assumes: vec![say!("the work under the lock can be done in any order")],
        verify: vec![say!(
            "the next dwell run has fewer or shorter waits for this lock; dwell compare BEFORE AFTER"
        )],
        explains: Vec::new(),
        belief: None,
    }
}

fn mean_ns(wait: &WaitRow) -> Ns {
    wait.total_ns / wait.calls.max(1)
}

/// What threads did that had the lock.
struct Holder<'a> {
    /// Who ended most of the waits.
    main: Option<&'a WakerRow>,
    /// What they did, and its part of what is known.
    does: Option<(Does, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Sleep,
    Wait(State),
    Compute,
    Queue,
}

impl<'a> Holder<'a> {
    fn of(wait: &'a WaitRow) -> Self {
        let threads = || wait.by.iter().filter(|waker| waker.kind == WakerKind::Thread);
        let mut sums: Vec<(Does, Ns)> = Vec::new();
        for (state, ns) in threads().flat_map(|waker| &waker.meanwhile) {
            // Those that had it before hold it up, and count by themselves.
            let Some(does) = does(*state) else { continue };
            match sums.iter_mut().find(|(known, _)| *known == does) {
                Some((_, sum)) => *sum += ns,
                None => sums.push((does, *ns)),
            }
        }
        let all: Ns = sums.iter().map(|(_, ns)| ns).sum();
        let most = sums.iter().max_by_key(|(_, ns)| *ns).filter(|(_, ns)| *ns > 0);
        let does = most.map(|(does, ns)| (*does, *ns as f64 / all as f64));
        Self { main: threads().max_by_key(|waker| waker.ns), does }
    }

    fn what(&self) -> Sentence {
        match self.does {
            Some((Does::Sleep, _)) => say!(", while its holder slept"),
            Some((Does::Wait(State::Disk), _)) => say!(", while its holder waited for a disk"),
            Some((Does::Wait(State::Network), _)) => say!(", while its holder waited for the network"),
            Some((Does::Wait(_), _)) => say!(", while its holder waited itself"),
            Some((Does::Compute, _)) => say!(", while its holder was on a CPU"),
            Some((Does::Queue, _)) => say!(", while its holder waited for a CPU"),
            None => Sentence::default(),
        }
    }

    fn change(&self) -> Sentence {
        match self.does {
            Some((Does::Sleep | Does::Wait(_), _)) => {
                say!("do not wait under the lock; take it only for what the threads share")
            }
            _ => say!("do less under the lock, or give each part of the data a lock of its own"),
        }
    }

    fn evidence(&self) -> Option<Sentence> {
        let main = self.main?;
        let place = match &main.place {
            Seen::Value(frame) => say!(" in ").and(places::frame(frame)),
            _ => Sentence::default(),
        };
        let share = match self.does {
            Some((_, share)) => {
                say!("; what the finding says of the holder covers ", Share(share), " of the time")
            }
            None => Sentence::default(),
        };
        let by = say!(Name(main.name.clone()), " released it ", Number(main.times), " times");
        Some(by.and(place).and(share))
    }
}

/// None for a wait for a lock.
fn does(state: State) -> Option<Does> {
    match state {
        State::Lock => None,
        State::Sleep => Some(Does::Sleep),
        State::Runqueue | State::Throttled => Some(Does::Queue),
        state if state.on_cpu() => Some(Does::Compute),
        state => Some(Does::Wait(state)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{found, is_assumed, judged, ruled_out, run, saves, sites, wait, waiting};
    use model::Run;
    use model::recording::Language;
    use model::run::WindowSummary;
    use model::wait::FrameKind;

    const MS: Ns = 1_000_000;
    const LOCK: Site = Site::Lock { pid: 100, address: 64 };

    fn frame(function: &str) -> StackFrame {
        StackFrame {
            function: function.into(),
            source: Some(("store.c".into(), 41)),
            language: Language::Native,
            kind: FrameKind::Function,
        }
    }

    /// A thread that waits for 400 ms of a second for what this function takes, whose holder does
    /// this.
    fn of(function: &str, does: State) -> Run {
        let mut run = run(&[(does, 1000 * MS)]);
        let mut row = wait(State::Lock, WaitTarget::Futex(Seen::Value(64)), &[waiting(101, 400 * MS)]);
        row.stack = Seen::Value(vec![frame("futex_wait"), frame(function), frame("put"), frame("main")]);
        row.by = vec![WakerRow {
            kind: WakerKind::Thread,
            name: "program".into(),
            pid: Seen::Value(100),
            tid: Seen::Value(102),
            times: 400,
            ns: 400 * MS,
            place: Seen::Value(frame("get")),
            stack: Seen::Absent,
            meanwhile: vec![(State::Lock, 300 * MS), (does, 100 * MS)],
        }];
        run.waits = vec![row];
        run
    }

    #[test]
    fn half_of_the_waits_go_or_all() {
        let run = of("pthread_mutex_lock", State::Sleep);
        let clocks = sites(&run, &[(LOCK, [400 * MS, 300 * MS, 0])]);
        let diagnosis = judged(&run, &clocks);
        let finding = found(&diagnosis, "lock-contention").expect("it is there");
        assert_eq!(saves(finding), (150 * MS, 300 * MS));
        assert_eq!(finding.share_ns, Interval { lo: 300 * MS, hi: 300 * MS });
        assert!(finding.what.0.contains(&Name("put (store.c:41)".into())), "{:?}", finding.what);
        assert_eq!(finding.what.0.last(), Some(&", while its holder slept".into()));
    }

    #[test]
    fn what_holders_compute_has_to_fit_on_the_cpus() {
        let mut run = of("pthread_mutex_lock", State::User);
        run.host.cpus = 1;
        let clocks = sites(&run, &[(LOCK, [400 * MS, 300 * MS, 0])]);
        assert!(
            found(&judged(&run, &clocks), "lock-contention").is_none(),
            "one CPU had all of the time to do"
        );
        run.host.cpus = 2;
        let diagnosis = judged(&run, &clocks);
        assert_eq!(saves(found(&diagnosis, "lock-contention").unwrap()), (150 * MS, 300 * MS));
    }

    #[test]
    fn a_condition_and_a_lock_that_holds_up_nothing_are_none() {
        let run = of("pthread_cond_wait", State::Sleep);
        let clocks = sites(&run, &[(LOCK, [400 * MS; 3])]);
        let diagnosis = judged(&run, &clocks);
        assert!(found(&diagnosis, "lock-contention").is_none() && ruled_out(&diagnosis, "lock-contention"));
        let run = of("pthread_mutex_lock", State::Sleep);
        let diagnosis = judged(&run, &sites(&run, &[]));
        assert!(found(&diagnosis, "lock-contention").is_none() && ruled_out(&diagnosis, "lock-contention"));
    }

    #[test]
    fn a_monitor_is_no_one_futex() {
        let run = of("AwareLock::Enter", State::Sleep);
        let diagnosis = judged(&run, &sites(&run, &[(LOCK, [400 * MS, 30 * MS, 0])]));
        assert!(is_assumed(&diagnosis, "lock-contention"), "its waits alone are a sign");
    }

    #[test]
    fn threads_that_sleep_apart_for_one_lock_are_one_finding_by_the_method() {
        let mut run = run(&[(State::Lock, 1600 * MS), (State::User, 400 * MS)]);
        run.window = Some(WindowSummary {
            target: "7".into(),
            processes: 1,
            threads_active: 8,
            threads_idle: 0,
            thread_ns: 2000 * MS,
            idle_ns: 0,
        });
        let method = StackFrame { language: Language::Jit, source: None, ..frame("void L.step()") };
        for tid in 101..109 {
            let address = u64::from(tid) * 64;
            let mut row =
                wait(State::Lock, WaitTarget::Futex(Seen::Value(address)), &[waiting(tid, 200 * MS)]);
            let stub = StackFrame { language: Language::Jit, ..frame("_complete_monitor_locking_Java") };
            let inner = ["futex_wait", "ObjectMonitor::EnterI", "ObjectMonitor::enter"].map(frame);
            row.stack = Seen::Value([&inner[..], &[stub, method.clone(), frame("start")]].concat());
            run.waits.push(row);
        }
        let diagnosis = judged(&run, &sites(&run, &[]));
        let all = diagnosis.findings.iter().filter(|finding| finding.cause.id == "lock-contention");
        let [finding] = &all.collect::<Vec<_>>()[..] else { panic!("{:?}", diagnosis.findings) };
        assert_eq!(finding.share_ns, Interval { lo: 1600 * MS, hi: 1600 * MS });
        let said = String::from(finding.what.clone());
        assert!(said.contains("8 thread") && said.contains("{name:void L.step()}"), "{said}");
    }

    #[test]
    fn without_clocks_it_may_save_nothing() {
        let mut run = of("pthread_mutex_lock", State::Sleep);
        run.threads.push(run.threads[0].clone());
        run.waits[0].path_ns = 400 * MS;
        let diagnosis = judged(&run, &Seen::unseen("not asked for"));
        assert_eq!(saves(found(&diagnosis, "lock-contention").unwrap()), (0, 400 * MS));
    }
}
