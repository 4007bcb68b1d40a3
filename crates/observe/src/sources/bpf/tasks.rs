//! Tasks of programs that schedule them themselves: uprobes on functions of Go's runtime, in
//! processes that serve requests (`tasks.h`), from the first request on.
//!
//! Each is on an instruction at which the program stops for a moment, some three times for each
//! wait of a goroutine. Where that takes more than the bound of overhead they are taken off again,
//! and threads are followed as in any program. None is on a return: that would stand on the stack
//! of a goroutine, which the runtime moves.

use super::cost;
use super::goroutines::Goroutines;
use super::limit::Limit;
use super::uprobe::{self, Place};
use crate::settings::Watching;
use aya::Ebpf;
use code::Image;
use model::coverage::Source;
use model::requests::Unit;
use model::task::{TaskDid, TaskWait};
use model::{Event, Ns, Pid};
use rustc_hash::{FxHashMap, FxHashSet};
use std::os::fd::OwnedFd;
use std::path::Path;
use sys::untrusted_file;

/// The programs of the kernel half: for where a task runs, waits, is ready, and ends.
const PROGRAMS: [&str; 4] = ["task_runs", "task_waits", "task_ready", "task_ends"];

/// What a stop takes: 1.3 us in the program, the rest in the reader (Go's `net/http`, 18,000
/// requests a second, some six stops each, 2026-11-30, an Intel Xeon).
const EACH_NS: f64 = 2_000.0;
/// The share of a CPU that is always taken, as for requests (`left_out.rs`).
const ALWAYS: f64 = 0.04;
/// How many looks in a row find too many.
const LOOKS: u32 = 3;

/// Processes that are looked at: of more it is not known whether they have tasks.
const PROCESSES_MAX: usize = 4096;

/// All of them.
#[derive(Debug)]
pub(super) struct Tasks {
    are_wanted: bool,
    looked_at: FxHashSet<Pid>,
    events: Vec<OwnedFd>,
    limit: Limit,
    /// Why the tasks of some process are not followed.
    why: Option<String>,
}

impl Tasks {
    pub(super) fn new(watching: &Watching) -> Self {
        Self {
            are_wanted: watching.units.unit == Unit::Request,
            looked_at: FxHashSet::default(),
            events: Vec::new(),
            limit: Limit::new(watching.max_overhead.share(), ALWAYS, LOOKS),
            why: None,
        }
    }

    /// These processes serve requests. Adds what their runtimes call their reasons.
    pub(super) fn serve(
        &mut self,
        ebpf: &mut Ebpf,
        pids: impl Iterator<Item = Pid>,
        reasons: &mut FxHashMap<Pid, Vec<TaskWait>>,
    ) {
        for pid in pids {
            if !self.are_wanted || self.looked_at.len() >= PROCESSES_MAX || !self.looked_at.insert(pid) {
                continue;
            }
            match self.follow(ebpf, pid) {
                Ok(Some(of)) => drop(reasons.insert(pid, of)),
                Ok(None) => {}
                Err(why) => self.why = Some(format!("goroutines of process {pid}: {why}")),
            }
        }
    }

    /// None: it has no such tasks.
    fn follow(&mut self, ebpf: &mut Ebpf, pid: Pid) -> Result<Option<Vec<TaskWait>>, String> {
        let Ok(file) = untrusted_file::open(Path::new(&format!("/proc/{pid}/exe"))) else { return Ok(None) };
        let Ok(image) = file.try_clone().map_err(drop).and_then(|file| Image::open(file).map_err(drop))
        else {
            return Ok(None);
        };
        let Some(found) = Goroutines::of(pid, &image) else { return Ok(None) };
        let Goroutines { places, reasons } = found?;
        let mut attach = |name: &str, offset| {
            uprobe::attach(ebpf, &file, name, Place { offset, semaphore: None, process: Some(pid) })
        };
        // All of them or none: those that are there go with an error.
        let events: Result<Vec<OwnedFd>, String> =
            PROGRAMS.into_iter().zip(places).map(|(name, place)| attach(name, place)).collect();
        self.events.extend(events?);
        Ok(Some(reasons))
    }

    /// Looks what they take, and takes them off where that is too much: then tells so. `busy_ns`:
    /// the CPU time of the tree.
    pub(super) fn keep(&mut self, ebpf: &mut Ebpf, now: Ns, busy_ns: impl FnOnce() -> Ns) -> Option<Event> {
        if self.events.is_empty() || !self.limit.is_due(now) {
            return None;
        }
        let count: u64 = cost::of_cpus(ebpf)?.iter().map(|cpu| cpu.tasks).sum();
        if !self.limit.is_exceeded(now, busy_ns(), count as f64 * EACH_NS) {
            return None;
        }
        self.are_wanted = false;
        self.why = Some("following goroutines took more than the bound (--max-overhead)".to_owned());
        uprobe::close(std::mem::take(&mut self.events));
        Some(Event::Task { at: now, tid: 0, task: 0, did: TaskDid::Unfollowed })
    }

    /// What is not seen of them, if anything.
    pub(super) fn shortfall(&self) -> Option<Source> {
        let why = self.why.clone()?;
        let remedy = "its requests are followed from thread to thread, as those of any program";
        Some(Source::partial("tasks", why, remedy))
    }
}
