//! What the starter is to start.

use crate::resolve::{self, NotRunnable, is_bare_script};
use std::ffi::OsString;
use std::path::PathBuf;

/// What to start: a program whose file was found, and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The program's file.
    pub path: PathBuf,
    /// Whether it is a script without an interpreter line, which a shell runs.
    pub is_script: bool,
    /// The name that it is called by, and its arguments.
    pub argv: Vec<OsString>,
}

impl Order {
    /// The order for a program, by its path or its name along `PATH`, and its arguments. Its file
    /// is read here for its first line, so that a later start does not touch it.
    ///
    /// # Errors
    /// There is no such program, or it cannot be executed.
    pub fn new(argv: &[OsString]) -> Result<Self, NotRunnable> {
        let path = resolve::resolve(argv.first().map_or("".as_ref(), OsString::as_os_str))?;
        Ok(Self { is_script: is_bare_script(&path), path, argv: argv.to_vec() })
    }
}
