//! Differences of recordings: those of any two close, and what is kept as JSON can be compared.

use crate::Case;
use model::Run;
use model::compare::why::{TimeDifference, Why};
use model::coverage::Interval;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings")
}

/// Files there with this ending, in order.
pub(crate) fn files(ending: &str) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(directory()).expect("the recordings").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.to_str().is_some_and(|path| path.ends_with(ending))).collect();
    files.sort();
    files
}

/// The runs of all recordings.
fn runs() -> &'static [Run] {
    static RUNS: OnceLock<Vec<Run>> = OnceLock::new();
    RUNS.get_or_init(|| {
        let run = |path: &PathBuf| Case::read(path).expect("a recording can be read").result.run;
        files(".dwell").iter().map(run).collect()
    })
}

/// All tables of the path sum to the difference of the walls.
fn closes(why: &Why) -> bool {
    let sum = |times: &mut dyn Iterator<Item = &TimeDifference>| {
        let mut sum = (0_u128, 0_u128, 0_i128);
        times.for_each(|time| {
            sum.0 += u128::from(time.a_ns);
            sum.1 += u128::from(time.b_ns);
            sum.2 += i128::from(time.ns);
        });
        sum
    };
    let wall = sum(&mut [&why.wall].into_iter());
    let rest = why.steps_rest.iter().map(|rest| &rest.time);
    wall.2 == wall.1 as i128 - wall.0 as i128
        && sum(&mut why.states.iter().map(|row| &row.time)) == wall
        && sum(&mut why.processes.iter().map(|row| &row.time)) == wall
        && sum(&mut why.steps.iter().map(|row| &row.time).chain(rest)) == wall
        && why.states.iter().all(|state| of_state(why, state.state) == Some(state.time.ns))
}

/// The steps of a state, where all have a row.
fn of_state(why: &Why, state: model::State) -> Option<i64> {
    let steps = why.steps.iter().filter(|row| row.state == state).map(|row| row.time.ns).sum();
    match &why.steps_rest {
        None => Some(steps),
        Some(_) => why.states.iter().find(|row| row.state == state).map(|row| row.time.ns),
    }
}

#[test]
fn the_difference_of_two_closes_both_ways() {
    let runs = runs();
    assert!(runs.len() >= 30, "{} recordings", runs.len());
    for (at, a) in runs.iter().enumerate() {
        for apart in [1, 7, 18] {
            let other = (at + apart) % runs.len();
            for (a, b) in [(a, &runs[other]), (&runs[other], a)] {
                let why = analyse::compare::why(&[(a, b)]);
                assert!(closes(&why), "recordings {at} and {other}: {:#?}", why.states);
                assert_eq!(why.wall.ns, b.whole_ns() as i64 - a.whole_ns() as i64);
            }
        }
    }
}

#[test]
fn a_run_does_not_differ_from_itself() {
    for run in runs() {
        let why = analyse::compare::why(&[(run, run)]);
        assert_eq!(why.wall.ns, 0);
        assert!(why.steps.iter().all(|row| row.time.ns == 0 && row.names == 1), "{:#?}", why.steps);
        assert!(why.waits.iter().all(|row| row.time.ns == 0 && row.calls.a == row.calls.b));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_difference_of_any_pairs_closes(at in prop::collection::vec((any::<usize>(), any::<usize>()), 1..7)) {
        let runs = runs();
        let pairs: Vec<(&Run, &Run)> =
            at.iter().map(|(a, b)| (&runs[a % runs.len()], &runs[b % runs.len()])).collect();
        let why = analyse::compare::why(&pairs);
        prop_assert!(closes(&why), "{:#?}", why.states);
        prop_assert_eq!(why.wall.interval.is_some(), pairs.len() > 1);
        // A name that was not seen is written without the reason, so what is read is written again.
        let text = serde_json::to_string(&(&why.wall, &why.states, &why.steps)).expect("it can be written");
        let written = serde_json::to_string(&why).expect("it can be written");
        let back: Why = serde_json::from_str(&written).expect("it can be read");
        let again = serde_json::to_string(&(&back.wall, &back.states, &back.steps)).expect("as before");
        prop_assert!(again == text, "{again}\n{text}");
    }
}

#[test]
fn what_a_kept_result_predicts_is_what_its_recording_shows() {
    let measured = analyse::compare::why(&[(&runs()[0], &runs()[0])]).wall;
    let mut shown = 0;
    for path in files(".dwell") {
        let case = Case::read(&path).expect("a recording can be read");
        let findings = &case.result.diagnosis.findings;
        shown += findings.len();
        let kept = case.read_back(false).expect("it can be read back");
        let predicted = analyse::compare::predicted(&kept.result, &measured);
        let rows = predicted.value().map_or(&[][..], Vec::as_slice);
        let of_kept: Vec<_> = rows.iter().map(|row| (row.cause.as_str(), row.saving_ns.clone())).collect();
        fn of(found: &model::Finding) -> (&str, model::Seen<Interval>) {
            (&found.cause.id, found.saving.clone().map(|saving| saving.ns))
        }
        // What a window saves is no part of a wall clock.
        let of_wall = |found: &&model::Finding| {
            found.saving.value().is_none_or(|saving| saving.of == model::finding::SavedTime::Wall)
        };
        let live: Vec<_> = findings.iter().filter(of_wall).map(of).collect();
        assert_eq!(of_kept, live, "{path:?}");
    }
    assert!(shown > 0, "no recording shows a cause");
}

#[test]
fn what_is_kept_as_json_reads_back_and_is_written_the_same() {
    for path in files(".dwell") {
        let live = Case::read(&path).expect("a recording can be read");
        let write = [report::result::whole, report::result::without_stacks];
        for (with_stacks, write) in [true, false].into_iter().zip(write) {
            let kept = live.read_back(with_stacks).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            assert_eq!(write(&kept.result), write(&live.result), "{path:?}");
        }
    }
}

#[test]
fn all_time_in_the_run_queue_is_somebodys_or_nobodys() {
    let mut seen = 0;
    for run in runs() {
        let Some(all) = run.run_queue.value().and_then(|queue| queue.of_all.value()) else { continue };
        let states = run.threads.iter().flat_map(|thread| &thread.states);
        let queued_ns: u64 =
            states.filter(|(state, _)| *state == model::State::Runqueue).map(|(_, ns)| ns).sum();
        let rows_ns: u64 = all.rows.iter().map(|row| row.ns).sum();
        assert_eq!(all.total_ns, queued_ns, "{:?}", run.command);
        assert_eq!(
            all.total_ns,
            rows_ns + all.other_ns + all.idle_cpu_ns + all.unseen_ns,
            "{:?}: {all:?}",
            run.command
        );
        seen += 1;
    }
    assert!(seen >= 30, "{seen} results");
}
