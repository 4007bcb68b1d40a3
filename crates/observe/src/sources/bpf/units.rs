//! Pieces of work that were asked for by name: attaching to where they begin and end (`units.h`),
//! for as long as that takes no more than the bound of overhead.

use super::limit::Limit;
use super::refusal::BpfRefusal;
use super::uprobe::{self, Place};
use super::{cost, wire};
use crate::settings::Watching;
use crate::unit_probes::{At, UnitPlace, UnitProbes};
use aya::Ebpf;
use model::Ns;
use model::recording::UnitsFollowed;
use std::fs::File;
use std::os::fd::OwnedFd;
use sys::clock::monotonic_ns;

/// What it takes to come past a place, where it cannot be measured: one trap or two. Under some
/// hypervisors each of them leaves the virtual machine.
const EACH_NS: Ns = 5_000;
/// What of it is not measured: a record.
const RECORD_NS: Ns = 300;
/// Times that it is measured.
const MEASURED_TIMES: u64 = 50;
/// The part of a CPU that it always may take, in the tree and in other processes.
const ALWAYS: f64 = 0.02;
/// How often threads came past a place.
#[derive(Debug, Clone, Copy, Default)]
struct CamePast {
    tree: u64,
    others: u64,
}

/// The places at which is listened.
#[derive(Debug, Default)]
pub(super) struct UnitEvents {
    events: Vec<OwnedFd>,
    /// What it takes to come past one of them.
    each_ns: Ns,
    /// How much it may take in the tree, and in other processes.
    limit: Limit,
    limit_of_others: Limit,
    /// How often threads came past before there was anything to follow.
    before: CamePast,
    /// When it was too much.
    ended: Option<Ns>,
}

impl UnitEvents {
    /// Attaches where pieces of work were asked for.
    ///
    /// # Errors
    /// The kernel refuses one of the places.
    pub(super) fn start(ebpf: &mut Ebpf, watching: &Watching) -> Result<Self, BpfRefusal> {
        let Some(probes) = &watching.unit_probes else { return Ok(Self::default()) };
        let mut events = attach(ebpf, probes).map_err(BpfRefusal::Units)?;
        let each_ns = trap_ns(ebpf, &mut events).unwrap_or(EACH_NS) + RECORD_NS;
        let before = came_past(ebpf).unwrap_or_default();
        let bound = watching.max_overhead.share();
        let limit = Limit::new(bound, ALWAYS, 1);
        // Their CPU time is not known.
        let limit_of_others = Limit::new(bound.map(|_| 0.0), ALWAYS, 1);
        Ok(Self { events, each_ns, limit, limit_of_others, before, ended: None })
    }

    /// Listens no more where that takes too much, given how long the tree ran.
    pub(super) fn keep(&mut self, ebpf: &Ebpf, now: Ns, busy_ns: impl FnOnce() -> Ns) {
        if self.events.is_empty() || !self.limit.is_due(now) {
            return;
        }
        let Some(came) = came_past(ebpf) else { return };
        let took = |times: u64| (times * self.each_ns) as f64;
        let busy_ns = busy_ns();
        let of_others = self.limit_of_others.is_exceeded(now, busy_ns, took(came.others));
        if self.limit.is_exceeded(now, busy_ns, took(came.tree)) || of_others {
            self.ended = Some(now);
            let mut events = std::mem::take(&mut self.events);
            // None begins that will not be seen to end.
            events.reverse();
            uprobe::close(events);
        }
    }

    /// What it took, where something was followed.
    pub(super) fn followed(&self, ebpf: &Ebpf) -> Option<UnitsFollowed> {
        let came = came_past(ebpf).filter(|_| self.each_ns > 0)?;
        let (times, others) = (came.tree - self.before.tree, came.others - self.before.others);
        Some(UnitsFollowed { until: self.ended, each_ns: self.each_ns, times, others })
    }
}

fn came_past(ebpf: &Ebpf) -> Option<CamePast> {
    let cpus = cost::of_cpus(ebpf)?;
    let sum = |of: fn(&wire::Cpu) -> u64| cpus.iter().map(of).sum();
    Some(CamePast { tree: sum(|cpu| cpu.came_past), others: sum(|cpu| cpu.others_came_past) })
}

fn attach(ebpf: &mut Ebpf, probes: &UnitProbes) -> Result<Vec<OwnedFd>, String> {
    let at = |place: &UnitPlace| {
        let UnitPlace { at, offset, semaphore } = *place;
        uprobe::attach(ebpf, &probes.file, program(at), Place { offset, semaphore, process: None })
    };
    probes.places.iter().map(at).collect()
}

/// What a thread that is not of the tree needs to come past a place: tried with a function of
/// dwell's own. It stays attached with the others, since the kernel is slow to detach.
fn trap_ns(ebpf: &mut Ebpf, events: &mut Vec<OwnedFd>) -> Option<Ns> {
    let address = (passed as fn(u64) -> u64) as usize as u64;
    let mappings = code::executable_mappings(std::process::id()).ok()?;
    let own = mappings.iter().find(|own| (own.start..own.end).contains(&address))?;
    let offset = own.file_offset + (address - own.start);
    let exe = File::open("/proc/self/exe").ok()?;
    events.push(uprobe::attach(ebpf, &exe, program(At::CallEnds), Place::everywhere(offset)).ok()?);
    let once = |n| {
        let began = monotonic_ns();
        passed(n);
        monotonic_ns() - began
    };
    let mut took: Vec<Ns> = (0..MEASURED_TIMES).map(once).collect();
    // The thread may have been preempted in some.
    took.sort_unstable();
    Some(took[took.len() / 2])
}

#[inline(never)]
fn passed(n: u64) -> u64 {
    std::hint::black_box(n)
}

fn program(at: At) -> &'static str {
    match at {
        At::CallBegins => "call_begins",
        At::LoopBegins => "loop_begins",
        At::CallEnds => "call_ends",
        At::OperationBegins => "operation_begins",
        At::OperationEnds => "operation_ends",
        At::OperationTurns => "operation_turns",
    }
}
