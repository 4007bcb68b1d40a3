//! Folding rows keeps sums, whatever the run has.

use super::*;
use crate::account::StepReason;
use crate::bounded::ROWS_MAX;
use crate::judge::samples;
use model::disk_requests::DiskRequestRow;
use model::recording::Language;
use model::run::{ThreadLedger, TimedWaits, WaitRow};
use model::wait::{FrameKind, Reason, StackFrame, WaitCall, WaitTarget};
use model::{AccountPart, Basis, Ns, Seen, State};
use proptest::prelude::*;
use std::collections::BTreeMap;

const STATES: [State; 4] = [State::User, State::Kernel, State::Disk, State::Lock];

/// Which process, thread and state, which name, and for how long.
type Made = (u32, u32, usize, u32, Ns);

fn step(&(pid, tid, state, name, ns): &Made) -> Step {
    let on = WaitTarget::File(Seen::Value(format!("/data/{name}")));
    let reason = match STATES[state] {
        State::Disk => Reason::Wait(WaitCall::Syscall("read".into()), on),
        _ => Reason::None,
    };
    let process = format!("job-{}", pid % 7);
    Step { pid, tid, process, state: STATES[state], reason, ns, count: 1, together: None }
}

fn thread(&(pid, tid, state, name, ns): &Made) -> ThreadLedger {
    let timed = TimedWaits { times: 1, total_ns: ns, others_on_cpu_ns: ns / 2, ..TimedWaits::default() };
    ThreadLedger {
        pid,
        tid: if tid % 3 == 0 { pid } else { tid },
        name: format!("job-{}", name % 50),
        life_ns: ns,
        states: vec![(STATES[state], ns)],
        timed_waits: (tid % 2 == 0).then_some(timed),
        minor_faults: Seen::Value(ns % 9),
        idle: tid % 5 == 0,
        ..samples::run(&[]).threads[0].clone()
    }
}

fn wait(&(_, tid, state, name, ns): &Made) -> WaitRow {
    let on = WaitTarget::File(Seen::Value(format!("/data/{name}")));
    let waiting = [samples::waiting(tid, ns)];
    WaitRow { calls: 1, path_ns: ns / 2, max_ns: ns, ..samples::wait(STATES[state], on, &waiting) }
}

/// A run of these rows, with an account that they sum to.
fn run_of(rows: &[Made]) -> Run {
    let mut run = samples::run(&[]);
    run.path = rows.iter().map(step).collect();
    run.threads = rows.iter().map(thread).collect();
    run.waits = rows.iter().map(wait).collect();
    run.wall_ns = run.path.iter().map(|step| step.ns).sum();
    run.account = sums(&run.path)
        .into_iter()
        .map(|(state, ns)| AccountPart { state, ns, basis: Basis::Measured, lo_ns: ns, hi_ns: ns })
        .collect();
    run
}

fn sums(path: &[Step]) -> BTreeMap<State, Ns> {
    let mut sums = BTreeMap::new();
    path.iter().for_each(|step| *sums.entry(step.state).or_default() += step.ns);
    sums
}

fn step_of<'a>(step: &Step, process: &'a str, reason: &'a StepReason) -> StepRef<'a> {
    let Step { pid, tid, state, ns, count, together, .. } = *step;
    StepRef { pid, tid, process, state, reason, ns, count, together }
}

/// Bounded, with its own path.
fn bound(run: Run) -> Run {
    let reasons: Vec<_> = run.path.iter().map(|step| StepReason::new(step.reason.clone())).collect();
    let processes: Vec<_> = run.path.iter().map(|step| step.process.clone()).collect();
    let steps = std::iter::zip(run.path.clone(), std::iter::zip(&reasons, &processes));
    bounded(run, steps.map(|(step, (reason, process))| step_of(&step, process, reason)).collect())
}

#[test]
fn a_step_has_the_same_json_before_it_is_a_row_of_the_result() {
    let step = step(&(7, 8, 2, 9, 10));
    let reason = StepReason::new(step.reason.clone());
    let small = step_of(&step, &step.process, &reason);
    assert_eq!(serde_json::to_string(&small).unwrap(), serde_json::to_string(&step).unwrap());
    assert_eq!(Step::from(small), step);
}

/// Sums that no table may lose: time and times of the path by state, lives, states, faults, timed
/// waits and numbers of threads, of waits by state.
fn all_sums(run: &Run) -> Vec<(String, u64)> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    let mut add = |what: String, more: u64| *sums.entry(what).or_default() += more;
    for step in &run.path {
        add(format!("path {}", step.state.name()), step.ns);
        add("path times".into(), step.count);
        add("places".into(), step.together.map_or(1, |together| together.places));
    }
    for thread in &run.threads {
        add("lives".into(), thread.life_ns);
        add("threads".into(), thread.threads());
        add("processes".into(), thread.processes());
        add(format!("idle {}", thread.idle), thread.threads());
        add("faults".into(), *thread.minor_faults.value().unwrap());
        add("timed".into(), thread.timed_waits.map_or(0, |timed| timed.total_ns + timed.times));
        thread.states.iter().for_each(|(state, ns)| add(format!("threads {}", state.name()), *ns));
    }
    for wait in &run.waits {
        add(format!("waits {}", wait.reason.name()), wait.total_ns);
        add("waits path".into(), wait.path_ns);
        add("waits calls".into(), wait.calls);
        add("waits rows".into(), wait.together.unwrap_or(1));
    }
    sums.into_iter().collect()
}

fn made() -> impl Strategy<Value = Made> {
    (1..4000_u32, 1..9000_u32, 0..4_usize, 0..3000_u32, 1..1_000_000_u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn whatever_is_put_together_all_sums_stay(rows in prop::collection::vec(made(), 1..6000)) {
        let before = run_of(&rows);
        let after = bound(before.clone());
        prop_assert_eq!(all_sums(&after), all_sums(&before));
        let json = serde_json::to_string_pretty(&after).unwrap();
        prop_assert!(json.len() <= BYTES_MAX, "{} bytes", json.len());
        for (rows, table, had) in [
            (after.path.len(), "path", before.path.len()),
            (after.threads.len(), "threads", before.threads.len()),
            (after.waits.len(), "waits", before.waits.len()),
        ] {
            prop_assert!(rows <= ROWS_MAX);
            let folded = after.folded.iter().find(|folded| folded.table == table);
            let (gone, into) = folded.map_or((0, 0), |folded| (folded.rows, folded.into));
            prop_assert_eq!(rows as u64 + gone, had as u64 + into, "{}", table);
        }
        // What is small enough stays as it is.
        let again = bound(Run { folded: Vec::new(), ..after.clone() });
        prop_assert_eq!(again.path, after.path);
        prop_assert_eq!(again.threads, after.threads);
    }
}

#[test]
fn threads_of_one_program_are_one_row_and_the_root_stays_the_first() {
    let rows: Vec<Made> = (0..5000).map(|one| (100 + one, 100 + one, 0, 3, 10 + u64::from(one))).collect();
    let mut run = run_of(&rows);
    run.threads.iter_mut().for_each(|thread| (thread.tid, thread.idle) = (thread.pid, false));
    let after = bound(run);
    assert_eq!(after.threads[0].pid, 100, "although it did least");
    let last = after.threads.last().unwrap();
    let together = last.together.unwrap();
    assert_eq!((last.pid, last.tid, &*last.name), (0, 0, "job-3"));
    assert_eq!(together.threads, together.processes);
    assert_eq!(together.threads + after.threads.len() as u64 - 1, 5000);
    assert_eq!(after.path.iter().filter(|step| step.together.is_some()).count(), 7, "a row for each program");
    assert!(after.path.is_sorted_by(|a, b| a.ns >= b.ns));
}

#[test]
fn rows_beyond_a_sum_of_their_table_are_in_it() {
    let mut run = samples::run(&[(State::User, 1000)]);
    let row = |one: u64| DiskRequestRow {
        device: Seen::Value("x".repeat(1000)),
        pid: 1,
        program: Seen::Absent,
        write: false,
        requests: one,
        bytes: 0,
        sizes: Vec::new(),
        follow_on: 0,
        jumps: Vec::new(),
        alone: 0,
        depth_mean: 0.0,
        depth_max: 0,
    };
    let rows = (1..=1500).map(row).collect();
    run.tables.disk_requests = Seen::Value(model::disk_requests::DiskRequests { rows, other_requests: 7 });
    let after = bound(run);
    let all = after.tables.disk_requests.value().unwrap();
    assert!(all.rows.len() < 1000, "{}", all.rows.len());
    assert_eq!(
        all.rows.iter().map(|row| row.requests).sum::<u64>() + all.other_requests,
        1500 * 1501 / 2 + 7
    );
    let gone = 1500 - all.rows.len() as u64;
    assert_eq!(after.folded, [Folded { table: "disk_requests".into(), rows: gone, into: 0 }]);
}

#[test]
fn stacks_of_short_waits_go_before_rows_are_put_together() {
    let rows: Vec<Made> = (0..400).map(|one| (100, 100 + one, 3, 3, 1000 - u64::from(one))).collect();
    let mut run = run_of(&rows);
    let frame = |at: usize| StackFrame {
        function: format!("function_{at:0>80}"),
        source: None,
        language: Language::Native,
        kind: FrameKind::Function,
    };
    for wait in &mut run.waits {
        wait.stack = Seen::Value((0..40).map(frame).collect());
    }
    let waits = bound(run).waits;
    assert_eq!(waits.len(), 400, "none was put together");
    let (with, without): (Vec<_>, Vec<_>) = waits.iter().partition(|wait| wait.stack.value().is_some());
    assert!(with.len() > 20 && without.len() > 20, "{} with a stack", with.len());
    let least = with.iter().map(|wait| wait.total_ns).min();
    assert!(least > without.iter().map(|wait| wait.total_ns).max(), "the longest waits keep theirs");
}

#[test]
fn small_tables_keep_what_they_need_and_large_ones_share_the_rest() {
    let most = |sizes: &[usize], all| rooms(sizes, all).iter().map(|room| room.most).collect::<Vec<_>>();
    assert_eq!(most(&[0, 0, 0, 10, 500, 20, 400], 1000), [0, 0, 0, 10, 500, 20, 400]);
    assert_eq!(most(&[0, 0, 0, 10, 5000, 20, 4000], 1030), [0, 0, 0, 10, 500, 20, 500]);
    assert_eq!(most(&[0, 0, 0, 10, 5000, 20, 400], 1030), [0, 0, 0, 10, 600, 20, 400]);
    assert_eq!(most(&[0, 0, 5000, 4000], 1200), [0, 0, 1000, 200]);
    assert!(most(&[], 7).is_empty());
}
