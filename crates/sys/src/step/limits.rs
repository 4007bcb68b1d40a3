//! When counting ends before the program does, and why it ended. `tracer` counts the steps, `watch`
//! the time.

use std::time::Duration;

/// When to stop counting, and let the program run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// After this many steps.
    pub steps: Option<u64>,
    /// After this time.
    pub time: Option<Duration>,
}

/// Why counting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The program ended: the counts are complete.
    Ended,
    /// The limit of steps was reached.
    Steps,
    /// The limit of time was reached.
    Time,
    /// The program did not end by a signal that dwell passed on to it, and goes on.
    Signal,
    /// The process executed a program with rights of its own, such as a set-user-ID program.
    Entrusted,
    /// The program reached an instruction that cannot be stepped: a load-exclusive of aarch64,
    /// whose store always fails after a stop in between.
    Unsteppable,
}
