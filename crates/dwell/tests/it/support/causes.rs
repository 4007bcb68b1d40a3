//! What is claimed of the causes that a run shows.

use super::{Claims, Told};
use serde_json::Value;

/// The rows of a table of causes, each with its cause.
fn rows<'a>(told: &'a Told, of: &str) -> Vec<(&'a str, &'a Value)> {
    let rows = told.run[of].as_array().into_iter().flatten();
    rows.map(|row| (row["cause"].as_str().unwrap_or_default(), row)).collect()
}

/// The causes that were found, in their order.
fn found(told: &Told) -> Vec<&str> {
    rows(told, "findings").into_iter().map(|(cause, _)| cause).collect()
}

impl Claims {
    /// This cause comes first; its sentence has this in it, and its saving is one.
    pub(crate) fn first(&mut self, told: &Told, cause: &str, says: &str) {
        let findings = rows(told, "findings");
        self.equal("what comes first", findings.first().map(|(cause, _)| *cause), Some(cause));
        let Some((_, finding)) = findings.first() else { return };
        let place = finding["where"].as_str().unwrap_or_default();
        self.that(place.contains(says), format!("{says:?} is not in {place:?}"));
        let ends = [&finding["saving_ns"]["lo"], &finding["saving_ns"]["hi"]].map(Value::as_u64);
        let [Some(lo), Some(hi)] = ends else {
            return self.that(false, format!("no saving: {}", finding["saving_ns"]));
        };
        self.that(0 < hi && lo <= hi && hi <= told.wall(), format!("it saves {lo} to {hi} ns"));
    }

    /// This cause comes first, or after time that other programs had the CPUs for.
    pub(crate) fn among_first(&mut self, told: &Told, cause: &str) {
        let found = found(told);
        let place = found.iter().position(|found| *found == cause);
        let so = place == Some(0) || place == Some(1) && found[0] == "cpu-contention";
        self.that(so, format!("{cause} among {found:?}"));
    }

    /// This cause was looked for, or could not be, and is not claimed.
    pub(crate) fn not_found(&mut self, told: &Told, cause: &str) {
        let found = found(told);
        self.that(!found.contains(&cause), format!("{cause} among {found:?}"));
    }

    /// This cause could not be looked for, which is said with the reason.
    pub(crate) fn not_looked_for(&mut self, told: &Told, cause: &str) {
        self.not_found(told, cause);
        let why = rows(told, "not_looked_for").into_iter().find(|(other, _)| *other == cause);
        let why = why.and_then(|(_, row)| row["why"].as_str()).unwrap_or_default();
        self.that(!why.is_empty(), format!("it is not said why {cause} was not looked for"));
    }
}
