//! Pieces of work that were asked for by name: attaching to where they begin and end (`units.h`),
//! for as long as that takes no more than the bound of overhead.

use crate::settings::Watching;
use crate::unit_probes::{At, UnitPlace, UnitProbes};
use aya::Ebpf;
use aya::programs::{ProgramError, ProgramFd, UProbe};
use model::Ns;
use model::coverage::Source;
use std::ffi::CString;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread;
use sys::clock::monotonic_ns;
use sys::perf_event;

/// What it takes to come past a place, where it cannot be measured: one trap or two. Under some
/// hypervisors each of them leaves the virtual machine.
const EACH_NS: Ns = 5_000;
/// What of it is not measured: a record.
const RECORD_NS: Ns = 300;
/// Times that it is measured.
const MEASURED_TIMES: u32 = 50;
/// The part of a CPU that it always may take.
const ALWAYS: f64 = 0.02;
/// The time between two looks.
const LOOK_NS: Ns = 100_000_000;
/// The kernel's number for events of uprobes.
const KIND: &str = "/sys/bus/event_source/devices/uprobe/type";

/// The places at which is listened.
#[derive(Debug, Default)]
pub(super) struct UnitEvents {
    events: Vec<OwnedFd>,
    /// What it takes to come past one of them.
    each_ns: Ns,
    bound: Option<f64>,
    /// When it was looked last, the tree's CPU time then, and how often it had come past.
    last: Option<(Ns, Ns, u64)>,
    /// When it was too much.
    ended: Option<Ns>,
}

impl UnitEvents {
    /// Attaches where pieces of work were asked for; and what is not seen of them, if so.
    pub(super) fn start(ebpf: &mut Ebpf, watching: &Watching) -> (Self, Option<Source>) {
        let bound = watching.max_overhead.share();
        match watching.unit_probes.as_ref().map(|probes| attach(ebpf, probes)) {
            None => (Self::default(), None),
            Some(Ok(mut events)) => {
                let each_ns = trap_ns(ebpf, &mut events).unwrap_or(EACH_NS) + RECORD_NS;
                (Self { events, each_ns, bound, ..Self::default() }, None)
            }
            Some(Err(why)) => {
                let why = format!("{}s are not followed: {why}", watching.units.unit.name());
                (Self::default(), Some(Source::none("units", why, "")))
            }
        }
    }

    /// Listens no more where that takes too much, given how often the tree came past so far, and
    /// how long it ran.
    pub(super) fn keep(&mut self, now: Ns, times: u64, busy_ns: impl FnOnce() -> Ns) {
        let due = self.last.is_none_or(|(at, ..)| now >= at + LOOK_NS);
        if self.events.is_empty() || !due {
            return;
        }
        let busy_ns = busy_ns();
        if self.is_too_much(now, busy_ns, times) {
            self.ended = Some(now);
            let mut events = std::mem::take(&mut self.events);
            // None begins that will not be seen to end.
            events.reverse();
            // The kernel takes milliseconds for each, and records are to be read meanwhile.
            let closes = thread::Builder::new().name("dwell-close".to_owned());
            // Without a thread they are closed here.
            let _ = closes.spawn(move || drop(events));
        }
    }

    fn is_too_much(&mut self, now: Ns, busy_ns: Ns, times: u64) -> bool {
        let before = self.last.replace((now, busy_ns, times));
        let (Some(bound), Some((at, busy_before, times_before))) = (self.bound, before) else { return false };
        let busy_ns = busy_ns.saturating_sub(busy_before) as f64;
        let room_ns = (bound * busy_ns).max(ALWAYS * now.saturating_sub(at) as f64);
        (times.saturating_sub(times_before) * self.each_ns) as f64 > room_ns
    }

    /// What it takes to come past a place.
    pub(super) fn each_ns(&self) -> Ns {
        self.each_ns
    }

    /// When it was no longer listened, since it was too much.
    pub(super) fn until(&self) -> Option<Ns> {
        self.ended
    }
}

fn attach(ebpf: &mut Ebpf, probes: &UnitProbes) -> Result<Vec<OwnedFd>, String> {
    // At its path another file may stand by now.
    let path = format!("/proc/self/fd/{}", probes.file.as_raw_fd());
    probes.places.iter().map(|place| attach_at(ebpf, &path, place)).collect()
}

fn attach_at(ebpf: &mut Ebpf, path: &str, place: &UnitPlace) -> Result<OwnedFd, String> {
    let kind = fs::read_to_string(KIND).ok().and_then(|kind| kind.trim().parse().ok());
    let kind = kind.ok_or("this kernel has no uprobes (CONFIG_UPROBE_EVENTS)")?;
    let path = CString::new(path).map_err(|error| error.to_string())?;
    let program = loaded(ebpf, program(place.at))?;
    let semaphore = place.semaphore.map(u32::try_from).transpose();
    let semaphore = semaphore.map_err(|_| "its semaphore is too far into the file")?;
    perf_event::at_instruction(kind, &path, place.offset, semaphore)
        .and_then(|event| perf_event::run_at_overflow(event.as_fd(), program.as_fd()).map(|()| event))
        .map_err(|error| format!("a probe at {:#x} of the file: {error}", place.offset))
}

/// What a thread that is not of the tree needs to come past a place: tried with a function of
/// dwell's own. It stays attached with the others, since the kernel is slow to detach.
fn trap_ns(ebpf: &mut Ebpf, events: &mut Vec<OwnedFd>) -> Option<Ns> {
    let address = (passed as fn(u64) -> u64) as usize as u64;
    let mappings = code::executable_mappings(std::process::id()).ok()?;
    let own = mappings.iter().find(|own| (own.start..own.end).contains(&address))?;
    let offset = own.file_offset + (address - own.start);
    let place = UnitPlace { at: At::CallEnds, offset, semaphore: None };
    events.push(attach_at(ebpf, "/proc/self/exe", &place).ok()?);
    let began = monotonic_ns();
    let sum = (0..MEASURED_TIMES).fold(0, |sum, n| sum + passed(n.into()));
    let took = monotonic_ns() - began;
    (sum > 0).then(|| took / Ns::from(MEASURED_TIMES))
}

#[inline(never)]
fn passed(n: u64) -> u64 {
    std::hint::black_box(n)
}

fn loaded<'a>(ebpf: &'a mut Ebpf, name: &str) -> Result<&'a ProgramFd, String> {
    let why = |error: ProgramError| super::refusal::root_cause(&error);
    let program: &mut UProbe =
        ebpf.program_mut(name).ok_or("the BPF object has it not")?.try_into().map_err(why)?;
    if program.fd().is_err() {
        program.load().map_err(why)?;
    }
    program.fd().map_err(why)
}

fn program(at: At) -> &'static str {
    match at {
        At::CallBegins => "call_begins",
        At::CallEnds => "call_ends",
        At::OperationBegins => "operation_begins",
        At::OperationEnds => "operation_ends",
        At::OperationTurns => "operation_turns",
    }
}
