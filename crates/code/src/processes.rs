//! The processes of the tree: their executable mappings, and unwinding of their stacks.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use model::recording::Runtime;
use rustc_hash::FxHashMap;

use crate::files::{FileId, Files};
use crate::jit::{self, Dump, JitProcesses};
use crate::loads::Loads;
use crate::{Mapping, maps};

/// The limit of mappings of one process; more are ignored. Most have under a hundred executable
/// ones.
const MAPPINGS_MAX: usize = 16_384;

/// All processes of the tree.
///
/// Memory: a child shares its parent's table until either changes it; a table takes under 150 bytes
/// per mapping, with at most 16,384 mappings. At most 512 files are open, with 64 MiB of pages and
/// 100,000 rules (10 MB). At most 2^20 addresses of JIT code are named.
pub struct Processes {
    pub(crate) files: Files,
    pub(crate) all: FxHashMap<u32, ProcessState>,
    pub(crate) jits: JitProcesses,
    pub(crate) loads: Loads,
}

/// One process.
#[derive(Clone, Default)]
pub(crate) struct ProcessState {
    table: Arc<Vec<Mapped>>,
    /// Number of times that code ran outside all recorded mappings.
    missed: u32,
    /// What stands for the code that it made, once such code ran.
    made: Option<FileId>,
    /// Its jitdump file, where it has mapped one.
    dump: Option<Arc<Dump>>,
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
        let (all, jits) = (FxHashMap::default(), JitProcesses::new());
        Processes { files: Files::new(), all, jits, loads: Loads::default() }
    }

    /// The files of frames.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// A new executable mapping, or one whose protection changed. It replaces overlapping ones.
    pub fn mapped(&mut self, pid: u32, mapping: Mapping) {
        let file = self.files.id(&mapping);
        let dump = self.jits.mapped(pid, &mapping);
        let process = self.all.entry(pid).or_default();
        process.dump = dump.or(process.dump.take());
        insert(Arc::make_mut(&mut process.table), Mapped { mapping, file });
    }

    /// A process was forked; it has the mappings of its parent.
    pub fn forked(&mut self, parent: u32, child: u32) {
        let of_parent = self.all.get(&parent);
        let child_process = ProcessState {
            table: of_parent.map(|process| Arc::clone(&process.table)).unwrap_or_default(),
            missed: 0,
            made: None,
            dump: of_parent.and_then(|process| process.dump.clone()),
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
        let mut dump = None;
        for mapping in maps::executable(pid)? {
            let file = self.files.id(&mapping);
            dump = self.jits.mapped(pid, &mapping).or(dump);
            if table.len() < MAPPINGS_MAX {
                table.push(Mapped { mapping, file });
            }
        }
        let process = self.all.entry(pid).or_default();
        process.table = Arc::new(table);
        process.dump = dump.or(process.dump.take());
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

    /// Code that the process made ran at an address. Returns what stands for it.
    pub(crate) fn jit_ran(&mut self, pid: u32, address: u64) -> FileId {
        let Some(process) = self.all.get_mut(&pid) else { return FileId::JIT };
        let made = *process.made.get_or_insert_with(|| {
            let mapped = process.table.iter().map(|mapped| &**self.files.path(mapped.file));
            let runtime = jit::runtime(mapped);
            let made = self.files.add_made(pid, runtime);
            self.jits.met(pid, made);
            made
        });
        self.jits.ran(made, address);
        made
    }

    /// The living processes in which code ran that this runtime made.
    pub fn makers(&self, runtime: Runtime) -> Vec<u32> {
        let made = self.all.values().filter_map(|process| self.files.made_by(process.made?));
        let mut pids: Vec<u32> =
            made.filter(|(_, made_by)| *made_by == runtime).map(|(pid, _)| pid).collect();
        pids.sort_unstable();
        pids
    }

    /// The jitdump file of the process that made some code.
    pub(crate) fn dump(&self, made: FileId) -> Option<&Dump> {
        let (pid, _) = self.files.made_by(made)?;
        self.all.get(&pid).filter(|process| process.made == Some(made))?.dump.as_deref()
    }

    fn keep_names(&mut self, pid: u32) {
        let Some(process) = self.all.get(&pid) else { return };
        if let Some(made) = process.made {
            self.jits.ended(made, process.dump.as_deref());
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
