//! How time on a CPU divides into user and kernel mode, by samples or by the kernel's ticks.

use model::Ns;
use model::recording::Rusage;
use stats::{Proportion, wilson};

/// Unit in which `/proc` gives user and kernel time: what is added at once is one sample.
pub(crate) const TICK_NS: Ns = 10_000_000;
/// With fewer samples than this a thread's mix of user and kernel time is taken from all threads'.
const SAMPLES_MIN: u64 = 20;

/// Clock samples, or the kernel's ticks, by mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mix {
    pub(super) user: u64,
    pub(super) kernel: u64,
}

/// What is known of the mode of all threads.
#[derive(Debug, Clone, Copy)]
pub(super) struct UserShare<'a> {
    /// Period of the clock samples where those in the kernel go unseen. One that is missing was in
    /// the kernel, or its timer came late: a virtual CPU had stood still, or the kernel held it
    /// back. So they bound user time from below.
    pub(super) only_user_each_ns: Option<Ns>,
    pub(super) rusage: Option<&'a Rusage>,
    /// Samples of all threads in what the account is about.
    pub(super) pooled: Mix,
    /// Time on a CPU of the same.
    pub(super) on_cpu_ns: Ns,
}

impl Mix {
    /// `times` samples fell into user or kernel mode.
    pub(super) fn add(&mut self, user: bool, times: u64) {
        *(if user { &mut self.user } else { &mut self.kernel }) += times;
    }
}

impl UserShare<'_> {
    /// Samples in user mode, of how many; more than were seen where the kernel's go unseen.
    fn trials(&self, mix: Mix, on_cpu_ns: Ns) -> (u64, u64) {
        match self.only_user_each_ns {
            Some(period) => (mix.user, (on_cpu_ns / period.max(1)).max(mix.user)),
            None => (mix.user, mix.user + mix.kernel),
        }
    }

    /// Of all threads, with its interval.
    pub(super) fn pooled(&self) -> Proportion {
        let (user, all) = self.trials(self.pooled, self.on_cpu_ns);
        let sampled = wilson(user, all);
        match (self.by_ticks(), self.only_user_each_ns) {
            // Anything between what the samples say and what the ticks say.
            (Some(ticks), Some(_)) if all >= SAMPLES_MIN => {
                Proportion { lo: sampled.lo.min(ticks.lo), hi: sampled.hi.max(ticks.hi), ..ticks }
            }
            // The samples that are missing may all have been late.
            (None, Some(_)) if all >= SAMPLES_MIN => Proportion { hi: 1.0, ..sampled },
            _ if all >= SAMPLES_MIN => sampled,
            // Too few samples to say.
            (Some(ticks), _) => Proportion { value: ticks.value, ..wilson(0, 0) },
            // The middle of what is possible, lest one sample decide what bounds a short program.
            _ => Proportion { value: (sampled.lo + sampled.hi) / 2.0, ..sampled },
        }
    }

    /// The kernel's own division, which rests on its ticks, if there were many.
    fn by_ticks(&self) -> Option<Proportion> {
        let used = self.rusage?;
        let all = used.user_ns + used.kernel_ns;
        let ticks = all / TICK_NS;
        let value = used.user_ns as f64 / all.max(1) as f64;
        let user = (value * ticks as f64).round() as u64;
        (ticks >= SAMPLES_MIN).then(|| Proportion { value, ..wilson(user, ticks) })
    }

    /// The value for a thread with these samples.
    pub(super) fn of(&self, mix: Mix, on_cpu_ns: Ns) -> f64 {
        let (user, all) = self.trials(mix, on_cpu_ns);
        let pooled = self.pooled().value;
        if all < SAMPLES_MIN {
            return pooled;
        }
        let share = |(user, all): (u64, u64)| user as f64 / all.max(1) as f64;
        let of_all = share(self.trials(self.pooled, self.on_cpu_ns));
        if self.only_user_each_ns.is_none() || of_all == 0.0 {
            return share((user, all));
        }
        // Where some are missing, each stands for more, in all threads alike.
        (share((user, all)) * pooled / of_all).min(1.0)
    }
}
