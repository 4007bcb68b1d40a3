//! The call tree as it grows: each code location and each node is emitted once.

use code::{FileId, Files};
use model::Event;
use model::recording::CodeLocation;
use rustc_hash::FxHashMap;

/// The limit of nodes, of some 100 bytes each; stacks that would need more end at the last existing
/// node.
const NODES: usize = 1 << 20;

/// A code location that is cheap to compare.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum FrameKey {
    Native(FileId, u64),
    Other(CodeLocation),
}

impl FrameKey {
    fn place(&self, files: &Files) -> CodeLocation {
        match self {
            FrameKey::Native(file, address) => match files.made_by(*file) {
                Some((pid, runtime)) => CodeLocation::Jit { pid, runtime, address: *address },
                None => CodeLocation::Native { module: files.path(*file).to_string(), address: *address },
            },
            FrameKey::Other(place) => place.clone(),
        }
    }
}

/// What has been emitted.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The index of each, and its number of stack frames.
    places: FxHashMap<FrameKey, (u32, u32)>,
    nodes: FxHashMap<(u32, u32), u32>,
}

impl Tree {
    /// The node for `key` when called from `caller` (0: the outermost), emitted to `sink` where it
    /// is new.
    pub(super) fn node(
        &mut self,
        files: &Files,
        caller: u32,
        key: FrameKey,
        sink: &mut dyn FnMut(&Event),
    ) -> u32 {
        let place = match self.places.get_mut(&key) {
            Some((place, frames)) => {
                *frames = frames.saturating_add(1);
                *place
            }
            None => {
                let id = self.places.len() as u32;
                sink(&Event::Place { id, place: key.place(files) });
                self.places.insert(key, (id, 1));
                id
            }
        };
        if let Some(node) = self.nodes.get(&(caller, place)) {
            return *node;
        }
        if self.nodes.len() >= NODES {
            return caller;
        }
        let id = self.nodes.len() as u32 + 1;
        sink(&Event::Node { id, caller, place });
        self.nodes.insert((caller, place), id);
        id
    }

    /// Every emitted code location, with its index and its number of stack frames.
    pub(super) fn places(&self) -> impl Iterator<Item = (&FrameKey, u32, u32)> {
        self.places.iter().map(|(key, (id, frames))| (key, *id, *frames))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_nodes_are_emitted_once_and_before_they_are_used() {
        let mut tree = Tree::default();
        let mut emitted = Vec::new();
        let key = |address| FrameKey::Other(CodeLocation::Kernel { address });
        let mut sink = |event: &Event| emitted.push(event.clone());
        let processes = code::Processes::new();
        let files = processes.files();
        let outer = tree.node(files, 0, key(1), &mut sink);
        let inner = tree.node(files, outer, key(2), &mut sink);
        assert_eq!(tree.node(files, outer, key(2), &mut sink), inner);
        let other = tree.node(files, inner, key(1), &mut sink);
        assert_eq!((outer, inner, other), (1, 2, 3));
        let place = |id, address| Event::Place { id, place: CodeLocation::Kernel { address } };
        let node = |id, caller, place| Event::Node { id, caller, place };
        assert_eq!(emitted, [place(0, 1), node(1, 0, 0), place(1, 2), node(2, 1, 1), node(3, 2, 0)]);
    }
}
