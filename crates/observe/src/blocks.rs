//! Exact counts of executed instructions, for deterministic programs: a separate run,
//! single-stepped.
//!
//! [`sys::step`] describes what stepping can and cannot follow. The result has its cost; it slows a
//! program thousands of times, so such a run must not be timed.

use crate::session::LeftProgram;
use crate::targets::tree_ignores;
use std::path::PathBuf;
use sys::signals::Signals;
use sys::spawn::{Command, HeldProgram};
use sys::step::{self, Attention, FunctionRanges, Limits, Scope, StepCounts, StopReason};

/// What to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CountTarget {
    /// All of the program. Expect 100,000 steps to start a dynamically linked one.
    Program,
    /// One function.
    Function {
        /// Its file on this machine.
        file: PathBuf,
        /// The file offsets of its parts; its entry is the start of the first.
        parts: Vec<std::ops::Range<u64>>,
    },
}

/// The counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockCounts {
    /// All counts, by file and offset.
    pub counted: StepCounts,
    /// The file as named in the maps; none for whole programs, and where it was never mapped.
    pub file: Option<String>,
    /// The program, if it goes on: it ignored a signal that asked for its end, or was asked twice.
    pub left: Option<LeftProgram>,
}

impl BlockCounts {
    /// Whether the program was counted to its end.
    pub fn complete(&self) -> bool {
        self.counted.stopped == StopReason::Ended && self.counted.unlisted == 0
    }

    /// Steps per second of counting; none when it took no time.
    pub fn steps_per_s(&self) -> Option<f64> {
        (self.counted.elapsed_ns > 0)
            .then(|| self.counted.steps as f64 / (self.counted.elapsed_ns as f64 / 1e9))
    }
}

/// Runs the command and counts until it ends or a limit is reached; after a limit it runs
/// uncounted. Returns when it has ended, or goes on in spite of a signal that asked for its end.
///
/// # Errors
/// It cannot be started or traced; or the function's file or its parts do not exist.
pub fn count_blocks(
    command: &Command,
    target: &CountTarget,
    limits: Limits,
    signals: Option<&mut Signals>,
) -> Result<BlockCounts, step::Error> {
    let scope = match target {
        CountTarget::Program => Scope::Program,
        CountTarget::Function { file, parts } => {
            // The paths in the maps of a process have symbolic links resolved.
            let what = "searching for the function's file";
            let file = file.canonicalize().map_err(|source| step::Error::System { what, source })?;
            let entry = parts.first().map_or(0, |part| part.start);
            Scope::Function(FunctionRanges { file, entry, parts: parts.clone() })
        }
    };
    let held = HeldProgram::spawn(command)?;
    let pid = held.pid();
    let ignores = move |signal| tree_ignores(pid, signal);
    let attention = signals.map(|signals| Attention { signals, ignores: &ignores });
    let counted = step::count(held, &scope, limits, attention)?;
    let left = counted.left_by.map(|signal| LeftProgram { pid, signal });
    // The same file under another path: the only one that was counted.
    let file = match scope {
        Scope::Function(_) => counted.modules.keys().next().cloned(),
        Scope::Program => None,
    };
    Ok(BlockCounts { counted, file, left })
}
