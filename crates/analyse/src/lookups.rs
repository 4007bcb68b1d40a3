//! Questions for names, by name: how often, how long until the answer, and how often the same
//! again.

use crate::bounded::{Bounded, Room, Together, put_together, rows_size, texts};
use crate::keys::QuestionId;
use model::network::{Endpoint, Lookup, Question};
use model::peers::{Lengths, LookupRow};
use model::recording::SocketEnds;
use model::{Ns, Seen};
use rustc_hash::FxHashMap;
use stats::Histogram;
use std::cmp::Reverse;

/// Distinct queries that are kept apart (a crawler has millions); later ones are one row for
/// their server and type.
const DISTINCT: usize = 4096;

/// Name in lower case (RFC 4343), type, server; no server is the C library.
type Key = (Option<String>, u16, Option<([u8; 16], u16)>);

/// Who was asked when no name server is known.
const LIBRARY: &str = "the C library";

/// Names by which waits are kept apart.
const NAMED: usize = 1024;

/// All questions.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    rows: FxHashMap<Key, Sum>,
    /// By this end's port: the socket on which the last answer came in, when, and to which
    /// question.
    answered: FxHashMap<u16, (SocketEnds, Ns, QuestionId)>,
    /// The last one stands for all that are not kept apart.
    ids: FxHashMap<Question, QuestionId>,
    /// In the order of their numbers.
    questions: Vec<Question>,
}

#[derive(Debug, Default)]
struct Sum {
    times: u64,
    failed: u64,
    repeated: u64,
    repeated_ns: Ns,
    first_answer: Option<Ns>,
    answers: Sums,
}

/// Lengths of time, added up.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    total_ns: Ns,
    lengths: Histogram,
}

impl Sums {
    pub(crate) fn record(&mut self, ns: Ns) {
        self.total_ns += ns;
        self.lengths.record(ns);
    }

    pub(crate) fn add_all(&mut self, more: &Sums) {
        self.total_ns += more.total_ns;
        self.lengths.add_all(&more.lengths);
    }

    pub(crate) fn count(&self) -> u64 {
        self.lengths.total()
    }

    /// None where there were none.
    pub(crate) fn lengths(&self) -> Option<Lengths> {
        (self.count() > 0).then(|| Lengths {
            total_ns: self.total_ns,
            p50_ns: self.lengths.quantile(0.5),
            p99_ns: self.lengths.quantile(0.99),
            max_ns: self.lengths.max(),
        })
    }
}

impl Lookups {
    /// Takes the next lookup.
    pub(crate) fn observe(&mut self, lookup: &Lookup) {
        let server = lookup.ends.map(|ends| (ends.remote, ends.remote_port));
        let mut key = (Some(lookup.name.to_ascii_lowercase()), lookup.kind, server);
        if self.rows.len() >= DISTINCT && !self.rows.contains_key(&key) {
            key.0 = None;
        }
        let told_apart = key.0.is_some();
        let sum = self.rows.entry(key).or_default();
        sum.times += 1;
        let repeated = told_apart && sum.first_answer.is_some_and(|answer| answer <= lookup.asked_at);
        sum.repeated += u64::from(repeated);
        if let Some(at) = lookup.answered_at {
            sum.first_answer = Some(sum.first_answer.map_or(at, |first| first.min(at)));
            sum.failed += u64::from(lookup.code != Some(0));
            let ns = at.saturating_sub(lookup.asked_at);
            sum.answers.record(ns);
            sum.repeated_ns += if repeated { ns } else { 0 };
            if let Some(ends) = lookup.ends {
                self.answered(ends, &lookup.name, at);
            }
        }
    }

    fn answered(&mut self, ends: SocketEnds, name: &str, at: Ns) {
        let server = Endpoint::new(ends.remote, ends.remote_port);
        let mut question = Question { server, name: Some(name.to_ascii_lowercase()) };
        if self.questions.len() >= NAMED && !self.ids.contains_key(&question) {
            question.name = None;
        }
        let next = QuestionId(self.questions.len() as u32);
        let id = *self.ids.entry(question).or_insert_with_key(|question| {
            self.questions.push(question.clone());
            next
        });
        self.answered.insert(ends.local_port, (ends, at, id));
    }

    /// The question whose answer came in on this socket between these times.
    pub(crate) fn answer(&self, socket: SocketEnds, from: Ns, to: Ns) -> Option<QuestionId> {
        let (ends, at, question) = self.answered.get(&socket.local_port)?;
        // A socket need not be bound to an address, nor connected.
        let local = ends.local == socket.local || is_any(socket.local);
        let remote = (ends.remote, ends.remote_port) == (socket.remote, socket.remote_port);
        let fits = local && (remote || socket.remote_port == 0);
        (fits && (from..=to).contains(at)).then_some(*question)
    }

    /// The question with this number.
    pub(crate) fn question(&self, id: QuestionId) -> Question {
        self.questions[id.0 as usize].clone()
    }

    /// The table, longest total first.
    pub(crate) fn rows(&self) -> Vec<LookupRow> {
        let row = |((name, kind, server), sum): (&Key, &Sum)| LookupRow {
            together: None,
            name: match name {
                Some(name) => Seen::Value(name.clone()),
                None => Seen::unseen("too many different names to track"),
            },
            kind: kind_name(*kind),
            server: server.map_or_else(
                || LIBRARY.to_owned(),
                |(address, port)| Endpoint::new(address, port).to_string(),
            ),
            times: sum.times,
            answered: sum.answers.count(),
            failed: sum.failed,
            repeated: sum.repeated,
            repeated_ns: sum.repeated_ns,
            answer: sum.answers.lengths(),
        };
        let mut rows: Vec<_> = self.rows.iter().map(row).collect();
        rows.sort_by_cached_key(|row| {
            let total = row.answer.map_or(0, |answer| answer.total_ns);
            let name = row.name.value().cloned();
            (Reverse(total), Reverse(row.times), name, row.kind.clone(), row.server.clone())
        });
        rows
    }
}

fn is_any(address: [u8; 16]) -> bool {
    std::net::Ipv6Addr::from(address).to_canonical().is_unspecified()
}

/// The registry of IANA, as far as programs ask for it.
fn kind_name(kind: u16) -> String {
    let name = match kind {
        0 => "getaddrinfo",
        1 => "A",
        2 => "NS",
        5 => "CNAME",
        6 => "SOA",
        12 => "PTR",
        15 => "MX",
        16 => "TXT",
        28 => "AAAA",
        33 => "SRV",
        35 => "NAPTR",
        43 => "DS",
        48 => "DNSKEY",
        52 => "TLSA",
        64 => "SVCB",
        65 => "HTTPS",
        255 => "ANY",
        other => return format!("TYPE{other}"),
    };
    name.to_owned()
}

impl Bounded for Vec<LookupRow> {
    fn cut_texts(&mut self) {
        self.iter_mut().for_each(|row| texts::seen(&mut row.name, texts::text));
    }

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

    fn lookup(name: &str, asked_at: Ns, answer: Option<(Ns, u8)>) -> Lookup {
        let ends =
            SocketEnds { protocol: 17, local: [0; 16], local_port: 4000, remote: [0; 16], remote_port: 53 };
        Lookup {
            tid: 1,
            ends: Some(ends),
            name: name.into(),
            kind: 1,
            asked_at,
            answered_at: answer.map(|(at, _)| at),
            code: answer.map(|(_, code)| code),
        }
    }

    #[test]
    fn what_is_asked_again_after_an_answer_is_repeated_and_what_is_sent_again_is_not() {
        let mut lookups = Lookups::default();
        lookups.observe(&lookup("A.example", 5, Some((35, 0))));
        lookups.observe(&lookup("a.example", 10, None)); // before the answer: a second packet
        lookups.observe(&lookup("a.EXAMPLE", 40, Some((60, 3))));
        lookups.observe(&lookup("b.example", 41, None));
        let rows = lookups.rows();
        assert_eq!(rows.len(), 2);
        let [first, second] = [&rows[0], &rows[1]];
        assert_eq!(first.name, Seen::Value("a.example".into()));
        assert_eq!((first.times, first.answered, first.failed, first.repeated), (3, 2, 1, 1));
        assert_eq!(first.repeated_ns, 20, "of the one that was sent again nothing");
        let answer = first.answer.unwrap();
        assert_eq!((answer.total_ns, answer.max_ns), (50, 30));
        assert_eq!((second.times, second.answered, second.answer), (1, 0, None));
        assert_eq!((second.kind.as_str(), second.server.as_str()), ("A", "[::]:53"));
    }

    #[test]
    fn what_the_c_library_was_asked_is_a_row_of_its_own() {
        let mut lookups = Lookups::default();
        lookups.observe(&Lookup { ends: None, kind: 0, ..lookup("a.example", 5, Some((50, 2))) });
        lookups.observe(&lookup("a.example", 10, Some((40, 0))));
        let rows = lookups.rows();
        let told = rows.iter().map(|row| (row.server.as_str(), row.kind.as_str(), row.failed));
        assert_eq!(told.collect::<Vec<_>>(), [("the C library", "getaddrinfo", 1), ("[::]:53", "A", 0)]);
    }

    #[test]
    fn rows_do_not_grow_without_bound_and_none_is_left_out() {
        let mut lookups = Lookups::default();
        for number in 0..DISTINCT as u64 + 5 {
            lookups.observe(&lookup(&format!("n{number}"), number, Some((number + 1, 0))));
        }
        let rows = lookups.rows();
        assert_eq!(rows.len(), DISTINCT + 1);
        assert_eq!(rows.iter().map(|row| row.times).sum::<u64>(), DISTINCT as u64 + 5);
        let rest = rows.iter().find(|row| row.name.value().is_none()).unwrap();
        assert_eq!((rest.times, rest.repeated), (5, 0));
    }

    #[test]
    fn an_answer_is_found_by_its_socket_and_time_and_names_are_bounded() {
        let mut lookups = Lookups::default();
        lookups.observe(&lookup("A.example", 5, Some((35, 0))));
        let ends =
            SocketEnds { protocol: 17, local: [0; 16], local_port: 4000, remote: [0; 16], remote_port: 53 };
        let named = |lookups: &Lookups, ends, from| {
            lookups.answer(ends, from, 40).map(|question| lookups.question(question).to_string())
        };
        let asked = Some("[::]:53 for a.example".to_owned());
        assert_eq!(named(&lookups, ends, 5), asked);
        assert_eq!(named(&lookups, SocketEnds { remote_port: 0, ..ends }, 5), asked, "not connected");
        assert_eq!(named(&lookups, SocketEnds { local_port: 4001, ..ends }, 5), None, "another socket");
        assert_eq!(named(&lookups, ends, 36), None, "it was there before the wait began");
        for number in 0..NAMED as u64 + 5 {
            lookups.observe(&lookup(&format!("n{number}"), 36, Some((37, 0))));
        }
        assert_eq!(named(&lookups, ends, 5).as_deref(), Some("[::]:53 for other names"));
        assert!(lookups.questions.len() <= NAMED + 1);
    }
}
