//! Why a thread was where it was: what it waited for, and what that says about the kind of wait.
//!
//! Here reasons are keys: cheap to copy and compare, with numbers for names. At the end each becomes the type of
//! `model::wait` that leaves this crate.

use crate::calls::{Arch, Limit, limit_of, waits_for};
use crate::lookups::{Lookups, QuestionId};
use crate::trace::{File, Files};
use model::network::Endpoint;
use model::recording::{Comm, Ends, FileKind, Object, Wait, Waker};
use model::wait::{Reason, WaitCall, WaitTarget};
use model::{Call, Seen, State};

/// A [`Reason`] by numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ReasonKey {
    None,
    Syscall(Call),
    /// By a thread of this name.
    Preempted(Comm),
    IdleCpu,
    PreemptedUnseen,
    /// In a call (none: a fault).
    Wait(Option<Call>, TargetKey),
    NoWakeUp,
}

/// A [`WaitTarget`] by numbers, as far as it is worth telling apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TargetKey {
    File(File),
    Swap,
    Pipe,
    Tty,
    Device,
    Unix,
    /// By its address in the process; 0 when that was not seen.
    Futex(u64),
    Timer,
    TimeLimit,
    TimeLimitOrTimer,
    EventFd,
    IoUring,
    Child,
    /// The end with the lower port, which is the service as a rule.
    Tcp(Endpoint),
    Udp(Endpoint),
    Answer(QuestionId),
    /// A thread outside the tree, by name.
    Task(Comm),
    /// It cannot be told.
    External,
}

/// Where numbers have their names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a> {
    pub(crate) files: &'a Files,
    pub(crate) lookups: &'a Lookups,
    pub(crate) arch: Arch,
}

impl Names<'_> {
    /// What the key stands for.
    pub(crate) fn target(self, key: TargetKey) -> WaitTarget {
        match key {
            TargetKey::File(file) => WaitTarget::File(self.files.path(file)),
            TargetKey::Swap => WaitTarget::Swap,
            TargetKey::Pipe => WaitTarget::Pipe(Seen::Absent),
            TargetKey::Tty => WaitTarget::Tty(Seen::Absent),
            TargetKey::Device => WaitTarget::Device(Seen::Absent),
            TargetKey::Unix => WaitTarget::Unix(Seen::Absent),
            TargetKey::Futex(0) => WaitTarget::Futex(Seen::Absent),
            TargetKey::Futex(address) => WaitTarget::Futex(Seen::Value(address)),
            TargetKey::Timer => WaitTarget::Timer(Seen::Absent),
            TargetKey::TimeLimit => WaitTarget::TimeLimit,
            TargetKey::TimeLimitOrTimer => WaitTarget::TimeLimitOrTimer,
            TargetKey::EventFd => WaitTarget::EventFd,
            TargetKey::IoUring => WaitTarget::IoUring,
            TargetKey::Child => WaitTarget::Child(Seen::Absent),
            TargetKey::Tcp(end) => WaitTarget::Tcp(end),
            TargetKey::Udp(end) => WaitTarget::Udp(end),
            TargetKey::Answer(question) => WaitTarget::Answer(self.lookups.question(question)),
            TargetKey::Task(name) => WaitTarget::Task(name.to_text()),
            TargetKey::External => WaitTarget::External(Seen::Absent),
        }
    }

    /// Where a wait was; none: in a fault.
    pub(crate) fn call(self, call: Option<Call>) -> WaitCall {
        call.map_or(WaitCall::Fault, |call| WaitCall::Syscall(self.arch.syscall(call)))
    }

    /// What the key stands for.
    pub(crate) fn reason(self, key: ReasonKey) -> Reason {
        match key {
            ReasonKey::None => Reason::None,
            ReasonKey::Syscall(call) => Reason::Syscall(self.arch.syscall(call)),
            ReasonKey::Preempted(name) => Reason::Preempted(name.to_text()),
            ReasonKey::IdleCpu => Reason::IdleCpu,
            ReasonKey::PreemptedUnseen => Reason::PreemptedUnseen,
            ReasonKey::NoWakeUp => Reason::NoWakeUp,
            ReasonKey::Wait(call, target) => Reason::Wait(self.call(call), self.target(target)),
        }
    }
}

impl ReasonKey {
    /// The one file that it is about.
    pub(crate) fn file(self) -> Option<File> {
        match self {
            ReasonKey::Wait(_, TargetKey::File(file)) if file.is_one() => Some(file),
            _ => None,
        }
    }

    /// The same for any file, and any futex.
    pub(crate) fn of_many(self) -> Self {
        match (self.file(), self) {
            (Some(_), _) => self.of_file(File::MANY),
            (None, ReasonKey::Wait(call, TargetKey::Futex(_))) => ReasonKey::Wait(call, TargetKey::Futex(0)),
            (None, _) => self,
        }
    }

    fn of_file(self, file: File) -> Self {
        match self {
            ReasonKey::Wait(call, TargetKey::File(_)) => ReasonKey::Wait(call, TargetKey::File(file)),
            other => other,
        }
    }
}

/// What kind of wait it was, and on what: from the call and its object, and from who ended it where these leave
/// it open. `about`: the file or swap that it is about, if it is about one.
pub(crate) fn classify(wait: &Wait, waker: &Waker, arch: Arch, about: TargetKey) -> (State, ReasonKey) {
    let (state, on) = kind_of(wait, waker, arch, about);
    (state, ReasonKey::Wait(wait.call, on))
}

fn kind_of(wait: &Wait, waker: &Waker, arch: Arch, about: TargetKey) -> (State, TargetKey) {
    // Whoever polls with a limit, or sleeps on a futex with one, and is woken by the limit, has slept.
    let timed_out = matches!(waker, Waker::Timer) && !wait.io && !wait.uninterruptible;
    if timed_out {
        let limit = wait.call.and_then(|call| arch.name(call)).map_or(Limit::None, limit_of);
        let socket = matches!(wait.on, Object::Net(_) | Object::Unix { .. } | Object::OtherSocket { .. });
        return match limit {
            Limit::Some => (State::Sleep, TargetKey::TimeLimit),
            Limit::OfSocket if socket => (State::Sleep, TargetKey::TimeLimit),
            Limit::OfSeveral => (State::Sleep, TargetKey::TimeLimitOrTimer),
            _ => (State::Sleep, TargetKey::Timer),
        };
    }
    let by_waker = |otherwise: State| match waker {
        Waker::Network { ready, .. } => (State::Network, ready.map_or(TargetKey::External, on_net)),
        Waker::Device => (State::Disk, TargetKey::Device),
        Waker::Task { name: Some(name), .. } => (otherwise, TargetKey::Task(*name)),
        _ => (otherwise, TargetKey::External),
    };
    match &wait.on {
        Object::Net(ends) => return (State::Network, on_net(*ends)),
        Object::Unix { .. } => return (State::Pipe, TargetKey::Unix),
        Object::OtherSocket { .. } => return by_waker(State::OtherWait),
        Object::Futex { address } => return (State::Lock, TargetKey::Futex(*address)),
        // Only its path is known: the call and how it sleeps tell more.
        Object::File { dev: 0, .. } => {}
        Object::File { kind, .. } => match kind {
            FileKind::Disk => {
                let name = wait.call.and_then(|call| arch.name(call));
                let locks = matches!(name, Some("flock" | "fcntl" | "fcntl64"));
                return (if locks { State::Lock } else { State::Disk }, about);
            }
            FileKind::Remote => return (State::Network, about),
            FileKind::Pipe => return (State::Pipe, TargetKey::Pipe),
            FileKind::Tty => return (State::Pipe, TargetKey::Tty),
            FileKind::TimerFd => return (State::Sleep, TargetKey::Timer),
            FileKind::Device if wait.io => return (State::Disk, TargetKey::Device),
            FileKind::Device => return (State::OtherWait, TargetKey::Device),
            FileKind::EventFd if matches!(waker, Waker::Task { .. }) => {
                return (State::Pipe, TargetKey::EventFd);
            }
            FileKind::Anonymous if is_ring(&wait.on) && matches!(waker, Waker::Task { .. }) => {
                return (State::OtherWait, TargetKey::IoUring);
            }
            FileKind::Epoll | FileKind::EventFd | FileKind::Anonymous => return by_waker(State::OtherWait),
        },
        Object::Unknown => {}
    }
    if wait.io {
        return (State::Disk, about);
    }
    let Some(name) = wait.call.and_then(|call| arch.name(call)) else {
        // A fault that is not IO sleeps for the lock of its address space.
        return if wait.uninterruptible {
            (State::Lock, TargetKey::External)
        } else {
            by_waker(State::OtherWait)
        };
    };
    if matches!(name, "wait4" | "waitid" | "waitpid" | "vfork") {
        return (State::OtherWait, TargetKey::Child);
    }
    match waits_for(name, wait.uninterruptible) {
        // A thread of the kernel's that works off requests, and has none.
        State::OtherWait if name == "io_uring_enter" && matches!(waker, Waker::Task { name: None, .. }) => {
            (State::OtherWait, TargetKey::IoUring)
        }
        State::OtherWait => by_waker(State::OtherWait),
        State::Sleep => (State::Sleep, TargetKey::Timer),
        State::Disk => (State::Disk, about),
        State::Pipe => (State::Pipe, TargetKey::Pipe),
        state => (state, TargetKey::Futex(0)),
    }
}

/// Whether it waits for whichever of several things is ready first.
pub(crate) fn is_for_several(wait: &Wait) -> bool {
    matches!(wait.on, Object::Unknown | Object::File { kind: FileKind::Epoll, .. }) || is_ring(&wait.on)
}

fn is_ring(on: &Object) -> bool {
    matches!(on, Object::File { kind: FileKind::Anonymous, name, .. } if *name == Comm::from("[io_uring]"))
}

/// Whether a thread can be woken from a poll since another worked on this. Who writes to a file may as well wake another
/// by the way, as those that watch for changes of files.
pub(crate) fn becomes_ready(on: &Object) -> bool {
    match on {
        Object::Net(_) | Object::Unix { .. } | Object::OtherSocket { .. } => true,
        Object::File { kind, .. } => {
            matches!(kind, FileKind::Pipe | FileKind::Tty | FileKind::EventFd | FileKind::TimerFd)
        }
        Object::Futex { .. } | Object::Unknown => false,
    }
}

/// Such a wait with what it asked for in place of its socket, where the answer to a question ended it: `answer` finds
/// that by socket.
pub(crate) fn for_a_name(
    reason: ReasonKey,
    wait: &Wait,
    waker: &Waker,
    answer: impl Fn(Ends) -> Option<QuestionId>,
) -> ReasonKey {
    let (ReasonKey::Wait(call, TargetKey::Udp(..)), Waker::Network { ready, .. }) = (reason, waker) else {
        return reason;
    };
    let socket = match (&wait.on, ready) {
        (_, Some(ready)) => Some(*ready),
        (Object::Net(ends), None) => Some(*ends),
        _ => None,
    };
    match socket.and_then(answer) {
        Some(question) => ReasonKey::Wait(call, TargetKey::Answer(question)),
        None => reason,
    }
}

fn on_net(ends: Ends) -> TargetKey {
    let (address, port) =
        if ends.remote_port == 0 || (ends.local_port != 0 && ends.local_port < ends.remote_port) {
            (ends.local, ends.local_port)
        } else {
            (ends.remote, ends.remote_port)
        };
    let end = Endpoint::new(address, port);
    if ends.protocol == 17 { TargetKey::Udp(end) } else { TargetKey::Tcp(end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(call: u16) -> Wait {
        Wait { call: Some(Call(call)), uninterruptible: false, io: false, on: Object::Unknown }
    }

    fn state(wait: &Wait, waker: &Waker) -> State {
        classify(wait, waker, Arch::X86, TargetKey::File(File::UNSEEN)).0
    }

    #[test]
    fn a_poll_that_times_out_has_slept_and_one_that_does_not_waited_on_what_came() {
        let poll = wait(7);
        assert_eq!(state(&poll, &Waker::Timer), State::Sleep);
        assert_eq!(state(&poll, &Waker::Network { over: 0, ready: None }), State::Network);
        assert_eq!(state(&poll, &Waker::Task { tid: 9, name: Some("x".into()) }), State::OtherWait);
    }

    #[test]
    fn io_in_a_fault_is_disk_and_a_fault_that_waits_otherwise_is_a_lock() {
        let fault = |io| Wait { call: None, uninterruptible: true, io, on: Object::Unknown };
        assert_eq!(state(&fault(true), &Waker::Device), State::Disk);
        assert_eq!(state(&fault(false), &Waker::Task { tid: 9, name: None }), State::Lock);
    }

    #[test]
    fn a_service_is_named_by_its_port_from_either_end() {
        let mut address = [0; 16];
        address[10..].copy_from_slice(&[0xff, 0xff, 127, 0, 0, 1]);
        let ends = Ends { protocol: 6, local: address, local_port: 40_000, remote: address, remote_port: 80 };
        let named = |ends| match classify(
            &Wait { on: Object::Net(ends), ..wait(45) },
            &Waker::Device,
            Arch::X86,
            TargetKey::External,
        )
        .1
        {
            ReasonKey::Wait(_, TargetKey::Tcp(end)) => end.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(named(ends), "127.0.0.1:80");
        assert_eq!(named(ends.reversed()), "127.0.0.1:80");
    }

    #[test]
    fn a_path_given_to_a_call_names_the_file_but_not_the_kind_of_wait() {
        let file = Object::File { kind: FileKind::Disk, dev: 0, ino: 1, name: "x".into() };
        let open = Wait { on: file, ..wait(2) };
        assert_eq!(state(&open, &Waker::Unknown), State::Pipe, "a named pipe nobody else has opened");
        assert_eq!(state(&Wait { uninterruptible: true, ..open }, &Waker::Device), State::Disk);
    }

    #[test]
    fn a_file_lock_is_a_lock() {
        let file = Object::File { kind: FileKind::Disk, dev: 1, ino: 1, name: "x".into() };
        let flock = Wait { on: file.clone(), ..wait(73) };
        assert_eq!(state(&flock, &Waker::Task { tid: 9, name: Some("y".into()) }), State::Lock);
        assert_eq!(state(&Wait { on: file, ..wait(0) }, &Waker::Device), State::Disk);
    }
}
