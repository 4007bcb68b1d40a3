//! Reasons, targets and wakers by numbers: cheap to copy and compare, however many events there
//! are.
//!
//! What each stands for is up to `names`; which evidence gives which of them, to `classify`.

use model::network::Endpoint;
use model::recording::{Comm, Language};
use model::task::TaskWait;
use model::wait::{TargetKind, WakerKind};
use model::{Call, Pid, State, Tid};

/// A [`model::wait::Reason`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ReasonKey {
    None,
    Syscall(Call),
    /// On the way into a call or out of it.
    SyscallEntry,
    /// In a call of which it was not recorded which.
    SyscallsSampled,
    /// By a thread of another program, of this name.
    Preempted(Comm),
    /// By a thread of the tree, of this name.
    PreemptedByOwn(Comm),
    IdleCpu,
    PreemptedUnseen,
    Wait(CallKey, TargetKey),
    NoWakeUp,
    NotObserved,
    /// What other threads did while this one let time pass: not known before the end. Its own
    /// activity, by number.
    Meanwhile(u32),
}

/// A [`model::wait::WaitCall`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CallKey {
    Syscall(Call),
    Fault,
    Unseen,
}

/// A [`model::wait::WaitTarget`], as far as it is worth telling apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TargetKey {
    File(FileId),
    Swap,
    /// One of this kind, whichever.
    Nameless(TargetKind),
    /// By its address in the process; 0 when that was not seen.
    Futex(u64),
    /// The same of a wait that its time limit ended.
    TimedFutex(u64),
    /// The lock that is taken to run code of this language.
    InterpreterLock(Language),
    /// A lock that is no futex, by the function that takes it.
    LockIn(FunctionId),
    /// The lock of the process's address space.
    AddressSpace,
    TimeLimit,
    TimeLimitOrTimer,
    Tcp(Endpoint),
    Udp(Endpoint),
    Answer(QuestionId),
    /// A thread outside the tree, by name.
    Task(Comm),
    /// What a task of the program's own scheduler waits for.
    OfTask(TaskWait),
    /// Something outside the tree; there is no more to say.
    External,
    /// By the name that its descriptor has.
    Named(TargetKind, Comm),
    /// Only the kernel function is known in which the thread slept.
    KernelFunction(TargetKind, FunctionId),
    /// A connection of the local socket of this name, or that socket.
    Local(SocketName),
    /// Why no more than the kind is known.
    Unseen(TargetKind, &'static str),
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum WakerKey {
    /// A thread of the tree.
    Thread(Who),
    /// Another one.
    Outside(Who),
    Timer,
    Device,
    Network,
    Interrupt,
    Unknown,
}

/// A thread by its numbers and name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Who {
    pub(crate) name: Comm,
    /// 0 where it is not known.
    pub(crate) pid: Pid,
    /// 0 for all of this name.
    pub(crate) tid: Tid,
}

/// What the stack of a completed wait goes with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StackOf {
    pub(crate) state: State,
    /// The thread of the tree that ended it.
    pub(crate) by: Option<Tid>,
}

/// A kind of wait: its state, and what is counted together.
pub(crate) type WaitKey = (State, ReasonKey);

/// A file by its number in [`crate::files::Files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId(pub(crate) u32);

/// A question for a name by its number in [`crate::lookups::Lookups`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct QuestionId(pub(crate) u32);

/// A function by its number in [`crate::names::Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FunctionId(pub(crate) u32);

/// The name of a local socket by its number in [`crate::local_sockets::LocalSockets`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SocketName(pub(crate) u32);

impl SocketName {
    /// One of the many that are not kept apart.
    pub(crate) const MANY: SocketName = SocketName(u32::MAX);
}

impl FileId {
    /// It is not known which.
    pub(crate) const UNSEEN: FileId = FileId(0);
    /// One of the many that are not kept apart.
    pub(crate) const MANY: FileId = FileId(1);

    /// Whether it is one file.
    pub(crate) fn is_one(self) -> bool {
        self.0 > 1
    }
}

impl CallKey {
    /// Where a traced thread blocked: outside any call is in a fault.
    pub(crate) fn traced(call: Option<Call>) -> Self {
        call.map_or(CallKey::Fault, CallKey::Syscall)
    }

    /// The call, where it was one.
    pub(crate) fn syscall(self) -> Option<Call> {
        match self {
            CallKey::Syscall(call) => Some(call),
            CallKey::Fault | CallKey::Unseen => None,
        }
    }
}

impl ReasonKey {
    /// Whether it is being in a call.
    pub(crate) fn is_call(self) -> bool {
        matches!(self, ReasonKey::Syscall(_))
    }

    /// The one file that it is about.
    pub(crate) fn file(self) -> Option<FileId> {
        match self {
            ReasonKey::Wait(_, TargetKey::File(file)) if file.is_one() => Some(file),
            _ => None,
        }
    }

    /// Whether it is about a file or a futex, one or whichever: of these there may be many.
    pub(crate) fn is_one_of_many(self) -> bool {
        matches!(
            self,
            ReasonKey::Wait(_, TargetKey::File(_) | TargetKey::Futex(_) | TargetKey::TimedFutex(_))
        )
    }

    /// The same for any file, and any futex.
    pub(crate) fn of_many(self) -> Self {
        match self {
            ReasonKey::Wait(call, TargetKey::File(file)) if file.is_one() => {
                ReasonKey::Wait(call, TargetKey::File(FileId::MANY))
            }
            ReasonKey::Wait(call, TargetKey::Futex(_)) => ReasonKey::Wait(call, TargetKey::Futex(0)),
            ReasonKey::Wait(call, TargetKey::TimedFutex(_)) => {
                ReasonKey::Wait(call, TargetKey::TimedFutex(0))
            }
            other => other,
        }
    }
}

impl WakerKey {
    pub(crate) fn kind(self) -> WakerKind {
        match self {
            WakerKey::Thread(_) => WakerKind::Thread,
            WakerKey::Outside(_) => WakerKind::Outside,
            WakerKey::Timer => WakerKind::Timer,
            WakerKey::Device => WakerKind::Device,
            WakerKey::Network => WakerKind::Network,
            WakerKey::Interrupt => WakerKind::Interrupt,
            WakerKey::Unknown => WakerKind::Unknown,
        }
    }

    /// The thread, where it was one.
    pub(crate) fn who(self) -> Option<Who> {
        match self {
            WakerKey::Thread(who) | WakerKey::Outside(who) => Some(who),
            _ => None,
        }
    }

    /// All threads of its name.
    pub(crate) fn of_many(self) -> Self {
        let many = |who: Who| Who { pid: 0, tid: 0, ..who };
        match self {
            WakerKey::Thread(who) => WakerKey::Thread(many(who)),
            WakerKey::Outside(who) => WakerKey::Outside(many(who)),
            other => other,
        }
    }
}
