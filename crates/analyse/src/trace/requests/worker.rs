//! A thread or task, as far as it works for requests: for which, and what it did most recently.

use super::history::{History, RequestId};
use super::ledger::{Ledger, Part};
use crate::account::Slot;
use model::{Ns, Tid};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// All of them, by their numbers: those of threads, and those of tasks from [`TASKS`] on.
#[derive(Debug, Default)]
pub(super) struct Workers {
    threads: Vec<Worker>,
    tasks: Vec<Worker>,
}

/// The number of the first task.
const TASKS: Slot = 1 << 31;

impl Workers {
    pub(super) fn get_or_make(&mut self, slot: Slot) -> &mut Worker {
        let (of, at) = match slot.checked_sub(TASKS) {
            Some(number) => (&mut self.tasks, number as usize),
            None => (&mut self.threads, slot as usize),
        };
        if of.len() <= at {
            of.resize_with(at + 1, Worker::default);
        }
        &mut of[at]
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Worker> {
        match slot.checked_sub(TASKS) {
            Some(number) => self.tasks.get(number as usize),
            None => self.threads.get(slot as usize),
        }
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut Worker> {
        match slot.checked_sub(TASKS) {
            Some(number) => self.tasks.get_mut(number as usize),
            None => self.threads.get_mut(slot as usize),
        }
    }
}

impl Index<Slot> for Workers {
    type Output = Worker;

    fn index(&self, slot: Slot) -> &Worker {
        self.get(slot).expect("it was made")
    }
}

impl IndexMut<Slot> for Workers {
    fn index_mut(&mut self, slot: Slot) -> &mut Worker {
        self.get_mut(slot).expect("it was made")
    }
}

/// A thread or task, as far as it works for requests.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) tid: Tid,
    /// What it did is known up to then.
    pub(super) until: Ns,
    pub(super) carries: Option<Carried>,
    /// It waits; for whichever of several comes first?
    pub(super) blocked: Option<bool>,
    /// When it last answered a request, or handed on what it was asked within the program.
    pub(super) delivered: Ns,
    /// Who of the tree ended its last wait.
    pub(super) woken_by: Option<Delivery>,
    /// What it received last from a peer whom it had asked for no request that is known: when it
    /// asked, when that came in, and which part of a request it is.
    pub(super) exchange: Option<(Ns, Ns, Part)>,
    pub(super) history: History,
    /// The last stacks that were taken of it: when, of what, where, and for how much they stand.
    pub(super) stacks: VecDeque<(Ns, Part, u32, Ns)>,
}

impl Worker {
    /// The number of a task among all workers, and back.
    pub(super) fn of_task(number: usize) -> Slot {
        TASKS | number as Slot
    }

    pub(super) fn is_task(slot: Slot) -> bool {
        slot >= TASKS
    }

    pub(super) fn number_of(task: Slot) -> usize {
        (task - TASKS) as usize
    }
}

/// A thread has ended the wait of another for whatever comes: with something that it has done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery {
    pub(super) by: Slot,
    /// When, and when it had delivered something before.
    pub(super) at: Ns,
    pub(super) before: Ns,
}

/// What a thread works for.
#[derive(Debug, Clone)]
pub(super) struct Carried {
    pub(super) request: RequestId,
    pub(super) ledger: Ledger,
    /// It was woken to go on with it.
    pub(super) handed: bool,
    /// The ledger's mark is where it began to wait for whatever comes.
    pub(super) in_wait: bool,
    /// It has sent an answer, and has waited since: what it does then is for no request, unless it
    /// sends more of the answer.
    pub(super) answered: bool,
    pub(super) rests: bool,
}

impl Carried {
    pub(super) fn taken(request: RequestId, ledger: Ledger) -> Self {
        Self { request, ledger, handed: false, in_wait: false, answered: false, rests: false }
    }

    pub(super) fn handed(&self) -> Self {
        let mut ledger = self.ledger.clone();
        ledger.settles();
        Self { handed: true, ..Self::taken(self.request, ledger) }
    }
}
