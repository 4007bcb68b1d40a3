//! Which first finding of dwell is right for a program: judged beforehand, from what the program
//! does (`evaluation/findings.toml`). To claim nothing is right for each; what is not in its list
//! is a wrong claim.

use super::dwell_result::DwellResult;
use super::verdict::{Check, Verdict};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use workshop::shell::root;

/// All judgements.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Findings {
    /// Programs by name, with the causes that may be found first.
    judged: BTreeMap<String, Vec<String>>,
    /// Programs of others: what is named here is in the table of results.
    others: Vec<Registry>,
}

/// Programs of a registry.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Registry {
    registry: String,
    programs: Vec<Judged>,
}

/// A judgement.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Judged {
    name: String,
    /// The causes that may be found first.
    first: Vec<String>,
    why: String,
}

/// Beside other programs that have the CPUs, that is right for each.
const BESIDE_OTHERS: &str = "cpu-contention";

/// What the check of a first finding is called.
const FINDS: &str = "finds";

/// Per cent of the wall clock behind others in the trace, from which they count as beside it.
const BESIDE_PERCENT: f64 = 5.0;

impl Findings {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read, or a program is judged twice.
    pub(crate) fn read() -> Result<Self> {
        let path = root().join("evaluation/findings.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let read: Self = toml::from_str(&text).with_context(|| path.display().to_string())?;
        let mut names = BTreeSet::new();
        for (name, _) in read.all() {
            ensure!(names.insert(name), "{name} is judged twice");
        }
        Ok(read)
    }

    fn all(&self) -> impl Iterator<Item = (&str, &[String])> {
        let judged = self.judged.iter().map(|(name, first)| (name.as_str(), first.as_slice()));
        let others = self.others.iter().flat_map(|from| &from.programs);
        judged.chain(others.map(|judged| (judged.name.as_str(), judged.first.as_slice())))
    }

    /// The programs of others by registry, with what was judged and what was found first when each
    /// was alone and beside busy loops: a table in Markdown. `found` gives the row of a program
    /// that was kept of either.
    pub(crate) fn table(&self, found: impl Fn(bool, &str) -> Option<Verdict>) -> String {
        let mut text = String::from(
            "| from | program | may be found first | why | alone | beside busy loops |\n\
             | --- | --- | --- | --- | --- | --- |\n",
        );
        let others =
            self.others.iter().flat_map(|from| from.programs.iter().map(move |judged| (from, judged)));
        for (from, judged) in others {
            let first = |busy| {
                let verdict = found(busy, &judged.name)?;
                let check = verdict.checks.into_iter().find(|check| check.what == FINDS)?;
                Some(if check.agrees { check.dwell } else { format!("**{}**", check.dwell) })
            };
            let first = |busy| first(busy).unwrap_or_else(|| "not run".to_owned());
            let right = if judged.first.is_empty() { "nothing".to_owned() } else { judged.first.join(", ") };
            let (from, name, why) = (&from.registry, &judged.name, &judged.why);
            let _ =
                writeln!(text, "| {from} | {name} | {right} | {why} | {} | {} |", first(false), first(true));
        }
        text
    }

    /// The first finding against what was judged; none where it was not judged, or dwell does not
    /// look for causes. `behind_percent`: what the trace may have behind other programs.
    pub(crate) fn check(&self, program: &str, said: &DwellResult, behind_percent: f64) -> Option<Check> {
        let busy = behind_percent >= BESIDE_PERCENT;
        let (_, right) = self.all().find(|(name, _)| *name == program)?;
        let first = said.findings.as_ref()?.first();
        let agrees = first.is_none_or(|first| right.contains(first) || busy && first == BESIDE_OTHERS);
        let right: Vec<&str> = right.iter().map(String::as_str).chain(["nothing"]).collect();
        Some(Check {
            what: FINDS.to_owned(),
            dwell: first.map_or("nothing", String::as_str).to_owned(),
            oracle: right.join(" or "),
            agrees,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::program::Class;
    use super::super::programs::Programs;
    use super::*;

    fn findings() -> Findings {
        Findings::read().unwrap()
    }

    fn said(findings: Option<&[&str]>) -> DwellResult {
        let findings = findings.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect());
        DwellResult { run: crate::sample::run(), findings, page: String::new() }
    }

    #[test]
    fn the_first_finding_is_right_or_nothing_is_claimed() {
        let judged = findings();
        let check =
            |program, findings: Option<&[&str]>, behind| judged.check(program, &said(findings), behind);
        let agrees = |findings: &[&str], behind| check("fio-psync", Some(findings), behind).unwrap().agrees;
        assert!(agrees(&["disk-latency", "hot-code"], 0.0) && agrees(&[], 0.0));
        assert!(!agrees(&["hot-code", "disk-latency"], 0.0));
        assert!(!agrees(&["cpu-contention"], 4.9) && agrees(&["cpu-contention"], 5.0));
        assert!(check("no-such-program", Some(&[]), 0.0).is_none());
        assert!(check("fio-psync", None, 0.0).is_none());
    }

    #[test]
    fn the_table_has_what_was_found_and_marks_what_was_not_judged() {
        let judged = findings();
        let found = |busy: bool, name: &str| {
            let first = if busy { "hot-code" } else { "sync-writes" };
            let checks = vec![judged.check(name, &said(Some(&[first])), 0.0)?];
            (name == "bbolt").then_some(Verdict {
                program: name.to_owned(),
                class: Class::Io,
                right: vec![],
                checks,
                notes: vec![],
            })
        };
        let table = judged.table(found);
        assert!(table.contains("| Go proxy | bbolt | sync-writes |"), "{table}");
        assert!(table.contains("| sync-writes | **hot-code** |\n"), "{table}");
        assert!(table.contains("| npm | mocha | nothing |") && table.contains("| not run | not run |\n"));
    }

    #[test]
    fn each_program_that_is_judged_is_one_of_the_lane_and_twenty_are() {
        let (judged, programs) = (findings(), Programs::read().unwrap());
        assert!(judged.judged.len() >= 20);
        for (name, _) in judged.all() {
            assert!(programs.find(name).is_some(), "{name}");
        }
    }
}
