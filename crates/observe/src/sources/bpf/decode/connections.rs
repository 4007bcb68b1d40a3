//! What the kernel half says of a connection, once.

use super::super::wire::{self, Head};
use super::fields::{Malformed, read};
use model::network::{Connection, ConnectionOrigin};

pub(super) fn connection(record: &[u8]) -> Result<Connection, Malformed> {
    let (of, _): (&wire::Connection, _) = read(record)?;
    let Head { at, tid, a, flags, .. } = of.head;
    let began = match wire::Began::from_wire(a).ok_or(Malformed)? {
        wire::Began::Opened => ConnectionOrigin::Opened,
        wire::Began::Accepted => ConnectionOrigin::Accepted,
        wire::Began::Found => ConnectionOrigin::Found,
    };
    let some = |value: u64| (value != 0).then_some(value);
    // What was never measured is all zeros, or all ones for a minimum.
    let us = |value: u32| some(u64::from(value) * 1000).filter(|_| value != u32::MAX);
    Ok(Connection {
        ends: of.ends.into(),
        tid: (tid != 0).then_some(tid),
        began,
        span: (of.began, at),
        established_at: some(of.established),
        closed: flags & wire::F_CLOSED != 0,
        round_trip_ns: us(of.round_trip_us),
        round_trip_ns_min: us(of.round_trip_us_min),
        sent_bytes: of.sent,
        received_bytes: of.received,
        retransmits: of.retransmits,
        segment_bytes_max: of.segment_bytes_max,
        no_delay: flags & wire::F_NO_DELAY != 0,
    })
}
