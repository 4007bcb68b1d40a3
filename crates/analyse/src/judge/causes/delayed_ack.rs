//! Delayed acknowledgements: each side of a TCP connection waits for the other (RFC 896 here, RFC
//! 1122 section 4.2.3.2 there).
//!
//! The signs are counted on each connection while the recording goes by, since connections are not
//! kept one by one.

use super::{Cause, Imposed, Manual, Outcome, peers};
use crate::judge::Evidence;
use crate::judge::imposed;
use crate::judge::predict::{ALL, Removal, on_path};
use crate::judge::signs::{By, Sign};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, Saving, SavingBasis};
use model::network::Connection;
use model::peers::{ConnectionRow, DelayedAck};
use model::recording::Tier;
use model::run::WaitRow;
use model::sentence::Piece::{Bytes, Count, Name, Ns as Time, Number};
use model::wait::WaitTarget;
use model::{Ns, Probe, Seen, Sentence, State, say};
use std::ops::RangeInclusive;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("delayed-ack", "delayed ACKs"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "Each side of a TCP connection waits for the other. This side waits for the \
               acknowledgement of a small segment before it sends the next (Nagle's algorithm, RFC \
               896). The other side waits for data to send with the acknowledgement (delayed ACK, \
               RFC 1122, section 4.2.3.2).",
        why: "The other side stops waiting after 40 to 200 ms. A request that is written in two \
              parts takes that long each time.",
        rule: "All of this holds. At least half of the waits after two writes or more, and at \
               least three, last 38 to 48 ms or 195 to 215 ms. The writes are smaller than a \
               segment on average. The socket has no `TCP_NODELAY`. Nothing is retransmitted. And \
               the smallest round trip is below 20 ms. The reason: Linux delays an acknowledgement \
               for 40 to 200 ms, other systems mostly for 200 ms, and a timer and a wake-up come a \
               little later. Of a server the wait is from the last write of an answer until the \
               client asks again.",
        else_it_could_be: "The server itself may take 40 or 200 ms for each request that comes in \
                           two parts. Of a server, its clients may pause for that long after each \
                           answer.",
        change: "Write a request or an answer with one call (`writev`, a buffer), or set \
                 `TCP_NODELAY` on the socket.",
        part: "Counted, since each such wait was seen: these waits are saved, less a round trip \
               each. The high end adds the CPU time of a write for each. What a wait lasts beyond \
               the delay, at most a fifth of it (38 of 48 ms), may be the other side's own time: \
               the low end leaves it out. The high end includes all waits after two writes, each \
               for no longer than the delay. This covers cases in which either side waits for a \
               CPU: the answer comes later, or part of the delay is over before the wait begins. \
               If there are many of these waits, the saving is bounded, not counted. Of a server \
               whose clients are no part of the program it is not known: they wait.",
        assumes: "The other side acknowledges at once what it need not answer, and answers as fast \
                  as before.",
    },
    explains: &["serial-requests"],
    signs: &[Sign {
        by: By::Waits(lasts_a_delay, DELAYED_MIN, "a peer, each as long as acknowledgements are delayed,"),
        although: false,
        change: "write each request with one call, or set TCP_NODELAY",
    }],
    probe: Some(Imposed { probe: Probe::NoDelay, fits: imposed::always }),
    check,
};

/// Linux delays an acknowledgement for 40 ms at least and 200 ms at most (`TCP_DELACK_MIN`,
/// `TCP_DELACK_MAX` of include/net/tcp.h), others mostly for 200 ms; its timer and the wake-up come
/// a little later.
const DELAYS: [RangeInclusive<Ns>; 2] = [38_000_000..=48_000_000, 195_000_000..=215_000_000];
/// Fewer waits of that length are chance.
const DELAYED_MIN: u64 = 3;
/// A round trip on which such a wait may be the round trip itself.
const ROUND_TRIP_NS_MAX: Ns = 20_000_000;

/// Calls that write to a connection.
const WRITES: &[&str] = &["write", "writev", "sendto", "sendmsg"];
/// What of such a wait is the delay at least: the shortest of the longer of the two is a smaller
/// part.
const DELAY_PART: f64 = 38.0 / 48.0;

/// Whether the median of waits for a peer is such a delay, and the longest no other.
pub(super) fn lasts_a_delay(wait: &WaitRow) -> bool {
    let of_peer = wait.reason == State::Network && matches!(wait.on, WaitTarget::Tcp(_));
    of_peer && DELAYS.iter().any(|delay| delay.contains(&wait.p50_ns) && delay.contains(&wait.max_ns))
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    Outcome::of_table(&evidence.run.tables.connections, |rows| {
        let delayed =
            rows.iter().enumerate().filter_map(|(row, of)| Some((row, of, of.delayed_ack.as_ref()?)));
        let findings = delayed.clone().filter_map(|(row, of, found)| finding(evidence, row, of, found));
        let why_not = match delayed.map(|(_, _, found)| found.waits).max() {
            Some(waits) => {
                say!(Count(waits, "wait".into()), " for delayed ACKs, less than 1 % of the run together")
            }
            None => say!("no waits of 40 or 200 ms after two small writes"),
        };
        Outcome::of(findings, why_not.into())
    })
}

/// None where these waits are less than 1 % of the run.
fn finding(evidence: &Evidence<'_>, row: usize, of: &ConnectionRow, found: &DelayedAck) -> Option<Finding> {
    let served = peers::is_served(of);
    // Clients that are not of the tree wait, and nobody here does.
    let (share_ns, saving, assumes, verify) = match served && !peers::has_clients(evidence, of) {
        true => (
            Interval { lo: 0, hi: found.total_ns.min(evidence.run.whole_ns()) },
            Seen::unseen("its clients wait, and they are no part of this program"),
            say!("the clients do not pause for that long themselves"),
            say!("dwell run … of a client, before and after"),
        ),
        false => (
            on_path(evidence, State::Network, found.total_ns),
            saving(evidence, of, found)?,
            say!("the other end acknowledges and answers as fast as before"),
            say!("the next run has no such waits"),
        ),
    };
    let (what, change, told) = if served { of_answers(of, found) } else { of_requests(of, found) };
    Some(Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Connection(row),
        what,
        change,
        share_ns,
        saving,
        evidence: vec![told],
        assumes: vec![assumes],
        verify: vec![verify],
        explains: Vec::new(),
        belief: None,
    })
}

/// What threads of the tree no longer wait.
fn saving(evidence: &Evidence<'_>, of: &ConnectionRow, found: &DelayedAck) -> Option<Seen<Saving>> {
    let goes = peers::goes(evidence, of)?;
    let round_trips_ns = of.round_trip_ns_min.unwrap_or(0) * found.waits;
    let certain_ns = found.total_ns.saturating_sub(round_trips_ns);
    let least_ns = ((found.total_ns as f64 * DELAY_PART) as Ns).min(certain_ns);
    let other_waits = found.of_waits.saturating_sub(found.waits);
    let others_ns = found.other_ns.saturating_sub(of.round_trip_ns_min.unwrap_or(0) * other_waits);
    let most_ns = certain_ns + others_ns;
    let part = (peers::part(evidence, of, least_ns), peers::part(evidence, of, most_ns));
    Some(evidence.together(
        evidence.saving(&goes, part, SavingBasis::Counted),
        evidence.saving(&Removal::Wall(writes(evidence, found.waits)), ALL, SavingBasis::Counted),
    ))
}

/// The sentence of requests that threads of the tree write, what to change, and the figures.
fn of_requests(of: &ConnectionRow, found: &DelayedAck) -> (Sentence, Sentence, Sentence) {
    (
        say!("requests to ").and(peers::name(of)).and(say!(
            " wait for delayed acknowledgements: ",
            Time(found.total_ns),
            " in ",
            Count(found.waits, "wait".into())
        )),
        say!("write each request with one call, or set TCP_NODELAY"),
        say!(
            Number(found.waits),
            " of ",
            Count(found.of_waits, "wait".into()),
            " after back-to-back writes (",
            Bytes(found.write_bytes_mean),
            " each) lasted about ",
            Time(found.total_ns / found.waits.max(1))
        ),
    )
}

/// The same of answers: `answers from 127.0.0.1:8080 wait for …: 43 ms each, 449 times`.
fn of_answers(of: &ConnectionRow, found: &DelayedAck) -> (Sentence, Sentence, Sentence) {
    let each_ns = found.total_ns / found.waits.max(1);
    (
        say!(
            "answers from ",
            Name(of.local.clone()),
            " wait for delayed acknowledgements: ",
            Time(each_ns),
            " each, ",
            Count(found.waits, "time".into())
        ),
        say!("write each answer with one call, or set TCP_NODELAY"),
        say!(
            "after ",
            Number(found.waits),
            " of ",
            Count(found.of_waits, "answer".into()),
            " of several writes (",
            Bytes(found.write_bytes_mean),
            " each) the client asked again after about ",
            Time(each_ns)
        ),
    )
}

/// What a write for each wait takes on a CPU, at most.
fn writes(evidence: &Evidence<'_>, waits: u64) -> Interval {
    let rows = || evidence.calls_named(WRITES).into_iter().map(|(_, row)| row);
    let (calls, cpu_ns) = rows().fold((0, 0), |sum, row| (sum.0 + row.calls, sum.1 + row.cpu_ns));
    Interval { lo: 0, hi: (cpu_ns as f64 * waits.min(calls) as f64 / calls.max(1) as f64) as Ns }
}

/// The longest delay that fits into a wait of another length: that of Linux, or where the wait is
/// long enough, that of other systems.
fn delay_within(ns: Ns) -> Ns {
    let [short, long] = DELAYS.map(|delay| *delay.end());
    if ns > long { long } else { ns.min(short) }
}

/// Writes and waits on one connection.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Exchanges {
    writes: u64,
    writes_since_wait: u32,
    /// Waits that followed two writes or more; of them, those that lasted as long as
    /// acknowledgements are delayed.
    after_writes: u64,
    delayed: u64,
    delayed_ns: Ns,
    /// The others of those waits, each for no longer than a delay.
    other_ns: Ns,
}

impl Exchanges {
    /// A thread of the tree wrote to it.
    pub(crate) fn wrote(&mut self) {
        self.writes += 1;
        self.writes_since_wait += 1;
    }

    /// A thread of the tree was blocked on it.
    pub(crate) fn waited(&mut self, ns: Ns) {
        if std::mem::take(&mut self.writes_since_wait) > 1 {
            self.after_writes += 1;
            if DELAYS.iter().any(|delay| delay.contains(&ns)) {
                self.delayed += 1;
                self.delayed_ns += ns;
            } else {
                self.other_ns += delay_within(ns);
            }
        }
    }

    /// Small writes, no `TCP_NODELAY`, nothing lost, a short path, and yet most waits after a
    /// second write are as long as the other end may delay its acknowledgement of the first.
    fn are_delayed(&self, connection: &Connection) -> bool {
        let small = connection.sent_bytes < self.writes * u64::from(connection.segment_bytes_max);
        let near = connection.round_trip_ns_min.is_none_or(|ns| ns < ROUND_TRIP_NS_MAX);
        let often = self.delayed >= DELAYED_MIN && self.delayed * 2 >= self.after_writes;
        often && small && near && !connection.no_delay && connection.retransmits == 0
    }
}

/// Those connections of a row that show all signs, summed.
#[derive(Debug, Default)]
pub(crate) struct Delayed {
    sum: Exchanges,
    sent_bytes: u64,
}

impl Delayed {
    /// Counts a closed connection, if it is one of them.
    pub(crate) fn add(&mut self, connection: &Connection, of: &Exchanges) {
        if of.are_delayed(connection) {
            self.sum.writes += of.writes;
            self.sum.after_writes += of.after_writes;
            self.sum.delayed += of.delayed;
            self.sum.delayed_ns += of.delayed_ns;
            self.sum.other_ns += of.other_ns;
            self.sent_bytes += connection.sent_bytes;
        }
    }

    /// What the table says of them.
    pub(crate) fn row(&self) -> Option<DelayedAck> {
        (self.sum.delayed > 0).then(|| DelayedAck {
            waits: self.sum.delayed,
            of_waits: self.sum.after_writes,
            total_ns: self.sum.delayed_ns,
            other_ns: self.sum.other_ns,
            write_bytes_mean: self.sent_bytes / self.sum.writes.max(1),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::judge::samples;
    use model::Tid;
    use model::network::ConnectionOrigin;
    use model::recording::SocketEnds;

    const MS: Ns = 1_000_000;

    /// One over loopback that was open for 50 ms.
    pub(crate) fn connection(local_port: u16, remote_port: u16) -> Connection {
        let mut loopback = [0; 16];
        loopback[10..].copy_from_slice(&[0xff, 0xff, 127, 0, 0, 1]);
        Connection {
            ends: SocketEnds { protocol: 6, local: loopback, local_port, remote: loopback, remote_port },
            tid: Some(1 as Tid),
            began: ConnectionOrigin::Opened,
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

    /// A short exchange and eight of this length, each of this number of writes and a wait; does it
    /// look like it?
    fn looks(writes: u32, ns: Ns, with: impl Fn(&mut Connection)) -> Option<DelayedAck> {
        let mut exchanges = Exchanges::default();
        for ns in std::iter::once(MS / 10).chain([ns; 8]) {
            (0..writes).for_each(|_| exchanges.wrote());
            exchanges.waited(ns);
        }
        let mut told = connection(40_000, 80);
        with(&mut told);
        let mut delayed = Delayed::default();
        delayed.add(&told, &exchanges);
        delayed.row()
    }

    #[test]
    fn of_a_wait_of_another_length_a_delay_is_a_part() {
        let of = [20 * MS, 60 * MS, 190 * MS, 300 * MS].map(delay_within);
        assert_eq!(of, [20 * MS, 48 * MS, 48 * MS, 215 * MS]);
    }

    #[test]
    fn who_waits_for_a_servers_answers_may_be_no_part_of_the_program() {
        let delayed_ack = looks(2, 41 * MS, |_| ());
        let asks = samples::connection("192.0.2.2:80");
        let served = ConnectionRow {
            began: ConnectionOrigin::Accepted,
            local: "192.0.2.2:80".into(),
            remote: "192.0.2.1".into(),
            delayed_ack,
            ..asks.clone()
        };
        let end = WaitTarget::Tcp(model::network::Endpoint::read("192.0.2.2:80").expect("an end"));
        let mut run = samples::run(&[(State::Network, 400 * MS)]);
        run.waits = vec![samples::wait(State::Network, end, &[samples::waiting(1, 400 * MS)])];
        run.waits[0].path_ns = 400 * MS;
        let mut saving = |rows| {
            run.tables.connections = Seen::Value(rows);
            let diagnosis = samples::judged(&run, &Seen::Absent);
            let finding = samples::found(&diagnosis, "delayed-ack").expect("it is there");
            let what: String = format!("{:?}", finding.what);
            assert!(what.contains("answers from") && what.contains("41000000"), "{what}");
            finding.saving.value().map(|saving| saving.structure().hi)
        };
        assert_eq!(saving(vec![served.clone()]), None);
        let asks = ConnectionRow { waited_ns: 400 * MS, ..asks };
        assert!(saving(vec![served, asks]).is_some_and(|hi| hi <= 400 * MS && hi > 300 * MS));
    }

    #[test]
    fn delayed_acknowledgements_are_told_by_all_of_their_signs() {
        let found = looks(2, 41 * MS, |_| ()).unwrap();
        assert_eq!((found.waits, found.of_waits, found.total_ns), (8, 9, 328 * MS));
        assert_eq!(found.other_ns, MS / 10);
        assert_eq!(found.write_bytes_mean, 1000 / 18);
        assert!(looks(2, 202 * MS, |_| ()).is_some());
        assert_eq!(looks(1, 41 * MS, |_| ()), None); // a server that takes this long
        assert_eq!(looks(2, 30 * MS, |_| ()), None);
        assert_eq!(looks(2, 41 * MS, |told| told.no_delay = true), None);
        assert_eq!(looks(2, 41 * MS, |told| told.retransmits = 1), None);
        assert_eq!(looks(2, 41 * MS, |told| told.round_trip_ns_min = Some(40 * MS)), None);
        assert_eq!(looks(2, 41 * MS, |told| told.sent_bytes = 10_000_000), None);
    }
}
