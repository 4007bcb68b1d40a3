//! Who had each CPU lately, and so who ran while a thread waited for it.
//!
//! Threads of the tree are known from their switches, others from what was recorded of them. What a
//! thread's wait is given to is up to `tree`; the sums over all waits are in `rivals`.

use crate::keys::ReasonKey;
use crate::rivals::{Rivals, Who};
use model::recording::{Comm, SwitchIn};
use model::{Ns, Pid, Tid};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Stints of a CPU that are kept, of the tree and of others each. Of a wait that lasted longer, the
/// last ones stand for all.
const STINTS: usize = 256;

/// What had the CPUs.
#[derive(Debug, Default)]
pub(super) struct Occupants {
    cpus: Vec<Cpu>,
    /// The root runs since it started, on a CPU that its first switch names.
    root: Option<(Tid, Ns)>,
    /// Whether it is recorded what other programs had: older recordings name the last one only.
    told: bool,
    pub(super) rivals: Rivals,
}

#[derive(Debug, Default)]
struct Cpu {
    /// Since when a thread of the tree has it.
    since: Option<Ns>,
    own: VecDeque<Stint>,
    others: VecDeque<Stint>,
}

/// A time for which one thread had a CPU.
#[derive(Debug, Clone, Copy)]
struct Stint {
    from: Ns,
    to: Ns,
    who: Who,
}

/// A wait for a CPU that is over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queued<'a> {
    pub(super) cpu: u32,
    pub(super) from: Ns,
    pub(super) to: Ns,
    /// How it came.
    pub(super) into: &'a SwitchIn,
    /// Whether what ran last is a thread of the tree that lives.
    pub(super) after_own: bool,
}

/// Time by reason.
pub(super) type Meanwhile = SmallVec<[(ReasonKey, Ns); 4]>;

impl Occupants {
    /// The root has begun to run.
    pub(super) fn begins(&mut self, tid: Tid, at: Ns) {
        self.root = Some((tid, at));
    }

    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        let cpu = cpu as usize;
        if cpu >= self.cpus.len() {
            self.cpus.resize_with(cpu + 1, Cpu::default);
        }
        &mut self.cpus[cpu]
    }

    /// A thread of the tree comes.
    pub(super) fn comes(&mut self, cpu: u32, at: Ns) {
        self.cpu(cpu).since = Some(at);
    }

    /// A thread of the tree leaves.
    pub(super) fn leaves(&mut self, cpu: u32, at: Ns, tid: Tid, (name, pid): (Comm, Pid)) {
        let root = self.root.take_if(|(root, _)| *root == tid).map(|(_, since)| since);
        let cpu = self.cpu(cpu);
        if let Some(from) = cpu.since.take().or(root) {
            put(&mut cpu.own, Stint { from, to: at, who: Who::Own(name, pid) });
        }
    }

    /// Takes a stint on a CPU of a thread outside the tree, which has ended.
    pub(super) fn observe(&mut self, cpu: u32, from: Ns, to: Ns, who: (Tid, Pid, Comm)) {
        self.told = true;
        let (tid, pid, name) = who;
        let who = if tid == 0 { Who::Nobody } else { Who::Other(name, pid) };
        put(&mut self.cpu(cpu).others, Stint { from, to, who });
    }

    /// Who had the CPU while a thread waited for it. Sums to the wait.
    pub(super) fn meanwhile(&mut self, queued: Queued<'_>) -> Meanwhile {
        let whole = queued.to.saturating_sub(queued.from);
        let mut all = Reasons::default();
        let (mut ran, mut is_cut) = (SmallVec::<[(Who, Ns); 4]>::new(), false);
        if let Some(cpu) = self.cpus.get(queued.cpu as usize) {
            for stints in [&cpu.own, &cpu.others] {
                let within = stints.iter().rev().take_while(|stint| stint.to > queued.from);
                is_cut |= stints.len() == STINTS && stints.front().is_some_and(|one| one.from > queued.from);
                for stint in within {
                    let ns = stint.to.min(queued.to).saturating_sub(stint.from.max(queued.from));
                    all.add(stint.who.reason(), ns);
                    ran.push((stint.who, ns));
                }
            }
        }
        fit(&mut all.times, whole, is_cut);
        let known: Ns = all.times.iter().map(|(_, ns)| ns).sum();
        if known < whole {
            let rest = self.rest(&queued);
            ran.extend(Who::last(rest).map(|who| (who, whole - known)));
            all.add(rest, whole - known);
        }
        // By reason, in the order in which they ran.
        let mut ran: SmallVec<[(usize, (Who, Ns)); 4]> =
            ran.into_iter().filter_map(|one| Some((all.place(one.0.reason())?, one))).collect();
        ran.sort_by_key(|(place, _)| *place);
        for of_one in ran.chunk_by(|(a, _), (b, _)| a == b) {
            let ns = all.times[of_one[0].0].1;
            self.rivals.divide(ns, of_one.iter().map(|(_, one)| *one));
        }
        let mut all = all.times;
        all.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        all
    }

    /// Who had what is left of a wait.
    fn rest(&self, queued: &Queued<'_>) -> ReasonKey {
        let last = self.cpus.get(queued.cpu as usize).and_then(|cpu| cpu.own.back());
        let after_own = queued.after_own || last.is_some_and(|stint| stint.to >= queued.to);
        match queued.into.ran {
            Some((0, _)) => ReasonKey::IdleCpu,
            // Of its own it is known when they ran, and where others are recorded, of these too.
            Some((_, name)) if !self.told && !after_own => ReasonKey::Preempted(name),
            _ => ReasonKey::PreemptedUnseen,
        }
    }
}

fn put(stints: &mut VecDeque<Stint>, stint: Stint) {
    if stints.len() == STINTS {
        stints.pop_front();
    }
    stints.push_back(stint);
}

/// Above this number of reasons they are looked up by their hashes: of 10,000 threads that want a
/// CPU each has waited behind hundreds of others.
const FEW: usize = 8;

/// Time by reason, in the order in which reasons were met.
#[derive(Default)]
struct Reasons {
    times: Meanwhile,
    /// The places of all reasons, where they are more than a few.
    places: FxHashMap<ReasonKey, usize>,
}

impl Reasons {
    fn place(&self, reason: ReasonKey) -> Option<usize> {
        if self.times.len() > FEW {
            return self.places.get(&reason).copied();
        }
        self.times.iter().position(|(known, _)| *known == reason)
    }

    fn add(&mut self, reason: ReasonKey, ns: Ns) {
        if let Some(place) = self.place(reason) {
            self.times[place].1 += ns;
            return;
        }
        if ns == 0 {
            return;
        }
        self.times.push((reason, ns));
        if self.times.len() > FEW {
            let new = if self.places.is_empty() { 0 } else { self.times.len() - 1 };
            let told = self.times.iter().enumerate().skip(new);
            self.places.extend(told.map(|(place, (reason, _))| (*reason, place)));
        }
    }
}

/// Makes the sum no more than the whole, which clocks that differ by little may do, and where
/// earlier stints are forgotten the whole.
fn fit(all: &mut Meanwhile, whole: Ns, is_cut: bool) {
    let sum: Ns = all.iter().map(|(_, ns)| ns).sum();
    if sum > whole || (is_cut && sum > 0) {
        let scaled = |ns: Ns| (u128::from(ns) * u128::from(whole) / u128::from(sum)) as Ns;
        all.iter_mut().for_each(|(_, ns)| *ns = scaled(*ns));
        let missing = whole - all.iter().map(|(_, ns)| ns).sum::<Ns>();
        all[0].1 += missing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(name: &str, pid: Pid) -> (Tid, Pid, Comm) {
        (pid, pid, Comm::from(name))
    }

    fn ran(last: Option<(Tid, &str)>) -> SwitchIn {
        let ran = last.map(|(tid, name)| (tid, Comm::from(name)));
        SwitchIn { tid: 1, ran, throttled_ns: 0 }
    }

    fn queued(into: &SwitchIn, from: Ns, to: Ns) -> Queued<'_> {
        Queued { cpu: 1, from, to, into, after_own: false }
    }

    fn preempted(name: &str) -> ReasonKey {
        ReasonKey::Preempted(Comm::from(name))
    }

    #[test]
    fn each_is_given_the_time_for_which_it_had_the_cpu() {
        let mut cpus = Occupants::default();
        cpus.observe(1, 0, 150, other("hog", 7));
        cpus.comes(1, 150);
        cpus.leaves(1, 250, 2, (Comm::from("own"), 2));
        cpus.observe(1, 250, 300, other("rcu", 8));
        cpus.observe(1, 300, 700, other("hog", 9));
        cpus.observe(0, 100, 700, other("elsewhere", 10));
        let meanwhile = cpus.meanwhile(queued(&ran(Some((9, "hog"))), 100, 700));
        let own = ReasonKey::PreemptedByOwn(Comm::from("own"));
        assert_eq!(&meanwhile[..], [(preempted("hog"), 450), (own, 100), (preempted("rcu"), 50)]);
        let told = cpus.rivals.of_all(600, |_| Some("own --fast".into()));
        let rows = told.rows.iter().map(|row| (&*row.name, row.pid.value().copied(), row.of_tree, row.ns));
        let of_two = [("hog", Some(9), false, 400), ("own", Some(2), true, 100), ("hog", Some(7), false, 50)];
        assert_eq!(rows.collect::<Vec<_>>(), [&of_two[..], &[("rcu", Some(8), false, 50)]].concat());
        assert_eq!(told.rows[1].command.as_deref(), Some("own --fast"));
        assert_eq!((told.total_ns, told.other_ns + told.idle_cpu_ns + told.unseen_ns), (600, 0));
    }

    #[test]
    fn in_an_older_recording_the_last_one_has_what_its_own_threads_did_not_have() {
        let mut cpus = Occupants::default();
        cpus.comes(1, 0);
        cpus.leaves(1, 40, 2, (Comm::from("own"), 2));
        let own = ReasonKey::PreemptedByOwn(Comm::from("own"));
        let into = ran(Some((9, "hog")));
        assert_eq!(&cpus.meanwhile(queued(&into, 10, 100))[..], [(preempted("hog"), 60), (own, 30)]);
        let after_own = Queued { after_own: true, ..queued(&into, 10, 100) };
        assert_eq!(&cpus.meanwhile(after_own)[..], [(ReasonKey::PreemptedUnseen, 60), (own, 30)]);
        let idle = ran(Some((0, "swapper")));
        assert_eq!(&cpus.meanwhile(queued(&idle, 50, 60))[..], [(ReasonKey::IdleCpu, 10)]);
    }

    #[test]
    fn of_very_many_the_last_ones_stand_for_all() {
        let mut cpus = Occupants::default();
        for index in 0..1000 {
            cpus.observe(
                1,
                index * 10,
                index * 10 + 10,
                other(if index % 2 == 0 { "one" } else { "two" }, 7),
            );
        }
        let meanwhile = cpus.meanwhile(queued(&ran(None), 0, 10_000));
        assert_eq!(meanwhile.iter().map(|(_, ns)| ns).sum::<Ns>(), 10_000);
        assert!(meanwhile.iter().all(|(_, ns)| *ns == 5000), "{meanwhile:?}");
    }

    #[test]
    fn a_wait_of_no_time_and_a_cpu_that_was_never_heard_of() {
        let mut cpus = Occupants::default();
        assert!(cpus.meanwhile(queued(&ran(None), 5, 5)).is_empty());
        assert_eq!(&cpus.meanwhile(queued(&ran(None), 5, 9))[..], [(ReasonKey::PreemptedUnseen, 4)]);
    }
}
