//! What the numbers in `keys` stand for: paths, questions and kernel functions as they become
//! known; and the one rule of how a path is shortened.

use crate::calls::Arch;
use crate::files::Files;
use crate::keys::{CallKey, FunctionId, ReasonKey, TargetKey, WaitKey};
use crate::local_sockets::LocalSockets;
use crate::lookups::Lookups;
use crate::roles::Roles;
use model::network::Endpoint;
use model::recording::{Object, SocketEnds, WaitContext};
use model::task::TaskWait;
use model::wait::{Reason, TargetKind, WaitCall, WaitTarget};
use model::{Header, Seen};
use rustc_hash::FxHashMap;

/// The last part of a path.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

/// All names of a recording.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) arch: Arch,
    pub(crate) files: Files,
    pub(crate) lookups: Lookups,
    pub(crate) local_sockets: LocalSockets,
    pub(crate) roles: Roles,
    function_ids: FxHashMap<String, FunctionId>,
    /// Functions in the order of their numbers.
    functions: Vec<String>,
}

impl Names {
    /// Those of the recording that begins with `header`.
    pub(crate) fn new(header: &Header) -> Self {
        Self {
            arch: Arch::from_machine(&header.host.arch),
            files: Files::new(&header.devices),
            lookups: Lookups::default(),
            local_sockets: LocalSockets::default(),
            roles: Roles::default(),
            function_ids: FxHashMap::default(),
            functions: Vec::new(),
        }
    }

    /// The number of a function: one of the kernel, or one that takes a lock.
    pub(crate) fn function(&mut self, name: &str) -> FunctionId {
        if let Some(id) = self.function_ids.get(name) {
            return *id;
        }
        let id = FunctionId(self.functions.len() as u32);
        self.functions.push(name.to_owned());
        self.function_ids.insert(name.to_owned(), id);
        id
    }

    fn function_name(&self, FunctionId(id): FunctionId) -> String {
        self.functions[id as usize].clone()
    }

    /// The file, or swap, that a traced wait is about if it is about one.
    pub(crate) fn file_of(&mut self, wait: &WaitContext) -> TargetKey {
        match wait.on {
            Object::SwapPage => TargetKey::Swap,
            Object::Page { dev, ino } => TargetKey::File(self.files.at(dev, ino)),
            _ => TargetKey::File(self.files.of(&wait.on)),
        }
    }

    /// What the key stands for.
    pub(crate) fn target(&self, key: TargetKey) -> WaitTarget {
        match key {
            TargetKey::File(file) => WaitTarget::File(self.files.path(file)),
            TargetKey::Swap => WaitTarget::Swap,
            TargetKey::Nameless(kind) => WaitTarget::new(kind, Seen::Absent),
            TargetKey::Futex(0) => WaitTarget::Futex(Seen::Absent),
            TargetKey::Futex(address) => WaitTarget::Futex(Seen::Value(address)),
            TargetKey::InterpreterLock(language) => WaitTarget::InterpreterLock(language),
            TargetKey::LockIn(function) => WaitTarget::Lock(Seen::Value(self.function_name(function))),
            TargetKey::AddressSpace => WaitTarget::AddressSpace,
            // The address says of what; as long as that is no lock, it was time that ended it.
            TargetKey::TimedFutex(_) | TargetKey::TimeLimit => WaitTarget::TimeLimit,
            TargetKey::TimeLimitOrTimer => WaitTarget::TimeLimitOrTimer,
            TargetKey::Tcp(end) => WaitTarget::Tcp(end),
            TargetKey::Udp(end) => WaitTarget::Udp(end),
            TargetKey::Answer(question) => WaitTarget::Answer(self.lookups.question(question)),
            TargetKey::Task(name) => WaitTarget::Task(name.to_text()),
            TargetKey::OfTask(TaskWait::Sleep) => WaitTarget::Timer(Seen::Absent),
            TargetKey::OfTask(wait) if wait.is_lock() => {
                WaitTarget::Lock(Seen::Value(wait.name().to_owned()))
            }
            TargetKey::OfTask(wait) => WaitTarget::OfTask(wait),
            TargetKey::External => WaitTarget::External(Seen::Absent),
            TargetKey::Named(kind, name) => WaitTarget::new(kind, Seen::Value(name.to_text())),
            TargetKey::KernelFunction(kind, function) => {
                WaitTarget::KernelFunction(kind, self.function_name(function))
            }
            TargetKey::Local(name) => WaitTarget::Unix(self.local_sockets.path(name)),
            TargetKey::Unseen(kind, why) => WaitTarget::new(kind, Seen::unseen(why)),
        }
    }

    /// Whom this end of a connection has at the other.
    pub(crate) fn peer(&self, ends: SocketEnds) -> TargetKey {
        match ends.local_socket().map(|local| self.local_sockets.end(&local)) {
            None => TargetKey::Tcp(Endpoint::new(ends.remote, ends.remote_port)),
            Some(Some(end)) => TargetKey::Local(end.server),
            Some(None) => TargetKey::Nameless(TargetKind::Unix),
        }
    }

    /// Where a wait was.
    pub(crate) fn call(&self, call: CallKey) -> WaitCall {
        match call {
            CallKey::Syscall(call) => WaitCall::Syscall(self.arch.syscall(call)),
            CallKey::Fault => WaitCall::Fault,
            CallKey::Unseen => WaitCall::Unseen,
        }
    }

    /// Where and for what a kind of wait is.
    pub(crate) fn wait(&self, (_, reason): WaitKey) -> (WaitCall, WaitTarget) {
        match reason {
            ReasonKey::Wait(call, target) => (self.call(call), self.target(target)),
            _ => (WaitCall::Unseen, WaitTarget::External(Seen::Absent)),
        }
    }

    /// What the key stands for.
    pub(crate) fn reason(&self, key: ReasonKey) -> Reason {
        match key {
            ReasonKey::None => Reason::None,
            ReasonKey::Syscall(call) => Reason::Syscall(self.arch.syscall(call)),
            ReasonKey::SyscallEntry => Reason::SyscallEntry,
            ReasonKey::SyscallsSampled => Reason::SyscallsSampled,
            ReasonKey::Preempted(name) => Reason::Preempted(name.to_text()),
            ReasonKey::PreemptedByOwn(name) => Reason::PreemptedByOwn(name.to_text()),
            ReasonKey::IdleCpu => Reason::IdleCpu,
            ReasonKey::PreemptedUnseen => Reason::PreemptedUnseen,
            ReasonKey::NoWakeUp => Reason::NoWakeUp,
            ReasonKey::NotObserved | ReasonKey::Meanwhile(_) => Reason::NotObserved,
            ReasonKey::Wait(call, target) => Reason::Wait(self.call(call), self.target(target)),
        }
    }
}
