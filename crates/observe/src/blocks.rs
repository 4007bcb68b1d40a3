//! Exact executions of instructions, for programs that do the same each time: a run of its own, stepped.
//!
//! What stepping can and cannot follow is described in [`sys::step`]; what it costs is in the result, and as it
//! is thousands of times, such a run is not to be timed.

use std::path::PathBuf;
use sys::signals::Signals;
use sys::spawn::{Command, Held};
use sys::step::{self, Code, Counted, Limits, Scope, Stopped};

/// What to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// All of the program. Expect 100,000 steps to start a dynamically linked one.
    Program,
    /// One function.
    Function {
        /// The file that has it, as found on this machine.
        file: PathBuf,
        /// Where its parts are in the file; it is entered at the beginning of the first.
        parts: Vec<std::ops::Range<u64>>,
    },
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// All of it, by file and offset in the file.
    pub counted: Counted,
    /// The file as its maps name it; none for whole programs, and where it never came into memory.
    pub file: Option<String>,
}

impl Counts {
    /// Whether the program was counted to its end.
    pub fn complete(&self) -> bool {
        self.counted.stopped == Stopped::Ended && self.counted.unlisted == 0
    }

    /// Steps a second of the time that counting took; none when it took no time.
    pub fn steps_per_s(&self) -> Option<f64> {
        (self.counted.elapsed_ns > 0)
            .then(|| self.counted.steps as f64 / (self.counted.elapsed_ns as f64 / 1e9))
    }
}

/// Runs the command and counts, until it ends or a limit is reached; then it runs on uncounted. Returns when it
/// has ended.
///
/// # Errors
/// It cannot be started or traced; or the function's file or its parts do not exist.
pub fn count_blocks(
    command: &Command,
    target: &Target,
    limits: Limits,
    signals: Option<&mut Signals>,
) -> Result<Counts, step::Error> {
    let scope = match target {
        Target::Program => Scope::Program,
        Target::Function { file, parts } => {
            // The maps of a process have no links in their names.
            let what = "looking for the function's file";
            let file = file.canonicalize().map_err(|source| step::Error::System { what, source })?;
            let entry = parts.first().map_or(0, |part| part.start);
            Scope::Function(Code { file, entry, parts: parts.clone() })
        }
    };
    let counted = step::count(Held::spawn(command)?, &scope, limits, signals)?;
    // Under another name of the same file it is the only one that was counted.
    let file = match scope {
        Scope::Function(_) => counted.modules.keys().next().cloned(),
        Scope::Program => None,
    };
    Ok(Counts { counted, file })
}
