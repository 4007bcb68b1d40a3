//! The clocks of all threads, as their time is booked.
//!
//! `tree` says what each thread did; the rules by which clocks go on are in `account`. What the
//! clocks come to at the end is in `prediction`.

use super::clocked::{Clocked, Returns, Sampled};
use crate::account::{ActivityId, Clocks, Reading, SiteId, SiteKey, Sites, Slot, SoloClock, part};
use crate::keys::{ReasonKey, WaitKey};
use model::recording::{Comm, SampleMode};
use model::{Call, Ns, Pid, State};

/// The clocks of all threads.
#[derive(Debug, Default)]
pub(super) struct Predictor {
    pub(super) sites: Sites,
    alone: SoloClock,
    /// By slot.
    threads: Vec<Clocked>,
    /// As long as there is one: all time is its own, so it needs no clock.
    only_program: Option<OnlyProgram>,
    /// Time of all threads.
    all_ns: Ns,
    /// What samples of threads that ended stand for beyond the time that these had, by program.
    left_over: Vec<(Option<SiteId>, Sampled)>,
}

/// The only program that was executed yet.
#[derive(Debug, Clone, Copy)]
struct OnlyProgram {
    name: Comm,
    from: Reading,
    /// Time of all threads before.
    before_ns: Ns,
}

/// A stretch of a thread's time, of which it is told at what sites it was spent.
#[derive(Debug)]
struct Passing<'a> {
    sites: &'a mut Sites,
    clocks: &'a mut Clocks,
    to: Ns,
    ns: Ns,
    /// For so long no other thread was under way.
    alone_ns: Ns,
}

impl Predictor {
    /// A thread comes, with clocks of its own or as `creator`'s go on.
    pub(super) fn adds(&mut self, slot: Slot, at: Ns, under_way: bool, creator: Option<Slot>) {
        let creator = creator.map(|creator| &self.threads[creator as usize]);
        let thread = Clocked::new(creator, &mut self.alone, at, under_way);
        match self.threads.get_mut(slot as usize) {
            Some(free) => *free = thread,
            None => self.threads.push(thread),
        }
        self.takes_left_over(slot);
    }

    /// A thread has ended. What its samples stand for and it had no time for falls to the next one
    /// of its program: a process may be shorter than the period.
    pub(super) fn dies(&mut self, slot: Slot) {
        let Clocked { program, sampled, .. } = &mut self.threads[slot as usize];
        if sampled.is_empty() {
            return;
        }
        let sampled = std::mem::take(sampled);
        match self.left_over.iter_mut().find(|(of, _)| of == program) {
            Some((_, sum)) => sum.add_all(sampled),
            None => self.left_over.push((*program, sampled)),
        }
    }

    fn takes_left_over(&mut self, slot: Slot) {
        let Clocked { program, sampled, .. } = &mut self.threads[slot as usize];
        if let Some(at) = self.left_over.iter().position(|(of, _)| of == program) {
            sampled.add_all(self.left_over.swap_remove(at).1);
        }
    }

    /// A thread does something else from then on.
    #[inline]
    pub(super) fn becomes(&mut self, slot: Slot, at: Ns, under_way: bool) {
        self.threads[slot as usize].mark.becomes(&mut self.alone, at, under_way);
    }

    /// The clocks of a thread as they are now.
    pub(super) fn clocks(&self, slot: Slot) -> &Clocks {
        &self.threads[slot as usize].clocks
    }

    /// The process of a thread executes another program.
    pub(super) fn executes(&mut self, slot: Slot, name: Comm) {
        match self.only_program {
            None if self.threads.len() == 1 && self.threads[0].program.is_none() => {
                let from = self.threads[0].clocks.now();
                self.only_program = Some(OnlyProgram { name, from, before_ns: self.all_ns });
            }
            Some(only) if only.name == name => {}
            _ => {
                self.tells_programs_apart();
                self.threads[slot as usize].program = self.sites.program(name);
            }
        }
        self.takes_left_over(slot);
    }

    /// The only program gets a clock.
    fn tells_programs_apart(&mut self) {
        if let Some(OnlyProgram { name, from, before_ns }) = self.only_program.take() {
            let program = self.sites.program(name);
            self.threads.iter_mut().for_each(|thread| thread.program = program);
            self.left_over.iter_mut().for_each(|(of, _)| *of = program);
            if let Some(program) = program {
                self.sites.was_all(program, from, self.all_ns - before_ns);
            }
        }
    }

    /// The clocks of the thread that the program ended with.
    pub(super) fn ends_with(&mut self, slot: Slot) -> Option<Clocks> {
        self.tells_programs_apart();
        let mut clocks = self.threads.get(slot as usize)?.clocks.clone();
        clocks.renew(self.sites.places());
        Some(clocks)
    }

    /// A sample that counts was taken of a thread.
    pub(super) fn sampled(&mut self, slot: Slot, mode: SampleMode, period_ns: u32) {
        let site = match mode {
            SampleMode::User => return,
            SampleMode::Fault => Sites::state(State::Fault),
            SampleMode::InterruptOutside => Sites::state(State::Interrupt),
            SampleMode::Call(call) | SampleMode::InterruptInCall(call) => self.sites.call(call),
            SampleMode::Entry | SampleMode::Kernel | SampleMode::Interrupt => Sites::state(State::Kernel),
        };
        self.threads[slot as usize].sampled.add(site, period_ns.into());
    }

    /// A thread was on a CPU up to then: in these calls, and `own_ns` outside of them.
    pub(super) fn runs(
        &mut self,
        slot: Slot,
        to: Ns,
        mut own_ns: Ns,
        calls: impl Iterator<Item = (Call, Ns)>,
    ) {
        let (mut passing, sampled, returns) = self.passes(slot, to);
        returns.ends();
        let (kernel, mut kernel_ns) = (Sites::state(State::Kernel), 0);
        for (call, ns) in calls {
            let site = passing.sites.call(call);
            passing.spends(site, ns);
            kernel_ns += ns;
        }
        while let Some((site, ns)) = sampled.take(&mut own_ns) {
            passing.sites.sampled(site, ns);
            if site == kernel {
                kernel_ns += ns;
                continue;
            }
            passing.spends(site, ns);
            if !Sites::is_state(site) {
                passing.sites.sampled(kernel, ns);
                kernel_ns += ns;
            }
        }
        for (state, ns) in [(State::Kernel, kernel_ns), (State::User, own_ns)] {
            if ns > 0 {
                passing.spends(Sites::state(state), ns);
            }
        }
    }

    /// A thread of this process has waited up to then. `activity`: as in [`Sites::of_wait`].
    pub(super) fn waits(
        &mut self,
        (slot, pid): (Slot, Pid),
        to: Ns,
        kind: WaitKey,
        activity: Option<ActivityId>,
    ) {
        let (mut passing, _, returns) = self.passes(slot, to);
        let ns = passing.ns;
        let sites = passing.sites.of_wait(pid, kind, activity);
        for site in &sites {
            passing.spends(*site, ns);
        }
        if kind.0 == State::Runqueue {
            returns.sites().iter().for_each(|site| passing.spends(*site, ns));
        } else {
            // States are charged by the account; skip them here.
            returns.waited(sites.into_iter().filter(|site| !Sites::is_state(*site)));
        }
    }

    /// A thread did something else up to then.
    pub(super) fn rests(&mut self, slot: Slot, to: Ns) {
        self.passes(slot, to);
    }

    #[inline(always)]
    fn passes(&mut self, slot: Slot, to: Ns) -> (Passing<'_>, &mut Sampled, &mut Returns) {
        let (sites, thread) = (&mut self.sites, &mut self.threads[slot as usize]);
        let Clocked { clocks, mark, program, sampled, returns } = thread;
        let from = clocks.at();
        let ns = to.saturating_sub(from);
        let alone_ns = mark.read(&mut self.alone, from, to);
        self.all_ns += ns;
        clocks.renew(sites.places());
        clocks.passes(ns, alone_ns);
        let mut passing = Passing { sites, clocks, to, ns, alone_ns };
        if let Some(program) = program {
            passing.spends(*program, ns);
        }
        (passing, sampled, returns)
    }

    /// A thread of this process was held up by another thread.
    pub(super) fn held_up_by_thread(&mut self, (slot, pid): (Slot, Pid), by: Slot, reason: ReasonKey) {
        let Self { sites, alone, threads, .. } = self;
        if let Ok([thread, by]) = threads.get_disjoint_mut([slot as usize, by as usize]) {
            thread.held_up(sites, alone, &by.clocks, SiteKey::lock(pid, reason));
        }
    }

    /// The same by one that had these clocks.
    pub(super) fn held_up(&mut self, (slot, pid): (Slot, Pid), by: &Clocks, reason: ReasonKey) {
        let Self { sites, alone, threads, .. } = self;
        threads[slot as usize].held_up(sites, alone, by, SiteKey::lock(pid, reason));
    }

    /// A thread is ended by another one of its process.
    pub(super) fn killed_by_exit_group(&mut self, slot: Slot, by: Slot) {
        let clocks = self.clocks(by).clone();
        let thread = &mut self.threads[slot as usize];
        thread.mark.read(&mut self.alone, thread.clocks.at(), clocks.at());
        thread.clocks = clocks;
    }

    /// Nobody goes on with the clocks of this thread.
    pub(super) fn forgets(&mut self, slot: Slot) {
        self.threads[slot as usize].clocks = Clocks::default();
    }
}

impl Passing<'_> {
    /// Takes part of that time as spent at a site.
    #[inline(always)]
    fn spends(&mut self, site: SiteId, ns: Ns) {
        match self.sites.watched(site, ns) {
            Some(place) => self.clocks.spends(place, ns, part(self.alone_ns, ns, self.ns)),
            None => self.spends_unwatched(site, ns),
        }
    }

    #[cold]
    fn spends_unwatched(&mut self, site: SiteId, ns: Ns) {
        if let Some(place) = self.sites.spends(site, ns, self.to) {
            // It has just become this site's.
            self.clocks.renew(self.sites.places());
            self.clocks.spends(place, ns, part(self.alone_ns, ns, self.ns));
        }
    }
}
