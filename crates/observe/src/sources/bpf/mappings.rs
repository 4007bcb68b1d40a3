//! What the tree's processes map to execute: perf's records of it, which come with the time they
//! were made.
//!
//! Without these a process that is gone before anybody looks at `/proc/PID/maps` would have
//! addresses and no code.

use super::super::perf::decode::{Record, SAMPLE_TYPE, What, decode};
use code::Mapping;
use model::{Ns, Pid};
use std::io;
use sys::perf_event::{self, ANY_THREAD, Ring, bindings};

/// Pages of each CPU's ring: some thousand mappings.
const RING_PAGES: usize = 64;

/// What one record tells of a process.
pub(super) enum Told {
    /// It executes another program, and has mapped nothing of it yet.
    Executed,
    /// It mapped this.
    Mapped(Mapping),
}

/// The side-band of all CPUs.
#[derive(Debug)]
pub(super) struct Mappings {
    rings: Vec<Ring>,
    /// Records that did not fit.
    pub(super) lost: u64,
}

impl Mappings {
    /// Opens it on these CPUs, for all processes. The reader picks those of the tree.
    ///
    /// # Errors
    /// What the system says.
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

    /// Hands over what happened since, in order for each CPU.
    pub(super) fn read(&mut self, mut each: impl FnMut(Ns, Pid, Told)) {
        for ring in &mut self.rings {
            ring.read(|bytes| match decode(bytes) {
                Some(Record { at, what: What::Mapped { pid, mapping }, .. }) => {
                    each(at, pid, Told::Mapped(mapping))
                }
                Some(Record { at, what: What::Named { pid, exec: true, .. }, .. }) => {
                    each(at, pid, Told::Executed)
                }
                Some(Record { what: What::Lost { records }, .. }) => self.lost += records,
                _ => {}
            });
        }
    }
}
