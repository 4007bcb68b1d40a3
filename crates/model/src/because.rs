//! Requests to disks, and why threads were woken as recordings before [`crate::Event::Woken`] have
//! it.

use crate::Ns;
use crate::object::Object;
use serde::{Deserialize, Serialize};

/// Why a thread is woken, in an event of its own; today a
/// [`WakeReason`](crate::recording::WakeReason).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Because {
    /// A request to a disk is done.
    Request(Request),
    /// The waker worked on this: the pipe, socket or eventfd that it writes to, for a thread that polls several.
    Through(Object),
    /// The waker was here, told when it left its call: of locks, where they were let go.
    From {
        /// When the wake-up was.
        woken_at: Ns,
        /// The innermost place: an [`crate::Event::Node`].
        node: u32,
    },
}

/// One request to a block device, from its making to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Device number of the disk (not of a partition).
    pub dev: u32,
    /// Whether it wrote.
    pub write: bool,
    /// Its size.
    pub bytes: u32,
    /// From its making until the driver had it; none where the kernel does not keep when it was made.
    pub queue_ns: Option<Ns>,
    /// From then to its end.
    pub device_ns: Ns,
}
