//! What one run or one window came to: all that a page shows of it, and all that is kept.
//!
//! It is made once, by `analyse`, and not changed after that: `report` makes words of it; the
//! store, `--json` and the page for a browser hold it. `report::result` writes it as JSON.

use crate::coverage::Interval;
use crate::diagnosis::Diagnosis;
use crate::explained::Explained;
use crate::finding::BaseRate;
use crate::prediction::Prediction;
use crate::profile::Profile;
use crate::run::{Address, FindingRow, OpenQuestionRow, RuledOutRow, Run};
use crate::{Finding, JsonSchema, Ns, Seen};
use serde::{Deserialize, Serialize};

/// A run, what it means, and what its tables of code are views of.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// The tables.
    pub run: Run,
    /// What they mean.
    pub diagnosis: Diagnosis,
    /// Of each row of the run's path, what of it is in which slice of its phases; nothing where
    /// rows stand for several. For views with a time axis.
    pub path_over_time: Vec<Vec<(u32, Ns)>>,
    /// Which code ran and waited.
    pub profile: Seen<Profile>,
    /// The program's code that ran, by instruction.
    pub addresses: Vec<Address>,
    /// What the run would have gained had parts of it cost nothing. Absent in a window: it has no
    /// end that could come earlier.
    pub prediction: Seen<Prediction>,
}

static NO_STACKS: Profile = Profile::NONE;

impl RunResult {
    /// Its stacks; none where they were not kept.
    pub fn profile(&self) -> &Profile {
        self.profile.value().unwrap_or(&NO_STACKS)
    }

    /// What it found, for a recording: later rules may find something else in it.
    pub fn found(&self) -> Found {
        let saving = |finding: &Finding| finding.saving.value().map(|saving| saving.ns);
        let findings = self.diagnosis.findings.iter();
        Found { causes: findings.map(|one| (one.cause.id.clone().into_owned(), saving(one))).collect() }
    }
}

/// What was found in a recording when it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The causes, in the order of the page, each with what its change saves where that is known.
    pub causes: Vec<(String, Option<Interval>)>,
}

/// What a diagnosis found, in words: so JSON has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FindingsInWords {
    /// Causes, with the saving of each fix; what saves most comes first.
    pub findings: Vec<FindingRow>,
    /// What was saved of other programs of which nothing was found, where nothing is found here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_rate: Option<BaseRate>,
    /// Causes that were looked for and are not there.
    pub ruled_out: Vec<RuledOutRow>,
    /// Causes that could not be looked for.
    pub not_looked_for: Vec<RuledOutRow>,
    /// What explains the time.
    pub explained: Seen<Vec<Explained>>,
    /// What is open where most of it is not judged.
    pub open_question: Option<OpenQuestionRow>,
}

/// What `dwell run --json` and `dwell attach --json` write, as it was kept. Older versions kept
/// less.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct KeptRun {
    /// The tables.
    #[serde(flatten)]
    pub run: Run,
    /// Causes found, with what each change saves; what saves most comes first.
    #[serde(default)]
    pub findings: Seen<Vec<FindingRow>>,
    /// What was saved of measured programs of which dwell found nothing either, by the changes that
    /// their authors knew: a base rate, no finding. Absent where something was found, and of a
    /// window.
    #[serde(default)]
    pub base_rate: Option<BaseRate>,
    /// Causes that were looked for and are not there, in words.
    #[serde(default)]
    pub ruled_out: Seen<Vec<RuledOutRow>>,
    /// Causes that could not be looked for, in words.
    #[serde(default)]
    pub not_looked_for: Seen<Vec<RuledOutRow>>,
    /// The account by what explains it, with the same sum: findings in their order, own work, and
    /// what is not judged.
    #[serde(default)]
    pub explained: Seen<Vec<Explained>>,
    /// What is known of the largest part that is not judged, in words: where that is a tenth of the
    /// account or more, and longer than what the first finding explains, or saves.
    #[serde(default)]
    pub open_question: Option<OpenQuestionRow>,
    /// What was concluded from the tables, with types: what `dwell show` makes its page of. For
    /// scripts the same is in words in `bound`, `findings`, `ruled_out` and `not_looked_for`. Older
    /// results lack it.
    #[serde(default)]
    #[schemars(with = "Diagnosis")]
    pub diagnosis: Option<Diagnosis>,
    /// See [`RunResult::path_over_time`].
    #[serde(default)]
    #[schemars(skip)]
    pub path_over_time: Vec<Vec<(u32, Ns)>>,
    /// Its stacks, where they were kept.
    #[serde(default, deserialize_with = "Profile::sound")]
    #[schemars(skip)]
    pub profile: Seen<Profile>,
    /// The program's code that ran, by instruction.
    #[serde(default)]
    #[schemars(skip)]
    pub addresses: Vec<Address>,
    /// See [`RunResult::prediction`].
    #[serde(default)]
    #[schemars(skip)]
    pub prediction: Seen<Prediction>,
}
