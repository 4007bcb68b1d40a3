//! How the requests lie with which the program reads from disks: how large they are, whether they
//! follow on each other, and how many are under way at once.

use super::Evidence;
use model::run::WaitRow;
use model::say;
use model::sentence::Piece::{Bytes, Count, Number, Share};
use model::{Seen, Sentence};
use std::collections::BTreeMap;

/// From this part on that follows on, it is not their order that is slow.
const FOLLOWS_SHARE: f64 = 0.5;

/// The reads of all processes from the disks that they waited for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DiskReads {
    pub(super) requests: u64,
    /// Issued while no other was under way.
    pub(super) alone: u64,
    /// Most at once.
    pub(super) at_once: u32,
    /// Begun where the one before had ended.
    follow_on: u64,
    /// By the smallest number of bytes of their octave.
    sizes: BTreeMap<u64, u64>,
}

impl Evidence<'_> {
    /// The reads from the disks of these waits. None where the requests that the program made are
    /// not known, or were made for it by others: then it made less than half as many as it waited
    /// for. (Two threads may wait for one.)
    pub(super) fn disk_reads(&self, waits: &[(usize, &WaitRow)]) -> Option<DiskReads> {
        let table = self.run.tables.disk_requests.value()?;
        let mut reads = DiskReads::default();
        let is_waited_for = |device: &Seen<String>| waits.iter().any(|(_, wait)| wait.device == *device);
        for row in table.rows.iter().filter(|row| !row.write && is_waited_for(&row.device)) {
            reads.requests += row.requests;
            reads.alone += row.alone;
            reads.at_once = reads.at_once.max(row.depth_max);
            reads.follow_on += row.follow_on;
            row.sizes.iter().for_each(|(bytes, count)| *reads.sizes.entry(*bytes).or_default() += count);
        }
        let waited: u64 = waits.iter().filter_map(|(_, wait)| wait.requests.value()).sum();
        (reads.requests > 0 && reads.requests * 2 >= waited).then_some(reads)
    }
}

impl DiskReads {
    /// The octave of the median request: its smallest number of bytes.
    pub(super) fn typical_bytes(&self) -> u64 {
        let mut left = self.requests / 2;
        for (bytes, count) in &self.sizes {
            if left < *count {
                return *bytes;
            }
            left -= count;
        }
        self.sizes.keys().next_back().copied().unwrap_or(0)
    }

    /// Which part is issued while no other is under way.
    pub(super) fn alone_share(&self) -> f64 {
        self.alone as f64 / self.requests.max(1) as f64
    }

    fn follow_share(&self) -> f64 {
        self.follow_on as f64 / self.requests.max(1) as f64
    }

    /// Whether they are in the order in which the disk has them.
    pub(super) fn follow_on(&self) -> bool {
        self.follow_share() >= FOLLOWS_SHARE
    }

    /// What is known of them.
    pub(super) fn words(&self) -> Vec<Sentence> {
        let bytes = self.typical_bytes();
        let order = match self.follow_on() {
            true => say!(Share(self.follow_share()), " begin where the one before ended"),
            false => say!(Share(1.0 - self.follow_share()), " jump to another place"),
        };
        let depth = match self.at_once {
            1 => say!("no two of them at once"),
            most => say!(
                Share(self.alone_share()),
                " of them with no other under way; ",
                Number(most.into()),
                " at most at once"
            ),
        };
        let size = say!(", most often of ", Bytes(bytes), " to ", Bytes(bytes * 2), "; ");
        vec![say!(Count(self.requests, "request".into()), " to read").and(size).and(order), depth]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use model::disk_requests::{DiskRequestRow, DiskRequests};

    /// Reads of 4 KiB that this many at a time jump about on `vda`.
    pub(crate) fn jumping(requests: u64, alone: u64) -> Seen<DiskRequests> {
        let row = DiskRequestRow {
            device: Seen::Value("vda".into()),
            pid: 100,
            program: Seen::Value("program".into()),
            write: false,
            requests,
            bytes: requests * 4096,
            sizes: vec![(4096, requests)],
            follow_on: 0,
            jumps: vec![(1 << 20, requests - 1)],
            alone,
            depth_mean: 2.0 - alone as f64 / requests as f64,
            depth_max: if alone == requests { 1 } else { 2 },
        };
        let write = DiskRequestRow { write: true, requests: 7, ..row.clone() };
        Seen::Value(DiskRequests { rows: vec![row, write], other_requests: 0 })
    }

    #[test]
    fn the_median_request_is_in_the_octave_that_has_the_middle() {
        let of = |sizes: &[(u64, u64)]| DiskReads {
            requests: sizes.iter().map(|(_, count)| count).sum(),
            sizes: sizes.iter().copied().collect(),
            ..DiskReads::default()
        };
        assert_eq!(of(&[(4096, 51), (1 << 20, 50)]).typical_bytes(), 4096);
        assert_eq!(of(&[(4096, 50), (1 << 20, 51)]).typical_bytes(), 1 << 20);
        assert_eq!(of(&[]).typical_bytes(), 0);
    }

    #[test]
    fn requests_follow_on_from_half_of_them() {
        let of = |follow_on| DiskReads { requests: 100, follow_on, ..DiskReads::default() }.follow_on();
        assert!(of(50) && !of(49));
    }
}
