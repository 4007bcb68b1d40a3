//! Transfers that a link, or something on the way, carries as fast as it can.

use super::{Cause, Manual, Outcome, peers};
use crate::grid::Grid;
use crate::judge::Evidence;
use crate::judge::limits::{LINK_LIMIT_SHARE, steady_bits_per_s, too_short_for_rates};
use crate::judge::predict::{Part, faster};
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::peers::ConnectionRow;
use model::recording::Tier;
use model::sentence::Piece::{Bytes, Name, Ns as Time, Share};
use model::series::LinkSeries;
use model::{RuledOut, Seen, Sentence, Series, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("network-throughput", "transfers at the rate of the network"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program waits for data that comes or goes at a constant rate: the rate of a \
               link, or of something else on the way.",
        why: "A link has a fixed capacity. Only fewer bytes, or another route, take less time.",
        rule: "A link carries nine tenths of its capacity for half of the run. If the capacity is \
               unknown or larger, the link carries the same rate, within a tenth, for half of the \
               run. In both cases, half of its bytes or more are those of one peer's connections. \
               And these carry 64 KiB or more for each turn (a request and its answer), since less \
               is a request.",
        else_it_could_be: "The peer may make or take data at a steady rate, limit a client on \
                           purpose, or have a window that is too small for its distance. If the \
                           link's capacity is unknown, these look alike.",
        change: "Send less: compress, ask only for what is needed, keep what came (a cache, a \
                 delta). Or use a faster link or a nearer copy, or raise the limit if a traffic \
                 shaper sets it.",
        part: "Assumed: from a third of the bytes gone (made 1.5 times fewer) to all of them. \
               Text compresses to a third or less, media not at all.",
        assumes: "The data can be made at least 1.5 times smaller, or the link at least 1.5 times \
                  faster.",
    },
    explains: &["serial-requests"],
    signs: &[],
    probe: None,
    check,
};

/// How many times fewer bytes at least.
const FEWER_MIN: f64 = 1.5;
/// The least share of the run at the limit.
const LIMITED_SHARE: f64 = 0.5;
/// The least part of a link's bytes that one peer has: one in this many.
const LINK_PART: u64 = 2;

fn check(evidence: &Evidence<'_>) -> Outcome {
    Outcome::of_table(&evidence.run.tables.connections, |rows| {
        let most = rows.iter().enumerate().max_by_key(|(_, of)| bytes(of));
        let Some((row, of)) = most else {
            return Outcome::RuledOut(say!("no connections").into());
        };
        if bytes_a_turn(of) < peers::REQUEST_BYTES_MAX {
            return Outcome::RuledOut(RuledOut::below(
                Bytes(bytes_a_turn(of)),
                say!("per request to ").and(peers::name(of)).and(say!(", no bulk transfer")),
                Bytes(peers::REQUEST_BYTES_MAX),
            ));
        }
        let series = match &evidence.run.series {
            Seen::Value(series) => series,
            Seen::Absent => return Outcome::Unavailable("host metrics were not recorded".into()),
            Seen::Unseen(why) => return Outcome::Unavailable(why.clone()),
        };
        let Some(full) = link(evidence, series, bytes(of)) else {
            if too_short_for_rates(&Grid::of(series, evidence.run.wall_ns)) {
                let why = "the run is too short to tell the rate of a link (7 steps of 100 ms)";
                return Outcome::Unavailable(why.to_owned());
            }
            let why = say!("no link carries the traffic with ").and(peers::name(of));
            return Outcome::RuledOut(why.and(say!(" at a steady rate")).into());
        };
        let Some(waits) = peers::goes(evidence, of) else {
            let why = say!("waits for ").and(peers::name(of)).and(say!(" are less than 1 % of the run"));
            return Outcome::RuledOut(why.into());
        };
        let part: Part = (faster(FEWER_MIN), 1.0);
        let share_ns = peers::share(&waits, (1.0, 1.0));
        Outcome::Found(vec![Finding {
            cause: CAUSE.name.clone(),
            place: RowRef::Connection(row),
            what: say!(Bytes(of.received_bytes), " from ")
                .and(peers::name(of))
                .and(say!(" and ", Bytes(of.sent_bytes), " to it "))
                .and(full.what()),
            change: say!(
                "transfer less (compress, ask for less, cache what was received), or use a faster link or a nearer copy"
            ),
            share_ns,
            saving: evidence.saving(&waits, part, SavingBasis::Assumed),
            evidence: vec![say!("threads waited ", Time(of.waited_ns), " for this peer"), full.evidence()],
            assumes: vec![say!(
                "the data can be made at least 1.5 times smaller, or the link at least 1.5 times faster"
            )],
            verify: vec![say!("dwell run --link NAME=SPEED tells whether the link is full")],
            explains: Vec::new(),
            belief: None,
        }])
    })
}

fn bytes(of: &ConnectionRow) -> u64 {
    of.sent_bytes + of.received_bytes
}

/// Bytes in both directions for each request and its answer.
fn bytes_a_turn(of: &ConnectionRow) -> u64 {
    bytes(of) / of.turns.map_or(1, |turns| turns.times).max(1)
}

/// A link that carries what it can, or always the same.
struct Full<'a> {
    link: &'a LinkSeries,
    bits_per_s: f64,
    /// Of what it can.
    share: Option<f64>,
}

/// The link that carries these bytes at its limit, or at a steady rate.
fn link<'a>(evidence: &Evidence<'_>, series: &'a Series, bytes: u64) -> Option<Full<'a>> {
    let grid = Grid::of(series, evidence.run.wall_ns);
    let links = series.links.value().map_or(&[][..], Vec::as_slice);
    links.iter().filter(|link| bytes.saturating_mul(LINK_PART) >= link.bytes).find_map(|link| {
        // Its speed is absent of a link that is none, as loopback.
        if link.speed_bits_per_s == Seen::Absent {
            return None;
        }
        let at_limit = link.at_limit_share.value().is_some_and(|share| *share >= LIMITED_SHARE);
        let bits_per_s = steady_bits_per_s(link, &grid);
        match (at_limit, bits_per_s) {
            (true, _) => Some(Full { link, bits_per_s: most(link), share: Some(LINK_LIMIT_SHARE) }),
            (false, Some(bits_per_s)) => Some(Full { link, bits_per_s, share: None }),
            (false, None) => None,
        }
    })
}

fn most(link: &LinkSeries) -> f64 {
    link.payload_bits_per_s.iter().copied().fold(0.0, f64::max)
}

impl Full<'_> {
    fn rate(&self) -> Sentence {
        say!(Bytes((self.bits_per_s / 8.0) as u64), " per second over link ", Name(self.link.name.clone()))
    }

    fn what(&self) -> Sentence {
        match self.share {
            Some(_) => say!("move as fast as the link allows, ").and(self.rate()),
            None => say!("move at a steady rate of ").and(self.rate()),
        }
    }

    fn evidence(&self) -> Sentence {
        match (self.share, self.link.at_limit_share.value()) {
            (Some(limit), Some(share)) => say!(
                Name(self.link.name.clone()),
                " carries ",
                Share(limit),
                " of its capacity or more for ",
                Share(*share),
                " of the run"
            ),
            _ => say!("the capacity of ", Name(self.link.name.clone()), " is unknown or higher"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{
        connection, found, judged, link, ruled_out, run, saves, series, sites, wait, waiting,
    };
    use model::prediction::Site;
    use model::wait::WaitTarget;
    use model::{Ns, Run, State};

    const MS: Ns = 1_000_000;

    fn peer() -> WaitTarget {
        WaitTarget::Tcp(model::network::Endpoint::read("192.0.2.1:80").unwrap())
    }

    /// A second of waits for these bytes, over a link that carries this many Mb/s in each tenth.
    fn of(received_bytes: u64, rates: [f64; 10]) -> Run {
        let mut run = run(&[(State::Network, 1000 * MS)]);
        run.waits = vec![wait(State::Network, peer(), &[waiting(100, 1000 * MS)])];
        let row = connection("192.0.2.1:80");
        run.tables.connections =
            Seen::Value(vec![ConnectionRow { received_bytes, waited_ns: 1000 * MS, ..row }]);
        let mut of = series(Vec::new());
        of.links = Seen::Value(vec![link("eth0", &rates.map(|rate| rate * 1e6))]);
        run.series = Seen::Value(of);
        run
    }

    fn judge(run: &Run) -> model::Diagnosis {
        judged(run, &sites(run, &[(Site::Peer(peer()), [1000 * MS; 3])]))
    }

    #[test]
    fn a_steady_rate_is_a_limit_and_one_that_changes_is_none() {
        let diagnosis = judge(&of(1_250_000, [10.0; 10]));
        let (lo, hi) = saves(found(&diagnosis, "network-throughput").unwrap());
        assert_eq!((lo / MS, hi), (333, 1000 * MS));
        let waves = [10.0, 20.0, 10.0, 20.0, 10.0, 20.0, 10.0, 20.0, 10.0, 20.0];
        assert!(ruled_out(&judge(&of(1_875_000, waves)), "network-throughput"));
    }

    #[test]
    fn steps_in_which_the_transfer_begins_or_ends_say_nothing_of_its_rate() {
        let steady = [0.0, 6.0, 10.0, 10.0, 10.0, 10.0, 10.0, 7.0, 0.0, 0.0];
        assert!(found(&judge(&of(787_500, steady)), "network-throughput").is_some());
        let dips = [0.0, 6.0, 10.0, 7.0, 10.0, 7.0, 10.0, 7.0, 0.0, 0.0];
        assert!(ruled_out(&judge(&of(787_500, dips)), "network-throughput"));
    }

    #[test]
    fn requests_and_the_bytes_of_others_are_none() {
        assert!(ruled_out(&judge(&of(65_535, [10.0; 10])), "network-throughput"));
        assert!(ruled_out(&judge(&of(620_000, [10.0; 10])), "network-throughput"), "others have most of it");
    }

    #[test]
    fn a_run_too_short_for_rates_cannot_tell() {
        let mut run = of(1_250_000, [10.0; 10]);
        run.series = Seen::unseen("the run is too short");
        let cannot = |run: &Run| {
            let diagnosis = judge(run);
            !ruled_out(&diagnosis, "network-throughput") && found(&diagnosis, "network-throughput").is_none()
        };
        assert!(cannot(&run));
        let mut of = series(Vec::new());
        of.links = Seen::Value(vec![link("eth0", &[10e6; 6])]);
        of.step_ns = 1000 * MS / 6 + 1;
        run.series = Seen::Value(of);
        assert!(cannot(&run), "four of its six steps are within the transfer");
    }
}
