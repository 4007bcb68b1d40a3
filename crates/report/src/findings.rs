//! Findings in words: the rows of the JSON, and the text of a sentence for any form of a report.

use crate::Look;
use crate::units::{bytes, count, counted, duration, duration_range, share_of_one, three_digits};
use model::coverage::Interval;
use model::finding::CauseName;
use model::run::{Ends, FindingRow, RowOf, RuledOutRow};
use model::sentence::{Piece, Sentence};
use model::{Finding, FindingsInWords, Found, Ns, RunResult};

/// What was found, with the names of the program as they are: whoever shows the text cleans it.
pub(crate) fn text(sentence: &Sentence, look: Look) -> String {
    sentence.0.iter().map(|piece| piece_text(piece, look)).collect()
}

fn piece_text(piece: &Piece, look: Look) -> String {
    match piece {
        Piece::Text(text) => text.clone().into_owned(),
        Piece::Name(name) => name.clone(),
        Piece::Ns(ns) => duration(*ns),
        Piece::NsBetween(Interval { lo, hi }) => duration_range(*lo, *hi, look.dash()),
        Piece::Count(of, thing) => counted(*of, thing),
        Piece::Number(number) => count(*number),
        Piece::Bytes(size) => bytes(*size),
        Piece::Share(share) => share_of_one(*share),
        Piece::Decimal(value) => three_digits(*value),
        Piece::Times(times) => format!("{times:.1}{}", look.times()),
    }
}

/// Text of JSON has all characters.
const JSON: Look = Look::PLAIN;

/// What a diagnosis found, in words.
pub fn in_words(result: &RunResult) -> FindingsInWords {
    let RunResult { run, diagnosis, .. } = result;
    let whole_ns = run.whole_ns();
    let mut findings: Vec<FindingRow> =
        diagnosis.findings.iter().map(|finding| row(finding, whole_ns)).collect();
    if let Some((at, probed)) = &diagnosis.probed
        && let Some(row) = findings.get_mut(*at)
    {
        row.probed = Some(probed.clone());
    }
    let row = |cause: &CauseName, why: String| RuledOutRow { cause: cause.id.clone().into_owned(), why };
    FindingsInWords {
        findings,
        ruled_out: diagnosis.ruled_out.iter().map(|(cause, why)| row(cause, text(why, JSON))).collect(),
        not_looked_for: diagnosis.unavailable.iter().map(|(cause, why)| row(cause, why.clone())).collect(),
    }
}

/// Of what was found when a recording was made, so many are named.
const FOUND_SHOWN: usize = 8;

/// Says that a recording was judged otherwise by the version of dwell that made it, `recorder`;
/// nothing where it found the same.
pub fn judged_anew(recorder: &str, then: &Found, now: &Found) -> Option<String> {
    let one = |(cause, saving): &(String, Option<Interval>)| match saving {
        Some(Interval { lo, hi }) => format!("{cause} (saves {})", duration_range(*lo, *hi, JSON.dash())),
        None => cause.clone(),
    };
    let found = match &*then.causes {
        [] => "no cause".to_owned(),
        causes => causes.iter().take(FOUND_SHOWN).map(one).collect::<Vec<_>>().join(", "),
    };
    (then != now).then(|| {
        let said = format!("dwell {recorder} found {found} when it recorded this");
        format!(
            "{}; the findings here are by today's rules",
            crate::clean::fit(&crate::clean(&said, true), 400, true)
        )
    })
}

fn row(finding: &Finding, whole_ns: Ns) -> FindingRow {
    let texts = |sentences: &[Sentence]| sentences.iter().map(|sentence| text(sentence, JSON)).collect();
    let part_of = |ns: Ns| ns as f64 / whole_ns.max(1) as f64;
    let saving = finding.saving.value();
    let (table, row) = finding.place.table();
    FindingRow {
        cause: finding.cause.id.clone().into_owned(),
        share: Ends { lo: part_of(finding.share_ns.lo), hi: part_of(finding.share_ns.hi) },
        saving_ns: finding.saving.as_ref().map(|saving| saving.ns),
        saved: saving.map_or("", |saving| saving.of.id()).to_owned(),
        part: finding.saving.as_ref().map(|saving| Ends { lo: saving.part.0, hi: saving.part.1 }),
        known: saving.map_or("", |saving| saving.known.id()).to_owned(),
        place: text(&finding.what, JSON),
        points_to: (!table.is_empty()).then(|| RowOf { table: table.to_owned(), row }),
        action: text(&finding.change, JSON),
        evidence: texts(&finding.evidence),
        assumptions: texts(&finding.assumes),
        verify: texts(&finding.verify),
        explains: finding.explains.iter().map(|cause| cause.id.clone().into_owned()).collect(),
        shared: saving.and_then(|saving| saving.shared),
        probed: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::say;

    #[test]
    fn a_sentence_has_its_figures_in_words() {
        let plain = Look { unicode: false, ..JSON };
        let sentence = say!(
            Piece::Name("fsync".into()),
            " waits ",
            Piece::NsBetween(Interval { lo: 1_000_000, hi: 2_000_000 }),
            " in ",
            Piece::Count(8004, "call".into()),
            " of ",
            Piece::Bytes(4096),
            ", ",
            Piece::Share(0.5),
            ", ",
            Piece::Times(1.5)
        );
        assert_eq!(text(&sentence, plain), "fsync waits 1.00-2.00 ms in 8,004 calls of 4.00 KiB, 50 %, 1.5x");
    }
}
