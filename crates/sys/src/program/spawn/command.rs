//! The command to start, as it was given: looking for its file is left to `resolve`, starting it to
//! `spawn`.

use crate::user::User;
use std::ffi::OsString;

/// The command, and the user to run it as. The program inherits everything else (directory,
/// environment, open files) from dwell; another user's only the standard streams, and what is no
/// secret of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// A path, or a name to search for in `PATH`.
    pub program: OsString,
    /// Its arguments, without its name.
    pub args: Vec<OsString>,
    /// Another user to run it as.
    pub user: Option<User>,
}

impl Command {
    /// The program and its arguments as text, with what is not UTF-8 replaced.
    pub fn words(&self) -> Vec<String> {
        std::iter::once(&self.program)
            .chain(&self.args)
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }
}
