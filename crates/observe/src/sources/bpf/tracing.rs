//! The two programs that trace system calls, attached and detached during the recording, and timed
//! by the kernel.

use super::attach::Link;
use super::runs::{Others, TimedRuns};
use super::wire::Setting;
use aya::Ebpf;
use aya::maps::Array;
use aya::programs::BtfTracePoint;
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::sys::{Stats, enable_stats};
use model::Ns;
use std::os::fd::OwnedFd;

/// Their names.
const PROGRAMS: [&str; 2] = ["sys_enter", "sys_exit"];

/// What runs for packets and the interrupts that bring them.
const PACKET_PROGRAMS: [&str; 5] =
    ["net_dev_queue", "netif_receive_skb", "sk_data_ready", "softirq_entry", "softirq_exit"];

/// Their links.
pub(super) struct Tracing {
    links: Vec<(&'static str, BtfTracePointLinkId)>,
    /// The kernel times them until this is closed.
    timing: Option<OwnedFd>,
}

impl Tracing {
    /// Takes their links out of all links.
    pub(super) fn new(links: Vec<Link>) -> Self {
        let links = links.into_iter().filter(|(name, _)| PROGRAMS.contains(name)).collect();
        Self { links, timing: None }
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

    /// Attaches them, and has the kernel time them, or detaches them. Returns whether calls are
    /// traced afterwards.
    pub(super) fn set(&mut self, ebpf: &mut Ebpf, on: bool) -> bool {
        // The other programs' work for untraced calls does no harm while these two are attached;
        // the reverse would.
        if !on && !tell(ebpf, true) {
            return true;
        }
        self.timing = None;
        for (name, link) in self.links.drain(..) {
            // It can only fail for a link that does not exist.
            let _ = program(ebpf, name).map(|program| program.detach(link));
        }
        if !on {
            return false;
        }
        self.timing = enable_stats(Stats::RunTime).ok();
        for name in PROGRAMS {
            if let Some(link) = program(ebpf, name).and_then(|program| program.attach().ok()) {
                self.links.push((name, link));
            }
        }
        self.links.len() == PROGRAMS.len() && tell(ebpf, false)
    }
}

fn program<'a>(ebpf: &'a mut Ebpf, name: &str) -> Option<&'a mut BtfTracePoint> {
    ebpf.program_mut(name)?.try_into().ok()
}

/// Sets the flag for the kernel half.
fn tell(ebpf: &mut Ebpf, off: bool) -> bool {
    let settings = ebpf.map_mut("settings").and_then(|map| Array::<_, u64>::try_from(map).ok());
    settings.is_some_and(|mut settings| settings.set(Setting::CallsOff as u32, u64::from(off), 0).is_ok())
}
