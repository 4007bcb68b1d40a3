//! A result that was kept, whole again: it says what it said when it was made.
//!
//! What its version did not keep is made from its tables, by today's rules, as far as these have
//! it: what bounds the program, but not its causes.

use crate::judge;
use model::account::DoesNotClose;
use model::coverage::Interval;
use model::finding::{CauseName, Finding, Learnt, RowRef, SavedTime, Saving, SavingBasis};
use model::run::{FindingRow, RuledOutRow, WaitRow};
use model::sentence::{Piece, Sentence};
use model::{Diagnosis, KeptRun, Ns, Prediction, Profile, Run, RunResult, Seen};

/// Why a kept result cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Changed {
    /// Its account does not close.
    #[error(transparent)]
    Account(#[from] DoesNotClose),
    /// A finding points to a row that is not there, a row to a frame that its stack does not have,
    /// or a cause has a name that none has.
    #[error("its findings name causes or rows that there cannot be")]
    Rows,
}

/// What older results lack.
const OLDER: &str = "made by an older dwell: its findings are that version's; own code is known only where stacks of waits \
                     show it";
const OLDEST: &str = "made by an older dwell, which kept no findings: these are today's, without stacks";

/// The result as it was made.
///
/// # Errors
/// Somebody changed it since.
pub fn whole(kept: KeptRun) -> Result<RunResult, Changed> {
    let KeptRun { mut run, diagnosis, path_over_time, mut profile, addresses, prediction, .. } = kept;
    run.schema = run.promise();
    run.closes()?;
    let words = (kept.findings, kept.ruled_out, kept.not_looked_for);
    let diagnosis = match diagnosis {
        Some(diagnosis) => diagnosis,
        None => older(&mut run, &mut profile, &prediction, words),
    };
    if !diagnosis.is_sound(&run) || !run.waits.iter().all(has_own_frame) {
        return Err(Changed::Rows);
    }
    Ok(RunResult { run, diagnosis, path_over_time, profile, addresses, prediction })
}

/// Whether the frame marked as the program's own is one of its stack.
fn has_own_frame(wait: &WaitRow) -> bool {
    let is_in = |at| wait.stack.value().is_some_and(|stack| at < stack.len());
    wait.own_frame.is_none_or(is_in)
}

type Words = (Seen<Vec<FindingRow>>, Seen<Vec<RuledOutRow>>, Seen<Vec<RuledOutRow>>);

/// What a result of an older version means: what that found, or what is found today where it kept
/// no findings.
fn older(
    run: &mut Run,
    profile: &mut Seen<Profile>,
    prediction: &Seen<Prediction>,
    (findings, ruled_out, unavailable): Words,
) -> Diagnosis {
    let judged = match profile {
        Seen::Value(profile) => judge::judge(run.tier(), run, profile, prediction),
        _ => judge::judge(run.tier(), run, &mut Profile::NONE.clone(), prediction),
    };
    let Seen::Value(findings) = findings else {
        if profile.value().is_none() {
            run.coverage.notes.insert(0, OLDEST.to_owned());
        }
        return judged;
    };
    run.coverage.notes.insert(0, OLDER.to_owned());
    let whole_ns = run.whole_ns();
    let rows = |rows: Seen<Vec<RuledOutRow>>| rows.value().cloned().unwrap_or_default();
    Diagnosis {
        findings: findings.iter().map(|row| finding(row, whole_ns)).collect(),
        either: false,
        base_rate: None,
        ruled_out: rows(ruled_out)
            .into_iter()
            .map(|row| (cause(&row.cause), sentence(&row.why).into()))
            .collect(),
        explained: Seen::default(),
        unavailable: rows(unavailable).into_iter().map(|row| (cause(&row.cause), row.why)).collect(),
        ..judged
    }
}

fn finding(row: &FindingRow, whole_ns: Ns) -> Finding {
    let ns = |part: f64| (part.clamp(0.0, 1.0) * whole_ns as f64) as Ns;
    let sentences = |texts: &[String]| texts.iter().map(|text| sentence(text)).collect();
    let part = row.part.value().map_or((0.0, 1.0), |part| (part.lo, part.hi));
    let saving = |saved: &Interval| Saving {
        ns: *saved,
        of: SavedTime::named(&row.saved).unwrap_or(SavedTime::Wall),
        part,
        known: SavingBasis::named(&row.known).unwrap_or(SavingBasis::Assumed),
        queued_ns: 0,
        shared: row.shared,
        learnt: row.structure_ns.zip(row.expected_ns).map(|(structure, expected_ns)| Learnt {
            beside_own_ns: 0,
            structure,
            expected_ns,
            families: row.families.unwrap_or_default(),
        }),
    };
    let place = row.points_to.as_ref().and_then(|to| RowRef::named(&to.table, to.row?));
    Finding {
        cause: cause(&row.cause),
        place: place.unwrap_or(RowRef::Run),
        what: sentence(&row.place),
        change: sentence(&row.action),
        share_ns: Interval { lo: ns(row.share.lo), hi: ns(row.share.hi) },
        saving: row.saving_ns.as_ref().map(saving),
        evidence: sentences(&row.evidence),
        assumes: sentences(&row.assumptions),
        verify: sentences(&row.verify),
        explains: row.explains.iter().map(|id| cause(id)).collect(),
        belief: row.belief,
    }
}

/// A cause of the catalogue, or one that this version does not know.
fn cause(id: &str) -> CauseName {
    let known = judge::causes::ALL.iter().map(|cause| &cause.name).find(|name| name.id == id);
    known.cloned().unwrap_or_else(|| CauseName { id: id.to_owned().into(), title: id.to_owned().into() })
}

/// Words that somebody may have changed.
fn sentence(text: &str) -> Sentence {
    Sentence(vec![Piece::Name(text.to_owned())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples;
    use model::run::{Ends, RowOf};
    use model::{Explained, ExplainedBy, Explanation, Reason, State, Step};

    fn row() -> FindingRow {
        FindingRow {
            cause: "of-tomorrow".into(),
            share: Ends { lo: 0.5, hi: 2.0 },
            saving_ns: Seen::Value(Interval { lo: 100, hi: 200 }),
            saved: "wall".into(),
            part: Seen::Value(Ends { lo: 0.1, hi: 0.2 }),
            known: "bounded".into(),
            place: "it waits".into(),
            points_to: Some(RowOf { table: "waits".into(), row: Some(0) }),
            action: "do not".into(),
            evidence: vec!["7 waits".into()],
            assumptions: Vec::new(),
            verify: Vec::new(),
            explains: vec!["hot-code".into()],
            shared: None,
            probed: None,
            expected_ns: None,
            structure_ns: None,
            families: None,
            belief: None,
        }
    }

    fn kept(findings: Seen<Vec<FindingRow>>) -> KeptRun {
        let mut run = samples::run(&[(State::Lock, 1000)]);
        run.path = vec![Step {
            pid: 1,
            tid: 1,
            process: "program".into(),
            state: State::Lock,
            reason: Reason::None,
            ns: 1000,
            count: 1,
            together: None,
        }];
        run.waits = vec![samples::wait(State::Lock, model::WaitTarget::TimeLimit, &[])];
        KeptRun {
            base_rate: None,
            run,
            findings,
            ruled_out: Seen::Value(vec![RuledOutRow {
                cause: "small-io".into(),
                why: "few".into(),
                threshold: None,
            }]),
            not_looked_for: Seen::Value(Vec::new()),
            explained: Seen::default(),
            open_question: None,
            diagnosis: None,
            path_over_time: Vec::new(),
            profile: Seen::unseen("not kept"),
            addresses: Vec::new(),
            prediction: Seen::unseen("not kept"),
        }
    }

    #[test]
    fn an_older_result_says_what_it_found_then() {
        let result = whole(kept(Seen::Value(vec![row()]))).expect("it is sound");
        let [finding] = &result.diagnosis.findings[..] else { panic!("{:?}", result.diagnosis) };
        assert_eq!((&*finding.cause.id, finding.place), ("of-tomorrow", RowRef::Wait(0)));
        assert_eq!(finding.explains[0].title, "hot code");
        assert_eq!(finding.share_ns, Interval { lo: 500, hi: 1000 });
        assert_eq!(finding.saving.value().expect("a saving").ns, Interval { lo: 100, hi: 200 });
        assert_eq!(result.diagnosis.ruled_out.len(), 1, "only what it ruled out");
        assert_eq!(result.run.coverage.notes, [OLDER]);
        let oldest = whole(kept(Seen::unseen("causes were not looked for"))).expect("it is sound");
        assert!(oldest.diagnosis.ruled_out.len() > 1 && oldest.run.coverage.notes == [OLDEST]);
    }

    #[test]
    fn what_was_changed_is_refused() {
        let forged = |change: &dyn Fn(&mut KeptRun)| {
            let mut kept = kept(Seen::Value(vec![row()]));
            kept.diagnosis = Some(whole(kept.clone()).expect("it is sound").diagnosis);
            assert!(whole(kept.clone()).is_ok());
            change(&mut kept);
            whole(kept)
        };
        let place = |kept: &mut KeptRun| kept.diagnosis.as_mut().unwrap().findings[0].place = RowRef::Wait(1);
        assert!(matches!(forged(&place), Err(Changed::Rows)));
        let name = |kept: &mut KeptRun| {
            kept.diagnosis.as_mut().unwrap().findings[0].cause.id = "\u{1b}[31m".into();
        };
        assert!(matches!(forged(&name), Err(Changed::Rows)));
        assert!(matches!(forged(&|kept| kept.run.path[0].ns = 7), Err(Changed::Account(_))));
        let explained = |kept: &mut KeptRun, by, ns| {
            let row = Explained { by, ns };
            let explanation = Explanation::new(ns, vec![row]).expect("it closes");
            kept.diagnosis.as_mut().unwrap().explained = Seen::Value(explanation);
        };
        let longer = |kept: &mut KeptRun| explained(kept, ExplainedBy::OwnWork(State::User), 1001);
        assert!(matches!(forged(&longer), Err(Changed::Rows)));
        let nobody = |kept: &mut KeptRun| explained(kept, ExplainedBy::Finding(1), 1000);
        assert!(matches!(forged(&nobody), Err(Changed::Rows)));
        let places = |kept: &mut KeptRun| kept.run.places = Seen::Value(Vec::new());
        assert!(matches!(forged(&places), Err(Changed::Account(_))));
        let row = |kept: &mut KeptRun| {
            kept.findings = Seen::Value(vec![FindingRow {
                points_to: Some(RowOf { table: "lines".into(), row: Some(3) }),
                ..row()
            }])
        };
        let of_words = |kept: &mut KeptRun| {
            row(kept);
            kept.diagnosis = None
        };
        assert!(matches!(forged(&of_words), Err(Changed::Rows)));
        assert!(matches!(forged(&|kept| kept.run.waits[0].own_frame = Some(9)), Err(Changed::Rows)));
    }
}
