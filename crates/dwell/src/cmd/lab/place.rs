//! Directories of the lab.

use anyhow::Context;
use std::path::Path;
use sys::scratch::{Kind, Scratch};

/// A directory of this lab.
pub(super) struct Place(Scratch);

impl Place {
    /// A new one in `within`.
    pub(super) fn new(within: &Path) -> anyhow::Result<Self> {
        let made = Scratch::new(within, Kind::Lab);
        Ok(Self(made.with_context(|| format!("cannot make a directory in {within:?}\ntry: --dir DIR"))?))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}
