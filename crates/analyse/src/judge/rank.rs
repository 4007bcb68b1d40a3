//! Which findings are worth a person's time, and in which order.
//!
//! A finding counts if its change may save a twentieth of the run: below that the next run differs
//! by as much by chance. One whose cause is the consequence of another that was found is named
//! there, and does not stand for itself: what both save is the same time. What saves most for
//! certain comes first, and if that is no twentieth of any, what may save most, an assumed factor
//! last; of a whole run what saves no wall clock, but CPU time only, comes last.

use super::Evidence;
use super::causes::Cause;
use model::finding::{CauseName, Finding, RowRef, SavedTime, SavingBasis, Shared};
use model::sentence::Piece::{Ns as Time, NsBetween};
use model::{Ns, RuledOut, Seen, say};
use std::cmp::Reverse;

/// Less than this part of the whole is not worth a change.
const WORTH_PART: Ns = 20;

/// The findings in order, and those causes of which none is worth a change.
pub(super) fn ranked(
    evidence: &Evidence<'_>,
    found: Vec<Finding>,
) -> (Vec<Finding>, Vec<(CauseName, RuledOut)>) {
    let (mut worth, little): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|finding| is_worth(evidence, finding));
    let mut ruled_out: Vec<(CauseName, RuledOut)> = Vec::new();
    for finding in little {
        let named = |name: &CauseName| *name == finding.cause;
        if worth.iter().any(|found| named(&found.cause)) || ruled_out.iter().any(|(name, _)| named(name)) {
            continue;
        }
        let (figure, what) = match finding.saving.value() {
            Some(saving) => (NsBetween(saving.ns), say!("saved by the change")),
            None => (Time(finding.share_ns.hi), say!("of the time")),
        };
        let why = RuledOut::below(figure, what, Time(evidence.run.whole_ns() / WORTH_PART));
        ruled_out.push((finding.cause, why));
    }
    // What is certain and worth no change says nothing of the order.
    let order = |finding: &Finding| {
        let (lo, hi) = saves(finding);
        let lo = if lo >= evidence.run.whole_ns() / WORTH_PART { lo } else { 0 };
        (saves_cpu_only(evidence, finding), Reverse(lo), is_assumed(finding), Reverse(hi))
    };
    worth.sort_by_key(order);
    let mut findings = explained(evidence, worth);
    share(evidence, &mut findings);
    (findings, ruled_out)
}

/// Says of each finding which one above it saves most of the same time. A saving is that of one
/// change alone, and so two of them may be of the same time: where they are larger together than
/// all that there is, or their waits behind other programs larger than these all are. What is no
/// twentieth is not worth a word.
fn share(evidence: &Evidence<'_>, findings: &mut [Finding]) {
    let behind_ns = evidence.behind_others_ns().unwrap_or(0);
    let beyond = |one: Ns, other: Ns, all: Ns| (one + other).saturating_sub(all);
    for at in 1..findings.len() {
        let (above, rest) = findings.split_at_mut(at);
        if saves_cpu_only(evidence, &rest[0]) {
            continue;
        }
        let Seen::Value(saving) = &mut rest[0].saving else { continue };
        let with = |(finding, other): (usize, &Finding)| {
            let other = other.saving.value().filter(|other| other.of == saving.of)?;
            let of_all_ns = beyond(other.ns.lo, saving.ns.lo, evidence.run.whole_ns());
            let queued_ns = beyond(other.queued_ns, saving.queued_ns, behind_ns);
            let ns = of_all_ns.max(queued_ns).min(other.ns.lo).min(saving.ns.lo);
            Some(Shared { finding, ns })
        };
        let most = above.iter().enumerate().filter_map(with).max_by_key(|shared| shared.ns);
        saving.shared =
            most.filter(|shared| shared.ns > 0 && shared.ns >= evidence.run.whole_ns() / WORTH_PART);
    }
}

/// Whether the run itself gets no shorter.
fn saves_cpu_only(evidence: &Evidence<'_>, finding: &Finding) -> bool {
    evidence.run.window.is_none() && finding.saving.value().is_some_and(|saving| saving.of == SavedTime::Cpu)
}

/// Whether it is by a factor that nobody sees from outside: then its high end says little.
fn is_assumed(finding: &Finding) -> bool {
    finding.saving.value().is_some_and(|saving| saving.known == SavingBasis::Assumed)
}

/// At least, and at most.
fn saves(finding: &Finding) -> (Ns, Ns) {
    finding.saving.value().map_or((0, 0), |saving| (saving.ns.lo, saving.ns.hi))
}

fn is_worth(evidence: &Evidence<'_>, finding: &Finding) -> bool {
    let enough = |ns: Ns| ns > 0 && ns >= evidence.run.whole_ns() / WORTH_PART;
    match finding.saving.value() {
        Some(saving) if saving.of == SavedTime::Wall => enough(saving.ns.hi),
        // Threads of a window do their work side by side.
        Some(saving) => enough(saving.ns.hi),
        None => enough(finding.share_ns.hi),
    }
}

/// The findings that no other one explains, with the names of the others that they explain, also by
/// way of another one. A finding that saves less than half of what another one does is not its
/// reason.
fn explained(evidence: &Evidence<'_>, mut findings: Vec<Finding>) -> Vec<Finding> {
    let explains = |by: &Finding, other: &Finding| {
        let listed = Cause::named(&by.cause.id).map_or(&[][..], |cause| cause.explains);
        (listed.contains(&&*other.cause.id) || is_of_file_read_again(evidence, by, other))
            && saves(by).1.saturating_mul(2) >= saves(other).1
    };
    let of_each = |by: &Finding| -> Vec<usize> {
        (0..findings.len()).filter(|other| explains(by, &findings[*other])).collect()
    };
    let explained: Vec<Vec<usize>> = findings.iter().map(of_each).collect();
    let names: Vec<CauseName> = findings.iter().map(|finding| finding.cause.clone()).collect();
    for (at, finding) in findings.iter_mut().enumerate() {
        let mut left = explained[at].clone();
        while let Some(other) = left.pop() {
            if names[other] != finding.cause && !finding.explains.contains(&names[other]) {
                finding.explains.push(names[other].clone());
                left.extend(&explained[other]);
            }
        }
        finding.explains.sort_unstable();
    }
    let mut at = 0..;
    findings.retain(|_| at.next().is_some_and(|at| !explained.iter().any(|others| others.contains(&at))));
    findings
}

/// Whether one is that a file is read again and again, and the other that this file is asked for
/// again and again: who keeps what it has read need not open it either.
fn is_of_file_read_again(evidence: &Evidence<'_>, by: &Finding, other: &Finding) -> bool {
    let (RowRef::File(file), RowRef::Call(call)) = (by.place, other.place) else { return false };
    if other.cause.id != "metadata-calls" {
        return false;
    }
    let file = evidence.run.tables.files.value().and_then(|files| files.rows.get(file));
    let call = evidence.run.tables.syscalls.value().and_then(|rows| rows.get(call));
    let paths = call.and_then(|row| row.results.value()).and_then(|results| results.paths.as_ref());
    let most = paths.and_then(|paths| paths.most.first());
    file.zip(most).is_some_and(|(file, most)| !most.path.is_empty() && file.path.ends_with(&*most.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{behind_others, run};
    use model::coverage::Interval;
    use model::finding::{Saving, SavingBasis};
    use model::recording::Tier;
    use model::{RunQueue, State};

    const MS: Ns = 1_000_000;

    fn saving(id: &'static str, lo: Ns, hi: Ns) -> Finding {
        let saving = Saving {
            ns: Interval { lo, hi },
            of: SavedTime::Wall,
            part: (0.0, 1.0),
            known: SavingBasis::Assumed,
            queued_ns: 0,
            shared: None,
        };
        Finding {
            cause: CauseName::new(id, ""),
            place: RowRef::State(State::User),
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

    /// The order of two findings in a run of a second.
    fn order(findings: [Finding; 2]) -> Vec<String> {
        let run = run(&[(State::User, 1000 * MS)]);
        let profile = model::Profile::default();
        let (findings, _) = ranked(&Evidence::of(Tier::Bpf, &run, &profile), findings.into());
        findings.iter().map(|finding| finding.cause.id.to_string()).collect()
    }

    #[test]
    fn what_is_certain_comes_first_from_a_twentieth_on() {
        let others = |lo| [saving("a", lo, 100 * MS), saving("b", 0, 900 * MS)];
        assert_eq!(order(others(50 * MS)), ["a", "b"]);
        assert_eq!(order(others(49 * MS)), ["b", "a"]);
    }

    #[test]
    fn what_another_one_explains_is_named_with_that_one_also_by_way_of_a_third() {
        let run = run(&[(State::User, 1000 * MS)]);
        let profile = model::Profile::default();
        let evidence = Evidence::of(Tier::Bpf, &run, &profile);
        let of = |ids: [&'static str; 3], spawning_hi| {
            let his = [spawning_hi, 200 * MS, 150 * MS];
            let found = ids.iter().zip(his).map(|(id, hi)| saving(id, 60 * MS, hi)).collect();
            let rows = ranked(&evidence, found).0.into_iter();
            let row = |finding: Finding| {
                let explains = finding.explains.iter().map(|name| &*name.id).collect::<Vec<_>>();
                (finding.cause.id.to_string(), explains.join(" "))
            };
            rows.map(row).collect::<Vec<_>>()
        };
        let ids = ["process-spawning", "page-faults", "allocation"];
        let by_way = [("process-spawning".to_owned(), "allocation page-faults".to_owned())];
        assert_eq!(of(ids, 500 * MS), by_way);
        let apart = [("page-faults", "allocation"), ("process-spawning", "")]
            .map(|(id, of)| (id.to_owned(), of.to_owned()));
        assert_eq!(of(ids, 90 * MS), apart, "what saves less than half is not the reason");
    }

    #[test]
    fn two_savings_of_the_same_time_say_so_and_stay_what_each_is_alone() {
        let mut run = run(&[(State::User, 300 * MS), (State::Runqueue, 700 * MS)]);
        run.run_queue = behind_others(700 * MS).map(|queue| RunQueue { cpus_used: 0.3, ..queue });
        let profile = model::Profile::default();
        let evidence = Evidence::of(Tier::Bpf, &run, &profile);
        let of = |findings: &[(Ns, Ns)]| {
            let one = |(lo, queued_ns): &(Ns, Ns)| {
                let finding = saving("a", *lo, *lo);
                let queued_ns = *queued_ns;
                Finding { saving: finding.saving.map(|saving| Saving { queued_ns, ..saving }), ..finding }
            };
            let rows = ranked(&evidence, findings.iter().map(one).collect()).0;
            let row = |finding: &Finding| finding.saving.value().map(|saving| (saving.ns.lo, saving.shared));
            rows.iter().filter_map(row).collect::<Vec<_>>()
        };
        let shared = |finding, ns| Some(Shared { finding, ns });
        let all = of(&[(800 * MS, 0), (700 * MS, 700 * MS)]);
        assert_eq!(all, [(800 * MS, None), (700 * MS, shared(0, 500 * MS))], "a second is all there is");
        let all = of(&[(800 * MS, 650 * MS), (700 * MS, 700 * MS)]);
        assert_eq!(all, [(800 * MS, None), (700 * MS, shared(0, 650 * MS))], "both have that of the queue");
        let all = of(&[(700 * MS, 700 * MS), (200 * MS, 150 * MS), (100 * MS, 0)]);
        assert_eq!(all[1..], [(200 * MS, shared(0, 150 * MS)), (100 * MS, None)]);
        assert_eq!(of(&[(700 * MS, 700 * MS), (300 * MS, 49 * MS)])[1].1, None, "too little for a word");
    }

    #[test]
    fn where_nothing_is_certain_an_assumed_factor_comes_last() {
        let mut bounded = saving("a", 0, 100 * MS);
        bounded.saving = bounded.saving.map(|saving| Saving { known: SavingBasis::Bounded, ..saving });
        assert_eq!(order([saving("b", 49 * MS, 900 * MS), bounded.clone()]), ["a", "b"]);
        assert_eq!(order([saving("b", 50 * MS, 900 * MS), bounded]), ["b", "a"]);
    }
}
