//! What the fuzzer runs on the records of a ring.

use super::decode::{Holes, Measuring, events};
use super::wire::RingRecord;
use zerocopy::FromBytes;

/// Records, one after another.
pub(crate) fn ring(bytes: &[u8]) {
    let records: Vec<RingRecord> = bytes
        .chunks_exact(size_of::<RingRecord>())
        .filter_map(|record| RingRecord::read_from_bytes(record).ok())
        .collect();
    let measuring = Measuring { tid: 7, pid: 8, name: "dwell".to_owned() };
    for before in [None, Some(0), Some(1)] {
        let holes = Holes { cut: before.is_some(), before };
        let _ = events(&records, holes, &measuring, 1000, |tid| (tid % 2 == 0).then(|| tid.to_string()));
    }
}
