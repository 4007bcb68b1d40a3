//! The clocks of one thread (`account::Clocks`), with what is needed to go on with them.

use crate::account::{Clocks, Mark, SiteId};
use model::Ns;
use smallvec::SmallVec;

/// Time at sites.
pub(super) type Spent = SmallVec<[(SiteId, Ns); 8]>;

/// A thread's clocks, and what is needed to go on with them.
#[derive(Debug, Clone, Default)]
pub(super) struct Clocked {
    pub(super) clocks: Clocks,
    pub(super) mark: Mark,
    /// What its process executes.
    pub(super) program: Option<SiteId>,
    /// Time at sites that samples stand for and that is still to come out of the thread's own.
    sampled: SmallVec<[(SiteId, Ns); 1]>,
}

impl Clocked {
    /// Of a thread that has no creator in the tree.
    pub(super) fn new(at: Ns) -> Self {
        Self { clocks: Clocks::new(at), ..Self::default() }
    }

    /// Of a thread that this one creates.
    pub(super) fn forked(&self) -> Self {
        Self { clocks: self.clocks.clone(), program: self.program, ..Self::default() }
    }

    /// A sample of the thread stands for so much time at a site.
    pub(super) fn sampled(&mut self, site: SiteId, ns: Ns) {
        match self.sampled.iter_mut().find(|(known, _)| *known == site) {
            Some((_, sum)) => *sum += ns,
            None => self.sampled.push((site, ns)),
        }
    }

    /// What samples stand for and can have been in `own_ns` of the thread's own time.
    pub(super) fn take_sampled(&mut self, mut own_ns: Ns, spent: &mut Spent) {
        for (site, left_ns) in &mut self.sampled {
            let ns = own_ns.min(*left_ns);
            (own_ns, *left_ns) = (own_ns - ns, *left_ns - ns);
            spent.push((*site, ns));
        }
        self.sampled.retain(|(_, left_ns)| *left_ns > 0);
    }
}
