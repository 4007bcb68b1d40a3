//! What the whole job takes, when this run did a part of it.

use model::run::Extrapolation;
use model::{Analysis, Ns, Run, Seen};

/// How much this run did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// So many units.
    Units(u64),
    /// As many as there were calls of this name that returned.
    Calls(String),
    /// As many as it wrote lines of output; none while they are not counted.
    Lines(Option<u64>),
}

/// Why it cannot be said.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// The call never returned.
    #[error(
        "no call of {0} returned, so it cannot count the work done\ntry: a call of the table, or a number"
    )]
    NoCalls(String),
    /// Lines were not counted, or there were none.
    #[error(
        "no lines of output were counted\ntry: the program under dwell run with its output in a file, or --work with a number"
    )]
    NoLines,
    /// Calls were not counted.
    #[error("cannot count the work by calls: {0}\ntry: --work with a number")]
    Unseen(String),
    /// The whole is less than its part.
    #[error("the whole job is said to be {of}, and this run did {done} of it\ntry: a larger --of")]
    Less {
        /// What was done.
        done: u64,
        /// What was to be done.
        of: u64,
    },
}

/// A job that a run did a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What the run did.
    pub work: Work,
    /// All that is to do, in the same units.
    pub of: u64,
}

/// The analysis with what the whole job takes; as it is where no job is asked about, or where the
/// answer is not known, and then with the reason.
pub fn with_job(mut analysis: Analysis, job: Option<&Job>) -> (Analysis, Option<Error>) {
    match job.map(|job| extrapolate(&analysis.run, &job.work, job.of)) {
        Some(Ok(whole)) => analysis.run.extrapolation = Some(whole),
        Some(Err(error)) => return (analysis, Some(error)),
        None => {}
    }
    (analysis, None)
}

/// The account of a job of `of` units, from a run that did `work` of them.
///
/// # Errors
/// When the work done is not known, or more than the whole.
fn extrapolate(run: &Run, work: &Work, of: u64) -> Result<Extrapolation, Error> {
    let (done, unit) = match work {
        Work::Units(units) => (*units, String::new()),
        Work::Lines(Some(lines)) if *lines > 0 => (*lines, "lines".to_owned()),
        Work::Lines(_) => return Err(Error::NoLines),
        Work::Calls(name) => match &run.syscalls {
            Seen::Value(rows) => {
                let calls = rows.iter().find(|row| row.name.to_string() == *name).map_or(0, |row| row.calls);
                (calls, name.clone())
            }
            Seen::Absent => (0, name.clone()),
            Seen::Unseen(why) => return Err(Error::Unseen(why.clone())),
        },
    };
    if done == 0 {
        return Err(Error::NoCalls(unit));
    }
    if of < done {
        return Err(Error::Less { done, of });
    }
    let scaled = |ns: Ns| {
        let whole = u128::from(ns) * u128::from(of) / u128::from(done);
        Ns::try_from(whole).unwrap_or(Ns::MAX)
    };
    Ok(Extrapolation {
        done,
        unit,
        of,
        wall_ns: scaled(run.wall_ns),
        states: run.account.iter().map(|part| (part.state, scaled(part.ns))).collect(),
        spread: Seen::unseen("one run does not say how much runs differ"),
        assumptions: vec![
            "the rest goes as this part did, caches and peers included".to_owned(),
            "starting and ending, which a whole job does once, are counted with the work".to_owned(),
        ],
    })
}
