//! The result of a run in JSON: what `--json` writes, what the store keeps and a page holds.
//!
//! It is read back by [`model::KeptRun`].

use crate::findings::in_words;
use crate::json::{compact, json};
use model::prediction::Prediction;
use model::run::Address;
use model::{Diagnosis, FindingsInWords, Ns, Profile, Run, RunResult, Seen};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    run: &'a Run,
    #[serde(flatten)]
    words: FindingsInWords,
    diagnosis: &'a Diagnosis,
    #[serde(flatten)]
    stacks: Option<Stacks<'a>>,
}

/// What is larger than all tables, and is left out unless it is asked for.
#[derive(Serialize)]
struct Stacks<'a> {
    prediction: &'a Seen<Prediction>,
    path_over_time: &'a [Vec<(u32, Ns)>],
    addresses: &'a [Address],
    profile: &'a Seen<Profile>,
}

impl<'a> Document<'a> {
    fn of(result: &'a RunResult, with_stacks: bool) -> Self {
        let RunResult { run, diagnosis, path_over_time, profile, addresses, prediction } = result;
        let stacks = with_stacks.then_some(Stacks { prediction, path_over_time, addresses, profile });
        Self { run, words: in_words(result), diagnosis, stacks }
    }
}

/// Tables and findings, without stacks.
pub fn tables(result: &RunResult) -> impl Serialize {
    Document::of(result, false)
}

/// Tables and findings, without stacks, for people and scripts.
pub fn without_stacks(result: &RunResult) -> String {
    json(&Document::of(result, false))
}

/// All of it, on one line.
pub fn whole(result: &RunResult) -> String {
    compact(&Document::of(result, true))
}
