//! What other programs may have of CPUs that the program did not use as it was recorded.
//!
//! Whom its threads waited behind was seen on the CPUs that they used. Where edits let more of them
//! run at once, others may be on the other CPUs: how much of all CPUs they had is known.

use super::lengths::Lengths;
use super::program::{Program, Step};
use model::what_if::ReplayedPath;
use model::{Ns, Reason};

/// How a replay computes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Computing {
    /// CPU time of all threads.
    pub(super) cpu_ns: Ns,
    /// Time of its path on a CPU, and behind its own threads.
    pub(super) path_ns: Ns,
}

/// The CPUs of a host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host {
    pub(super) cpus: u32,
    /// The part of them that others had; none if that was not seen.
    pub(super) others: Option<f64>,
}

impl Computing {
    /// The state of a replay with these lengths and this path.
    pub(super) fn new(program: &Program, lengths: &Lengths, path: &ReplayedPath) -> Self {
        let mut cpu_ns = 0;
        for (thread, id) in program.threads.iter().zip(0..) {
            for (step, at) in thread.steps.iter().zip(0..) {
                if matches!(step, Step::Run { .. }) {
                    cpu_ns += lengths.of(id, at, *step);
                }
            }
        }
        let on_cpu = path.account.iter().filter(|part| part.state.on_cpu()).map(|part| part.ns);
        let own = path.places.iter().filter(|place| matches!(place.reason, Reason::PreemptedByOwn(_)));
        Self { cpu_ns, path_ns: on_cpu.sum::<Ns>() + own.map(|place| place.ns).sum::<Ns>() }
    }

    /// How many CPUs it uses while it computes.
    fn cpus(self) -> f64 {
        (self.cpu_ns as f64 / self.path_ns.max(1) as f64).max(1.0)
    }
}

impl Host {
    /// By how much the second may take longer since others want the CPUs that it uses more than
    /// the first: they are on idle CPUs while there are some, and a fair scheduler gives them half
    /// of the others at most. What the first had to share it was seen to.
    pub(super) fn others_share_ns(self, first: Computing, second: Computing) -> Ns {
        let all = f64::from(self.cpus.max(1));
        // Where that was not seen, as many as the first leaves.
        let most = (all - first.cpus()).max(0.0);
        let others = self.others.map_or(most, |part| part.clamp(0.0, 1.0) * all);
        let slower = |of: Computing| ((of.cpus().min(all) + others) / all).clamp(1.0, 2.0);
        let more = (slower(second) / slower(first) - 1.0).max(0.0);
        (second.path_ns as f64 * more) as Ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others_share(cpus: u32, others: Option<f64>, first: [Ns; 2], second: [Ns; 2]) -> Ns {
        let computing = |[cpu_ns, path_ns]: [Ns; 2]| Computing { cpu_ns, path_ns };
        Host { cpus, others }.others_share_ns(computing(first), computing(second))
    }

    #[test]
    fn others_are_in_the_way_of_who_uses_more_cpus() {
        let (one, two) = ([400, 400], [400, 200]);
        assert_eq!(others_share(2, Some(0.0), one, two), 0, "nobody else");
        assert_eq!(others_share(2, Some(0.5), one, two), 100, "one other program: three want two CPUs");
        assert_eq!(others_share(2, Some(1.0), one, two), 66, "it had a half of its CPU before");
        assert_eq!(others_share(2, None, one, two), 100, "there may have been");
        assert_eq!(others_share(8, Some(0.5), one, two), 0, "there are CPUs for all");
        assert_eq!(others_share(2, Some(1.0), two, one), 0, "on fewer CPUs there is more room");
        assert_eq!(others_share(2, Some(1.0), one, [0, 0]), 0, "it computes nothing any more");
    }
}
