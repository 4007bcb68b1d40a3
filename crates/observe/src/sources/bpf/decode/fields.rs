//! The fields that several kinds of records have, each read at one place.

use super::super::wire::{self, Head, NO_CALL};
use model::call::{Call, CallTime};
use model::recording::{Calls, Counters, SampleMode, SocketEnds};
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// A record is too short for what it says that it is, or of no kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// The fields of a record, and what follows them.
pub(super) fn read<T: FromBytes + KnownLayout + Immutable>(record: &[u8]) -> Result<(&T, &[u8]), Malformed> {
    T::ref_from_prefix(record).map_err(|_| Malformed)
}

/// The first bytes of what follows a record.
pub(super) fn first(rest: &[u8], bytes: u32) -> Result<&[u8], Malformed> {
    rest.get(..bytes as usize).ok_or(Malformed)
}

/// The slots that follow a record.
pub(super) fn calls(head: &Head, rest: &[u8]) -> Result<Calls, Malformed> {
    let slots = <[wire::Slot]>::ref_from_prefix_with_elems(rest, head.calls.into());
    let (slots, _) = slots.map_err(|_| Malformed)?;
    Ok(slots.iter().map(|slot| CallTime { call: call(slot.call), count: slot.count, ns: slot.ns }).collect())
}

/// The call of a number.
fn call(number: u32) -> Call {
    Call(number as u16)
}

/// The call of this number, where there is one.
pub(super) fn known(number: u32) -> Option<Call> {
    (number != NO_CALL).then(|| call(number))
}

/// The mode of a sample, with the number of its call.
pub(super) fn mode(mode: u8, number: u32) -> Result<SampleMode, Malformed> {
    Ok(match wire::Mode::from_wire(mode).ok_or(Malformed)? {
        wire::Mode::User => SampleMode::User,
        wire::Mode::Call => SampleMode::Call(call(number)),
        wire::Mode::Fault => SampleMode::Fault,
        wire::Mode::Interrupt => match known(number) {
            Some(call) => SampleMode::InterruptInCall(call),
            None => SampleMode::InterruptOutside,
        },
        wire::Mode::Entry => SampleMode::Entry,
    })
}

impl From<wire::Counters> for Counters {
    fn from(counters: wire::Counters) -> Self {
        Self {
            cpu_ns: counters.cpu_ns,
            runqueue_ns: counters.runqueue_ns,
            minor_faults: counters.minor_faults,
            major_faults: counters.major_faults,
            voluntary_switches: counters.voluntary,
            involuntary_switches: counters.involuntary,
        }
    }
}

impl From<wire::Ends> for SocketEnds {
    fn from(ends: wire::Ends) -> Self {
        let wire::Ends { local, remote, local_port, remote_port, protocol, .. } = ends;
        Self { protocol: protocol as u8, local, local_port, remote, remote_port }
    }
}
