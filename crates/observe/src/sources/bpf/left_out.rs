//! How many requests are followed: all, until that would take more than the bound of overhead,
//! then one of 2, 4, 8 and so on. The kernel half draws (`received.h`), says of each which chance
//! it had, and counts the others.

use super::wire::Setting;
use super::{cost, maps};
use crate::settings::Watching;
use aya::Ebpf;
use model::Ns;
use model::requests::Unit;

/// What following a request takes: some 6 us of CPU time in the reader (0.8 s for 135,000 requests
/// to nginx, `time`, 2026-11-30, an Intel Xeon), and about 2 in the kernel.
const EACH_NS: f64 = 8_000.0;
/// Requests a second that are always followed: 4 % of a CPU.
const ALWAYS_PER_S: f64 = 5_000.0;
/// The time between two looks.
const LOOK_NS: Ns = 100_000_000;
/// Of no fewer than one in a million.
const HALVINGS_MAX: u32 = 20;

/// The share of requests that are left out.
#[derive(Debug)]
pub(super) struct LeftOut {
    /// None without a bound, and where there are no requests to follow.
    bound: Option<f64>,
    /// When it was looked last, the tree's CPU time then, and the requests that had begun.
    last: Option<(Ns, Ns, u64)>,
    /// One of 2^n is followed.
    halvings: u32,
    /// Requests that were left out before the window.
    before: u64,
}

impl LeftOut {
    pub(super) fn new(watching: &Watching) -> Self {
        let bound = watching.max_overhead.share().filter(|_| watching.units.unit == Unit::Request);
        Self { bound, last: None, halvings: 0, before: 0 }
    }

    /// Looks whether more or fewer are to be followed, given how many began, and how long the
    /// tree ran.
    pub(super) fn keep(&mut self, ebpf: &mut Ebpf, now: Ns, busy_ns: impl FnOnce() -> Ns) {
        let due = self.last.is_none_or(|(at, ..)| now >= at + LOOK_NS);
        if self.bound.is_none() || !due {
            return;
        }
        let Some((left_out, followed)) = counted(ebpf) else { return };
        let before = self.halvings;
        self.look(now, busy_ns(), left_out + followed);
        if before != self.halvings && maps::set(ebpf, Setting::Halvings, u64::from(self.halvings)).is_none() {
            self.halvings = before;
        }
    }

    fn look(&mut self, now: Ns, busy_ns: Ns, begun: u64) {
        let Some(bound) = self.bound else { return };
        if let Some((at, busy_before, begun_before)) = self.last {
            let seconds = now.saturating_sub(at) as f64 / 1e9;
            let came = begun.saturating_sub(begun_before);
            let allowed_ns = bound * busy_ns.saturating_sub(busy_before) as f64;
            let allowed = (allowed_ns / EACH_NS).max(ALWAYS_PER_S * seconds);
            let times = (came as f64 / allowed.max(1.0)).max(1.0);
            self.halvings = (times.log2().ceil() as u32).min(HALVINGS_MAX);
        }
        self.last = Some((now, busy_ns, begun));
    }

    /// A window begins.
    pub(super) fn forget(&mut self, ebpf: &Ebpf) {
        self.before = counted(ebpf).map_or(self.before, |(left_out, _)| left_out);
    }

    /// How many were left out.
    pub(super) fn since(&self, ebpf: &Ebpf) -> Option<u64> {
        Some(counted(ebpf)?.0.saturating_sub(self.before))
    }
}

/// Requests that were left out, and those that were followed.
fn counted(ebpf: &Ebpf) -> Option<(u64, u64)> {
    let cpus = cost::of_cpus(ebpf)?;
    Some((cpus.iter().map(|cpu| cpu.left_out).sum(), cpus.iter().map(|cpu| cpu.followed).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of how many one is followed after a second with these requests, of a tree that had this much
    /// of a CPU.
    fn one_in(bound: Option<f64>, busy_ns: Ns, begun: u64) -> u32 {
        let mut of = LeftOut { bound, last: None, halvings: 0, before: 0 };
        of.look(0, 0, 0);
        of.look(1_000_000_000, busy_ns, begun);
        1 << of.halvings
    }

    #[test]
    fn all_are_followed_up_to_five_thousand_a_second() {
        let one_in = |begun| one_in(Some(0.02), 100_000_000, begun);
        assert_eq!([0, 5_000, 5_001, 10_000, 10_001].map(one_in), [1, 1, 2, 2, 4]);
    }

    #[test]
    fn what_may_be_taken_grows_with_what_the_tree_does() {
        // A second of a CPU at 8 %: 10,000 of 8 us each.
        assert_eq!(one_in(Some(0.08), 1_000_000_000, 10_000), 1);
        assert_eq!(one_in(Some(0.08), 1_000_000_000, 40_000), 4);
        assert_eq!(one_in(None, 1_000_000_000, 1_000_000), 1);
        assert_eq!(one_in(Some(0.08), 0, u64::MAX / 2), 1 << HALVINGS_MAX);
    }
}
