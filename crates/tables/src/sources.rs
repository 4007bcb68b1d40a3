//! What rows are made of where no row of a result has it all, and how a wait is told.
//!
//! The tables and their columns are in `list`.

use model::compare::commands::{CommandChange, Comparison};
use model::run::WaitRow;
use model::wait::{WaitCall, WaitTarget};
use model::wake::spike::{LatencyShare, Spike};
use model::wake::{Bin, Wakes, Wakeups};
use model::{CodePlace, Seen};
use serde::Deserialize;
use std::borrow::Cow;

/// A place, or all small ones in a state.
pub(crate) struct PlaceRow<'a> {
    pub(crate) number: usize,
    pub(crate) place: Cow<'a, CodePlace>,
    /// How many it stands for, where these are several.
    pub(crate) together: Option<usize>,
}

impl PlaceRow<'_> {
    pub(crate) fn source(&self) -> Option<&(String, u32)> {
        self.place.code.as_ref()?.source.as_ref()
    }
}

/// Waits of a length.
pub(crate) struct WaitBin<'a> {
    pub(crate) wait: usize,
    pub(crate) row: &'a WaitRow,
    pub(crate) bin: Bin,
}

/// A thread of a measurement of wake-ups, or all of them.
pub(crate) struct WakeRow<'a> {
    pub(crate) number: usize,
    pub(crate) of: &'a Wakeups,
    pub(crate) wakes: &'a Wakes,
}

/// A part of a late wake-up.
pub(crate) struct SpikePart<'a> {
    pub(crate) number: usize,
    pub(crate) spike: &'a Spike,
    pub(crate) share: &'a LatencyShare,
}

/// A command compared with the first.
pub(crate) struct ChangeRow<'a> {
    pub(crate) number: usize,
    pub(crate) of: &'a Comparison,
    pub(crate) change: &'a CommandChange,
}

impl ChangeRow<'_> {
    pub(crate) fn command(&self, at: u32) -> Option<&model::compare::commands::ComparedCommand> {
        self.of.commands.get(at as usize)
    }
}

pub(crate) fn call(row: &WaitRow) -> Seen<String> {
    match &row.call {
        WaitCall::Syscall(name) => Seen::Value(name.to_string()),
        WaitCall::Fault => Seen::Value("fault".to_owned()),
        WaitCall::Unseen if row.together.is_some() => Seen::unseen("the row stands for several"),
        WaitCall::Unseen => Seen::unseen("in which call it waited was not observed"),
    }
}

pub(crate) fn target(row: &WaitRow) -> Seen<String> {
    named(&row.on)
}

/// The name of what a wait is for.
pub(crate) fn named(on: &WaitTarget) -> Seen<String> {
    #[derive(Deserialize)]
    struct Named {
        name: Seen<String>,
    }
    let named = serde_json::to_value(on).and_then(serde_json::from_value::<Named>);
    named.map_or(Seen::Absent, |named| named.name)
}

/// A quantile of waits; where none was counted by itself there is none.
pub(crate) fn known(row: &WaitRow, ns: u64) -> Seen<u64> {
    if row.calls == 0 { Seen::unseen("no length of such a wait was seen") } else { Seen::Value(ns) }
}
