//! Two results of the lab beside each other: what all pairs come to, and what changed of each.

use super::parts::{differences, ink, only, origin};
use crate::Look;
use crate::clean::{clean, width};
use crate::paint::{GAP, Ink, Line, joined, paragraphs};
use crate::table::{Column, Table, figure, text};
use crate::units::{count, percents};
use model::compare::Change;
use model::compare::lab::{
    BothFigures, LabComparison, LabFigures, LabOrigin, LabRow, Right, RightChange, ScoreChange, WORDS,
};
use model::lab::ScoreTotal;
use std::cmp::Ordering;

/// What the figures do not say.
const TOLD: &str = "A sitting is one run of a pair: with one or a few, a pair may be right or wrong by chance. Figures \
                    of a pair are means over its sittings, in percent of the wall clock. A smaller score is \
                    better";

/// The page, with a newline after each line.
pub fn terminal(diff: &LabComparison, look: Look) -> String {
    joined(&parts(diff, look))
}

/// The same in parts.
pub(crate) fn parts(diff: &LabComparison, look: Look) -> Vec<Vec<Line>> {
    let from = |side: &str, of: &LabOrigin| {
        origin(side, &format!("{}, dwell {}, ", of.host, of.dwell), &of.started_at, look)
    };
    let mut parts = vec![
        [from("A", &diff.a), from("B", &diff.b)].concat(),
        differences(&diff.differences, look),
        uncompared(diff, look),
    ];
    if diff.rows.is_empty() {
        parts.push(Line::new(look).add(Ink::Plain, "no pair was run in both").wrap(GAP));
        return parts;
    }
    parts.push(totals(diff, look));
    parts.push(scores(&diff.scores, look));
    parts.push(changed(&diff.rows, look));
    parts.push(rows(&diff.rows, look));
    parts.push(paragraphs(Line::new(look), TOLD, GAP));
    parts
}

/// What a row of the totals counts: right ones, of all.
type Counts = fn(&ScoreTotal) -> (u32, u32);

/// All pairs that both held, together.
fn totals(diff: &LabComparison, look: Look) -> Vec<Line> {
    let BothFigures { a, b } = &diff.total;
    let pairs = diff.rows.len();
    let title =
        format!("{} in both", if pairs == 1 { "1 pair".to_owned() } else { format!("{pairs} pairs") });
    let mut table = Table::new(look, &title, vec![text("", 24, 0), figure("A", 0), figure("B", 0)]);
    let mut row = |what: &str, a: String, b: String| {
        table.row([what.to_owned(), a, b].map(|cell| (Ink::Plain, cell)).to_vec());
    };
    let counts: [(&str, Counts); 5] = [
        ("the cause is found first", |of| (of.cause_first, of.sittings)),
        ("it is first again after the change", |of| (of.first_again, of.sittings)),
        ("the predicted saving held", |of| (of.held, of.measured)),
        ("a counted saving is narrow", |of| (of.counted_narrow, of.counted)),
        ("healthy, and nothing is claimed", |of| (of.healthy_right, of.healthy)),
    ];
    for (what, of) in counts {
        let cell = |side: &LabFigures| match of(&side.total) {
            (_, 0) => "-".to_owned(),
            (right, all) => format!("{} of {}", count(u64::from(right)), count(u64::from(all))),
        };
        row(what, cell(a), cell(b));
    }
    let two = |figure: Option<f64>| figure.map_or("-".to_owned(), |figure| format!("{figure:.2}"));
    row("mean interval score", two(a.total.score), two(b.total.score));
    row("mean interval score of the rule", two(a.total.rule_score), two(b.total.rule_score));
    row("mean width of predictions", percent(a.width), percent(b.width));
    table.lines()
}

/// Whether B's scores are better, by all pairs.
fn scores(scores: &ScoreChange, look: Look) -> Vec<Line> {
    let line = Line::new(look);
    let Some(by) = scores.by else {
        let said = format!("too few pairs ({}) to say whether B's scores are better", scores.pairs);
        return line.add(Ink::Dim, &said).wrap(GAP);
    };
    let said = match scores.change {
        Change::Less | Change::More => format!("B's scores are {}", WORDS.of(scores.change)),
        Change::Same | Change::Undecided => "the scores show no certain change".to_owned(),
    };
    let known = format!(
        ": by {} in the median of {} pairs (95 %: {} to {})",
        signed(by.estimate),
        scores.pairs,
        signed(by.lo),
        signed(by.hi)
    );
    line.add(ink(scores.change), &said).add(Ink::Plain, &known).wrap(GAP)
}

fn signed(score: f64) -> String {
    format!("{score:+.2}")
}

fn percent(part: Option<f64>) -> String {
    part.map_or("-".to_owned(), |part| format!("{:.0}", (part * 100.0).round() + 0.0))
}

/// A line for each pair of which something else is right in B.
fn changed(rows: &[LabRow], look: Look) -> Vec<Line> {
    let changed = || rows.iter().filter(|row| !row.changes.is_empty());
    if changed().next().is_none() {
        return Line::new(look).add(Ink::Plain, "no pair differs in what is right").wrap(GAP);
    }
    let wide = changed().map(|row| width(&clean(&row.name, look.unicode))).max().unwrap_or(0) + 2 * GAP;
    let line = |row: &LabRow| {
        let worse = row.changes.iter().any(|change| !change.better);
        let line = Line::new(look).pad_to(GAP).add(Ink::Plain, &row.name).pad_to(wide);
        line.add(if worse { Ink::Warn } else { Ink::Bold }, &words_of(row)).wrap(wide)
    };
    let heading = Line::new(look).add(Ink::Bold, "changed").add(Ink::Dim, ", of B");
    std::iter::once(heading).chain(changed().flat_map(line)).collect()
}

/// A row for each pair.
fn rows(rows: &[LabRow], look: Look) -> Vec<Line> {
    let columns: Vec<Column> = vec![
        text("", 10, 0),
        figure("predicted A", 0),
        figure("B", 0),
        figure("saved A", 1),
        figure("B", 1),
        figure("score A", 0),
        figure("B", 0),
    ];
    let mut table = Table::new(look, "pair", columns);
    for row in rows {
        let BothFigures { a, b } = &row.figures;
        let predicted = |of: &LabFigures| {
            of.predicted.map_or("-".to_owned(), |ends| percents(ends.lo, ends.hi, look.dash()))
        };
        let score = |of: &LabFigures| of.total.score.map_or("-".to_owned(), |score| format!("{score:.2}"));
        let cells = [
            row.name.clone(),
            predicted(a),
            predicted(b),
            percent(a.saved),
            percent(b.saved),
            score(a),
            score(b),
        ];
        table.row(cells.map(|cell| (Ink::Plain, cell)).to_vec());
    }
    table.lines()
}

/// What is right more or less often in B, and what is not alike.
fn words_of(row: &LabRow) -> String {
    let BothFigures { a, b } = &row.figures;
    let all = |of: &LabFigures| of.total.sittings + of.total.healthy;
    let once = all(a) == 1 && all(b) == 1;
    let mut said: Vec<String> = row.changes.iter().map(|change| words(*change, once, b)).collect();
    match ((a.beside * all(b)).cmp(&(b.beside * all(a))), once) {
        (Ordering::Less, true) => said.push("beside loops".to_owned()),
        (Ordering::Less, false) => said.push("more beside loops".to_owned()),
        (Ordering::Greater, true) => said.push("not beside loops".to_owned()),
        (Ordering::Greater, false) => said.push("less beside loops".to_owned()),
        (Ordering::Equal, _) => {}
    }
    said.join("; ")
}

fn words(change: RightChange, once: bool, b: &LabFigures) -> String {
    // What is right once, and what is not.
    let (right, wrong) = match change.what {
        Right::FoundFirst => ("found first", "not found first"),
        Right::GoneAfter => ("not first again", "first again"),
        Right::Held => ("held", "not held"),
        Right::Narrow => ("narrow", "not narrow"),
        Right::NothingClaimed => ("nothing claimed", "something claimed"),
    };
    let what = match (once, change.better) {
        (true, true) => right.to_owned(),
        (true, false) => wrong.to_owned(),
        (false, true) => format!("more often {right}"),
        (false, false) => format!("less often {right}"),
    };
    let missed = matches!(change.what, Right::FoundFirst | Right::NothingClaimed) && !change.better;
    let instead = match &b.instead[..] {
        causes if missed && !causes.is_empty() => format!(" ({})", causes.join(", ")),
        _ => String::new(),
    };
    format!("{what}{instead}")
}

/// Pairs that one of them did not hold, those of one reason together.
fn uncompared(diff: &LabComparison, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut said: Vec<(Option<_>, &str)> = Vec::new();
    for one in &diff.uncompared {
        let key = (one.only, &*one.why);
        if said.contains(&key) {
            continue;
        }
        said.push(key);
        let alike = diff.uncompared.iter().filter(|other| (other.only, &*other.why) == key);
        let names: Vec<&str> = alike.map(|other| &*other.name).collect();
        let line = Line::new(look).add(Ink::Warn, only(one.only)).add(Ink::Plain, &names.join(", "));
        lines.extend(line.add(Ink::Dim, &format!(" ({})", one.why)).wrap(GAP));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::compare::lab::{SCHEMA_LAB_DIFF, UncomparedPair};
    use model::compare::{Difference, EstimateInterval, Side};
    use model::run::Ends;

    const LOOK: Look = Look::PLAIN;

    fn figures(held: bool, (lo, hi): (f64, f64), saved: f64, score: f64) -> LabFigures {
        LabFigures {
            total: ScoreTotal {
                sittings: 1,
                cause_first: 1,
                measured: 1,
                held: u32::from(held),
                score: Some(score),
                rule_score: Some(1.5),
                ..ScoreTotal::default()
            },
            beside: 0,
            predicted: Some(Ends { lo, hi }),
            width: Some(hi - lo),
            saved: Some(saved),
            instead: Vec::new(),
        }
    }

    fn diff() -> LabComparison {
        let origin = |dwell: &str| LabOrigin {
            host: "board\u{1b}[2J".to_owned(),
            dwell: dwell.to_owned(),
            started_at: "2026-01-02T03:04:05Z".to_owned(),
        };
        let a = figures(true, (0.4, 0.6), 0.5, 0.2);
        let mut b = figures(false, (0.1, 0.2), 0.5, 3.1);
        (b.total.cause_first, b.beside) = (0, 1);
        b.instead = vec!["hot-code\u{1b}".to_owned()];
        let change = |what, better| RightChange { what, better };
        LabComparison {
            schema: SCHEMA_LAB_DIFF.to_owned(),
            a: origin("1"),
            b: origin("2"),
            differences: vec![Difference { what: "seed".into(), a: "7".into(), b: "8".into() }],
            total: BothFigures { a: a.clone(), b: b.clone() },
            scores: ScoreChange { pairs: 2, by: None, change: Change::Undecided },
            rows: vec![
                LabRow {
                    name: "polls".into(),
                    cause: Some("sleep-polling".into()),
                    figures: BothFigures { a: a.clone(), b: a.clone() },
                    changes: Vec::new(),
                },
                LabRow {
                    name: "copy".into(),
                    cause: Some("small-io".into()),
                    figures: BothFigures { a, b },
                    changes: vec![change(Right::FoundFirst, false), change(Right::Held, false)],
                },
            ],
            uncompared: ["quota", "short-memory"]
                .map(|name| UncomparedPair {
                    name: name.into(),
                    only: Some(Side::A),
                    why: "it takes root".into(),
                })
                .to_vec(),
        }
    }

    #[test]
    fn what_changed_is_first_and_the_rest_below() {
        let expected = "\
A  board\\x1b[2J, dwell 1, 2026-01-02T03:04:05Z
B  board\\x1b[2J, dwell 2, 2026-01-02T03:04:05Z

differs: seed 7 and 8

only in A: quota, short-memory (it takes root)

2 pairs in both                               A          B
  the cause is found first               1 of 1     0 of 1
  it is first again after the change     0 of 1     0 of 1
  the predicted saving held              1 of 1     0 of 1
  a counted saving is narrow                  -          -
  healthy, and nothing is claimed             -          -
  mean interval score                      0.20       3.10
  mean interval score of the rule          1.50       1.50
  mean width of predictions                  20         10

too few pairs (2) to say whether B's scores are better

changed, of B
  copy  not found first (hot-code\\x1b); not held; beside loops

pair     predicted A      B  saved A   B  score A     B
  polls        40–60  40–60       50  50     0.20  0.20
  copy         40–60  10–20       50  50     0.20  3.10

A sitting is one run of a pair: with one or a few, a pair may be right or wrong by chance. Figures
  of a pair are means over its sittings, in percent of the wall clock. A smaller score is better
";
        assert_eq!(terminal(&diff(), LOOK), expected);
    }

    #[test]
    fn it_is_said_whether_the_scores_are_better() {
        let by = Some(EstimateInterval { estimate: -0.12, lo: -0.3, hi: -0.01 });
        let of = |by, change| {
            let page =
                terminal(&LabComparison { scores: ScoreChange { pairs: 36, by, change }, ..diff() }, LOOK);
            page.lines().find(|line| line.contains("scores")).unwrap_or_default().to_owned()
        };
        let middle = "by -0.12 in the median of 36 pairs (95 %: -0.30 to -0.01)";
        assert_eq!(of(by, Change::Less), format!("B's scores are better: {middle}"));
        assert_eq!(of(by, Change::Undecided), format!("the scores show no certain change: {middle}"));
        assert_eq!(of(None, Change::Undecided), "too few pairs (36) to say whether B's scores are better");
    }

    #[test]
    fn without_a_pair_in_both_nothing_is_said_of_figures() {
        let page = terminal(&LabComparison { rows: Vec::new(), ..diff() }, LOOK);
        assert!(page.ends_with("no pair was run in both\n") && page.contains("only in A: quota"), "{page}");
    }

    #[test]
    fn of_several_sittings_it_is_said_how_the_part_changed() {
        let mut row = diff().rows.remove(1);
        row.figures.a.total.sittings = 5;
        row.figures.b.total.sittings = 5;
        row.changes = vec![RightChange { what: Right::FoundFirst, better: false }];
        assert!(words_of(&row).starts_with("less often found first (hot-code"), "{}", words_of(&row));
        row.changes = vec![RightChange { what: Right::Held, better: true }];
        assert!(words_of(&row).starts_with("more often held; "), "{}", words_of(&row));
    }
}
