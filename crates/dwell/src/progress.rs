//! A line on a terminal that says how far something is, and is gone when that is over.

use crate::output;
use std::io::{self, IsTerminal};

/// The line; on standard error, so that it is never among what is asked for.
pub(crate) struct Line {
    shown: bool,
    /// Columns of the terminal.
    width: u16,
}

impl Line {
    /// Nothing is shown when it is to be quiet, or to no terminal.
    pub(crate) fn new(quiet: bool, width: u16) -> Self {
        Self { shown: !quiet && io::stderr().is_terminal(), width }
    }

    /// Puts the line in place of the last one, cut to the terminal: a longer one would go on in a second, and stay.
    pub(crate) fn say(&self, line: impl FnOnce() -> String) {
        if self.shown {
            let line: String = line().chars().take(usize::from(self.width).saturating_sub(1)).collect();
            output::to_stderr(&format!("\r\x1b[K{line}"));
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.shown {
            output::to_stderr("\r\x1b[K");
        }
    }
}
