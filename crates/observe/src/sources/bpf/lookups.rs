//! Matches DNS queries with responses: same ends, same ID, same question.
//!
//! The kernel half copies the packets (`network.h`), `dns.rs` parses them. A query is kept for
//! [`PATIENCE_NS`] until its response arrives, and then is reported as unanswered.

use super::dns::{self, DnsQuestion, Message};
use model::network::Lookup;
use model::recording::SocketEnds;
use model::{Event, Ns, Tid};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::net::IpAddr;

/// The timeout of a query: twice the time after which resolvers retry.
const PATIENCE_NS: Ns = 10_000_000_000;
/// The limit of pending queries. Further ones are only counted.
const WAITING_MAX: usize = 65_536;

type QueryKey = (SocketEnds, u16);

/// Pending queries.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    /// More than one where a program uses one ID for several queries.
    waiting: FxHashMap<QueryKey, Vec<Waiting>>,
    /// Queries by time; those answered since are still included.
    order: VecDeque<(Ns, QueryKey)>,
    /// Queries for which there was no room, or whose name was incomplete.
    pub(super) unfollowed: u64,
}

#[derive(Debug)]
struct Waiting {
    tid: Tid,
    question: DnsQuestion,
    asked_at: Ns,
}

impl Lookups {
    /// Takes a packet, from its IP header on; returns a lookup when it is the response to a query.
    pub(super) fn packet(&mut self, at: Ns, tid: Tid, asks: bool, packet: &[u8]) -> Option<Event> {
        let (ends, payload) = datagram(packet, asks)?;
        self.payload(at, tid, asks, ends, payload)
    }

    fn payload(&mut self, at: Ns, tid: Tid, asks: bool, ends: SocketEnds, payload: &[u8]) -> Option<Event> {
        let message = dns::read(payload)?;
        match (asks, message.answers) {
            (true, false) => {
                self.asked(at, tid, ends, message);
                None
            }
            (false, true) => self.answered(at, ends, &message),
            _ => None,
        }
    }

    fn asked(&mut self, at: Ns, tid: Tid, ends: SocketEnds, message: Message) {
        match message.question {
            Some(question) if self.order.len() < WAITING_MAX => {
                let key = (ends, message.id);
                self.waiting.entry(key).or_default().push(Waiting { tid, question, asked_at: at });
                self.order.push_back((at, key));
            }
            _ => self.unfollowed += 1,
        }
    }

    fn answered(&mut self, at: Ns, ends: SocketEnds, message: &Message) -> Option<Event> {
        let key = (ends, message.id);
        let waiting = self.waiting.get_mut(&key)?;
        // Of a repeated query the later one: the response to the first would have come before.
        let index = waiting.iter().rposition(|waiting| match &message.question {
            Some(question) => {
                let same = question.name.eq_ignore_ascii_case(&waiting.question.name);
                same && question.kind == waiting.question.kind
            }
            // Servers that cannot parse a question do not repeat it, and the end of a packet may
            // not be accessible.
            None => true,
        })?;
        let answered = waiting.remove(index);
        if waiting.is_empty() {
            self.waiting.remove(&key);
        }
        Some(event(ends, answered, Some((at, message.code))))
    }

    /// Reports queries that have timed out.
    pub(super) fn give_up(&mut self, now: Ns, sink: &mut dyn FnMut(&Event)) {
        while let Some((asked_at, key)) = self.order.front().copied() {
            if now.saturating_sub(asked_at) < PATIENCE_NS {
                return;
            }
            self.order.pop_front();
            let Some(waiting) = self.waiting.get_mut(&key) else { continue };
            if let Some(index) = waiting.iter().position(|waiting| waiting.asked_at == asked_at) {
                sink(&event(key.0, waiting.remove(index), None));
            }
            if waiting.is_empty() {
                self.waiting.remove(&key);
            }
        }
    }
}

/// Both ends of a UDP packet and its payload; the sender is the local end if it `asks`.
fn datagram(packet: &[u8], asks: bool) -> Option<(SocketEnds, &[u8])> {
    let mapped = |at: usize| {
        let mut address = [0; 16];
        address[10..12].fill(0xff);
        address[12..].copy_from_slice(packet.get(at..at + 4)?);
        Some(address)
    };
    let whole = |at: usize| packet.get(at..)?.first_chunk::<16>().copied();
    let first = *packet.first()?;
    let (from, to, head) = match first >> 4 {
        4 => (mapped(12)?, mapped(16)?, usize::from(first & 15) * 4),
        6 => (whole(8)?, whole(24)?, 40),
        _ => return None,
    };
    let udp: &[u8; 8] = packet.get(head..)?.first_chunk()?;
    let port = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
    let (from, to) = ((from, port(0)), (to, port(2)));
    let (local, remote) = if asks { (from, to) } else { (to, from) };
    let ends = SocketEnds {
        protocol: 17,
        local: local.0,
        local_port: local.1,
        remote: remote.0,
        remote_port: remote.1,
    };
    // After its stated length there may be padding.
    let payload = &packet[head + 8..];
    Some((ends, &payload[..payload.len().min(usize::from(port(4)).saturating_sub(8))]))
}

/// A lookup by the C library (`resolver.h`). A numeric address is not a lookup.
pub(super) fn resolved(
    tid: Tid,
    name: &[u8],
    (asked_at, answered_at): (Ns, Ns),
    error: i32,
) -> Option<Event> {
    if str::from_utf8(name).is_ok_and(|name| name.parse::<IpAddr>().is_ok()) {
        return None;
    }
    // The codes are negative in glibc and in musl; what matters is whether it is 0.
    let code = u8::try_from(error.unsigned_abs()).unwrap_or(u8::MAX);
    Some(Event::Lookup(Box::new(Lookup {
        tid,
        ends: None,
        name: dns::presentation(name),
        kind: 0,
        asked_at,
        answered_at: Some(answered_at),
        code: Some(code),
    })))
}

fn event(ends: SocketEnds, waiting: Waiting, answer: Option<(Ns, u8)>) -> Event {
    Event::Lookup(Box::new(Lookup {
        tid: waiting.tid,
        ends: Some(ends),
        name: waiting.question.name,
        kind: waiting.question.kind,
        asked_at: waiting.asked_at,
        answered_at: answer.map(|(at, _)| at),
        code: answer.map(|(_, code)| code),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: SocketEnds =
        SocketEnds { protocol: 17, local: [1; 16], local_port: 40_000, remote: [2; 16], remote_port: 53 };

    fn message(id: u8, flags: u8, code: u8, name: &str) -> Vec<u8> {
        let mut bytes = vec![0, id, flags, code, 0, 1, 0, 0, 0, 0, 0, 0, name.len() as u8];
        bytes.extend(name.bytes());
        bytes.extend([0, 0, 1, 0, 1]);
        bytes
    }

    fn ask(lookups: &mut Lookups, at: Ns, id: u8, name: &str) {
        assert_eq!(lookups.payload(at, 7, true, ENDS, &message(id, 1, 0, name)), None);
    }

    fn answer(lookups: &mut Lookups, at: Ns, id: u8, name: &str) -> Option<(String, Ns)> {
        match lookups.payload(at, 0, false, ENDS, &message(id, 0x81, 3, name))? {
            Event::Lookup(lookup) => {
                assert_eq!((lookup.answered_at, lookup.code, lookup.tid), (Some(at), Some(3), 7));
                Some((lookup.name, lookup.asked_at))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_answer_belongs_to_the_question_with_its_ends_number_and_name() {
        let mut lookups = Lookups::default();
        ask(&mut lookups, 10, 1, "a");
        ask(&mut lookups, 20, 2, "b");
        ask(&mut lookups, 30, 1, "c");
        assert_eq!(answer(&mut lookups, 40, 2, "a"), None);
        assert_eq!(answer(&mut lookups, 41, 1, "C"), Some(("c".into(), 30)));
        assert_eq!(answer(&mut lookups, 42, 1, "a"), Some(("a".into(), 10)));
        assert_eq!(answer(&mut lookups, 43, 1, "a"), None);
        let elsewhere = SocketEnds { local_port: 40_001, ..ENDS };
        assert_eq!(lookups.payload(44, 0, false, elsewhere, &message(2, 0x81, 0, "b")), None);
        // Only the header of the response was accessible.
        let head = message(2, 0x81, 0, "b")[..12].to_vec();
        assert!(lookups.payload(45, 0, false, ENDS, &head).is_some());
    }

    #[test]
    fn what_is_never_answered_is_told_once_and_after_ten_seconds() {
        let mut lookups = Lookups::default();
        ask(&mut lookups, 10, 1, "a");
        ask(&mut lookups, 20, 2, "b");
        let mut told = Vec::new();
        let mut sink = |event: &Event| told.push(event.clone());
        lookups.give_up(PATIENCE_NS, &mut sink);
        answer(&mut lookups, PATIENCE_NS + 1, 2, "b").unwrap();
        lookups.give_up(PATIENCE_NS + 15, &mut sink);
        lookups.give_up(Ns::MAX, &mut sink);
        let [Event::Lookup(lookup)] = &told[..] else { panic!("{told:?}") };
        assert_eq!((lookup.name.as_str(), lookup.answered_at, lookup.code), ("a", None, None));
        assert!(lookups.waiting.is_empty() && lookups.order.is_empty());
    }

    #[test]
    fn packets_of_both_families_have_their_ends_the_same_way_round_in_both_directions() {
        let mut four = vec![0x46, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 53, 1, 1, 1, 1];
        four.extend([0x9c, 0x40, 0, 53, 0, 11, 0, 0, b'a', b'b', b'c', 0, 0]);
        let (ends, payload) = datagram(&four, true).unwrap();
        assert_eq!(
            (ends.local_port, ends.remote_port, ends.remote[10..].to_vec()),
            (40_000, 53, vec![0xff, 0xff, 192, 0, 2, 53])
        );
        assert_eq!(payload, b"abc");
        let mut six = vec![0x60, 0, 0, 0, 0, 11, 17, 64];
        six.extend([2; 16].iter().chain(&[1; 16]));
        six.extend([0, 53, 0x9c, 0x40, 0, 11, 0, 0, b'a', b'b', b'c']);
        assert_eq!(datagram(&six, false), Some((ENDS, &b"abc"[..])));
        for packet in [four, six] {
            // Cut anywhere, it gives none or less, and never panics.
            let cut = (0..packet.len()).filter(|len| datagram(&packet[..*len], true).is_none());
            assert!(cut.count() >= 28);
            assert_eq!(datagram(&packet[..27], true), None);
        }
    }

    #[test]
    fn more_questions_than_there_is_room_for_are_counted() {
        let mut lookups = Lookups::default();
        for at in 0..WAITING_MAX as Ns + 3 {
            ask(&mut lookups, at, 1, "a");
        }
        assert_eq!(lookups.unfollowed, 3);
    }
}
