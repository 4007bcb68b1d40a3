//! A transient progress line on standard error.

use crate::look::{LookArgs, OutputKind, look};
use crate::output;
use model::Ns;
use report::units;
use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// The least time between updates. Each is work during the measurement: over a network, packets and
/// their interrupts.
const INTERVAL: Duration = Duration::from_millis(200);

/// The progress line. It is removed when it is dropped.
pub(crate) struct ProgressLine {
    shown: bool,
    /// Columns of the terminal.
    width: u16,
    updated: Cell<Option<Instant>>,
}

impl ProgressLine {
    /// A line that is shown on a terminal that can erase it, unless `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        // The page may go to another output, and be wider.
        let width = look(&LookArgs::default(), OutputKind::Stderr).width;
        let erases = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { shown: !quiet && erases && io::stderr().is_terminal(), width, updated: Cell::new(None) }
    }

    /// Replaces the line, cut to the terminal: the rest of a longer one would wrap, and stay.
    pub(crate) fn put(&self, line: impl FnOnce() -> String) {
        if self.shown {
            let line: String = line().chars().take(usize::from(self.width).saturating_sub(1)).collect();
            output::to_stderr(&format!("{}{line}", output::REMOVE));
            output::line_stands(!line.is_empty());
        }
    }

    /// Shows the line, at most once per [`INTERVAL`].
    pub(crate) fn update(&self, line: impl FnOnce() -> String) {
        if self.shown && self.due(Instant::now()) {
            self.put(line);
        }
    }

    /// Whether the next update is due.
    fn due(&self, now: Instant) -> bool {
        let due = self.updated.get().is_none_or(|updated| now.duration_since(updated) >= INTERVAL);
        if due {
            self.updated.set(Some(now));
        }
        due
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown {
            output::to_stderr(output::REMOVE);
            output::line_stands(false);
        }
    }
}

/// Words that say how much longer it takes when this part (0 to 1) is done, if the rest is like it;
/// nothing before a twentieth, or two seconds, that say little.
pub(crate) fn left(elapsed: Duration, part: f64) -> String {
    const LEAST: Duration = Duration::from_secs(2);
    if part < 0.05 || elapsed < LEAST {
        return String::new();
    }
    let left = elapsed.mul_f64((1.0 / part.min(1.0) - 1.0).max(0.0));
    format!(", about {} left", units::duration((left.as_secs() + 1) * 1_000_000_000))
}

/// For how long something has run, and how much longer it runs at most if that is known, for the
/// end of a line. Nothing of a first second.
pub(crate) fn running(so_far_ns: Ns, most_ns: Option<Ns>) -> String {
    const SECOND_NS: Ns = 1_000_000_000;
    if so_far_ns < SECOND_NS {
        return String::new();
    }
    let left = most_ns.and_then(|most| most.checked_sub(so_far_ns)).map_or_else(String::new, |left| {
        format!(", {} left at most", units::duration(left.next_multiple_of(SECOND_NS)))
    });
    format!(": {}{left}", units::duration(so_far_ns / SECOND_NS * SECOND_NS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_when_something_is_known_of_it() {
        assert_eq!(left(Duration::from_secs(10), 0.25), ", about 31.0 s left");
        assert_eq!(left(Duration::from_secs(10), 0.01), "");
        assert_eq!(left(Duration::from_millis(900), 0.5), "");
        assert_eq!(left(Duration::from_secs(10), 1.0), ", about 1.00 s left");
    }

    #[test]
    fn what_runs_says_for_how_long_and_its_limit_if_there_is_one() {
        let ms = |ms: Ns| ms * 1_000_000;
        assert_eq!(running(ms(999), Some(ms(5_000))), "");
        assert_eq!(running(ms(2_300), Some(ms(5_000))), ": 2.00 s, 3.00 s left at most");
        assert_eq!(running(ms(2_300), None), ": 2.00 s");
        // It takes longer than was thought: nothing is known any more.
        assert_eq!(running(ms(6_000), Some(ms(5_000))), ": 6.00 s");
    }

    #[test]
    fn the_line_is_updated_five_times_a_second_at_most() {
        let (line, begun) = (ProgressLine::new(true), Instant::now());
        let updates = (0..200).filter(|at| line.due(begun + Duration::from_millis(15 * at))).count();
        // 14 steps of 15 ms are the first to be 200 ms or more.
        assert_eq!(updates, 200 / 14 + 1);
    }
}
