//! Connections by peer: what TCP counted of them, and how long threads of the tree waited on them.

use crate::judge::causes::delayed_ack::{Delayed, Exchanges};
use crate::lookups::Sums;
use model::Ns;
use model::network::{Connection, ConnectionOrigin, Endpoint};
use model::peers::ConnectionRow;
use model::recording::{Object, SocketEnds, WaitContext, Waker};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Peers that are kept apart; connections to later ones are one row for each way to begin.
const PEERS: usize = 4096;
/// Open connections whose waits are remembered.
const OPEN: usize = 65_536;

const TCP: u8 = 6;

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// What is known of those that were not told yet.
    open: FxHashMap<SocketEnds, Use>,
    peers: FxHashMap<Peer, Sum>,
}

/// What the tree did with a connection.
#[derive(Debug, Default, Clone, Copy)]
struct Use {
    waits: u64,
    waited_ns: Ns,
    exchanges: Exchanges,
}

/// The connections of a row: ports that the kernel chose are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Peer {
    began: ConnectionOrigin,
    local: ([u8; 16], u16),
    /// None: one of those that are no longer kept apart.
    remote: Option<([u8; 16], u16)>,
}

#[derive(Debug, Default)]
struct Sum {
    times: u64,
    failed: u64,
    open: u64,
    connect: Sums,
    round_trip_ns: Option<Ns>,
    round_trip_ns_min: Option<Ns>,
    sent_bytes: u64,
    received_bytes: u64,
    retransmits: u64,
    open_ns: Ns,
    waits: u64,
    waited_ns: Ns,
    delayed: Delayed,
}

impl Connections {
    /// A thread of the tree sent something.
    pub(crate) fn sent(&mut self, ends: SocketEnds) {
        if let Some(of) = self.of(ends) {
            of.exchanges.wrote();
        }
    }

    /// A thread of the tree was blocked on the network for this long.
    pub(crate) fn waited(&mut self, wait: &WaitContext, waker: &Waker, ns: Ns) {
        let ends = match (&wait.on, waker) {
            (Object::Net(ends), _) => *ends,
            (_, Waker::Network { ready: Some(ends), .. }) => *ends,
            _ => return,
        };
        if let Some(of) = self.of(ends) {
            of.waits += 1;
            of.waited_ns += ns;
            of.exchanges.waited(ns);
        }
    }

    fn of(&mut self, ends: SocketEnds) -> Option<&mut Use> {
        let known = ends.protocol == TCP
            && ends.remote_port != 0
            && (self.open.len() < OPEN || self.open.contains_key(&ends));
        known.then(|| self.open.entry(ends).or_default())
    }

    /// What the kernel counted of one that closed, or is still open at the end.
    pub(crate) fn told(&mut self, connection: &Connection) {
        let of = self.open.remove(&connection.ends).unwrap_or_default();
        let sum = self.peer(connection);
        sum.times += 1;
        sum.open += u64::from(!connection.closed);
        match (connection.began, connection.established_at) {
            (ConnectionOrigin::Opened, Some(at)) => sum.connect.record(at.saturating_sub(connection.span.0)),
            (ConnectionOrigin::Opened, None) => sum.failed += 1,
            _ => {}
        }
        sum.round_trip_ns = sum.round_trip_ns.max(connection.round_trip_ns);
        sum.round_trip_ns_min =
            [sum.round_trip_ns_min, connection.round_trip_ns_min].into_iter().flatten().min();
        sum.sent_bytes += connection.sent_bytes;
        sum.received_bytes += connection.received_bytes;
        sum.retransmits += u64::from(connection.retransmits);
        let since = connection.established_at.unwrap_or(match connection.began {
            ConnectionOrigin::Opened => connection.span.1,
            ConnectionOrigin::Accepted | ConnectionOrigin::Found => connection.span.0,
        });
        sum.open_ns += connection.span.1.saturating_sub(since);
        sum.waits += of.waits;
        sum.waited_ns += of.waited_ns;
        sum.delayed.add(connection, &of.exchanges);
    }

    fn peer(&mut self, connection: &Connection) -> &mut Sum {
        let ends = connection.ends;
        let mut peer = Peer {
            began: connection.began,
            local: (ends.local, 0),
            remote: Some((ends.remote, ends.remote_port)),
        };
        if serves(connection) {
            peer.local.1 = ends.local_port;
            peer.remote = Some((ends.remote, 0));
        }
        if self.peers.len() >= PEERS && !self.peers.contains_key(&peer) {
            peer = Peer { began: connection.began, local: ([0; 16], 0), remote: None };
        }
        self.peers.entry(peer).or_default()
    }

    /// The table, what was waited on longest first.
    pub(crate) fn rows(&self) -> Vec<ConnectionRow> {
        let mut peers: Vec<_> = self.peers.iter().collect();
        peers.sort_by_key(|(peer, sum)| (Reverse((sum.waited_ns, sum.open_ns, sum.times)), **peer));
        peers.into_iter().map(|(peer, sum)| row(peer, sum)).collect()
    }
}

/// Whether this end is the service. Of those that were found it is, as a rule, the lower port.
fn serves(connection: &Connection) -> bool {
    match connection.began {
        ConnectionOrigin::Opened => false,
        ConnectionOrigin::Accepted => true,
        ConnectionOrigin::Found => connection.ends.local_port < connection.ends.remote_port,
    }
}

fn row(peer: &Peer, sum: &Sum) -> ConnectionRow {
    let bytes = sum.sent_bytes + sum.received_bytes;
    let rate = |ns: Ns| {
        let per_s = (u128::from(bytes) * 1_000_000_000).checked_div(u128::from(ns))?;
        u64::try_from(per_s).ok()
    };
    let serves = peer.local.1 != 0;
    let port = if serves { peer.local.1 } else { peer.remote.map_or(0, |remote| remote.1) };
    ConnectionRow {
        protocol: "tcp".to_owned(),
        began: peer.began,
        local: match peer.remote {
            Some(_) => end(peer.local),
            None => "*".to_owned(),
        },
        remote: peer.remote.map_or("*".to_owned(), end),
        service: service(port).map(str::to_owned),
        times: sum.times,
        failed: sum.failed,
        open: sum.open,
        connect: sum.connect.lengths(),
        round_trip_ns: sum.round_trip_ns,
        round_trip_ns_min: sum.round_trip_ns_min,
        sent_bytes: sum.sent_bytes,
        received_bytes: sum.received_bytes,
        retransmits: sum.retransmits,
        open_ns: sum.open_ns,
        waited_ns: sum.waited_ns,
        waits: sum.waits,
        bytes_per_s_open: rate(sum.open_ns),
        bytes_per_s_waited: rate(sum.waited_ns),
        delayed_ack: sum.delayed.row(),
    }
}

/// An address, with its port where it has one.
fn end((address, port): ([u8; 16], u16)) -> String {
    if port != 0 {
        return Endpoint::new(address, port).to_string();
    }
    let address = std::net::Ipv6Addr::from(address);
    address.to_ipv4_mapped().map_or_else(|| address.to_string(), |v4| v4.to_string())
}

/// What is usually behind a port: IANA's name, or the program that took it. Programs need not keep
/// to it.
fn service(port: u16) -> Option<&'static str> {
    Some(match port {
        21 => "ftp",
        22 => "ssh",
        25 => "smtp",
        53 => "domain",
        80 => "http",
        110 => "pop3",
        111 => "rpcbind",
        143 => "imap",
        389 => "ldap",
        443 => "https",
        445 => "smb",
        465 | 587 => "submission",
        636 => "ldaps",
        853 => "domain-tls",
        873 => "rsync",
        993 => "imaps",
        995 => "pop3s",
        1433 => "mssql",
        1883 => "mqtt",
        2049 => "nfs",
        3306 => "mysql",
        5432 => "postgresql",
        5672 => "amqp",
        6379 => "redis",
        8080 => "http-alt",
        9092 => "kafka",
        9200 => "elasticsearch",
        9418 => "git",
        11211 => "memcached",
        27017 => "mongodb",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::causes::delayed_ack::tests::connection;
    use model::Call;

    const MS: Ns = 1_000_000;

    fn waits(connections: &mut Connections, on: SocketEnds, ns: Ns) {
        connections.sent(on);
        let wait =
            WaitContext { call: Some(Call(0)), uninterruptible: false, io: false, on: Object::Net(on) };
        connections.waited(&wait, &Waker::Unknown, ns);
    }

    #[test]
    fn connections_to_one_service_are_one_row_from_either_side() {
        let mut connections = Connections::default();
        for port in 40_000..40_200 {
            waits(&mut connections, connection(port, 80).ends, MS);
            connections.told(&connection(port, 80));
            let accepted =
                Connection { began: ConnectionOrigin::Accepted, closed: false, ..connection(80, port) };
            connections.told(&accepted);
        }
        let refused = Connection { established_at: None, round_trip_ns: None, ..connection(40_001, 80) };
        connections.told(&refused);
        let rows = connections.rows();
        let [opened, accepted] = &rows[..] else { panic!("{rows:#?}") };
        assert_eq!((opened.local.as_str(), opened.remote.as_str()), ("127.0.0.1", "127.0.0.1:80"));
        assert_eq!((opened.times, opened.failed, opened.open), (201, 1, 0));
        assert_eq!((opened.connect.unwrap().max_ns, opened.waited_ns, opened.waits), (MS, 200 * MS, 200));
        assert_eq!(opened.bytes_per_s_waited, Some(201 * 4900 * 5));
        assert_eq!((accepted.local.as_str(), accepted.remote.as_str()), ("127.0.0.1:80", "127.0.0.1"));
        assert_eq!((accepted.open, accepted.connect, accepted.bytes_per_s_waited), (200, None, None));
        assert_eq!(accepted.service.as_deref(), Some("http"));
    }

    #[test]
    fn rows_do_not_grow_without_bound_and_none_is_left_out() {
        let mut connections = Connections::default();
        for port in 1..=PEERS as u16 + 7 {
            connections.told(&connection(40_000, port));
        }
        let rows = connections.rows();
        assert_eq!(rows.len(), PEERS + 1);
        assert_eq!(rows.iter().find(|row| row.remote == "*").map(|row| row.times), Some(7));
    }
}
