//! Connections that are opened anew where those before could have been used again.

use super::delayed_ack::lasts_a_delay;
use super::serial_requests::{TURNS_MIN, is_for_an_answer, is_for_events};
use super::{Cause, Manual, Outcome, peers};
use crate::judge::Evidence;
use crate::judge::by_signs;
use crate::judge::signs::{By, SeenSign, Sign};
use crate::judge::traffic;
use crate::poll::TICK_NS;
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, Saving, SavingBasis};
use model::network::ConnectionOrigin;
use model::peers::{ConnectionRow, Opening};
use model::recording::Tier;
use model::run::WaitRow;
use model::sentence::Piece::{Count, Name, Ns as Time, Number};
use model::{Ns, RuledOut, Seen, Sentence, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("connection-churn", "connections opened again and again"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program opens a connection to a peer, uses it briefly, closes it and opens the \
               next.",
        why: "A new connection takes a round trip before anything can be sent; TLS adds one or \
              two, a login more. Both ends set up a socket, and the peer often also starts a \
              thread or a process. The congestion window starts small again, too.",
        rule: "Ten connections or more to one peer were opened beyond those open at once, and \
               opening them takes time: waits before anything was sent. With fewer there is \
               little to save. Without BPF it is 10 waits for answers or more with five packets \
               for each or more: opening and closing a connection takes seven.",
        else_it_could_be: "Each of several processes may need a connection of its own, as in a \
                           shell loop: they would have to become one process.",
        change: "Keep connections open and reuse them: HTTP keep-alive (a session or client object \
                 instead of a function), a pool for databases, one process for many requests.",
        part: "Counted: the waits before anything is sent on a connection. They are saved for all \
               connections except as many as were open at once. The peer's own work for a new \
               connection is part of its first turn (a request and its answer): the low end takes \
               none of it, and the high end half, or the CPU time of a peer on this host that \
               answers one question on each.",
        assumes: "The peer keeps connections open.",
    },
    // Who keeps the connection waits for less in each request; whether they may overlap is another
    // question, which this run does not answer.
    explains: &["dns-lookups", "serial-requests"],
    signs: &[Sign {
        by: By::Shown(opens_each),
        although: false,
        change: "keep connections open and reuse them: keep-alive, a session, a pool",
    }],
    probe: None,
    check,
};

/// Connections beyond those that were open at once.
const AGAIN_MIN: u64 = 10;
/// Services that begin with TLS.
const TLS: &[&str] = &["https", "imaps", "pop3s", "ldaps", "domain-tls"];
/// Waits for answers, with as many packets as connections take that are opened for each: of the two
/// turns of such a connection one goes.
fn opens_each(evidence: &Evidence<'_>) -> Option<SeenSign> {
    let is_of = |wait: &WaitRow| is_for_an_answer(wait) || is_for_events(wait);
    let is_so = |evidence: &Evidence<'_>, waits: &[&WaitRow]| {
        traffic::opens_anew(evidence, waits) && !waits.iter().any(|wait| lasts_a_delay(wait))
    };
    let on = "answers over connections that are opened for each";
    let seen = by_signs::of_waits(evidence, is_of, TURNS_MIN, on, is_so)?;
    Some(SeenSign { ns: seen.ns / 2, ..seen })
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    Outcome::of_table(&evidence.run.tables.connections, |rows| {
        let opened = rows.iter().enumerate().filter(|(_, of)| of.began == ConnectionOrigin::Opened);
        let findings = opened.clone().filter_map(|(row, of)| {
            let opening = of.opening.as_ref()?;
            let again = again(of, opening);
            (again >= AGAIN_MIN).then(|| finding(evidence, row, of, opening, again)).flatten()
        });
        let most = opened.clone().map(|(_, of)| of.times).max().unwrap_or(0);
        let avoidable = opened.filter_map(|(_, of)| Some(again(of, of.opening.as_ref()?)));
        let avoidable = avoidable.max().unwrap_or(0);
        let connections = Count(avoidable, "connection".into());
        let why_not = if most == 0 {
            say!("no connection was opened").into()
        } else if avoidable < AGAIN_MIN {
            let what = say!("to one peer beyond those open at once");
            RuledOut::below(connections, what, Number(AGAIN_MIN))
        } else {
            say!(connections, " could be reused, but opening them takes less than 1 % of the run").into()
        };
        Outcome::of(findings, why_not)
    })
}

/// How many were opened beyond those that were open at once.
fn again(of: &ConnectionRow, opening: &Opening) -> u64 {
    let established = of.times.saturating_sub(of.failed);
    established.saturating_sub(opening.at_once.max(1))
}

fn finding(
    evidence: &Evidence<'_>,
    row: usize,
    of: &ConnectionRow,
    opening: &Opening,
    again: u64,
) -> Option<Finding> {
    let (share_ns, saving) = waits(evidence, of, opening, again)?;
    let each_ns = of.connect.map_or(0, |connect| connect.total_ns / (of.times - of.failed).max(1));
    Some(Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Connection(row),
        what: say!(Count(of.times, "connection".into()), " to ").and(peers::name(of)).and(say!(
            " were opened, but at most ",
            Number(opening.at_once.max(1)),
            " were open at once"
        )),
        change: say!("keep connections open and reuse them (keep-alive, a pool)"),
        share_ns,
        saving,
        evidence: [
            say!("connecting took ", Time(each_ns), " each on average"),
            say!("threads waited ", Time(opening.waited_ns), " before anything was sent"),
        ]
        .into_iter()
        .chain(first_answer(of))
        .chain(tls_by_ladder(evidence, of))
        .collect(),
        assumes: vec![say!("the peer keeps connections open")],
        verify: vec![say!("`connections` of `dwell run --json -`: `times` is no more than are open at once")],
        explains: Vec::new(),
        belief: None,
    })
}

/// When the peer first answered.
fn first_answer(of: &ConnectionRow) -> Option<Sentence> {
    let first = of.dialogue?.first_answer?;
    Some(say!(
        "half of them had their first answer within ",
        Time(first.p50_ns),
        " of their first segment: this includes the handshake and the peer's own time"
    ))
}

/// What the host's ladder measured of a TLS handshake, where TLS is usual behind the port.
fn tls_by_ladder(evidence: &Evidence<'_>, of: &ConnectionRow) -> Option<Sentence> {
    let costs =
        evidence.run.costs.value().filter(|_| of.service.as_deref().is_some_and(|of| TLS.contains(&of)))?;
    let each_ns = costs.tls_handshake_ns.value()?.median as Ns;
    Some(say!(
        "a full TLS handshake takes ",
        Time(each_ns),
        " on this host, both ends together, without the network (",
        Name(costs.from.clone()),
        ")"
    ))
}

/// The CPU time of a peer on this host that answers one question on each connection: it makes ready
/// for one in no more than that, and what it waits for is for its answer. One with a dialogue may
/// start a process for it, whose CPU time ends with it. The kernel tells it in ticks.
fn peer_cpu_ns(of: &ConnectionRow) -> Option<Ns> {
    let meanwhile = of.process.as_ref()?.meanwhile?;
    let asks_once = of.dialogue.as_ref().is_some_and(|dialogue| dialogue.turns_max <= 1);
    asks_once.then_some(meanwhile.cpu_ns + TICK_NS)
}

/// What the waits until connections could be used have, and what they save. In the first turn the
/// peer makes ready for the connection and answers the question, which is asked on one that stays
/// too: of these two, one goes.
fn waits(
    evidence: &Evidence<'_>,
    of: &ConnectionRow,
    opening: &Opening,
    again: u64,
) -> Option<(Interval, Seen<Saving>)> {
    let goes = peers::goes(evidence, of)?;
    let again = again as f64 / of.times.max(1) as f64;
    let part = |ns: Ns| peers::part(evidence, of, ns) * again;
    let made_ready_ns = (opening.first_turn_ns / 2).min(peer_cpu_ns(of).unwrap_or(Ns::MAX));
    let part = (part(opening.waited_ns), part(opening.waited_ns + made_ready_ns));
    (part.1 > 0.0).then(|| (peers::share(&goes, part), evidence.saving(&goes, part, SavingBasis::Counted)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::step;
    use crate::judge::samples::{connection, found, judged, ruled_out, run, saves, sites, wait, waiting};
    use model::prediction::Site;
    use model::wait::{WaitCall, WaitTarget};
    use model::{Reason, Run, State};

    const MS: Ns = 1_000_000;

    fn peer() -> WaitTarget {
        WaitTarget::Tcp(model::network::Endpoint::read("192.0.2.1:443").unwrap())
    }

    /// A run with `times` connections, each with 10 ms until it is there, 20 ms of TLS and 70 ms of
    /// use.
    fn of(times: u64) -> Run {
        let ns = times * 100 * MS;
        let mut run = run(&[(State::Network, ns)]);
        run.waits = vec![wait(State::Network, peer(), &[waiting(100, ns)])];
        run.path = vec![step(State::Network, Reason::Wait(WaitCall::Unseen, peer()), ns)];
        run.tables.connections = Seen::Value(vec![ConnectionRow {
            times,
            service: Some("https".into()),
            waited_ns: ns,
            opening: Some(Opening { at_once: 1, waited_ns: times * 10 * MS, first_turn_ns: times * 20 * MS }),
            ..connection("192.0.2.1:443")
        }]);
        run
    }

    fn judge(run: &Run, ns: Ns) -> model::Diagnosis {
        judged(run, &sites(run, &[(Site::Peer(peer()), [ns; 3])]))
    }

    #[test]
    fn the_ladder_says_what_a_handshake_takes_where_tls_is_usual() {
        let said = |service: &str| {
            let mut run = of(100);
            let mut costs = crate::judge::load_costs::tests::costs();
            let handshake = model::ladder::MedianInterval { median: 600_000.0, lo: 5e5, hi: 7e5 };
            costs.tls_handshake_ns = Seen::Value(handshake);
            run.costs = Seen::Value(costs);
            if let Seen::Value(rows) = &mut run.tables.connections {
                rows[0].service = Some(service.into());
            }
            let diagnosis = judge(&run, 10_000 * MS);
            format!("{:?}", found(&diagnosis, "connection-churn").unwrap().evidence)
        };
        assert!(said("https").contains("Ns(600000)"), "{}", said("https"));
        assert!(!said("http").contains("handshake takes"), "{}", said("http"));
    }

    #[test]
    fn all_but_one_go_with_their_handshakes_at_the_high_end() {
        let diagnosis = judge(&of(100), 10_000 * MS);
        assert_eq!(
            saves(found(&diagnosis, "connection-churn").unwrap()),
            (990 * MS, 1980 * MS),
            "half of the turn goes"
        );
    }

    #[test]
    fn a_pool_that_is_open_at_once_is_none() {
        let mut run = of(100);
        if let Seen::Value(rows) = &mut run.tables.connections {
            rows[0].opening.as_mut().unwrap().at_once = 91;
        }
        assert!(ruled_out(&judge(&run, 10_000 * MS), "connection-churn"));
        assert!(ruled_out(&judge(&of(10), 1000 * MS), "connection-churn"), "nine could be used again");
        assert!(found(&judge(&of(11), 1100 * MS), "connection-churn").is_some());
    }
}
