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

/// The run time of both, as the kernel times them, for a call of a thread that is not in the tree:
/// mostly the clock read that timing adds. The kernel sums up all threads.
const OUTSIDE_NS: (f64, f64) = (40.0, 100.0);

/// With fewer calls the first ones, which find nothing in caches, are too large a part of the cost:
/// of 16 calls each took 2.2 us, of 281 0.44.
const CALLS_MIN: u64 = 300;

/// How much of their own run time other windows may have than the one that was timed: beside other
/// programs caches are cold.
const OTHERS: (f64, f64) = (0.85, 1.5);

/// Their links.
pub(super) struct Tracing {
    links: Vec<(&'static str, BtfTracePointLinkId)>,
    timing: Option<Timing>,
}

/// The kernel times programs.
struct Timing {
    /// It does so until this is closed.
    _on: OwnedFd,
    /// Both programs' runs, and the tree's calls, when it began.
    runs: Runs,
    calls: u64,
}

/// Runs of both programs: how many pairs, and their time.
#[derive(Debug, Clone, Copy)]
struct Runs {
    pairs: u64,
    ns: f64,
}

impl Tracing {
    /// Takes their links out of all links.
    pub(super) fn new(links: Vec<Link>) -> Self {
        let links = links.into_iter().filter(|(name, _)| PROGRAMS.contains(name)).collect();
        Self { links, timing: None }
    }

    /// Has the kernel time programs from now on; says whether it can. `calls` of the tree were
    /// traced so far.
    pub(super) fn time(&mut self, ebpf: &mut Ebpf, calls: u64) -> bool {
        let on = enable_stats(Stats::RunTime).ok();
        self.timing = on.and_then(|on| Some(Timing { _on: on, runs: runs(ebpf)?, calls }));
        self.is_timed()
    }

    /// Whether programs are being timed.
    pub(super) fn is_timed(&self) -> bool {
        self.timing.is_some()
    }

    /// The cost of a call while they were timed; ends timing. None when they were not timed, or had
    /// too few calls. `calls` gives those of the tree that were traced so far.
    pub(super) fn cost(&mut self, ebpf: &mut Ebpf, calls: impl FnOnce(&Ebpf) -> u64) -> Option<CallCost> {
        let timing = self.timing.take()?;
        let now = runs(ebpf)?;
        let all = Runs { pairs: now.pairs - timing.runs.pairs, ns: now.ns - timing.runs.ns };
        // Counters that cannot be read give no calls.
        of_a_call(all, calls(ebpf).saturating_sub(timing.calls))
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

/// The cost of one of the tree's calls, of which there were `calls`, from the runs for all threads.
fn of_a_call(all: Runs, calls: u64) -> Option<CallCost> {
    let others = all.pairs.saturating_sub(calls) as f64;
    let each = |outside: f64| (all.ns - others * outside) / calls as f64;
    let (outside_lo, outside_hi) = OUTSIDE_NS;
    let (around_lo, around_hi) = AROUND_NS;
    let (less, more) = OTHERS;
    let middle = each(f64::midpoint(outside_lo, outside_hi));
    // With few calls, or among many of others, nothing is known.
    (calls >= CALLS_MIN && each(outside_hi) > 0.0).then(|| CallCost {
        ns: middle + f64::midpoint(around_lo, around_hi),
        lo_ns: each(outside_hi) * less + around_lo,
        hi_ns: each(outside_lo) * more + around_hi,
    })
}

/// Runs of both so far.
fn runs(ebpf: &mut Ebpf) -> Option<Runs> {
    PROGRAMS.iter().try_fold(Runs { pairs: 0, ns: 0.0 }, |sum, name| {
        let info = program(ebpf, name)?.info().ok()?;
        let ns = sum.ns + info.run_time().as_nanos() as f64;
        Some(Runs { pairs: sum.pairs.max(info.run_count()), ns })
    })
}

fn program<'a>(ebpf: &'a mut Ebpf, name: &str) -> Option<&'a mut BtfTracePoint> {
    ebpf.program_mut(name)?.try_into().ok()
}

/// Sets the flag for the kernel half.
fn tell(ebpf: &mut Ebpf, off: bool) -> bool {
    let settings = ebpf.map_mut("settings").and_then(|map| Array::<_, u64>::try_from(map).ok());
    settings.is_some_and(|mut settings| settings.set(Setting::CallsOff as u32, u64::from(off), 0).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_other_programs_do_not_make_those_of_the_tree_cheap() {
        let alone = of_a_call(Runs { pairs: 1000, ns: 240e3 }, 1000).expect("it was timed");
        assert_eq!((alone.ns, alone.lo_ns, alone.hi_ns), (285.0, 224.0, 430.0));
        let beside = of_a_call(Runs { pairs: 4000, ns: 240e3 + 3000.0 * 70.0 }, 1000).expect("it was timed");
        assert_eq!(beside.ns, alone.ns);
        assert!(beside.lo_ns < alone.lo_ns && beside.hi_ns > alone.hi_ns, "{beside:?}");
        assert_eq!(of_a_call(Runs { pairs: 10_000, ns: 700e3 }, 400), None, "mostly others'");
        assert_eq!(of_a_call(Runs { pairs: 1000, ns: 70e3 }, 0), None);
        assert_eq!(of_a_call(Runs { pairs: 279, ns: 52e3 }, 16), None, "2,167 ns each, of cold caches");
    }
}
