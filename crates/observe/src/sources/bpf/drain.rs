//! Drains and decodes new records of the kernel half and of perf's side-band events.
//!
//! Stacks and mappings are taken first, so that what a stack needs, which is older, is available
//! when it is processed. The caller passes events on; a drain never starts another one.

use super::buffers::Buffers;
use super::decode::{self, Decoder, OfStacks};
use super::mappings::{MappingRecord, Mappings};
use crate::stacks::{StackKind, Stacks};
use crate::threads::Threads;
use aya::maps::{MapData, RingBuf};
use model::{Event, Ns, Pid, Tid};
use rustc_hash::FxHashMap;
use sys::shared::SharedWords;

/// The limit of Python parts that wait for their stacks; the stacks of the oldest were lost.
const PYTHON_WAITING: usize = 4096;

/// All inputs.
pub(super) struct Drain {
    pub(super) buffers: Buffers<SharedWords>,
    /// None once it was closed.
    pub(super) stack_ring: Option<RingBuf<MapData>>,
    pub(super) mappings: Option<Mappings>,
    pub(super) decoder: Decoder,
    /// Samples of counters so far; later ones are left out.
    pub(super) counted: u64,
    pub(super) counted_until: Ns,
    /// Python parts whose stacks have not arrived yet.
    pub(super) python: FxHashMap<(Tid, Ns), python::record::Stack>,
}

impl Drain {
    /// Takes new stacks and mappings. Returns how many stacks were of waits.
    pub(super) fn stacks(&mut self, stacks: &mut Stacks, threads: &Threads) -> u64 {
        let mut of_waits = 0;
        while let Some(record) = self.stack_ring.as_mut().and_then(RingBuf::next) {
            match decode::of_stacks(&record) {
                Some(OfStacks::Stack(at, mut stack)) => {
                    // Its Python part arrived just before, from the same program.
                    stack.python = self.python.remove(&(stack.tid, at));
                    of_waits +=
                        u64::from(matches!(stack.of, StackKind::Wait { .. } | StackKind::Waker { .. }));
                    stacks.stack(at, stack);
                }
                Some(OfStacks::Python(stack)) => {
                    if self.python.len() < PYTHON_WAITING {
                        self.python.insert((stack.tid, stack.at), stack);
                    }
                }
                Some(OfStacks::Counted(at, counted)) => {
                    // What runs on after a window is not of it.
                    if at <= self.counted_until {
                        self.counted += 1;
                        stacks.counted(at, counted);
                    }
                }
                Some(OfStacks::Described(at)) => stacks.described(at, &record),
                None => self.decoder.malformed += 1,
            }
        }
        if let Some(mappings) = &mut self.mappings {
            mappings.read(|at, pid, told| match told {
                MappingRecord::Executed => stacks.executed(at, pid),
                MappingRecord::Mapped(mapping) => stacks.mapped_now(at, pid, mapping, threads),
            });
        }
        of_waits
    }

    /// Unmaps what the kernel half writes: 24 MiB with two CPUs. What comes after the last record
    /// is the reading of names, which takes memory of its own.
    pub(super) fn close(&mut self) {
        self.buffers.close();
        self.stack_ring = None;
        self.mappings = None;
    }

    /// Takes the records made before `until`, and passes on their events, with the addresses of the
    /// stack that comes with one. Returns the number of records.
    pub(super) fn records(&mut self, until: Ns, each: &mut dyn FnMut(Event, Option<(Pid, Vec<u64>)>)) -> u64 {
        let decoder = &mut self.decoder;
        self.buffers.drain(until, &mut |record| {
            if let Some(event) = decoder.decode(record) {
                each(event, decoder.callers.take());
            }
        })
    }
}
