//! The corpus: small programs that are slow in a way that is known, as recordings, with what is
//! true of each. `corpus/README.md` says how a case is made.
//!
//! What is read of a case stands here; [`record`] makes its recordings and measures what its change
//! saves, [`score`] says how right dwell is about all of them.

mod draws;
mod record;
mod score;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use record::{Options as RecordOptions, run as record};
pub(crate) use score::{Options as ScoreOptions, run as score};

/// A program with what is known of it.
#[derive(Debug)]
struct Case {
    name: String,
    /// Its folder.
    place: PathBuf,
    facts: Facts,
    measured: Vec<Measured>,
}

/// `case.toml`: decided by who wrote the case, before dwell looked at it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Facts {
    /// What the slow program does.
    #[expect(dead_code, reason = "for people")]
    says: String,
    /// Programs that are slow in one way: they are left out together.
    family: String,
    /// The public report that it follows.
    report: Option<String>,
    /// What the participants of the report found.
    #[expect(dead_code, reason = "for people")]
    found: Option<String>,
    /// The language of the program that is slow.
    language: String,
    /// Run once by a shell, in a copy of the folder.
    build: Option<String>,
    /// Started before; `PORT` is a free port in all commands.
    service: Option<String>,
    slow: Vec<String>,
    /// The same work with the change.
    fast: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    env_slow: BTreeMap<String, String>,
    #[serde(default)]
    env_fast: BTreeMap<String, String>,
    /// Causes that may be the first finding; none of a healthy program, [`OUTSIDE`] where none that
    /// dwell knows is there.
    causes: Vec<String>,
    /// Causes that are there as well, behind the first.
    #[serde(default)]
    also: Vec<String>,
    /// What the place of the finding has one of; nothing where the whole program is meant.
    #[serde(default)]
    place: Vec<String>,
    /// The service is looked at while `slow` is its load.
    #[serde(default)]
    attach: bool,
    /// Packages of Debian, or tools, that it needs.
    #[serde(default)]
    needs: Vec<String>,
}

/// The name of a cause that dwell does not know.
const OUTSIDE: &str = "none";

/// The file of what the change saved where it was tried.
const MEASURED: &str = "measured.json";

/// What the change saved on one host.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    /// The word for the host in names of recordings.
    host: String,
    /// Beside a loop on each CPU.
    busy: bool,
    /// The host in words: CPUs, kernel, virtualisation.
    system: String,
    /// The day, as ISO 8601 has it.
    date: String,
    /// Pairs of runs by turns.
    pairs: u64,
    /// Medians, in seconds.
    slow_s: f64,
    /// None of a program without a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fast_s: Option<f64>,
    /// In parts of the slow wall clock: the estimate, and a 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    saved: Option<[f64; 3]>,
}

/// How a recording was made: `HOST-quiet-bpf.dwell`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    host: String,
    busy: bool,
    /// What it was observed with.
    source: String,
}

impl Condition {
    fn of(path: &Path) -> Option<Self> {
        let mut words = path.file_stem()?.to_str()?.rsplitn(3, '-');
        let (source, load, host) = (words.next()?, words.next()?, words.next()?);
        let busy = match load {
            "quiet" => false,
            "busy" => true,
            _ => return None,
        };
        Some(Self { host: host.to_owned(), busy, source: source.to_owned() })
    }

    fn file(&self) -> String {
        let load = if self.busy { "busy" } else { "quiet" };
        format!("{}-{load}-{}.dwell", self.host, self.source)
    }
}

impl Case {
    fn read(place: PathBuf) -> Result<Self> {
        let name = place.file_name().and_then(|name| name.to_str()).context("a case has a name")?.to_owned();
        let facts = fs::read_to_string(place.join("case.toml")).with_context(|| format!("case {name}"))?;
        let facts: Facts = toml::from_str(&facts).with_context(|| format!("case {name}"))?;
        let measured = match fs::read_to_string(place.join(MEASURED)) {
            Ok(text) => serde_json::from_str(&text).with_context(|| format!("case {name}"))?,
            Err(_) => Vec::new(),
        };
        let case = Self { name, place, facts, measured };
        if case.is_healthy() && case.facts.fast.is_some() {
            bail!("case {}: a healthy program has no change", case.name);
        }
        Ok(case)
    }

    /// All of them, in the order of their names.
    fn all() -> Result<Vec<Self>> {
        let folder = workshop::shell::root().join("corpus/cases");
        let mut places: Vec<PathBuf> = fs::read_dir(&folder)
            .with_context(|| format!("cannot read {folder:?}"))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_dir())
            .collect();
        places.sort();
        places.into_iter().map(Self::read).collect()
    }

    /// Nothing is to be claimed of it.
    fn is_healthy(&self) -> bool {
        self.facts.causes.is_empty()
    }

    /// Its recordings, in the order of their names.
    fn recordings(&self) -> Result<Vec<(Condition, PathBuf)>> {
        let mut all: Vec<(Condition, PathBuf)> = fs::read_dir(&self.place)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "dwell"))
            .filter_map(|path| Some((Condition::of(&path)?, path)))
            .collect();
        all.sort_by(|a, b| a.1.cmp(&b.1));
        Ok(all)
    }

    /// What its change saved in parts of the wall clock, where that was measured as this recording
    /// was made.
    fn saved(&self, condition: &Condition) -> Option<[f64; 3]> {
        let same = |one: &&Measured| one.host == condition.host && one.busy == condition.busy;
        self.measured.iter().find(same)?.saved
    }
}
