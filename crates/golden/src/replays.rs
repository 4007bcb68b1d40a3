//! The recordings replayed: with nothing edited the wall clock is the recorded one, and of single
//! sites it is saved what the carried clocks say.

use crate::Case;
use crate::differences::files;
use analyse::what_if::{Edit, Refused, Replayer};
use model::account::Basis;
use model::coverage::Interval;
use model::prediction::Site;
use model::recording::Tier;
use model::{Seen, State, Trailer, WhatIf};
use std::path::{Path, PathBuf};
use store::Reader;

/// Recordings whose replay is off by more than a part of the wall, and why.
const OFF: &[(&str, &str)] = &[
    (
        "shell-pipeline",
        "four processes were ready at once, and the scheduler did not let them run first come, first served",
    ),
    ("looks", "two threads that both want one CPU took turns, and first come, first served is not in turns"),
];
/// That part: 3 %.
const PART: u64 = 33;

/// A recording replayed with edits.
fn replayed(path: &Path, edits: &[&str]) -> Result<WhatIf, Refused> {
    let mut reader = Reader::open(path).expect("a recording can be opened");
    let edits = edits.iter().map(|text| Edit::read(text).expect("it is an edit")).collect();
    let mut replayer = Replayer::new(reader.header(), edits)?;
    reader.by_ref().for_each(|event| replayer.event(&event));
    replayer.finish(&reader.end().trailer.expect("it is whole"))
}

fn name(path: &Path) -> &str {
    path.file_stem().and_then(|name| name.to_str()).expect("a plain name")
}

/// Those of whole runs with BPF.
fn whole() -> Vec<(PathBuf, Trailer)> {
    let read = |path: PathBuf| {
        let mut reader = Reader::open(&path).expect("a recording can be opened");
        let is_whole = reader.header().tier == Tier::Bpf && reader.header().attached.is_none();
        reader.by_ref().for_each(drop);
        let trailer = reader.end().trailer.filter(|trailer| is_whole && trailer.kept_until.is_none());
        Some((path, trailer?))
    };
    files(".dwell").into_iter().filter_map(read).collect()
}

#[test]
fn with_nothing_edited_a_replay_takes_as_long_as_the_run() {
    let recordings = whole();
    assert!(recordings.len() >= 40, "{} recordings", recordings.len());
    for (path, _) in recordings {
        let what_if = replayed(&path, &[]).unwrap_or_else(|refused| panic!("{}: {refused}", name(&path)));
        let (wall_ns, unedited_ns) = (what_if.wall_ns, what_if.replay.unedited_ns);
        let is_off = unedited_ns.abs_diff(wall_ns) > wall_ns / PART;
        let known = OFF.iter().find(|(of, _)| *of == name(&path)).map(|(_, why)| *why);
        assert_eq!(is_off, known.is_some(), "{}: {unedited_ns} of {wall_ns}, {known:?}", name(&path));
        assert!(what_if.saving.lo_ns <= 0 && what_if.saving.ns == 0, "{}: {:?}", name(&path), what_if.saving);
        for path in [&what_if.path_before, &what_if.path_after] {
            assert_eq!(path.account.iter().map(|part| part.ns).sum::<u64>(), unedited_ns);
        }
    }
}

#[test]
fn recordings_that_have_no_end_are_refused() {
    for (recording, expected) in [
        ("attach-busy", "a window has no end"),
        ("perf-mutex", "source perf"),
        ("keep-limit", "--keep-limit"),
    ] {
        let path = files(".dwell").into_iter().find(|path| name(path) == recording).expect("it is there");
        let refused = replayed(&path, &["futex=0"]).expect_err(recording).to_string();
        assert!(refused.contains(expected) && refused.contains("\ntry: "), "{recording}: {refused}");
    }
}

/// The edit that removes a site, if there is one.
fn removes(site: &Site) -> Option<String> {
    Some(match site {
        Site::Call(name) => format!("{name}=0"),
        Site::Lock { address, .. } => format!("lock:{address:#x}=0"),
        Site::Peer(target) => format!("{target}=0"),
        Site::NameLookups => "name-lookups=0".to_owned(),
        Site::File(path) => format!("file:{}=0", path.value()?),
        Site::Program(name) if name.is_empty() => return None,
        Site::Program(name) => format!("program:{name}=0"),
        // What stacks say of waits by the end, clocks did not know yet; and a replay gives CPUs out
        // itself.
        Site::State(State::Sleep | State::User | State::Kernel | State::Runqueue | State::Throttled) => {
            return None;
        }
        Site::State(state) => format!("{}=0", state.name()),
    })
}

/// They need not where a futex is the end of a thread: a replay has its thread end all the same.
/// What other programs had of a CPU after a wait that is gone may be saved or not.
#[test]
fn without_a_site_a_replay_saves_what_the_clocks_say() {
    let (mut sites, mut same) = (0, 0);
    for (path, trailer) in whole() {
        let case = Case::read(&path).expect("a recording can be read");
        let prediction = case.result.prediction.value().expect("it is a whole run");
        if trailer.sliced.is_some() || OFF.iter().any(|(of, _)| *of == name(&path)) {
            continue;
        }
        for times in &prediction.sites {
            // What samples stand for is another estimate.
            let (Basis::Measured, Some(edit), Seen::Value(path_ns)) =
                (times.basis, removes(&times.site), &times.path_ns)
            else {
                continue;
            };
            let what_if = replayed(&path, &[&edit]).unwrap_or_else(|refused| panic!("{edit}: {refused}"));
            let asked = what_if.edits[0].path_ns.value().copied().expect("it is time");
            let allowed = what_if.wall_ns / 100;
            // With a wait the clocks take the way back to a CPU.
            let account = &case.result.run.account;
            let queued_ns: u64 =
                account.iter().filter(|part| part.state == State::Runqueue).map(|part| part.ns).sum();
            let within = |ns: i64, known: Interval| {
                ns + (allowed + queued_ns) as i64 >= known.lo as i64 && ns <= (known.hi + allowed) as i64
            };
            assert!(within(asked as i64, *path_ns), "{} {edit}: {asked} of {times:?}", name(&path));
            let saved = times.saved_ns.value().expect("it was watched as well");
            sites += 1;
            let lo = what_if.saving.ns - allowed as i64;
            let hi = what_if.saving.hi_ns - what_if.after.chance_ns as i64 + (allowed + queued_ns) as i64;
            same += usize::from(lo <= saved.hi as i64 && saved.lo as i64 <= hi);
        }
    }
    assert!(sites >= 150, "{sites} sites");
    assert!(same * 100 >= sites * 90, "{same} of {sites} save the same");
}
