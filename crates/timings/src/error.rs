//! Why commands could not be run.

use crate::catch::RunOutput;
use crate::plan::Doing;
use model::recording::Ending;
use std::io;
use sys::resolve::NotRunnable;
use sys::spawn;

/// Why.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such program, or it cannot be executed.
    #[error(transparent)]
    NotRunnable(#[from] NotRunnable),
    /// The kernel refused to start it.
    #[error(transparent)]
    Start(#[from] spawn::Error),
    /// A file for its standard streams cannot be used.
    #[error("cannot open {file}: {source}")]
    Stream {
        /// Which.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// A command around the timed ones failed.
    #[error("{} failed: {command:?} ended {}", .doing.noun(), by_what(.ending))]
    Chore {
        /// Its role.
        doing: Doing,
        /// The command.
        command: String,
        /// How it ended.
        ending: Ending,
        /// What it printed.
        output: Box<RunOutput>,
    },
}

impl Error {
    /// The exit status for it: 127 not found, 126 cannot be executed, else 125.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::NotRunnable(error) => error.exit_code(),
            Error::Start(error) => error.exit_code(),
            Error::Stream { .. } | Error::Chore { .. } => 125,
        }
    }

    /// What the command that failed printed.
    pub fn output(&self) -> Option<&RunOutput> {
        match self {
            Error::Chore { output, .. } => Some(output),
            _ => None,
        }
    }
}

impl Doing {
    fn noun(self) -> &'static str {
        match self {
            Doing::Run => "the command",
            Doing::Prepare => "the preparation of a run",
            Doing::Conclude => "what concludes a run",
            Doing::Once => "a command before or after all runs",
            Doing::Empty => "an empty program",
        }
    }
}

/// `with exit status 3`, `by signal 9`.
pub(crate) fn by_what(ending: &Ending) -> String {
    match ending {
        Ending::Code(code) => format!("with exit status {code}"),
        Ending::Signal(signal) => format!("by signal {signal}"),
        Ending::Window(_) => "unseen".to_owned(),
    }
}
