//! The page of a quiz: the answer beside what was measured, what dwell says, and a rule that looks
//! at nothing.

use super::cells::{of, shares};
use crate::Look;
use crate::paint::{GAP, Ink, Line, joined};
use crate::table::{Table, figure, text};
use crate::units::{count, duration};
use model::lab::LabQuiz;
use model::run::Ends;

/// The page. `blind`: what the rule says, in parts of the wall clock.
pub fn quiz(quiz: &LabQuiz, blind: (f64, f64), look: Look) -> String {
    let LabQuiz { pair, sitting, answer, grade, .. } = quiz;
    let title = format!(": {}; {} {}", pair.title, count(sitting.size), sitting.unit);
    let head = Line::new(look).add(Ink::Bold, &pair.name).add(Ink::Plain, &title).wrap(GAP);
    let cause = pair.cause.as_deref().unwrap_or("none");
    let (ink, verdict) = match grade.cause {
        true => (Ink::Plain, format!("right: the cause is {cause}")),
        false => (Ink::Warn, format!("wrong: the cause is {cause}, not {}", answer.cause)),
    };
    let mut found = Line::new(look).add(ink, &verdict).wrap(GAP);
    let saved = sitting.saved.first().copied().flatten();
    let measured = match saved {
        Some(saved) => format!(
            "the change saves, of {1}: {0}, by {2} pairs of runs",
            of(saved, look),
            duration(sitting.slow.wall_ns),
            sitting.pairs
        ),
        None => "what the change saves could not be measured".to_owned(),
    };
    found.extend(Line::new(look).add(Ink::Plain, &measured).wrap(GAP));
    let columns = vec![text("", 12, 0), figure("interval", 0), text("", 5, 0), figure("score", 0)];
    let mut table = Table::new(look, "the saving", columns);
    let outcome = &sitting.outcome;
    let blind = Ends { lo: blind.0, hi: blind.1 };
    let holds = saved.map(|saved| (blind.lo..=blind.hi).contains(&saved.estimate));
    for (who, ends, held, score) in [
        ("you", Some(answer.saving), grade.held, grade.score),
        ("dwell", outcome.predicted, outcome.held, outcome.score),
        ("a third to all", Some(blind), holds, grade.rule_score),
    ] {
        let word = match held {
            Some(true) => "held",
            Some(false) => "missed",
            None => "",
        };
        table.row(vec![
            (Ink::Plain, who.to_owned()),
            (Ink::Plain, ends.map_or("-".to_owned(), |ends| shares(ends.lo, ends.hi, look))),
            (Ink::Plain, word.to_owned()),
            (Ink::Plain, score.map_or("-".to_owned(), |score| format!("{score:.2}"))),
        ]);
    }
    let mut lines = table.lines();
    let says = "the score: the width, and ten times what it misses by, of the wall clock; smaller is better";
    lines.extend(Line::new(look).pad_to(GAP).add(Ink::Dim, says).wrap(GAP));
    let next = format!("next: dwell lab {}; dwell explain {cause}; another: dwell lab --quiz", pair.name);
    joined(&[head, found, lines, vec![Line::new(look).add(Ink::Dim, &next)]])
}
