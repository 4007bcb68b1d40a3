//! What the kernel did around the wake-ups of measuring threads that were late the most.
//!
//! `wake.bpf.c` is the kernel half: it keeps the last of what happened on each measured CPU in a
//! ring (`wire.rs`). This file loads and attaches it, and copies the part of a ring around a
//! wake-up that turned out late (`ring.rs`, `decode.rs`), while the measurement goes on. What the
//! hypervisor took is read beside it (`steal.rs`). Why a wake-up was late is concluded from it by
//! `analyse`.

mod decode;
mod ring;
mod stack;
mod steal;
mod wire;

use crate::access::{self, Wall};
use crate::sources::bpf::{self, Refused, names, types};
use crate::sources::wall_of;
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, VerifierLogLevel};
use decode::{Holes, Measuring};
use model::wake::spike::{Happened, KernelEvent, SpikeSeen};
use model::{Ns, Seen, Tid};
use ring::{Part, Rings};
use std::fs;
use steal::Steal;
use sys::clock::monotonic_ns;
use sys::shared::Words;
use wire::Record;

/// The kernel half, for this architecture.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/wake.bpf.o"));

/// Without these nothing is known of what had the CPU.
const NEEDED: &[&str] = &["sched_switch", "sched_waking"];

/// What else is recorded where the kernel has it, with its tracepoints.
const WANTED: &[(&str, &[&str])] = &[
    ("when timers are due", &["hrtimer_start"]),
    ("interrupts of devices", &["irq_handler_entry", "irq_handler_exit"]),
    ("soft interrupts", &["softirq_entry", "softirq_exit"]),
    ("idle states", &["cpu_idle"]),
    ("migrations", &["sched_migrate_task"]),
    ("NMIs", &["nmi_handler"]),
];

/// The same, which only x86 has.
const WANTED_X86: &[(&str, &[&str])] = &[
    ("the processor's own timer", &["local_timer_entry", "local_timer_exit"]),
    ("reschedule interrupts", &["reschedule_entry", "reschedule_exit"]),
    ("function calls by other processors", &["call_function_entry", "call_function_exit"]),
    ("function calls by another processor", &["call_function_single_entry", "call_function_single_exit"]),
    ("work in interrupts", &["irq_work_entry", "irq_work_exit"]),
];

/// What the kernel half reads of the kernel's structures, besides what `dwell.bpf.c` reads.
const STRUCTS: &[&str] = &["hrtimer", "irqaction", "timerqueue_node"];

/// Wake-ups that are kept: those with the maximum latency.
const KEPT: usize = 16;
/// How long before a wake-up should have been its events begin, at least: what runs then may have
/// begun before.
const BEFORE_NS: Ns = 1_000_000;
/// Records of one wake-up; of more, the first and the last are kept.
const RECORDS_MAX: usize = 16 * 1024;
/// A stack takes the kernel a microsecond or two, which nobody should pay who is not late; so none
/// is taken below this unless a smaller bound was asked for.
const STACK_FROM_NS: Ns = 50_000;

/// The attached instruments. Dropping it detaches all of them; so does the end of the process.
pub struct Spikes {
    ebpf: Ebpf,
    rings: Rings<Words>,
    cpus: Vec<u32>,
    measuring: Vec<Measuring>,
    begun_ns: Ns,
    steal: Steal,
    kept: Vec<Kept>,
    /// Stacks are taken from here on, by the caller's wish.
    given_ns: Option<Ns>,
    limits: Vec<String>,
}

/// A late wake-up, with what is worked off when all is over.
struct Kept {
    cpu: u32,
    measuring: Measuring,
    expected_ns: Ns,
    awake_ns: Ns,
    records: Vec<Record>,
    holes: Holes,
    frames: Option<Vec<u64>>,
    stolen: Option<(Ns, Ns)>,
    lost: Option<String>,
}

impl Kept {
    fn late_ns(&self) -> Ns {
        self.awake_ns.saturating_sub(self.expected_ns)
    }
}

impl Spikes {
    /// Attaches everything on these CPUs. A stack is taken of wake-ups that are `late_from_ns` late
    /// or later; without it, of those that would be kept.
    ///
    /// # Errors
    /// Why nothing can be seen here, with what would change it.
    pub fn open(cpus: &[u32], late_from_ns: Option<Ns>) -> Result<Self, Wall> {
        access::bpf()?;
        Self::load(cpus, late_from_ns).map_err(|refused| wall_of(&refused))
    }

    fn load(cpus: &[u32], late_from_ns: Option<Ns>) -> Result<Self, Refused> {
        let wanted = || WANTED.iter().chain(if cfg!(target_arch = "x86_64") { WANTED_X86 } else { &[] });
        let tracepoints = wanted().flat_map(|(_, names)| *names).chain(NEEDED).copied();
        let btf = types::read(tracepoints, STRUCTS)?;
        let all = host::cpus(host::here()).iter().max().map_or(1, |last| last + 1);
        let per_ring = ring::records_per_ring(cpus.len());
        let mut ebpf = bpf::loader()
            .btf(Some(&btf))
            .verifier_log_level(VerifierLogLevel::DISABLE)
            .override_global("own_pid_ns", &access::pid_namespace(), true)
            .override_global("ring_mask", &(per_ring - 1), true)
            .map_max_entries("cpus", all)
            .map_max_entries("records", cpus.len() as u32 * per_ring)
            .map_max_entries("stacks", ring::stacks(cpus.len()))
            .load(OBJECT)
            .map_err(Box::new)?;
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
        bpf::attach(&mut ebpf, NEEDED, &btf).into_iter().collect::<Result<Vec<_>, _>>()?;
        let limits = wanted().filter_map(|(what, names)| limit(&mut ebpf, &btf, what, names)).collect();
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

    /// What this kernel does not tell: sentences without a full stop.
    pub fn limits(&self) -> &[String] {
        &self.limits
    }

    /// The measurement begins: by CPU, its measuring thread. A CPU that [`Spikes::open`] was not
    /// given is left out.
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

    /// To be called every 10 to 20 ms.
    pub fn look(&mut self) {
        self.steal.look(monotonic_ns());
    }

    /// This CPU's measuring thread woke up late: keeps what the kernel did, if it is among the
    /// worst. A ring holds some 50 ms of a busy CPU, so this is to be called soon.
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
        self.kept.push(Kept { cpu, measuring, expected_ns, awake_ns, records, holes, frames, stolen, lost });
        self.keep_latest();
    }

    fn keep_latest(&mut self) {
        self.kept.sort_by_key(|kept| std::cmp::Reverse(kept.late_ns()));
        self.kept.truncate(KEPT);
        if let (None, KEPT) = (self.given_ns, self.kept.len()) {
            let least_ns = self.kept.last().map_or(0, Kept::late_ns).max(STACK_FROM_NS);
            self.cpus.iter().for_each(|cpu| self.rings.late_from(*cpu, least_ns));
        }
    }

    fn ring(&self, cpu: u32) -> Option<usize> {
        self.cpus.iter().position(|of| *of == cpu)
    }

    /// The wake-ups with the maximum latency, worst first. All times are from the begin of the
    /// measurement.
    pub fn finish(mut self) -> Vec<SpikeSeen> {
        let addresses: Vec<u64> =
            self.kept.iter().filter_map(|kept| kept.frames.as_ref()).flatten().copied().collect();
        let names = names::ask(&mut self.ebpf, &addresses);
        let mut names = names.map(Vec::into_iter);
        let begun_ns = self.begun_ns;
        let seen = |kept: Kept| {
            let stack = match (&kept.frames, &mut names) {
                (None, _) => Seen::Absent,
                (Some(_), None) => {
                    Seen::unseen("the kernel could not be asked for the names of its functions")
                }
                (Some(frames), Some(names)) => stack::named(frames, names.by_ref().take(frames.len())),
            };
            let mut events = decode::events(&kept.records, kept.holes, &kept.measuring, begun_ns, name_of);
            events.extend(kept.stolen.map(|(at, ns)| KernelEvent {
                at_ns: at.saturating_sub(begun_ns),
                happened: Happened::Stolen(ns),
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

/// Attaches all of what tells of something, or nothing: a begin without an end would be worse. Says
/// what cannot be had.
fn limit(ebpf: &mut Ebpf, btf: &Btf, what: &str, names: &[&'static str]) -> Option<String> {
    let (links, refused): (Vec<_>, Vec<_>) =
        bpf::attach(ebpf, names, btf).into_iter().partition(Result::is_ok);
    let why = refused.into_iter().find_map(Result::err)?;
    for (name, link) in links.into_iter().flatten() {
        let program: Option<&mut BtfTracePoint> =
            ebpf.program_mut(name).and_then(|program| program.try_into().ok());
        // One that stays tells of begins alone, which end with the next switch at the latest.
        let _ = program.map(|program| program.detach(link));
    }
    Some(format!("this kernel does not tell of {what}: {why}"))
}

/// Not more than can be kept; and before which of them others were left out.
fn bounded(mut records: Vec<Record>) -> (Vec<Record>, Option<usize>) {
    if records.len() <= RECORDS_MAX {
        return (records, None);
    }
    records.drain(RECORDS_MAX / 2..records.len() - RECORDS_MAX / 2);
    (records, Some(RECORDS_MAX / 2))
}

/// Why events are missing, where they are; unknown steal is one of them.
fn lost(part: &Part, no_steal: Option<&String>) -> Option<String> {
    let mut whys = Vec::new();
    if part.cut {
        whys.push("so much happened that the ring had gone round: the first of it is lost".to_owned());
    }
    if part.records.len() > RECORDS_MAX {
        whys.push(format!("{} events in the middle were too many to keep", part.records.len() - RECORDS_MAX));
    }
    if part.torn > 0 {
        whys.push(format!("{} events were overwritten while they were read", part.torn));
    }
    whys.extend(no_steal.map(|why| format!("whether the hypervisor took time is not known: {why}")));
    (!whys.is_empty()).then(|| whys.join("; "))
}

/// What a thread is called that no event named: by the kernel's own number, so only where that is
/// this process's too.
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
