//! The window of `dwell attach`: its begin and its end.

use crate::switch::WaitContext;
use crate::{Call, Ns};
use serde::{Deserialize, Serialize};

/// The target and begin of the window of `dwell attach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachWindow {
    /// When the window began: every thread had been found ([`crate::Event::Alive`]) and all
    /// instruments were attached.
    pub at: Ns,
    /// The target, in words: `nginx`, `process 12`, `service x`, `cgroup /a/b`.
    pub target: String,
}

/// What ended a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WindowEnd {
    /// The requested time had passed.
    For,
    /// dwell was asked to stop, by a signal.
    Signal,
    /// All watched processes had exited.
    TargetGone,
}

/// The state of a thread when it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AliveState {
    /// On a CPU or in the run queue; in a call or not.
    Runnable(Option<Call>),
    /// Blocked.
    Blocked(WaitContext),
    /// Stopped by job control or a tracer.
    Stopped,
}
