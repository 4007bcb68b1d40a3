//! The clocks of one thread (`account::Clocks`), with what is needed to go on with them.

use crate::account::{Clocks, Mark, SiteId, SiteKey, Sites, SoloClock};
use model::Ns;
use smallvec::SmallVec;

/// A thread's clocks, and what is needed to go on with them.
#[derive(Debug)]
pub(super) struct Clocked {
    pub(super) clocks: Clocks,
    pub(super) mark: Mark,
    /// What its process executes, as soon as there are two programs.
    pub(super) program: Option<SiteId>,
    pub(super) sampled: Sampled,
    pub(super) returns: Returns,
}

/// From what a thread returns to a CPU: that it waits for one then is due to that.
#[derive(Debug, Default)]
pub(super) struct Returns {
    /// What its last wait was for, if nobody of the tree ended it; or the lock that it waited for.
    sites: SmallVec<[SiteId; 3]>,
    /// Another thread of the tree held it up.
    held_up: bool,
}

impl Returns {
    /// A wait for this has passed, or the way from who ended it.
    pub(super) fn waited(&mut self, sites: impl Iterator<Item = SiteId>) {
        if !self.held_up {
            self.sites = sites.collect();
        }
    }

    fn held_up(&mut self, lock: Option<SiteId>) {
        *self = Self { sites: lock.into_iter().collect(), held_up: true };
    }

    /// It is on a CPU.
    #[inline]
    pub(super) fn ends(&mut self) {
        self.sites.clear();
        self.held_up = false;
    }

    pub(super) fn sites(&self) -> &[SiteId] {
        &self.sites
    }
}

/// Time at sites that samples of a thread stand for and that is still to come out of its own.
#[derive(Debug, Default)]
pub(super) struct Sampled(Vec<(SiteId, Ns)>);

impl Clocked {
    /// The clocks of a new thread.
    pub(super) fn new(creator: Option<&Clocked>, alone: &mut SoloClock, at: Ns, under_way: bool) -> Self {
        Self {
            clocks: creator.map_or_else(|| Clocks::new(at), |creator| creator.clocks.clone()),
            mark: Mark::new(alone, at, under_way),
            program: creator.and_then(|creator| creator.program),
            sampled: Sampled::default(),
            returns: Returns::default(),
        }
    }

    /// It was held up by a thread with these clocks; `lock`: by this one.
    pub(super) fn held_up(
        &mut self,
        sites: &mut Sites,
        alone: &mut SoloClock,
        by: &Clocks,
        lock: Option<SiteKey>,
    ) {
        let Self { clocks, mark, .. } = &mut *self;
        let (from, to) = (clocks.at(), clocks.at().max(by.at()));
        let alone_ns = mark.read(alone, from, to);
        sites.thin_out(to);
        let lock = lock.map(|lock| sites.id(lock));
        let dropped = lock.and_then(|lock| sites.spends(lock, to - from, to));
        clocks.held_up(by, dropped, sites.places());
        self.returns.held_up(lock);
        if let Some(lock) = dropped {
            self.clocks.spends(lock, to - from, alone_ns);
        }
    }
}

impl Sampled {
    /// A sample stands for so much time at a site.
    pub(super) fn add(&mut self, site: SiteId, ns: Ns) {
        match self.0.iter_mut().find(|(known, _)| *known == site) {
            Some((_, sum)) => *sum += ns,
            None => self.0.push((site, ns)),
        }
    }

    pub(super) fn add_all(&mut self, more: Sampled) {
        more.0.into_iter().for_each(|(site, ns)| self.add(site, ns));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One of the sites, with what can have been spent at it in this time, which is less then.
    #[inline]
    pub(super) fn take(&mut self, own_ns: &mut Ns) -> Option<(SiteId, Ns)> {
        let (site, left_ns) = self.0.first_mut().filter(|_| *own_ns > 0)?;
        let (site, ns) = (*site, (*left_ns).min(*own_ns));
        (*own_ns, *left_ns) = (*own_ns - ns, *left_ns - ns);
        if *left_ns == 0 {
            self.0.swap_remove(0);
        }
        Some((site, ns))
    }
}
