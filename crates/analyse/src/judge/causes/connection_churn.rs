//! Connections that are opened anew where those before could have been used again.

use super::{Cause, Manual, Outcome, peers};
use crate::judge::Evidence;
use crate::judge::predict::{ALL, Kind, Removal};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, Saving, SavingBasis};
use model::network::ConnectionOrigin;
use model::peers::{ConnectionRow, Opening};
use model::prediction::Site;
use model::recording::Tier;
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
               opening them takes time: waits before anything was sent, and CPU time in `socket` \
               and `connect`. With fewer there is little to save.",
        else_it_could_be: "Each of several processes may need a connection of its own, as in a \
                           shell loop: they would have to become one process.",
        change: "Keep connections open and reuse them: HTTP keep-alive (a session or client object \
                 instead of a function), a pool for databases, one process for many requests.",
        part: "Counted: the waits before anything is sent on a connection, and the CPU time of the \
               calls that open and close it. They are saved for all connections except as many as \
               were open at once. The peer's own work for a new connection is part of its first \
               turn (a request and its answer): the low end takes none of it, and the high end \
               up to 2 ms of each first turn (twice what it takes to start a process), or all of \
               it if the port usually has TLS or a login.",
        assumes: "The peer keeps connections open.",
    },
    // Who keeps the connection waits for less in each request; whether they may overlap is another
    // question, which this run does not answer.
    explains: &["dns-lookups", "serial-requests"],
    signs: &[],
    probe: None,
    check,
};

/// Connections beyond those that were open at once.
const AGAIN_MIN: u64 = 10;
/// Services that begin with a handshake or a login.
const GREETED: &[&str] = &[
    "https",
    "imaps",
    "pop3s",
    "ldaps",
    "submission",
    "domain-tls",
    "postgresql",
    "mysql",
    "mssql",
    "mongodb",
    "amqp",
    "ldap",
    "redis",
    "ssh",
];
/// Services that begin with TLS.
const TLS: &[&str] = &["https", "imaps", "pop3s", "ldaps", "domain-tls"];
/// What a peer does for a new connection at most: twice the start of a process.
const SETUP_NS: Ns = 2_000_000;
/// Calls that open a connection, and the one that closes it, as other files.
const CALLS: &[&str] = &["socket", "connect", CLOSE];
const CLOSE: &str = "close";
/// Where more than this many times as many files are closed, they are mostly no connections.
const CLOSED_MAX: u64 = 2;

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
    let (waits, calls) = (waits(evidence, of, opening, again), calls(evidence, again));
    let (share_ns, saving) = match (waits, calls) {
        (Some(waits), Some(calls)) => {
            let hi = (waits.0.hi + calls.0.hi).min(evidence.run.whole_ns());
            let share = Interval { lo: (waits.0.lo + calls.0.lo).min(hi), hi };
            (share, evidence.together(waits.1, calls.1))
        }
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => return None,
    };
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

/// What the waits until connections could be used have, and what they save.
fn waits(
    evidence: &Evidence<'_>,
    of: &ConnectionRow,
    opening: &Opening,
    again: u64,
) -> Option<(Interval, Seen<Saving>)> {
    let goes = peers::goes(evidence, of)?;
    let again = again as f64 / of.times.max(1) as f64;
    let greeted = of.service.as_deref().is_some_and(|service| GREETED.contains(&service));
    let setup_ns = if greeted { Ns::MAX } else { SETUP_NS * of.times };
    let part = |ns: Ns| peers::part(evidence, of, ns) * again;
    let part = (part(opening.waited_ns), part(opening.waited_ns + opening.first_turn_ns.min(setup_ns)));
    (part.1 > 0.0).then(|| (peers::share(&goes, part), evidence.saving(&goes, part, SavingBasis::Counted)))
}

/// What the CPU time of the calls that open and close has, and what it saves.
fn calls(evidence: &Evidence<'_>, again: u64) -> Option<(Interval, Seen<Saving>)> {
    if evidence.run.window.is_some() {
        return None;
    }
    let rows = evidence.calls_named(CALLS).into_iter().filter(|(_, row)| {
        let of_connections = *row.name.name != *CLOSE || row.calls <= CLOSED_MAX * again;
        row.total_ns > 0 && row.calls > 0 && of_connections
    });
    let each = rows.filter_map(|(_, row)| {
        let site = Site::Call(row.name.clone());
        if evidence.prediction.is_some() && evidence.site(&site).is_none() {
            return None;
        }
        let goes_ns = row.cpu_ns as f64 * again.min(row.calls) as f64 / row.calls as f64;
        let share = Interval { lo: 0, hi: (goes_ns as Ns).min(evidence.run.whole_ns()) };
        Some((share, evidence.saving(&Removal::Account(share, Kind::Cpu), ALL, SavingBasis::Counted)))
    });
    each.reduce(|(a, one), (b, other)| {
        (Interval { lo: a.lo + b.lo, hi: a.hi + b.hi }, evidence.together(one, other))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{connection, found, judged, ruled_out, run, saves, sites, wait, waiting};
    use model::prediction::Site;
    use model::syscall_rows::CallRow;
    use model::wait::WaitTarget;
    use model::{Run, State};

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
        let calls = ["connect", "close"].map(|name| (Site::Call(name.into()), [ns / 10; 3]));
        let [connect, close] = calls;
        judged(run, &sites(run, &[(Site::Peer(peer()), [ns; 3]), connect, close]))
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
        let mut run = of(100);
        let diagnosis = judge(&run, 10_000 * MS);
        assert_eq!(saves(found(&diagnosis, "connection-churn").unwrap()), (990 * MS, 2970 * MS));
        // Without TLS the first turn is the request, but for what the peer does for a connection.
        if let Seen::Value(rows) = &mut run.tables.connections {
            rows[0].service = Some("http".into());
        }
        let diagnosis = judge(&run, 10_000 * MS);
        assert_eq!(saves(found(&diagnosis, "connection-churn").unwrap()), (990 * MS, 1188 * MS));
    }

    #[test]
    fn the_calls_that_open_and_close_them_go_too() {
        let mut run = of(100);
        let call = |name: &'static str, calls, cpu_ns| CallRow {
            name: name.into(),
            calls,
            errors: 0,
            total_ns: 1000 * MS,
            cpu_ns,
            p50_ns: Seen::Value(0),
            p99_ns: Seen::Value(0),
            max_ns: Seen::Value(0),
            timed: None,
            estimate: None,
            results: Seen::Absent,
        };
        run.tables.syscalls = Seen::Value(vec![call("connect", 100, 60 * MS), call("close", 100, 40 * MS)]);
        let diagnosis = judge(&run, 10_000 * MS);
        assert_eq!(saves(found(&diagnosis, "connection-churn").unwrap()), (990 * MS, 3069 * MS));
        run.tables.syscalls = Seen::Value(vec![call("connect", 100, 60 * MS), call("close", 300, 120 * MS)]);
        let diagnosis = judge(&run, 10_000 * MS);
        let saves = saves(found(&diagnosis, "connection-churn").unwrap());
        assert_eq!(saves.1, 3_029_400_000, "most that are closed are files");
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
