//! The clocks of threads as their time is booked, and what they come to.
//!
//! In a window there are none: it has no end that could come earlier.

use super::clocked::{Clocked, Spent};
use super::tree::Tree;
use super::wall::Wall;
use crate::account::{Clocks, SiteClock, SiteKey, Slot, Watched, part};
use crate::keys::WaitKey;
use crate::names::Names;
use model::account::Basis;
use model::coverage::Interval;
use model::prediction::{Prediction, Site, SiteTimes};
use model::recording::{Comm, SampleMode};
use model::{Ns, Seen, State};
use std::cmp::Reverse;

impl Tree {
    /// The process of a thread executes another program.
    pub(super) fn executes(&mut self, slot: Slot, name: Comm) {
        if self.predicts {
            self.get_mut(slot).clocked.program = self.sites.program(name);
        }
    }

    /// A sample was taken of a thread: in a fault, or in a call that was not traced.
    pub(super) fn sampled_at_site(&mut self, slot: Slot, mode: SampleMode, period_ns: u32) {
        let key = match mode {
            SampleMode::Fault => SiteKey::State(State::Fault),
            SampleMode::Call(call) | SampleMode::InterruptInCall(call) => SiteKey::Call(call),
            _ => return,
        };
        if !self.predicts {
            return;
        }
        let site = self.sites.id(key);
        self.sites.is_sampled(site);
        self.get_mut(slot).clocked.sampled(site, period_ns.into());
    }

    /// A thread's time up to `to` is about to be booked as a wait, or as time in the run queue.
    pub(super) fn clock_waits(&mut self, slot: Slot, to: Ns, (state, reason): WaitKey) {
        let thread = self.get(slot);
        let (ns, pid) = (to.saturating_sub(thread.since), thread.pid);
        let mut spent = Spent::new();
        SiteKey::of_wait(pid, state, reason, |key| spent.push((self.sites.id(key), ns)));
        self.clock_passes(slot, to, spent);
    }

    /// The same on a CPU: `own_ns` outside of calls.
    pub(super) fn clock_runs(&mut self, slot: Slot, to: Ns, own_ns: Ns, mut spent: Spent) {
        self.get_mut(slot).clocked.take_sampled(own_ns, &mut spent);
        self.clock_passes(slot, to, spent);
    }

    fn clock_passes(&mut self, slot: Slot, to: Ns, mut spent: Spent) {
        let thread = &mut self.threads[slot as usize];
        let ns = to.saturating_sub(thread.since);
        let alone_ns = thread.clocked.mark.go_on(&mut self.alone, to, thread.doing.progress().is_some());
        let Clocked { clocks, program, .. } = &mut thread.clocked;
        clocks.passes(ns);
        spent.extend(program.map(|program| (program, ns)));
        for (site, spent_ns) in spent {
            if let Some(watch) = self.sites.spends(site, spent_ns, to) {
                clocks.spends(watch, spent_ns, part(alone_ns, spent_ns, ns));
            }
        }
        if self.sites.thin_out(to) {
            self.keep_watched();
        }
    }

    /// A thread was held up by one with these clocks.
    pub(super) fn clock_held_up(&mut self, slot: Slot, by: &Clocks, (_, reason): WaitKey) {
        if !self.predicts {
            return;
        }
        let thread = &mut self.threads[slot as usize];
        let under_way = thread.doing.progress().is_some();
        let Clocked { clocks, mark, .. } = &mut thread.clocked;
        let (from, to) = (clocks.at(), clocks.at().max(by.at()));
        let alone_ns = mark.go_on(&mut self.alone, to, under_way);
        let lock = SiteKey::lock(thread.pid, reason).map(|lock| self.sites.id(lock));
        let dropped = lock.and_then(|lock| self.sites.spends(lock, to - from, to));
        clocks.held_up(by, dropped);
        if let Some(lock) = dropped {
            clocks.spends(lock, to - from, alone_ns);
        }
    }

    /// A thread is ended by another one of its process.
    pub(super) fn clock_led_out(&mut self, slot: Slot, by: &Clocks) {
        if !self.predicts {
            return;
        }
        let thread = &mut self.threads[slot as usize];
        thread.clocked.mark.go_on(&mut self.alone, by.at(), true);
        thread.clocked.clocks.led_out(by);
    }

    /// Nobody goes on with the clocks of this thread.
    pub(super) fn forget_clocks(&mut self, slot: Slot) {
        self.get_mut(slot).clocked.clocks = Clocks::default();
    }

    /// Threads forget sites that are no longer watched.
    fn keep_watched(&mut self) {
        for thread in &mut self.threads {
            thread.clocked.clocks.keep(|watch| self.sites.is_watched(watch));
        }
    }
}

/// What the clocks of the thread that the program ended with come to. `sliced`: calls were traced
/// in a part of the time.
pub(super) fn prediction(wall: &Wall, tree: &Tree, names: &Names, sliced: bool) -> Seen<Prediction> {
    if tree.in_window {
        return Seen::Absent;
    }
    if !tree.predicts {
        return Seen::unseen("it was not asked for");
    }
    let Some(last) = tree.threads.get(wall.last.unwrap_or(0) as usize) else {
        return Seen::unseen("no thread was seen");
    };
    let clocks = &last.clocked.clocks;
    let unedited_ns = clocks.at().saturating_sub(wall.start);
    let of_end = |site| times(site, clocks, unedited_ns, names);
    let mut sites: Vec<_> = tree.sites.at_end(unedited_ns).map(of_end).collect();
    for times in sites.iter_mut().filter(|times| sliced && matches!(times.site, Site::Call(_))) {
        times.basis = Basis::Sampled;
    }
    let most = |seen: &Seen<Interval>| seen.value().map(|ns| ns.hi);
    // In an order of their own where they save the same.
    sites.sort_by_cached_key(|times| {
        (Reverse((most(&times.saved_ns), most(&times.path_ns))), format!("{:?}", times.site))
    });
    Seen::Value(Prediction { unedited_ns, sites })
}

fn times(site: Watched, clocks: &Clocks, wall_ns: Ns, names: &Names) -> SiteTimes {
    let interval = |of: fn(SiteClock) -> Ns| match site.watch {
        Some((watch, before_ns)) => {
            let lo = of(clocks.of(watch));
            Seen::Value(Interval { lo, hi: (lo + before_ns).min(wall_ns) })
        }
        None => Seen::unseen("too many sites had more time to watch this one as well"),
    };
    SiteTimes {
        site: named(site.key, names),
        path_ns: interval(|clock| clock.path_ns),
        saved_ns: interval(|clock| clock.saved_ns),
        alone_ns: interval(|clock| clock.alone_ns),
        basis: if site.sampled { Basis::Sampled } else { Basis::Measured },
    }
}

fn named(key: SiteKey, names: &Names) -> Site {
    match key {
        SiteKey::Call(call) => Site::Call(names.arch.syscall(call)),
        SiteKey::Lock(pid, address) => Site::Lock { pid, address },
        SiteKey::Peer(target) => Site::Peer(names.target(target)),
        SiteKey::NameLookups => Site::NameLookups,
        SiteKey::File(file) => Site::File(names.files.path(file)),
        SiteKey::Program(name) => Site::Program(name.to_text()),
        SiteKey::State(state) => Site::State(state),
    }
}
