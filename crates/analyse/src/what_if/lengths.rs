//! How long each step is: as it was recorded, or with edits.

use super::edit::{Becomes, Change, Edit, scaled};
use super::own::Own;
use super::program::{KindId, Program, Queued, Step, ThreadId};
use super::sites::{Concerns, Sites};
use model::Ns;
use smallvec::SmallVec;

/// It ends when what it waits for is there, however long that takes.
pub(super) const NO_LIMIT: Ns = Ns::MAX;

/// The lengths of all steps.
#[derive(Debug)]
pub(super) enum Lengths {
    /// As they were.
    Recorded,
    /// Other ones.
    Edited(Edited),
}

/// Edited lengths.
#[derive(Debug)]
pub(super) struct Edited {
    /// By thread and step. Of waits that a thread of the tree ends the longest that they may take.
    steps: Vec<Vec<Ns>>,
    /// What it takes from where a wait goes on, by edge.
    lags: Vec<Ns>,
}

impl Lengths {
    /// With these edits: all that change time.
    pub(super) fn edited(program: &Program, edits: &[Edit], sites: &Sites, own: &Own<'_>) -> Self {
        let lags = program.edges.iter().map(|edge| edge.lag_ns).collect();
        let mut edited = Edited { steps: Vec::with_capacity(program.threads.len()), lags };
        for thread in 0..program.threads.len() as ThreadId {
            let mut editor =
                Editor { program, edits, sites, own, left: SmallVec::new(), turn: Turn::default(), thread };
            editor.left.resize(edits.len(), 0);
            editor.edit(&mut edited);
        }
        Lengths::Edited(edited)
    }

    /// How long a step takes; of a wait that a thread of the tree ends: at most.
    pub(super) fn of(&self, thread: ThreadId, at: u32, step: Step) -> Ns {
        match self {
            Lengths::Recorded if matches!(step, Step::Await { .. }) => NO_LIMIT,
            Lengths::Recorded => step.ns(),
            Lengths::Edited(edited) => edited.steps[thread as usize][at as usize],
        }
    }

    /// What a wait takes from where it goes on.
    pub(super) fn lag(&self, program: &Program, edge: u32) -> Ns {
        match self {
            Lengths::Recorded => program.edges[edge as usize].lag_ns,
            Lengths::Edited(edited) => edited.lags[edge as usize],
        }
    }
}

/// Goes through the steps of one thread.
struct Editor<'a> {
    program: &'a Program,
    edits: &'a [Edit],
    sites: &'a Sites,
    own: &'a Own<'a>,
    thread: ThreadId,
    /// What the operation that a thread is in may still take, by edit.
    left: SmallVec<[Ns; 4]>,
    turn: Turn,
}

/// A thread's turn on its CPU, beside other programs.
#[derive(Debug, Default)]
struct Turn {
    /// By how much it has run for longer than others had its CPU since.
    ahead: Ns,
    /// Where it waited it does not any more, and so has not left its CPU.
    stays: bool,
}

impl Turn {
    /// What is left of a wait for a CPU that took so long. After a wait that is gone there is none
    /// but that a fair scheduler lets others run for as long as the thread has.
    fn queues(&mut self, queued: Queued, ns: Ns) -> Ns {
        match queued {
            Queued::LeftBehind | Queued::Waking if self.stays => 0,
            Queued::BehindOthers => {
                let ns = if self.stays { ns.min(self.ahead) } else { ns };
                self.ahead = self.ahead.saturating_sub(ns);
                ns
            }
            _ => ns,
        }
    }

    /// It does a step for so long.
    fn does(&mut self, step: Step, length: Ns) {
        match step {
            Step::Run { .. } => {
                self.ahead += length;
                self.stays &= length == 0;
            }
            Step::Wait { .. } | Step::Await { .. } => self.stays = length == 0 && step.ns() > 0,
            Step::Queue { .. } | Step::Release(_) | Step::Fork(_) => {}
        }
    }
}

impl Editor<'_> {
    fn edit(&mut self, edited: &mut Edited) {
        let thread = self.program.thread(self.thread);
        self.begin_operation(None);
        let mut lengths = Vec::with_capacity(thread.steps.len());
        for (step, at) in thread.steps.iter().zip(0..) {
            let executes = thread.executes(at);
            let length = match *step {
                Step::Run { kind, returned, ns } => {
                    let ns = if self.program.kind(kind).is_own() {
                        scaled(ns, self.own.leaves(self.thread, at))
                    } else {
                        ns
                    };
                    self.runs(kind, executes, returned, ns)
                }
                Step::Wait { kind, ns } => self.waits(kind, executes, ns, None),
                Step::Queue { kind, ns } => {
                    let ns = self.waits(kind, executes, ns, None);
                    self.turn.queues(self.program.kind(kind).queued, ns)
                }
                Step::Await { kind, edge, ns } => {
                    let lag = &mut edited.lags[edge as usize];
                    *lag = self.waits(kind, executes, *lag, Some(Concerns::Time));
                    self.lock(kind, executes, ns)
                }
                Step::Release(_) | Step::Fork(_) => 0,
            };
            self.turn.does(*step, length);
            lengths.push(length);
        }
        edited.steps.push(lengths);
    }

    fn becomes(&self, edit: u8) -> Option<Becomes> {
        match self.edits[edit as usize].change {
            Change::Time(_, becomes) => Some(becomes),
            Change::NoQuota => Some(Becomes::Times(0.0)),
            Change::Cpus(_) => None,
        }
    }

    /// The next operation of an edit begins, or of all edits.
    fn begin_operation(&mut self, of: Option<u8>) {
        for edit in (0..self.edits.len() as u8).filter(|edit| of.is_none_or(|of| of == *edit)) {
            if let Some(Becomes::AtMost(most)) = self.becomes(edit) {
                self.left[edit as usize] = most;
            }
        }
    }

    /// On a CPU: of operations that returned in it each may take as long as one may.
    fn runs(&mut self, kind: KindId, executes: u32, returned: u32, mut ns: Ns) -> Ns {
        for (edit, _) in self.sites.of(kind, executes) {
            match self.becomes(edit) {
                Some(Becomes::Times(times)) => ns = scaled(ns, times),
                Some(Becomes::AtMost(most)) => {
                    let more = Ns::from(returned.saturating_sub(1)).saturating_mul(most);
                    let left = self.left[edit as usize];
                    ns = ns.min(left.saturating_add(more));
                    self.left[edit as usize] = left.saturating_sub(ns);
                    if returned > 0 {
                        self.begin_operation(Some(edit));
                    }
                }
                None => {}
            }
        }
        ns
    }

    /// Off a CPU: what of it no thread of the tree ends. A wait in a call is a part of the call,
    /// any other an operation of its own.
    fn waits(&mut self, kind: KindId, executes: u32, mut ns: Ns, only: Option<Concerns>) -> Ns {
        let in_call = |edit: &Edit| matches!(edit.change, Change::Time(super::edit::SiteName::Call(_), _));
        for (edit, concerns) in self.sites.of(kind, executes) {
            if only.is_some_and(|only| only != concerns) {
                continue;
            }
            match self.becomes(edit) {
                Some(Becomes::AtMost(_)) if in_call(&self.edits[edit as usize]) => {
                    let left = self.left[edit as usize];
                    ns = ns.min(left);
                    self.left[edit as usize] = left - ns;
                }
                Some(becomes) => ns = becomes.of(ns),
                None => {}
            }
        }
        ns
    }

    /// The longest that a wait may take which a thread of the tree ends.
    fn lock(&self, kind: KindId, executes: u32, recorded_ns: Ns) -> Ns {
        let edits = self.sites.of(kind, executes).into_iter();
        let limits = edits.filter(|(_, concerns)| *concerns == Concerns::Lock).filter_map(|(edit, _)| {
            Some(match self.becomes(edit)? {
                Becomes::Times(times) => scaled(recorded_ns, times),
                Becomes::AtMost(most) => most,
            })
        });
        limits.min().unwrap_or(NO_LIMIT)
    }
}
