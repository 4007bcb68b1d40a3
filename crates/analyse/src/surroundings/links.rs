//! What a link carried, against what it can.
//!
//! The kernel counts a packet with its 14 bytes of Ethernet header. On the wire stand 24 more:
//! preamble and start (8), check sequence (4) and the gap to the next (12), IEEE 802.3. A TCP
//! segment has 52 bytes of headers within the packet: IP 20, TCP 20 and 12 of time stamps (RFC
//! 7323, on by default in Linux). So with packets of 1500 bytes, 1448 of each 1538 bytes on the
//! wire are payload, and full-duplex Ethernet carries 94.1 % of its speed in each direction.
//!
//! On half-duplex Ethernet the acknowledgements (64 bytes and the same 20) go the same way, and
//! stations contend for it. With many that want to send, one gets it after 1/A - 1 = e - 1 slots of
//! 512 bits on average (Metcalfe and Boggs, "Ethernet: Distributed Packet Switching for Local
//! Computer Networks", CACM 19(7), 1976, section 6). With the largest segments without time stamps
//! (1460 bytes), each acknowledged: 1460 of 1538 + 84 + 2 (e - 1) 64 = 1842 bytes of time are
//! payload: 7.9 Mb/s of 10.

use super::looks::{Looks, Track};
use crate::grid::Grid;
use crate::judge::limits::link_at_limit;
use model::Seen;
use model::series::LinkSeries;
use model::surroundings::LinkCounters;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// On the wire beyond what the kernel counts of a packet.
const WIRE_BYTES: f64 = 24.0;
/// The Ethernet header.
const ETHERNET_BYTES: f64 = 14.0;
/// IP, TCP, time stamps.
const TCP_BYTES: f64 = 52.0;
/// The same without time stamps.
const PLAIN_TCP_BYTES: f64 = 40.0;
/// The shortest packet on the wire: an acknowledgement.
const SHORTEST_BYTES: f64 = 64.0 + 20.0;
/// Time that getting a half-duplex link takes, in bytes: e - 1 slots of 64.
const CONTENTION_BYTES: f64 = (std::f64::consts::E - 1.0) * 64.0;
/// Where the link does not say how large its packets are.
const MTU_BYTES: f64 = 1500.0;

/// One link over time.
#[derive(Debug)]
pub(super) struct LinkTrack {
    pub(super) track: Track<6>,
    speed_bits: Seen<u64>,
    speed_given: bool,
    full_duplex: Seen<bool>,
    mtu_bytes: f64,
}

impl Default for LinkTrack {
    fn default() -> Self {
        Self {
            track: Track::default(),
            speed_bits: Seen::Absent,
            speed_given: false,
            full_duplex: Seen::Absent,
            mtu_bytes: MTU_BYTES,
        }
    }
}

/// What went over a link in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Carried {
    payload_bytes: f64,
    wire_bytes: f64,
    packets: f64,
}

impl LinkTrack {
    pub(super) fn observe(&mut self, step: Option<u32>, counters: [u64; 6], anew: bool, link: &LinkCounters) {
        self.track.observe(step, counters, anew);
        self.speed_bits.clone_from(&link.speed_bits);
        self.full_duplex.clone_from(&link.full_duplex);
        self.speed_given = link.speed_given;
        if let Seen::Value(bytes) = link.mtu_bytes {
            // Below this no internet packet has room for data; such a number would be a driver's
            // joke.
            self.mtu_bytes = f64::from(bytes.max(68));
        }
    }

    fn series(&self, name: &str, looks: &Looks, grid: &Grid) -> LinkSeries {
        let steps = self.track.spread(looks, grid);
        let sum = |figure: fn(&[f64; 6]) -> f64| steps.iter().map(figure).sum::<f64>().round() as u64;
        let half = self.full_duplex == Seen::Value(false);
        let ways = |step: &[f64; 6]| [0, 1].map(|way| carried(step[way], step[way + 2], self.mtu_bytes));
        let payload_bits = |step: &[f64; 6]| {
            let [into, out] = ways(step).map(|way| way.payload_bytes * 8.0);
            if half { into + out } else { into.max(out) }
        };
        let can = self.speed_bits.as_ref().zip(self.full_duplex.as_ref());
        let limit_share = can
            .as_ref()
            .map(|(speed, _)| grid.rates_by(&steps, **speed as f64, |step| wire_bits(ways(step), half)));
        let at_limit_share =
            limit_share.as_ref().map(|share| grid.share_of_wall(|step| link_at_limit(share[step])));
        LinkSeries {
            name: name.to_owned(),
            bytes: sum(|step| step[0] + step[1]),
            errors: sum(|step| step[4]),
            drops: sum(|step| step[5]),
            speed_bits_per_s: self.speed_bits.clone(),
            speed_given: self.speed_given,
            full_duplex: self.full_duplex.clone(),
            payload_limit_bits_per_s: can.map(|(speed, full)| limit(*speed, *full, self.mtu_bytes)),
            received_bytes_per_s: grid.rates(&steps, |step| step[0]),
            sent_bytes_per_s: grid.rates(&steps, |step| step[1]),
            received_packets_per_s: grid.rates(&steps, |step| step[2]),
            sent_packets_per_s: grid.rates(&steps, |step| step[3]),
            payload_bits_per_s: grid.rates(&steps, payload_bits),
            limit_share,
            at_limit_share,
        }
    }
}

/// All links, busiest first.
pub(super) fn series(links: &BTreeMap<String, LinkTrack>, looks: &Looks, grid: &Grid) -> Vec<LinkSeries> {
    let mut all: Vec<LinkSeries> = links.iter().map(|(name, link)| link.series(name, looks, grid)).collect();
    all.sort_by_key(|link| (Reverse(link.bytes), link.name.clone()));
    all.truncate(super::looks::DEVICES_MAX);
    all
}

/// What went over the wire, from the kernel's count of bytes and packets.
///
/// Cards and virtual links take packets of up to 64 KiB and cut them up further down. Where packets
/// are larger than the link can send on average, they were cut into as many as needed.
fn carried(bytes: f64, packets: f64, mtu_bytes: f64) -> Carried {
    let headers = ETHERNET_BYTES + TCP_BYTES;
    let payload_bytes = (bytes - packets * headers).max(0.0);
    if bytes <= packets * (mtu_bytes + ETHERNET_BYTES) {
        return Carried { payload_bytes, wire_bytes: bytes + packets * WIRE_BYTES, packets };
    }
    let packets = payload_bytes / (mtu_bytes - TCP_BYTES);
    Carried { payload_bytes, wire_bytes: payload_bytes + packets * (headers + WIRE_BYTES), packets }
}

/// Time on the wire, in bits: of the busier direction; where they share it, of both, and of getting
/// it.
fn wire_bits(both: [Carried; 2], half: bool) -> f64 {
    let [into, out] = both;
    let bytes = if half {
        into.wire_bytes + out.wire_bytes + (into.packets + out.packets) * CONTENTION_BYTES
    } else {
        into.wire_bytes.max(out.wire_bytes)
    };
    bytes * 8.0
}

/// Bits of TCP payload per second that a link can carry.
fn limit(speed: u64, full_duplex: bool, mtu_bytes: f64) -> u64 {
    let on_wire = mtu_bytes + ETHERNET_BYTES + WIRE_BYTES;
    let share = if full_duplex {
        (mtu_bytes - TCP_BYTES) / on_wire
    } else {
        (mtu_bytes - PLAIN_TCP_BYTES) / (on_wire + SHORTEST_BYTES + 2.0 * CONTENTION_BYTES)
    };
    (speed as f64 * share).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ten_megabits_carry() {
        assert_eq!(limit(10_000_000, true, 1500.0), 9_414_824);
        // Full at 7.9, as the textbook has it.
        assert_eq!(limit(10_000_000, false, 1500.0) / 100_000, 79);
        assert!(limit(1_000_000_000, true, 9000.0) > 990_000_000);
    }

    #[test]
    fn a_stream_at_the_limit_fills_the_wire() {
        // A second of 10 Mb/s: 812.7 full packets; half as many acknowledgements the other way.
        let packets = 1e7 / (1538.0 * 8.0);
        let into = carried(packets * 1514.0, packets, 1500.0);
        assert!((into.payload_bytes * 8.0 - 9_414_824.0).abs() < 1.0, "{into:?}");
        let out = carried(packets / 2.0 * 66.0, packets / 2.0, 1500.0);
        assert_eq!(out.payload_bytes, 0.0);
        assert!((wire_bits([into, out], false) - 1e7).abs() < 1.0);
        // Half-duplex it would be more than the wire has.
        assert!(wire_bits([into, out], true) > 1.1e7);
        // 7.9 Mb/s with an acknowledgement each is all that it has.
        let packets = f64::from(7_926_000 / 8) / 1460.0;
        let ways = [carried(packets * 1514.0, packets, 1500.0), carried(packets * 60.0, packets, 1500.0)];
        assert!((wire_bits(ways, true) - 1e7).abs() < 2e4, "{}", wire_bits(ways, true));
    }

    #[test]
    fn packets_that_are_cut_up_further_down_count_as_what_they_become() {
        let whole = carried(1e6 + 20.0 * 66.0, 20.0, 1500.0);
        assert_eq!(whole.payload_bytes, 1e6);
        assert!((whole.wire_bytes - 1e6 * 1538.0 / 1448.0).abs() < 1e-6, "{whole:?}");
        assert_eq!(carried(0.0, 0.0, 1500.0), Carried::default());
    }
}
