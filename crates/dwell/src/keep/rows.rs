//! What the store has of each result beside its JSON: what a list shows, and what is asked for.

use crate::cli::VERSION;
use crate::out::{
    BlocksResult, CompareResult, DoctorResult, HitsResult, LabResult, LoadResult, RunOutput, SheetResult,
    WakeResult,
};
use model::compare::Change;
use model::recording::Host;
use model::wake::verdict::Answer;
use model::{Ladder, RunResult, Seen};
use store::ladder::machine_number;
use store::results::NewResult;
use sys::clock::unix_s;

/// A result that can be kept.
pub(crate) trait ToKeep {
    /// Its row, with its JSON; none where there is nothing to keep.
    fn to_keep(&self) -> Option<NewResult>;
}

/// What all have in common.
fn row(verb: &str, host: &Host, schema: &str, json: String) -> NewResult {
    NewResult {
        verb: verb.to_owned(),
        host: host.name.clone(),
        machine: this_machine(),
        kernel: host.kernel.clone(),
        at_s: unix_s(),
        schema: schema.to_owned(),
        dwell: VERSION.to_owned(),
        json: json.into_bytes(),
        ..NewResult::default()
    }
}

/// The number of this machine.
pub(crate) fn this_machine() -> String {
    // A container may have no machine ID of its own; then its name is used.
    let machine = observe::machine_id().unwrap_or_else(|| observe::this_host().name);
    machine_number(&machine, &rungs::cpu_name())
}

/// Words as typed in a shell.
fn typed<'a>(words: impl IntoIterator<Item = &'a String> + Clone) -> String {
    let plain = words.clone().into_iter().map(String::as_str);
    // A word with a null byte cannot be typed.
    shlex::try_join(plain).unwrap_or_else(|_| words.into_iter().cloned().collect::<Vec<_>>().join(" "))
}

impl ToKeep for RunOutput {
    fn to_keep(&self) -> Option<NewResult> {
        let RunResult { run, diagnosis, .. } = &self.result;
        let verb = if run.window.is_some() { "attach" } else { "run" };
        Some(NewResult {
            command: typed(&run.command),
            wall_ns: Some(run.wall_ns),
            verdict: Some(report::results::class(&run.bound).to_owned()),
            finding: diagnosis.findings.first().map(|finding| finding.cause.id.to_string()),
            ..row(verb, &run.host, run.schema, report::result::whole(&self.result))
        })
    }
}

/// A counted command, with the option that says what was counted. It has no wall clock: one that
/// was counted is not to be taken for another.
fn counted(option: &str, function: Option<&str>, command: &[String]) -> String {
    let of = function.map(|function| format!("={}", typed([&function.to_owned()])));
    format!("{option}{} {}", of.unwrap_or_default(), typed(command))
}

impl ToKeep for HitsResult {
    fn to_keep(&self) -> Option<NewResult> {
        let hits = &self.0;
        Some(NewResult {
            command: counted("--hits", hits.function.as_deref(), &hits.command),
            ..row("run", &hits.host, &hits.schema, report::json(hits))
        })
    }
}

impl ToKeep for BlocksResult {
    fn to_keep(&self) -> Option<NewResult> {
        let counts = &self.0;
        let function = counts.function.as_ref().map(|function| function.asked.as_str());
        Some(NewResult {
            command: counted("--count-blocks", function, &counts.command),
            ..row("run", &counts.host, &counts.schema, report::json(counts))
        })
    }
}

impl ToKeep for DoctorResult {
    fn to_keep(&self) -> Option<NewResult> {
        let doctor = &self.0;
        Some(NewResult {
            verdict: Some(doctor.tier.name().to_owned()),
            ..row("doctor", &doctor.host, &doctor.schema, report::json(doctor))
        })
    }
}

impl ToKeep for CompareResult {
    fn to_keep(&self) -> Option<NewResult> {
        let comparison = &self.0;
        let names: Vec<String> = comparison.commands.iter().map(|command| command.name.clone()).collect();
        let word = |change: &Change| match change {
            Change::Less => "faster",
            Change::More => "slower",
            Change::Same => "same",
            Change::Undecided => "undecided",
        };
        let verdicts: Vec<&str> = comparison.comparisons.iter().map(|change| word(&change.verdict)).collect();
        Some(NewResult {
            command: typed(&names),
            wall_ns: Some(comparison.took_ns),
            verdict: (!verdicts.is_empty()).then(|| verdicts.join(", ")),
            ..row("compare", &comparison.host, &comparison.schema, report::json(comparison))
        })
    }
}

/// The answer to a deadline; none where there was none.
fn answer(wakeups: &model::wake::Wakeups) -> Option<Answer> {
    match &wakeups.verdict {
        Seen::Value(verdict) => Some(verdict.answer),
        Seen::Absent => None,
        Seen::Unseen(_) => Some(Answer::Undecided),
    }
}

fn word(answer: Answer) -> String {
    match answer {
        Answer::Pass => "pass",
        Answer::Fail => "fail",
        Answer::Undecided => "undecided",
    }
    .to_owned()
}

impl ToKeep for WakeResult {
    fn to_keep(&self) -> Option<NewResult> {
        let wakeups = &self.0;
        Some(NewResult {
            command: loads(wakeups.loads.iter().map(|done| done.load.spec())),
            wall_ns: Some(wakeups.took_ns),
            verdict: answer(wakeups).map(word),
            finding: wakeups.interrupted.then(|| "interrupted".to_owned()),
            ..row("wake", &wakeups.host, &wakeups.schema, report::json(wakeups))
        })
    }
}

fn loads(specs: impl Iterator<Item = String>) -> String {
    specs.map(|spec| format!("--load {spec}")).collect::<Vec<_>>().join(" ")
}

impl ToKeep for SheetResult {
    fn to_keep(&self) -> Option<NewResult> {
        let sheet = &self.sheet;
        let first = sheet.results.first()?;
        let answers: Vec<Answer> = sheet.results.iter().filter_map(answer).collect();
        let worst = [Answer::Fail, Answer::Undecided, Answer::Pass];
        let worst = worst.into_iter().find(|answer| answers.contains(answer));
        Some(NewResult {
            command: format!("--sheet {}", sheet.name),
            wall_ns: Some(sheet.results.iter().map(|wakeups| wakeups.took_ns).sum()),
            verdict: worst.map(word),
            ..row("wake", &first.host, &sheet.schema, report::json(sheet))
        })
    }
}

/// The verdict of a ladder says whether it is one to compare waits with.
pub(crate) const LADDER_FULL: &str = "full";
pub(crate) const LADDER_QUICK: &str = "quick";
const LADDER_PART: &str = "part";

impl ToKeep for Ladder {
    fn to_keep(&self) -> Option<NewResult> {
        let verdict = match (self.asked.quick, self.asked.only.is_empty()) {
            (_, false) => LADDER_PART,
            (true, true) => LADDER_QUICK,
            (false, true) => LADDER_FULL,
        };
        Some(NewResult {
            command: self.asked.only.join(","),
            wall_ns: Some(self.took_ns),
            verdict: Some(verdict.to_owned()),
            ..row("ladder", &self.host, &self.schema, report::json(self))
        })
    }
}

impl ToKeep for LoadResult {
    fn to_keep(&self) -> Option<NewResult> {
        let run = &self.0;
        let wrong = run.result.mismatches_total > 0;
        Some(NewResult {
            command: run.result.load.spec(),
            wall_ns: Some(run.result.ran_ns),
            verdict: wrong.then(|| "wrong".to_owned()),
            ..row("load", &run.host, &run.schema, report::json(run))
        })
    }
}

impl ToKeep for LabResult {
    fn to_keep(&self) -> Option<NewResult> {
        Some(match self {
            LabResult::One(run, _) => NewResult {
                command: run.pair.name.clone(),
                ..row("lab", &run.host, &run.schema, report::json(run.as_ref()))
            },
            LabResult::Score(score) => NewResult {
                command: "--score".to_owned(),
                verdict: Some(format!("{} of {}", score.total.cause_first, score.total.sittings)),
                ..row("lab", &score.host, &score.schema, report::json(score.as_ref()))
            },
        })
    }
}
