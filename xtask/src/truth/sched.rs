//! The first oracle: a trace of the scheduler, from which follows what the threads of a tree did,
//! without anything that dwell says.
//!
//! Of a program that was started: for how long some thread was on a CPU, for how long none was but
//! one could have been, and for how long all were blocked. Of a window: the same for each thread.
//! Reading a line is `line`'s part.

mod line;

use anyhow::{Result, ensure};
use line::{Event, Left, What, event};
pub(crate) use line::{Tid, nanoseconds};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// The trace, in the order of time.
pub(crate) struct Trace(Vec<Event>);

/// A program within the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) tid: Tid,
    /// When it was executed.
    pub(crate) begun_ns: u64,
    /// When its last thread left its CPU for good.
    pub(crate) ended_ns: u64,
}

/// The wall clock of a tree. The first three of it are the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wall {
    /// Some thread was on a CPU, and none waited for one.
    pub(crate) on_alone_ns: u64,
    /// Some thread was on a CPU, and another waited for one.
    pub(crate) on_contended_ns: u64,
    /// None was on a CPU, and some could have been.
    pub(crate) only_runnable_ns: u64,
    pub(crate) all_blocked_ns: u64,
}

impl Wall {
    pub(crate) fn whole_ns(&self) -> u64 {
        self.on_alone_ns + self.on_contended_ns + self.only_runnable_ns + self.all_blocked_ns
    }
}

/// A thread's time within a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) on_ns: u64,
    pub(crate) runnable_ns: u64,
    pub(crate) blocked_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    On,
    Runnable,
    Blocked,
    Gone,
}

/// What an event says of one thread: what it did before, and does now.
struct Turn {
    tid: Tid,
    before: Doing,
    now: Doing,
}

impl Trace {
    /// Reads the text of `perf script`.
    ///
    /// # Errors
    /// When it cannot be read, or has no events.
    pub(crate) fn read(text: impl BufRead) -> Result<Self> {
        let mut events = Vec::new();
        for line in text.split(b'\n') {
            events.extend(event(&String::from_utf8_lossy(&line?)));
        }
        ensure!(!events.is_empty(), "the trace of the scheduler is empty");
        // perf sorts by time as far as it flushed; a stable sort keeps the order of equal times.
        events.sort_by_key(|event| event.at_ns);
        Ok(Self(events))
    }

    /// The life of the first process that executed this file, from that on to its end or the
    /// trace's.
    pub(crate) fn program(&self, file: &str) -> Option<Root> {
        let executes =
            |event: &&Event| matches!(&event.what, What::Exec { file: this, .. } if **this == *file);
        self.root(self.0.iter().find(executes)?)
    }

    /// The first program that was executed below that process.
    pub(crate) fn program_below(&self, above: &Root) -> Option<Root> {
        let mut tree = BTreeSet::from([above.tid]);
        let after = self.0.iter().filter(|event| event.at_ns > above.begun_ns);
        for event in after {
            match event.what {
                What::Fork { parent, child } if tree.contains(&parent) => {
                    tree.insert(child);
                }
                What::Exec { tid, .. } if tid != above.tid && tree.contains(&tid) => return self.root(event),
                _ => {}
            }
        }
        None
    }

    fn root(&self, executed: &Event) -> Option<Root> {
        let What::Exec { tid, .. } = executed.what else { return None };
        // The last switch of a thread does not tell its process any more, so its earlier ones do.
        let of_process = self.0.iter().filter(|event| event.process == tid);
        let switched = of_process.filter_map(|event| match event.what {
            What::Switch { from, .. } => Some(from),
            _ => None,
        });
        let threads: BTreeSet<Tid> = switched.chain([tid]).collect();
        let ends = |event: &&Event| match event.what {
            What::Switch { from, left: Left::Dead, .. } => threads.contains(&from),
            _ => false,
        };
        let ended = self.0.iter().rfind(ends).or(self.0.last())?;
        Some(Root { tid, begun_ns: executed.at_ns, ended_ns: ended.at_ns })
    }

    /// The wall clock of the program with all that it started, and which threads these were.
    pub(crate) fn wall(&self, root: &Root) -> (Wall, BTreeSet<Tid>) {
        let mut walk = Walk::at(root);
        for event in self.0.iter().filter(|event| event.at_ns > root.begun_ns) {
            if event.at_ns >= root.ended_ns {
                break;
            }
            walk.advance(event.at_ns);
            match event.what {
                What::Fork { parent, child } if walk.doing.contains_key(&parent) => {
                    walk.set(child, Doing::Runnable);
                }
                _ => turns(event).into_iter().flatten().for_each(|turn| walk.turn(&turn)),
            }
        }
        walk.advance(root.ended_ns);
        (walk.wall, walk.doing.into_keys().collect())
    }

    /// What these threads did from one time to another, each for as long as it lived.
    pub(crate) fn ledgers(&self, threads: &BTreeSet<Tid>, from: u64, to: u64) -> BTreeMap<Tid, Ledger> {
        let mut lives: BTreeMap<Tid, Life> = threads.iter().map(|&tid| (tid, Life::unknown())).collect();
        for event in self.0.iter().take_while(|event| event.at_ns < to) {
            if let What::Fork { child, .. } = event.what
                && let Some(life) = lives.get_mut(&child)
            {
                life.since_ns = event.at_ns;
                life.doing = Some(Doing::Runnable);
            }
            for turn in turns(event).into_iter().flatten() {
                if let Some(life) = lives.get_mut(&turn.tid) {
                    life.turn(&turn, event.at_ns, from);
                }
            }
        }
        // Nothing happened to a thread that is not in the trace: it waited.
        let end = |mut life: Life| {
            life.add(life.doing.unwrap_or(Doing::Blocked), from, to);
            life.ledger
        };
        lives.into_iter().map(|(tid, life)| (tid, end(life))).collect()
    }
}

/// The tree as it is at some time.
struct Walk {
    at_ns: u64,
    doing: BTreeMap<Tid, Doing>,
    /// How many threads are on a CPU, and how many wait for one.
    on: usize,
    runnable: usize,
    wall: Wall,
}

impl Walk {
    fn at(root: &Root) -> Self {
        let doing = BTreeMap::from([(root.tid, Doing::On)]);
        Self { at_ns: root.begun_ns, doing, on: 1, runnable: 0, wall: Wall::default() }
    }

    fn advance(&mut self, to_ns: u64) {
        let part = match (self.on > 0, self.runnable > 0) {
            (true, false) => &mut self.wall.on_alone_ns,
            (true, true) => &mut self.wall.on_contended_ns,
            (false, true) => &mut self.wall.only_runnable_ns,
            (false, false) => &mut self.wall.all_blocked_ns,
        };
        *part += to_ns - self.at_ns;
        self.at_ns = to_ns;
    }

    fn turn(&mut self, turn: &Turn) {
        if let Some(&before) = self.doing.get(&turn.tid) {
            self.set(turn.tid, after(before, turn));
        }
    }

    fn set(&mut self, tid: Tid, now: Doing) {
        let before = self.doing.insert(tid, now);
        self.on = self.on + usize::from(now == Doing::On) - usize::from(before == Some(Doing::On));
        let left = usize::from(before == Some(Doing::Runnable));
        self.runnable = self.runnable + usize::from(now == Doing::Runnable) - left;
    }
}

/// One thread within a window.
struct Life {
    since_ns: u64,
    /// Not known before its first event.
    doing: Option<Doing>,
    ledger: Ledger,
}

impl Life {
    fn unknown() -> Self {
        Self { since_ns: 0, doing: None, ledger: Ledger::default() }
    }

    fn turn(&mut self, turn: &Turn, at_ns: u64, from: u64) {
        let before = self.doing.unwrap_or(turn.before);
        self.add(before, from, at_ns);
        self.since_ns = at_ns;
        self.doing = Some(after(before, turn));
    }

    /// Adds the time from its last turn, as far as it is in the window.
    fn add(&mut self, doing: Doing, from: u64, to: u64) {
        let ns = to.saturating_sub(self.since_ns.max(from));
        match doing {
            Doing::On => self.ledger.on_ns += ns,
            Doing::Runnable => self.ledger.runnable_ns += ns,
            Doing::Blocked => self.ledger.blocked_ns += ns,
            Doing::Gone => {}
        }
    }
}

/// A wake-up changes nothing for a thread that is on a CPU or ended.
fn after(before: Doing, turn: &Turn) -> Doing {
    match turn.now {
        Doing::Runnable if turn.before == Doing::Blocked && before != Doing::Blocked => before,
        now => now,
    }
}

fn turns(event: &Event) -> [Option<Turn>; 2] {
    match event.what {
        What::Switch { from, left, to } => {
            let now = match left {
                Left::Runnable => Doing::Runnable,
                Left::Blocked => Doing::Blocked,
                Left::Dead => Doing::Gone,
            };
            let out = Turn { tid: from, before: Doing::On, now };
            [Some(out), Some(Turn { tid: to, before: Doing::Runnable, now: Doing::On })]
        }
        What::Wake(tid) => [Some(Turn { tid, before: Doing::Blocked, now: Doing::Runnable }), None],
        What::Fork { .. } | What::Exec { .. } => [None, None],
    }
}

#[cfg(test)]
mod tests;
