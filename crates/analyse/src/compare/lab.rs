//! Two results of the lab: what all pairs that both held come to, and what changed of each.
//!
//! A score counts and averages over its pairs, so two of them are compared over the pairs that both
//! have. Whether B predicts better is told by the differences of the interval scores, pair by pair:
//! the pairs differ far more among themselves than one does from run to run.

use super::rules::{Pair, differences, made_by, pairs};
use crate::lab::total;
use model::compare::lab::{
    BothFigures, LabComparison, LabFigures, LabOrigin, LabRow, Right, RightChange, SCHEMA_LAB_DIFF,
    ScoreChange, UncomparedPair,
};
use model::compare::{Change, Difference, EstimateInterval, Side};
use model::lab::{LabRun, LabScore, LabSitting, SCHEMA_SCORE, ScoreRow, ScoreTotal};
use model::run::Ends;
use stats::paired::{hodges_lehmann, signed_rank};

/// The interval of the change of the scores holds it with a probability of 1 - this.
const ALPHA: f64 = 0.05;

/// What differs from score `a` to `b`.
pub fn scores(a: &LabScore, b: &LabScore) -> LabComparison {
    let mut both: Vec<(&ScoreRow, &ScoreRow)> = Vec::new();
    let mut uncompared = Vec::new();
    for pair in pairs(&a.rows, &b.rows, same_pair) {
        match pair {
            Pair::Both(of_a, of_b) => match (of_a.sittings.is_empty(), of_b.sittings.is_empty()) {
                (false, false) => both.push((of_a, of_b)),
                (true, true) => uncompared.push(lone(of_a, None, not_held(a, of_a))),
                (true, false) => uncompared.push(lone(of_a, Some(Side::B), not_held(a, of_a))),
                (false, true) => uncompared.push(lone(of_a, Some(Side::A), not_held(b, of_a))),
            },
            Pair::Only(Side::A, row) => uncompared.push(lone(row, Some(Side::A), not_held(b, row))),
            Pair::Only(Side::B, row) => uncompared.push(lone(row, Some(Side::B), not_held(a, row))),
        }
    }
    let rows: Vec<LabRow> = both.iter().map(|(a, b)| row(a, b)).collect();
    LabComparison {
        schema: SCHEMA_LAB_DIFF.to_owned(),
        a: origin(a),
        b: origin(b),
        differences: conditions(a, b),
        total: BothFigures {
            a: figures(&both.iter().map(|(a, _)| *a).collect::<Vec<_>>()),
            b: figures(&both.iter().map(|(_, b)| *b).collect::<Vec<_>>()),
        },
        scores: score_change(&rows),
        rows,
        uncompared,
    }
}

/// What differs from `a` to `b`, two results of one pair; none where they are of different ones.
pub fn one_pair(a: &LabRun, b: &LabRun) -> Option<LabComparison> {
    if a.pair.name != b.pair.name {
        return None;
    }
    let mut found = scores(&of_one(a), &of_one(b));
    let sizes = [("size".to_owned(), size(a), size(b))];
    found.differences.extend(differences(sizes));
    Some(found)
}

fn size(of: &LabRun) -> String {
    format!("{} {}", of.sitting.size, of.sitting.unit)
}

/// A pair that was held once, as a score.
fn of_one(run: &LabRun) -> LabScore {
    LabScore {
        schema: SCHEMA_SCORE.to_owned(),
        dwell: run.dwell.clone(),
        host: run.host.clone(),
        started_at: run.started_at.clone(),
        rounds: 1,
        seed: 0,
        rows: vec![ScoreRow { pair: run.pair.clone(), sittings: vec![run.sitting.clone()] }],
        not_held: Vec::new(),
        total: ScoreTotal::default(),
        ended_early: run.ended_early.clone(),
    }
}

fn same_pair<'a>(one: &ScoreRow, others: &'a [ScoreRow]) -> Option<&'a ScoreRow> {
    others.iter().find(|other| other.pair.name == one.pair.name)
}

/// Why this score has no sitting of the pair of `row`.
fn not_held(score: &LabScore, row: &ScoreRow) -> String {
    let said = score.not_held.iter().find(|(name, _)| *name == row.pair.name);
    match (said, &score.ended_early) {
        (Some((_, why)), _) => why.clone(),
        (None, Some(why)) => format!("ended early: {why}"),
        (None, None) => "not asked of the other".to_owned(),
    }
}

fn lone(row: &ScoreRow, only: Option<Side>, why: String) -> UncomparedPair {
    UncomparedPair { name: row.pair.name.clone(), only, why }
}

fn origin(score: &LabScore) -> LabOrigin {
    LabOrigin {
        host: score.host.name.clone(),
        dwell: score.dwell.clone(),
        started_at: score.started_at.clone(),
    }
}

/// What else differs. Another seed draws other sizes, and another half beside busy loops.
fn conditions(a: &LabScore, b: &LabScore) -> Vec<Difference> {
    let ended = |of: &LabScore| of.ended_early.clone().unwrap_or_else(|| "no".to_owned());
    let made = made_by((&a.host, &a.dwell), (&b.host, &b.dwell));
    let pairs = [
        ("rounds", a.rounds.to_string(), b.rounds.to_string()),
        ("seed", a.seed.to_string(), b.seed.to_string()),
        ("ended early", ended(a), ended(b)),
    ];
    differences(made.into_iter().chain(pairs).map(|(what, a, b)| (what.to_owned(), a, b)))
}

fn row(a: &ScoreRow, b: &ScoreRow) -> LabRow {
    let figures = BothFigures { a: figures(&[a]), b: figures(&[b]) };
    LabRow {
        name: a.pair.name.clone(),
        cause: a.pair.cause.clone(),
        changes: changes(&figures.a.total, &figures.b.total),
        figures,
    }
}

fn figures(rows: &[&ScoreRow]) -> LabFigures {
    let sittings = || rows.iter().flat_map(|row| &row.sittings);
    let mean = |of: &dyn Fn(&LabSitting) -> Option<f64>| {
        let all: Vec<f64> = sittings().filter_map(of).collect();
        (!all.is_empty()).then(|| stats::mean(&all))
    };
    let lo = mean(&|sitting| sitting.outcome.predicted.map(|ends| ends.lo));
    let hi = mean(&|sitting| sitting.outcome.predicted.map(|ends| ends.hi));
    let predicted = lo.zip(hi).map(|(lo, hi)| Ends { lo, hi });
    let wrong = sittings().filter(|sitting| sitting.outcome.is_judged() && !sitting.outcome.cause_first);
    let mut instead: Vec<String> = wrong
        .map(|sitting| sitting.slow.findings.first().map_or("nothing", |row| &row.cause).to_owned())
        .collect();
    instead.sort_unstable();
    instead.dedup();
    LabFigures {
        total: total(rows.iter().copied()),
        beside: sittings().filter(|sitting| sitting.beside).count() as u32,
        predicted,
        width: predicted.map(|ends| ends.hi - ends.lo),
        saved: mean(&|sitting| Some(sitting.saved.first().copied().flatten()?.estimate)),
        instead,
    }
}

/// What is right in another part of the sittings.
fn changes(a: &ScoreTotal, b: &ScoreTotal) -> Vec<RightChange> {
    let gone = |of: &ScoreTotal| of.sittings.saturating_sub(of.first_again);
    [
        (Right::FoundFirst, (a.cause_first, a.sittings), (b.cause_first, b.sittings)),
        (Right::GoneAfter, (gone(a), a.sittings), (gone(b), b.sittings)),
        (Right::Held, (a.held, a.measured), (b.held, b.measured)),
        (Right::Narrow, (a.counted_narrow, a.counted), (b.counted_narrow, b.counted)),
        (Right::NothingClaimed, (a.healthy_right, a.healthy), (b.healthy_right, b.healthy)),
    ]
    .into_iter()
    .filter_map(|(what, (right_a, of_a), (right_b, of_b))| {
        // Of nothing there is no part.
        let (part_a, part_b) = (u64::from(right_a) * u64::from(of_b), u64::from(right_b) * u64::from(of_a));
        (of_a > 0 && of_b > 0 && part_a != part_b).then_some(RightChange { what, better: part_b > part_a })
    })
    .collect()
}

fn score_change(rows: &[LabRow]) -> ScoreChange {
    let both = |row: &LabRow| Some(row.figures.b.total.score? - row.figures.a.total.score?);
    let by: Vec<f64> = rows.iter().filter_map(both).filter(|by| by.is_finite()).collect();
    let interval = hodges_lehmann(&by)
        .zip(signed_rank(&by, ALPHA))
        .map(|(estimate, (lo, hi))| EstimateInterval { estimate, lo, hi });
    let change = match interval {
        Some(by) if by.hi < 0.0 => Change::Less,
        Some(by) if by.lo > 0.0 => Change::More,
        _ => Change::Undecided,
    };
    ScoreChange { pairs: by.len() as u32, by: interval, change }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Seen;
    use model::lab::{LabPair, Observed, Outcome};
    use model::recording::Host;
    use model::run::Class;

    fn sitting(found: bool, predicted: Option<(f64, f64)>, saved: f64, score: f64) -> LabSitting {
        let held = predicted.is_some_and(|(lo, hi)| (lo..=hi).contains(&saved));
        let slow = Observed {
            wall_ns: 1,
            class: Class::Cpu,
            findings: Vec::new(),
            functions: Vec::new(),
            host_busy: Seen::Absent,
        };
        LabSitting {
            size: 10,
            unit: "files".to_owned(),
            beside: false,
            commands: Vec::new(),
            by_hand: Vec::new(),
            server: None,
            ways: Vec::new(),
            slow,
            fast: None,
            saved: vec![Some(EstimateInterval { estimate: saved, lo: saved, hi: saved })],
            wall_ns: Vec::new(),
            pairs: 6,
            outcome: Outcome {
                cause_first: found,
                first_again: false,
                predicted: predicted.map(|(lo, hi)| Ends { lo, hi }),
                held: Some(held),
                score: Some(score),
                rule_score: Some(1.0),
                unfound: None,
            },
        }
    }

    fn pair(name: &str, cause: Option<&str>) -> LabPair {
        LabPair {
            name: name.to_owned(),
            title: String::new(),
            cause: cause.map(str::to_owned),
            writing: None,
        }
    }

    fn score(rows: &[(&str, Option<&str>, Vec<LabSitting>)]) -> LabScore {
        let row = |(name, cause, sittings): &(&str, Option<&str>, Vec<LabSitting>)| ScoreRow {
            pair: pair(name, *cause),
            sittings: sittings.clone(),
        };
        LabScore {
            schema: SCHEMA_SCORE.to_owned(),
            dwell: "0".to_owned(),
            host: Host {
                name: "board".into(),
                kernel: "6.1".into(),
                arch: "aarch64".into(),
                cpus: 4,
                memory_bytes: Seen::Absent,
                virtualisation: Seen::Absent,
            },
            started_at: String::new(),
            rounds: 1,
            seed: 7,
            rows: rows.iter().map(row).collect(),
            not_held: Vec::new(),
            total: ScoreTotal::default(),
            ended_early: None,
        }
    }

    fn cause(name: &str, held: bool, score: f64) -> (&str, Option<&str>, Vec<LabSitting>) {
        let saved = if held { 0.5 } else { 0.7 };
        (name, Some("small-io"), vec![sitting(true, Some((0.4, 0.6)), saved, score)])
    }

    #[test]
    fn only_pairs_that_both_held_are_summed_and_the_others_are_named() {
        let a = score(&[cause("copy", true, 0.2), cause("locks", false, 9.0), cause("quota", true, 0.1)]);
        let mut b = score(&[cause("copy", false, 0.5), cause("polls", true, 0.2)]);
        b.rows.push(ScoreRow { pair: pair("quota", Some("small-io")), sittings: Vec::new() });
        b.not_held.push(("quota".to_owned(), "no root".to_owned()));
        b.seed = 8;
        let found = scores(&a, &b);
        let counts = |of: &LabFigures| (of.total.sittings, of.total.held);
        assert_eq!((counts(&found.total.a), counts(&found.total.b)), ((1, 1), (1, 0)));
        assert_eq!(found.total.a.total.score, Some(0.2), "what only A has is in no mean");
        assert!((found.total.b.width.unwrap() - 0.2).abs() < 1e-9);
        assert_eq!(found.rows[0].changes, [RightChange { what: Right::Held, better: false }]);
        let lone: Vec<_> = found.uncompared.iter().map(|one| (&*one.name, one.only, &*one.why)).collect();
        let other = "not asked of the other";
        assert_eq!(
            lone,
            [
                ("locks", Some(Side::A), other),
                ("quota", Some(Side::A), "no root"),
                ("polls", Some(Side::B), other)
            ]
        );
        assert_eq!(found.differences.iter().map(|one| &*one.what).collect::<Vec<_>>(), ["seed"]);
    }

    #[test]
    fn a_change_is_one_of_the_part_that_was_right() {
        let found = |right, of| ScoreTotal { sittings: of, cause_first: right, ..ScoreTotal::default() };
        let first = |better| vec![RightChange { what: Right::FoundFirst, better }];
        assert_eq!(changes(&found(1, 1), &found(5, 5)), []);
        assert_eq!(changes(&found(1, 2), &found(5, 5)), first(true));
        assert_eq!(changes(&found(2, 2), &found(3, 5)), first(false));
        let counted =
            |narrow, of| ScoreTotal { counted_narrow: narrow, counted: of, ..ScoreTotal::default() };
        assert_eq!(changes(&counted(1, 1), &counted(0, 0)), [], "of nothing there is no part");
        let again = ScoreTotal { sittings: 1, first_again: 1, ..ScoreTotal::default() };
        let gone = RightChange { what: Right::GoneAfter, better: true };
        assert_eq!(changes(&again, &found(0, 1)), [gone]);
    }

    #[test]
    fn scores_are_better_only_where_the_interval_of_their_differences_says_so() {
        let names: Vec<String> = (0..12).map(|at| format!("pair-{at}")).collect();
        let of = |by: &dyn Fn(usize) -> f64| {
            let rows: Vec<_> = names.iter().enumerate().map(|(at, name)| cause(name, true, by(at))).collect();
            score(&rows)
        };
        let a = of(&|at| at as f64);
        let change = |b: &LabScore| scores(&a, b).scores;
        let better = change(&of(&|at| at as f64 - 0.1 - 0.01 * at as f64));
        assert_eq!((better.pairs, better.change), (12, Change::Less));
        assert!(better.by.is_some_and(|by| by.lo < by.estimate && by.estimate < by.hi && by.hi < 0.0));
        let mixed = change(&of(&|at| at as f64 + if at % 2 == 0 { 0.1 } else { -0.1 }));
        assert_eq!(mixed.change, Change::Undecided);
        assert_eq!(change(&of(&|at| at as f64 + 0.3)).change, Change::More);
        let few = scores(&score(&[cause("copy", true, 9.0)]), &score(&[cause("copy", true, 0.1)]));
        assert_eq!((few.scores.by, few.scores.change), (None, Change::Undecided));
    }

    #[test]
    fn one_pair_is_compared_with_itself_only() {
        let run = |name: &str, size| {
            let mut of = score(&[cause(name, true, 0.2)]);
            let mut row = of.rows.remove(0);
            let mut sitting = row.sittings.remove(0);
            sitting.size = size;
            LabRun {
                schema: String::new(),
                dwell: of.dwell,
                host: of.host,
                started_at: of.started_at,
                pair: row.pair,
                sitting,
                change: Vec::new(),
                profiles: Vec::new(),
                apart: Vec::new(),
                whole_size: None,
                ended_early: None,
            }
        };
        assert_eq!(one_pair(&run("copy", 10), &run("locks", 10)), None);
        let found = one_pair(&run("copy", 10), &run("copy", 20)).unwrap();
        assert_eq!((found.rows.len(), &*found.differences[0].b), (1, "20 files"));
    }
}
