//! The sampling clock: a high rate at first, a lower one later.
//!
//! A sample is expensive (an interrupt and a new timer; in a virtual machine the hypervisor sets
//! it), so a rate high enough for a short program would cost a long one several per cent.

use super::refusal::BpfRefusal;
use crate::settings::Rate;
use aya::Ebpf;
use aya::programs::perf_event::{
    PerfEventConfig, PerfEventLinkId, PerfEventScope, SamplePolicy, SoftwareEvent,
};
use aya::programs::{PerfEvent, ProgramError};
use model::Ns;

/// The first sampling period per CPU: about 2 kHz, and not a divisor or multiple of any tick rate,
/// so that programs synchronous with the tick are not always sampled in the same place.
const PERIOD_NS: Ns = 497_003;
/// The same later: a multiple, so that a later sample stands for a whole number of early ones.
/// About 335 Hz.
const LATER_PERIOD_NS: Ns = 6 * PERIOD_NS;
/// The duration of the high rate.
const YOUNG_NS: Ns = 50_000_000;

/// The running sampling clock.
#[derive(Debug)]
pub(super) struct Clock {
    cpus: Vec<u32>,
    rate: Rate,
    /// The fast one on each CPU, until it is detached.
    fast: Vec<PerfEventLinkId>,
    started_at: Option<Ns>,
}

impl Clock {
    /// Starts it on these CPUs. Its program has been loaded.
    pub(super) fn start(ebpf: &mut Ebpf, cpus: &[u32], rate: Rate) -> Result<Self, BpfRefusal> {
        let fast = attach(ebpf, cpus, rate.period_ns(PERIOD_NS))?;
        Ok(Self { cpus: cpus.to_vec(), rate, fast, started_at: None })
    }

    /// The shortest sampling period per CPU.
    pub(super) fn period_ns(&self) -> Ns {
        self.rate.period_ns(PERIOD_NS)
    }

    /// The program began.
    pub(super) fn program_began(&mut self, at: Ns) {
        self.started_at.get_or_insert(at);
    }

    /// Switches to the lower rate when it is time. The high rate stays where the lower one cannot
    /// be attached.
    pub(super) fn keep(&mut self, ebpf: &mut Ebpf, now: Ns) {
        let lasts = self.started_at.is_some_and(|at| now > at + YOUNG_NS);
        if self.rate != Rate::ByAge || !lasts || self.fast.is_empty() {
            return;
        }
        let fast = std::mem::take(&mut self.fast);
        if attach(ebpf, &self.cpus, LATER_PERIOD_NS).is_ok()
            && let Ok(program) = program(ebpf)
        {
            for link in fast {
                // It can only fail for a link that does not exist.
                let _ = program.detach(link);
            }
        }
    }
}

fn attach(ebpf: &mut Ebpf, cpus: &[u32], period_ns: Ns) -> Result<Vec<PerfEventLinkId>, BpfRefusal> {
    let program = program(ebpf)?;
    let on = |cpu: &u32| {
        let clock = PerfEventConfig::Software(SoftwareEvent::CpuClock);
        let scope = PerfEventScope::AllProcessesOneCpu { cpu: *cpu };
        program.attach(clock, scope, SamplePolicy::Period(period_ns), false).map_err(refused("attach"))
    };
    cpus.iter().map(on).collect()
}

fn program(ebpf: &mut Ebpf) -> Result<&mut PerfEvent, BpfRefusal> {
    ebpf.program_mut("sample").ok_or(BpfRefusal::Missing("sample"))?.try_into().map_err(refused("find"))
}

fn refused(doing: &'static str) -> impl Fn(ProgramError) -> BpfRefusal {
    move |error| BpfRefusal::Program { doing, program: "sample".to_owned(), error: Box::new(error) }
}
