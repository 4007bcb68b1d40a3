//! Executable mappings of the tree, from perf's records, which have time stamps.
//!
//! Without these a process that exits before its `/proc/PID/maps` is read would have addresses and
//! no code.

use super::super::perf_records::{Record, SAMPLE_TYPE, What, decode};
use code::Mapping;
use model::{Ns, Pid};
use std::io;
use sys::perf_event::{self, ANY_THREAD, Ring, bindings};

/// Pages of each CPU's ring: some thousand mappings.
const RING_PAGES: usize = 64;

/// One record about a process.
pub(super) enum MappingRecord {
    /// It executes another program, which has no mappings yet.
    Executed,
    /// A new mapping.
    Mapped(Mapping),
}

/// The side-band of all CPUs.
#[derive(Debug)]
pub(super) struct Mappings {
    rings: Vec<Ring>,
    /// Lost records.
    pub(super) lost: u64,
}

impl Mappings {
    /// Opens it on these CPUs, for all processes. The reader picks those of the tree.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn start(cpus: &[u32]) -> io::Result<Self> {
        let mut attr = perf_event::software(bindings::PERF_COUNT_SW_DUMMY);
        attr.sample_type = SAMPLE_TYPE;
        attr.set_sample_id_all(1);
        attr.set_use_clockid(1);
        attr.clockid = libc::CLOCK_MONOTONIC;
        attr.set_mmap(1);
        attr.set_mmap2(1);
        attr.set_comm(1);
        attr.set_comm_exec(1);
        let ring = |cpu: &u32| {
            let event = perf_event::open(&attr, ANY_THREAD, *cpu)?;
            Ring::map(event, RING_PAGES).map_err(|(_, error)| error)
        };
        Ok(Self { rings: cpus.iter().map(ring).collect::<io::Result<_>>()?, lost: 0 })
    }

    /// Passes on new records, in order for each CPU.
    pub(super) fn read(&mut self, mut each: impl FnMut(Ns, Pid, MappingRecord)) {
        for ring in &mut self.rings {
            ring.read(|bytes| match decode(bytes) {
                Some(Record { at, what: What::Mapped { pid, mapping }, .. }) => {
                    each(at, pid, MappingRecord::Mapped(mapping))
                }
                Some(Record { at, what: What::Named { pid, exec: true, .. }, .. }) => {
                    each(at, pid, MappingRecord::Executed)
                }
                Some(Record { what: What::Lost { records }, .. }) => self.lost += records,
                _ => {}
            });
        }
    }
}
