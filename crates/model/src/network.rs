//! Network use of the tree: connections and name lookups.

use crate::object::SocketEnds;
use crate::{JsonSchema, Ns, Pid, Tid};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::net::{Ipv4Addr, Ipv6Addr};

/// One end of an internet socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// Its address; none where only the port is known.
    pub address: Option<Ipv6Addr>,
    /// Its port.
    pub port: u16,
}

impl Endpoint {
    /// An end with its address in the form of [`SocketEnds`].
    pub fn new(address: [u8; 16], port: u16) -> Self {
        Self { address: Some(address.into()), port }
    }

    /// Parses an end as it is displayed.
    pub fn read(text: &str) -> Option<Self> {
        let (address, port) = text.rsplit_once(':')?;
        let address = match address.strip_prefix('[') {
            Some(v6) => Some(v6.strip_suffix(']')?.parse().ok()?),
            None if address.is_empty() => None,
            None => Some(address.parse::<Ipv4Addr>().ok()?.to_ipv6_mapped()),
        };
        Some(Self { address, port: port.parse().ok()? })
    }
}

/// `127.0.0.1:80`, `[::1]:80`, `:80`.
impl Display for Endpoint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.address.map(|address| (address, address.to_ipv4_mapped())) {
            Some((_, Some(v4))) => write!(f, "{v4}:{}", self.port),
            Some((v6, None)) => write!(f, "[{v6}]:{}", self.port),
            None => write!(f, ":{}", self.port),
        }
    }
}

/// A DNS query to a name server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    /// The server.
    pub server: Endpoint,
    /// The name, in presentation form and lower case; none for those that are counted together.
    pub name: Option<String>,
}

/// The kernel's state of a TCP connection, recorded when it closes or the recording ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// From where to where.
    pub ends: SocketEnds,
    /// The thread that opened it, or first sent on it, where that was observed.
    pub tid: Option<Tid>,
    /// How the tree got it.
    pub began: ConnectionOrigin,
    /// When its first segment was sent, or it was first observed; and when it closed or was last
    /// read.
    pub span: (Ns, Ns),
    /// When it was established. None: it never was (`Opened`), or that was not observed (`Found`).
    pub established_at: Option<Ns>,
    /// Whether it was closed when this was recorded.
    pub closed: bool,
    /// Smoothed round-trip time (`srtt_us`); none: not measured.
    pub round_trip_ns: Option<Ns>,
    /// The smallest of the last five minutes (`rtt_min`).
    pub round_trip_ns_min: Option<Ns>,
    /// Payload sent and acknowledged since `span.0` (`bytes_acked`, without the bytes that SYN and
    /// FIN count as).
    pub sent_bytes: u64,
    /// Payload received, likewise (`bytes_received`, without the byte that the other end's FIN
    /// counts as).
    pub received_bytes: u64,
    /// Segments retransmitted (`total_retrans`), SYN included.
    pub retransmits: u32,
    /// Payload of the longest segment (`mss_cache`).
    pub segment_bytes_max: u32,
    /// Whether it had `TCP_NODELAY` at the end: data is sent without waiting for acknowledgements.
    pub no_delay: bool,
}

/// The processes of this host that serve the program at an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerProcess {
    /// The address and port.
    pub remote: String,
    /// The process that listens there; of several the topmost.
    pub pid: Pid,
    /// Its name.
    pub name: String,
    /// It and its descendants at the end, the first 256.
    pub processes: Vec<Pid>,
    /// What they used while the program waited for it or did something else; absent where that time
    /// was too short to tell.
    pub meanwhile: Option<PeerUse>,
}

/// What processes used in some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerUse {
    /// For how long that was counted: from when the program was first seen to wait for them.
    pub ns: Ns,
    /// CPU time of all of them, in steps of 10 ms.
    pub cpu_ns: Ns,
    /// Bytes read from and written to disks; absent where that may not be read.
    pub disk_bytes: Option<u64>,
}

/// How the tree got a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionOrigin {
    /// A thread connected.
    Opened,
    /// It came in on a port on which a thread listened.
    Accepted,
    /// It existed already when a thread first sent on it: inherited, or accepted from an inherited
    /// socket.
    Found,
}

impl ConnectionOrigin {
    /// The name used in every output.
    pub fn name(self) -> &'static str {
        match self {
            ConnectionOrigin::Opened => "opened",
            ConnectionOrigin::Accepted => "accepted",
            ConnectionOrigin::Found => "found",
        }
    }
}

/// One name lookup and its answer, if any. Names are in their presentation form (RFC 4343: `\.`,
/// `\\`, `\DDD`), so that they are ASCII; they stay untrusted in every other way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookup {
    /// The thread that asked.
    pub tid: Tid,
    /// The server, as the remote end. None: a call of the C library (`getaddrinfo`), whatever
    /// answered it.
    pub ends: Option<SocketEnds>,
    /// The name, without the dot at its end; `.` is the root.
    pub name: String,
    /// `A` (1), `AAAA` (28), …: the type in the question; 0 of the C library.
    pub kind: u16,
    /// When the query was sent; a repeated query is another lookup.
    pub asked_at: Ns,
    /// When the answer came in. None: not within ten seconds, nor until the recording ended.
    pub answered_at: Option<Ns>,
    /// The answer's `RCODE`: 0 is success, 3 no such name. Of the C library: the number of its
    /// `EAI_` error, or 0.
    pub code: Option<u8>,
}
