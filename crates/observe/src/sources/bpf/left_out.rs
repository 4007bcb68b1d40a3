//! How many requests are followed: all, until that would take more than the bound of overhead, then
//! a random part of them. The kernel half draws (`received.h`), and counts those that it leaves
//! out.

use super::wire::Setting;
use super::{cost, maps};
use crate::settings::MaxOverhead;
use aya::Ebpf;
use model::Ns;

/// What following a request takes, in the kernel and in the reader: a page of nginx's own, 130,000
/// a second, by `perf record` on an Intel Xeon, 2026-11-30.
const EACH_NS: f64 = 8_000.0;
/// Requests a second that are always followed: 4 % of a CPU.
const ALWAYS_PER_S: f64 = 5_000.0;
/// The time between two looks.
const LOOK_NS: Ns = 100_000_000;
/// The whole of what the kernel half draws from.
const ALL: f64 = 4_294_967_296.0;

/// The share of requests that are left out.
#[derive(Debug)]
pub(super) struct LeftOut {
    /// None without a bound.
    bound: Option<f64>,
    /// When it was looked last, the tree's CPU time then, and the requests that were followed and
    /// left out.
    last: Option<(Ns, Ns, u64, u64)>,
    share: f64,
    /// Requests that were left out before the window.
    before: u64,
}

impl LeftOut {
    pub(super) fn new(bound: MaxOverhead) -> Self {
        Self { bound: bound.share(), last: None, share: 0.0, before: 0 }
    }

    /// Looks whether the share is to change, given what was received, and how long the tree ran.
    pub(super) fn keep(&mut self, ebpf: &mut Ebpf, now: Ns, received: u64, busy_ns: impl FnOnce() -> Ns) {
        let due = self.last.is_none_or(|(at, ..)| now >= at + LOOK_NS);
        if self.bound.is_none() || !due {
            return;
        }
        let Some(left_out) = counted(ebpf) else { return };
        let (share, before) = (self.share, self.last);
        self.look(now, busy_ns(), received, left_out);
        if share != self.share && maps::set(ebpf, Setting::LeftOut, (self.share * ALL) as u64).is_none() {
            (self.share, self.last) = (share, before);
        }
    }

    fn look(&mut self, now: Ns, busy_ns: Ns, received: u64, left_out: u64) {
        let Some(bound) = self.bound else { return };
        if let Some((at, busy_before, received_before, left_out_before)) = self.last {
            let seconds = now.saturating_sub(at) as f64 / 1e9;
            let came = received.saturating_sub(received_before) + left_out.saturating_sub(left_out_before);
            let allowed_ns = bound * busy_ns.saturating_sub(busy_before) as f64;
            let allowed = (allowed_ns / EACH_NS).max(ALWAYS_PER_S * seconds);
            self.share = (1.0 - allowed / (came as f64).max(1.0)).max(0.0);
        }
        self.last = Some((now, busy_ns, received, left_out));
    }

    /// A window begins.
    pub(super) fn forget(&mut self, ebpf: &Ebpf) {
        self.before = counted(ebpf).unwrap_or(self.before);
    }

    /// How many were left out.
    pub(super) fn since(&self, ebpf: &Ebpf) -> Option<u64> {
        Some(counted(ebpf)?.saturating_sub(self.before))
    }
}

fn counted(ebpf: &Ebpf) -> Option<u64> {
    Some(cost::of_cpus(ebpf)?.iter().map(|cpu| cpu.left_out).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share after a second with these requests, of a tree that had this much of a CPU.
    fn share(bound: MaxOverhead, busy_ns: Ns, (received, left_out): (u64, u64)) -> f64 {
        let mut of = LeftOut::new(bound);
        of.look(0, 0, 0, 0);
        of.look(1_000_000_000, busy_ns, received, left_out);
        of.share
    }

    #[test]
    fn all_are_followed_up_to_five_thousand_a_second() {
        assert_eq!(share(MaxOverhead::BesideCounting(0.02), 100_000_000, (5_000, 0)), 0.0);
        assert_eq!(share(MaxOverhead::BesideCounting(0.02), 100_000_000, (10_000, 0)), 0.5);
    }

    #[test]
    fn what_may_be_taken_grows_with_what_the_tree_does() {
        // A second of a CPU at 8 %: 10,000 of 8 us each.
        assert_eq!(share(MaxOverhead::All(0.08), 1_000_000_000, (9_000, 0)), 0.0);
        assert_eq!(share(MaxOverhead::All(0.08), 1_000_000_000, (10_000, 30_000)), 0.75);
        assert_eq!(share(MaxOverhead::Unbounded, 1_000_000_000, (1_000_000, 0)), 0.0);
    }
}
