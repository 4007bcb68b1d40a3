//! Directories of the lab. Programs are made and executed there, so nobody else may be able to put
//! another directory in the place of one.

use crate::private;
use anyhow::Context;
use std::path::Path;
use sys::scratch::{Kind, Scratch};

/// A directory of this lab.
pub(super) struct WorkDir(Scratch);

impl WorkDir {
    /// A new one in `within`; what chose that is named in a remedy.
    pub(super) fn new(within: &Path, chosen_by: &str) -> anyhow::Result<Self> {
        let within = &private::above_of_caller(within, chosen_by)?;
        let made = Scratch::new(within, Kind::Lab);
        Ok(Self(made.with_context(|| format!("cannot make a directory in {within:?}\ntry: --dir DIR"))?))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}
