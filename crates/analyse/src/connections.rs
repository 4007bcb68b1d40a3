//! Connections by peer: what TCP counted of them, and how long threads of the tree waited on them.

use crate::bounded::{Bounded, Room, Together, put_together, rows_size};
use crate::judge::causes::delayed_ack::{Delayed, Exchanges};
use crate::lookups::Sums;
use crate::roles::Roles;
use crate::services::service;
use crate::turns::TurnsOfOne;
use crate::under_way::PeerWaits;
use model::Ns;
use model::network::{Connection, ConnectionOrigin, Endpoint};
use model::peers::{ConnectionRow, Dialogue, Opening, Turns};
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
    /// What is known of connections not yet reported.
    open: FxHashMap<SocketEnds, Use>,
    /// Connections that were not told yet, by the other end.
    by_remote: FxHashMap<([u8; 16], u16), Open>,
    peers: FxHashMap<Peer, Sum>,
}

/// Connections to one address and port.
#[derive(Debug, Default)]
struct Open {
    now: u64,
    most: u64,
    /// Waits on them.
    at_once: PeerWaits,
    /// Those on which something was sent that is not answered.
    unanswered: u64,
}

/// How long a thread was blocked on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    SomethingCame,
    /// There was room for what it sends.
    Room,
    /// Its limit, and nothing came.
    TimeWasUp,
}

/// What the tree did with a connection.
#[derive(Debug, Default, Clone, Copy)]
struct Use {
    waits: u64,
    waited_ns: Ns,
    exchanges: Exchanges,
    /// When something was sent last.
    sent_at: Ns,
    turns: TurnsOfOne,
    /// When the first answer was there, where a thread waited for it.
    first_answer_at: Option<Ns>,
}

/// The connections of a row: ports that the kernel chose are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Peer {
    began: ConnectionOrigin,
    local: ([u8; 16], u16),
    /// None: one that is no longer kept apart.
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
    turns: Turns,
    opening: Opening,
    dialogue: Dialogue,
    first_answer: Sums,
}

impl Connections {
    /// A thread of the tree sent something then.
    pub(crate) fn sent(&mut self, ends: SocketEnds, at: Ns) {
        let Some((of, open)) = self.of(ends) else { return };
        of.exchanges.wrote();
        of.sent_at = at;
        open.unanswered += u64::from(of.turns.sent());
    }

    /// A client asked then, which had its answer. Where a thread of the tree waited for that, it
    /// has been told.
    pub(crate) fn asked(&mut self, ends: SocketEnds, arrived: Ns) {
        if let Some(of) = self.open.get_mut(&ends) {
            of.exchanges.waited(arrived.saturating_sub(of.sent_at));
        }
    }

    /// Whether something was sent on this connection that is not answered yet.
    pub(crate) fn owes(&self, ends: SocketEnds) -> bool {
        self.open.get(&ends).is_some_and(|of| of.turns.is_unanswered())
    }

    /// A thread of the tree was blocked on the network between these.
    pub(crate) fn waited(&mut self, wait: &WaitContext, waker: &Waker, until: Until, span: (Ns, Ns)) {
        let ns = span.1 - span.0;
        let ends = match (&wait.on, waker) {
            (Object::Net(ends), _) => *ends,
            (_, Waker::Network { ready: Some(ends), .. }) => *ends,
            _ => return,
        };
        let Some((of, open)) = self.of(ends) else { return };
        of.waits += 1;
        of.waited_ns += ns;
        open.at_once.waited(span.0, span.1);
        match until {
            Until::TimeWasUp => of.turns.waited_in_vain(ns),
            Until::Room | Until::SomethingCame => of.exchanges.waited(ns),
        }
        if until == Until::SomethingCame {
            if of.turns.awaits_first() {
                of.first_answer_at = Some(span.1);
            }
            let others = open.unanswered > u64::from(of.turns.is_unanswered());
            open.unanswered -= u64::from(of.turns.waited(ns, others));
        }
    }

    fn of(&mut self, ends: SocketEnds) -> Option<(&mut Use, &mut Open)> {
        if ends.protocol != TCP || ends.remote_port == 0 {
            return None;
        }
        let is_new = !self.open.contains_key(&ends);
        if is_new && self.open.len() >= OPEN {
            return None;
        }
        let open = self.by_remote.entry((ends.remote, ends.remote_port)).or_default();
        open.now += u64::from(is_new);
        open.most = open.most.max(open.now);
        Some((self.open.entry(ends).or_default(), open))
    }

    /// A connection is no longer open: the most that there were at once to its other end, and the
    /// waits on all of them if it was the last.
    fn forget(&mut self, ends: SocketEnds, unanswered: bool) -> (u64, PeerWaits) {
        let remote = (ends.remote, ends.remote_port);
        let Some(open) = self.by_remote.get_mut(&remote) else { return Default::default() };
        open.now -= 1;
        open.unanswered -= u64::from(unanswered);
        match open.now {
            0 => self.by_remote.remove(&remote).map(|open| (open.most, open.at_once)).unwrap_or_default(),
            _ => (open.most, PeerWaits::default()),
        }
    }

    /// Takes what the kernel counted of a connection that closed, or is still open at the end.
    pub(crate) fn observe(&mut self, connection: &Connection, roles: &Roles) {
        let serves = match connection.began {
            ConnectionOrigin::Opened => false,
            ConnectionOrigin::Accepted => true,
            ConnectionOrigin::Found => roles.serves(connection.ends),
        };
        let known = self.open.remove(&connection.ends);
        let of = known.unwrap_or_default();
        let (turns, before_ns, first_turn_ns, unanswered) = of.turns.ended();
        let (at_once, waits) =
            if known.is_some() { self.forget(connection.ends, unanswered) } else { Default::default() };
        let sum = self.peer(connection, serves);
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
        sum.sent_bytes = sum.sent_bytes.saturating_add(connection.sent_bytes);
        sum.received_bytes = sum.received_bytes.saturating_add(connection.received_bytes);
        sum.retransmits += u64::from(connection.retransmits);
        let since = connection.established_at.unwrap_or(match connection.began {
            ConnectionOrigin::Opened => connection.span.1,
            ConnectionOrigin::Accepted | ConnectionOrigin::Found => connection.span.0,
        });
        sum.open_ns += connection.span.1.saturating_sub(since);
        sum.waits += of.waits;
        sum.waited_ns += of.waited_ns;
        sum.delayed.add(connection, &of.exchanges);
        if !serves {
            sum.turns.add(&turns);
        }
        sum.dialogue.turns_max = sum.dialogue.turns_max.max(turns.times);
        sum.dialogue.waiting_ns += waits.any_ns();
        sum.dialogue.waiting_max = sum.dialogue.waiting_max.max(waits.most().into());
        if let (ConnectionOrigin::Opened, Some(at)) = (connection.began, of.first_answer_at) {
            sum.first_answer.record(at.saturating_sub(connection.span.0));
        }
        sum.opening.at_once = sum.opening.at_once.max(at_once);
        sum.opening.waited_ns += before_ns;
        sum.opening.first_turn_ns += first_turn_ns;
    }

    fn peer(&mut self, connection: &Connection, serves: bool) -> &mut Sum {
        let ends = connection.ends;
        let mut peer = Peer {
            began: connection.began,
            local: (ends.local, 0),
            remote: Some((ends.remote, ends.remote_port)),
        };
        if serves {
            peer.local.1 = ends.local_port;
            peer.remote = Some((ends.remote, 0));
        }
        if self.peers.len() >= PEERS && !self.peers.contains_key(&peer) {
            peer = Peer { began: connection.began, local: ([0; 16], 0), remote: None };
        }
        self.peers.entry(peer).or_default()
    }

    /// Whether no connection was accepted.
    pub(crate) fn serves_none(&self) -> bool {
        self.peers.keys().all(|peer| peer.began != ConnectionOrigin::Accepted)
    }

    /// The table, what was waited on longest first.
    pub(crate) fn rows(&self) -> Vec<ConnectionRow> {
        let mut peers: Vec<_> = self.peers.iter().collect();
        peers.sort_by_key(|(peer, sum)| (Reverse((sum.waited_ns, sum.open_ns, sum.times)), **peer));
        peers.into_iter().map(|(peer, sum)| row(peer, sum)).collect()
    }
}

fn row(peer: &Peer, sum: &Sum) -> ConnectionRow {
    let bytes = sum.sent_bytes.saturating_add(sum.received_bytes);
    let rate = |ns: Ns| {
        let per_s = (u128::from(bytes) * 1_000_000_000).checked_div(u128::from(ns))?;
        u64::try_from(per_s).ok()
    };
    let serves = peer.local.1 != 0;
    let port = if serves { peer.local.1 } else { peer.remote.map_or(0, |remote| remote.1) };
    ConnectionRow {
        together: None,
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
        turns: (sum.turns.times > 0).then_some(sum.turns),
        opening: (peer.began == ConnectionOrigin::Opened).then_some(sum.opening),
        process: None,
        process_does: None,
        dialogue: (!serves && sum.waits > 0)
            .then(|| Dialogue { first_answer: sum.first_answer.lengths(), ..sum.dialogue }),
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

impl Bounded for Vec<ConnectionRow> {
    fn size(&self) -> usize {
        rows_size(self)
    }

    fn shrink(&mut self, room: Room) -> Option<Together> {
        put_together(self, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::causes::delayed_ack::tests::connection;
    use model::Call;

    const MS: Ns = 1_000_000;

    fn waits(connections: &mut Connections, on: SocketEnds, ns: Ns) {
        connections.sent(on, 10 * MS);
        let wait =
            WaitContext { call: Some(Call(0)), uninterruptible: false, io: false, on: Object::Net(on) };
        connections.waited(&wait, &Waker::Unknown, Until::SomethingCame, (10 * MS, 10 * MS + ns));
    }

    #[test]
    fn a_client_that_asks_again_after_a_delay_had_the_end_of_its_answer_late() {
        let served = Connection { began: ConnectionOrigin::Accepted, ..connection(80, 40_000) };
        let delayed = |writes: u64, pause_ns: Ns| {
            let mut connections = Connections::default();
            for turn in 1..=8 {
                let at = turn * 1000 * MS;
                (0..writes).for_each(|_| connections.sent(served.ends, at));
                connections.asked(served.ends, at + pause_ns);
            }
            let mut roles = Roles::default();
            roles.observe(served.ends, true);
            connections.observe(&served, &roles);
            connections.rows().remove(0).delayed_ack.map(|found| (found.waits, found.total_ns))
        };
        assert_eq!(delayed(2, 41 * MS), Some((8, 328 * MS)));
        assert_eq!(delayed(1, 41 * MS), None, "a client that waits as long");
        assert_eq!(delayed(2, 5 * MS), None);
    }

    #[test]
    fn of_one_that_was_found_open_the_recording_may_say_who_serves() {
        let found = Connection { began: ConnectionOrigin::Found, ..connection(60_000, 40_000) };
        let row = |roles: &Roles| {
            let mut connections = Connections::default();
            connections.observe(&found, roles);
            let row = connections.rows().remove(0);
            (row.local, row.remote)
        };
        let mut roles = Roles::default();
        assert_eq!(row(&roles), ("127.0.0.1".to_owned(), "127.0.0.1:40000".to_owned()), "by the ports");
        roles.observe(found.ends, true);
        assert_eq!(row(&roles), ("127.0.0.1:60000".to_owned(), "127.0.0.1".to_owned()));
    }

    #[test]
    fn connections_to_one_service_are_one_row_from_either_side() {
        let mut connections = Connections::default();
        for port in 40_000..40_200 {
            waits(&mut connections, connection(port, 80).ends, MS);
            connections.observe(&connection(port, 80), &Roles::default());
            let accepted =
                Connection { began: ConnectionOrigin::Accepted, closed: false, ..connection(80, port) };
            connections.observe(&accepted, &Roles::default());
        }
        let refused = Connection { established_at: None, round_trip_ns: None, ..connection(40_001, 80) };
        connections.observe(&refused, &Roles::default());
        let rows = connections.rows();
        let [opened, accepted] = &rows[..] else { panic!("{rows:#?}") };
        assert_eq!((opened.local.as_str(), opened.remote.as_str()), ("127.0.0.1", "127.0.0.1:80"));
        assert_eq!((opened.times, opened.failed, opened.open), (201, 1, 0));
        assert_eq!((opened.connect.unwrap().max_ns, opened.waited_ns, opened.waits), (MS, 200 * MS, 200));
        assert_eq!(opened.bytes_per_s_waited, Some(201 * 4900 * 5));
        assert_eq!((accepted.local.as_str(), accepted.remote.as_str()), ("127.0.0.1:80", "127.0.0.1"));
        assert_eq!((accepted.open, accepted.connect, accepted.bytes_per_s_waited), (200, None, None));
        assert_eq!(accepted.service.as_deref(), Some("http"));
        let turns = Turns { times: 200, total_ns: 200 * MS, max_ns: MS, at_once_ns: 0, sliced_ns: 0 };
        assert_eq!((opened.turns, accepted.turns), (Some(turns), None), "a server takes no turns");
        assert_eq!(opened.opening, Some(Opening { at_once: 1, waited_ns: 0, first_turn_ns: 200 * MS }));
        assert_eq!((accepted.opening, accepted.dialogue), (None, None));
        let dialogue = opened.dialogue.expect("it was waited on");
        assert_eq!((dialogue.turns_max, dialogue.waiting_ns, dialogue.waiting_max), (1, 200 * MS, 1));
        assert_eq!(dialogue.first_answer.map(|first| first.max_ns), Some(11 * MS - 100));
    }

    #[test]
    fn turns_with_one_peer_are_at_once_while_another_connection_owes_an_answer() {
        let mut connections = Connections::default();
        let [one, two] = [40_000, 40_001].map(|port| connection(port, 80));
        let wait = |connections: &mut Connections, on: &Connection, until| {
            let wait =
                WaitContext { call: None, uninterruptible: false, io: false, on: Object::Net(on.ends) };
            connections.waited(&wait, &Waker::Unknown, until, (15 * MS, 20 * MS));
        };
        connections.sent(one.ends, 0);
        connections.sent(two.ends, 0);
        wait(&mut connections, &two, Until::Room);
        wait(&mut connections, &two, Until::TimeWasUp);
        wait(&mut connections, &one, Until::SomethingCame);
        wait(&mut connections, &two, Until::SomethingCame);
        connections.observe(&one, &Roles::default());
        connections.observe(&two, &Roles::default());
        let rows = connections.rows();
        let turns =
            Turns { times: 2, total_ns: 15 * MS, max_ns: 10 * MS, at_once_ns: 5 * MS, sliced_ns: 5 * MS };
        assert_eq!((rows[0].turns, rows[0].waits), (Some(turns), 4));
        assert_eq!(rows[0].opening.map(|opening| opening.at_once), Some(2));
        let dialogue = rows[0].dialogue.expect("it was waited on");
        assert_eq!((dialogue.waiting_ns, dialogue.waiting_max), (5 * MS, 4));
        assert!(connections.by_remote.is_empty() && connections.open.is_empty());
    }

    #[test]
    fn rows_do_not_grow_without_bound_and_none_is_left_out() {
        let mut connections = Connections::default();
        for port in 1..=PEERS as u16 + 7 {
            connections.observe(&connection(40_000, port), &Roles::default());
        }
        let rows = connections.rows();
        assert_eq!(rows.len(), PEERS + 1);
        assert_eq!(rows.iter().find(|row| row.remote == "*").map(|row| row.times), Some(7));
    }
}
