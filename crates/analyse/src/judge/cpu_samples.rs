//! Samples on CPUs, and which part of the time on CPUs some of them are.

use super::Evidence;
use crate::code::Amount;
use model::State;
use model::profile::{Activity, Weight};
use model::run::Share;

impl Evidence<'_> {
    /// All samples on a CPU.
    pub(super) fn cpu_samples(&self) -> Amount {
        self.charges().fold(Amount::default(), |mut all, charge| {
            all.add(charge.weight);
            all
        })
    }

    /// What this many of all samples are of the time on CPUs. Who may not see the kernel's code has
    /// samples of the program's own only.
    pub(super) fn cpu_share(&self, amount: Amount, all: Amount) -> Share {
        let share = amount.share(all);
        let in_kernel = |weight: &Weight| matches!(weight.doing, Activity::Kernel | Activity::Interrupt);
        if self.profile.weights.iter().any(in_kernel) {
            return share;
        }
        let on_cpu_ns = self.account_ns(State::on_cpu).max(1);
        let part = self.account_ns(|state| state == State::User) as f64 / on_cpu_ns as f64;
        Share { value: share.value * part, lo: share.lo * part, hi: share.hi * part }
    }
}
