//! What a run's evidence means: what bounds the program, which limits were reached, which causes
//! show.
//!
//! Every threshold and every conclusion about a run is here, a file for each question; `report`
//! makes words of them. What a single wait was for is up to [`classify`](crate::classify), what the
//! time sums to up to the accounts.

mod allocators;
pub mod bound;
mod by_signs;
mod callers;
pub mod causes;
mod counters;
mod cpu_samples;
mod direct;
mod disk_reads;
pub(crate) mod doubts;
mod evidence;
mod explained;
mod fault_places;
mod file_calls;
#[cfg(test)]
mod file_samples;
mod group_limits;
mod held_writes;
mod imposed;
pub(crate) mod limits;
mod load_costs;
mod lock_functions;
pub mod measured;
mod metrics;
mod named;
mod own;
mod own_code;
mod predict;
pub mod probes;
mod processes;
mod rank;
mod results;
#[cfg(test)]
pub(crate) mod samples;
mod server;
mod shortfall;
mod signs;
mod slow_requests;
mod spins;
pub mod starved;
mod traffic;
mod yardstick;

use causes::{Cause, Outcome};
pub use evidence::Evidence;
use measured::MeasuredChanges;
use model::recording::Tier;
use model::{Diagnosis, Prediction, Profile, Run, Seen};

/// Judges a run whose tables are complete: marks own code in them, divides the account by it, and
/// concludes what it means.
pub fn judge(tier: Tier, run: &mut Run, profile: &mut Profile, prediction: &Seen<Prediction>) -> Diagnosis {
    judge_by(MeasuredChanges::shipped(), tier, run, profile, prediction)
}

/// The same by other changes of programs than those that dwell has with it.
pub fn judge_by(
    measured: &MeasuredChanges,
    tier: Tier,
    run: &mut Run,
    profile: &mut Profile,
    prediction: &Seen<Prediction>,
) -> Diagnosis {
    own::mark(run, profile);
    slow_requests::judge(run);
    let (places, folded) = own::places(run, profile);
    run.places = Seen::Value(places);
    run.folded.extend(folded);
    diagnose(&Evidence { measured, ..Evidence::of(tier, run, profile).with(prediction) })
}

/// What the evidence means.
pub fn diagnose(evidence: &Evidence<'_>) -> Diagnosis {
    let charges: Vec<_> = own_code::charges(evidence.profile).collect();
    let evidence = &Evidence { charges: Some(&charges), ..*evidence };
    let held = starved::of(evidence);
    let mut diagnosis = Diagnosis {
        kinds: bound::kinds(evidence.run.bound.shares, held, evidence.run.busy_ns()),
        mixed: bound::mixed(&evidence.run.bound),
        held_up_ns: bound::held_up_ns(evidence, held.own_ns),
        behind_own_ns: starved::behind_own_ns(evidence, held),
        serves_at: server::port(evidence.run),
        starved: starved::starved(evidence, held),
        kernel_work: bound::kernel_work(evidence),
        yardstick: yardstick::of(evidence),
        metrics: metrics::of(evidence),
        limits: group_limits::of(evidence),
        doubts: doubts::of(evidence),
        findings: Vec::new(),
        either: false,
        base_rate: None,
        explained: Seen::Absent,
        probed: None,
        ruled_out: Vec::new(),
        unavailable: Vec::new(),
    };
    let mut found = Vec::new();
    for cause in causes::ALL {
        match looked_for(evidence, cause) {
            Outcome::Found(_) if diagnosis.serves_at.is_some() && server::delays_the_end(&cause.name) => {
                diagnosis.ruled_out.push((cause.name.clone(), server::is_one()));
            }
            Outcome::Found(findings) => found.extend(findings),
            Outcome::RuledOut(why) => diagnosis.ruled_out.push((cause.name.clone(), why)),
            Outcome::Unavailable(why) => diagnosis.unavailable.push((cause.name.clone(), why)),
        }
    }
    let (mut findings, mut little) = rank::ranked(evidence, found);
    diagnosis.explained = explained::of(evidence, &findings);
    // What a server waits for is work.
    while diagnosis.serves_at.is_none()
        && let Some(why) = explained::outweighed(evidence.run, diagnosis.explained.value(), &findings)
    {
        let cause = findings.remove(0).cause;
        if !findings.iter().any(|other| other.cause == cause) {
            little.push((cause, why));
        }
        diagnosis.explained = explained::of(evidence, &findings);
    }
    rank::share(evidence, &mut findings);
    diagnosis.either = rank::either(evidence, &findings);
    diagnosis.base_rate = rank::base_rate(evidence, &findings);
    diagnosis.findings = findings;
    diagnosis.ruled_out.extend(little);
    diagnosis
}

/// What became of looking for a cause: by its full rule; where that finds nothing worth a change,
/// by its signs.
fn looked_for(evidence: &Evidence<'_>, cause: &Cause) -> Outcome {
    let outcome = cause.look_for(evidence);
    let found = |ruled_out| by_signs::found(evidence, &cause.name, cause.signs, ruled_out);
    let found = match &outcome {
        Outcome::Found(findings) if findings.iter().any(|finding| evidence.is_worth(finding)) => None,
        Outcome::Found(_) | Outcome::RuledOut(_) => found(true),
        Outcome::Unavailable(_) => found(false),
    };
    found.map_or(outcome, |found| Outcome::Found(vec![found]))
}
