//! The two programs that trace system calls, attached and detached during the recording, and timed
//! by the kernel.

use super::attach::Link;
use super::slices::CallCost;
use super::wire::Setting;
use aya::Ebpf;
use aya::maps::Array;
use aya::programs::BtfTracePoint;
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::sys::{Stats, enable_stats};
use std::os::fd::OwnedFd;

/// Their names.
const PROGRAMS: [&str; 2] = ["sys_enter", "sys_exit"];

/// The overhead of both attached programs per call besides their own run time: from an empty pair,
/// less the two clock reads that timing adds. The range is that of different machines.
const AROUND_NS: (f64, f64) = (20.0, 70.0);

/// How much of their own run time other windows may have than the one that was timed: beside other
/// programs caches are cold.
const OTHERS: (f64, f64) = (0.85, 1.5);

/// Their links.
pub(super) struct Tracing {
    links: Vec<(&'static str, BtfTracePointLinkId)>,
    /// Present while the kernel times them.
    timed: Option<OwnedFd>,
}

impl Tracing {
    /// Takes their links out of all links.
    pub(super) fn new(links: Vec<Link>) -> Self {
        let links = links.into_iter().filter(|(name, _)| PROGRAMS.contains(name)).collect();
        Self { links, timed: None }
    }

    /// Has the kernel time programs from now on, where it can.
    pub(super) fn time(&mut self) {
        self.timed = enable_stats(Stats::RunTime).ok();
    }

    /// The cost of a call while they were timed; ends timing. None when they were not timed.
    pub(super) fn cost(&mut self, ebpf: &mut Ebpf) -> Option<CallCost> {
        self.timed.take()?;
        let each = |ebpf: &mut Ebpf, name| {
            let info = program(ebpf, name)?.info().ok()?;
            let times = info.run_count();
            (times > 0).then(|| info.run_time().as_nanos() as f64 / times as f64)
        };
        let ns = each(ebpf, PROGRAMS[0])? + each(ebpf, PROGRAMS[1])?;
        let (lo, hi) = AROUND_NS;
        let (less, more) = OTHERS;
        Some(CallCost { ns: ns + (lo + hi) / 2.0, lo_ns: ns * less + lo, hi_ns: ns * more + hi })
    }

    /// Attaches or detaches them. Returns whether calls are traced afterwards.
    pub(super) fn set(&mut self, ebpf: &mut Ebpf, on: bool) -> bool {
        // The other programs' work for untraced calls does no harm while these two are attached;
        // the reverse would.
        if !on && !tell(ebpf, true) {
            return true;
        }
        for (name, link) in self.links.drain(..) {
            // It can only fail for a link that does not exist.
            let _ = program(ebpf, name).map(|program| program.detach(link));
        }
        if !on {
            return false;
        }
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
