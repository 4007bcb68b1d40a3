//! The list of the kinds of results that are kept, and how a result is read by its name.

use super::kind::{Kept, Kind};
use super::ladder::LadderResult;
use super::other_latency::OtherLatency;
use super::run::RunOutput;
use super::timings::TimingsResult;
use super::trend::TrendResult;
use super::wake::SheetResult;
use anyhow::bail;
use listing::CountedBlocks;
use model::WhatIf;
use model::compare::commands::Comparison;
use model::compare::lab::LabComparison;
use model::compare::ladder::LadderComparison;
use model::compare::runs::RunComparison;
use model::compare::sittings::Sittings;
use model::compare::timings::TimingsDiff;
use model::compare::wake::WakeComparison;
use model::doctor::Doctor;
use model::hits::Hits;
use model::lab::{LabQuiz, LabRun, LabScore};
use model::wake::Wakeups;
use model::wake::load::LoadRun;
use serde_json::Value;
use std::path::Path;

/// All kinds, as files of `--json` name them.
pub(crate) const KINDS: &[KindEntry] = &[
    entry::<RunOutput>(),
    entry::<Comparison>(),
    entry::<LadderResult>(),
    entry::<Wakeups>(),
    entry::<SheetResult>(),
    entry::<LoadRun>(),
    entry::<Doctor>(),
    entry::<LabRun>(),
    entry::<LabScore>(),
    entry::<LabQuiz>(),
    entry::<Hits>(),
    entry::<CountedBlocks>(),
    entry::<WhatIf>(),
    entry::<TrendResult>(),
    entry::<TimingsResult>(),
    entry::<OtherLatency>(),
    entry::<RunComparison>(),
    entry::<Sittings>(),
    entry::<LadderComparison>(),
    entry::<WakeComparison>(),
    entry::<LabComparison>(),
    entry::<TimingsDiff>(),
];

/// How results of a kind are read.
pub(crate) struct KindEntry {
    schemas: &'static [&'static str],
    read: fn(&Path, Value) -> anyhow::Result<Box<dyn Kept>>,
}

const fn entry<K: Kind>() -> KindEntry {
    KindEntry { schemas: K::SCHEMAS, read: |path, json| Ok(Box::new(K::read(path, json)?)) }
}

/// Reads a result by the name of its JSON.
///
/// # Errors
/// No kind has this name; or those of [`Kind::read`].
pub(crate) fn read(path: &Path, schema: &str, json: Value) -> anyhow::Result<Box<dyn Kept>> {
    match KINDS.iter().find(|kind| kind.schemas.contains(&schema)) {
        Some(kind) => (kind.read)(path, json),
        None => bail!(
            "{path:?} is a {schema:?}, which this version of dwell does not know\n\
             try: results of dwell run, attach, compare, ladder, wake, load, doctor, lab, diff"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_name_is_of_one_kind() {
        let names: Vec<_> = KINDS.iter().flat_map(|kind| kind.schemas).collect();
        assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len(), "{names:?}");
    }

    #[test]
    fn an_unknown_kind_is_named() {
        let error = read(Path::new("x.json"), "dwell.tree/7", Value::Null).err().unwrap().to_string();
        assert!(error.contains("dwell.tree/7") && error.contains("try: "), "{error}");
    }
}
