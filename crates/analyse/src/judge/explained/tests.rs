//! Runs whose paths are told step by step, with findings at places of theirs.

use super::*;
use crate::judge::own_code::tests::{Told, native};
use crate::judge::samples::{call, found, judged_with, ruled_out, run, thread, wait, waiting};
use RowRef::{Call, Function, Wait};
use State::{Disk, Kernel, User};
use model::coverage::Interval;
use model::finding::{CauseName, SavedTime, Saving, SavingBasis};
use model::profile::{Activity, Profile};
use model::recording::Tier;
use model::run::{WaitRow, WakerRow, WindowSummary};
use model::sentence::Piece;
use model::wait::WakerKind;
use model::{Diagnosis, Sentence, say};

const MS: Ns = 1_000_000;

fn step(state: State, reason: Reason, ms: u64, count: u64) -> Step {
    let process = "program".into();
    Step { pid: 100, tid: 100, process, state, reason, ns: ms * MS, count, together: None }
}

fn in_call(call: &str) -> WaitCall {
    WaitCall::Syscall(call.into())
}

/// A second of the program: eight sleeps, and the rest in one function.
fn sleeper(sleep_ms: u64) -> (Run, Told) {
    let own_ms = 1000 - sleep_ms;
    let mut run = run(&[(State::User, own_ms * MS), (State::Sleep, sleep_ms * MS)]);
    let timer = WaitTarget::Timer(Seen::Absent);
    let asleep = Reason::Wait(in_call("clock_nanosleep"), timer.clone());
    run.path = vec![step(State::Sleep, asleep, sleep_ms, 8), step(State::User, Reason::None, own_ms, 9)];
    let mut row = wait(State::Sleep, timer, &[waiting(100, sleep_ms * MS)]);
    let (pid, tid) = (Seen::Absent, Seen::Absent);
    let (place, stack) = (Seen::Absent, Seen::Absent);
    let (kind, name) = (WakerKind::Timer, String::new());
    row.by =
        vec![WakerRow { kind, name, pid, tid, times: 8, ns: sleep_ms * MS, place, stack, meanwhile: vec![] }];
    row = WaitRow {
        call: in_call("clock_nanosleep"),
        calls: 8,
        path_ns: sleep_ms * MS,
        max_ns: 110 * MS,
        ..row
    };
    run.waits = vec![row];
    (run, Told::default().stack(own_ms, Activity::User, &[native("program", "scan")]))
}

#[test]
fn what_saves_less_than_half_of_unexplained_waits_is_not_said_first() {
    let said = |sleep_ms| {
        let (run, told) = sleeper(sleep_ms);
        found(&judged_with(&run, &told.0, &Seen::unseen("not asked for")), "hot-code").is_some()
    };
    assert!(said(660) && !said(680) && !said(900));
}

fn explained(diagnosis: &Diagnosis) -> &Explanation {
    diagnosis.explained.value().expect("it closes")
}

fn words(sentence: &Sentence) -> String {
    let word = |piece: &Piece| match piece {
        Piece::Text(text) => text.to_string(),
        Piece::Name(name) => name.clone(),
        piece => format!("{piece:?}"),
    };
    sentence.0.iter().map(word).collect()
}

#[test]
fn what_is_asleep_for_most_of_its_time_has_an_open_question_and_no_finding_of_the_rest() {
    let (run, told) = sleeper(880);
    let diagnosis = judged_with(&run, &told.0, &Seen::Absent);
    assert!(diagnosis.findings.is_empty() && ruled_out(&diagnosis, "hot-code"));
    let explained = explained(&diagnosis);
    let open = explained.open_question.as_ref().expect("a question");
    let known = words(&open.known);
    let expected = "Ns(880000000) (Share(0.88)) in Count(8, \"sleep\") of up to Ns(110000000) in clock_nanosleep; \
                    timers ended them";
    assert_eq!(known, expected);
    assert!(words(&open.next).starts_with("dwell run -v"));
}

#[test]
fn what_the_first_finding_explains_leaves_no_smaller_question() {
    let (run, told) = sleeper(400);
    let diagnosis = judged_with(&run, &told.0, &Seen::Absent);
    assert!(explained(&diagnosis).of_finding(0) > 500 * MS);
    assert_eq!(explained(&diagnosis).open_question, None);
}

#[test]
fn who_waits_for_work_leaves_no_question() {
    let (mut run, told) = sleeper(880);
    let (target, ns) = ("program".to_owned(), run.wall_ns);
    let window = |threads_active| WindowSummary {
        target: target.clone(),
        processes: 1,
        threads_active,
        threads_idle: 1,
        thread_ns: ns,
        idle_ns: ns,
    };
    run.window = Some(window(1));
    let open =
        explained(&judged_with(&run, &told.0, &Seen::Absent)).open_question.clone().expect("a question");
    assert!(words(&open.next).starts_with("dwell attach -v"));
    run.window = Some(window(0));
    assert_eq!(explained(&judged_with(&run, &told.0, &Seen::Absent)).open_question, None);
    run.window = None;
    run.path[0].state = State::Idle;
    assert_eq!(explained(&judged_with(&run, &told.0, &Seen::Absent)).open_question, None);
}

fn finding(place: RowRef, lo: u64, hi: u64) -> Finding {
    Finding {
        cause: CauseName::new("cause", "cause"),
        place,
        what: say!(),
        change: say!(),
        share_ns: Interval { lo: lo * MS, hi: hi * MS },
        saving: Seen::Absent,
        evidence: Vec::new(),
        assumes: Vec::new(),
        verify: Vec::new(),
        explains: Vec::new(),
        belief: None,
    }
}

/// A second: calls, own code, and waits for a disk, of which most are small.
fn busy() -> Run {
    let file = |name: &str| WaitTarget::File(Seen::Value(name.into()));
    let reads = |name: &str| Reason::Wait(in_call("read"), file(name));
    let mut run = run(&[(State::Kernel, 400 * MS), (State::User, 300 * MS), (State::Disk, 300 * MS)]);
    run.path = vec![
        step(State::User, Reason::None, 300, 1),
        step(State::Kernel, Reason::Syscall("read".into()), 250, 1),
        step(State::Disk, reads("/a"), 220, 5),
        step(State::Kernel, Reason::Syscall("write".into()), 150, 1),
        step(State::Disk, reads("/b"), 45, 2),
        step(State::Disk, reads("/c"), 35, 2),
    ];
    run.waits = ["/a", "/b"]
        .map(|name| WaitRow { call: in_call("read"), ..wait(State::Disk, file(name), &[]) })
        .into();
    run.tables.syscalls = Seen::Value(vec![call("read", 9, 250 * MS), call("write", 9, 150 * MS)]);
    run
}

/// What each of these findings explains, and the rest by state and whether its waits are named.
fn divided(run: &Run, findings: &[Finding]) -> (Vec<Ns>, Vec<(State, bool, Ns)>) {
    let profile = Profile::default();
    let explained = of(&Evidence::of(Tier::Bpf, run, &profile), findings);
    let explained = explained.value().expect("it closes");
    assert_eq!(explained.rows().iter().map(|row| row.ns).sum::<Ns>(), run.whole_ns());
    let rest = |row: &Explained| match &row.by {
        ExplainedBy::Finding(_) => None,
        ExplainedBy::OwnWork(state) => Some((*state, false, row.ns / MS)),
        ExplainedBy::NotJudged { state, waits } => Some((*state, waits.is_some(), row.ns / MS)),
    };
    let found = (0..findings.len()).map(|finding| explained.of_finding(finding) / MS).collect();
    (found, explained.rows().iter().filter_map(rest).collect())
}

#[test]
fn a_finding_has_the_steps_that_its_place_names_and_no_more_than_its_share() {
    let of = |findings: &[Finding]| divided(&busy(), findings);
    let (found, rest) = of(&[]);
    assert!(found.is_empty());
    assert_eq!(rest, [(Kernel, false, 400), (User, false, 300), (Disk, true, 220), (Disk, false, 80)]);
    // The call, on a CPU and waiting; then the waits of a file.
    let (found, rest) = of(&[finding(Call(0), 500, 550), finding(Wait(0), 220, 220)]);
    assert_eq!(found, [550, 0]);
    assert_eq!(rest, [(User, false, 300), (Kernel, false, 150)]);
    let (found, rest) = of(&[finding(Wait(0), 220, 220), finding(Call(0), 100, 300)]);
    assert_eq!(found, [220, 300]);
    assert_eq!(rest, [(User, false, 300), (Kernel, false, 150), (Disk, false, 30)]);
    // Its share says that it has more of the same than its place.
    assert_eq!(of(&[finding(Wait(0), 300, 300)]).0, [300]);
    assert_eq!(of(&[finding(Call(1), 160, 200)]).0, [180]);
    // Of samples the middle; what another one has nobody else gets.
    let (found, rest) = of(&[finding(Function(0), 100, 200), finding(Function(0), 300, 300)]);
    assert_eq!(found, [150, 300]);
    assert_eq!(rest[0], (Kernel, false, 250));
    assert_eq!(of(&[finding(RowRef::Run, 2000, 4000)]).0, [700], "what waits is not of any state");
}

#[test]
fn an_account_without_a_path_is_divided_by_its_states() {
    let mut run = busy();
    run.path.clear();
    let (found, rest) = divided(&run, &[finding(Call(0), 250, 250), finding(RowRef::State(Disk), 1, 300)]);
    assert_eq!(found, [250, 300]);
    assert_eq!(rest, [(User, false, 300), (Kernel, false, 150)]);
    run.threads = vec![thread(100, &[(User, 1)])];
    assert_eq!(divided(&run, &[finding(RowRef::Thread(0), 900, 900)]).0, [900]);
    run.wall_ns += 1;
    let profile = Profile::default();
    assert!(of(&Evidence::of(Tier::Bpf, &run, &profile), &[]).value().is_none(), "this does not close");
}

#[test]
fn nothing_at_all_is_explained_too() {
    assert_eq!(divided(&run(&[]), &[finding(RowRef::Run, 0, 0)]), (vec![0], vec![]));
}

#[test]
fn a_change_that_may_save_more_than_what_is_open_leaves_no_question() {
    let (run, _) = sleeper(600);
    let profile = Profile::default();
    let open = |saves_ms| {
        let saving = Saving {
            ns: Interval { lo: 0, hi: saves_ms * MS },
            of: SavedTime::Wall,
            part: (0.0, 1.0),
            known: SavingBasis::Bounded,
            queued_ns: 0,
            shared: None,
            learnt: None,
        };
        let found = Finding { saving: Seen::Value(saving), ..finding(Function(0), 100, 100) };
        of(&Evidence::of(Tier::Bpf, &run, &profile), &[found])
            .value()
            .expect("it closes")
            .open_question
            .is_some()
    };
    assert!(open(500) && !open(700));
}
