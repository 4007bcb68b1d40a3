//! The two programs of system calls, attached and detached during the recording, and timed by the
//! kernel.
//!
//! The one at the exit counts every call by itself, and times those whose entry the other one has
//! seen. So there are three depths: calls are traced, counted, or neither.

use super::attach::Link;
use super::maps;
use super::runs::{Others, TimedRuns};
use super::wire::Setting;
use aya::Ebpf;
use aya::programs::BtfTracePoint;
use aya::sys::{Stats, enable_stats};
use model::Ns;
use std::os::fd::OwnedFd;
use sys::clock::monotonic_ns;

/// Their names.
const ENTRY: &str = "sys_enter";
const EXIT: &str = "sys_exit";
const PROGRAMS: [&str; 2] = [ENTRY, EXIT];

/// What runs for packets and the interrupts that bring them.
const PACKET_PROGRAMS: [&str; 5] =
    ["net_dev_queue", "netif_receive_skb", "sk_data_ready", "softirq_entry", "softirq_exit"];

/// What is known of calls while it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Nothing: no program is attached.
    Nothing,
    /// How many there are, and what they gave.
    Counts,
    /// Everything.
    Everything,
}

impl Depth {
    fn programs(self) -> &'static [&'static str] {
        match self {
            Depth::Nothing => &[],
            Depth::Counts => &[EXIT],
            Depth::Everything => &PROGRAMS,
        }
    }
}

/// Their links.
pub(super) struct Tracing {
    links: Vec<Link>,
    may_trace: bool,
    /// The kernel times them until this is closed.
    timing: Option<OwnedFd>,
}

impl Tracing {
    /// Takes their links out of all links. Without the one at the exit calls are untraced from the
    /// start.
    pub(super) fn new(links: Vec<Link>, ebpf: &mut Ebpf) -> Option<Self> {
        let links: Vec<_> = links.into_iter().filter(|(name, _)| PROGRAMS.contains(name)).collect();
        let may_trace = links.len() == PROGRAMS.len();
        (may_trace || tell(ebpf, true)).then_some(Self { links, may_trace, timing: None })
    }

    /// Whether calls can be traced here.
    pub(super) fn may_trace(&self) -> bool {
        self.may_trace
    }

    /// What is attached; none where attaching or detaching has failed.
    pub(super) fn depth(&self) -> Option<Depth> {
        let attached = |depth: &Depth| depth.programs().len() == self.links.len();
        [Depth::Nothing, Depth::Counts, Depth::Everything].into_iter().find(attached)
    }

    /// Their runs while the kernel timed them; none where it does not.
    pub(super) fn timed(&self, ebpf: &mut Ebpf) -> Option<TimedRuns> {
        self.timing.as_ref()?;
        PROGRAMS.iter().try_fold(TimedRuns::default(), |sum, name| {
            let info = program(ebpf, name)?.info().ok()?;
            let ns = sum.ns + info.run_time().as_nanos() as u64;
            Some(TimedRuns { pairs: sum.pairs.max(info.run_count()), ns })
        })
    }

    /// The kernel times all programs, where it can, or stops.
    pub(super) fn time(&mut self, on: bool) {
        self.timing = if on { enable_stats(Stats::RunTime).ok() } else { None };
    }

    /// The runs of the programs of switches, wake-ups, samples and sends while the kernel timed
    /// them. Of a send also those of its packets; of all programs of the host.
    pub(super) fn others_timed(&self, ebpf: &Ebpf) -> Option<Others> {
        self.timing.as_ref()?;
        let timed = |name: &str| {
            // Not each kernel has all of them.
            let info = ebpf.program(name).and_then(|program| program.info().ok());
            info.map_or(TimedRuns::default(), |info| TimedRuns {
                pairs: info.run_count(),
                ns: info.run_time().as_nanos() as u64,
            })
        };
        let of_packets: Ns = PACKET_PROGRAMS.iter().map(|name| timed(name).ns).sum();
        let send = timed("sock_send_length");
        let sends = TimedRuns { ns: send.ns + of_packets, ..send };
        Some([timed("sched_switch"), timed("sched_waking"), timed("sample"), sends])
    }

    /// Attaches them, and has the kernel time them, or detaches them. Returns whether it could.
    pub(super) fn set(&mut self, ebpf: &mut Ebpf, depth: Depth) -> bool {
        // The other programs' work for untraced calls does no harm while these two are attached;
        // the reverse would.
        if depth != Depth::Everything && !tell(ebpf, true) {
            return false;
        }
        self.timing = None;
        let wanted = depth.programs();
        let (stays, goes): (Vec<_>, Vec<_>) =
            self.links.drain(..).partition(|(name, _)| wanted.contains(name));
        self.links = stays;
        for (name, link) in goes {
            // It can only fail for a link that does not exist.
            let _ = program(ebpf, name).map(|program| program.detach(link));
        }
        if depth == Depth::Everything {
            self.timing = enable_stats(Stats::RunTime).ok();
        }
        for name in wanted {
            if self.links.iter().all(|(attached, _)| attached != name)
                && let Some(link) = program(ebpf, name).and_then(|program| program.attach().ok())
            {
                self.links.push((name, link));
            }
        }
        self.links.len() == wanted.len() && (depth != Depth::Everything || tell(ebpf, false))
    }
}

/// What a call of dwell's own takes now, in nanoseconds: the least of a few loops of one that does
/// nothing. dwell is outside the tree, where what is attached takes less, but calling it takes the
/// same.
pub(super) fn own_call_ns() -> f64 {
    const LOOPS: usize = 8;
    const CALLS: u32 = 64;
    let one = || {
        let begin = monotonic_ns();
        for _ in 0..CALLS {
            std::hint::black_box(rustix::process::getppid());
        }
        monotonic_ns().saturating_sub(begin) as f64 / f64::from(CALLS)
    };
    (0..LOOPS).map(|_| one()).fold(f64::INFINITY, f64::min)
}

fn program<'a>(ebpf: &'a mut Ebpf, name: &str) -> Option<&'a mut BtfTracePoint> {
    ebpf.program_mut(name)?.try_into().ok()
}

/// Sets the flag for the kernel half.
fn tell(ebpf: &mut Ebpf, off: bool) -> bool {
    maps::set(ebpf, Setting::CallsOff, u64::from(off)).is_some()
}
