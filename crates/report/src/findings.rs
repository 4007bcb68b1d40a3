//! Findings in words: the rows of the JSON, and the text of a sentence for any form of a report.

use crate::Look;
use crate::units::{bytes, count, counted, duration, duration_range, exact, share_of_one, three_digits};
use model::coverage::Interval;
use model::finding::CauseName;
use model::run::{Ends, FindingRow, OpenQuestionRow, RowOf, RuledOutRow, ThresholdRow};
use model::sentence::{Piece, Sentence};
use model::{Finding, FindingsInWords, Found, Ns, OpenQuestion, RuledOut, RunResult, Threshold};

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
    let row = |cause: &CauseName, why: String, threshold: Option<ThresholdRow>| RuledOutRow {
        cause: cause.id.clone().into_owned(),
        why,
        threshold,
    };
    let ruled_out = diagnosis.ruled_out.iter();
    let unseen = diagnosis.unavailable.iter();
    FindingsInWords {
        findings,
        base_rate: diagnosis.base_rate,
        ruled_out: ruled_out
            .map(|(cause, why)| row(cause, why_not(why, JSON), why.threshold.as_ref().and_then(threshold)))
            .collect(),
        not_looked_for: unseen.map(|(cause, why)| row(cause, why.clone(), None)).collect(),
        explained: diagnosis.explained.as_ref().map(|explained| explained.rows().to_vec()),
        open_question: diagnosis
            .explained
            .value()
            .and_then(|explained| explained.open_question.as_ref())
            .map(open_row),
    }
}

/// Causes found when a recording was made that are named.
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
        let said = format!("dwell {recorder} found {found} when it made this recording");
        format!(
            "{}; the findings here follow the rules of this version",
            crate::clean::fit(&crate::clean(&said, true), 400, true)
        )
    })
}

/// Why a cause is ruled out: `0 hand-overs between its threads (1,000 needed)`.
pub(crate) fn why_not(why: &RuledOut, look: Look) -> String {
    let what = text(&why.what, look);
    let Some(threshold) = &why.threshold else { return what };
    let said = |figure: &Piece| format!("{} {what}", piece_text(figure, look));
    match threshold {
        Threshold::Below { figure, needed: Piece::Ns(ns) } => {
            format!("{}; below {} is not reported", said(figure), exact(*ns))
        }
        Threshold::Below { figure, needed } => {
            format!("{} ({} needed)", said(figure), piece_text(needed, look))
        }
        Threshold::FewSamples { figure, samples, needed } => {
            format!(
                "{}, but in only {} ({} needed)",
                said(figure),
                counted(*samples, "sample"),
                count(*needed)
            )
        }
        Threshold::Above { figure, allowed: Piece::Ns(ns) } => {
            format!("{} ({} at most)", said(figure), exact(*ns))
        }
        Threshold::Above { figure, allowed } => {
            format!("{} ({} at most)", said(figure), piece_text(allowed, look))
        }
    }
}

/// None where somebody put words in the place of figures.
fn threshold(of: &Threshold) -> Option<ThresholdRow> {
    let (Threshold::Below { figure, .. }
    | Threshold::FewSamples { figure, .. }
    | Threshold::Above { figure, .. }) = of;
    let (figure, unit) = number(figure)?;
    let unit = unit.to_owned();
    let row = ThresholdRow { figure, unit, needed: None, samples: None, needed_samples: None, allowed: None };
    Some(match of {
        Threshold::Below { needed, .. } => ThresholdRow { needed: Some(number(needed)?.0), ..row },
        Threshold::FewSamples { samples, needed, .. } => {
            ThresholdRow { samples: Some(*samples), needed_samples: Some(*needed), ..row }
        }
        Threshold::Above { allowed, .. } => ThresholdRow { allowed: Some(number(allowed)?.0), ..row },
    })
}

/// A figure as a number, and its unit. Of two ends it is the higher one.
fn number(figure: &Piece) -> Option<(f64, &'static str)> {
    Some(match figure {
        Piece::Ns(ns) | Piece::NsBetween(Interval { hi: ns, .. }) => (*ns as f64, "ns"),
        Piece::Count(number, _) | Piece::Number(number) => (*number as f64, "count"),
        Piece::Bytes(bytes) => (*bytes as f64, "bytes"),
        Piece::Share(share) => (*share, "share"),
        Piece::Decimal(value) | Piece::Times(value) => (*value, "ratio"),
        Piece::Text(_) | Piece::Name(_) => return None,
    })
}

fn open_row(open: &OpenQuestion) -> OpenQuestionRow {
    let OpenQuestion { known, when, next } = open;
    OpenQuestionRow { known: text(known, JSON), when: text(when, JSON), next: text(next, JSON) }
}

fn row(finding: &Finding, whole_ns: Ns) -> FindingRow {
    let texts = |sentences: &[Sentence]| sentences.iter().map(|sentence| text(sentence, JSON)).collect();
    let part_of = |ns: Ns| ns as f64 / whole_ns.max(1) as f64;
    let saving = finding.saving.value();
    let learnt = saving.and_then(|saving| saving.learnt);
    let (table, row) = finding.place.table();
    FindingRow {
        cause: finding.cause.id.clone().into_owned(),
        share: Ends { lo: part_of(finding.share_ns.lo), hi: part_of(finding.share_ns.hi) },
        saving_ns: finding.saving.as_ref().map(|saving| saving.ns),
        expected_ns: learnt.map(|learnt| learnt.expected_ns),
        structure_ns: learnt.map(|learnt| learnt.structure),
        families: learnt.map(|learnt| learnt.families),
        belief: finding.belief,
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
    fn why_a_cause_is_ruled_out_has_the_figure_and_what_it_fell_short_of() {
        let of = |why: RuledOut| (why_not(&why, JSON), why.threshold.as_ref().and_then(threshold));
        let allocator = || say!("of CPU time in the allocator");
        let (words, row) = of(RuledOut::few_samples(Piece::Share(0.86), allocator(), 7, 30));
        assert_eq!(words, "86 % of CPU time in the allocator, but in only 7 samples (30 needed)");
        let row = row.expect("a row");
        assert_eq!(
            (row.figure, &*row.unit, row.samples, row.needed_samples),
            (0.86, "share", Some(7), Some(30))
        );
        let others = say!("behind other programs");
        let (words, row) = of(RuledOut::below(Piece::Ns(7_690_000), others, Piece::Ns(20_000_000)));
        assert_eq!(words, "7.69 ms behind other programs; below 20 ms is not reported");
        assert_eq!(row.expect("a row").needed, Some(20_000_000.0));
        let hand_overs = Piece::Count(0, "hand-over".into());
        let (words, _) = of(RuledOut::below(hand_overs, say!("between its threads"), Piece::Number(1000)));
        assert_eq!(words, "0 hand-overs between its threads (1,000 needed)");
        let (words, row) =
            of(RuledOut::above(Piece::Bytes(65_536), say!("per hand-over"), Piece::Bytes(4096)));
        assert_eq!(words, "64.0 KiB per hand-over (4.00 KiB at most)");
        assert_eq!(row.expect("a row").allowed, Some(4096.0));
        assert_eq!(
            of(say!("no name server was asked").into()),
            ("no name server was asked".to_owned(), None)
        );
    }

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
