//! The program run again: its steps in their order, on this many CPUs, each thread going on when
//! what it waits for is there.
//!
//! Discrete events. A thread that comes to a step on a CPU takes a free one, or the next that
//! becomes free: first come, first served. It gives it up where it waits, where it was switched out
//! when it was recorded and another is ready now, and when it has had it for [`SLICE_NS`] while
//! another is ready. A wait that takes no time any more does not give up the CPU, and so there is
//! no wait for a CPU after it; what other programs had of the CPU then they have again, in part, or
//! not ([`Others`]).
//!
//! Why a thread was in the run queue says what becomes of that time: [`Queued`].
//!
//! The recorded order is kept by [`Step::Release`]: a wait that another thread ended goes on when
//! that thread has come to the place where it ended it, or at once if it has come there already.

use super::lengths::{Lengths, NO_LIMIT};
use super::program::{Program, Queued, Step, StepRef, ThreadId};
use super::times::{NEVER, Times, last};
use model::Ns;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A thread has its CPU for so long while others are ready.
const SLICE_NS: Ns = 4_000_000;

/// What becomes of the time that other programs had a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// They have it again; after a wait that takes no time any more only as much as a fair
    /// scheduler gives them beside a thread that does not wait: no more than it has run since.
    Share,
    /// They ran since the thread had waited: where that is gone they have no time.
    Go,
    /// They find other CPUs.
    Elsewhere,
}

/// A machine to replay on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine {
    pub(super) cpus: u32,
    pub(super) others: Others,
}

/// Runs the program again.
pub(super) fn replay(program: &Program, lengths: &Lengths, machine: Machine) -> Times {
    let mut replay = Replay::new(program, lengths, machine);
    replay.wake(0, 0);
    while replay.left > 0
        && let Some(Reverse((now, _, thread, turn))) = replay.agenda.pop()
    {
        if replay.threads[thread as usize].turn == turn {
            replay.threads[thread as usize].turn += 1;
            replay.go_on(thread, now);
            replay.dispatch(now);
        }
    }
    replay.ended()
}

/// What a thread is at.
#[derive(Debug, Clone, Default)]
struct Live {
    /// Its next step.
    at: u32,
    /// What is left of it, once it has begun.
    left: Option<Ns>,
    /// Since when it has its CPU.
    on_cpu: Option<Ns>,
    /// It did not wait where it was switched out.
    did_not_wait: bool,
    /// By how much it has run for longer than others had its CPU since.
    ahead: Ns,
    /// What is on the agenda for an earlier turn of it is no longer.
    turn: u32,
}

struct Replay<'a> {
    program: &'a Program,
    lengths: &'a Lengths,
    threads: Vec<Live>,
    done: Vec<Vec<Ns>>,
    /// Time, order, thread and its turn.
    agenda: BinaryHeap<Reverse<(Ns, u64, ThreadId, u32)>>,
    order: u64,
    ready: VecDeque<ThreadId>,
    idle_cpus: u32,
    others: Others,
    /// Threads that wait until a place is come to, with their edges.
    waiting: FxHashMap<StepRef, SmallVec<[(ThreadId, u32); 1]>>,
    /// Threads that must end before the program has.
    left: u64,
}

impl<'a> Replay<'a> {
    fn new(program: &'a Program, lengths: &'a Lengths, machine: Machine) -> Self {
        let is_awaited = |thread: &&super::program::Thread| thread.pid == program.root;
        let left = match program.cut {
            Some(_) => u64::MAX,
            None => program.threads.iter().filter(is_awaited).count() as u64,
        };
        Self {
            program,
            lengths,
            threads: vec![Live::default(); program.threads.len()],
            done: program.threads.iter().map(|thread| vec![NEVER; thread.steps.len()]).collect(),
            agenda: BinaryHeap::new(),
            order: 0,
            ready: VecDeque::new(),
            idle_cpus: machine.cpus,
            others: machine.others,
            waiting: FxHashMap::default(),
            left,
        }
    }

    fn ended(self) -> Times {
        let (last, end) = last(self.program, &self.done);
        Times { done: self.done, last, end }
    }

    fn live(&mut self, thread: ThreadId) -> &mut Live {
        &mut self.threads[thread as usize]
    }

    /// Has a thread go on then.
    fn wake(&mut self, thread: ThreadId, at: Ns) {
        let turn = self.live(thread).turn;
        self.order += 1;
        self.agenda.push(Reverse((at, self.order, thread, turn)));
    }

    /// Gives CPUs that are free to threads that are ready.
    fn dispatch(&mut self, now: Ns) {
        while self.idle_cpus > 0
            && let Some(thread) = self.ready.pop_front()
        {
            self.idle_cpus -= 1;
            self.live(thread).on_cpu = Some(now);
            self.go_on(thread, now);
        }
    }

    fn leave_cpu(&mut self, thread: ThreadId) {
        if self.live(thread).on_cpu.take().is_some() {
            self.idle_cpus += 1;
        }
    }

    /// Goes through the steps of a thread until one takes time.
    fn go_on(&mut self, thread: ThreadId, now: Ns) {
        let program = self.program;
        let steps = &program.thread(thread).steps;
        while let Some(step) = steps.get(self.live(thread).at as usize) {
            let goes_on = match *step {
                Step::Run { .. } => self.runs(thread, now, *step),
                Step::Wait { .. } => self.waits(thread, now, *step),
                Step::Queue { kind, .. } => self.queues(thread, now, *step, program.kind(kind).queued),
                Step::Await { edge, .. } => self.awaits(thread, now, *step, edge),
                Step::Release(_) => {
                    self.releases(thread, now);
                    true
                }
                Step::Fork(child) => {
                    self.wake(child, now);
                    true
                }
            };
            if !goes_on {
                return;
            }
            self.is_done(thread, now);
        }
        self.leave_cpu(thread);
        let is_of_root = program.thread(thread).pid == program.root;
        self.left -= u64::from(is_of_root && program.cut.is_none());
    }

    fn is_done(&mut self, thread: ThreadId, now: Ns) {
        let at = self.live(thread).at as usize;
        self.done[thread as usize][at] = now;
        let live = self.live(thread);
        (live.at, live.left) = (live.at + 1, None);
    }

    fn length(&mut self, thread: ThreadId, step: Step) -> Ns {
        let at = self.live(thread).at;
        self.lengths.of(thread, at, step)
    }

    /// On a CPU. Whether the step is done.
    fn runs(&mut self, thread: ThreadId, now: Ns, step: Step) -> bool {
        let length = self.length(thread, step);
        let left = *self.live(thread).left.get_or_insert(length);
        if left == 0 {
            return true;
        }
        let is_wanted = !self.ready.is_empty();
        let since = match self.live(thread).on_cpu {
            Some(since) if now < since + SLICE_NS || !is_wanted => since,
            _ => {
                self.leave_cpu(thread);
                self.ready.push_back(thread);
                return false;
            }
        };
        // Who has the CPU alone begins another slice.
        let since = if now < since + SLICE_NS { since } else { now };
        let ns = left.min(since + SLICE_NS - now);
        let live = self.live(thread);
        (live.left, live.on_cpu, live.did_not_wait) = (Some(left - ns), Some(since), false);
        live.ahead += ns;
        self.wake(thread, now + ns);
        false
    }

    /// Off its CPU for a time that is known. Whether the step is done.
    fn waits(&mut self, thread: ThreadId, now: Ns, step: Step) -> bool {
        if self.live(thread).left.is_some() {
            return true;
        }
        let length = self.length(thread, step);
        self.live(thread).did_not_wait = length == 0 && step.ns() > 0;
        if length > 0 {
            self.live(thread).left = Some(0);
            self.leave_cpu(thread);
            self.wake(thread, now + length);
        }
        length == 0
    }

    /// Ready, while another thread has the CPU. Behind its own threads it waits for a CPU of the
    /// replay; others have the CPU that it gets for as long as they had.
    fn queues(&mut self, thread: ThreadId, now: Ns, step: Step, queued: Queued) -> bool {
        let has_cpu = self.live(thread).on_cpu.is_some();
        if self.live(thread).left.is_some() {
            if has_cpu {
                self.live(thread).on_cpu = Some(now);
            }
            return true;
        }
        // Who does not wait after all is not switched out.
        let stays = has_cpu && self.live(thread).did_not_wait;
        if stays && (queued != Queued::BehindOthers || self.others == Others::Go) {
            return true;
        }
        let mut length = self.length(thread, step);
        if queued == Queued::BehindOthers {
            let ahead = self.live(thread).ahead;
            length = match self.others {
                Others::Elsewhere => 0,
                Others::Share if stays => length.min(ahead),
                Others::Share | Others::Go => length,
            };
            self.live(thread).ahead = ahead.saturating_sub(length);
        }
        match queued {
            Queued::BehindOwn | Queued::No => {
                // Where it was switched out for another one, it is again.
                if !has_cpu || self.ready.is_empty() {
                    return true;
                }
                self.leave_cpu(thread);
                self.ready.push_back(thread);
            }
            _ if length == 0 => return true,
            Queued::LeftBehind => {
                self.leave_cpu(thread);
                self.wake(thread, now + length);
            }
            Queued::BehindOthers | Queued::Waking if !has_cpu => {
                self.ready.push_back(thread);
                return false;
            }
            Queued::BehindOthers | Queued::Waking => self.wake(thread, now + length),
        }
        self.live(thread).left = Some(0);
        false
    }

    /// Off its CPU until another thread comes to a place.
    fn awaits(&mut self, thread: ThreadId, now: Ns, step: Step, edge: u32) -> bool {
        let (place, _) = self.program.source(edge);
        let limit = self.length(thread, step);
        if self.live(thread).left.is_some() {
            // The place was come to, or the limit was: whichever has woken it.
            self.forget(thread, place);
            return true;
        }
        let released = self.done[place.thread as usize][place.step as usize];
        let lag = self.lengths.lag(self.program, edge);
        let ready = if released == NEVER { NEVER } else { released + lag };
        let is_there = ready <= now || limit == 0;
        self.live(thread).did_not_wait = is_there && step.ns() > 0;
        if is_there {
            return true;
        }
        self.live(thread).left = Some(0);
        self.leave_cpu(thread);
        if ready == NEVER {
            self.waiting.entry(place).or_default().push((thread, edge));
        }
        if ready != NEVER || limit != NO_LIMIT {
            self.wake(thread, ready.min(now.saturating_add(limit)));
        }
        false
    }

    fn forget(&mut self, thread: ThreadId, place: StepRef) {
        if let Some(waiting) = self.waiting.get_mut(&place) {
            waiting.retain(|(waits, _)| *waits != thread);
        }
    }

    /// It has come to a place: those that wait for it go on.
    fn releases(&mut self, thread: ThreadId, now: Ns) {
        let place = StepRef { thread, step: self.live(thread).at };
        for (waits, edge) in self.waiting.remove(&place).unwrap_or_default() {
            let lag = self.lengths.lag(self.program, edge);
            // It may end by its limit before that: what is on the agenda first is its turn.
            self.wake(waits, now + lag);
        }
    }
}
