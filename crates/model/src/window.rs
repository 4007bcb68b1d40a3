//! The window of `dwell attach`: its begin and its end.

use crate::switch::WaitContext;
use crate::{Call, JsonSchema, Ns};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// The targets of a window, which are joined by `, ` in [`AttachWindow::target`]; `, PID 7)` is the
/// end of one.
pub fn targets(target: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut depth) = (0, 0_i32);
    for (at, char) in target.char_indices() {
        match char {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(target[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(target[from..].trim());
    parts
}
