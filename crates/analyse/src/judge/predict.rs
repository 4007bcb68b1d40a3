//! What a change saves of the run, by the account of its path.
//!
//! A cause says what goes and which part of it. The interval is that of
//! `docs/method/prediction.md`: at most this part of its time on the path, and at least that only
//! where nothing else could have taken its place.

use super::Evidence;
pub(super) use super::signs::Kind;
use super::starved;
use model::coverage::Interval;
use model::finding::{SavedTime, Saving, SavingBasis};
use model::prediction::{Site, SiteTimes};
use model::run::Share;
use model::{Ns, Seen, State};

/// What a change takes away a part of.
#[derive(Debug, Clone)]
pub(super) enum Removal {
    /// The time on CPUs that such a share of the samples stands for.
    Samples(Share),
    /// Time of the account, between these, of such a kind.
    Account(Interval, Kind),
    /// Time that the structure of the program says will go of the wall clock, between these; in a
    /// window of what threads wait for.
    Wall(Interval),
    /// Time of several calls or states of which a part of its own goes.
    Parts(Parts),
}

/// What goes of all parts together, in place of a part of them.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    /// CPU time of all threads that goes with them.
    pub(super) cpu_ns: Ns,
    /// Time of the account.
    pub(super) account_ns: Interval,
    pub(super) kind: Kind,
}

/// The part of it that goes, 0 to 1: least and most.
pub(super) type Part = (f64, f64);

/// All of it.
pub(super) const ALL: Part = (1.0, 1.0);

impl Evidence<'_> {
    /// What it saves that this part goes.
    pub(super) fn saving(&self, goes: &Removal, part: Part, known: SavingBasis) -> Seen<Saving> {
        let kind = kind(goes);
        let ends = self.ends(goes, part);
        let ends = match self.run.window {
            Some(_) => ends,
            None => self.with_queue(ends, self.on_cpu_part(goes)),
        };
        let hi = ends.hi.min(self.run.whole_ns()).min(self.beyond_cpus_ns(goes));
        let lo = ends.lo.min(hi);
        let of = match kind {
            _ if self.run.window.is_none() => SavedTime::Wall,
            Kind::Cpu => SavedTime::Cpu,
            Kind::Waiting => SavedTime::Waiting,
        };
        Seen::Value(Saving {
            ns: Interval { lo, hi },
            of,
            part,
            known,
            queued_ns: 0,
            shared: None,
            learnt: None,
        })
    }

    /// A saving of which this part is CPU time, at most with the waits behind other programs that
    /// go with it: a fair scheduler gives a thread its part of a CPU, so one that needs half as
    /// much waits half as long.
    fn with_queue(&self, ns: Interval, on_cpu: f64) -> Interval {
        let behind_ns = self.run.run_queue.value().map_or(0, |_| starved::of(self).others_ns);
        let each = behind_ns as f64 / self.account_ns(State::on_cpu).max(1) as f64;
        Interval { hi: ns.hi + (ns.hi as f64 * on_cpu * each) as Ns, ..ns }
    }

    /// Two savings of time that the places do not share, with the part of the larger. Each was
    /// bounded by all that there is, and so is their sum.
    pub(super) fn together(&self, one: Seen<Saving>, other: Seen<Saving>) -> Seen<Saving> {
        match (one, other) {
            (Seen::Value(one), Seen::Value(other)) => {
                let hi = (one.ns.hi + other.ns.hi).min(self.run.whole_ns());
                Seen::Value(Saving {
                    ns: Interval { lo: (one.ns.lo + other.ns.lo).min(hi), hi },
                    ..if one.ns.hi >= other.ns.hi { one } else { other }
                })
            }
            (Seen::Value(one), _) | (_, Seen::Value(one)) => Seen::Value(one),
            (why, _) => why,
        }
    }

    /// A site's times, where it has a clock.
    pub(super) fn site(&self, site: &Site) -> Option<&SiteTimes> {
        self.prediction?.sites.iter().find(|times| times.site == *site)
    }

    /// What the account has of it, in a window time of threads, which is saved as such. At least
    /// that only where no other thread could have taken its place.
    fn ends(&self, goes: &Removal, part: Part) -> Interval {
        let (ns, part) = match goes {
            Removal::Account(ns, _) | Removal::Wall(ns) => (*ns, part),
            Removal::Parts(parts) => (parts.account_ns, ALL),
            Removal::Samples(share) => {
                let on_cpu_ns = self.account_ns(State::on_cpu) as f64;
                let (lo, hi) = (on_cpu_ns * share.lo, on_cpu_ns * share.hi);
                (Interval { lo: lo as Ns, hi: hi.ceil() as Ns }, part)
            }
        };
        let alone = self.run.window.is_some() || self.run.threads.len() == 1;
        let certain = alone || matches!(goes, Removal::Wall(_));
        let of = |part: f64, ns: Ns| (part.clamp(0.0, 1.0) * ns as f64).round() as Ns;
        Interval { lo: if certain { of(part.0, ns.lo) } else { 0 }, hi: of(part.1, ns.hi) }
    }

    /// What of the wall clock the host's CPUs are not needed for: waits save no more.
    fn beyond_cpus_ns(&self, goes: &Removal) -> Ns {
        let goes_ns = match goes {
            _ if self.run.window.is_some() || kind(goes) == Kind::Cpu => return Ns::MAX,
            Removal::Parts(parts) => parts.cpu_ns,
            Removal::Account(..) => 0,
            Removal::Samples(_) | Removal::Wall(_) => return Ns::MAX,
        };
        let left_ns = self.cpu_ns().saturating_sub(goes_ns) / u64::from(self.run.host.cpus.max(1));
        self.run.wall_ns.saturating_sub(left_ns)
    }

    /// All of the account that is not the program's own computing. A fair scheduler gives a thread
    /// its part of a CPU, so waits for one divide as the time on CPUs does.
    pub(super) fn beside_own_ns(&self) -> Ns {
        let own_ns = self.account_ns(|state| state == State::User) as f64;
        let queued_ns = self.account_ns(|state| state == State::Runqueue) as f64;
        let each = queued_ns / self.account_ns(State::on_cpu).max(1) as f64;
        self.run.whole_ns().saturating_sub((own_ns * (1.0 + each)) as Ns)
    }

    /// Time of all threads on a CPU.
    pub(super) fn cpu_ns(&self) -> Ns {
        let states = self.run.threads.iter().flat_map(|thread| &thread.states);
        states.filter(|(state, _)| state.on_cpu()).map(|(_, ns)| ns).sum()
    }

    /// As many CPUs as the program may use: the host's, those that it is bound to, or its quota.
    pub(super) fn cpus_allowed(&self) -> f64 {
        let quota = self.run.limits.value().and_then(|limits| limits.cpu.value());
        quota.map_or(self.cpus_bound_to(), |quota| self.cpus_bound_to().min(quota.cpus()))
    }

    /// As many CPUs as a process of it may be on at once, whatever its quota.
    pub(super) fn cpus_bound_to(&self) -> f64 {
        let bound_to = self.run.limits.value().and_then(|limits| limits.cpus_allowed.value());
        let host = self.run.host.cpus.max(1);
        f64::from(bound_to.map_or(host, |allowed| host.min(*allowed)))
    }

    /// Which part of what goes is time on a CPU.
    fn on_cpu_part(&self, goes: &Removal) -> f64 {
        match goes {
            _ if kind(goes) == Kind::Cpu => 1.0,
            Removal::Parts(parts) => (parts.cpu_ns as f64 / parts.account_ns.hi.max(1) as f64).min(1.0),
            _ => 0.0,
        }
    }
}

pub(super) fn kind(goes: &Removal) -> Kind {
    match goes {
        Removal::Samples(_) => Kind::Cpu,
        Removal::Wall(_) => Kind::Waiting,
        Removal::Account(_, kind) => *kind,
        Removal::Parts(parts) => parts.kind,
    }
}

/// The part that is gone when something is done this many times faster.
pub(super) fn faster(times: f64) -> f64 {
    1.0 - 1.0 / times
}

/// What pieces of work save at most of which several are done at a time, each by one.
pub(super) fn divided(total_ns: Ns, longest_ns: Ns, at_a_time: f64) -> Ns {
    total_ns.saturating_sub(longest_ns.max((total_ns as f64 / at_a_time.max(1.0)) as Ns))
}

/// What some waits in a state have of the path, where only their sum over all threads is known: at
/// least what no other wait in that state can have, and no more than all of them have.
pub(super) fn on_path(evidence: &Evidence<'_>, state: State, waited_ns: Ns) -> Interval {
    let of_state = || evidence.run.waits.iter().filter(|wait| wait.reason == state);
    let total_ns: Ns = of_state().map(|wait| wait.total_ns).sum();
    let path_ns: Ns = of_state().map(|wait| wait.path_ns).sum();
    let off_path_ns = total_ns.saturating_sub(path_ns);
    Interval { lo: waited_ns.saturating_sub(off_path_ns).min(path_ns), hi: waited_ns.min(path_ns) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{behind_others, run};
    use model::Profile;
    use model::recording::Tier;

    const MS: Ns = 1_000_000;

    #[test]
    fn two_savings_together_are_no_more_than_there_is() {
        let run = run(&[(State::Network, 1000 * MS)]);
        let profile = Profile::default();
        let evidence = Evidence::of(Tier::Bpf, &run, &profile);
        let saving = |lo, hi| {
            let goes = Removal::Account(Interval { lo: lo * MS, hi: hi * MS }, Kind::Waiting);
            evidence.saving(&goes, ALL, SavingBasis::Counted)
        };
        let of = |one, other| {
            let both = evidence.together(one, other);
            both.value().map(|saving| (saving.ns.lo / MS, saving.ns.hi / MS))
        };
        assert_eq!(of(saving(200, 300), saving(100, 400)), Some((300, 700)));
        assert_eq!(of(saving(700, 900), saving(100, 400)), Some((800, 1000)));
        assert_eq!(of(saving(700, 900), saving(600, 900)), Some((1000, 1000)));
        assert_eq!(of(Seen::unseen("no clock"), saving(100, 400)), Some((100, 400)));
    }

    #[test]
    fn cpu_time_goes_with_its_waits_behind_others() {
        let states = [(State::User, 500 * MS), (State::Runqueue, 300 * MS), (State::Sleep, 200 * MS)];
        let mut run = run(&states);
        run.run_queue = behind_others(250 * MS);
        let profile = Profile::default();
        let evidence = Evidence::of(Tier::Bpf, &run, &profile);
        let saves = |goes: Kind| {
            let ns = Interval { lo: 100 * MS, hi: 200 * MS };
            let saving = evidence.saving(&Removal::Account(ns, goes), ALL, SavingBasis::Counted);
            let ns = saving.value().expect("the account has it").ns;
            (ns.lo, ns.hi)
        };
        assert_eq!(saves(Kind::Cpu), (100 * MS, 300 * MS), "half as long again behind others");
        assert_eq!(saves(Kind::Waiting), (100 * MS, 200 * MS));
    }
}
