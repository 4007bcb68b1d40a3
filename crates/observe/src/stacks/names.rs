//! What places are called, looked up when the program has ended: only then is it known which are needed.

use super::Stacks;
use super::tree::FrameKey;
use code::{FileId, Kallsyms, RawFrame};
use model::recording::{Function, Place};
use model::{Event, Seen};
use std::cmp::Reverse;
use std::time::Duration;

/// How long names may take. What has none by then goes without, and the recording says how much that was.
const BUDGET: Duration = Duration::from_secs(5);

/// What could not be named.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Unnamed {
    /// Places of the program for which the time was not enough: they may lack lines, inlined functions or a name.
    pub(crate) late: usize,
    /// A perf map named code that a program made itself.
    pub(crate) jit_named: bool,
    /// Why the kernel's functions have no names, where they do not.
    pub(crate) kernel: Option<String>,
}

impl Stacks {
    /// Tells the names of all places. `ask_kernel` names the kernel's, if it can.
    pub(crate) fn names(
        &mut self,
        ask_kernel: impl FnOnce(&[u64]) -> Option<Vec<Option<String>>>,
        sink: &mut dyn FnMut(&Event),
    ) {
        let mut native = Vec::new();
        let mut kernel = Vec::new();
        for (key, place, frames) in self.tree.places() {
            match key {
                FrameKey::Native(file, address) => {
                    native.push((place, frames, RawFrame { file: *file, address: *address }))
                }
                FrameKey::Other(Place::Kernel { address }) => kernel.push((place, *address)),
                FrameKey::Other(_) => {}
            }
        }
        // Should the time not be enough, those that were seen most have names.
        native.sort_unstable_by_key(|(place, frames, _)| (Reverse(*frames), *place));
        kernel.sort_unstable_by_key(|(place, _)| *place);
        let mut unnamed = Unnamed::default();
        let addresses: Vec<u64> = kernel.iter().map(|(_, address)| *address).collect();
        if !addresses.is_empty() {
            let names = ask_kernel(&addresses).unwrap_or_else(|| from_kallsyms(&addresses, &mut unnamed));
            for ((place, _), name) in kernel.into_iter().zip(names) {
                if name.is_some() {
                    let functions = vec![Function { name, source: None, inlined: false }];
                    sink(&Event::Named { place, functions });
                }
            }
        }
        let places: Vec<RawFrame> = native.iter().map(|(_, _, place)| *place).collect();
        let names = self.processes.names_by_weight(&places, |position| native[position].1, BUDGET);
        unnamed.late = names.unfinished.len();
        for ((place, _, frame), functions) in native.into_iter().zip(names.functions) {
            let named = || functions.iter().any(|function| function.name.is_some());
            unnamed.jit_named |= frame.file == FileId::JIT && named();
            sink(&Event::Named { place, functions });
        }
        self.unnamed = unnamed;
    }
}

fn from_kallsyms(addresses: &[u64], unnamed: &mut Unnamed) -> Vec<Option<String>> {
    match Kallsyms::read() {
        Seen::Value(symbols) => {
            addresses.iter().map(|address| symbols.name(*address).map(str::to_owned)).collect()
        }
        Seen::Absent => Vec::new(),
        Seen::Unseen(why) => {
            unnamed.kernel = Some(why);
            Vec::new()
        }
    }
}
