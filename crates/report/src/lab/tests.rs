//! Pages of pairs and scores that were made for these tests.

use super::cells::mean_saved;
use super::*;
use model::compare::commands::EstimateInterval;
use model::coverage::Interval;
use model::lab::{
    LabPair, LabPart, LabQuiz, QuizAnswer, QuizGrade, SCHEMA_LAB, SCHEMA_QUIZ, SCHEMA_SCORE, ScoreRow,
    ScoreTotal,
};
use model::recording::Host;

const LOOK: Look = Look::PLAIN;

fn host() -> Host {
    Host {
        name: "board".into(),
        kernel: "6.1".into(),
        arch: "aarch64".into(),
        cpus: 4,
        memory_bytes: Seen::Absent,
        virtualisation: Seen::Absent,
    }
}

fn finding(cause: &str) -> FindingRow {
    FindingRow {
        cause: cause.to_owned(),
        share: Ends { lo: 0.5, hi: 0.6 },
        saving_ns: Seen::Value(Interval { lo: 400_000_000, hi: 600_000_000 }),
        saved: "wall".to_owned(),
        part: Seen::Absent,
        known: "counted".to_owned(),
        place: "many() opens 1,000 files\u{1b}[2J".to_owned(),
        points_to: None,
        action: "keep them in one".to_owned(),
        evidence: Vec::new(),
        assumptions: Vec::new(),
        verify: Vec::new(),
        explains: Vec::new(),
        expected_ns: None,
        structure_ns: None,
        families: None,
        belief: None,
        shared: None,
        probed: None,
    }
}

fn run(saved: f64) -> LabRun {
    let of = |way: &str| ["/usr/bin/dwell", "lab", "files", "--run", way].map(str::to_owned).to_vec();
    let observed = |findings| Observed {
        wall_ns: 1_000_000_000,
        class: model::run::Class::Kernel,
        functions: Vec::new(),
        findings,
        host_busy: Seen::Absent,
    };
    let ends = EstimateInterval { estimate: saved, lo: saved - 0.02, hi: saved + 0.02 };
    let held = (0.4..=0.6).contains(&saved);
    LabRun {
        schema: SCHEMA_LAB.to_owned(),
        dwell: "0".to_owned(),
        host: host(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        pair: LabPair {
            name: "files".into(),
            title: "many or one".into(),
            cause: Some("small-files".into()),
            writing: Some(Writing { title: "A course".into(), theirs: "75 times".into() }),
        },
        profiles: Vec::new(),
        apart: Vec::new(),
        whole_size: None,
        ended_early: None,
        change: ["-fn many() {", "+fn one() {", "     work()"].map(str::to_owned).to_vec(),
        sitting: LabSitting {
            size: 1000,
            unit: "files".to_owned(),
            beside: false,
            commands: vec![of("many"), of("one")],
            by_hand: Vec::new(),
            server: None,
            ways: vec!["many files".to_owned(), "one file".to_owned()],
            slow: observed(vec![finding("small-files")]),
            fast: Some(observed(Vec::new())),
            saved: vec![Some(ends)],
            wall_ns: vec![Some(800_000_000), Some(400_000_000)],
            pairs: 10,
            outcome: Outcome {
                cause_first: true,
                first_again: false,
                predicted: Some(Ends { lo: 0.4, hi: 0.6 }),
                held: Some(held),
                score: Some(0.2),
                rule_score: Some(0.4),
                unfound: None,
            },
        },
    }
}

#[test]
fn a_pair_is_shown_from_diagnosis_to_verdict() {
    let lesson = Lesson { text: "Files cost.\n\nTwice." };
    let page = pair(&run(0.5), &lesson, LOOK);
    let expected = "\
files: many or one
A course: 75 times

diagnosis   dwell run -- dwell lab files --run many
  1.00 s, kernel-bound
  1. many() opens 1,000 files\\x1b[2J: keep them in one
     saves 40–60 % (counted)   small-files

change
  -fn many() {
  +fn one() {
       work()

measured   dwell compare 'dwell lab files --run many' 'dwell lab files --run one'
10 pairs        wall           saves
  many files  800 ms
  one file    400 ms  50 % (48–52 %)

verdict
  right: the first finding is small-files, which the program has
  right: the measured saving, 50 %, lies in the predicted 40–60 %

Files cost.

Twice.

read next
  dwell explain small-files  what the cause is, its signs, what else it could be, what helps
  dwell lab files --beside   the same beside busy loops on each CPU
  dwell run -- COMMAND       whether a program of yours has it
";
    assert_eq!(page, expected);
    let mut by_hand = run(0.5);
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    by_hand.sitting.by_hand = vec![words("dwell lab files --run many --port 5000")];
    by_hand.sitting.server = Some(words("dwell lab --serve requests --port 5000"));
    let told = "diagnosis   dwell run -- dwell lab files --run many --port 5000\n  \
                    its server, in another terminal first: dwell lab --serve requests --port 5000\n";
    let page = pair(&by_hand, &lesson, LOOK);
    assert!(page.contains(told), "{page}");
    let other = pair(&run(0.61), &lesson, LOOK);
    assert!(
        other.contains(
            "wrong: the measured saving, 61 %, lies outside of the predicted 40–60 %, though its interval"
        ),
        "{other}"
    );
}

#[test]
fn on_a_screen_the_verdict_is_whole_and_what_leads_to_it_is_cut() {
    let mut run = run(0.5);
    run.sitting.slow.findings.extend([finding("hot-code"), finding("hot-code")]);
    run.change = (0..20).map(|line| format!("+line {line}")).collect();
    let page = short_pair(&run, LOOK);
    for part in [
        "change\n  +line 0\n  +line 1\n  +line 2\n  +line 3\n  … 16 more lines\n",
        "  right: the measured saving, 50 %, lies in the predicted 40–60 %\n",
        "  many files  800 ms\n",
        "\nnext: dwell explain small-files;",
    ] {
        assert!(page.contains(part), "{part:?} in\n{page}");
    }
    run.apart = (0..4).map(|_| LabPart { what: "read".to_owned(), wall_ns: vec![9, 3] }).collect();
    let page = short_pair(&run, LOOK);
    assert!(page.lines().count() <= 28, "{page}");
}

#[test]
fn both_profiles_are_side_by_side_and_a_whole_job_is_told() {
    let share = |name: &str, share| LabShare { name: name.to_owned(), share };
    let of = |functions: &[LabShare]| LabProfile { functions: functions.to_vec(), lines: Vec::new() };
    let mut run = run(0.5);
    run.profiles = vec![of(&[share("malloc", 0.6), share("main", 0.3)]), of(&[share("main\u{1b}", 0.9)])];
    run.whole_size = Some(10_000_000);
    let page = pair(&run, &Lesson { text: "" }, LOOK);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let whole = format!("many files 800 ms {}", duration(8_000_000_000_000));
    for part in ["malloc 60 % -", "main\\x1b - 90 %", &whole, "whole job: 10,000,000 files at the same rate"]
    {
        assert!(words.contains(part), "{part:?} in\n{page}");
    }
}

#[test]
fn parts_that_were_timed_apart_are_a_row_each() {
    let mut run = run(0.5);
    let part = |what: &str, wall_ns| LabPart { what: what.to_owned(), wall_ns };
    run.apart = vec![
        part("read, from memory", vec![8_000_000, 2_500_000]),
        part("read\u{1b}", vec![524_000_000, 1_000_000]),
    ];
    let page = pair(&run, &Lesson { text: "" }, LOOK);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for row in ["part slow fast times", "memory 8.00 ms 2.50 ms 3.2", "read\\x1b 524 ms 1.00 ms 524"] {
        assert!(words.contains(row), "{row:?} in\n{page}");
    }
}

#[test]
fn a_machine_too_busy_and_an_early_end_are_said_with_what_was_learnt() {
    let mut busy = run(0.5);
    busy.sitting.saved = vec![Some(EstimateInterval { estimate: 0.1, lo: -0.2, hi: 0.4 })];
    busy.sitting.slow.host_busy = Seen::Value(0.9);
    let page = pair(&busy, &Lesson { text: "" }, LOOK);
    assert!(page.contains("undecided: the fast way takes between 40 % less and 20 % more"), "{page}");
    let decides = format!("dwell lab {} --pairs 40", busy.pair.name);
    assert!(page.replace("\n  ", " ").contains(&decides), "{page}");
    assert!(page.contains("one file    400 ms  no saving shown (-20 to 40 %)\n"), "{page}");
    let mut ended = run(0.5);
    (ended.sitting.saved, ended.sitting.wall_ns) = (Vec::new(), Vec::new());
    ended.sitting.outcome.held = None;
    ended.ended_early = Some("a signal ended it".to_owned());
    let page = pair(&ended, &Lesson { text: "" }, LOOK);
    assert!(page.contains("a signal ended it: this is the result until then"), "{page}");
    assert!(page.contains("the saving could not be measured") && !page.contains("measured   dwell"));
}

#[test]
fn a_verdict_names_what_stands_before_the_cause() {
    let said = |causes: &[&str], cause_first| {
        let mut run = run(0.5);
        run.sitting.slow.findings = causes.iter().map(|cause| finding(cause)).collect();
        run.sitting.outcome.cause_first = cause_first;
        pair(&run, &Lesson { text: "" }, LOOK)
    };
    let has = "which the program has\n";
    for (causes, right, says) in [
        (&["small-files"][..], true, format!("  right: the first finding is small-files, {has}")),
        (
            &["cpu-contention", "small-files"],
            true,
            format!("  right: after what other programs take, the first finding is small-files, {has}"),
        ),
        (&[], false, "  wrong: the program has small-files, and nothing is found\n".to_owned()),
        (
            &["hot-code", "small-files"],
            false,
            "has small-files, and the first finding is hot-code\n".to_owned(),
        ),
        (
            &["cpu-contention", "hot-code"],
            false,
            "has small-files, and the first findings are cpu-contention and hot-code\n".to_owned(),
        ),
    ] {
        let page = said(causes, right);
        assert!(page.contains(&says), "{says:?} in\n{page}");
    }
}

#[test]
fn on_a_screen_the_finding_of_the_pair_is_whole_whatever_else_is_found() {
    let mut run = run(0.5);
    let long = "end what others do, or give them less of each CPU that the program waits for";
    let mut others = finding("cpu-contention");
    others.action = format!("{long}, {long}, {long}, {long}");
    let mut own = finding("small-files");
    own.action = format!("{long}, {long}");
    run.sitting.slow.findings = vec![others, own];
    let page = short_pair(&run, LOOK);
    let saves = "     saves 40–60 % (counted)   small-files\n";
    assert!(page.contains(saves) && page.contains("(counted)   cpu-contention\n"), "{page}");
    assert!(!page.contains(" more line"), "{page}");
    let whole = pair(&run, &Lesson { text: "" }, LOOK);
    assert!(whole.split_whitespace().filter(|word| *word == "others").count() == 6, "{whole}");
}

#[test]
fn a_saving_that_is_none_is_not_written_as_one() {
    let saved = |lo, estimate, hi| EstimateInterval { estimate, lo, hi };
    for (of_one, says) in [
        (saved(0.48, 0.5, 0.52), "50 % (48–52 %)"),
        (saved(-0.22, -0.06, 0.09), "no saving shown (-22 to 9 %)"),
        (saved(-0.004, 0.0, 0.004), "no saving shown (0 to 0 %)"),
        (saved(-0.3, -0.2, -0.1), "none: takes 20 % more (10–30 %)"),
    ] {
        assert_eq!(of(of_one, LOOK), says);
    }
    let sitting = |of_one| LabSitting { saved: vec![Some(of_one)], ..run(0.5).sitting };
    let (some, none) = (sitting(saved(0.2, 0.3, 0.4)), sitting(saved(-0.22, -0.06, 0.09)));
    assert_eq!(mean_saved(std::slice::from_ref(&none)), "none shown");
    assert_eq!((mean_saved(&[some, none]), mean_saved(&[])), ("12".to_owned(), "-".to_owned()));
    let mut slower = run(0.5);
    slower.sitting.saved = vec![Some(saved(-0.3, -0.2, -0.1))];
    slower.sitting.outcome.held = Some(false);
    let page = pair(&slower, &Lesson { text: "" }, LOOK);
    let says = "wrong: the fast way takes 20 % more time, which lies outside of the predicted 40–60 %";
    assert!(page.contains(says), "{page}");
}

#[test]
fn a_pair_in_markdown_stands_beside_its_writing_with_its_parts() {
    let mut run = run(0.5);
    run.apart = vec![LabPart { what: "read\u{1b}".to_owned(), wall_ns: vec![8_000_000, 2_500_000] }];
    let text = markdown_of_one(&run);
    for row in [
        "| files | small-files | 1 of 1 | 40–60 | 50 | 1 of 1 | 0.20 | 0.40 |\n",
        "| A course: `files` | 75 times | 800 ms, 400 ms | small-files | 40–60 | 50 |\n",
        "| read\\x1b | 8.00 ms | 2.50 ms | 3.2 |\n",
    ] {
        assert!(text.contains(row), "{row:?} in\n{text}");
    }
    (run.apart, run.pair.writing) = (Vec::new(), None);
    assert_eq!(markdown_of_one(&run).lines().count(), 3, "a table of one row");
}

#[test]
fn a_pair_of_a_writing_has_its_own_finding_after_what_others_take() {
    let mut beside = run(0.5);
    beside.sitting.beside = true;
    beside.sitting.slow.findings.insert(0, finding("cpu-contention"));
    let row = ScoreRow { pair: beside.pair.clone(), sittings: vec![beside.sitting] };
    let writing = beside.pair.writing.as_ref().expect("it has one");
    assert_eq!(
        markdown::of_a_writing(&row, writing, LOOK),
        "| A course: `files` | 75 times | 800 ms, 400 ms (beside busy loops) | cpu-contention, then small-files | \
             40–60 | 50 |\n"
    );
}

#[test]
fn what_could_not_be_looked_for_or_was_not_judged_is_undecided_with_the_reason() {
    let mut run = run(0.5);
    run.sitting.slow.findings.clear();
    let mut of = |kind| {
        let unfound = Some(Unfound { kind, why: "few files\u{1b}".to_owned() });
        let held = (kind == UnfoundKind::RuledOut).then_some(false);
        let outcome = &mut run.sitting.outcome;
        (outcome.cause_first, outcome.predicted, outcome.held, outcome.unfound) =
            (false, None, held, unfound);
        let page = pair(&run, &Lesson { text: "" }, LOOK);
        let verdict = page.split("verdict\n").nth(1).and_then(|rest| rest.split("\n\n").next());
        let words: Vec<&str> = verdict.expect("a verdict").split_whitespace().collect();
        words.join(" ")
    };
    assert_eq!(
        of(UnfoundKind::Unseen),
        "undecided: the program has small-files, and dwell could not look for it: few files\\x1b; dwell doctor \
             says what would change that, as a rule: sudo dwell lab files no saving was predicted"
    );
    assert_eq!(
        of(UnfoundKind::Unjudged),
        "undecided: nothing is found; small-files is ruled out, since few files\\x1b. The pair is known to show it only \
             with its own size and server: dwell lab files no saving was predicted"
    );
    assert_eq!(
        of(UnfoundKind::RuledOut),
        "wrong: the program has small-files, and nothing is found; small-files is ruled out, since few files\\x1b \
             wrong: no saving was predicted"
    );
}

#[test]
fn a_cause_whose_change_saves_nothing_is_not_missed() {
    let of = |lo, hi, unfound| {
        let mut run = run(0.5);
        run.sitting.saved = vec![Some(EstimateInterval { estimate: 0.1, lo, hi })];
        (run.sitting.outcome.cause_first, run.sitting.outcome.unfound) = (false, unfound);
        let page = pair(&run, &Lesson { text: "" }, LOOK);
        let verdict = page.split("verdict\n").nth(1).expect("a verdict").to_owned();
        verdict.split_whitespace().next().expect("a word").to_owned()
    };
    let says = |lo, hi| of(lo, hi, None);
    assert_eq!(says(-0.02, 0.3), "undecided:");
    assert_eq!(says(0.02, 0.3), "wrong:");
    let ruled_out = || Some(Unfound { kind: UnfoundKind::RuledOut, why: "it never stood still".to_owned() });
    assert_eq!(of(-0.02, 0.3, ruled_out()), "undecided:");
    assert_eq!(of(0.02, 0.3, ruled_out()), "wrong:");
}

#[test]
fn what_could_not_be_looked_for_counts_apart_and_without_a_sitting_there_is_no_table() {
    let one = run(0.5);
    let unseen = Unfound { kind: UnfoundKind::Unseen, why: "not observed with perf".to_owned() };
    let mut other = one.sitting.clone();
    (other.outcome.cause_first, other.outcome.held, other.outcome.unfound) = (false, None, Some(unseen));
    let of = |sittings: Vec<LabSitting>, total| LabScore {
        schema: SCHEMA_SCORE.to_owned(),
        dwell: "0".to_owned(),
        host: host(),
        started_at: String::new(),
        rounds: 2,
        seed: 7,
        rows: vec![ScoreRow { pair: one.pair.clone(), sittings }],
        not_held: vec![("grid".to_owned(), "there is no python3 in $PATH".to_owned())],
        total,
        ended_early: None,
    };
    let total = ScoreTotal { sittings: 1, cause_first: 1, unseen: 1, ..ScoreTotal::default() };
    let both = of(vec![one.sitting.clone(), other.clone()], total);
    for page in [score(&both, LOOK), markdown(&both)] {
        for part in [
            "1 of 1; 1 not looked for",
            "In 1 sitting more dwell could not look for the cause.",
            "files: dwell could not look for small-files: not observed with perf",
            "grid was not run: there is no python3 in $PATH",
        ] {
            assert!(page.contains(part), "{part:?} in\n{page}");
        }
    }
    let none = of(vec![other], ScoreTotal { unseen: 1, ..ScoreTotal::default() });
    assert!(score(&none, LOOK).contains("could not look"), "{}", score(&none, LOOK));
    assert!(!score(&none, LOOK).contains("Of 0 sittings"), "{}", score(&none, LOOK));
    for page in [
        score(&of(Vec::new(), ScoreTotal::default()), LOOK),
        markdown(&of(Vec::new(), ScoreTotal::default())),
    ] {
        assert!(page.starts_with("No pair was run, so there is no score.\n"), "{page}");
        assert!(page.contains("grid was not run") && !page.contains("found first"), "{page}");
    }
}

#[test]
fn a_score_names_what_was_found_instead_and_what_was_not_held() {
    let mut missed = run(0.5);
    missed.sitting.outcome.cause_first = false;
    missed.sitting.slow.findings = vec![finding("hot-code")];
    let rows = vec![ScoreRow { pair: missed.pair, sittings: vec![run(0.5).sitting, missed.sitting] }];
    let page = score(
        &LabScore {
            schema: SCHEMA_SCORE.to_owned(),
            dwell: "0".to_owned(),
            host: host(),
            started_at: String::new(),
            rounds: 2,
            seed: 1,
            rows,
            not_held: vec![("grid".to_owned(), "there is no python3 in $PATH".to_owned())],
            total: ScoreTotal { sittings: 2, cause_first: 1, measured: 2, held: 2, ..ScoreTotal::default() },
            ended_early: None,
        },
        LOOK,
    );
    for line in [
        "files  small-files  1 of 2; hot-code      40–60        50  2 of 2   0.20  0.40",
        "Of 2 sittings the cause is the first finding in 1, and first again after the change in 0; of 2",
        "grid was not run: there is no python3 in $PATH",
    ] {
        assert!(page.contains(line), "{line:?} in\n{page}");
    }
}

#[test]
fn an_answer_stands_beside_what_dwell_said_and_a_rule_that_looks_at_nothing() {
    let page = |cause: &str, right| {
        let LabRun { dwell, host, started_at, pair, sitting, .. } = run(0.5);
        let quiz = LabQuiz {
            schema: SCHEMA_QUIZ.to_owned(),
            dwell,
            host,
            started_at,
            seed: 7,
            pair,
            sitting,
            answer: QuizAnswer { cause: cause.to_owned(), saving: Ends { lo: 0.1, hi: 0.3 } },
            grade: QuizGrade { cause: right, held: Some(false), score: Some(2.2), rule_score: Some(0.67) },
        };
        super::quiz(&quiz, (1.0 / 3.0, 1.0), LOOK)
    };
    let wrong = page("lo\u{1b}cks", false);
    assert!(wrong.starts_with("files: many or one; 1,000 "), "{wrong}");
    assert!(wrong.contains("wrong: the cause is small-files, not lo\\x1bcks"), "{wrong}");
    assert!(wrong.contains("of 1.00 s: 50 % (48–52 %), by "), "{wrong}");
    assert!(wrong.contains("  you              10–30 %  missed   2.20\n"), "{wrong}");
    assert!(wrong.contains("  a third to all  33–100 %  held     0.67\n"), "{wrong}");
    assert!(page("small-files", true).contains("right: the cause is small-files"));
}
