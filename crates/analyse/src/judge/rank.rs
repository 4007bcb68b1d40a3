//! Which findings are worth a person's time, and in which order.
//!
//! A finding counts if the structure of the run allows its change to save a twentieth: below that
//! the next run differs by as much by chance. One whose cause is the consequence of another that
//! was found is named there, and does not stand for itself: what both save is the same time. What
//! is expected to save most comes first: how likely the cause is, times the mean of what it saves,
//! both by what changes of other programs were measured to save. Of a whole run what saves no wall
//! clock, but CPU time only, comes after that. Own code comes last: any program that computes has
//! it, so it is what there is to change where nothing names a mistake.

use super::causes::Cause;
use super::evidence::{Evidence, WORTH_PART};
use super::server;
use crate::lab::{OF_CODE, OF_OTHERS};
use model::coverage::Interval;
use model::finding::{BaseRate, CauseName, Finding, Learnt, SavedTime, Saving, SavingBasis, Shared};
use model::recording::Tier;
use model::sentence::Piece::{Ns as Time, NsBetween};
use model::{Ns, RuledOut, Seen, State, say};
use std::cmp::Reverse;

/// The findings in order, and those causes of which none is worth a change.
pub(super) fn ranked(
    evidence: &Evidence<'_>,
    found: Vec<Finding>,
) -> (Vec<Finding>, Vec<(CauseName, RuledOut)>) {
    let (mut worth, little): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|finding| evidence.is_worth(finding));
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
    for finding in &mut worth {
        learn(evidence, finding);
    }
    worth.sort_by_cached_key(|finding| {
        let is_own_code = finding.cause.id == OF_CODE;
        (is_own_code, saves_cpu_only(evidence, finding), Reverse(expected_ns(evidence, finding)))
    });
    (explained(specific_first(worth)), ruled_out)
}

/// The same with a finding that counts all that processes do behind one that says what half of it
/// is or more. Own code is no answer, and nor is who has the CPUs.
fn specific_first(mut findings: Vec<Finding>) -> Vec<Finding> {
    let counts_all = |of: &Finding| matches!(&*of.cause.id, "process-spawning" | "single-thread");
    let names_none = |of: &Finding| counts_all(of) || matches!(&*of.cause.id, OF_CODE | OF_OTHERS);
    for at in (0..findings.len()).rev().filter(|at| counts_all(&findings[*at])).collect::<Vec<_>>() {
        let half_of_it = |of: &Finding| !names_none(of) && saves(of).1 * 2 >= saves(&findings[at]).1;
        if let Some(behind) = findings[at..].iter().rposition(half_of_it) {
            findings[at..=at + behind].rotate_left(1);
        }
    }
    findings
}

/// Whether the evidence does not tell which of the first two saves more: what is expected of them
/// differs by less than its standard error, since a cause was found in few families. Own code is
/// not compared: it is what is there otherwise.
pub(super) fn either(evidence: &Evidence<'_>, findings: &[Finding]) -> bool {
    let [first, second, ..] = findings else { return false };
    let is_comparable =
        second.cause.id != OF_CODE && saves_cpu_only(evidence, first) == saves_cpu_only(evidence, second);
    let expected = |finding: &Finding| {
        let (cause, known) = key(finding);
        let likely = finding.belief.unwrap_or_default();
        let ns = expected_ns(evidence, finding) as f64;
        (ns, ns / likely * evidence.measured.belief_error(cause, known))
    };
    let ((first_ns, first_error), (second_ns, second_error)) = (expected(first), expected(second));
    let is_measured = evidence.run.window.is_none();
    is_measured && is_comparable && (first_ns - second_ns).abs() < first_error.hypot(second_error)
}

/// Says of each finding which one above it saves most of the same time. A saving is that of one
/// change alone, and so two of them may be of the same time: where they are larger together than
/// all that there is. What is no twentieth is not worth a word.
pub(super) fn share(evidence: &Evidence<'_>, findings: &mut [Finding]) {
    for at in 1..findings.len() {
        let (above, rest) = findings.split_at_mut(at);
        if saves_cpu_only(evidence, &rest[0]) {
            continue;
        }
        let Seen::Value(saving) = &mut rest[0].saving else { continue };
        let with = |(finding, other): (usize, &Finding)| {
            let other = other.saving.value().filter(|other| other.of == saving.of)?;
            let (other_ns, ns) = (other.structure().lo, saving.structure().lo);
            let ns = (other_ns + ns).saturating_sub(evidence.run.whole_ns()).min(other_ns).min(ns);
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

/// What measured changes say of it: how likely it is, and what it saves of the wall clock. Of a
/// window none was measured.
fn learn(evidence: &Evidence<'_>, finding: &mut Finding) {
    let (cause, known) = key(finding);
    finding.belief = Some(evidence.measured.belief(cause, known));
    let structure =
        finding.saving.value().filter(|saving| saving.of == SavedTime::Wall).map(|saving| saving.ns);
    // Nor of a server, whose wall clock is up to who stops it.
    let of_wall = structure
        .filter(|_| server::port(evidence.run).is_none())
        .map(|structure| learnt(evidence, finding, structure));
    // Without switches not all of these waits are seen.
    let by_others = finding.cause.id == OF_OTHERS && evidence.tier == Tier::Bpf;
    if let (Some((mut ns, mut learnt)), Seen::Value(saving)) = (of_wall, &mut finding.saving) {
        if by_others {
            // Who has the CPUs instead does not make the program's own code shorter.
            ns = Interval { lo: ns.lo.min(saving.ns.hi), hi: ns.hi.min(saving.ns.hi) };
            learnt.expected_ns = learnt.expected_ns.min(saving.ns.hi);
        }
        (saving.ns, saving.learnt) = (ns, Some(learnt));
    }
}

/// What other programs saved of which nothing was found, where that is so of this run.
pub(super) fn base_rate(evidence: &Evidence<'_>, findings: &[Finding]) -> Option<BaseRate> {
    let is_of = findings.is_empty() && evidence.run.window.is_none();
    is_of.then(|| evidence.measured.base_rate(evidence.run.whole_ns())).flatten()
}

/// By what it is measured; where its saving is not known, nothing of it is seen.
fn key(finding: &Finding) -> (&str, SavingBasis) {
    let known = finding.saving.value().map_or(SavingBasis::Assumed, |saving| saving.known);
    (&finding.cause.id, known)
}

/// What its change is expected to save, as likely as it is. Where the structure does not bound it,
/// its part of the time does.
fn expected_ns(evidence: &Evidence<'_>, finding: &Finding) -> Ns {
    let of_share = || learnt(evidence, finding, Interval { lo: 0, hi: finding.share_ns.hi }).1.expected_ns;
    let expected_ns = finding.saving.value().map_or_else(of_share, Saving::expected_ns);
    (finding.belief.unwrap_or_default() * expected_ns as f64) as Ns
}

/// What measured changes took where the structure allows this.
fn learnt(evidence: &Evidence<'_>, finding: &Finding, structure: Interval) -> (Interval, Learnt) {
    // A sleep that the program asked for elsewhere stays.
    let asleep_ns = evidence.account_ns(|state| state == State::Sleep).saturating_sub(structure.hi);
    let beside_own_ns = evidence.beside_own_ns().saturating_sub(asleep_ns);
    let whole_ns = evidence.run.whole_ns();
    evidence.measured.saving(key(finding), structure, (beside_own_ns, asleep_ns), whole_ns)
}

/// What the structure of the run allows: at least, and at most.
fn saves(finding: &Finding) -> (Ns, Ns) {
    let structure = finding.saving.value().map(Saving::structure);
    structure.map_or((0, 0), |ns| (ns.lo, ns.hi))
}

/// The findings that no other one explains, with the names of the others that they explain, also by
/// way of another one. A finding that saves less than half of what another one does is not its
/// reason.
fn explained(mut findings: Vec<Finding>) -> Vec<Finding> {
    let explains = |by: &Finding, other: &Finding| {
        let listed = Cause::named(&by.cause.id).map_or(&[][..], |cause| cause.explains);
        listed.contains(&&*other.cause.id) && saves(by).1.saturating_mul(2) >= saves(other).1
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::measured::{Allowed, MeasuredChange, MeasuredChanges, Truth};
    use crate::judge::samples::run;
    use model::finding::RowRef;
    use model::recording::Tier;

    const MS: Ns = 1_000_000;

    fn saving(id: &'static str, lo: Ns, hi: Ns) -> Finding {
        let saving = Saving {
            ns: Interval { lo, hi },
            of: SavedTime::Wall,
            part: (0.0, 1.0),
            known: SavingBasis::Assumed,
            queued_ns: 0,
            shared: None,
            learnt: None,
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
            belief: None,
        }
    }

    /// Of each cause a family in which it was said first, right or wrong, and what was saved where
    /// 0.2 was allowed in both ways.
    fn measured(of: &[(&str, bool, f64)]) -> MeasuredChanges {
        let one = |(cause, right, saved): &(&str, bool, f64)| MeasuredChange {
            cause: (*cause).to_owned(),
            known: SavingBasis::Assumed,
            family: (*cause).to_owned(),
            first: true,
            truth: if *right { Truth::Right } else { Truth::Wrong },
            allowed: right.then_some(Allowed { place: 0.2, beside_own: 0.2 }),
            saved: right.then_some(*saved),
        };
        MeasuredChanges::of(of.iter().map(one).collect())
    }

    fn order_by(findings: [Finding; 2], measured: &MeasuredChanges) -> Vec<String> {
        let run = run(&[(State::User, 1000 * MS)]);
        let profile = model::Profile::default();
        let evidence = Evidence { measured, ..Evidence::of(Tier::Bpf, &run, &profile) };
        let (findings, _) = ranked(&evidence, findings.into());
        findings.iter().map(|finding| finding.cause.id.to_string()).collect()
    }

    #[test]
    fn what_is_expected_to_save_most_comes_first_however_certain_a_little_is() {
        let found = || [saving("a", 60 * MS, 100 * MS), saving("b", 0, 900 * MS)];
        assert_eq!(order_by(found(), &MeasuredChanges::default()), ["b", "a"]);
        let wrong = measured(&[("b", false, 0.0), ("c", true, 0.2)]);
        assert_eq!(order_by(found(), &wrong), ["b", "a"], "a third of 338 ms, and half of 100 ms");
        let little = || [saving("a", 290 * MS, 600 * MS), saving("b", 0, 800 * MS)];
        assert_eq!(order_by(little(), &MeasuredChanges::default()), ["a", "b"]);
        let alike = || [saving("a", 290 * MS, 310 * MS), saving("b", 0, 800 * MS)];
        assert_eq!(order_by(alike(), &MeasuredChanges::default()), ["b", "a"]);
        assert_eq!(order_by(little(), &wrong), ["a", "b"], "it was no reason where it was found");
    }

    #[test]
    fn own_code_comes_last_and_an_order_that_is_not_known_is_said() {
        let of = |ids: [&'static str; 2], his: [Ns; 2]| {
            let run = run(&[(State::User, 1000 * MS)]);
            let profile = model::Profile::default();
            let none = MeasuredChanges::default();
            let evidence = Evidence { measured: &none, ..Evidence::of(Tier::Bpf, &run, &profile) };
            let found = ids.iter().zip(his).map(|(id, hi)| saving(id, 0, hi * MS)).collect();
            let (findings, _) = ranked(&evidence, found);
            let names: Vec<String> = findings.iter().map(|finding| finding.cause.id.to_string()).collect();
            (names.join(" "), either(&evidence, &findings))
        };
        assert_eq!(of([OF_CODE, "a"], [900, 60]), ("a hot-code".into(), false));
        assert_eq!(of(["a", "b"], [500, 480]), ("a b".into(), true));
        assert_eq!(of(["a", "b"], [800, 60]), ("a b".into(), false));
    }

    #[test]
    fn contention_saves_no_more_than_was_waited_where_switches_were_traced() {
        let run = run(&[(State::User, 800 * MS), (State::Runqueue, 200 * MS)]);
        let profile = model::Profile::default();
        let more = measured(&[(OF_OTHERS, true, 0.6), ("b", true, 0.6)]);
        let of = |tier| {
            let evidence = Evidence { measured: &more, ..Evidence::of(tier, &run, &profile) };
            let finding = ranked(&evidence, vec![saving(OF_OTHERS, 100 * MS, 200 * MS)]).0.remove(0);
            let saving = finding.saving.value().expect("it is known");
            (saving.ns.hi, saving.expected_ns())
        };
        assert_eq!(of(Tier::Bpf), (200 * MS, 200 * MS));
        assert!(of(Tier::Perf).0 > 200 * MS, "not all waits are seen");
    }

    #[test]
    fn an_interval_is_what_measured_changes_took_beside_what_the_run_allows() {
        let run = run(&[(State::User, 800 * MS), (State::Kernel, 200 * MS)]);
        let profile = model::Profile::default();
        let more = measured(&[("a", true, 0.6), ("b", true, 0.6)]);
        let evidence = Evidence { measured: &more, ..Evidence::of(Tier::Bpf, &run, &profile) };
        let findings = ranked(&evidence, vec![saving("a", 100 * MS, 200 * MS)]).0;
        let saving = findings[0].saving.value().expect("it is known");
        assert_eq!(saving.ns, Interval { lo: 600 * MS, hi: 600 * MS });
        assert_eq!(saving.structure(), Interval { lo: 100 * MS, hi: 200 * MS });
        assert_eq!(saving.learnt.map(|learnt| learnt.beside_own_ns), Some(200 * MS));
        assert_eq!(saving.expected_ns(), 600 * MS);
        let little = ranked(&evidence, vec![self::saving("a", 10 * MS, 49 * MS)]);
        assert!(little.0.is_empty() && little.1.len() == 1, "what counts is what the structure allows");
    }

    #[test]
    fn a_sleep_elsewhere_goes_with_no_finding() {
        let run = run(&[(State::Sleep, 800 * MS), (State::Lock, 100 * MS), (State::User, 100 * MS)]);
        let profile = model::Profile::default();
        let evidence = Evidence::of(Tier::Bpf, &run, &profile);
        let beside_own_ns = |hi: Ns| {
            let findings = ranked(&evidence, vec![saving("a", 0, hi)]).0;
            findings[0].saving.value().and_then(|saving| saving.learnt).map(|learnt| learnt.beside_own_ns)
        };
        assert_eq!(beside_own_ns(100 * MS), Some(200 * MS), "the lock, and as much of the sleep");
        assert_eq!(beside_own_ns(800 * MS), Some(900 * MS), "the sleep is what goes");
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
    fn what_processes_do_in_all_stands_behind_what_says_half_of_it() {
        let of = |hi| {
            let found = vec![saving("process-spawning", 0, 900 * MS), saving("syscall-overhead", 0, hi)];
            let findings = specific_first(found).into_iter();
            findings.map(|finding| finding.cause.id.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(450 * MS), "syscall-overhead process-spawning");
        assert_eq!(of(449 * MS), "process-spawning syscall-overhead");
    }

    #[test]
    fn two_savings_of_the_same_time_say_so_and_stay_what_each_is_alone() {
        let run = run(&[(State::User, 1000 * MS)]);
        let profile = model::Profile::default();
        let evidence = Evidence::of(Tier::Bpf, &run, &profile);
        let of = |findings: &[Ns]| {
            let mut rows = ranked(&evidence, findings.iter().map(|lo| saving("a", *lo, *lo)).collect()).0;
            share(&evidence, &mut rows);
            let row = |finding: &Finding| {
                finding.saving.value().map(|saving| (saving.structure().lo, saving.shared))
            };
            rows.iter().filter_map(row).collect::<Vec<_>>()
        };
        let shared = Some(Shared { finding: 0, ns: 500 * MS });
        let all = of(&[800 * MS, 700 * MS]);
        assert_eq!(all, [(800 * MS, None), (700 * MS, shared)], "a second is all there is");
        assert_eq!(of(&[700 * MS, 349 * MS])[1].1, None, "too little for a word");
    }
}
