//! The table of requests to disks, from what the kernel half counted.

use crate::bounded::{Bounded, Room, Together, leave_out, rows_size};
use crate::file_rows::program;
use crate::names::Names;
use model::Seen;
use model::disk_requests::{DiskRequestRow, DiskRequests, DiskUse, FOLLOWS_ON};
use model::recording::Trailer;
use model::run::ThreadLedger;

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// All rows, those with most requests first.
pub(crate) fn table(trailer: &Trailer, names: &Names, threads: &[ThreadLedger]) -> Seen<DiskRequests> {
    trailer.disk_requests.as_ref().map(|all| DiskRequests {
        rows: all
            .uses
            .iter()
            .map(|one| row(one, names.files.device(one.dev), program(threads, one.pid)))
            .collect(),
        other_requests: all.other_requests,
    })
}

fn row(one: &DiskUse, device: Seen<String>, program: Seen<String>) -> DiskRequestRow {
    let in_octave = |octave: u8| 1_u64.checked_shl(octave.into()).unwrap_or(u64::MAX);
    let is_follower = |(octave, _): &&(u8, u64)| *octave == FOLLOWS_ON;
    let jump = |&(octave, count): &(u8, u64)| (in_octave(octave - 1).saturating_mul(SECTOR), count);
    DiskRequestRow {
        device,
        pid: one.pid,
        program,
        write: one.write,
        requests: one.requests,
        bytes: one.bytes,
        sizes: one.sizes.iter().map(|(octave, count)| (in_octave(*octave), *count)).collect(),
        follow_on: one.distances.iter().filter(is_follower).map(|(_, count)| count).sum(),
        jumps: one.distances.iter().filter(|distance| !is_follower(distance)).map(jump).collect(),
        alone: one.alone,
        depth_mean: one.depths as f64 / one.requests.max(1) as f64,
        depth_max: one.depth_max,
    }
}

impl Bounded for DiskRequests {
    fn size(&self) -> usize {
        rows_size(&self.rows)
    }

    fn shrink(&mut self, room: Room) -> Option<Together> {
        leave_out(&mut self.rows, room, |row| self.other_requests += row.requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octaves_are_bytes_and_no_distance_is_no_jump() {
        let one = DiskUse {
            requests: 8,
            depths: 12,
            depth_max: 3,
            sizes: vec![(12, 8)],
            // Three follow, two jump by a sector, one by the largest distance.
            distances: vec![(FOLLOWS_ON, 3), (1, 2), (39, 1)],
            ..DiskUse::default()
        };
        let row = row(&one, Seen::Value("vda".into()), Seen::Value("reader".into()));
        assert_eq!((row.follow_on, row.jumps), (3, vec![(512, 2), (1 << 47, 1)]));
        assert_eq!((row.sizes, row.depth_mean, row.depth_max), (vec![(4096, 8)], 1.5, 3));
    }
}
