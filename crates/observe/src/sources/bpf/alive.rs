//! Threads that exist already: found by the kernel half among all tasks (`alive.h`), repeatedly
//! until there are no new ones.

use super::refusal::BpfRefusal;
use super::wire::Found;
use aya::maps::HashMap;
use aya::programs::{Iter, RawTracePoint};
use aya::{Btf, Ebpf};
use model::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use sys::bpf::run_once_on;
use zerocopy::FromBytes;

/// The kernel function that a program of a task iterator is attached to.
pub(super) const ITERATOR: &str = "bpf_iter_task";

/// An iteration finds all but threads that are created or block during it, so two are nearly always
/// enough.
const LOOKS_MAX: usize = 20;

/// The program to run on each CPU.
pub(super) struct LookHere {
    program: OwnedFd,
    cpus: Vec<u32>,
}

impl LookHere {
    /// Has every CPU report what its running thread did up to now.
    pub(super) fn everywhere(&self) {
        for cpu in &self.cpus {
            // An offline CPU runs no thread.
            let _ = run_once_on(self.program.as_fd(), *cpu);
        }
    }
}

/// Gives every thread of these processes an entry in the thread table. `listed` returns the current
/// processes of the target. Returns all that it ever listed, and the threads as they were found
/// last.
pub(super) fn find(
    ebpf: &mut Ebpf,
    btf: &Btf,
    cpus: &[u32],
    listed: &mut dyn FnMut() -> Vec<Pid>,
) -> Result<(LookHere, BTreeSet<Pid>, Vec<Found>), BpfRefusal> {
    let refused = |doing: &'static str, program: &str| {
        let program = program.to_owned();
        move |error| BpfRefusal::Program { doing, program, error: Box::new(error) }
    };
    let name = "look_here";
    let program: &mut RawTracePoint =
        ebpf.program_mut(name).ok_or(BpfRefusal::Missing(name))?.try_into().map_err(refused("find", name))?;
    program.load().map_err(refused("load", name))?;
    let program = program.fd().and_then(|fd| Ok(fd.try_clone()?)).map_err(refused("load", name))?;
    let look_here = LookHere { program: program.as_fd().try_clone_to_owned()?, cpus: cpus.to_vec() };

    let name = "find_alive";
    let finder: &mut Iter =
        ebpf.program_mut(name).ok_or(BpfRefusal::Missing(name))?.try_into().map_err(refused("find", name))?;
    finder.load("task", btf).map_err(refused("load", name))?;

    let (mut known, mut threads) = (BTreeSet::new(), BTreeMap::new());
    for _ in 0..LOOKS_MAX {
        let new: Vec<Pid> = listed().into_iter().filter(|pid| known.insert(*pid)).collect();
        let map = ebpf.map_mut("wanted").ok_or(BpfRefusal::Missing("wanted"))?;
        let mut wanted = HashMap::<_, u32, u32>::try_from(map).map_err(|error| Box::new(error.into()))?;
        for pid in &new {
            wanted.insert(pid, 1, 0).map_err(|error| Box::new(error.into()))?;
        }
        let found = look(ebpf)?;
        // The CPU of a running thread treated it as one outside the tree.
        look_here.everywhere();
        if found.is_empty() && new.is_empty() {
            break;
        }
        threads.extend(found.into_iter().map(|row| (row.tid, row)));
    }
    Ok((look_here, known, threads.into_values().collect()))
}

/// Iterates over all tasks once; returns those that had no entry, or a wrong one.
fn look(ebpf: &mut Ebpf) -> Result<Vec<Found>, BpfRefusal> {
    let name = "find_alive";
    let refused =
        |error| BpfRefusal::Program { doing: "attach", program: name.to_owned(), error: Box::new(error) };
    let finder: &mut Iter =
        ebpf.program_mut(name).ok_or(BpfRefusal::Missing(name))?.try_into().map_err(refused)?;
    let link = finder.attach().map_err(refused)?;
    let link = finder.take_link(link).map_err(refused)?;
    let mut file = link.into_file().map_err(io::Error::other)?;
    let mut printed = Vec::new();
    file.read_to_end(&mut printed)?;
    Ok(printed.chunks_exact(size_of::<Found>()).filter_map(|row| Found::read_from_bytes(row).ok()).collect())
}
