//! What passed over the network for the tree: connections and questions for names.

use crate::recording::Ends;
use crate::{Ns, Tid};
use serde::{Deserialize, Serialize};

/// What the kernel knows of a TCP connection, told when it closes or the recording ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// From where to where.
    pub ends: Ends,
    /// The thread that opened or accepted it, where that was seen.
    pub tid: Option<Tid>,
    /// Whether it was accepted here rather than opened.
    pub accepted: bool,
    /// From its first segment until it was established, where both were seen.
    pub connect_ns: Option<Ns>,
    /// When it was first and last seen.
    pub span: (Ns, Ns),
    /// Smoothed round-trip time (`srtt_us`), and the smallest that was seen; 0: not measured.
    pub round_trip_ns: Ns,
    /// The smallest.
    pub round_trip_ns_min: Ns,
    /// Payload sent and acknowledged.
    pub sent_bytes: u64,
    /// Payload received.
    pub received_bytes: u64,
    /// Segments sent again.
    pub retransmits: u32,
}

/// One question for a name and, where it came, its answer. Names are in their presentation form, hostile until escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookup {
    /// The thread that asked.
    pub tid: Tid,
    /// The server, as the remote end.
    pub ends: Ends,
    /// The name.
    pub name: String,
    /// `A` (1), `AAAA` (28), …: the type in the question.
    pub kind: u16,
    /// When it was asked; asking again is another lookup.
    pub asked_at: Ns,
    /// When the answer came in.
    pub answered_at: Option<Ns>,
    /// The answer's `RCODE`: 0 is success, 3 no such name.
    pub code: Option<u8>,
}
