//! What is predicted from the recordings: with nothing edited it is the wall clock, no site saves
//! more than it has, and what it has is what the account says.

use crate::Case;
use crate::differences::files;
use model::coverage::Interval;
use model::prediction::{Site, SiteTimes};
use model::recording::Tier;
use model::wait::{SyscallName, WaitCall};
use model::{Header, Ns, Reason, Run, Seen, State, Trailer};
use store::Reader;

/// All recordings, by name.
fn cases() -> Vec<(String, Case, (Header, Trailer))> {
    let case = |path: std::path::PathBuf| {
        let mut reader = Reader::open(&path).expect("a recording can be opened");
        let header = reader.header().clone();
        reader.by_ref().for_each(drop);
        let trailer = reader.end().trailer.expect("it is whole");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, Case::read(&path).expect("a recording can be read"), (header, trailer))
    };
    files(".dwell").into_iter().map(case).collect()
}

fn known(times: &SiteTimes) -> [Interval; 3] {
    [&times.path_ns, &times.saved_ns, &times.alone_ns].map(|seen| *seen.value().expect("it was watched"))
}

/// Time on the path in a call, on a CPU or not.
fn on_path(run: &Run, call: &SyscallName) -> Ns {
    let is_in = |reason: &Reason| match reason {
        Reason::Syscall(name) | Reason::Wait(WaitCall::Syscall(name), _) => name == call,
        _ => false,
    };
    run.path.iter().filter(|step| is_in(&step.reason)).map(|step| step.ns).sum()
}

/// Whether what others did stands on the path for waits of some threads.
fn lets_time_pass(run: &Run) -> bool {
    run.threads.iter().any(|thread| thread.timed_waits.is_some())
}

#[test]
fn with_nothing_edited_it_is_the_wall_clock() {
    let mut predicted = 0;
    for (name, case, (header, trailer)) in cases() {
        let prediction = &case.result.prediction;
        let window = case.result.run.window.is_some();
        match (header.tier, window, trailer.kept_until) {
            (Tier::Bpf, true, _) => assert_eq!(*prediction, Seen::Absent, "{name}"),
            (Tier::Bpf, false, None) => {
                let prediction = prediction.value().unwrap_or_else(|| panic!("{name}: {prediction:?}"));
                assert_eq!(prediction.unedited_ns, case.result.run.wall_ns, "{name}");
                predicted += 1;
            }
            // Snapshots do not tell who held up whom, and this result was stored without it.
            _ => assert!(matches!(prediction, Seen::Unseen(_)), "{name}: {prediction:?}"),
        }
    }
    assert!(predicted >= 40, "{predicted} recordings");
}

#[test]
fn no_site_saves_more_than_it_has_of_the_path() {
    let mut sites = 0;
    for (name, case, _) in cases() {
        let Some(prediction) = case.result.prediction.value() else { continue };
        for times in &prediction.sites {
            let [path, saved, alone] = known(times);
            assert!(saved.lo <= path.lo && saved.hi <= path.hi, "{name}: {times:?}");
            assert!(alone.lo <= path.lo && alone.hi <= path.hi, "{name}: {times:?}");
            assert!(path.hi <= case.result.run.wall_ns, "{name}: {times:?}");
            let is_within = |(known, of): (Interval, Interval)| known.lo <= of.lo && of.hi <= known.hi;
            let known = [path, saved, alone];
            let estimates = times.estimates.unwrap_or(known);
            assert!(known.into_iter().zip(estimates).all(is_within), "{name}: {times:?}");
            sites += 1;
        }
    }
    assert!(sites >= 200, "{sites} sites");
}

#[test]
fn a_stored_result_has_the_same() {
    for (name, case, _) in cases() {
        let prediction = case.result.prediction.clone();
        let stored = case.read_back(true).expect("it can be read back");
        assert_eq!(stored.result.prediction, prediction, "{name}");
    }
}

#[test]
fn a_calls_time_on_the_path_is_what_the_account_has() {
    let mut calls = 0;
    for (name, case, trailer) in cases() {
        let run = &case.result.run;
        let Some(prediction) = case.result.prediction.value() else { continue };
        if lets_time_pass(run) || trailer.1.sliced.is_some() {
            continue;
        }
        for times in &prediction.sites {
            let Site::Call(call) = &times.site else { continue };
            let ([path, ..], ns) = (known(times), on_path(run, call));
            // With it goes the way back to a CPU after its waits.
            let queued_ns: Ns =
                run.account.iter().filter(|part| part.state == State::Runqueue).map(|part| part.ns).sum();
            assert!(path.lo <= ns + queued_ns && ns <= path.hi, "{name}: {call} has {ns}, {times:?}");
            calls += 1;
        }
    }
    assert!(calls >= 40, "{calls} calls");
}
