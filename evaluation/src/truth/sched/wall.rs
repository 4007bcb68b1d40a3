//! The wall clock of a program with all that it started, by what its threads did at each time.

use super::cpus::Cpus;
use super::{Doing, Root, Tid, Trace, Turn, What, turns};
use std::collections::{BTreeMap, BTreeSet};

/// The wall clock of a tree. Its parts but the last are the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wall {
    /// Some thread was on a CPU, and none waited for one.
    pub(crate) on_alone_ns: u64,
    /// Some thread was on a CPU, and others waited only for CPUs that the tree's own threads had.
    pub(crate) on_behind_own_ns: u64,
    /// Some thread was on a CPU, and another waited for one that another program had.
    pub(crate) on_behind_others_ns: u64,
    /// None was on a CPU, and some could have been.
    pub(crate) only_runnable_ns: u64,
    pub(crate) all_blocked_ns: u64,
    /// Of what is not all blocked: another thread waited for a disk, as a rule, and the path may
    /// have been there.
    pub(crate) beside_disk_ns: u64,
    /// How often all were blocked until one had a CPU, and its wake-up before that was not traced.
    pub(crate) wakes_unseen: u64,
}

impl Wall {
    pub(crate) fn whole_ns(&self) -> u64 {
        self.on_ns() + self.only_runnable_ns + self.all_blocked_ns
    }

    /// Some thread was on a CPU.
    pub(crate) fn on_ns(&self) -> u64 {
        self.on_alone_ns + self.on_behind_own_ns + self.on_behind_others_ns
    }
}

impl Trace {
    /// The wall clock of the program with all that it started, and which threads these were.
    pub(crate) fn wall(&self, root: &Root) -> (Wall, BTreeSet<Tid>) {
        let tree = self.tree(BTreeSet::from([root.tid]), root.begun_ns, root.ended_ns);
        let mut walk = Walk {
            at_ns: root.begun_ns,
            cpus: Cpus::new(&tree, root.begun_ns, root.ended_ns),
            doing: BTreeMap::from([(root.tid, Doing::On)]),
            on: 1,
            uninterruptible: 0,
            waiting: Vec::new(),
            wall: Wall::default(),
        };
        for event in self.0.iter().take_while(|event| event.at_ns < root.ended_ns) {
            if event.at_ns > root.begun_ns {
                walk.advance(event.at_ns);
                if let What::WakeUnseen { tid, .. } = event.what {
                    walk.wake_unseen(tid);
                }
                for turn in turns(event).iter().flatten().filter(|turn| tree.contains(&turn.tid)) {
                    walk.turn(turn);
                }
            }
            walk.cpus.advance(event);
        }
        walk.advance(root.ended_ns);
        (walk.wall, tree)
    }
}

/// The tree as it is at some time.
struct Walk<'a> {
    at_ns: u64,
    cpus: Cpus<'a>,
    doing: BTreeMap<Tid, Doing>,
    /// How many threads are on a CPU.
    on: usize,
    /// How many are blocked in a way that no signal ends.
    uninterruptible: usize,
    /// How many wait for each CPU.
    waiting: Vec<usize>,
    wall: Wall,
}

impl Walk<'_> {
    fn advance(&mut self, to_ns: u64) {
        let mut waited_for = self.waiting.iter().enumerate().filter(|(_, threads)| **threads > 0);
        let behind_others = waited_for.clone().any(|(cpu, _)| self.cpus.is_others(cpu));
        let waits = waited_for.next().is_some();
        if self.uninterruptible > 0 && (self.on > 0 || waits) {
            self.wall.beside_disk_ns += to_ns - self.at_ns;
        }
        let part = match (self.on > 0, waits) {
            (true, false) => &mut self.wall.on_alone_ns,
            (true, true) if behind_others => &mut self.wall.on_behind_others_ns,
            (true, true) => &mut self.wall.on_behind_own_ns,
            (false, true) => &mut self.wall.only_runnable_ns,
            (false, false) => &mut self.wall.all_blocked_ns,
        };
        *part += to_ns - self.at_ns;
        self.at_ns = to_ns;
    }

    /// A thread, of the tree or not, is about to get a CPU.
    fn wake_unseen(&mut self, tid: Tid) {
        let blocked = matches!(self.doing.get(&tid), Some(Doing::Blocked | Doing::Uninterruptible));
        let waits = self.waiting.iter().any(|threads| *threads > 0);
        self.wall.wakes_unseen += u64::from(blocked && self.on == 0 && !waits);
    }

    fn turn(&mut self, turn: &Turn) {
        let before = self.doing.get(&turn.tid).copied().unwrap_or(Doing::Gone);
        let now = turn.after(before);
        match before {
            Doing::On => self.on -= 1,
            Doing::Uninterruptible => self.uninterruptible -= 1,
            Doing::Runnable(cpu) => *self.waiting_for(cpu) -= 1,
            Doing::Blocked | Doing::Gone => {}
        }
        match now {
            Doing::On => self.on += 1,
            Doing::Uninterruptible => self.uninterruptible += 1,
            Doing::Runnable(cpu) => *self.waiting_for(cpu) += 1,
            Doing::Blocked | Doing::Gone => {}
        }
        self.doing.insert(turn.tid, now);
    }

    fn waiting_for(&mut self, cpu: usize) -> &mut usize {
        if self.waiting.len() <= cpu {
            self.waiting.resize(cpu + 1, 0);
        }
        &mut self.waiting[cpu]
    }
}
