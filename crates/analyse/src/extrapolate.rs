//! The time of a whole job, extrapolated from this run's part of it.

use model::run::Extrapolation;
use model::{Ns, Run, RunResult, Seen};

/// The work of this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// A number of units.
    Units(u64),
    /// The number of calls of this system call that returned.
    Calls(String),
    /// The number of lines of output; none until they are counted.
    Lines(Option<u64>),
}

/// Why it cannot be extrapolated.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// No such call returned.
    #[error("no {0} call returned: the work cannot be counted\ntry: a call of the table, or a number")]
    NoCalls(String),
    /// Lines were not counted, or there were none.
    #[error(
        "no lines of output were counted\ntry: dwell run with standard output in a file, or --work with a number"
    )]
    NoLines,
    /// Calls were not counted.
    #[error("calls were not counted: {0}\ntry: --work with a number")]
    Unseen(String),
    /// The whole is less than its part.
    #[error("the whole job ({of}) is less than the work of this run ({done})\ntry: a larger --of")]
    Less {
        /// The work of this run.
        done: u64,
        /// The whole job.
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
pub fn with_job(mut analysis: RunResult, job: Option<&Job>) -> (RunResult, Option<Error>) {
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
/// The work of this run is unknown, or more than the whole job.
fn extrapolate(run: &Run, work: &Work, of: u64) -> Result<Extrapolation, Error> {
    let (done, unit) = match work {
        Work::Units(units) => (*units, String::new()),
        Work::Lines(Some(lines)) if *lines > 0 => (*lines, "lines".to_owned()),
        Work::Lines(_) => return Err(Error::NoLines),
        Work::Calls(name) => match &run.tables.syscalls {
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
        spread: Seen::unseen("one run does not show the spread between runs"),
        assumptions: vec![
            "the rest of the job is assumed to run like this part, with the same caches and peers".to_owned(),
            "start and exit are scaled with the work, although the whole job has them once".to_owned(),
        ],
    })
}
