//! Whom the tree spoke to over the network, as `--json` promises it: its connections and the names it asked for.

use crate::network::Began;
use crate::{Ns, Seen};
use serde::{Deserialize, Serialize};

/// TCP connections with one peer that began in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionRow {
    /// `tcp`.
    pub protocol: String,
    /// How they began.
    pub began: Began,
    /// This end: an address; of accepted ones with the port that they came in on.
    pub local: String,
    /// The other end: address and port; of accepted ones only the address.
    pub remote: String,
    /// What is usually behind that port, where dwell knows it.
    pub service: Option<String>,
    /// How many connections.
    pub times: u64,
    /// Of these, how many were never established.
    pub failed: u64,
    /// Of these, how many were still open at the end.
    pub open: u64,
    /// Time from the first segment until it was established, of opened ones.
    pub connect: Option<Lengths>,
    /// Smoothed round-trip time at the end, of all the largest.
    pub round_trip_ns: Option<Ns>,
    /// The smallest round trip of all.
    pub round_trip_ns_min: Option<Ns>,
    /// Payload sent and acknowledged.
    pub sent_bytes: u64,
    /// Payload received.
    pub received_bytes: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// How long they were open, summed.
    pub open_ns: Ns,
    /// How long threads of the tree were blocked on them, summed.
    pub waited_ns: Ns,
    /// How often they were.
    pub waits: u64,
    /// Payload of both ways over `open_ns`; none where that is 0.
    pub bytes_per_s_open: Option<u64>,
    /// Payload of both ways over `waited_ns`; none where that is 0.
    pub bytes_per_s_waited: Option<u64>,
    /// What looks like delayed acknowledgements, where it does.
    pub delayed_ack: Option<DelayedAck>,
}

/// A wait that has the length of an acknowledgement's delay, again and again, after more than one small write: each
/// side waits for the other (RFC 896 here, RFC 1122 section 4.2.3.2 there).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayedAck {
    /// Waits of that length.
    pub waits: u64,
    /// Of so many that followed more than one write.
    pub of_waits: u64,
    /// Their sum.
    pub total_ns: Ns,
    /// Mean payload of a write.
    pub write_bytes_mean: u64,
}

/// Lengths of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// Questions to one server for one name and type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookupRow {
    /// The name, in presentation form and lower case; unseen for those that came when too many were told apart.
    pub name: Seen<String>,
    /// `A`, `AAAA`, …; `TYPE123` where it has no name here; `getaddrinfo` of the C library.
    pub kind: String,
    /// The server, or `the C library`.
    pub server: String,
    /// How often it was asked.
    pub times: u64,
    /// How often an answer came.
    pub answered: u64,
    /// Of the answers, how many said that it failed or that there is no such name.
    pub failed: u64,
    /// How often it was asked again after an answer: what a cache would have saved.
    pub repeated: u64,
    /// From the question to its answer, of those answered.
    pub answer: Option<Lengths>,
}
