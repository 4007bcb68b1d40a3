//! Why a recording is not replayed, and what would help.

use model::Ns;
use model::account::DoesNotClose;
use model::recording::Tier;
use std::time::Duration;

/// A recording that cannot be replayed, or an edit that names nothing in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is of a window.
    #[error(
        "a recording of dwell attach cannot be replayed: a window has no end that could come earlier\n\
         try: a recording of dwell run --keep"
    )]
    Window,
    /// It is of another tier.
    #[error(
        "a recording made without BPF (source {}) cannot be replayed: which thread held up which was not seen\n\
         try: dwell run --source bpf --keep, as root", .0.name()
    )]
    Tier(Tier),
    /// Its events were not all kept.
    #[error(
        "this recording has only the events of the first {:.1} s (--keep-limit): it cannot be replayed\n\
         try: dwell run --keep with a larger --keep-limit, or a shorter run", .0.as_secs_f64()
    )]
    Cut(Duration),
    /// It ends before the program did.
    #[error(
        "this recording ends before the program did: it cannot be replayed\ntry: a recording of a whole run"
    )]
    Unfinished,
    /// Nothing can be said of it.
    #[error("{0}: the recording was changed after it was written, or this is a bug in dwell")]
    Open(#[from] DoesNotClose),
    /// There are more edits than can be told apart.
    #[error("{0} edits are too many\ntry: up to 64 at once")]
    TooMany(usize),
    /// An edit names nothing.
    #[error("{edit:?} changes nothing in this recording: {why}\ntry: {}", .nearest.join(", "))]
    NoSuchSite {
        /// The edit.
        edit: String,
        /// What was looked for.
        why: String,
        /// What there is.
        nearest: Vec<String>,
    },
}

/// A site with its time, as an error lists it.
pub(super) fn with_time(name: &str, ns: Ns) -> String {
    let quoted =
        if name.contains([' ', '(', '<', '*', '$', '&']) { format!("'{name}'") } else { name.to_owned() };
    format!("{quoted} ({:.3} ms)", ns as f64 / 1e6)
}
