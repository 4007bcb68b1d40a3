//! Which mapping page faults of each process are in, and whose code they are of, from the sample
//! of them.

use crate::bounded::{Bounded, Room, Together, leave_out, rows_size, texts};
use crate::code::Code;
use crate::file_rows;
use crate::names::Names;
use model::fault_places::{FaultMapping, FaultPlaces, FaultRow, FaultingProcess, MappingKind};
use model::run::ThreadLedger;
use model::wait::StackFrame;
use model::{Pid, Seen};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Processes of the table, and rows of each.
const PROCESSES: usize = 16;
const ROWS: usize = 8;

/// The sample as it comes, by process.
#[derive(Debug, Default)]
pub(super) struct FaultSamples {
    processes: FxHashMap<Pid, OfProcess>,
}

#[derive(Debug, Default)]
struct OfProcess {
    peak_bytes: Option<u64>,
    /// By mapping and the innermost node of the stack.
    sums: FxHashMap<(FaultMapping, Option<u32>), Sum>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    faults: u64,
    samples: u64,
}

/// What a row is of.
type Key = (MappingKind, Seen<String>, Seen<StackFrame>);

impl FaultSamples {
    /// A page fault of the sample.
    pub(super) fn sampled(&mut self, pid: Pid, mapping: FaultMapping, node: Option<u32>, faults: u32) {
        let sum = self.processes.entry(pid).or_default().sums.entry((mapping, node)).or_default();
        sum.faults += u64::from(faults);
        sum.samples += 1;
    }

    /// The largest resident set of a process.
    pub(super) fn peaked(&mut self, pid: Pid, bytes: u64) {
        if let Some(process) = self.processes.get_mut(&pid) {
            process.peak_bytes = Some(bytes);
        }
    }

    /// The table.
    pub(super) fn table(self, code: &Code, names: &Names, threads: &[ThreadLedger]) -> FaultPlaces {
        let mut places = Places { code, names, of_node: FxHashMap::default() };
        let mut processes: Vec<(Pid, OfProcess)> = self.processes.into_iter().collect();
        processes.sort_by_key(|(pid, process)| (Reverse(process.faults()), *pid));
        let others = processes.split_off(processes.len().min(PROCESSES));
        FaultPlaces {
            processes: processes
                .into_iter()
                .map(|(pid, process)| places.row(pid, &process, threads))
                .collect(),
            other_faults: others.iter().map(|(_, process)| process.faults()).sum(),
        }
    }
}

impl OfProcess {
    fn faults(&self) -> u64 {
        self.sums.values().map(|sum| sum.faults).sum()
    }
}

/// Puts mappings and nodes into words.
struct Places<'a> {
    code: &'a Code,
    names: &'a Names,
    of_node: FxHashMap<u32, Seen<StackFrame>>,
}

impl Places<'_> {
    fn row(&mut self, pid: Pid, process: &OfProcess, threads: &[ThreadLedger]) -> FaultingProcess {
        let mut sums: FxHashMap<Key, Sum> = FxHashMap::default();
        for ((mapping, node), more) in &process.sums {
            let sum = sums.entry(self.key(*mapping, *node)).or_default();
            sum.faults += more.faults;
            sum.samples += more.samples;
        }
        let row =
            |((kind, path, place), Sum { faults, samples })| FaultRow { kind, path, place, faults, samples };
        let mut rows: Vec<FaultRow> = sums.into_iter().map(row).collect();
        rows.sort_by_cached_key(|row| {
            let place = row.place.value().map(ToString::to_string);
            (Reverse(row.faults), row.kind, row.path.value().cloned(), place)
        });
        let others = rows.split_off(rows.len().min(ROWS));
        let own = threads.iter().filter(|thread| thread.pid == pid);
        let counted =
            |thread: &ThreadLedger| Some(thread.minor_faults.value()? + thread.major_faults.value()?);
        let counted = own.map(counted).sum::<Option<u64>>().filter(|counted| *counted > 0);
        FaultingProcess {
            pid,
            program: file_rows::program(threads, pid),
            counted: counted.map_or_else(|| Seen::unseen("not all of its threads were counted"), Seen::Value),
            faults: process.faults(),
            peak_bytes: process
                .peak_bytes
                .map_or_else(|| Seen::unseen("its end was not observed"), Seen::Value),
            rows,
            other_faults: others.iter().map(|row| row.faults).sum(),
        }
    }

    fn key(&mut self, mapping: FaultMapping, node: Option<u32>) -> Key {
        let (kind, path) = match mapping {
            FaultMapping::Unknown => (MappingKind::Unknown, Seen::Absent),
            FaultMapping::Anonymous => (MappingKind::Anonymous, Seen::Absent),
            FaultMapping::Heap => (MappingKind::Heap, Seen::Absent),
            FaultMapping::Stack => (MappingKind::Stack, Seen::Absent),
            FaultMapping::File { dev, ino, name } => {
                (MappingKind::File, Seen::Value(file_rows::path((dev, ino), &name.to_text(), self.names)))
            }
        };
        let place = match node {
            Some(node) => {
                let of_node = || self.code.own_frame(node);
                self.of_node.entry(node).or_insert_with(of_node).clone()
            }
            None => Seen::unseen("no stack was taken"),
        };
        (kind, path, place)
    }
}

impl Bounded for FaultPlaces {
    fn cut_texts(&mut self) {
        for process in &mut self.processes {
            texts::seen(&mut process.program, texts::text);
            for row in &mut process.rows {
                texts::seen(&mut row.path, texts::text);
                texts::seen(&mut row.place, texts::frame);
            }
        }
    }

    fn size(&self) -> usize {
        rows_size(&self.processes)
    }

    fn shrink(&mut self, room: Room) -> Option<Together> {
        leave_out(&mut self.processes, room, |process| self.other_faults += process.faults)
    }
}
