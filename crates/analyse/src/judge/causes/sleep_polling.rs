//! Programs that sleep and look, where they could wait for what they look for.

use super::{Cause, Manual, Outcome, places};
use crate::calls::waits_for_events;
use crate::judge::Evidence;
use crate::judge::predict::{ALL, Removal};
use crate::judge::signs::{By, Sign};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::run::{TimedWaits, WaitRow};
use model::sentence::Piece::{Count, Name, Ns as Time, Number, Share};
use model::syscall_rows::{CallRow, ErrorRow};
use model::wait::{SyscallName, WakerKind};
use model::{Ns, RuledOut, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("sleep-polling", "sleeps between checks"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program sleeps for a while, checks whether something has happened, and sleeps again.",
        why: "The program goes on at the end of a sleep, not when the event happens: on average \
              half a sleep late, each time.",
        rule: "A thread sleeps 5 times or more, and other threads of the program work for half of \
               the time that it sleeps. A hundredth is enough if every other sleep or more comes \
               with a check whether a child has ended: a `wait4` that does not wait, or a `kill`. \
               A program that tries a call again after each sleep shows by its errors: a \
               `connect` that was refused, a file that another program has made (`EEXIST`), a \
               lock that is taken (`EAGAIN`), three times or more and about as often as it \
               sleeps. With less, the sleeps set a pace, whatever others do. The cause is ruled \
               out if other threads sleep as well, with nothing else under way, for more than \
               half as long as these sleeps delay the program: then the thread may wait for those \
               sleeps. Without BPF calls that wait for several things and always as long, within \
               a fiftieth, are sleeps too.",
        else_it_could_be: "The pace may be on purpose: a limit of requests per second, or a display \
                           that is drawn anew while others work.",
        change: "Wait for the event itself: `waitpid` without `WNOHANG`, `join`, a condition \
                 variable, a queue's blocking `get`, a pipe or an eventfd, `inotify` for a file, \
                 `pidfd_open` and `poll` for a process. If that is not possible, sleep for a \
                 shorter time.",
        part: "Bounded. What is saved is the rest of each sleep after its event has come, and when \
               that was is not seen. At most it is all time of these sleeps that delays the \
               program with nothing else of it under way.",
        assumes: "The program sleeps until the other threads have done their work.",
    },
    explains: &[],
    signs: &[Sign {
        by: By::WaitsWhere(
            lets_time_pass,
            SLEEPS_MIN,
            "time to pass, while others of the program work,",
            others_work,
        ),
        although: false,
        change: "wait for their result: join, a condition variable, a queue, inotify, a pidfd",
    }],
    probe: None,
    check,
};

/// Fewer sleeps are pauses.
const SLEEPS_MIN: u64 = 5;
/// Others work for this part of the sleeps; or for this part where the program looks.
const WORK_SHARE_MIN: f64 = 0.5;
const WORK_SHARE_SEEN_MIN: f64 = 0.01;
/// Equal waits differ by no more than this part.
const ALIKE_PART: Ns = 50;
/// Sleeps for each look, at most.
const SLEEPS_A_LOOK: u64 = 2;

/// Whether it is a sleep, or a call that waits for several things and always as long: nothing came.
fn lets_time_pass(wait: &WaitRow) -> bool {
    let polls = |call: &SyscallName| waits_for_events(&call.name) && !call.name.starts_with("epoll");
    let alike = wait.max_ns - wait.p50_ns.min(wait.max_ns) <= wait.max_ns / ALIKE_PART;
    wait.reason == State::Sleep
        || wait.reason == State::OtherWait && alike && wait.call.syscall().is_some_and(polls)
}

/// Whether the path is with others for half of the time in which the thread that sleeps most does.
fn others_work(evidence: &Evidence<'_>, waits: &[&WaitRow]) -> bool {
    let sum = |of: fn(&WaitRow) -> Ns| waits.iter().map(|wait| of(wait)).sum::<Ns>();
    let reasons: Vec<State> = waits.iter().map(|wait| wait.reason).collect();
    let threads = evidence.run.threads.iter();
    let most_ns = threads.map(|thread| thread.ns_in(|state| reasons.contains(&state))).max().unwrap_or(0);
    let slept_ns = most_ns.min(sum(|wait| wait.total_ns));
    slept_ns.saturating_sub(sum(|wait| wait.path_ns)) as f64 >= slept_ns as f64 * WORK_SHARE_MIN
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    if evidence.run.window.is_some() {
        return Outcome::Unavailable(
            "dwell attach sees no end of the run that a change could bring forward".to_owned(),
        );
    }
    let sleeps = || evidence.run.waits.iter().enumerate().filter(|(_, wait)| wait.reason == State::Sleep);
    let most = sleeps().max_by_key(|(_, wait)| wait.path_ns).filter(|(_, wait)| wait.path_ns > 0);
    let Some((place, most)) = most else {
        return Outcome::RuledOut(say!("no sleep delays the program").into());
    };
    if let Some(tried) = tried(evidence, most) {
        let share = share_of_others(evidence, most);
        return Outcome::Found(vec![finding(evidence, place, most, share, &Checks::Tries(tried))]);
    }
    if most.calls < SLEEPS_MIN {
        let what = say!("in the call with the most sleep");
        return Outcome::RuledOut(RuledOut::below(
            Count(most.calls, "sleep".into()),
            what,
            Number(SLEEPS_MIN),
        ));
    }
    let share = share_of_others(evidence, most);
    let child = looks_for_a_child(evidence, most);
    let needed = if child { WORK_SHARE_SEEN_MIN } else { WORK_SHARE_MIN };
    if share < needed {
        let what = say!("of its sleep with other threads at work");
        return Outcome::RuledOut(RuledOut::below(Share(share), what, Share(needed)));
    }
    if beside(evidence) * 2 > most.path_ns {
        let what = say!("of sleep in other threads");
        return Outcome::RuledOut(RuledOut::above(Time(beside(evidence)), what, Time(most.path_ns / 2)));
    }
    let checks = if child { Checks::Child } else { Checks::Unseen };
    Outcome::Found(vec![finding(evidence, place, most, share, &checks)])
}

/// What the program does between its sleeps.
enum Checks {
    /// It asks whether a process has ended.
    Child,
    /// It tries a call again that failed.
    Tries(SyscallName),
    /// No call shows it.
    Unseen,
}

/// Calls that fail while somebody else is not ready or has what they would take, and the errors
/// that say so (connect(2), open(2), flock(2)).
const TRIED: &[(&[&str], &[&str])] = &[
    (&["connect"], &["ECONNREFUSED", "ENOENT", "EAGAIN"]),
    (&["open", "openat", "mkdir", "mkdirat", "link", "linkat", "symlink", "symlinkat"], &["EEXIST"]),
    (&["flock", "fcntl"], &["EAGAIN", "EACCES"]),
];
/// Two failures are no sign of trying again: a C library looks twice for a cache of names that is
/// not there (nscd(8)).
const TRIES_MIN: u64 = 3;

/// The call that failed about as often as the program slept: no more than twice as often, and no
/// less than half. Then each sleep is for what it needs, however few there are.
fn tried(evidence: &Evidence<'_>, wait: &WaitRow) -> Option<SyscallName> {
    let about = |failed: u64| {
        failed >= TRIES_MIN && failed * SLEEPS_A_LOOK >= wait.calls && wait.calls * SLEEPS_A_LOOK >= failed
    };
    TRIED.iter().find_map(|(calls, errors)| {
        let failed = |row: &CallRow| -> u64 {
            let rows = row.results.value().map_or(&[][..], |results| &results.errors);
            let is_of = |row: &&ErrorRow| row.name.as_deref().is_some_and(|name| errors.contains(&name));
            rows.iter().filter(is_of).map(|row| row.calls).sum()
        };
        let rows = evidence.calls_named(calls).into_iter();
        rows.map(|(_, row)| row).find(|row| about(failed(row))).map(|row| row.name.clone())
    })
}

/// What its threads let pass.
fn timed<'a>(evidence: &Evidence<'a>, wait: &'a WaitRow) -> impl Iterator<Item = TimedWaits> + 'a {
    let sleeps = |tid| wait.threads.iter().any(|thread| thread.tid == tid);
    evidence
        .run
        .threads
        .iter()
        .filter(move |thread| sleeps(thread.tid))
        .filter_map(|thread| thread.timed_waits)
}

/// The part of these threads' sleep in which any other thread of the tree was under way.
pub(super) fn share_of_others(evidence: &Evidence<'_>, wait: &WaitRow) -> f64 {
    let outside = outside_part(evidence);
    let (others_ns, total_ns) = timed(evidence, wait).fold((0.0, 0), |(others_ns, total_ns), timed| {
        let waiting_ns = timed.others_waiting_ns as f64 * outside;
        (others_ns + timed.others_running_ns() as f64 + waiting_ns, total_ns + timed.total_ns)
    });
    others_ns / total_ns.max(1) as f64
}

/// How much of the waits for devices and peers somebody outside of the program ended: who waits for
/// one of its threads may wait for the one that sleeps.
fn outside_part(evidence: &Evidence<'_>) -> f64 {
    let waits = evidence.run.waits.iter().filter(|wait| matches!(wait.reason, State::Disk | State::Network));
    let ended = |counts: fn(WakerKind) -> bool| -> Ns {
        waits.clone().flat_map(|wait| &wait.by).filter(|by| counts(by.kind)).map(|by| by.ns).sum()
    };
    ended(|kind| kind != WakerKind::Thread) as f64 / ended(|_| true).max(1) as f64
}

/// Whether the program looks for a child or another process as often as it sleeps. A shell, whose
/// sleeps are programs of their own, looks for those as well.
fn looks_for_a_child(evidence: &Evidence<'_>, wait: &WaitRow) -> bool {
    const WAITS: &[&str] = &["wait4", "waitid", "waitpid"];
    let often = |times: u64| times * SLEEPS_A_LOOK >= wait.calls;
    let calls = |names: &[&str]| {
        evidence.calls_named(names).iter().map(|(_, row)| row.calls - row.errors).sum::<u64>()
    };
    let waits = |wait: &&WaitRow| wait.call.syscall().is_some_and(|call| WAITS.contains(&&*call.name));
    let waited: u64 = evidence.run.waits.iter().filter(waits).map(|wait| wait.calls).sum();
    let own = timed(evidence, wait).any(|timed| timed.times >= SLEEPS_MIN);
    own && often(calls(WAITS).saturating_sub(waited)) || often(calls(&["kill", "pidfd_send_signal"]))
}

fn finding(evidence: &Evidence<'_>, place: usize, wait: &WaitRow, share: f64, checks: &Checks) -> Finding {
    let alone_ns = Interval { lo: 0, hi: wait.path_ns };
    let call = wait.call.syscall();
    let caller = evidence.caller_waiting(wait);
    // One row may be of several threads, and of more places than the one that has most of it.
    let elsewhere = if wait.places.len() > 1 { say!(" and elsewhere") } else { Sentence::default() };
    let in_threads = match wait.threads.len() {
        0 | 1 => Sentence::default(),
        many => say!(" in ").and(places::threads(many)),
    };
    let (what, change) = match checks {
        Checks::Child => (
            say!(" between checks for a process"),
            say!("wait for the process to end: waitpid without WNOHANG, a pidfd"),
        ),
        Checks::Tries(call) => (
            say!(" after each failed ", Name(call.to_string())),
            say!("wait for what it needs: a blocking lock, a notification; or sleep for less"),
        ),
        Checks::Unseen => (
            say!(" while other threads of the program work"),
            say!("wait for their result: join, a condition variable, a queue, inotify"),
        ),
    };
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Wait(place),
        what: say!(Name(call.map_or("a wait".to_owned(), ToString::to_string)))
            .and(caller)
            .and(elsewhere)
            .and(say!(" sleeps ", Count(wait.calls, "time".into())))
            .and(in_threads)
            .and(say!(", ", Time(wait.p50_ns), " each"))
            .and(what)
            .and(say!("; ", Time(wait.path_ns), " of this with nothing else under way")),
        change,
        share_ns: Interval { lo: wait.path_ns, hi: wait.path_ns },
        saving: evidence.saving(&Removal::Wall(alone_ns), ALL, SavingBasis::Bounded),
        evidence: vec![
            say!(Count(wait.calls, "sleep".into()), ", ", Time(wait.total_ns), " in all"),
            say!("other threads of the program work for ", Share(share), " of that"),
        ],
        assumes: vec![say!("it sleeps until the other threads have done their work")],
        verify: vec![say!("measure both versions: dwell compare --predicted ID BEFORE AFTER")],
        explains: Vec::new(),
        belief: None,
    }
}

/// Time of sleeps that neither is on the path nor stands there as what others did meanwhile.
fn beside(evidence: &Evidence<'_>) -> Ns {
    let sleeps = evidence.run.waits.iter().filter(|wait| wait.reason == State::Sleep);
    let off_path: Ns = sleeps.map(|wait| wait.total_ns.saturating_sub(wait.path_ns)).sum();
    let timed = evidence.run.threads.iter().filter_map(|thread| thread.timed_waits);
    let others: Ns = timed.map(|timed| timed.others_running_ns() + timed.others_waiting_ns).sum();
    off_path.saturating_sub(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{call, wait};
    use crate::judge::samples::{found, judged, run, saves, sites, thread};
    use model::prediction::Site;
    use model::run::{WaitPlace, WaitingThread};
    use model::syscall_rows::ResultsRow;
    use model::wait::WaitTarget;
    use model::{Diagnosis, Run, Seen};

    const MS: Ns = 1_000_000;

    /// A second of sleeps; for so much of it others work, and the rest is on the path.
    fn of(sleeps: u64, others_ns: Ns) -> Run {
        let alone_ns = 1000 * MS - others_ns;
        let mut run = run(&[(State::User, others_ns), (State::Sleep, alone_ns)]);
        let timer = WaitTarget::Timer(Seen::Absent);
        run.waits = vec![wait(State::Sleep, "nanosleep", timer, sleeps, 1000 * MS, WakerKind::Timer)];
        run.waits[0].path_ns = alone_ns;
        let times = TimedWaits { times: sleeps, total_ns: 1000 * MS, ..TimedWaits::default() };
        run.threads[0].timed_waits = Some(TimedWaits { others_on_cpu_ns: others_ns, ..times });
        run.threads.push(thread(101, &[(State::User, others_ns)]));
        run.tables.syscalls = Seen::Value(vec![call("nanosleep", sleeps, 0, 1000 * MS)]);
        run
    }

    fn diagnosis(run: &Run) -> Diagnosis {
        judged(run, &sites(run, &[(Site::State(State::Sleep), [1000 * MS, 900 * MS, 400 * MS])]))
    }

    fn is_found(run: &Run) -> bool {
        found(&diagnosis(run), "sleep-polling").is_some()
    }

    #[test]
    fn sleeps_while_nothing_else_is_under_way_go() {
        let diagnosis = diagnosis(&of(20, 600 * MS));
        let saves = saves(found(&diagnosis, "sleep-polling").expect("it is there"));
        assert_eq!(saves, (0, 400 * MS));
    }

    #[test]
    fn without_bpf_calls_that_always_last_as_long_are_sleeps_while_others_have_the_path() {
        let is = |on_path_ns: Ns, longest_ns: Ns| {
            let mut run = of(12, 1000 * MS - on_path_ns);
            let on = WaitTarget::External(Seen::Absent);
            let polls = wait(State::OtherWait, "pselect6", on, 12, 1000 * MS, WakerKind::Unknown);
            run.waits = vec![WaitRow { path_ns: on_path_ns, p50_ns: 60 * MS, max_ns: longest_ns, ..polls }];
            run.threads[0] = thread(100, &[(State::OtherWait, 1000 * MS)]);
            let profile = model::Profile::default();
            let evidence = Evidence::of(Tier::Perf, &run, &profile);
            let diagnosis = crate::judge::diagnose(&evidence);
            found(&diagnosis, "sleep-polling").is_some()
        };
        assert!(is(300 * MS, 61 * MS));
        assert!(!is(600 * MS, 61 * MS), "they set a pace");
        assert!(!is(300 * MS, 70 * MS), "something came");
    }

    #[test]
    fn sleeps_of_several_threads_are_not_said_to_be_of_one_place() {
        let mut run = of(20, 600 * MS);
        let said = |run: &Run| format!("{:?}", found(&diagnosis(run), "sleep-polling").unwrap().what);
        assert!(!said(&run).contains("thread\"") && !said(&run).contains("elsewhere"));
        let of = |tid| WaitingThread { pid: 100, tid, name: "t".to_owned(), ns: 500 * MS };
        run.waits[0].threads = vec![of(100), of(101)];
        run.waits[0].places = vec![WaitPlace { stack: Vec::new(), ns: 500 * MS }; 2];
        assert!(said(&run).contains("Count(2, \"thread\")") && said(&run).contains("elsewhere"));
    }

    #[test]
    fn a_few_sleeps_and_a_pace_are_no_cause() {
        assert!(is_found(&of(5, 500 * MS)));
        assert!(!is_found(&of(4, 500 * MS)));
        assert!(!is_found(&of(5, 499 * MS)), "most of the time nothing else works");
    }

    #[test]
    fn who_looks_for_a_child_each_time_polls_also_where_it_works_little() {
        let mut run = of(20, 10 * MS);
        let mut is = |row| {
            run.tables.syscalls = Seen::Value(vec![row]);
            is_found(&run)
        };
        assert!(is(call("wait4", 10, 0, MS)) && is(call("kill", 10, 0, MS)));
        assert!(!is(call("wait4", 9, 0, MS)) && !is(call("wait4", 20, 11, MS)), "there is no child");
        run.threads[0].timed_waits.as_mut().expect("it sleeps").times = 1;
        run.tables.syscalls = Seen::Value(vec![call("wait4", 20, 0, MS)]);
        assert!(!is_found(&run), "a shell waits for each sleep");
    }

    #[test]
    fn who_tries_again_after_each_sleep_polls_however_few_they_are() {
        let mut run = of(3, 0);
        let mut is = |name: &'static str, error: &str, calls: u64| {
            let errors = vec![ErrorRow { errno: 0, name: Some(error.to_owned()), calls }];
            let results = Seen::Value(ResultsRow { errors, ..ResultsRow::default() });
            run.tables.syscalls = Seen::Value(vec![CallRow { results, ..call(name, 9, calls, MS) }]);
            is_found(&run)
        };
        assert!(is("connect", "ECONNREFUSED", 3) && is("openat", "EEXIST", 3) && is("flock", "EAGAIN", 6));
        assert!(!is("connect", "ENOENT", 2), "a cache of names that is not there is no sign");
        assert!(!is("openat", "EEXIST", 7), "most of these have no sleep after them");
        assert!(!is("openat", "ENOENT", 3), "a search path");
    }

    #[test]
    fn who_waits_for_the_sleeper_is_not_at_work() {
        let mut run = of(20, 0);
        run.threads[0].timed_waits.as_mut().expect("it sleeps").others_waiting_ns = 900 * MS;
        let mut is = |by| {
            run.waits.truncate(1);
            run.waits.push(wait(State::Network, "read", WaitTarget::TimeLimit, 20, 900 * MS, by));
            is_found(&run)
        };
        assert!(is(WakerKind::Network) && !is(WakerKind::Thread));
    }

    #[test]
    fn others_that_sleep_may_be_what_it_waits_for() {
        let mut run = of(20, 600 * MS);
        assert_eq!(beside(&Evidence::of(Tier::Bpf, &run, &model::Profile::default())), 0);
        let timer = WaitTarget::Timer(Seen::Absent);
        let mut other = wait(State::Sleep, "clock_nanosleep", timer, 1, 150 * MS, WakerKind::Timer);
        other.path_ns = 0;
        run.waits.push(other);
        assert!(is_found(&run));
        run.waits[1].total_ns = 201 * MS;
        assert!(!is_found(&run));
    }
}
