//! The program of a recording: what each of its threads did, one step after the other, and where
//! they let each other go on.
//!
//! Steps of a thread follow each other without a gap, so that their recorded lengths say when each
//! was. What they become by edits is up to [`super::lengths`], when they come to be then to
//! [`super::replay`].

use crate::account::Slot;
use crate::keys::ReasonKey;
use model::recording::{Comm, SampleMode};
use model::{Call, Ns, Pid, State, Tid};
use smallvec::SmallVec;

/// A thread by its place in [`Program::threads`].
pub(crate) type ThreadId = u32;
/// A kind of step by its place in [`Program::kinds`].
pub(crate) type KindId = u32;
/// A place of a thread at which others go on, in [`Program::releases`].
pub(crate) type Token = u32;

/// One step of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// On a CPU. Of a call, this many of them returned in it.
    Run { kind: KindId, returned: u32, ns: Ns },
    /// Off its CPU until something ends that which is not of the tree.
    Wait { kind: KindId, ns: Ns },
    /// The same until another thread of the tree comes to a place: [`Program::edges`].
    Await { kind: KindId, edge: u32, ns: Ns },
    /// Ready to run, while another thread had the CPU.
    Queue { kind: KindId, ns: Ns },
    /// Others may go on from here.
    Release(Token),
    /// A thread is created.
    Fork(ThreadId),
}

/// What a step is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub(crate) state: State,
    /// `Syscall` on a CPU in a call, `None` in the thread's own code.
    pub(crate) reason: ReasonKey,
    /// The futex of a wait; 0 if none.
    pub(crate) futex: u64,
    /// Whether that is a lock, where stacks tell.
    pub(crate) is_lock: Option<bool>,
    /// The wait was ended by the end of a thread.
    pub(crate) by_exit: bool,
    /// For a step in the run queue: why it was there.
    pub(crate) queued: Queued,
    /// The thread is under way: nothing within the tree holds it up.
    pub(crate) under_way: bool,
    /// For a wait that time ended: on the path it is what others did meanwhile.
    pub(crate) lets_pass: bool,
}

/// Why a thread was in the run queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Queued {
    /// It was not.
    No,
    /// Threads of the tree had all CPUs: it waits for as long as they have in the replay.
    BehindOwn,
    /// They had not, and it was left behind one of them.
    LeftBehind,
    /// Others had the CPU that it got, since a thread of the tree last had it.
    BehindOthers,
    /// That CPU had nothing to do since, and had to wake up.
    Waking,
}

/// Where a wait goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) token: Token,
    /// What it takes from there: the way through a network.
    pub(crate) lag_ns: Ns,
}

/// A place in a thread's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct StepRef {
    pub(crate) thread: ThreadId,
    pub(crate) step: u32,
}

/// A sample of a thread outside of calls that were timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The step of the thread that it was taken in.
    pub(crate) step: u32,
    /// What it says: [`Program::classes`].
    pub(crate) class: u32,
    /// CPU time that it stands for.
    pub(crate) ns: u32,
}

/// What samples say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SampleClass {
    pub(crate) mode: SampleMode,
    /// The functions on its stack that were asked for.
    pub(crate) functions: SmallVec<[u8; 2]>,
}

/// One thread.
#[derive(Debug, Default)]
pub(crate) struct Thread {
    pub(crate) pid: Pid,
    pub(crate) tid: Tid,
    /// Its last name, and that of its process.
    pub(crate) name: Comm,
    pub(crate) process: Comm,
    /// The ledger that its waits count in.
    pub(crate) ledger_of: Slot,
    /// What its process executes, from which step on, in order: [`Program::programs`].
    pub(crate) executes: SmallVec<[(u32, u32); 1]>,
    /// When it began, as it was recorded.
    pub(crate) start: Ns,
    /// Where it was created; none of the first.
    pub(crate) creator: Option<StepRef>,
    pub(crate) steps: Vec<Step>,
    pub(crate) samples: Vec<Sample>,
    /// Its end was seen.
    pub(crate) ended: bool,
}

/// All threads of a recording.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) root: Pid,
    pub(crate) threads: Vec<Thread>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) releases: Vec<StepRef>,
    /// Names of programs that processes execute.
    pub(crate) programs: Vec<Comm>,
    pub(crate) classes: Vec<SampleClass>,
    /// The steps of all threads.
    pub(crate) steps: u64,
    /// CPUs that they could use.
    pub(crate) cpus: u32,
    /// When no more was kept.
    pub(crate) cut: Option<Ns>,
}

/// Why a thread is in the run queue, where it is not known which thread of the tree had the CPU.
pub(crate) fn behind_own() -> ReasonKey {
    ReasonKey::PreemptedByOwn(Comm::from("another thread"))
}

impl Step {
    /// What it is about, and its recorded length; none of what takes no time.
    pub(crate) fn time(self) -> Option<(KindId, Ns)> {
        match self {
            Step::Run { kind, ns, .. }
            | Step::Wait { kind, ns }
            | Step::Await { kind, ns, .. }
            | Step::Queue { kind, ns } => Some((kind, ns)),
            Step::Release(_) | Step::Fork(_) => None,
        }
    }

    /// Its recorded length.
    pub(crate) fn ns(self) -> Ns {
        self.time().map_or(0, |(_, ns)| ns)
    }
}

impl Kind {
    /// On a CPU in a call.
    pub(crate) fn call(call: Call) -> Self {
        Self::active(State::Kernel, ReasonKey::Syscall(call))
    }

    /// On a CPU in the thread's own code, or in the kernel but in no call.
    pub(crate) fn own() -> Self {
        Self::active(State::User, ReasonKey::None)
    }

    /// On a CPU, or ready.
    pub(crate) fn active(state: State, reason: ReasonKey) -> Self {
        Self {
            state,
            reason,
            futex: 0,
            is_lock: None,
            by_exit: false,
            queued: Queued::No,
            under_way: true,
            lets_pass: false,
        }
    }

    /// Ready.
    pub(crate) fn queued(queued: Queued, reason: ReasonKey) -> Self {
        Self { queued, ..Self::active(State::Runqueue, reason) }
    }

    /// On a CPU outside of calls.
    pub(crate) fn is_own(&self) -> bool {
        self.state == State::User
    }
}

impl Thread {
    /// What its process executes at a step.
    pub(crate) fn executes(&self, step: u32) -> u32 {
        let begun = self.executes.partition_point(|(from, _)| *from <= step);
        begun.checked_sub(1).map_or(0, |last| self.executes[last].1)
    }
}

impl Program {
    pub(crate) fn kind(&self, kind: KindId) -> &Kind {
        &self.kinds[kind as usize]
    }

    pub(crate) fn thread(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread as usize]
    }

    /// The release that a wait goes on from, and what it takes from there.
    pub(crate) fn source(&self, edge: u32) -> (StepRef, Ns) {
        let Edge { token, lag_ns } = self.edges[edge as usize];
        (self.releases[token as usize], lag_ns)
    }
}
