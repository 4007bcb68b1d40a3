//! Whether dwell was right about a pair of the lab, and the score of many.
//!
//! A predicted interval is scored as in T. Gneiting and A. Raftery, "Strictly Proper Scoring Rules,
//! Prediction, and Estimation" (2007), section 6.2: its width, and 2/alpha times what it misses by,
//! in parts of the wall clock. Beside it the rule to beat, which looks at nothing but the share of
//! the first finding: between a third of it and all of it.

use model::compare::commands::{Comparison, EstimateInterval};
use model::lab::{
    LabPair, LabProfile, LabShare, LabSitting, Observed, Outcome, QuizAnswer, QuizGrade, ScoreRow,
    ScoreTotal, Unfound, UnfoundKind,
};
use model::run::{Ends, FindingRow, RuledOutRow};
use model::{FindingsInWords, Ns, Run, Seen};

/// An interval is meant to hold in at least 1 - alpha of the cases.
const ALPHA: f64 = 0.2;
/// A finding of a program's own code is no claim: every program that computes has one.
pub const OF_CODE: &str = "hot-code";
/// What other programs take.
pub const OF_OTHERS: &str = "cpu-contention";
/// From this part of all CPUs on others keep the host busy, whether or not the lab asked for it.
const BUSY_MIN: f64 = 0.1;
/// What a rule says that looks at nothing, in parts of the wall clock.
pub const BLIND: (f64, f64) = (1.0 / 3.0, 1.0);
/// Rows of a profile.
const PROFILE_ROWS: usize = 20;
/// A counted saving is narrow up to this: its high end by its low end.
const NARROW: f64 = 1.5;

/// What a run under `dwell run` shows.
pub fn observed(run: &Run, words: &FindingsInWords) -> Observed {
    let findings = words.findings.clone();
    Observed {
        wall_ns: run.wall_ns,
        class: run.bound.class,
        functions: findings.iter().map(|row| function(run, row)).collect(),
        findings,
        host_busy: run.coverage.host_busy.clone(),
    }
}

/// Why a cause is no finding of a run; none where it is one, and where another finding explains it.
/// `judged`: it should be, by what was judged of this work before it was run.
pub fn unfound(words: &FindingsInWords, cause: &str, judged: bool) -> Option<Unfound> {
    if words.findings.iter().any(|row| row.cause == cause) {
        return None;
    }
    let of = |rows: &[RuledOutRow]| rows.iter().find(|row| row.cause == cause).map(|row| row.why.clone());
    let ruled_out = if judged { UnfoundKind::RuledOut } else { UnfoundKind::Unjudged };
    let kinds = [(&words.not_looked_for, UnfoundKind::Unseen), (&words.ruled_out, ruled_out)];
    kinds.into_iter().find_map(|(rows, kind)| Some(Unfound { kind, why: of(rows)? }))
}

/// Where a run had its CPU time.
pub fn profile(run: &Run) -> LabProfile {
    let functions = run.tables.functions.value().into_iter().flatten();
    let functions = functions.map(|row| LabShare { name: row.name.clone(), share: row.share.value });
    let lines = run.tables.lines.value().into_iter().flatten();
    let name = |file: &str, line: u32| format!("{}:{line}", file.rsplit('/').next().unwrap_or(file));
    let lines = lines.map(|row| LabShare { name: name(&row.file, row.line), share: row.share.value });
    LabProfile { functions: longest(functions), lines: longest(lines) }
}

/// The rows of each name as one, the longest first.
fn longest(rows: impl Iterator<Item = LabShare>) -> Vec<LabShare> {
    let mut all: Vec<LabShare> = Vec::new();
    for row in rows {
        match all.iter_mut().find(|one| one.name == row.name) {
            Some(one) => one.share += row.share,
            None => all.push(row),
        }
    }
    all.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
    all.truncate(PROFILE_ROWS);
    all
}

/// The file and function of the line that a finding points to; empty where it is none.
fn function(run: &Run, finding: &FindingRow) -> String {
    let to = finding.points_to.as_ref().filter(|to| to.table == "lines");
    let line = to.and_then(|to| run.tables.lines.value()?.get(to.row?));
    line.map_or_else(String::new, |line| format!("{} {}", line.file, line.function))
}

/// What each command after the first saves, in parts of the time of the first.
pub fn saved(comparison: &Comparison) -> Vec<Option<EstimateInterval>> {
    let of = |ratio: EstimateInterval| EstimateInterval {
        estimate: 1.0 - ratio.estimate,
        lo: 1.0 - ratio.hi,
        hi: 1.0 - ratio.lo,
    };
    comparison.comparisons.iter().map(|change| change.ratio.map(of)).collect()
}

/// The median wall clock of each command.
pub fn walls(comparison: &Comparison) -> Vec<Option<Ns>> {
    comparison.commands.iter().map(|command| command.figure.map(|figure| figure.median as Ns)).collect()
}

/// Whether dwell was right: `saved` is what the fast way saves, `unfound` why the cause of the pair
/// is no finding of the slow one.
pub fn outcome(
    pair: &LabPair,
    beside: bool,
    slow: &Observed,
    fast: Option<&Observed>,
    saved: Option<EstimateInterval>,
    unfound: Option<Unfound>,
) -> Outcome {
    let beside = |of: &Observed| beside || of.host_busy.value().is_some_and(|busy| *busy >= BUSY_MIN);
    let Some(cause) = &pair.cause else {
        let beside = beside(slow);
        let claims = slow.findings.iter().filter(|row| !(beside && row.cause == OF_OTHERS));
        let right = claims.into_iter().all(|row| row.cause == OF_CODE);
        return Outcome {
            cause_first: right,
            first_again: false,
            predicted: None,
            held: None,
            score: None,
            rule_score: None,
            unfound: None,
        };
    };
    // What others take may itself be the cause of a pair.
    let first = |of: &Observed| {
        let beside = beside(of) && cause != OF_OTHERS;
        first(of, beside).filter(|(_, row)| row.cause == *cause).map(|(at, _)| at)
    };
    let function = |of: &Observed, at: usize| of.functions.get(at).cloned().unwrap_or_default();
    let again = |fast: &Observed| match (first(slow), first(fast)) {
        // Every program that computes has some code that leads.
        (Some(before), Some(now)) if cause == OF_CODE => function(slow, before) == function(fast, now),
        (_, now) => now.is_some(),
    };
    let own = slow.findings.iter().find(|row| row.cause == *cause);
    let predicted = own.and_then(|row| predicted(row, slow.wall_ns));
    // A prediction that could not be made, or need not be, is none that failed.
    let is_judged = unfound.as_ref().is_none_or(Unfound::is_miss);
    let truth = saved.filter(|_| is_judged).map(|saved| saved.estimate);
    let (lo, hi) = predicted.map_or((0.0, 0.0), |ends| (ends.lo, ends.hi));
    let share = slow.findings.first().map_or(0.0, |row| row.share.hi);
    Outcome {
        cause_first: first(slow).is_some(),
        first_again: fast.is_some_and(again),
        predicted,
        held: truth.map(|truth| predicted.is_some() && (lo..=hi).contains(&truth)),
        score: truth.map(|truth| score((lo, hi), truth)),
        rule_score: truth.map(|truth| score((share / 3.0, share), truth)),
        unfound,
    }
}

/// The first finding; beside other programs what they take is no finding of this one.
fn first(of: &Observed, beside: bool) -> Option<(usize, &FindingRow)> {
    of.findings.iter().enumerate().find(|(_, row)| !(beside && row.cause == OF_OTHERS))
}

/// In parts of the wall clock.
fn predicted(row: &FindingRow, wall_ns: Ns) -> Option<Ends> {
    match &row.saving_ns {
        Seen::Value(saving) if row.saves_wall() => {
            let part = |ns: Ns| ns as f64 / wall_ns.max(1) as f64;
            Some(Ends { lo: part(saving.lo), hi: part(saving.hi) })
        }
        _ => None,
    }
}

/// The width of an interval, and what it misses by.
pub fn score((lo, hi): (f64, f64), truth: f64) -> f64 {
    (hi - lo) + 2.0 / ALPHA * ((lo - truth).max(0.0) + (truth - hi).max(0.0))
}

/// Whether an answer about a pair was right.
pub fn grade(pair: &LabPair, sitting: &LabSitting, answer: &QuizAnswer) -> QuizGrade {
    let truth = sitting.saved.first().copied().flatten().map(|saved| saved.estimate);
    let ends = (answer.saving.lo, answer.saving.hi);
    QuizGrade {
        cause: pair.cause.as_ref() == Some(&answer.cause),
        held: truth.map(|truth| (ends.0..=ends.1).contains(&truth)),
        score: truth.map(|truth| score(ends, truth)),
        rule_score: truth.map(|truth| score(BLIND, truth)),
    }
}

/// All sittings together.
pub fn total<'a>(rows: impl IntoIterator<Item = &'a ScoreRow>) -> ScoreTotal {
    let rows: Vec<&ScoreRow> = rows.into_iter().collect();
    let count = |of: &mut dyn Iterator<Item = &LabSitting>| of.count() as u32;
    let of_any = || rows.iter().filter(|row| row.pair.cause.is_some()).flat_map(|row| &row.sittings);
    let of_cause = || of_any().filter(|sitting| sitting.outcome.is_judged());
    let healthy = || rows.iter().filter(|row| row.pair.cause.is_none()).flat_map(|row| &row.sittings);
    let counted = || {
        rows.iter().filter_map(|row| Some((row.pair.cause.as_ref()?, &row.sittings))).flat_map(
            |(cause, sittings)| {
                sittings.iter().filter(move |sitting| {
                    let found = sitting.slow.findings.iter().find(|row| row.cause == *cause);
                    found.is_some_and(FindingRow::is_counted)
                })
            },
        )
    };
    let narrow =
        |sitting: &&LabSitting| sitting.outcome.predicted.is_some_and(|ends| ends.hi <= NARROW * ends.lo);
    let is_shown =
        |sitting: &&LabSitting| sitting.saved.first().copied().flatten().is_some_and(|saved| saved.lo > 0.0);
    let mean = |of: fn(&Outcome) -> Option<f64>| {
        let all: Vec<f64> = of_cause().filter_map(|sitting| of(&sitting.outcome)).collect();
        (!all.is_empty()).then(|| stats::mean(&all))
    };
    ScoreTotal {
        sittings: count(&mut of_cause()),
        cause_first: count(&mut of_cause().filter(|sitting| sitting.outcome.cause_first)),
        first_again: count(&mut of_cause().filter(|sitting| sitting.outcome.first_again)),
        measured: count(&mut of_cause().filter(|sitting| sitting.outcome.held.is_some())),
        held: count(&mut of_cause().filter(|sitting| sitting.outcome.held == Some(true))),
        healthy: count(&mut healthy()),
        healthy_right: count(&mut healthy().filter(|sitting| sitting.outcome.cause_first)),
        score: mean(|outcome| outcome.score),
        rule_score: mean(|outcome| outcome.rule_score),
        counted: count(&mut counted()),
        counted_narrow: count(&mut counted().filter(narrow)),
        unseen: count(&mut of_any().filter(|sitting| !sitting.outcome.is_judged())),
        saving_shown: count(&mut of_cause().filter(is_shown)),
        saving_shown_first: count(
            &mut of_cause().filter(is_shown).filter(|sitting| sitting.outcome.cause_first),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::coverage::Interval;
    use model::run::Class;

    fn pair(cause: Option<&str>) -> LabPair {
        LabPair { name: "p".into(), title: String::new(), cause: cause.map(str::to_owned), writing: None }
    }

    fn row(cause: &str, lo: Ns, hi: Ns) -> FindingRow {
        FindingRow {
            cause: cause.to_owned(),
            share: Ends { lo: 0.3, hi: 0.6 },
            saving_ns: Seen::Value(Interval { lo, hi }),
            saved: "wall".to_owned(),
            part: Seen::Absent,
            known: "counted".to_owned(),
            place: String::new(),
            points_to: None,
            action: String::new(),
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

    fn with(findings: &[FindingRow]) -> Observed {
        let host_busy = Seen::Value(0.09);
        let functions = vec!["a.c f".to_owned(); findings.len()];
        Observed { wall_ns: 1000, class: Class::Io, findings: findings.to_vec(), functions, host_busy }
    }

    /// Where nothing says why a cause is no finding.
    fn outcome(
        pair: &LabPair,
        beside: bool,
        slow: &Observed,
        fast: Option<&Observed>,
        saved: Option<EstimateInterval>,
    ) -> Outcome {
        super::outcome(pair, beside, slow, fast, saved, None)
    }

    fn measured(estimate: f64) -> Option<EstimateInterval> {
        Some(EstimateInterval { estimate, lo: estimate, hi: estimate })
    }

    #[test]
    fn rows_of_one_name_are_one_and_the_longest_is_first() {
        let row = |name: &str, share| LabShare { name: name.to_owned(), share };
        let all = longest([row("free", 0.2), row("malloc", 0.15), row("malloc", 0.1)].into_iter());
        assert_eq!(all.iter().map(|row| &*row.name).collect::<Vec<_>>(), ["malloc", "free"]);
        assert!((all[0].share - 0.25).abs() < 1e-9);
        let many = (0..100).map(|at| row(&at.to_string(), 0.01));
        assert_eq!(longest(many).len(), PROFILE_ROWS);
    }

    #[test]
    fn an_interval_costs_its_width_and_ten_times_what_it_misses_by() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let slow = with(&[row("small-io", 400, 500)]);
        let of = |truth| outcome(&pair(Some("small-io")), false, &slow, None, measured(truth));
        assert!(of(0.45).held == Some(true) && near(of(0.45).score.unwrap(), 0.1));
        assert!(of(0.52).held == Some(false) && near(of(0.52).score.unwrap(), 0.1 + 0.2));
        assert!(near(of(0.1).score.unwrap(), 0.1 + 3.0) && near(of(0.1).rule_score.unwrap(), 0.4 + 1.0));
        let none = outcome(&pair(Some("hot-code")), false, &slow, None, measured(0.2));
        assert!(!none.cause_first && none.held == Some(false) && near(none.score.unwrap(), 2.0));
        let unmeasured = outcome(&pair(Some("small-io")), false, &slow, None, None);
        assert!(unmeasured.cause_first && unmeasured.held.is_none() && unmeasured.score.is_none());
    }

    #[test]
    fn an_answer_is_graded_beside_a_rule_that_looks_at_nothing() {
        let near = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-9;
        let slow = with(&[row("small-io", 400, 500)]);
        let sitting = |saved| LabSitting {
            size: 1,
            unit: String::new(),
            beside: false,
            commands: Vec::new(),
            by_hand: Vec::new(),
            server: None,
            ways: Vec::new(),
            outcome: outcome(&pair(Some("small-io")), false, &slow, None, saved),
            slow: slow.clone(),
            fast: None,
            saved: vec![saved],
            wall_ns: Vec::new(),
            pairs: 6,
        };
        let answer = |cause: &str, lo, hi| QuizAnswer { cause: cause.to_owned(), saving: Ends { lo, hi } };
        let of = |saved, answer| grade(&pair(Some("small-io")), &sitting(saved), &answer);
        let right = of(measured(0.5), answer("small-io", 0.4, 0.6));
        assert!(right.cause && right.held == Some(true) && near(right.score, 0.2));
        assert!(near(right.rule_score, 2.0 / 3.0));
        let wrong = of(measured(0.1), answer("syncs", 0.4, 0.6));
        assert!(!wrong.cause && wrong.held == Some(false) && near(wrong.score, 0.2 + 3.0));
        assert!(near(wrong.rule_score, 2.0 / 3.0 + 10.0 * (1.0 / 3.0 - 0.1)));
        let none = of(None, answer("small-io", 0.0, 1.0));
        assert!(none.cause && none.held.is_none() && none.score.is_none() && none.rule_score.is_none());
    }

    #[test]
    fn what_others_take_is_no_finding_of_the_program_beside_them() {
        let slow = with(&[row("cpu-contention", 1, 2), row("small-io", 400, 500)]);
        let of = |beside| outcome(&pair(Some("small-io")), beside, &slow, Some(&slow), None);
        assert!(of(true).cause_first && !of(false).cause_first && of(true).first_again);
        assert!(outcome(&pair(Some("cpu-contention")), true, &slow, None, None).cause_first);
        let busy = Observed { host_busy: Seen::Value(0.1), ..slow.clone() };
        let on_busy_host = outcome(&pair(Some("small-io")), false, &busy, Some(&slow), None);
        assert!(on_busy_host.cause_first && !on_busy_host.first_again);
    }

    #[test]
    fn other_code_that_leads_after_a_change_is_not_the_same_again() {
        let slow = with(&[row("hot-code", 400, 500)]);
        let again = |fast| outcome(&pair(Some("hot-code")), false, &slow, Some(fast), None).first_again;
        assert!(again(&slow));
        assert!(!again(&Observed { functions: vec!["a.c g".to_owned()], ..slow.clone() }));
        let other = with(&[row("small-io", 400, 500)]);
        let fast = Observed { functions: vec!["a.c g".to_owned()], ..other.clone() };
        assert!(outcome(&pair(Some("small-io")), false, &other, Some(&fast), None).first_again);
    }

    #[test]
    fn of_a_healthy_program_only_its_own_code_may_be_named() {
        let of = |causes: &[&str], beside| {
            let rows: Vec<_> = causes.iter().map(|cause| row(cause, 1, 2)).collect();
            outcome(&pair(None), beside, &with(&rows), None, None).cause_first
        };
        assert!(of(&[], false) && of(&["hot-code"], false) && of(&["cpu-contention"], true));
        assert!(!of(&["hot-code", "small-io"], false) && !of(&["cpu-contention"], false));
    }

    #[test]
    fn what_could_not_be_looked_for_or_was_not_judged_is_neither_right_nor_wrong() {
        let sick = pair(Some("sync-writes"));
        let of = |kind| {
            let unfound = Unfound { kind, why: "not observed".to_owned() };
            super::outcome(&sick, false, &with(&[]), None, measured(0.5), Some(unfound))
        };
        let missed = of(UnfoundKind::RuledOut);
        assert!(missed.is_judged() && missed.held == Some(false) && missed.score.is_some());
        for kind in [UnfoundKind::Unseen, UnfoundKind::Unjudged] {
            let open = of(kind);
            assert!(!open.is_judged() && !open.cause_first && open.held.is_none(), "{kind:?}");
            assert_eq!((open.score, open.rule_score), (None, None), "{kind:?}");
        }
        let sittings = [UnfoundKind::Unseen, UnfoundKind::RuledOut]
            .map(|kind| LabSitting { outcome: of(kind), ..sitting(&sick, with(&[]), None) });
        let total = total(&[ScoreRow { pair: sick, sittings: sittings.into() }]);
        assert_eq!((total.sittings, total.unseen, total.measured), (1, 1, 1));
    }

    #[test]
    fn why_a_cause_is_no_finding_is_taken_from_the_run() {
        let why = |cause: &str, why: &str| RuledOutRow {
            cause: cause.to_owned(),
            why: why.to_owned(),
            threshold: None,
        };
        let words = FindingsInWords {
            findings: vec![row("small-io", 400, 500)],
            ruled_out: vec![why("small-files", "few files")],
            not_looked_for: vec![why("sync-writes", "not observed")],
            ..FindingsInWords::default()
        };
        let of = |cause, judged| unfound(&words, cause, judged).map(|unfound| (unfound.kind, unfound.why));
        assert_eq!(of("small-io", true), None);
        assert_eq!(of("sync-writes", true), Some((UnfoundKind::Unseen, "not observed".to_owned())));
        assert_eq!(of("small-files", true), Some((UnfoundKind::RuledOut, "few files".to_owned())));
        assert_eq!(of("small-files", false), Some((UnfoundKind::Unjudged, "few files".to_owned())));
    }

    fn sitting(pair: &LabPair, slow: Observed, saved: Option<EstimateInterval>) -> LabSitting {
        LabSitting {
            size: 1,
            unit: String::new(),
            beside: false,
            commands: Vec::new(),
            by_hand: Vec::new(),
            server: None,
            ways: Vec::new(),
            outcome: outcome(pair, false, &slow, None, saved),
            slow,
            fast: None,
            saved: vec![saved],
            wall_ns: Vec::new(),
            pairs: 1,
        }
    }

    #[test]
    fn the_total_counts_causes_and_healthy_programs_apart() {
        let sick = pair(Some("small-io"));
        let narrow = sitting(&sick, with(&[row("small-io", 400, 500)]), measured(0.45));
        let wide = sitting(&sick, with(&[row("small-io", 100, 500)]), measured(0.9));
        let well = sitting(&pair(None), with(&[]), None);
        let total = total(&[
            ScoreRow { pair: sick, sittings: vec![narrow, wide] },
            ScoreRow { pair: pair(None), sittings: vec![well] },
        ]);
        assert_eq!((total.sittings, total.cause_first, total.measured, total.held), (2, 2, 2, 1));
        assert_eq!((total.healthy, total.healthy_right), (1, 1));
        assert_eq!((total.counted, total.counted_narrow), (2, 1));
        assert!((total.score.unwrap() - (0.1 + 0.4 + 4.0) / 2.0).abs() < 1e-9);
    }

    #[test]
    fn sittings_whose_change_saves_something_are_counted_apart() {
        let sick = pair(Some("small-io"));
        let of = |cause, saved| sitting(&sick, with(&[row(cause, 0, 500)]), saved);
        let spread = EstimateInterval { estimate: 0.1, lo: -0.1, hi: 0.3 };
        let sittings = vec![
            of("small-io", measured(0.4)),
            of("hot-code", measured(0.3)),
            of("hot-code", Some(spread)),
            of("small-io", measured(0.0)),
            of("small-io", None),
        ];
        let total = total(&[ScoreRow { pair: sick.clone(), sittings }]);
        assert_eq!((total.sittings, total.cause_first), (5, 3));
        assert_eq!((total.saving_shown, total.saving_shown_first), (2, 1));
    }
}
