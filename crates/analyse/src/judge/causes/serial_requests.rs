//! Requests to one peer that are made one after the other, each after the answer to the last.

use super::{Cause, Manual, Outcome, peers};
use crate::calls::waits_for_events;
use crate::judge::Evidence;
use crate::judge::predict::{Part, Removal, divided};
use crate::judge::signs::{By, Sign};
use crate::judge::traffic;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::peers::{ConnectionRow, Turns};
use model::recording::Tier;
use model::run::WaitRow;
use model::sentence::Piece::{Bytes, Count, Name, Ns as Time, Number, Share};
use model::series::SeriesVerdict;
use model::wait::{SyscallName, WaitTarget};
use model::{Ns, RuledOut, Seen, Sentence, State, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("serial-requests", "requests one after another"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program sends a request to a peer, waits for the answer, and then sends the next.",
        why: "Each request takes a round trip and the peer's own time. Meanwhile this program does \
              nothing, and neither, as a rule, does most of the peer. One after another the waits \
              add up; at the same time they would overlap.",
        rule: "On connections to one peer, the program sends something and then waits, 10 times \
               or more, or on 8 connections or more: fewer are the steps of one session (a \
               greeting, a login, a question), which are on one. While \
               one request is waited for, no other connection to that peer owes an answer, for \
               nine tenths of the time. What is sent and what comes back is less than 64 KiB each \
               on average, since more is a transfer that a link bounds. And no link is at its \
               limit. Without BPF 10 waits or more for an answer count, or for any of several \
               things, if the links of the host carried from one to five packets and less than 16 \
               KiB for each.",
        else_it_could_be: "Several requests at a time on one connection (HTTP/2, pipelining) look \
                           like one. A program that waits until its peer has something for it (a \
                           queue, a chat) looks the same, and has nothing to gain.",
        change: "Have several requests under way at the same time: more threads or tasks with a \
                 connection each, pipelining, an asynchronous client. Or ask for many items with \
                 one request: a query for all rows, a batch, a bulk interface.",
        part: "Bounded by the structure, with k turns at a time, from k = 2 to 16. (A turn is a \
               request and its answer.) N turns of mean t then take N t/k or the longest turn, \
               whichever is more.",
        assumes: "No request needs the answer of another, and the peer serves several at a time as \
                  fast as one.",
    },
    explains: &[],
    signs: &[
        Sign {
            by: By::WaitsWhere(
                is_for_an_answer,
                TURNS_MIN,
                "answers of peers, one after another",
                |evidence, waits| is_one_at_a_time(waits) && traffic::asks(evidence, waits).unwrap_or(true),
            ),
            although: false,
            change: "have several requests under way at a time, or ask for many things in one",
        },
        Sign {
            by: By::WaitsWhere(
                is_for_events,
                TURNS_MIN,
                "events from outside, such as answers of peers,",
                |evidence, waits| traffic::asks(evidence, waits).unwrap_or(false),
            ),
            although: false,
            change: "have several requests under way at a time, or ask for many things in one",
        },
    ],
    probe: None,
    check,
};

/// Fewer are the steps of a session, which need each other; or on this many connections: these
/// steps are on one.
pub(super) const TURNS_MIN: u64 = 10;
const CONNECTIONS_MIN: u64 = 8;
/// The largest part of the time in turns with another under way: one in this many.
const AT_ONCE_PART: Ns = 10;
/// How many at a time, from and to.
const AT_A_TIME: (f64, f64) = (2.0, 16.0);
/// A link that was at its limit for this share of the run carries no more at a time.
const LIMITED_SHARE: f64 = 0.5;

pub(super) fn is_for_an_answer(wait: &WaitRow) -> bool {
    let reads = |call: &SyscallName| matches!(&*call.name, "read" | "recvfrom" | "recvmsg" | "readv");
    let peer = match (&wait.on, wait.reason) {
        (WaitTarget::Tcp(end), State::Network) => end.port != 53,
        // A socket that was closed before it was looked at.
        (WaitTarget::External(Seen::Value(name)), State::OtherWait) => name == "socket",
        _ => false,
    };
    peer && wait.call.syscall().is_some_and(reads)
}

/// Whether few of these waits are at the same time as others, where the path is with one.
fn is_one_at_a_time(waits: &[&WaitRow]) -> bool {
    let sum = |of: fn(&WaitRow) -> Ns| waits.iter().map(|wait| of(wait)).sum::<Ns>();
    let path_ns = sum(|wait| wait.path_ns);
    path_ns == 0 || sum(|wait| wait.total_ns) <= path_ns + path_ns / AT_ONCE_PART
}

/// Whether it waits for something of several, and it is not known of which.
pub(super) fn is_for_events(wait: &WaitRow) -> bool {
    let polls = |call: &SyscallName| waits_for_events(&call.name) && !call.name.starts_with("accept");
    wait.reason == State::OtherWait && wait.call.syscall().is_some_and(polls)
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    if let Some(link) = limited_link(evidence) {
        let why = say!("the link ", Name(link.to_owned()), " is at its limit, where requests would queue");
        return Outcome::RuledOut(why.into());
    }
    Outcome::of_table(&evidence.run.tables.connections, |rows| {
        let serial = rows.iter().enumerate().filter(|(_, of)| peers::asks(of));
        let findings = serial.filter_map(|(row, of)| {
            let turns = of.turns.as_ref().filter(|turns| is_serial(of, turns))?;
            Some(finding(evidence, row, of, turns, &peers::goes(evidence, of)?))
        });
        Outcome::of(findings, why_not(rows))
    })
}

/// Why there is none: of the peer with the most turns.
fn why_not(rows: &[ConnectionRow]) -> RuledOut {
    let turns = rows.iter().filter(|of| peers::asks(of)).filter_map(|of| Some((of, of.turns.as_ref()?)));
    let few =
        |times: u64, what: Sentence| RuledOut::below(Count(times, "request".into()), what, Number(TURNS_MIN));
    let Some((of, turns)) = turns.max_by_key(|(_, turns)| turns.times) else {
        return few(0, say!("to peers"));
    };
    let to_peer = say!("to ").and(peers::name(of));
    let each_bytes = of.sent_bytes.max(of.received_bytes) / turns.times.max(1);
    let alone = 1.0 - turns.at_once_ns as f64 / turns.total_ns.max(1) as f64;
    if !is_many(of, turns) {
        few(turns.times, to_peer)
    } else if each_bytes >= peers::REQUEST_BYTES_MAX {
        let what = say!("per request ").and(to_peer);
        RuledOut::above(Bytes(each_bytes), what, Bytes(peers::REQUEST_BYTES_MAX))
    } else if turns.at_once_ns > turns.total_ns / AT_ONCE_PART {
        let what = say!("of the time in requests ").and(to_peer).and(say!(" had only one under way"));
        RuledOut::below(Share(alone), what, Share(1.0 - 1.0 / AT_ONCE_PART as f64))
    } else if is_serial(of, turns) {
        say!("requests ").and(to_peer).and(say!(" are less than 1 % of the run")).into()
    } else {
        say!("bytes go one way only in requests ").and(to_peer).into()
    }
}

/// Whether there are more than the steps of a session.
fn is_many(of: &ConnectionRow, turns: &Turns) -> bool {
    turns.times >= TURNS_MIN || turns.times.min(of.times) >= CONNECTIONS_MIN
}

fn limited_link<'a>(evidence: &Evidence<'a>) -> Option<&'a str> {
    let verdicts = evidence.run.series.value().map_or(&[][..], |series| &series.verdicts);
    verdicts.iter().find_map(|verdict| match verdict {
        SeriesVerdict::LinkAtLimit { name, share_of_wall, .. } if *share_of_wall >= LIMITED_SHARE => {
            Some(name.as_str())
        }
        _ => None,
    })
}

fn is_serial(of: &ConnectionRow, turns: &Turns) -> bool {
    let small = |bytes: u64| bytes < turns.times * peers::REQUEST_BYTES_MAX;
    is_many(of, turns)
        && turns.at_once_ns <= turns.total_ns / AT_ONCE_PART
        && small(of.sent_bytes)
        && small(of.received_bytes)
        && of.sent_bytes >= turns.times
        && of.received_bytes >= turns.times
}

fn finding(
    evidence: &Evidence<'_>,
    row: usize,
    of: &ConnectionRow,
    turns: &Turns,
    goes: &Removal,
) -> Finding {
    let part = part(evidence, of, turns);
    let most = of.dialogue.map(|of| of.turns_max).filter(|most| *most > 1 && of.times > 1);
    let of_one = most.map(|most| say!(", ", Number(most), " on one of them at most")).unwrap_or_default();
    let whole = evidence.run.tables.waits_at_once.value().and_then(|at_once| at_once.network.one_share());
    let of_all = whole.map(|one| {
        say!("in ", Share(one), " of the time with waits for the network, only one thread waited")
    });
    let at_once = match of.dialogue.map(|of| of.waiting_max) {
        Some(1) => vec![say!("no two threads waited for it at once")],
        Some(most) if most > 1 => {
            vec![say!("at most ", Count(most, "thread".into()), " waited for it at once")]
        }
        _ => Vec::new(),
    };
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Connection(row),
        what: say!(Count(turns.times, "request".into()), " to ").and(peers::name(of)).and(say!(
            " were waited for one after another, ",
            Time(turns.total_ns),
            " in total"
        )),
        change: say!(
            "send several at a time (more connections, pipelining), or ask for many items with one request"
        ),
        share_ns: peers::share(goes, (peers::part(evidence, of, turns.total_ns), 1.0)),
        saving: evidence.saving(goes, part, SavingBasis::Bounded),
        evidence: [
            say!(
                Time(turns.total_ns / turns.times),
                " each on average, ",
                Time(turns.max_ns),
                " at most; those whose answer was there at once are not counted"
            ),
            say!(
                Bytes(of.sent_bytes / turns.times),
                " sent and ",
                Bytes(of.received_bytes / turns.times),
                " received each, on ",
                Count(of.times, "connection".into())
            )
            .and(of_one),
        ]
        .into_iter()
        .chain(at_once)
        .chain(of_all)
        .chain(peers::does(of))
        .collect(),
        assumes: vec![
            say!("the requests do not need each other's answers"),
            say!("the peer serves 2 to 16 at a time as fast as one"),
        ],
        verify: vec![say!("measure both versions: dwell compare BEFORE AFTER")],
        explains: Vec::new(),
        belief: None,
    }
}

/// What goes of all waits for the peer.
fn part(evidence: &Evidence<'_>, of: &ConnectionRow, turns: &Turns) -> Part {
    let goes = |at_a_time: f64| peers::part(evidence, of, divided(turns.total_ns, turns.max_ns, at_a_time));
    (goes(AT_A_TIME.0), goes(AT_A_TIME.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{connection, found, judged, ruled_out, run, saves, sites, wait, waiting};
    use model::Threshold;
    use model::peers::Dialogue;
    use model::prediction::Site;
    use model::series::SeriesVerdict;
    use model::wait::WaitTarget;
    use model::waits_at_once::{AtOnce, WaitsAtOnce};
    use model::{Run, Seen, State};

    const MS: Ns = 1_000_000;

    fn peer() -> WaitTarget {
        WaitTarget::Tcp(model::network::Endpoint::read("192.0.2.1:80").unwrap())
    }

    /// A run with `times` turns of 10 ms each.
    fn of(times: u64) -> (Run, Ns) {
        let ns = times * 10 * MS;
        let mut run = run(&[(State::Network, ns), (State::User, MS)]);
        run.waits = vec![wait(State::Network, peer(), &[waiting(100, ns)])];
        let turns = Some(Turns { times, total_ns: ns, max_ns: 10 * MS, ..Turns::default() });
        let bytes = times * 100;
        let row = connection("192.0.2.1:80");
        run.tables.connections = Seen::Value(vec![ConnectionRow {
            turns,
            sent_bytes: bytes,
            received_bytes: bytes,
            waited_ns: ns,
            ..row
        }]);
        (run, ns)
    }

    fn judge(run: &Run, ns: Ns) -> model::Diagnosis {
        judged(run, &sites(run, &[(Site::Peer(peer()), [ns; 3])]))
    }

    fn change(run: &mut Run, with: impl Fn(&mut ConnectionRow)) {
        if let Seen::Value(rows) = &mut run.tables.connections {
            with(&mut rows[0]);
        }
    }

    #[test]
    fn two_to_sixteen_at_a_time_go_together() {
        let (run, ns) = of(100);
        let diagnosis = judge(&run, ns);
        // 1 s takes at most 505 ms by two at a time, and at least 62.5 ms by sixteen.
        assert_eq!(saves(found(&diagnosis, "serial-requests").unwrap()), (500 * MS, 937_500_000));
    }

    #[test]
    fn how_many_threads_waited_at_once_stands_with_it() {
        let (mut run, ns) = of(100);
        let said = |run: &Run| found(&judge(run, ns), "serial-requests").unwrap().evidence.clone();
        assert_eq!(said(&run).len(), 2);
        let dialogue = Dialogue { turns_max: 60, waiting_ns: ns, waiting_max: 1, first_answer: None };
        change(&mut run, |row| (row.times, row.dialogue) = (2, Some(dialogue)));
        let alone = said(&run);
        assert_eq!(alone.last(), Some(&say!("no two threads waited for it at once")));
        assert!(alone[1].0.contains(&Number(60)));
        let network = AtOnce { any_ns: 100 * MS, one_ns: 97 * MS, ..AtOnce::default() };
        run.tables.waits_at_once = Seen::Value(WaitsAtOnce { network, ..WaitsAtOnce::default() });
        let of_all = said(&run);
        assert!(of_all.len() == 4 && of_all[3].0.contains(&Share(0.97)), "{of_all:?}");
    }

    #[test]
    fn one_long_request_is_not_divided() {
        let (mut run, ns) = of(100);
        change(&mut run, |row| row.turns.as_mut().unwrap().max_ns = 500 * MS);
        let diagnosis = judge(&run, ns);
        assert_eq!(saves(found(&diagnosis, "serial-requests").unwrap()), (500 * MS, 500 * MS));
    }

    #[test]
    fn on_a_connection_each_eight_are_a_list() {
        let on = |times, connections| {
            let (mut run, ns) = of(times);
            change(&mut run, |row| row.times = connections);
            judge(&run, ns)
        };
        // Ten at a time, since there are no more: the longest is left.
        assert_eq!(saves(found(&on(10, 10), "serial-requests").unwrap()), (50 * MS, 90 * MS));
        assert!(found(&on(8, 8), "serial-requests").is_some());
        for (times, connections) in [(7, 7), (1, 1), (9, 7), (1, 100)] {
            assert!(ruled_out(&on(times, connections), "serial-requests"), "{times} on {connections}");
        }
    }

    #[test]
    fn few_large_and_overlapping_ones_are_none() {
        let (run, ns) = of(9);
        assert!(ruled_out(&judge(&run, ns), "serial-requests"));
        type Change = fn(&mut ConnectionRow);
        let none: [Change; 4] = [
            |row| row.turns.as_mut().unwrap().at_once_ns = 101 * MS,
            |row| row.received_bytes = 100 << 16,
            |row| row.received_bytes = 99,
            |row| row.began = model::network::ConnectionOrigin::Accepted,
        ];
        for with in none {
            let (mut run, ns) = of(100);
            change(&mut run, with);
            assert!(ruled_out(&judge(&run, ns), "serial-requests"));
        }
        let (mut run, ns) = of(100);
        let at_limit = SeriesVerdict::LinkAtLimit {
            name: "eth0".into(),
            share_of_wall: 0.5,
            carried_bits_per_s: 9.4e6,
            limit_bits_per_s: 9_400_000,
        };
        run.series = Seen::Value(crate::judge::samples::series(vec![at_limit]));
        assert!(ruled_out(&judge(&run, ns), "serial-requests"));
    }

    #[test]
    fn large_ones_are_named_as_transfers() {
        let (mut run, ns) = of(100);
        change(&mut run, |row| row.received_bytes = 100 << 16);
        let said = |run: &Run| {
            let diagnosis = judge(run, ns);
            let of = diagnosis.ruled_out.into_iter().find(|(cause, _)| cause.id == "serial-requests");
            of.expect("it is ruled out").1.threshold
        };
        let (figure, allowed) = (Bytes(1 << 16), Bytes(1 << 16));
        assert_eq!(said(&run), Some(Threshold::Above { figure, allowed }));
        change(&mut run, |row| row.turns.as_mut().unwrap().times = 7);
        let (figure, needed) = (Count(7, "request".into()), Number(10));
        assert_eq!(said(&run), Some(Threshold::Below { figure, needed }), "few are few, whatever they move");
    }

    #[test]
    fn what_no_clock_has_is_no_hundredth_of_the_run() {
        let (run, _) = of(100);
        assert!(ruled_out(&judged(&run, &sites(&run, &[])), "serial-requests"));
    }
}
