//! Which findings are worth a person's time, and in which order.
//!
//! A finding counts if its change may save a twentieth of the run: below that the next run differs
//! by as much by chance. One whose cause is the consequence of another that was found is named
//! there, and does not stand for itself: what both save is the same time. What saves most for
//! certain comes first, and if that is no twentieth of any, what may save most, an assumed factor
//! last; of a whole run what saves no wall clock, but CPU time only, comes last.

use super::Evidence;
use super::causes::Cause;
use model::finding::{CauseName, Finding, Known, SavedTime};
use model::sentence::Piece::NsBetween;
use model::{Ns, Sentence, say};
use std::cmp::Reverse;

/// Less than this part of the whole is not worth a change.
const WORTH_PART: Ns = 20;

/// The findings in order, and those causes of which none is worth a change.
pub(super) fn ranked(
    evidence: &Evidence<'_>,
    found: Vec<Finding>,
) -> (Vec<Finding>, Vec<(CauseName, Sentence)>) {
    let (mut worth, little): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|finding| is_worth(evidence, finding));
    let mut ruled_out: Vec<(CauseName, Sentence)> = Vec::new();
    for finding in little {
        let named = |name: CauseName| name == finding.cause;
        if worth.iter().any(|found| named(found.cause)) || ruled_out.iter().any(|(name, _)| named(*name)) {
            continue;
        }
        let why = match finding.saving.value() {
            Some(saving) => say!("it is there, and its change would save ", NsBetween(saving.ns)),
            None => say!("it is there, with less than a twentieth of the time"),
        };
        ruled_out.push((finding.cause, why));
    }
    // What is certain and worth no change says nothing of the order.
    let order = |finding: &Finding| {
        let (lo, hi) = saves(finding);
        let lo = if lo >= evidence.whole_ns / WORTH_PART { lo } else { 0 };
        (saves_cpu_only(evidence, finding), Reverse(lo), is_assumed(finding), Reverse(hi))
    };
    worth.sort_by_key(order);
    (explained(worth), ruled_out)
}

/// Whether the run itself gets no shorter.
fn saves_cpu_only(evidence: &Evidence<'_>, finding: &Finding) -> bool {
    !evidence.window && finding.saving.value().is_some_and(|saving| saving.of == SavedTime::Cpu)
}

/// Whether it is by a factor that nobody sees from outside: then its high end says little.
fn is_assumed(finding: &Finding) -> bool {
    finding.saving.value().is_some_and(|saving| saving.known == Known::Assumed)
}

/// At least, and at most.
fn saves(finding: &Finding) -> (Ns, Ns) {
    finding.saving.value().map_or((0, 0), |saving| (saving.ns.lo, saving.ns.hi))
}

fn is_worth(evidence: &Evidence<'_>, finding: &Finding) -> bool {
    let enough = |ns: Ns| ns > 0 && ns >= evidence.whole_ns / WORTH_PART;
    match finding.saving.value() {
        Some(saving) if saving.of == SavedTime::Wall => enough(saving.ns.hi),
        // Threads of a window do their work side by side.
        Some(saving) => enough(saving.ns.hi),
        None => enough(finding.share_ns.hi),
    }
}

/// Those that no other one explains, with the names of those that they explain. What saves less
/// than half of what another one does is not the reason of that.
fn explained(mut findings: Vec<Finding>) -> Vec<Finding> {
    let all: Vec<(CauseName, Ns)> =
        findings.iter().map(|finding| (finding.cause, saves(finding).1)).collect();
    let explains = |(name, ns): (CauseName, Ns), (other, other_ns): (CauseName, Ns)| {
        let ids = Cause::named(name.id).map_or(&[][..], |cause| cause.explains);
        ids.contains(&other.id) && ns.saturating_mul(2) >= other_ns
    };
    for (finding, own) in findings.iter_mut().zip(&all) {
        let explained = all.iter().filter(|other| explains(*own, **other)).map(|(name, _)| *name);
        finding.explains = explained.collect();
        finding.explains.dedup();
    }
    let mut own = all.iter();
    findings.retain(|_| {
        let own = *own.next().expect("one for each");
        !all.iter().any(|other| explains(*other, own))
    });
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::run;
    use model::coverage::Interval;
    use model::finding::{Known, Place, Saving};
    use model::recording::Tier;
    use model::{Seen, State};

    const MS: Ns = 1_000_000;

    fn saving(id: &'static str, lo: Ns, hi: Ns) -> Finding {
        let saving =
            Saving { ns: Interval { lo, hi }, of: SavedTime::Wall, part: (0.0, 1.0), known: Known::Assumed };
        Finding {
            cause: CauseName { id, title: "" },
            place: Place::State(State::User),
            what: say!(""),
            change: say!(""),
            share_ns: Interval { lo: hi, hi },
            saving: Seen::Value(saving),
            evidence: Vec::new(),
            assumes: Vec::new(),
            verify: Vec::new(),
            explains: Vec::new(),
        }
    }

    /// Of a run of a second.
    fn order(findings: [Finding; 2]) -> Vec<&'static str> {
        let run = run(&[(State::User, 1000 * MS)]);
        let profile = model::Profile::default();
        let (findings, _) = ranked(&Evidence::of(Tier::Bpf, &run, &profile), findings.into());
        findings.iter().map(|finding| finding.cause.id).collect()
    }

    #[test]
    fn what_is_certain_comes_first_from_a_twentieth_on() {
        let others = |lo| [saving("a", lo, 100 * MS), saving("b", 0, 900 * MS)];
        assert_eq!(order(others(50 * MS)), ["a", "b"]);
        assert_eq!(order(others(49 * MS)), ["b", "a"]);
    }

    #[test]
    fn where_nothing_is_certain_an_assumed_factor_comes_last() {
        let mut bounded = saving("a", 0, 100 * MS);
        bounded.saving = bounded.saving.map(|saving| Saving { known: Known::Bounded, ..saving });
        assert_eq!(order([saving("b", 49 * MS, 900 * MS), bounded.clone()]), ["a", "b"]);
        assert_eq!(order([saving("b", 50 * MS, 900 * MS), bounded]), ["b", "a"]);
    }
}
