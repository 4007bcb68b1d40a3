//! The sample of page faults (`faults.h`): the event of perf that counts them.

use super::refusal::BpfRefusal;
use aya::Ebpf;
use aya::programs::PerfEvent;
use aya::programs::perf_event::{PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent};
use model::coverage::{Extent, Source};

/// Of so many page faults of a CPU one is taken. A sample takes as long as four or five faults, so
/// it costs a program that does nothing else a hundredth or two. A prime: what comes again after a
/// round number of faults is not always, or never, taken.
const EACH: u64 = 251;

/// Starts it on these CPUs; what is observed so. It ends with the programs.
pub(super) fn start(ebpf: &mut Ebpf, cpus: &[u32]) -> Source {
    match attach(ebpf, cpus) {
        Ok(()) => super::full(NAME),
        Err(why) => Source {
            name: NAME.into(),
            seen: Extent::None,
            why: why.to_string(),
            remedy: "Linux 5.17 or newer: there a program can look up a mapping".into(),
        },
    }
}

const NAME: &str = "fault places";

fn attach(ebpf: &mut Ebpf, cpus: &[u32]) -> Result<(), BpfRefusal> {
    let refused = |doing| {
        move |error| BpfRefusal::Program { doing, program: "fault".to_owned(), error: Box::new(error) }
    };
    let program: &mut PerfEvent =
        ebpf.program_mut("fault").ok_or(BpfRefusal::Missing("fault"))?.try_into().map_err(refused("find"))?;
    program.load().map_err(refused("load"))?;
    for cpu in cpus {
        let faults = PerfEventConfig::Software(SoftwareEvent::PageFaults);
        let scope = PerfEventScope::AllProcessesOneCpu { cpu: *cpu };
        program.attach(faults, scope, SamplePolicy::Period(EACH), false).map_err(refused("attach"))?;
    }
    Ok(())
}
