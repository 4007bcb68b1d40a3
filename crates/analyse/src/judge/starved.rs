//! Time in which a program was ready to run and was not let: whose doing that was.
//!
//! Behind its own threads it is work that has used up the CPUs. The rest is other programs, the
//! quota of a control group, and what a hypervisor took; or it is not known which of these, but
//! that it was not its own doing: without BPF, in a run that is too short for the host's counters.

use super::Evidence;
use model::diagnosis::Starved;
use model::run::Class;
use model::{AccountPart, Coverage, Ns, RunQueue, Seen, State};

/// Time without a CPU, by whose doing it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RunnableSplit {
    pub(super) own_ns: Ns,
    pub(super) others_ns: Ns,
    pub(super) throttled_ns: Ns,
    /// The part of the time on a CPU that a hypervisor is taken to have had.
    pub(super) stolen_ns: Ns,
    /// Until an idle CPU had woken up: nobody had it.
    pub(super) waking_ns: Ns,
    /// Not its own doing; whose else is not known.
    pub(super) unknown_ns: Ns,
}

impl RunnableSplit {
    /// What is not its own doing.
    pub(super) fn starved_ns(self) -> Ns {
        self.others_ns + self.throttled_ns + self.stolen_ns + self.unknown_ns
    }
}

/// What is known of who had the CPUs.
#[derive(Debug, Clone, Copy)]
pub struct Contention<'a> {
    /// In whose favour the account waited for a CPU.
    pub queue: &'a RunQueue,
    /// What others and a hypervisor had of the host's CPUs.
    pub coverage: &'a Coverage,
    /// CPUs of the host.
    pub cpus: u32,
    /// The wall clock.
    pub wall_ns: Ns,
}

impl Contention<'_> {
    /// Divides the time without a CPU. Where it was not seen who had it, it is divided as what was
    /// seen, or else by the CPU time of the tree and of others; but not to its own threads where
    /// there were CPUs for all of them. Where nothing at all says who had the CPUs, it is known of
    /// those only that it was not they; what may have been an idle CPU that woke up, after a wait,
    /// is nobody's. Steal is known of the whole host; the program has its share.
    pub(super) fn held(&self, parts: &[AccountPart]) -> RunnableSplit {
        let ns = |of: &dyn Fn(State) -> bool| -> Ns {
            parts.iter().filter(|part| of(part.state)).map(|part| part.ns).sum()
        };
        let queue = self.queue;
        let (seen_own, seen_others) = (queue.behind_own_ns as f64, queue.behind_others_ns as f64);
        let (own, others) = match self.coverage.host_busy {
            _ if seen_own + seen_others > 0.0 => (seen_own, seen_others),
            Seen::Value(_) => (queue.cpus_used, self.others_cpus()),
            Seen::Absent | Seen::Unseen(_) => (0.0, 0.0),
        };
        let unseen = |part: f64| match own + others {
            all if all > 0.0 => (queue.unseen_ns as f64 * part / all) as Ns,
            _ => 0,
        };
        let crowded = seen_own > 0.0 || queue.cpus_wanted > f64::from(self.cpus);
        let nobody_seen = own + others <= 0.0 && !crowded;
        RunnableSplit {
            unknown_ns: if nobody_seen { queue.unseen_ns.saturating_sub(ns(&State::blocked)) } else { 0 },
            own_ns: queue.behind_own_ns + if crowded { unseen(own) } else { 0 },
            others_ns: queue.behind_others_ns + unseen(others),
            throttled_ns: ns(&|state| state == State::Throttled),
            stolen_ns: (ns(&State::on_cpu) as f64 * self.stolen_share()) as Ns,
            waking_ns: queue.idle_cpu_ns,
        }
    }

    /// CPUs that others kept busy, as far as that was seen.
    fn others_cpus(&self) -> f64 {
        self.coverage.host_busy.value().map_or(0.0, |share| share * f64::from(self.cpus))
    }

    /// The part of the time on CPUs that a hypervisor took.
    fn stolen_share(&self) -> f64 {
        let stolen = self.coverage.steal_ns.value().map_or(0.0, |ns| *ns as f64 / self.wall_ns.max(1) as f64);
        let all = self.others_cpus() + self.queue.cpus_used + stolen;
        if all > 0.0 { stolen / all } else { 0.0 }
    }
}

/// The same of a run; nothing where its run queue was not recorded.
pub(super) fn of(evidence: &Evidence<'_>) -> RunnableSplit {
    let Seen::Value(queue) = &evidence.run.run_queue else { return RunnableSplit::default() };
    let (coverage, cpus, wall_ns) = (&evidence.run.coverage, evidence.run.host.cpus, evidence.run.wall_ns);
    Contention { queue, coverage, cpus, wall_ns }.held(&evidence.run.account)
}

/// Whose doing it was, of a program that is starved.
pub(super) fn starved(evidence: &Evidence<'_>, held: RunnableSplit) -> Option<Starved> {
    let RunnableSplit { others_ns, throttled_ns, stolen_ns, unknown_ns, .. } = held;
    let starved = Starved { others_ns, throttled_ns, stolen_ns, unknown_ns };
    (evidence.run.bound.class == Class::Starved).then_some(starved)
}

/// Time behind its own threads, where that is worth a word.
pub(super) fn behind_own_ns(evidence: &Evidence<'_>, held: RunnableSplit) -> Option<Ns> {
    evidence.is_notable(held.own_ns).then_some(held.own_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples;
    use model::run::measured;

    fn queue(figures: [Ns; 3]) -> RunQueue {
        let [behind_own_ns, behind_others_ns, unseen_ns] = figures;
        let (others, cpus_used, cpus_wanted) = (Vec::new(), 1.0, 5.0);
        RunQueue {
            behind_own_ns,
            behind_others_ns,
            idle_cpu_ns: 0,
            unseen_ns,
            others,
            cpus_used,
            cpus_wanted,
            of_all: Seen::Absent,
        }
    }

    fn coverage(host_busy: Seen<f64>, steal_ns: Seen<Ns>) -> Coverage {
        Coverage { host_busy, steal_ns, ..samples::coverage() }
    }

    fn held(figures: [Ns; 3], host_busy: Seen<f64>, steal_ns: Seen<Ns>) -> RunnableSplit {
        let coverage = coverage(host_busy, steal_ns);
        let parts =
            [measured(State::User, 400), measured(State::Throttled, 100), measured(State::Stopped, 9)];
        Contention { queue: &queue(figures), coverage: &coverage, cpus: 4, wall_ns: 1000 }.held(&parts)
    }

    fn of(own_ns: Ns, others_ns: Ns, stolen_ns: Ns) -> RunnableSplit {
        RunnableSplit { own_ns, others_ns, throttled_ns: 100, stolen_ns, waking_ns: 0, unknown_ns: 0 }
    }

    #[test]
    fn what_was_not_seen_is_divided_as_what_was() {
        assert_eq!(held([30, 70, 100], Seen::Value(0.5), Seen::Absent), of(60, 140, 0));
        assert_eq!(held([30, 70, 0], Seen::Absent, Seen::Absent), of(30, 70, 0));
    }

    #[test]
    fn where_nothing_was_seen_by_what_others_had_of_the_cpus() {
        // Others kept three of four busy, and the program one.
        assert_eq!(held([0, 0, 100], Seen::Value(0.75), Seen::Absent), of(25, 75, 0));
        assert_eq!(held([0, 0, 100], Seen::unseen("no /proc/stat"), Seen::Absent), of(0, 0, 0));
    }

    #[test]
    fn a_program_with_a_cpu_for_each_thread_does_not_wait_behind_itself() {
        let queue = RunQueue { cpus_wanted: 3.0, ..queue([0, 0, 100]) };
        let coverage = coverage(Seen::Value(0.75), Seen::Absent);
        let contention = Contention { queue: &queue, coverage: &coverage, cpus: 4, wall_ns: 1000 };
        assert_eq!((contention.held(&[]).own_ns, contention.held(&[]).others_ns), (0, 75));
    }

    #[test]
    fn where_nobody_was_seen_it_was_not_a_program_with_a_cpu_for_each_thread() {
        let queue = RunQueue { cpus_wanted: 3.0, ..queue([0, 0, 100]) };
        let coverage = coverage(Seen::unseen("the run is too short"), Seen::Absent);
        let of = |cpus, parts: &[AccountPart]| {
            Contention { queue: &queue, coverage: &coverage, cpus, wall_ns: 1000 }.held(parts)
        };
        assert_eq!(of(4, &[]), RunnableSplit { unknown_ns: 100, ..RunnableSplit::default() });
        // Each wait may have ended with an idle CPU that woke up.
        assert_eq!(of(4, &[measured(State::Disk, 30)]).unknown_ns, 70);
        assert_eq!(of(2, &[]).unknown_ns, 0, "they want more than there are");
    }

    #[test]
    fn the_program_has_its_share_of_steal() {
        // One CPU's time of four that were wanted.
        assert_eq!(held([0, 0, 0], Seen::Value(0.5), Seen::Value(1000)), of(0, 0, 100));
    }
}
