//! The two programs that trace system calls, attached and detached during the recording, and timed
//! by the kernel.

use super::attach::Link;
use super::runs::TimedRuns;
use super::wire::Setting;
use aya::Ebpf;
use aya::maps::Array;
use aya::programs::BtfTracePoint;
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::sys::{Stats, enable_stats};
use std::os::fd::OwnedFd;

/// Their names.
const PROGRAMS: [&str; 2] = ["sys_enter", "sys_exit"];

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
