//! A window on what lived already: what a recording of it begins and ends with.

use crate::switch::Wait;
use crate::{Call, Ns};
use serde::{Deserialize, Serialize};

/// What `dwell attach` was asked to watch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// When the window began: every thread had been found ([`crate::Event::Alive`]), and all that watches it was in place.
    pub at: Ns,
    /// Whom it was asked to watch, in words: `nginx`, `process 12`, `service x`, `cgroup /a/b`.
    pub target: String,
}

/// What ended a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowEnd {
    /// The time that was asked for had passed.
    For,
    /// dwell was told to stop.
    Signal,
    /// Nothing was left of what was watched.
    TargetGone,
}

/// What a thread was doing when it was found alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AliveState {
    /// On a CPU or in the run queue; in a call or not.
    Runnable(Option<Call>),
    /// Blocked.
    Blocked(Wait),
    /// Stopped by job control or a tracer.
    Stopped,
}
