//! Spikes: what the kernel did around the wake-ups with the largest latencies.
//!
//! `wake.bpf.c` is the kernel half: it keeps the most recent events of each measured CPU in a ring
//! (`wire.rs`). This file loads and attaches it, and copies the part of a ring around a late
//! wake-up (`ring.rs`, `decode.rs`), during the measurement. Steal is read separately (`steal.rs`).
//! `analyse` concludes why a wake-up was late.

mod decode;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod ring;
mod stack;
mod steal;
mod wire;

use crate::access::{self, AccessDenial};
use crate::sources::bpf::btf::STRUCTS_OF_SPIKES;
use crate::sources::bpf::types::Types;
use crate::sources::bpf::{self, BpfRefusal, names};
use crate::sources::wall_of;
use aya::Ebpf;
use aya::programs::BtfTracePoint;
use decode::{Holes, Measuring};
use model::wake::spike::{KernelAction, KernelEvent, SpikeSeen};
use model::{Ns, Seen, Tid};
use ring::{RingPart, Rings};
use std::fs;
use steal::Steal;
use sys::clock::monotonic_ns;
use sys::shared::SharedWords;
use wire::RingRecord;

/// The kernel half, for this architecture.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/wake.bpf.o"));

/// Without these it is not known which task had the CPU.
const NEEDED: &[&str] = &["sched_switch", "sched_waking"];

/// What else is recorded, with its tracepoints, where the kernel has them.
const WANTED: &[(&str, &[&str])] = &[
    ("when timers are due", &["hrtimer_start"]),
    ("device interrupts", &["irq_handler_entry", "irq_handler_exit"]),
    ("softirqs", &["softirq_entry", "softirq_exit"]),
    ("idle states", &["cpu_idle"]),
    ("migrations", &["sched_migrate_task"]),
    ("NMIs", &["nmi_handler"]),
];

/// The same on x86 only.
const WANTED_X86: &[(&str, &[&str])] = &[
    ("local timer interrupts", &["local_timer_entry", "local_timer_exit"]),
    ("reschedule interrupts", &["reschedule_entry", "reschedule_exit"]),
    ("function calls by other CPUs", &["call_function_entry", "call_function_exit"]),
    ("function calls by another CPU", &["call_function_single_entry", "call_function_single_exit"]),
    ("work in interrupts", &["irq_work_entry", "irq_work_exit"]),
];

/// The number of wake-ups that are kept: those with the largest latencies.
const KEPT: usize = 16;
/// The time before a due wake-up for which events are kept, at least: the culprit may have started
/// earlier.
const BEFORE_NS: Ns = 1_000_000;
/// The limit of records of one wake-up; of more, the first and the last are kept.
const RECORDS_MAX: usize = 16 * 1024;
/// A stack takes the kernel a microsecond or two, which only late wake-ups should cost; so none is
/// taken below this latency unless a smaller bound was requested.
const STACK_FROM_NS: Ns = 50_000;

/// The attached instruments. Dropping it detaches all of them; so does the end of the process.
pub struct Spikes {
    ebpf: Ebpf,
    rings: Rings<SharedWords>,
    cpus: Vec<u32>,
    measuring: Vec<Measuring>,
    begun_ns: Ns,
    steal: Steal,
    kept: Vec<KeptSpike>,
    /// The latency from which stacks are taken, as requested.
    given_ns: Option<Ns>,
    limits: Vec<String>,
}

/// A late wake-up, to be decoded after the measurement.
struct KeptSpike {
    cpu: u32,
    measuring: Measuring,
    expected_ns: Ns,
    awake_ns: Ns,
    records: Vec<RingRecord>,
    holes: Holes,
    frames: Option<Vec<u64>>,
    stolen: Option<(Ns, Ns)>,
    lost: Option<String>,
}

impl KeptSpike {
    fn late_ns(&self) -> Ns {
        self.awake_ns.saturating_sub(self.expected_ns)
    }
}

/// Each group of [`WANTED`] that this architecture can have.
fn wanted() -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    WANTED.iter().chain(if cfg!(target_arch = "x86_64") { WANTED_X86 } else { &[] })
}

fn types() -> Result<Types, BpfRefusal> {
    let tracepoints = wanted().flat_map(|(_, names)| *names).chain(NEEDED).copied();
    Types::read(bpf::made_for(OBJECT)?, tracepoints, STRUCTS_OF_SPIKES)
}

/// The object with its maps, none of its programs loaded: rings for `measured` of `all` CPUs.
fn object(types: &Types, measured: usize, all: u32, per_ring: u32) -> Result<Ebpf, BpfRefusal> {
    let ebpf = bpf::loader()
        .btf(Some(types.layouts()))
        .verifier_log_level(bpf::WHY)
        .override_global("own_pid_ns", &access::pid_namespace(), true)
        .override_global("ring_mask", &(per_ring - 1), true)
        .map_max_entries("cpus", all)
        .map_max_entries("records", measured as u32 * per_ring)
        .map_max_entries("stacks", ring::stacks(measured))
        .load(OBJECT)
        .map_err(Box::new)?;
    Ok(ebpf)
}

/// Opens the object without loading or attaching any of its programs.
pub(crate) fn opened<T>(then: impl FnOnce(&mut Ebpf, &Types) -> T) -> Result<T, BpfRefusal> {
    let types = types()?;
    let mut ebpf = object(&types, 1, 1, ring::records_per_ring(1))?;
    Ok(then(&mut ebpf, &types))
}

impl Spikes {
    /// Attaches everything on these CPUs. A stack is taken of wake-ups with a latency of
    /// `late_from_ns` or more; without it, of the spikes that would be kept.
    ///
    /// # Errors
    /// Why spikes cannot be traced, with a remedy.
    pub fn open(cpus: &[u32], late_from_ns: Option<Ns>) -> Result<Self, AccessDenial> {
        access::bpf()
            .map_err(|denied| AccessDenial { remedy: access::more_to_wake(denied.remedy), ..denied })?;
        Self::load(cpus, late_from_ns).map_err(|refused| wall_of(&refused))
    }

    fn load(cpus: &[u32], late_from_ns: Option<Ns>) -> Result<Self, BpfRefusal> {
        let types = types()?;
        let all = host::cpus(host::here()).iter().max().map_or(1, |last| last + 1);
        let per_ring = ring::records_per_ring(cpus.len());
        let mut ebpf = object(&types, cpus.len(), all, per_ring)?;
        let (of_cpus, of_records, of_stacks) = ring::words(all, cpus.len(), per_ring);
        let rings = Rings {
            cpus: bpf::map(&ebpf, "cpus", of_cpus)?,
            records: bpf::map(&ebpf, "records", of_records)?,
            stacks: bpf::map(&ebpf, "stacks", of_stacks)?,
            per_ring,
        };
        for (ring, cpu) in cpus.iter().enumerate() {
            rings.late_from(*cpu, late_from_ns.unwrap_or(STACK_FROM_NS));
            rings.write_to(ring, *cpu);
        }
        bpf::attach(&mut ebpf, NEEDED, &types).into_iter().collect::<Result<Vec<_>, _>>()?;
        let limits = wanted().filter_map(|(what, names)| limit(&mut ebpf, &types, what, names)).collect();
        let mut steal = Steal::open(all);
        steal.look(monotonic_ns());
        Ok(Self {
            ebpf,
            rings,
            cpus: cpus.to_vec(),
            measuring: Vec::new(),
            begun_ns: 0,
            steal,
            kept: Vec::new(),
            given_ns: late_from_ns,
            limits,
        })
    }

    /// What this kernel does not report: sentences without a full stop.
    pub fn limits(&self) -> &[String] {
        &self.limits
    }

    /// Starts the measurement: the measuring thread of each CPU. CPUs not passed to
    /// [`Spikes::open`] are left out.
    pub fn begin(&mut self, begun_ns: Ns, threads: &[(u32, Tid)]) {
        let numbered = access::pid_namespace() == 0;
        self.begun_ns = begun_ns;
        self.measuring =
            self.cpus.iter().map(|_| Measuring { tid: 0, pid: 0, name: String::new() }).collect();
        for (cpu, tid) in threads {
            let Some(ring) = self.ring(*cpu) else { continue };
            let name = comm(&format!("/proc/{tid}/comm")).unwrap_or_default();
            self.measuring[ring] = Measuring { tid: *tid, pid: *tid, name };
            self.rings.watch(ring, *cpu, *tid, numbered);
        }
    }

    /// Call it every 10 to 20 ms.
    pub fn look(&mut self) {
        self.steal.look(monotonic_ns());
    }

    /// This CPU's measuring thread woke up late: keeps what the kernel did, if it is among the
    /// worst. A ring holds some 50 ms of a busy CPU, so call it soon.
    pub fn late(&mut self, cpu: u32, expected_ns: Ns, awake_ns: Ns) {
        let Some((ring, measuring)) = self.ring(cpu).and_then(|ring| Some((ring, self.measuring.get(ring)?)))
        else {
            return;
        };
        let late_ns = awake_ns.saturating_sub(expected_ns);
        if self.kept.len() == KEPT && self.kept.iter().all(|kept| kept.late_ns() >= late_ns) {
            return;
        }
        let mut measuring = measuring.clone();
        measuring.pid = self.rings.pid(cpu);
        let part = self.rings.part(ring, cpu, expected_ns.saturating_sub(BEFORE_NS), awake_ns);
        let stacks = self.rings.stacks(ring, cpu, expected_ns, awake_ns);
        let now = monotonic_ns();
        let stolen = self.steal.since(cpu, expected_ns);
        let lost = lost(&part, stolen.as_ref().err());
        let (stolen, cut) = (stolen.ok().filter(|ns| *ns > 0).map(|ns| (now, ns)), part.cut);
        let frames = stack::of_longest(stacks, expected_ns).map(|stack| stack.frames);
        let (records, hole) = bounded(part.records);
        let holes = Holes { cut, before: hole };
        self.kept.push(KeptSpike {
            cpu,
            measuring,
            expected_ns,
            awake_ns,
            records,
            holes,
            frames,
            stolen,
            lost,
        });
        self.keep_latest();
    }

    fn keep_latest(&mut self) {
        self.kept.sort_by_key(|kept| std::cmp::Reverse(kept.late_ns()));
        self.kept.truncate(KEPT);
        if let (None, KEPT) = (self.given_ns, self.kept.len()) {
            let least_ns = self.kept.last().map_or(0, KeptSpike::late_ns).max(STACK_FROM_NS);
            self.cpus.iter().for_each(|cpu| self.rings.late_from(*cpu, least_ns));
        }
    }

    fn ring(&self, cpu: u32) -> Option<usize> {
        self.cpus.iter().position(|of| *of == cpu)
    }

    /// The wake-ups with the largest latencies, largest first. All times are from the start of the
    /// measurement.
    pub fn finish(mut self) -> Vec<SpikeSeen> {
        let addresses: Vec<u64> =
            self.kept.iter().filter_map(|kept| kept.frames.as_ref()).flatten().copied().collect();
        let names = names::ask(&mut self.ebpf, &addresses);
        let mut names = names.map(Vec::into_iter);
        let begun_ns = self.begun_ns;
        let seen = |kept: KeptSpike| {
            let stack = match (&kept.frames, &mut names) {
                (None, _) => Seen::Absent,
                (Some(_), None) => Seen::unseen("the names of kernel functions could not be read"),
                (Some(frames), Some(names)) => stack::named(frames, names.by_ref().take(frames.len())),
            };
            let mut events = decode::events(&kept.records, kept.holes, &kept.measuring, begun_ns, name_of);
            events.extend(kept.stolen.map(|(at, ns)| KernelEvent {
                at_ns: at.saturating_sub(begun_ns),
                happened: KernelAction::Stolen(ns),
            }));
            SpikeSeen {
                cpu: kept.cpu,
                tid: kept.measuring.tid,
                expected_ns: kept.expected_ns.saturating_sub(begun_ns),
                awake_ns: kept.awake_ns.saturating_sub(begun_ns),
                events,
                stack,
                lost: kept.lost,
            }
        };
        self.kept.into_iter().map(seen).collect()
    }
}

/// Attaches all programs of a subject, or none: an entry without an exit would be worse. Returns
/// what is missing.
fn limit(ebpf: &mut Ebpf, types: &Types, what: &str, names: &[&'static str]) -> Option<String> {
    let (links, refused): (Vec<_>, Vec<_>) =
        bpf::attach(ebpf, names, types).into_iter().partition(Result::is_ok);
    let why = refused.into_iter().find_map(Result::err)?;
    for (name, link) in links.into_iter().flatten() {
        let program: Option<&mut BtfTracePoint> =
            ebpf.program_mut(name).and_then(|program| program.try_into().ok());
        // One that stays records only entries, which end with the next switch at the latest.
        let _ = program.map(|program| program.detach(link));
    }
    Some(format!("this kernel does not report {what}: {why}"))
}

/// Limits the records; returns the index before which others were left out.
fn bounded(mut records: Vec<RingRecord>) -> (Vec<RingRecord>, Option<usize>) {
    if records.len() <= RECORDS_MAX {
        return (records, None);
    }
    records.drain(RECORDS_MAX / 2..records.len() - RECORDS_MAX / 2);
    (records, Some(RECORDS_MAX / 2))
}

/// Why events are missing, where they are; unknown steal is one of them.
fn lost(part: &RingPart, no_steal: Option<&String>) -> Option<String> {
    let mut whys = Vec::new();
    if part.cut {
        whys.push("the ring was overwritten: the first events are lost".to_owned());
    }
    if part.records.len() > RECORDS_MAX {
        whys.push(format!("{} events in the middle were dropped", part.records.len() - RECORDS_MAX));
    }
    if part.torn > 0 {
        whys.push(format!("{} events were overwritten while being read", part.torn));
    }
    whys.extend(no_steal.map(|why| format!("steal is not known: {why}")));
    (!whys.is_empty()).then(|| whys.join("; "))
}

/// The name of a thread that no event names: by its TID in the initial PID namespace, so only where
/// dwell is in it.
fn name_of(pid: Tid) -> Option<String> {
    if pid == 0 {
        return Some("idle".to_owned());
    }
    (access::pid_namespace() == 0).then(|| comm(&format!("/proc/{pid}/comm"))).flatten()
}

fn comm(path: &str) -> Option<String> {
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).trim_end_matches('\n').to_owned())
}

#[cfg(test)]
mod tests;
