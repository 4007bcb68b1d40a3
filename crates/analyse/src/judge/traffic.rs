//! What the links of the program's network namespace carried, by the kernel's counts, for each wait
//! of the program: where no socket is seen, it shows whether a program asks peers for one thing at
//! a time, over connections that stay or that are opened for each.
//!
//! A packet may pass several links of the namespace, as a bridge and its port, so the link that
//! carried most counts. Other programs' packets count as well. So it says something only of as many
//! packets as its waits can account for, and of many waits only where a sample found the program at
//! a socket. A run that is too short for a series has none. Snapshots alone do not see how many
//! waits there were.

use super::Evidence;
use super::by_signs::uses_network;
use model::recording::Tier;
use model::run::WaitRow;
use model::series::LinkSeries;

/// A turn (a request and its answer) on an open connection has up to four packets, with the
/// acknowledgements. Opening and closing a connection takes seven more (RFC 9293), and a client
/// waits once or twice in such a turn: 5 to 11 for each wait, and one that is sent again.
const PACKETS_OF_NEW: f64 = 5.0;
const PACKETS_OF_NEW_MAX: f64 = 12.0;
/// A turn takes some 20 us in the kernel, so of as many a sample each millisecond finds three. Of
/// fewer it may find none.
const SAMPLED_TIMES: u64 = 150;
/// Waits that bring more each are for pieces of one large answer.
const PIECE_BYTES: f64 = 16384.0;
/// What a packet carries at most: of loopback, whose packets may have 64 KiB, and of others.
const SEGMENT_BYTES: (f64, f64) = (65_483.0, 1448.0);

/// Packets and bytes for each wait.
#[derive(Debug, Clone, Copy)]
struct Traffic {
    /// Without those that large pieces need.
    packets: f64,
    bytes: f64,
}

/// Whether each of these waits is for the answer to a question, on connections that stay; none
/// where links were not seen.
pub(super) fn asks(evidence: &Evidence<'_>, waits: &[&WaitRow]) -> Option<bool> {
    let each = of_each(evidence, waits)?;
    Some((1.0..PACKETS_OF_NEW).contains(&each.packets) && each.bytes < PIECE_BYTES)
}

/// Whether a connection is opened for each question.
pub(super) fn opens_anew(evidence: &Evidence<'_>, waits: &[&WaitRow]) -> bool {
    let opens = |each: Traffic| {
        (PACKETS_OF_NEW..PACKETS_OF_NEW_MAX).contains(&each.packets) && each.bytes < PIECE_BYTES
    };
    of_each(evidence, waits).is_some_and(opens)
}

fn of_each(evidence: &Evidence<'_>, waits: &[&WaitRow]) -> Option<Traffic> {
    let times = waits.iter().map(|wait| wait.calls).sum::<u64>().max(1);
    if evidence.tier != Tier::Perf || (times >= SAMPLED_TIMES && !uses_network(evidence)) {
        return None;
    }
    let series = evidence.run.series.value()?;
    let seconds = series.step_ns as f64 / 1e9;
    let sum = |rates: &[f64]| rates.iter().sum::<f64>() * seconds;
    let carried = |link: &LinkSeries| {
        // Loopback receives what it sends.
        let (both, segment) = match &*link.name {
            "lo" => (0.0, SEGMENT_BYTES.0),
            _ => (1.0, SEGMENT_BYTES.1),
        };
        let of = |sent: &[f64], received: &[f64]| sum(sent) + both * sum(received);
        let bytes = of(&link.sent_bytes_per_s, &link.received_bytes_per_s);
        let packets = of(&link.sent_packets_per_s, &link.received_packets_per_s);
        ((packets - bytes / segment).max(0.0), bytes)
    };
    let links = series.links.value()?.iter().map(carried);
    let (packets, bytes) = links.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
    Some(Traffic { packets: packets / times as f64, bytes: bytes / times as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{link, run, series, wait};
    use model::network::Endpoint;
    use model::wait::WaitTarget;
    use model::{Profile, Seen, Series, State};

    /// Ten waits in a second, with these packets and bytes over a link.
    fn of(name: &str, packets: f64, bytes: f64) -> (Option<bool>, bool) {
        of_tier(Tier::Perf, "10.0.0.7:80", (name, packets, bytes))
    }

    fn of_tier(tier: Tier, peer: &str, link: (&str, f64, f64)) -> (Option<bool>, bool) {
        times(10, tier, peer, link)
    }

    /// `peer`: of a connection that it is seen to wait for.
    fn times(
        calls: u64,
        tier: Tier,
        peer: &str,
        (name, packets, bytes): (&str, f64, f64),
    ) -> (Option<bool>, bool) {
        let mut run = run(&[(State::OtherWait, 1_000_000_000)]);
        let row = WaitRow { calls, ..wait(State::OtherWait, WaitTarget::External(Seen::Absent), &[]) };
        // A bridge and its port have the same packets.
        let link = LinkSeries {
            sent_packets_per_s: vec![packets * 10.0],
            received_packets_per_s: vec![packets * 10.0],
            sent_bytes_per_s: vec![bytes * 10.0],
            received_bytes_per_s: vec![bytes * 10.0],
            ..link(name, &[])
        };
        run.series =
            Seen::Value(Series { links: Seen::Value(vec![link.clone(), link]), ..series(Vec::new()) });
        let tcp = Endpoint::read(peer).map(WaitTarget::Tcp);
        run.waits = tcp.into_iter().map(|tcp| wait(State::Network, tcp, &[])).collect();
        let profile = Profile::default();
        let evidence = Evidence::of(tier, &run, &profile);
        (asks(&evidence, &[&row]), opens_anew(&evidence, &[&row]))
    }

    #[test]
    fn packets_for_each_wait_tell_questions_on_open_connections_from_new_ones() {
        assert_eq!(of("lo", 24.0, 2400.0), (Some(true), false));
        assert_eq!(of("lo", 110.0, 9900.0), (Some(false), true));
        assert_eq!(of("eth0", 12.0, 1200.0), (Some(true), false), "both directions count");
        assert_eq!(of("lo", 9.0, 900.0), (Some(false), false), "fewer than waits");
        assert_eq!(of("lo", 24.0, 400_000.0), (Some(false), false), "pieces of one answer");
        assert_eq!(of("lo", 640.0, 64_000.0), (Some(false), false), "more than such waits take");
        let many = ("lo", 24.0, 2400.0);
        assert_eq!(times(200, Tier::Perf, "", many), (None, false), "no socket of its own");
        assert_eq!(times(200, Tier::Perf, "10.0.0.7:80", many), (Some(false), false), "too few packets");
        assert_eq!(of_tier(Tier::Proc, "10.0.0.7:80", ("lo", 24.0, 2400.0)), (None, false), "few are seen");
    }
}
