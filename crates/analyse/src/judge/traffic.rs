//! What the host's links carried, by the kernel's counts, for each wait of the program: where no
//! socket is seen, it shows whether a program asks peers for one thing at a time, over connections
//! that stay or that are opened for each.
//!
//! Other programs' packets count as well, and so does nothing of a run that is too short for a
//! series.

use super::Evidence;
use model::run::WaitRow;
use model::series::LinkSeries;

/// A turn on an open connection has a question, an answer and up to two acknowledgements. Opening
/// and closing a connection takes seven packets more (RFC 9293); a client waits twice at most.
const PACKETS_OF_NEW: f64 = 5.0;
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
    let opens = |each: Traffic| each.packets >= PACKETS_OF_NEW && each.bytes < PIECE_BYTES;
    of_each(evidence, waits).is_some_and(opens)
}

fn of_each(evidence: &Evidence<'_>, waits: &[&WaitRow]) -> Option<Traffic> {
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
    let (packets, bytes) = links.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
    let times = waits.iter().map(|wait| wait.calls).sum::<u64>().max(1) as f64;
    Some(Traffic { packets: packets / times, bytes: bytes / times })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{link, run, series, wait};
    use model::recording::Tier;
    use model::wait::WaitTarget;
    use model::{Profile, Seen, Series, State};

    /// Ten waits in a second, with these packets and bytes over a link.
    fn of(name: &str, packets: f64, bytes: f64) -> (Option<bool>, bool) {
        let mut run = run(&[(State::OtherWait, 1_000_000_000)]);
        let row = WaitRow { calls: 10, ..wait(State::OtherWait, WaitTarget::External(Seen::Absent), &[]) };
        let link = LinkSeries {
            sent_packets_per_s: vec![packets * 10.0],
            received_packets_per_s: vec![packets * 10.0],
            sent_bytes_per_s: vec![bytes * 10.0],
            received_bytes_per_s: vec![bytes * 10.0],
            ..link(name, &[])
        };
        run.series = Seen::Value(Series { links: Seen::Value(vec![link]), ..series(Vec::new()) });
        let profile = Profile::default();
        let evidence = Evidence::of(Tier::Perf, &run, &profile);
        (asks(&evidence, &[&row]), opens_anew(&evidence, &[&row]))
    }

    #[test]
    fn packets_for_each_wait_tell_questions_on_open_connections_from_new_ones() {
        assert_eq!(of("lo", 24.0, 2400.0), (Some(true), false));
        assert_eq!(of("lo", 110.0, 9900.0), (Some(false), true));
        assert_eq!(of("eth0", 12.0, 1200.0), (Some(true), false), "both directions count");
        assert_eq!(of("lo", 9.0, 900.0), (Some(false), false), "fewer than waits");
        assert_eq!(of("lo", 24.0, 400_000.0), (Some(false), false), "pieces of one answer");
    }
}
