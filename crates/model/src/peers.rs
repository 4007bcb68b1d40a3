//! The network peers of the tree, in the schema of `--json`: its connections and name lookups.

use crate::network::ConnectionOrigin;
use crate::{Ns, Seen};
use serde::{Deserialize, Serialize};

/// TCP connections with one peer that began in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionRow {
    /// `tcp`.
    pub protocol: String,
    /// How the tree got them.
    pub began: ConnectionOrigin,
    /// This end: an address; of accepted ones with the port that they came in on.
    pub local: String,
    /// The other end: address and port; of accepted ones only the address.
    pub remote: String,
    /// The usual service of that port, where dwell knows it.
    pub service: Option<String>,
    /// How many connections.
    pub times: u64,
    /// Of these, how many were never established.
    pub failed: u64,
    /// Of these, how many were still open at the end.
    pub open: u64,
    /// Time from the first segment until it was established, of opened ones.
    pub connect: Option<Lengths>,
    /// The largest of their smoothed round-trip times at the end.
    pub round_trip_ns: Option<Ns>,
    /// The smallest round trip of all.
    pub round_trip_ns_min: Option<Ns>,
    /// Payload sent and acknowledged.
    pub sent_bytes: u64,
    /// Payload received.
    pub received_bytes: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// How long they were open, summed.
    pub open_ns: Ns,
    /// How long threads of the tree were blocked on them, summed.
    pub waited_ns: Ns,
    /// How often threads blocked on them.
    pub waits: u64,
    /// Payload of both ways over `open_ns`; none where that is 0.
    pub bytes_per_s_open: Option<u64>,
    /// Payload of both ways over `waited_ns`; none where that is 0.
    pub bytes_per_s_waited: Option<u64>,
    /// Likely delayed ACKs, if any.
    pub delayed_ack: Option<DelayedAck>,
    /// Of connections whose other end is the service: its turns; none where none had to be waited
    /// for, and in older results.
    #[serde(default)]
    pub turns: Option<Turns>,
    /// Of opened ones: what opening them takes; none in older results.
    #[serde(default)]
    pub opening: Option<Opening>,
    /// Of connections whose other end is the service and that were waited on: how they are used;
    /// none in older results.
    #[serde(default)]
    pub dialogue: Option<Dialogue>,
    /// Number of rows that this row stands for, where there are several. Their ends are `*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<u64>,
}

/// Turns with a peer: something is sent, and then threads of the tree wait for what comes back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// How many.
    pub times: u64,
    /// Blocked time in them, summed.
    pub total_ns: Ns,
    /// The longest.
    pub max_ns: Ns,
    /// What of `total_ns` ended while something sent on another connection to the same peer was not
    /// answered yet.
    pub at_once_ns: Ns,
}

impl Turns {
    /// Adds more of them.
    pub fn add(&mut self, more: &Turns) {
        self.times += more.times;
        self.total_ns += more.total_ns;
        self.max_ns = self.max_ns.max(more.max_ns);
        self.at_once_ns += more.at_once_ns;
    }
}

/// What opening connections to a peer takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The most that were open at once.
    pub at_once: u64,
    /// Blocked time before the first thing was sent: until they were established, and for what the
    /// peer sends first.
    pub waited_ns: Ns,
    /// Blocked time in the first turn of each.
    pub first_turn_ns: Ns,
}

/// How the connections of a row are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialogue {
    /// The most turns on one connection.
    pub turns_max: u64,
    /// For how long a thread of the tree waited for the peer, or several: `waited_ns` over this is
    /// how many waited at once on average.
    pub waiting_ns: Ns,
    /// The most that waited at once; 65 may be more.
    pub waiting_max: u64,
    /// Of opened connections: from the first segment until the first answer to what the program
    /// sent, which is the handshake and the peer's own time. Only of those whose first answer was
    /// waited for; none where there is none.
    pub first_answer: Option<Lengths>,
}

/// Repeated waits as long as a delayed ACK, after more than one small write: each side waits for
/// the other (Nagle's algorithm, RFC 896, on this side; delayed ACK, RFC 1122 section 4.2.3.2, on
/// the other).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayedAck {
    /// Waits of that length.
    pub waits: u64,
    /// Waits that followed more than one write.
    pub of_waits: u64,
    /// Their sum.
    pub total_ns: Ns,
    /// Other waits that followed more than one write: the sum of what a delay can be of each.
    #[serde(default)]
    pub other_ns: Ns,
    /// Mean payload of a write.
    pub write_bytes_mean: u64,
}

/// A summary of durations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// Their sum.
    pub total_ns: Ns,
    /// Median.
    pub p50_ns: Ns,
    /// 99th percentile.
    pub p99_ns: Ns,
    /// The longest.
    pub max_ns: Ns,
}

/// Lookups of one name and type at one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookupRow {
    /// The name, in presentation form and lower case; unseen for those that came after the table of
    /// names was full.
    pub name: Seen<String>,
    /// `A`, `AAAA`, …; `TYPE123` where it has no name here; `getaddrinfo` of the C library.
    pub kind: String,
    /// The server, or `the C library`.
    pub server: String,
    /// Number of queries.
    pub times: u64,
    /// Number of answers.
    pub answered: u64,
    /// Answers with an error, such as no such name.
    pub failed: u64,
    /// Queries repeated after an answer: what a cache would have saved.
    pub repeated: u64,
    /// From such a query to its answer, summed; 0 in older results.
    #[serde(default)]
    pub repeated_ns: Ns,
    /// From the query to its answer, of those answered.
    pub answer: Option<Lengths>,
    /// Number of rows that this row stands for, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<u64>,
}
