//! The network peers of the tree, in the schema of `--json`: its connections and name lookups.

use crate::network::{ConnectionOrigin, PeerProcess};
use crate::{JsonSchema, Ns, Seen};
use serde::{Deserialize, Serialize};

/// TCP connections with one peer that began in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionRow {
    /// Protocol.
    #[schemars(extend("enum" = ["tcp"]))]
    pub protocol: String,
    /// How the tree got them.
    pub began: ConnectionOrigin,
    /// Local address; with the port if this end is the service. `*`: connections after the first
    /// 4096 peers.
    pub local: String,
    /// Remote address and port; only the address if this end is the service. `*` as for the local
    /// address.
    pub remote: String,
    /// The usual service of that port, where dwell knows it.
    pub service: Option<String>,
    /// How many connections.
    pub times: u64,
    /// Of these, how many were never established.
    pub failed: u64,
    /// Of these, how many were still open at the end.
    pub open: u64,
    /// Time from the first segment until established, for connections that the tree opened.
    pub connect: Option<Lengths>,
    /// Smoothed round-trip time (`srtt_us`) at the end of a connection; the maximum.
    pub round_trip_ns: Option<Ns>,
    /// Minimum round-trip time (`rtt_min`) of all connections.
    pub round_trip_ns_min: Option<Ns>,
    /// Payload sent and acknowledged; for `found` connections, from then on.
    pub sent_bytes: u64,
    /// Payload received; for `found` connections, from then on.
    pub received_bytes: u64,
    /// Retransmitted segments, SYN segments included.
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
    /// Waits that look like delayed acknowledgements, if any.
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
    /// Who serves at the remote address, where that is a process of this host; none where it was
    /// not seen, and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<PeerProcess>,
    /// What that did while the program waited for it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_does: Option<PeerDoes>,
    /// Number of rows that this row stands for, where there are several: their ends are `*`.
    /// Sums are exact then, and quantiles are the largest of theirs, so no less than that of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<u64>,
}

/// What a peer on this host does while the program waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PeerDoes {
    /// It computes: its CPU time is half or more of the time for which it was waited.
    Computes,
    /// It reads or writes disks: a page (4 KiB) or more in each millisecond of that time, and its
    /// CPU time is less than a quarter.
    UsesDisks,
    /// Neither: it waits itself, most of the time.
    Waits,
}

/// Turns with a peer: something is sent, and then threads of the tree wait for what comes back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turns {
    /// Number of turns.
    pub times: u64,
    /// Blocked time in them, summed.
    pub total_ns: Ns,
    /// The longest.
    pub max_ns: Ns,
    /// What of `total_ns` ended while something sent on another connection to the same peer was not
    /// answered yet.
    pub at_once_ns: Ns,
    /// What of `total_ns` a time limit ended before nothing but the answer came: the program waited
    /// on without sending more.
    #[serde(default)]
    pub sliced_ns: Ns,
}

impl Turns {
    /// Adds more of them.
    pub fn add(&mut self, more: &Turns) {
        self.times += more.times;
        self.total_ns += more.total_ns;
        self.max_ns = self.max_ns.max(more.max_ns);
        self.at_once_ns += more.at_once_ns;
        self.sliced_ns += more.sliced_ns;
    }
}

/// What opening connections to a peer takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Opening {
    /// The most that were open at once.
    pub at_once: u64,
    /// Blocked time before the first thing was sent: until they were established, and for what the
    /// peer sends first.
    pub waited_ns: Ns,
    /// Blocked time in the first turn of each connection.
    pub first_turn_ns: Ns,
}

/// How the connections of a row are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DelayedAck {
    /// Waits of that length. Of connections whose this end is the service also the times from the
    /// last write of an answer until the client asked again.
    pub waits: u64,
    /// Waits that followed more than one write, of any length.
    pub of_waits: u64,
    /// Total time of these waits.
    pub total_ns: Ns,
    /// Other waits that followed more than one write: the sum of what a delay can be of each.
    #[serde(default)]
    pub other_ns: Ns,
    /// Mean payload of a write.
    pub write_bytes_mean: u64,
}

/// A summary of durations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lengths {
    /// Their sum.
    pub total_ns: Ns,
    /// Median, within the histogram's 6 %.
    pub p50_ns: Ns,
    /// 99th percentile, within the histogram's 6 %.
    pub p99_ns: Ns,
    /// Maximum, exact.
    pub max_ns: Ns,
}

/// Lookups of one name and type at one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LookupRow {
    /// The name, in presentation form and lower case; unseen for those that came after the table of
    /// names was full.
    pub name: Seen<String>,
    /// `A`, `AAAA`, …; `TYPE123` where it has no name here; `getaddrinfo` of the C library.
    pub kind: String,
    /// The server, or `the C library`.
    pub server: String,
    /// Queries sent, retransmissions included.
    pub times: u64,
    /// Answers within ten seconds.
    pub answered: u64,
    /// Answers that report a failure or that the name does not exist.
    pub failed: u64,
    /// Queries repeated after an answer: what a cache would have saved.
    pub repeated: u64,
    /// From such a query to its answer, summed; 0 in older results.
    #[serde(default)]
    pub repeated_ns: Ns,
    /// From the query to its answer, of those answered.
    pub answer: Option<Lengths>,
    /// Number of rows that this row stands for, where there are several. Sums are exact then, and
    /// quantiles are the largest of theirs, so no less than that of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<u64>,
}
