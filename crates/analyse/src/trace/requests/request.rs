//! One request while it is followed: what is known of it, whoever works for it.

use super::history::RequestId;
use super::ledger::{Ledger, Part};
use super::worker::Worker;
use crate::account::Slot;
use model::Ns;
use model::recording::SocketEnds;
use model::requests::RequestTime;

/// A kind, by its number; `None`: it could not be read.
pub(super) type KindId = Option<u8>;

/// What is kept of who ended the waits of a request.
const HELD: usize = 24;

/// Stacks of a request that are told apart.
const STACKS: usize = 128;

/// One request that is followed.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) client: SocketEnds,
    pub(super) began: Ns,
    pub(super) kind: KindId,
    /// It was drawn at random, of this many.
    pub(super) one_in: u32,
    /// Who received it.
    pub(super) receiver: Slot,
    /// The most that is known of it, of those who turned to another.
    pub(super) left: Option<Ledger>,
    /// Who was handed it last.
    pub(super) front: Slot,
    /// When an answer was sent, first and last.
    pub(super) answered: Option<(Ns, Ns)>,
    /// The client sends no more.
    pub(super) heard_all: bool,
    /// The client is of the tree.
    pub(super) within: bool,
    /// Stacks that were taken of who worked for it, or was at another while it could go on.
    pub(super) stacks: Vec<(Part, u32, Ns)>,
    /// What those did who ended its waits, while it waited.
    pub(super) held: Vec<Held>,
}

/// A wait that another thread of the tree ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub(super) wait: Part,
    /// What that thread did meanwhile, for so long, and where as far as a stack tells.
    pub(super) by: Part,
    pub(super) ns: Ns,
    pub(super) node: Option<u32>,
}

/// A request's parts, where stacks were taken of it, and who ended its waits.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) ns: Ns,
    pub(super) kind: KindId,
    pub(super) one_in: u32,
    pub(super) parts: Box<[(Part, Ns)]>,
    pub(super) stacks: Box<[(Part, u32, Ns)]>,
    pub(super) held: Box<[Held]>,
}

impl Request {
    /// One that came in then, and was received by this thread.
    pub(super) fn new(client: SocketEnds, began: Ns, front: Slot) -> Self {
        let (left, answered, heard_all, within) = (None, None, false, false);
        let (stacks, held) = (Vec::new(), Vec::new());
        Self {
            client,
            began,
            kind: None,
            one_in: 1,
            receiver: front,
            left,
            front,
            answered,
            heard_all,
            within,
            stacks,
            held,
        }
    }

    /// A stack was taken of who works for it. Past the bound only what is known counts on.
    pub(super) fn has_stack(&mut self, part: Part, node: u32, ns: Ns) {
        let has_room = self.stacks.len() < STACKS;
        match self.stacks.iter_mut().find(|known| (known.0, known.1) == (part, node)) {
            Some((_, _, sum)) => *sum = sum.saturating_add(ns),
            None if has_room => self.stacks.push((part, node, ns)),
            None => {}
        }
    }

    /// A thread that took it up had been at this since then: from `own` on for the request, and
    /// before for others.
    pub(super) fn has_stacks_of(&mut self, by: &Worker, since: Ns, own: Option<Ns>) {
        for (at, part, node, ns) in by.stacks.iter().filter(|(at, ..)| *at > since) {
            let is_own = own.is_some_and(|own| *at > own);
            let part = if is_own { *part } else { (RequestTime::OtherRequest, part.1) };
            self.has_stack(part, *node, *ns);
        }
    }

    /// A wait of it, or time with no thread at it, has lasted since then and was ended by this
    /// thread: what that did meanwhile. Where that waited itself for what another had (`own`: by
    /// whom the waits of its request were ended), it is what the other did.
    pub(super) fn held_by(
        &mut self,
        (by, own): (&Worker, &[Held]),
        request: RequestId,
        wait: Part,
        since: Ns,
    ) {
        let mut from = since;
        by.history.since((since, None), request, wait, |to, did| {
            let ns = to.saturating_sub(from);
            from = from.max(to);
            if ns == 0 || did == wait {
                return;
            }
            let is_same = |held: &&Held| did.0 == RequestTime::OtherRequest && held.wait.1 == did.1;
            let all: Ns = own.iter().filter(is_same).map(|held| held.ns).sum();
            if all == 0 {
                let stacks = by.stacks.iter().filter(|(at, of, ..)| *at > since && of.1 == did.1);
                let node = stacks.max_by_key(|(.., ns)| *ns).map(|(_, _, node, _)| *node);
                return self.is_held(Held { wait, by: did, ns, node });
            }
            for held in own.iter().filter(is_same) {
                let ns = (u128::from(ns) * u128::from(held.ns) / u128::from(all)) as Ns;
                self.is_held(Held { wait, ns, ..*held });
            }
        });
    }

    fn is_held(&mut self, held: Held) {
        let is_known = |known: &Held| (known.wait, known.by) == (held.wait, held.by);
        match self.held.iter().position(is_known) {
            Some(at) => {
                let known = &mut self.held[at];
                known.ns = known.ns.saturating_add(held.ns);
                known.node = known.node.or(held.node);
            }
            None if self.held.len() < HELD => self.held.push(held),
            None => {}
        }
    }
}
