//! The sample of page faults (`faults.h`): the event of perf that counts them.
//!
//! Of this many page faults of a CPU one is taken. A sample costs more than a fault itself, so
//! where faults are what a program does, fewer are taken: what they cost stays within a part of the
//! bound of all overhead (`--max-overhead`).

use super::refusal::BpfRefusal;
use crate::settings::MaxOverhead;
use aya::Ebpf;
use aya::programs::PerfEvent;
use aya::programs::perf_event::{
    PerfEventConfig, PerfEventLinkId, PerfEventScope, SamplePolicy, SoftwareEvent,
};
use model::Ns;
use model::coverage::Source;

/// One of this many, the most first. Primes: what comes again after a round number of faults is not
/// always, or never, taken.
const EACH: [u64; 6] = [251, 509, 1021, 2039, 4093, 8191];
/// What a sample costs; `cost.rs` has the range.
const SAMPLE_NS: Ns = 8_000;
/// The part of the bound that these samples may take.
const PART: f64 = 0.25;
/// Overhead that is always allowed: 250 samples.
const FREE_NS: Ns = 2_000_000;
/// The shortest time between two changes.
const WINDOW_NS: Ns = 100_000_000;

/// The running events, and how many samples they gave.
#[derive(Debug)]
pub(super) struct FaultSamples {
    cpus: Vec<u32>,
    links: Vec<PerfEventLinkId>,
    rate: Rate,
}

/// Decides of how many faults one is taken.
#[derive(Debug)]
struct Rate {
    /// Which of [`EACH`].
    place: usize,
    /// The most that it may cost, as a share of the tree's CPU time; none where there is no bound.
    most: Option<f64>,
    since: Ns,
    /// Samples, and CPU time of the tree, at that time.
    taken: u64,
    busy_ns: Ns,
}

impl Rate {
    fn new(bound: MaxOverhead) -> Self {
        let most = bound.share().map(|share| PART * share);
        Self { place: 0, most, since: 0, taken: 0, busy_ns: 0 }
    }

    fn each(&self) -> u64 {
        EACH[self.place]
    }

    /// Given the samples and the tree's CPU time so far: whether the rate has changed. It is not
    /// raised again: a program that faults so much may do so in phases.
    fn fit(&mut self, now: Ns, taken: u64, busy_ns: impl FnOnce() -> Ns) -> bool {
        let Some(most) = self.most else { return false };
        if self.place + 1 == EACH.len() || now.saturating_sub(self.since) < WINDOW_NS {
            return false;
        }
        let cost_ns = (taken - self.taken) * SAMPLE_NS;
        if taken * SAMPLE_NS <= FREE_NS || cost_ns == 0 {
            return false;
        }
        let busy_ns = busy_ns();
        let lasted_ns = busy_ns.saturating_sub(self.busy_ns);
        let dear = cost_ns as f64 > most * lasted_ns as f64;
        // In proportion at once, or a short program would be over before it is cheap.
        let ratio = cost_ns as f64 / (most * lasted_ns.max(1) as f64);
        (self.since, self.taken, self.busy_ns) = (now, taken, busy_ns);
        if dear {
            let places = (ratio.log2().ceil() as usize).max(1);
            self.place = (self.place + places).min(EACH.len() - 1);
        }
        dear
    }
}

impl FaultSamples {
    /// Starts it on these CPUs, if its program was loaded; and what is observed so. It ends with
    /// the programs.
    pub(super) fn start(
        loaded: Result<(), BpfRefusal>,
        ebpf: &mut Ebpf,
        cpus: &[u32],
        bound: MaxOverhead,
    ) -> (Option<Self>, Source) {
        let rate = Rate::new(bound);
        match loaded.and_then(|()| attach(ebpf, cpus, rate.each())) {
            Ok(links) => (Some(Self { cpus: cpus.to_vec(), links, rate }), Source::full(NAME)),
            Err(why) => {
                let remedy = why.remedy("Linux 5.17 or newer: there a program can look up a mapping");
                (None, Source::none(NAME, why.to_string(), remedy))
            }
        }
    }

    /// Takes fewer samples where they cost too much: `taken` so far, of a tree that has had so much
    /// CPU time. The high rate stays where the lower one cannot be attached.
    pub(super) fn keep(&mut self, ebpf: &mut Ebpf, now: Ns, taken: u64, busy_ns: impl FnOnce() -> Ns) {
        if !self.rate.fit(now, taken, busy_ns) {
            return;
        }
        // Between the two a fault may count for both; none is left out.
        let Ok(links) = attach(ebpf, &self.cpus, self.rate.each()) else { return };
        let Ok(program) = program(ebpf) else { return };
        for link in std::mem::replace(&mut self.links, links) {
            // It can only fail for a link that does not exist.
            let _ = program.detach(link);
        }
    }
}

const NAME: &str = "fault places";

fn program(ebpf: &mut Ebpf) -> Result<&mut PerfEvent, BpfRefusal> {
    ebpf.program_mut("fault").ok_or(BpfRefusal::Missing("fault"))?.try_into().map_err(refused("find"))
}

fn attach(ebpf: &mut Ebpf, cpus: &[u32], each: u64) -> Result<Vec<PerfEventLinkId>, BpfRefusal> {
    let program = program(ebpf)?;
    let on = |cpu: &u32| {
        let faults = PerfEventConfig::Software(SoftwareEvent::PageFaults);
        let scope = PerfEventScope::AllProcessesOneCpu { cpu: *cpu };
        program.attach(faults, scope, SamplePolicy::Period(each), false).map_err(refused("attach"))
    };
    cpus.iter().map(on).collect()
}

fn refused(doing: &'static str) -> impl Fn(aya::programs::ProgramError) -> BpfRefusal {
    move |error| BpfRefusal::Program { doing, program: "fault".to_owned(), error: Box::new(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree that does nothing but fault, at half a microsecond each without samples.
    fn samples_in(rate: &Rate, busy_ns: Ns) -> u64 {
        busy_ns / (500 * rate.each() + SAMPLE_NS)
    }

    #[test]
    fn a_program_that_only_faults_stays_within_its_part_of_the_bound() {
        for bound in [0.1, 0.05, 0.01] {
            let mut rate = Rate::new(MaxOverhead::All(bound));
            let (mut taken, mut busy) = (0, 0);
            for _ in 0..30 {
                busy += WINDOW_NS;
                taken += samples_in(&rate, WINDOW_NS);
                rate.fit(busy, taken, || busy);
            }
            let share = (samples_in(&rate, WINDOW_NS) * SAMPLE_NS) as f64 / WINDOW_NS as f64;
            assert!(share <= PART * bound, "{bound}: {share}");
            assert!(share > PART * bound / 8.0, "{bound}: {share}");
        }
    }

    #[test]
    fn without_a_bound_and_with_few_faults_all_are_taken() {
        let mut rate = Rate::new(MaxOverhead::Unbounded);
        assert!(!rate.fit(WINDOW_NS, 1_000_000, || WINDOW_NS));
        let mut rate = Rate::new(MaxOverhead::All(0.05));
        assert!(!rate.fit(WINDOW_NS, 200, || 1), "a short program is exact");
        assert!(!rate.fit(2 * WINDOW_NS, 300, || 3 * WINDOW_NS), "2.4 ms of 300");
        assert!(rate.fit(3 * WINDOW_NS, 800, || 4 * WINDOW_NS));
        assert_eq!(rate.each(), 1021);
        assert!(!rate.fit(3 * WINDOW_NS + 1, 9_000, || 4 * WINDOW_NS), "at once");
    }
}
