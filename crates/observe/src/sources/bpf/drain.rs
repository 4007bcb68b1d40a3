//! What the kernel half and perf's side-band have written since, taken and decoded.
//!
//! Stacks and mappings are taken first, so that what a stack needs is there when it is worked off:
//! it is older than the stack. Where events go is left to the caller; taking never starts another
//! taking.

use super::buffers::Buffers;
use super::decode::{self, Decoder, OfStacks};
use super::mappings::{Mappings, Told};
use crate::stacks::{Of, Stacks};
use aya::maps::{MapData, RingBuf};
use model::{Event, Ns, Tid};
use rustc_hash::FxHashMap;
use sys::shared::Words;

/// Python parts that wait for their stacks; those that are left over lost them.
const PYTHON_WAITING: usize = 4096;

/// All that is read.
pub(super) struct Drain {
    pub(super) buffers: Buffers<Words>,
    pub(super) stack_ring: RingBuf<MapData>,
    pub(super) mappings: Option<Mappings>,
    pub(super) decoder: Decoder,
    /// Python parts whose stacks have not come yet.
    pub(super) python: FxHashMap<(Tid, Ns), python::record::Stack>,
}

impl Drain {
    /// Takes what has come of stacks and mappings. Returns how many stacks were of waits.
    pub(super) fn stacks(&mut self, stacks: &mut Stacks) -> u64 {
        let mut of_waits = 0;
        while let Some(record) = self.stack_ring.next() {
            match decode::of_stacks(&record) {
                Some(OfStacks::Stack(at, mut stack)) => {
                    // Its Python part came just before, from the same program.
                    stack.python = self.python.remove(&(stack.tid, at));
                    of_waits += u64::from(matches!(stack.of, Of::Wait { .. } | Of::Waker { .. }));
                    stacks.stack(at, stack);
                }
                Some(OfStacks::Python(stack)) => {
                    if self.python.len() < PYTHON_WAITING {
                        self.python.insert((stack.tid, stack.at), stack);
                    }
                }
                Some(OfStacks::Described(at)) => stacks.described(at, &record),
                None => self.decoder.malformed += 1,
            }
        }
        if let Some(mappings) = &mut self.mappings {
            mappings.read(|at, pid, told| match told {
                Told::Executed => stacks.executed(at, pid),
                Told::Mapped(mapping) => stacks.mapped(at, pid, mapping),
            });
        }
        of_waits
    }

    /// Takes the records made before `until`, and gives the events that they are. Returns how many
    /// records those were.
    pub(super) fn records(&mut self, until: Ns, each: &mut dyn FnMut(Event)) -> u64 {
        let decoder = &mut self.decoder;
        self.buffers.drain(until, &mut |record| {
            if let Some(event) = decoder.decode(record) {
                each(event);
            }
        })
    }
}
