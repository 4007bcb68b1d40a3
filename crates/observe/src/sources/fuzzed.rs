//! What the fuzzer runs on what sources read: each is a child of the module that it is about.

pub(crate) use super::bpf::fuzzed::{buffer, packets, ring};
use super::perf_records;
pub(crate) use super::proc::fuzzed::texts;

/// A record of perf_event_open(2).
pub(crate) fn perf(record: &[u8]) {
    let _ = perf_records::decode(record);
}
