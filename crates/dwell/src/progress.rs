//! A line on a terminal that says how far something is, and is gone when that is over.

use crate::cli::LookArgs;
use crate::look::{Onto, look};
use crate::output;
use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// Nobody reads faster, and each writing is work beside what is measured: over a network, packets and their interrupts.
const AGAIN: Duration = Duration::from_millis(200);

/// The line; on standard error, so that it is never among what is asked for.
pub(crate) struct Line {
    shown: bool,
    /// Columns of the terminal that standard error is.
    width: u16,
    /// When it was said last.
    said: Cell<Option<Instant>>,
}

impl Line {
    /// Nothing is shown when it is to be quiet, or to no terminal.
    pub(crate) fn new(quiet: bool) -> Self {
        // The page may go elsewhere, and be wider.
        let width = look(&LookArgs::default(), Onto::Stderr).width;
        Self { shown: !quiet && io::stderr().is_terminal(), width, said: Cell::new(None) }
    }

    /// Puts the line in place of the last one, cut to the terminal: a longer one would go on in a second, and stay.
    pub(crate) fn put(&self, line: impl FnOnce() -> String) {
        if self.shown {
            let line: String = line().chars().take(usize::from(self.width).saturating_sub(1)).collect();
            output::to_stderr(&format!("\r\x1b[K{line}"));
        }
    }

    /// The same for what is asked to say something again and again: most of it is not said.
    pub(crate) fn say(&self, line: impl FnOnce() -> String) {
        if self.shown && self.due(Instant::now()) {
            self.put(line);
        }
    }

    /// Whether it is time to say something again.
    fn due(&self, now: Instant) -> bool {
        let due = self.said.get().is_none_or(|said| now.duration_since(said) >= AGAIN);
        if due {
            self.said.set(Some(now));
        }
        due
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.shown {
            output::to_stderr("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_again_and_again_is_said_five_times_a_second() {
        let (line, begun) = (Line::new(true), Instant::now());
        let said = (0..200).filter(|at| line.due(begun + Duration::from_millis(15 * at))).count();
        // 14 looks of 15 ms are the first 200 ms and more.
        assert_eq!(said, 200 / 14 + 1);
    }
}
