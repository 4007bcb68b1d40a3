//! The rungs of the latency ladder: one file for each, or for a close family.
//!
//! A [`Rung`] describes what it measures and how, and gives [`Samples`]: raw times. It concludes
//! nothing: medians, plausibility and cache edges are in `analyse`, and unsafe code (mappings,
//! loops in assembly) is in `sys`. A rung cleans up whatever it starts or writes, also if it is
//! stopped early.
//!
//! To add a rung: a function that gives a [`Rung`] in a file of its group's directory, and its name
//! in [`all`].

mod allocator;
mod bench;
mod cpu;
mod files;
mod kernel;
mod language;
mod memory;
mod network;
mod run;
mod single;
#[cfg(test)]
mod testing;

pub use bench::Bench;
pub use files::can_make_files;
pub use host::machine::{cpu_name, machine};
pub use model::ladder::{LadderRequest, RungDescription, RungGroup, Samples, Unmeasured};
pub use run::{Listener, list, measure};

/// How a rung is measured: within the time and on the machine that the bench gives.
pub type Measure = Box<dyn Fn(&Bench) -> Result<Samples, Unmeasured>>;

/// One thing to measure.
pub struct Rung {
    /// Its description.
    pub about: RungDescription,
    /// Its share of the time, in parts: 1 for most, more if it varies or must be warmed up.
    pub parts: f64,
    /// Whether the cycle time is measured before and after it: for rungs bound by the core's or the
    /// memory's clock.
    pub watch_cycle: bool,
    /// Measures it.
    pub measure: Measure,
}

impl std::fmt::Debug for Rung {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rung").field("id", &self.about.id).finish_non_exhaustive()
    }
}

/// All rungs, in the order they are measured and shown. Those of hosts and directories depend on
/// what was asked.
pub fn all(asked: &LadderRequest) -> Vec<Rung> {
    let groups: [fn(&LadderRequest) -> Vec<Rung>; 7] = [
        cpu::rungs,
        memory::rungs,
        allocator::rungs,
        language::rungs,
        kernel::rungs,
        files::rungs,
        network::rungs,
    ];
    groups.iter().flat_map(|rungs| rungs(asked)).collect()
}

/// Whether a rung is requested: by its name (also without `@HOST`) or its group's, or without a
/// list.
pub fn wanted(about: &RungDescription, asked: &LadderRequest) -> bool {
    let plain = about.id.split('@').next().unwrap_or(&about.id);
    let meant = |name: &String| *name == about.id || name == plain || name == about.group.name();
    asked.only.is_empty() || asked.only.iter().any(meant)
}

/// Makes an [`RungDescription`] of plain words.
pub(crate) fn about(id: &str, group: RungGroup, what: &str) -> RungDescription {
    RungDescription {
        id: id.to_owned(),
        group,
        what: what.to_owned(),
        excludes: String::new(),
        method: String::new(),
        method_version: 1,
        source: String::new(),
        needs: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_rung_says_what_it_is_under_a_name_of_its_own() {
        let asked = LadderRequest {
            hosts: vec!["localhost".into()],
            dir: Some(".".into()),
            ..LadderRequest::default()
        };
        let rungs = all(&asked);
        let mut names = HashSet::new();
        for Rung { about, parts, .. } in &rungs {
            assert!(names.insert(about.id.clone()), "{} twice", about.id);
            assert!(
                about.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-@".contains(c))
            );
            for text in [&about.what, &about.excludes, &about.method, &about.source] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text:?}", about.id);
            }
            assert!(*parts > 0.0, "{}", about.id);
        }
        assert!(rungs.is_sorted_by_key(|rung| rung.about.group), "groups are in the order of the ladder");
    }

    #[test]
    fn rungs_are_asked_for_by_name_and_by_group() {
        let asked = |only: &[&str]| LadderRequest {
            only: only.iter().map(|&o| o.to_owned()).collect(),
            ..LadderRequest::default()
        };
        let rung = about("round-trip@db.example", RungGroup::Network, "a round trip to a host");
        for (only, is) in [
            (&[][..], true),
            (&["network"], true),
            (&["round-trip"], true),
            (&["l1", "round-trip@db.example"], true),
            (&["core", "round"], false),
        ] {
            assert_eq!(wanted(&rung, &asked(only)), is, "{only:?}");
        }
    }
}
