//! Connections by peer: what TCP counted of them, and how long threads of the tree waited on them.

use crate::lookups::Sums;
use model::Ns;
use model::network::{Began, Connection, Endpoint};
use model::peers::{ConnectionRow, DelayedAck};
use model::recording::{Ends, Object, Wait, Waker};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Peers that are told apart; connections to later ones are one row for each way to begin.
const PEERS: usize = 4096;
/// Open connections whose waits are remembered.
const OPEN: usize = 65_536;

const TCP: u8 = 6;

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// What is known of those that were not told yet.
    open: FxHashMap<Ends, Use>,
    peers: FxHashMap<Peer, Sum>,
}

/// What the tree did with a connection.
#[derive(Debug, Default, Clone, Copy)]
struct Use {
    sends: u64,
    sends_since_wait: u32,
    waits: u64,
    waited_ns: Ns,
    /// Waits that followed two writes or more; of them, those that lasted as long as acknowledgements are delayed.
    after_writes: u64,
    delayed: u64,
    delayed_ns: Ns,
}

/// The connections of a row: ports that the kernel chose are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Peer {
    began: Began,
    local: ([u8; 16], u16),
    /// None: one of those that are not told apart any more.
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
    /// Of connections that look like it.
    delayed: Use,
    delayed_sent_bytes: u64,
}

/// Linux delays an acknowledgement for 40 ms at least and 200 ms at most (`TCP_DELACK_MIN`, `TCP_DELACK_MAX` of
/// include/net/tcp.h), others mostly for 200 ms; its timer and the wake-up come a little later.
const DELAYS: [std::ops::RangeInclusive<Ns>; 2] = [38_000_000..=48_000_000, 195_000_000..=215_000_000];
/// Fewer waits of that length are chance.
const DELAYED_MIN: u64 = 3;
/// A path on which such a wait may be the path itself.
const ROUND_TRIP_NS_MAX: Ns = 20_000_000;

impl Connections {
    /// A thread of the tree sent something.
    pub(crate) fn sent(&mut self, ends: Ends) {
        if let Some(of) = self.of(ends) {
            of.sends += 1;
            of.sends_since_wait += 1;
        }
    }

    /// A thread of the tree was blocked on the network for so long.
    pub(crate) fn waited(&mut self, wait: &Wait, waker: &Waker, ns: Ns) {
        let ends = match (&wait.on, waker) {
            (Object::Net(ends), _) => *ends,
            (_, Waker::Network { ready: Some(ends), .. }) => *ends,
            _ => return,
        };
        if let Some(of) = self.of(ends) {
            of.waits += 1;
            of.waited_ns += ns;
            if of.sends_since_wait > 1 {
                of.after_writes += 1;
                if DELAYS.iter().any(|delay| delay.contains(&ns)) {
                    of.delayed += 1;
                    of.delayed_ns += ns;
                }
            }
            of.sends_since_wait = 0;
        }
    }

    fn of(&mut self, ends: Ends) -> Option<&mut Use> {
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
            (Began::Opened, Some(at)) => sum.connect.record(at.saturating_sub(connection.span.0)),
            (Began::Opened, None) => sum.failed += 1,
            _ => {}
        }
        sum.round_trip_ns = sum.round_trip_ns.max(connection.round_trip_ns);
        sum.round_trip_ns_min =
            [sum.round_trip_ns_min, connection.round_trip_ns_min].into_iter().flatten().min();
        sum.sent_bytes += connection.sent_bytes;
        sum.received_bytes += connection.received_bytes;
        sum.retransmits += u64::from(connection.retransmits);
        let since = connection.established_at.unwrap_or(match connection.began {
            Began::Opened => connection.span.1,
            Began::Accepted | Began::Found => connection.span.0,
        });
        sum.open_ns += connection.span.1.saturating_sub(since);
        sum.waits += of.waits;
        sum.waited_ns += of.waited_ns;
        if looks_delayed(connection, of) {
            sum.delayed.sends += of.sends;
            sum.delayed.after_writes += of.after_writes;
            sum.delayed.delayed += of.delayed;
            sum.delayed.delayed_ns += of.delayed_ns;
            sum.delayed_sent_bytes += connection.sent_bytes;
        }
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
        Began::Opened => false,
        Began::Accepted => true,
        Began::Found => connection.ends.local_port < connection.ends.remote_port,
    }
}

/// Small writes, no `TCP_NODELAY`, nothing lost, a short path, and yet most waits after a second write are as long as
/// the other end may delay its acknowledgement of the first.
fn looks_delayed(connection: &Connection, of: Use) -> bool {
    let small = connection.sent_bytes < of.sends * u64::from(connection.segment_bytes_max);
    let near = connection.round_trip_ns_min.is_none_or(|ns| ns < ROUND_TRIP_NS_MAX);
    let often = of.delayed >= DELAYED_MIN && of.delayed * 2 >= of.after_writes;
    often && small && near && !connection.no_delay && connection.retransmits == 0
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
        delayed_ack: (sum.delayed.delayed > 0).then(|| DelayedAck {
            waits: sum.delayed.delayed,
            of_waits: sum.delayed.after_writes,
            total_ns: sum.delayed.delayed_ns,
            write_bytes_mean: sum.delayed_sent_bytes / sum.delayed.sends.max(1),
        }),
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

/// What is usually behind a port: IANA's name, or the program that took it. Nobody is bound to it.
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
    use model::{Call, Tid};

    const MS: Ns = 1_000_000;

    fn ends(local_port: u16, remote_port: u16) -> Ends {
        let mut loopback = [0; 16];
        loopback[10..].copy_from_slice(&[0xff, 0xff, 127, 0, 0, 1]);
        Ends { protocol: TCP, local: loopback, local_port, remote: loopback, remote_port }
    }

    fn connection(ends: Ends) -> Connection {
        Connection {
            ends,
            tid: Some(1 as Tid),
            began: Began::Opened,
            span: (100, 100 + 50 * MS),
            established_at: Some(100 + MS),
            closed: true,
            round_trip_ns: Some(3 * MS),
            round_trip_ns_min: Some(MS),
            sent_bytes: 1000,
            received_bytes: 3900,
            retransmits: 0,
            segment_bytes_max: 1448,
            no_delay: false,
        }
    }

    fn waits(connections: &mut Connections, on: Ends, writes: u32, ns: Ns) {
        (0..writes).for_each(|_| connections.sent(on));
        let wait = Wait { call: Some(Call(0)), uninterruptible: false, io: false, on: Object::Net(on) };
        connections.waited(&wait, &Waker::Unknown, ns);
    }

    #[test]
    fn connections_to_one_service_are_one_row_from_either_side() {
        let mut connections = Connections::default();
        for port in 40_000..40_200 {
            waits(&mut connections, ends(port, 80), 1, MS);
            connections.told(&connection(ends(port, 80)));
            let accepted = Connection { began: Began::Accepted, closed: false, ..connection(ends(80, port)) };
            connections.told(&accepted);
        }
        let refused =
            Connection { established_at: None, round_trip_ns: None, ..connection(ends(40_001, 80)) };
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

    /// Eight exchanges of two writes and a wait; does it look like delayed acknowledgements?
    fn looks(writes: u32, ns: Ns, with: impl Fn(&mut Connection)) -> Option<DelayedAck> {
        let mut connections = Connections::default();
        let on = ends(40_000, 80);
        waits(&mut connections, on, writes, MS / 10);
        (0..8).for_each(|_| waits(&mut connections, on, writes, ns));
        let mut told = connection(on);
        with(&mut told);
        connections.told(&told);
        connections.rows().remove(0).delayed_ack
    }

    #[test]
    fn delayed_acknowledgements_are_told_by_all_of_their_signs() {
        let found = looks(2, 41 * MS, |_| ()).unwrap();
        assert_eq!((found.waits, found.of_waits, found.total_ns), (8, 9, 328 * MS));
        assert_eq!(found.write_bytes_mean, 1000 / 18);
        assert!(looks(2, 202 * MS, |_| ()).is_some());
        assert_eq!(looks(1, 41 * MS, |_| ()), None); // a server that takes so long
        assert_eq!(looks(2, 30 * MS, |_| ()), None);
        assert_eq!(looks(2, 41 * MS, |told| told.no_delay = true), None);
        assert_eq!(looks(2, 41 * MS, |told| told.retransmits = 1), None);
        assert_eq!(looks(2, 41 * MS, |told| told.round_trip_ns_min = Some(40 * MS)), None);
        assert_eq!(looks(2, 41 * MS, |told| told.sent_bytes = 10_000_000), None);
    }

    #[test]
    fn rows_do_not_grow_without_bound_and_none_is_left_out() {
        let mut connections = Connections::default();
        for port in 1..=PEERS as u16 + 7 {
            connections.told(&connection(ends(40_000, port)));
        }
        let rows = connections.rows();
        assert_eq!(rows.len(), PEERS + 1);
        assert_eq!(rows.iter().find(|row| row.remote == "*").map(|row| row.times), Some(7));
    }
}
