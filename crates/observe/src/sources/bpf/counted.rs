//! The processor's counters, on each CPU, with the program that tells where they overflow.
//!
//! Per CPU and not per thread: then a switch costs nothing. What other programs make them count is
//! sampled in those, and not told.

use super::maps;
use super::refusal::BpfRefusal;
use super::wire::Setting;
use crate::counters::Counters;
use aya::Ebpf;
use aya::programs::PerfEvent;
use model::counters::CountersObserved;
use model::{Ns, Seen};
use std::os::fd::{AsFd, BorrowedFd};
use sys::perf_event::{self, ANY_THREAD};

/// The sampled counters, or why there are none.
#[derive(Debug)]
pub(super) struct CounterEvents {
    counters: Result<Counters, String>,
    began_at: Option<Ns>,
}

impl CounterEvents {
    /// Starts them on these CPUs, if their program was loaded.
    pub(super) fn start(loaded: Result<(), BpfRefusal>, ebpf: &Ebpf, cpus: &[u32]) -> Self {
        let counters = loaded.map_err(|refused| refused.to_string()).and_then(|()| {
            let program = program(ebpf).ok_or("their BPF program was not loaded")?;
            let units = host::counters::units(host::here());
            Counters::open(&units, (cpus, ANY_THREAD), true, &|attr| attr, |_, event| {
                perf_event::run_at_overflow(event.as_fd(), program)
            })
        });
        Self { counters, began_at: None }
    }

    /// The program began.
    pub(super) fn program_began(&mut self, at: Ns) {
        self.began_at.get_or_insert(at);
    }

    /// Takes fewer samples when it is time.
    pub(super) fn keep(&mut self, now: Ns) {
        if let (Ok(counters), Some(began_at)) = (&mut self.counters, self.began_at) {
            counters.keep(now.saturating_sub(began_at));
        }
    }

    /// What was observed, or why nothing.
    pub(super) fn observed(&self, ebpf: &Ebpf) -> Seen<CountersObserved> {
        let lost = maps::setting(ebpf, Setting::LostCounted);
        match &self.counters {
            Ok(counters) => Seen::Value(counters.observed(lost.unwrap_or(0))),
            Err(why) => Seen::unseen(why),
        }
    }
}

fn program(ebpf: &Ebpf) -> Option<BorrowedFd<'_>> {
    let program: &PerfEvent = ebpf.program("counted")?.try_into().ok()?;
    program.fd().ok().map(AsFd::as_fd)
}
