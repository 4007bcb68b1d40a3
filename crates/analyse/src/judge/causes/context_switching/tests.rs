//! Hand-overs with more and less around them.

use super::*;
use crate::judge::samples::{found, judged, run, saves, sites, thread, wait};
use model::prediction::Site;
use model::wait::WaitCall;
use model::{Diagnosis, Run};

const MS: Ns = 1_000_000;

fn step(state: State, reason: Reason, ns: Ns) -> Step {
    Step { pid: 100, tid: 100, process: "ping".into(), state, reason, ns, count: 1, together: None }
}

/// A second of two processes, with so much of their own code, and this many hand-overs.
fn turns(own_ns: Ns, times: u64, on: WaitTarget) -> Run {
    let costs_ns = 1000 * MS - own_ns;
    let mut run = run(&[(State::User, own_ns), (State::Kernel, costs_ns)]);
    run.threads.push(thread(101, &[(State::User, 0)]));
    run.path = vec![
        step(State::User, Reason::None, own_ns),
        step(State::Kernel, Reason::Syscall("read".into()), costs_ns),
    ];
    let waker = WakerRow {
        kind: WakerKind::Thread,
        name: "pong".into(),
        pid: Seen::Absent,
        tid: Seen::Absent,
        times,
        ns: 500 * MS,
        place: Seen::Absent,
        stack: Seen::Absent,
        meanwhile: Vec::new(),
    };
    let call = WaitCall::Syscall("read".into());
    run.waits = vec![WaitRow { call, by: vec![waker], ..wait(State::Pipe, on, &[]) }];
    run
}

fn pipe() -> WaitTarget {
    WaitTarget::Pipe(Seen::Absent)
}

fn judge(run: &Run) -> Diagnosis {
    let costs_ns = run.account[1].ns;
    judged(run, &sites(run, &[(Site::State(State::Kernel), [costs_ns, costs_ns, costs_ns / 2])]))
}

#[test]
fn all_but_one_of_the_hand_overs_go_at_most() {
    let diagnosis = judge(&turns(200 * MS, 40_000, pipe()));
    let finding = found(&diagnosis, "context-switching").expect("it is there");
    assert_eq!(saves(finding), (0, 799_980_000));
}

#[test]
fn who_had_the_cpu_may_be_unseen() {
    let mut run = turns(600 * MS, 40_000, pipe());
    assert!(found(&judge(&run), "context-switching").is_none());
    run.wall_ns += 300 * MS;
    run.path.push(step(State::Runqueue, Reason::PreemptedUnseen, 300 * MS));
    let of = |state, ns: Ns| (Site::State(state), [ns, ns, 0]);
    let clocks = sites(&run, &[of(State::Kernel, 400 * MS), of(State::Runqueue, 300 * MS)]);
    let diagnosis = judged(&run, &clocks);
    let (lo, hi) = saves(found(&diagnosis, "context-switching").expect("it is there"));
    assert_eq!((lo, hi), (0, 699_982_500));
}

#[test]
fn threads_that_share_a_cpu_may_do_so_only_under_dwell() {
    let mut run = turns(200 * MS, 40_000, pipe());
    let assumes = |run: &Run| {
        let diagnosis = judge(run);
        found(&diagnosis, "context-switching").expect("it is there").assumes.len()
    };
    assert_eq!(assumes(&run), 1);
    run.path.push(step(State::Runqueue, Reason::PreemptedByOwn("pong".into()), MS));
    assert_eq!(assumes(&run), 2);
    run.host.cpus = 1;
    assert_eq!(assumes(&run), 1, "it has no other");
}

#[test]
fn what_the_other_side_computes_on_the_same_cpu_stays() {
    let mut run = turns(400 * MS, 40_000, pipe());
    run.host.cpus = 1;
    run.threads[1].states = vec![(State::User, 500 * MS)];
    let (lo, hi) = saves(found(&judge(&run), "context-switching").expect("it is there"));
    assert!(lo == 0 && (99 * MS..=101 * MS).contains(&hi), "{lo} to {hi}");
}

#[test]
fn rare_ones_and_those_between_which_much_is_done_are_no_cause() {
    let is =
        |own_ns: Ns, times: u64| found(&judge(&turns(own_ns, times, pipe())), "context-switching").is_some();
    assert!(is(200 * MS, 20_000) && !is(200 * MS, 19_999), "every 50 us");
    assert!(is(499 * MS, 40_000) && !is(500 * MS, 40_000), "what they cost is more than its own code");
}

#[test]
fn locks_are_not_handed_over_and_conditions_are() {
    let mut run = turns(200 * MS, 40_000, WaitTarget::Futex(Seen::Value(4096)));
    assert!(found(&judge(&run), "context-switching").is_none());
    run.waits[0].stack = Seen::Value(vec!["___pthread_cond_wait".into()]);
    assert!(found(&judge(&run), "context-switching").is_some());
}
