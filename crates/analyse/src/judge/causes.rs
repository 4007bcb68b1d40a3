//! The causes that are looked for: a file for each, and its line in the registry.

mod allocation;
mod blocked_event_loop;
mod busy_wait;
mod connection_churn;
mod context_switching;
mod cpu_contention;
mod cpu_throttling;
pub(crate) mod delayed_ack;
mod disk_latency;
mod disk_throughput;
mod dns_lookups;
mod hot_code;
mod interpreter_lock;
mod lock_contention;
mod memory_latency;
mod memory_pressure;
mod metadata_calls;
mod network_throughput;
mod oversubscription;
mod page_faults;
pub(super) mod peers;
mod pipe_peer;
mod places;
mod pool_wait;
mod process_spawning;
mod repeated_reads;
mod serial_requests;
mod single_thread;
mod sleep_polling;
mod small_files;
mod small_io;
mod sync_writes;
mod syscall_overhead;
mod thread_spawning;
#[cfg(test)]
mod thresholds;
mod timeout;

use super::evidence::Evidence;
use super::signs::Sign;
use model::finding::{CauseName, Finding};
use model::recording::Tier;
use model::{Probe, RuledOut, Run, Seen, say};

/// All of them: of two that save the same, the first one comes first.
pub static ALL: &[&Cause] = &[
    &delayed_ack::CAUSE,
    &interpreter_lock::CAUSE,
    &lock_contention::CAUSE,
    &dns_lookups::CAUSE,
    &connection_churn::CAUSE,
    &network_throughput::CAUSE,
    &serial_requests::CAUSE,
    &pool_wait::CAUSE,
    &blocked_event_loop::CAUSE,
    &sync_writes::CAUSE,
    &small_files::CAUSE,
    &small_io::CAUSE,
    &metadata_calls::CAUSE,
    &syscall_overhead::CAUSE,
    &repeated_reads::CAUSE,
    &sleep_polling::CAUSE,
    &timeout::CAUSE,
    &disk_latency::CAUSE,
    &disk_throughput::CAUSE,
    &pipe_peer::CAUSE,
    &cpu_throttling::CAUSE,
    &memory_pressure::CAUSE,
    &process_spawning::CAUSE,
    &thread_spawning::CAUSE,
    &context_switching::CAUSE,
    &busy_wait::CAUSE,
    &oversubscription::CAUSE,
    &cpu_contention::CAUSE,
    &page_faults::CAUSE,
    &allocation::CAUSE,
    &single_thread::CAUSE,
    &memory_latency::CAUSE,
    &hot_code::CAUSE,
];

/// Something that takes time, and that a person can change or at least must know of.
#[derive(Debug)]
pub struct Cause {
    /// Its name.
    pub name: CauseName,
    /// The tiers in which its signs can be observed.
    pub tiers: &'static [Tier],
    /// The manual.
    pub manual: Manual,
    /// Causes that are consequences of this one where both are found, by their names for programs.
    pub explains: &'static [&'static str],
    /// What shows of it where the full rule cannot be applied.
    pub(super) signs: &'static [Sign],
    /// A fix that can be imposed on the program from outside.
    pub probe: Option<Imposed>,
    /// Looks for the signs, where the tier allows it.
    check: fn(&Evidence<'_>) -> Outcome,
}

/// A probe, and of which findings of its cause it imposes what they say is missing.
#[derive(Debug)]
pub struct Imposed {
    /// The probe.
    pub probe: Probe,
    /// Whether it does so for this finding.
    pub fits: fn(&Finding, &Run) -> bool,
}

/// What `dwell explain` says of a cause: full sentences, in Markdown without headings.
#[derive(Debug)]
pub struct Manual {
    /// What the program does.
    pub what: &'static str,
    /// Why that is slow.
    pub why: &'static str,
    /// The rule that finds it, with its thresholds and the reason of each.
    pub rule: &'static str,
    /// What else shows the same signs.
    pub else_it_could_be: &'static str,
    /// What to change.
    pub change: &'static str,
    /// Which part of the time goes, and how that is known: counted, bounded or assumed.
    pub part: &'static str,
    /// What the predicted saving takes for granted.
    pub assumes: &'static str,
}

/// What became of looking for a cause.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The cause was found, once or more.
    Found(Vec<Finding>),
    /// The cause is not there, for this reason.
    RuledOut(RuledOut),
    /// Nothing can be told, for this reason.
    Unavailable(String),
}

impl Outcome {
    /// Found where there are findings, else ruled out for this reason.
    fn of(findings: impl IntoIterator<Item = Finding>, why_not: RuledOut) -> Self {
        let findings: Vec<Finding> = findings.into_iter().collect();
        if findings.is_empty() { Outcome::RuledOut(why_not) } else { Outcome::Found(findings) }
    }

    /// What `look` finds in a table, if it was observed.
    fn of_table<T>(table: &Seen<Vec<T>>, look: impl FnOnce(&[T]) -> Self) -> Self {
        match table {
            Seen::Value(rows) => look(rows),
            Seen::Absent => Outcome::RuledOut(say!("nothing of the kind was seen").into()),
            Seen::Unseen(why) => Outcome::Unavailable(why.clone()),
        }
    }
}

impl Cause {
    /// Looks for it.
    pub fn look_for(&self, evidence: &Evidence<'_>) -> Outcome {
        if self.tiers.contains(&evidence.tier) {
            (self.check)(evidence)
        } else {
            Outcome::Unavailable(self.needs_another_source(evidence.tier))
        }
    }

    /// `needs bpf or perf, and this run used proc`.
    fn needs_another_source(&self, used: Tier) -> String {
        let needed: Vec<&str> = self.tiers.iter().map(|tier| tier.name()).collect();
        format!("needs {}, and this run used {}", needed.join(" or "), used.name())
    }

    /// The cause of this name.
    pub fn named(id: &str) -> Option<&'static Cause> {
        ALL.iter().find(|cause| cause.name.id == id).copied()
    }
}

impl Manual {
    /// Its paragraphs, each with its heading.
    pub fn paragraphs(&self) -> [(&'static str, &'static str); 7] {
        [
            ("What it is", self.what),
            ("Why it is slow", self.why),
            ("How it is found", self.rule),
            ("What else it could be", self.else_it_could_be),
            ("What to change", self.change),
            ("What it saves", self.part),
            ("What is assumed", self.assumes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_cause_has_a_name_of_its_own_and_says_what_it_is() {
        let ids: BTreeSet<&str> = ALL.iter().map(|cause| &*cause.name.id).collect();
        assert_eq!(ids.len(), ALL.len());
        for cause in ALL {
            let id = &*cause.name.id;
            assert!(id.chars().all(|char| char.is_ascii_lowercase() || char == '-'), "{id}");
            assert!(!cause.tiers.is_empty(), "{id}");
            for (heading, text) in cause.manual.paragraphs() {
                assert!(text.ends_with('.') && !text.contains(['|', '\n']), "{id}, {heading}: {text}");
            }
        }
    }

    #[test]
    fn a_cause_explains_others_and_none_explains_itself_in_turn() {
        for cause in ALL {
            for id in cause.explains {
                assert_ne!(*id, cause.name.id);
                let other = Cause::named(id);
                let in_turn = other.is_some_and(|other| other.explains.contains(&&*cause.name.id));
                assert!(!in_turn, "{id} and {} explain each other", cause.name.id);
            }
        }
    }
}
