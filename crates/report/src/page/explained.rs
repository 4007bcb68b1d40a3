//! What explains the time, below what to change: `62 % by 1, 9 % by 2; 20 % own work (user 18 %,
//! kernel 2 %); 9 % not judged (network)`; and the question that the largest unjudged part leaves.

use super::{apportion, words};
use crate::Look;
use crate::findings::text;
use crate::paint::{Ink, Line};
use model::{Diagnosis, Explained, ExplainedBy, State};

/// What explains the time, and the question.
pub(super) fn lines(diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    [sums(diagnosis, look), question(diagnosis, look)].concat()
}

/// What explains the time. Nothing where all of it waited for work.
pub(super) fn sums(diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let parts = diagnosis.explained.value().map(|explained| parts(explained.rows())).unwrap_or_default();
    let line = || Line::new(look).add(Ink::Bold, "explained: ");
    if parts.is_empty() { Vec::new() } else { figures(line(), &parts).wrap(2) }
}

/// The question that the largest unjudged part leaves, where there is one.
pub(super) fn question(diagnosis: &Diagnosis, look: Look) -> Vec<Line> {
    let Some(open) = diagnosis.explained.value().and_then(|explained| explained.open_question.as_ref())
    else {
        return Vec::new();
    };
    let [known, when, next] = [&open.known, &open.when, &open.next].map(|part| text(part, look));
    let line = figures(Line::new(look).add(Ink::Bold, "not judged: "), &known);
    line.add(Ink::Plain, &format!("; {when}; next: {next}")).wrap(2)
}

/// Text in which no line ends before a per cent sign.
fn figures(line: Line, text: &str) -> Line {
    let mut parts = text.split(" %");
    let line = line.add(Ink::Plain, parts.next().unwrap_or_default());
    parts.fold(line, |line, part| line.glued(Ink::Plain, " %").add(Ink::Plain, part))
}

/// Whole per cents, which sum to 100; what has less than half of one is left out.
fn parts(rows: &[Explained]) -> String {
    let percents = apportion(&rows.iter().map(|row| row.ns).collect::<Vec<_>>(), 100);
    let (mut found, mut own, mut unjudged) = (Vec::new(), States::default(), States::default());
    let mut idle = 0;
    for (row, percent) in rows.iter().zip(percents).filter(|(_, percent)| *percent > 0) {
        match &row.by {
            ExplainedBy::Finding(finding) => found.push(format!("{percent} % by {}", finding + 1)),
            ExplainedBy::OwnWork(state) => own.add(*state, percent),
            ExplainedBy::NotJudged { state: State::Idle, .. } => idle += percent,
            ExplainedBy::NotJudged { state, .. } => unjudged.add(*state, percent),
        }
    }
    let idle = if (1..100).contains(&idle) { format!("{idle} % waiting for work") } else { String::new() };
    let parts = [found.join(", "), own.text("own work"), idle, unjudged.text("not judged")];
    parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("; ")
}

/// Per cents by state, in the order in which they come.
#[derive(Default)]
struct States(Vec<(State, usize)>);

impl States {
    fn add(&mut self, state: State, percent: usize) {
        match self.0.iter_mut().find(|(known, _)| *known == state) {
            Some((_, sum)) => *sum += percent,
            None => self.0.push((state, percent)),
        }
    }

    /// `20 % own work (user 18 %, kernel 2 %)`.
    fn text(&self, name: &str) -> String {
        let sum: usize = self.0.iter().map(|(_, percent)| percent).sum();
        match &self.0[..] {
            [] => String::new(),
            [(state, _)] => format!("{sum} % {name} ({})", words::state(*state)),
            all => {
                let each = all.iter().map(|(state, percent)| format!("{} {percent} %", words::state(*state)));
                format!("{sum} % {name} ({})", each.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_cents_of_a_page_sum_to_a_hundred() {
        let row = |by, ns| Explained { by, ns };
        let own = ExplainedBy::OwnWork;
        let unjudged = |state| ExplainedBy::NotJudged { state, waits: None };
        let rows = [
            row(ExplainedBy::Finding(0), 6150),
            row(ExplainedBy::Finding(1), 900),
            row(own(State::User), 1790),
            row(own(State::Kernel), 210),
            row(unjudged(State::Network), 500),
            row(unjudged(State::Network), 440),
            row(unjudged(State::Runqueue), 10),
        ];
        assert_eq!(
            parts(&rows),
            "62 % by 1, 9 % by 2; 20 % own work (user 18 %, kernel 2 %); 9 % not judged (network)"
        );
        assert_eq!(parts(&[row(own(State::User), 7)]), "100 % own work (user)");
        let waits = [row(unjudged(State::Idle), 2), row(unjudged(State::Sleep), 2)];
        assert_eq!(parts(&waits), "50 % waiting for work; 50 % not judged (sleep)");
        assert_eq!(parts(&waits[..1]), "");
        assert_eq!(parts(&[]), "");
    }
}
