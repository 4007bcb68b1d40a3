//! What a site is, and of which sites a wait is.

use crate::keys::{FileId, ReasonKey, TargetKey};
use model::recording::Comm;
use model::{Call, Pid, State};

/// A site by number, while it is counted.
pub(crate) type SiteId = u32;

/// A [`model::prediction::Site`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SiteKey {
    Call(Call),
    Lock(Pid, u64),
    Peer(TargetKey),
    NameLookups,
    File(FileId),
    Program(Comm),
    State(State),
}

impl SiteKey {
    /// Whether there may be any number of its kind.
    pub(super) fn is_of_many(self) -> bool {
        matches!(self, SiteKey::Lock(..) | SiteKey::Peer(_) | SiteKey::File(_))
    }

    /// The lock that a thread of this process waits for.
    pub(crate) fn lock(pid: Pid, reason: ReasonKey) -> Option<Self> {
        match reason {
            ReasonKey::Wait(_, TargetKey::Futex(address) | TargetKey::TimedFutex(address)) if address > 0 => {
                Some(SiteKey::Lock(pid, address))
            }
            _ => None,
        }
    }

    /// What a thread of this process waits for, where that is a site.
    pub(super) fn of_target(pid: Pid, reason: ReasonKey) -> Option<Self> {
        let ReasonKey::Wait(_, target) = reason else { return None };
        match target {
            TargetKey::File(file) if file.is_one() => Some(SiteKey::File(file)),
            TargetKey::Tcp(_) | TargetKey::Udp(_) | TargetKey::Local(_) => Some(SiteKey::Peer(target)),
            TargetKey::Answer(_) => Some(SiteKey::NameLookups),
            _ => Self::lock(pid, reason),
        }
    }
}
