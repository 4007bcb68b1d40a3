//! Requests to disks, and the wake reasons of recordings before [`crate::Event::Woken`].

use crate::Ns;
use crate::object::Object;
use serde::{Deserialize, Serialize};

/// Why a thread is woken, in an event of its own; today a
/// [`WakeReason`](crate::recording::WakeReason).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LegacyWakeReason {
    /// A request to a disk is done.
    Request(BlockRequest),
    /// The object that the waker worked on: the pipe, socket or eventfd that it writes to, for a
    /// thread that polls several.
    Through(Object),
    /// The code location of the waker, recorded at the exit of its call: for locks, where they were
    /// released.
    From {
        /// When the wake-up was.
        woken_at: Ns,
        /// The innermost frame: an [`crate::Event::Node`].
        node: u32,
    },
}

/// One request to a block device, from its creation to its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockRequest {
    /// Device number of the disk (not of a partition).
    pub dev: u32,
    /// Whether it wrote.
    pub write: bool,
    /// Its size.
    pub bytes: u32,
    /// Queue time: from its creation until it was issued to the driver; none where the kernel does
    /// not keep the time of creation.
    pub queue_ns: Option<Ns>,
    /// Service time: from then to its completion.
    pub device_ns: Ns,
}
