//! Symbolization of code locations when the program has ended: only then is it known which are
//! needed.

use super::tree::{FrameKey, Tree};
use code::{Kallsyms, Processes, RawFrame, UnreadNames};
use model::recording::{CodeLocation, Function};
use model::{Event, Seen};
use std::cmp::Reverse;
use std::time::Duration;

/// The time budget of symbolization. Locations not reached by then stay without names, and the
/// recording has their number.
const BUDGET: Duration = Duration::from_secs(5);

/// What could not be symbolized.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct SymbolGaps {
    /// Code locations for which time ran out: they may lack lines, inlined functions or a name.
    pub(crate) late: usize,
    /// Whether a perf map named JIT code.
    pub(crate) jit_named: bool,
    /// Why kernel functions have no names, if so.
    pub(crate) kernel: Option<String>,
    /// Files with names of JIT code that were not read, or not whole.
    pub(crate) files: Vec<UnreadNames>,
}

/// Emits the names of all code locations of the tree, and returns what has none. `ask_kernel`
/// symbolizes kernel addresses, if it can.
pub(super) fn emit(
    tree: &Tree,
    processes: &Processes,
    ask_kernel: impl FnOnce(&[u64]) -> Option<Vec<Option<String>>>,
    sink: &mut dyn FnMut(&Event),
) -> SymbolGaps {
    let mut native = Vec::new();
    let mut kernel = Vec::new();
    for (key, place, frames) in tree.places() {
        match key {
            FrameKey::Native(file, address) => {
                native.push((place, frames, RawFrame { file: *file, address: *address }))
            }
            FrameKey::Other(CodeLocation::Kernel { address }) => kernel.push((place, *address)),
            FrameKey::Other(_) => {}
        }
    }
    // In order of frequency: if time runs out, the most frequent ones have names.
    native.sort_unstable_by_key(|(place, frames, _)| (Reverse(*frames), *place));
    kernel.sort_unstable_by_key(|(place, _)| *place);
    let mut unnamed = SymbolGaps::default();
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
    let names = processes.names_by_weight(&places, |position| native[position].1, BUDGET);
    unnamed.late = names.unfinished.len();
    unnamed.files = names.unread;
    for ((place, _, frame), functions) in native.into_iter().zip(names.functions) {
        let named = || functions.iter().any(|function| function.name.is_some());
        unnamed.jit_named |= processes.files().made_by(frame.file).is_some() && named();
        sink(&Event::Named { place, functions });
    }
    unnamed
}

fn from_kallsyms(addresses: &[u64], unnamed: &mut SymbolGaps) -> Vec<Option<String>> {
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
