//! What a change saves: the clocks of sites (`model::prediction`) where there are some, else the
//! account.
//!
//! A cause says what goes (sites, or a share of the samples) and which part of it. The interval is
//! that of `docs/method/prediction.md`: x·min(A, S) to min(x·P, S).

use super::Evidence;
use super::starved;
use model::coverage::Interval;
use model::finding::{SavedTime, Saving, SavingBasis};
use model::prediction::{Site, SiteTimes};
use model::run::{Share, ThreadLedger};
use model::{Ns, Seen, State};
use rustc_hash::FxHashMap;

/// What a change takes away a part of.
#[derive(Debug, Clone)]
pub(super) enum Removal {
    /// Time at these sites, which do not overlap. The account has so much of it, for where there
    /// are no clocks.
    Sites(Vec<Site>, Interval),
    /// The time on CPUs that such a share of the samples stands for.
    Samples(Share),
    /// Time that only the account knows, between these, of such a kind.
    Account(Interval, Kind),
    /// Time that the structure of the program says will go of the wall clock, between these; in a
    /// window of what threads wait for.
    Wall(Interval),
    /// A part of its own of each of some sites.
    Parts(Parts),
}

/// Sites that do not overlap, each with the part of it that goes; the part of all of
/// them together is only shown.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) sites: Vec<(Site, Part)>,
    /// CPU time of all threads that goes with them.
    pub(super) cpu_ns: Ns,
    /// What the account has of all that goes, for where there are no clocks.
    pub(super) account_ns: Interval,
    pub(super) kind: Kind,
}

/// Time of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Cpu,
    Waiting,
}

/// The part of it that goes, 0 to 1: least and most.
pub(super) type Part = (f64, f64);

/// All of it.
pub(super) const ALL: Part = (1.0, 1.0);

/// The states of a thread on a CPU.
pub(super) const ON_CPU: [State; 4] = [State::User, State::Kernel, State::Fault, State::Interrupt];

/// P and min(A, S), summed, of what goes; and S, where it bounds less than P.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    path_ns: Interval,
    saved_ns: Interval,
    least_ns: Interval,
}

impl Times {
    /// What it saves that this part goes: at least, by what nothing else can take the place of, and
    /// at most.
    fn ends(&self, part: Part) -> Interval {
        let of = |part: f64, ns: Ns| (part.clamp(0.0, 1.0) * ns as f64).round() as Ns;
        let hi = of(part.1, self.path_ns.hi).min(self.saved_ns.hi);
        Interval { lo: of(part.0, self.least_ns.lo), hi }
    }

    /// Of one site that goes together with others, or of their sum. Two may save more together than
    /// each alone: two branches of the same length save nothing one by one. What they have of the
    /// path bounds that.
    fn of_several(self) -> Self {
        Self { saved_ns: self.path_ns, ..self }
    }
}

impl Evidence<'_> {
    /// What it saves that this part goes.
    pub(super) fn saving(&self, goes: &Removal, part: Part, known: SavingBasis) -> Seen<Saving> {
        let kind = kind(goes);
        let ends = match (self.by_clocks(goes, part), goes) {
            (Some(ends), _) => ends,
            (None, Removal::Sites(..) | Removal::Parts(_)) if self.prediction.is_some() => {
                return Seen::unseen("the place has too little time for a prediction");
            }
            (None, Removal::Parts(_)) => self.by_account(goes).ends(ALL),
            (None, _) => self.by_account(goes).ends(part),
        };
        let ends = match self.run.window {
            Some(_) => ends,
            None => self.with_queue(ends, self.on_cpu_part(goes)),
        };
        let hi = ends.hi.min(self.run.whole_ns());
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

    /// A saving of which this part is CPU time, at most with the waits behind other programs that go
    /// with it: a fair scheduler gives a thread its part of a CPU, so one that needs half as much
    /// waits half as long.
    fn with_queue(&self, ns: Interval, on_cpu: f64) -> Interval {
        let behind_ns = self.run.run_queue.value().map_or(0, |_| starved::of(self).others_ns);
        let each = behind_ns as f64 / self.account_ns(State::on_cpu).max(1) as f64;
        longer(ns, (ns.hi as f64 * on_cpu * each) as Ns)
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

    /// What clocks say that this part saves; none where there are none.
    fn by_clocks(&self, goes: &Removal, part: Part) -> Option<Interval> {
        match goes {
            Removal::Parts(parts) => self.of_parts(parts),
            _ => self.times(goes).map(|times| times.ends(part)),
        }
    }

    fn of_parts(&self, parts: &Parts) -> Option<Interval> {
        let of = |(site, part): &(Site, Part)| {
            let times = self.of_sites(std::slice::from_ref(site), |times| self.known(times))?;
            Some((times, *part))
        };
        let all: Vec<(Times, Part)> = parts.sites.iter().filter_map(of).collect();
        let several = all.len() > 1;
        let ends =
            all.into_iter().map(|(times, part)| if several { times.of_several() } else { times }.ends(part));
        ends.reduce(|sum, more| Interval { lo: sum.lo + more.lo, hi: sum.hi + more.hi })
    }

    fn times(&self, goes: &Removal) -> Option<Times> {
        match goes {
            Removal::Sites(sites, _) => self.of_sites(sites, |times| self.known(times)),
            Removal::Samples(share) => {
                // Where the program's own code has no clock, what is left says nothing of it.
                self.site(&Site::State(State::User)).or_else(|| self.site(&Site::State(State::Kernel)))?;
                let all = self.of_sites(&ON_CPU.map(Site::State), SiteTimes::known)?;
                let of = |ns: Interval| Interval {
                    lo: (ns.lo as f64 * share.lo).floor() as Ns,
                    hi: (ns.hi as f64 * share.hi).ceil() as Ns,
                };
                let held_ns = self.held_by_sleeps_ns(all.path_ns, all.saved_ns);
                Some(Times {
                    path_ns: of(all.path_ns),
                    saved_ns: of(longer(all.saved_ns, held_ns)),
                    least_ns: of(all.least_ns),
                })
            }
            Removal::Account(..) | Removal::Wall(_) | Removal::Parts(_) => None,
        }
    }

    /// The sums over those of the sites that have clocks; none where none has.
    fn of_sites(&self, sites: &[Site], known: impl Fn(&SiteTimes) -> Option<[Interval; 3]>) -> Option<Times> {
        let (mut sum, mut count) = (None, 0);
        for [path, saved, alone] in sites.iter().filter_map(|site| known(self.site(site)?)) {
            let least = Interval { lo: alone.lo.min(saved.lo), hi: alone.hi.min(saved.hi) };
            let all = sum.get_or_insert_with(Times::default);
            count += 1;
            for (all, more) in
                [(&mut all.path_ns, path), (&mut all.saved_ns, saved), (&mut all.least_ns, least)]
            {
                *all = Interval { lo: all.lo + more.lo, hi: (all.hi + more.hi).min(self.run.wall_ns) };
            }
        }
        sum.map(|all| if count > 1 { all.of_several() } else { all })
    }

    /// P, S and A of a site.
    fn known(&self, times: &SiteTimes) -> Option<[Interval; 3]> {
        let [path, saved, alone] = times.known()?;
        let held_ns = self.held_by_sleeps_ns(path, saved);
        Some([path, longer(saved, held_ns), alone])
    }

    /// What may be saved of a site beyond what its clock says, since a thread of the path slept
    /// meanwhile. A thread that sleeps and polls, and waits for another one only at last, takes
    /// over that one's path then; but by its own clock it would be there no earlier than its sleeps
    /// end. Nothing that was seen says that it needed them. A shell sleeps by a program: processes
    /// of one name count together where their lives fit one after the other.
    fn held_by_sleeps_ns(&self, path: Interval, saved: Interval) -> Ns {
        let is_on_path = |thread: &&ThreadLedger| self.run.path.iter().any(|step| step.tid == thread.tid);
        let (mut most_ns, mut programs) = (0, FxHashMap::<&str, (Ns, Ns)>::default());
        for thread in self.run.threads.iter().filter(is_on_path) {
            let Some(timed) = thread.timed_waits else { continue };
            let slept_ns = timed.others_running_ns() + timed.others_waiting_ns;
            most_ns = most_ns.max(slept_ns);
            if thread.processes() > 0 {
                let (lived_ns, all_ns) = programs.entry(&thread.name).or_default();
                *lived_ns += thread.life_ns;
                *all_ns += slept_ns;
            }
        }
        let in_turn = programs.into_values().filter(|(lived_ns, _)| *lived_ns <= self.run.wall_ns);
        let slept_ns = in_turn.map(|(_, all_ns)| all_ns).fold(most_ns, Ns::max);
        path.hi.saturating_sub(saved.hi).min(slept_ns)
    }

    /// Without clocks: all that the account has of it, and at least that only where no other thread
    /// could have taken its place. In a window it is time of threads, which is saved as such.
    fn by_account(&self, goes: &Removal) -> Times {
        let ns = match goes {
            Removal::Sites(_, ns) | Removal::Account(ns, _) => *ns,
            Removal::Wall(ns) => *ns,
            Removal::Parts(parts) => parts.account_ns,
            Removal::Samples(share) => {
                let on_cpu_ns = self.account_ns(State::on_cpu) as f64;
                Interval { lo: (on_cpu_ns * share.lo) as Ns, hi: (on_cpu_ns * share.hi).ceil() as Ns }
            }
        };
        let of_structure = matches!(goes, Removal::Wall(_));
        let certain = self.run.window.is_some() || self.run.threads.len() == 1 || of_structure;
        let least_ns = if certain { ns } else { Interval { lo: 0, hi: ns.hi } };
        Times { path_ns: ns, saved_ns: ns, least_ns }
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
        Removal::Sites(sites, _) => {
            let on_cpu = |site: &Site| match site {
                Site::State(state) => state.on_cpu(),
                Site::Program(_) => true,
                // A call may be either; what waits in it is bounded by the rest of the program.
                _ => false,
            };
            if sites.iter().all(on_cpu) { Kind::Cpu } else { Kind::Waiting }
        }
    }
}

fn longer(ns: Interval, more_ns: Ns) -> Interval {
    Interval { hi: ns.hi + more_ns, ..ns }
}

/// The part that is gone when something is done this many times faster.
pub(super) fn faster(times: f64) -> f64 {
    1.0 - 1.0 / times
}

/// What pieces of work save at most that are done so many at a time, each by one.
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
    use crate::judge::file_samples::step;
    use crate::judge::samples::{behind_others, run, sites};
    use model::recording::Tier;
    use model::run::TimedWaits;
    use model::{Profile, Reason, Step};

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

    #[test]
    fn who_slept_and_looked_may_be_as_early_as_the_one_that_it_waits_for_at_last() {
        // Its child is in the run queue for 800 ms; it looks for it now and then for 700 of these,
        // and waits for the rest. By its clock only that rest can go.
        let mut run = run(&[(State::User, 200 * MS), (State::Runqueue, 800 * MS)]);
        let clocks = sites(&run, &[(Site::State(State::Runqueue), [800 * MS, 100 * MS, 100 * MS])]);
        let queue = Interval { lo: 800 * MS, hi: 800 * MS };
        let goes = Removal::Sites(vec![Site::State(State::Runqueue)], queue);
        let saves = |run: &model::Run| {
            let profile = Profile::default();
            let evidence = Evidence::of(Tier::Bpf, run, &profile).with(&clocks);
            let ns = evidence.saving(&goes, ALL, SavingBasis::Bounded).value().expect("there is a clock").ns;
            (ns.lo, ns.hi)
        };
        assert_eq!(saves(&run), (100 * MS, 100 * MS), "a wait for another thread, all the time");
        let slept = TimedWaits { times: 7, total_ns: 700 * MS, ..TimedWaits::default() };
        let tid = run.threads[0].tid;
        run.threads[0].timed_waits = Some(TimedWaits { others_runnable_ns: 600 * MS, ..slept });
        run.path = vec![Step { tid, ..step(State::Runqueue, Reason::None, 800 * MS) }];
        assert_eq!(saves(&run), (100 * MS, 700 * MS), "its child was under way for 600 of the 700 ms");
        run.path[0].tid = tid + 1;
        assert_eq!(saves(&run), (100 * MS, 100 * MS), "a thread that the end did not wait for");
    }

    #[test]
    fn sleeps_that_are_programs_of_their_own_count_together_where_they_may_follow_each_other() {
        let mut run = run(&[(State::User, 200 * MS), (State::Runqueue, 800 * MS)]);
        let clocks = sites(&run, &[(Site::State(State::Runqueue), [800 * MS, 100 * MS, 100 * MS])]);
        let goes =
            Removal::Sites(vec![Site::State(State::Runqueue)], Interval { lo: 800 * MS, hi: 800 * MS });
        let program = |at: u32| model::run::ThreadLedger {
            pid: 200 + at,
            tid: 200 + at,
            name: "sleep".to_owned(),
            life_ns: 100 * MS,
            timed_waits: Some(TimedWaits {
                times: 1,
                total_ns: 100 * MS,
                others_runnable_ns: 90 * MS,
                ..TimedWaits::default()
            }),
            ..run.threads[0].clone()
        };
        let programs: Vec<_> = (0..5).map(program).collect();
        run.path = (0..5).map(|at| Step { tid: 200 + at, ..step(State::Sleep, Reason::None, MS) }).collect();
        run.threads.extend(programs);
        let hi = |run: &model::Run| {
            let profile = Profile::default();
            let evidence = Evidence::of(Tier::Bpf, run, &profile).with(&clocks);
            evidence.saving(&goes, ALL, SavingBasis::Bounded).value().expect("there is a clock").ns.hi
        };
        assert_eq!(hi(&run), 550 * MS, "five times 90 ms more than its clock has");
        run.threads.iter_mut().for_each(|thread| thread.life_ns = 300 * MS);
        assert_eq!(hi(&run), 190 * MS, "they do not fit one after the other");
        run.threads.iter_mut().for_each(|thread| thread.life_ns = 100 * MS);
        run.threads.last_mut().expect("it is there").name = "other".to_owned();
        assert_eq!(hi(&run), 460 * MS);
    }
}
