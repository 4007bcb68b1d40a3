//! The processes of the tree: their executable mappings, and unwinding of their stacks.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::files::{FileId, Files};
use crate::perf_map::{PerfMap, PerfMaps};
use crate::{Mapping, maps};

/// The limit of mappings of one process; more are ignored. Most have under a hundred executable
/// ones.
const MAPPINGS_MAX: usize = 16_384;

/// All processes of the tree.
///
/// Memory: a child shares its parent's table until either changes it; a table takes under 150 bytes
/// per mapping, with at most 16,384 mappings. At most 512 files are open, with 64 MiB of pages and
/// 100,000 rules (10 MB). At most 256 perf maps of 16 MiB each are kept.
pub struct Processes {
    pub(crate) files: Files,
    pub(crate) all: FxHashMap<u32, ProcessState>,
    pub(crate) perf_maps: PerfMaps,
}

/// One process.
#[derive(Clone, Default)]
pub(crate) struct ProcessState {
    table: Arc<Vec<Mapped>>,
    /// Number of times that code ran outside all recorded mappings.
    missed: u32,
    /// Its perf map, once JIT code ran.
    perf_map: Option<Arc<PerfMap>>,
}

/// A mapping and its file.
#[derive(Clone)]
pub(crate) struct Mapped {
    pub(crate) mapping: Mapping,
    pub(crate) file: FileId,
}

impl Default for Processes {
    fn default() -> Self {
        Processes::new()
    }
}

impl Processes {
    /// None yet.
    pub fn new() -> Self {
        Processes { files: Files::new(), all: FxHashMap::default(), perf_maps: PerfMaps::default() }
    }

    /// The files of frames.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The perf maps of all processes in which JIT code ran, including ended ones.
    pub fn perf_maps(&self) -> &PerfMaps {
        &self.perf_maps
    }

    /// A new executable mapping, or one whose protection changed. It replaces overlapping ones.
    pub fn mapped(&mut self, pid: u32, mapping: Mapping) {
        let file = self.files.id(&mapping);
        let process = self.all.entry(pid).or_default();
        insert(Arc::make_mut(&mut process.table), Mapped { mapping, file });
    }

    /// A process was forked; it has the mappings of its parent.
    pub fn forked(&mut self, parent: u32, child: u32) {
        let of_parent = self.all.get(&parent);
        let child_process = ProcessState {
            table: of_parent.map(|process| Arc::clone(&process.table)).unwrap_or_default(),
            missed: 0,
            perf_map: None,
        };
        self.all.insert(child, child_process);
    }

    /// A process executed another program: its old mappings are gone.
    pub fn executed(&mut self, pid: u32) {
        self.keep_names(pid);
        self.all.insert(pid, ProcessState::default());
    }

    /// A process has ended.
    pub fn exited(&mut self, pid: u32) {
        self.keep_names(pid);
        self.all.remove(&pid);
    }

    /// Reads the executable mappings of a living process from `/proc`, for one that started before
    /// tracing.
    ///
    /// # Errors
    /// As reading `/proc/PID/maps`.
    pub fn read(&mut self, pid: u32) -> std::io::Result<()> {
        let mut table = Vec::new();
        for mapping in maps::executable(pid)? {
            let file = self.files.id(&mapping);
            if table.len() < MAPPINGS_MAX {
                table.push(Mapped { mapping, file });
            }
        }
        self.all.entry(pid).or_default().table = Arc::new(table);
        Ok(())
    }

    /// A file that no process has mapped, for its symbols. None when it is not a readable ELF file.
    pub fn file(&mut self, path: &Path) -> Option<FileId> {
        let path = path.as_os_str().as_bytes().to_vec();
        let mapping = Mapping { start: 0, end: 0, file_offset: 0, path, dev: (0, 0), inode: 0 };
        let id = self.files.id(&mapping);
        self.files.open(id, 0, &mapping)?;
        Some(id)
    }

    /// The mapping at an address.
    pub(crate) fn find(&self, pid: u32, address: u64) -> Option<&Mapped> {
        let table = &self.all.get(&pid)?.table;
        let next = table.partition_point(|mapped| mapped.mapping.start <= address);
        table.get(next.checked_sub(1)?).filter(|mapped| address < mapped.mapping.end)
    }

    /// Code ran outside all known mappings: reads the mappings again at the first such time, the
    /// second, the fourth, and so on. Returns whether it did.
    pub(crate) fn missed(&mut self, pid: u32) -> bool {
        let missed = self.all.get(&pid).map_or(1, |process| process.missed.saturating_add(1));
        let read = missed.is_power_of_two() && self.read(pid).is_ok();
        if let Some(process) = self.all.get_mut(&pid) {
            process.missed = missed;
        }
        read
    }

    /// JIT code ran: opens its perf map while the process still exists.
    pub(crate) fn jit_ran(&mut self, pid: u32) {
        let Some(process) = self.all.get_mut(&pid) else { return };
        if process.perf_map.is_none() {
            process.perf_map = Some(self.perf_maps.of(pid));
        }
    }

    fn keep_names(&mut self, pid: u32) {
        if let Some(map) = self.all.get_mut(&pid).and_then(|process| process.perf_map.take()) {
            map.end();
        }
    }
}

/// Inserts a mapping into a table sorted by address, and removes what it covers.
fn insert(table: &mut Vec<Mapped>, new: Mapped) {
    let (start, end) = (new.mapping.start, new.mapping.end);
    if start >= end {
        return;
    }
    let first = table.partition_point(|old| old.mapping.end <= start);
    let last = table.partition_point(|old| old.mapping.start < end).max(first);
    let mut with = Vec::with_capacity(3);
    if let Some(old) = table[first..last].first()
        && old.mapping.start < start
    {
        let mut below = old.clone();
        below.mapping.end = start;
        with.push(below);
    }
    let above = table[first..last].last().filter(|old| old.mapping.end > end).cloned();
    with.push(new);
    if let Some(mut above) = above {
        above.mapping.file_offset += end - above.mapping.start;
        above.mapping.start = end;
        with.push(above);
    }
    if table.len() + with.len() - (last - first) <= MAPPINGS_MAX {
        table.splice(first..last, with);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, path: &str) -> Mapping {
        let path = path.as_bytes().to_vec();
        Mapping { start, end, file_offset: start, path, dev: (0, 0), inode: 0 }
    }

    fn table(processes: &Processes, pid: u32) -> Vec<(u64, u64, u64, u32)> {
        let table = &processes.all[&pid].table;
        let row = |m: &Mapped| (m.mapping.start, m.mapping.end, m.mapping.file_offset, m.file.0);
        table.iter().map(row).collect()
    }

    #[test]
    fn a_new_mapping_replaces_what_it_covers() {
        let mut processes = Processes::new();
        processes.mapped(1, mapping(0x1000, 0x9000, "/a"));
        processes.mapped(1, mapping(0x3000, 0x4000, "/b"));
        let cut = [(0x1000, 0x3000, 0x1000, 1), (0x3000, 0x4000, 0x3000, 2), (0x4000, 0x9000, 0x4000, 1)];
        assert_eq!(table(&processes, 1), cut);
        processes.mapped(1, mapping(0x2000, 0x5000, "/c"));
        let cut = [(0x1000, 0x2000, 0x1000, 1), (0x2000, 0x5000, 0x2000, 3), (0x5000, 0x9000, 0x5000, 1)];
        assert_eq!(table(&processes, 1), cut);
        processes.mapped(1, mapping(0x0, 0xa000, "//anon"));
        assert_eq!(table(&processes, 1), [(0, 0xa000, 0, 0)]);
        processes.mapped(1, mapping(0x20, 0x10, "/c"));
        assert_eq!(table(&processes, 1).len(), 1);
    }

    #[test]
    fn a_child_has_its_parents_mappings_until_it_changes_them() {
        let mut processes = Processes::new();
        processes.mapped(1, mapping(0x1000, 0x2000, "/a"));
        processes.forked(1, 2);
        assert!(Arc::ptr_eq(&processes.all[&1].table, &processes.all[&2].table));
        processes.mapped(2, mapping(0x5000, 0x6000, "/b"));
        assert_eq!(table(&processes, 1).len(), 1);
        assert_eq!(table(&processes, 2).len(), 2);
        processes.executed(2);
        assert!(table(&processes, 2).is_empty());
        processes.exited(2);
        assert!(!processes.all.contains_key(&2));
    }
}
