//! Why a thread was where it was: what it waited for, and what that says about the kind of wait.

use crate::calls::{Arch, Limit, limit_of, waits_for};
use crate::followed::{File, Files};
use crate::lookups::{Lookups, Question};
use model::recording::{Comm, Ends, FileKind, Object, Wait, Waker};
use model::run::WaitOn;
use model::{Call, Seen, State};

/// Why, in a form that is cheap to compare; put into words at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reason {
    /// There is no more to say.
    None,
    /// In this call.
    Call(Call),
    /// This one ran instead; the empty name is the idle loop: a CPU was free, and the thread on its way to it.
    Ran(Comm),
    /// It was never seen who.
    RanUnseen,
    /// Waiting, in a call (none: a fault), on something.
    Wait(Option<Call>, On),
    /// Blocked, and no wake-up was seen.
    NoWake,
}

/// What was waited on, as far as it is worth telling apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum On {
    File(File),
    Swap,
    Pipe,
    Tty,
    Device,
    Unix,
    /// By its address in the process; 0 when that was not seen.
    Futex(u64),
    Timer,
    /// What it waited for did not come within the limit that the call was given.
    Limit,
    /// The same, or a timer became ready that is among what it polls.
    LimitOrTimer,
    EventFd,
    /// Requests given to io_uring, where what they were about cannot be told.
    Ring,
    Child,
    /// An internet socket; the end with the lower port, which is the service as a rule.
    Tcp([u8; 16], u16),
    Udp([u8; 16], u16),
    /// The answer to a question for a name.
    Answer(Question),
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
}

impl On {
    /// Kind and name as every output has them.
    pub(crate) fn show(self, names: Names<'_>) -> WaitOn {
        let (kind, name) = match self {
            On::File(file) => return names.files.show(file),
            On::Answer(question) => ("udp", Seen::Value(names.lookups.show(question).to_owned())),
            On::Swap => ("device", Seen::Value("swap".to_owned())),
            On::Pipe => ("pipe", Seen::Absent),
            On::Tty => ("tty", Seen::Absent),
            On::Device => ("device", Seen::Absent),
            On::Unix => ("unix", Seen::Absent),
            On::Futex(0) => ("futex", Seen::Absent),
            On::Futex(address) => ("futex", Seen::Value(format!("{address:#x}"))),
            On::Timer => ("timer", Seen::Absent),
            On::Limit => ("timer", Seen::Value("time limit".to_owned())),
            On::LimitOrTimer => ("timer", Seen::Value("time limit or timer".to_owned())),
            On::EventFd => ("eventfd", Seen::Absent),
            On::Ring => ("io_uring", Seen::Absent),
            On::Child => ("child", Seen::Absent),
            On::Tcp(address, port) => ("tcp", Seen::Value(show_end(address, port))),
            On::Udp(address, port) => ("udp", Seen::Value(show_end(address, port))),
            On::Task(name) => ("external", Seen::Value(name.to_text())),
            On::External => ("external", Seen::Absent),
        };
        WaitOn { kind: kind.to_owned(), name }
    }
}

/// `127.0.0.1:80`, `[::1]:80`.
pub(crate) fn show_end(address: [u8; 16], port: u16) -> String {
    let address = std::net::Ipv6Addr::from(address);
    match address.to_ipv4_mapped() {
        Some(v4) => format!("{v4}:{port}"),
        None => format!("[{address}]:{port}"),
    }
}

impl Reason {
    /// The one file that it is about.
    pub(crate) fn file(self) -> Option<File> {
        match self {
            Reason::Wait(_, On::File(file)) if file.is_one() => Some(file),
            _ => None,
        }
    }

    /// The same for any file, and any futex.
    pub(crate) fn of_many(self) -> Self {
        match (self.file(), self) {
            (Some(_), _) => self.of_file(File::MANY),
            (None, Reason::Wait(call, On::Futex(_))) => Reason::Wait(call, On::Futex(0)),
            (None, _) => self,
        }
    }

    fn of_file(self, file: File) -> Self {
        match self {
            Reason::Wait(call, On::File(_)) => Reason::Wait(call, On::File(file)),
            other => other,
        }
    }

    /// In words, for the path: the call, who ran, or what was waited on.
    pub(crate) fn show(self, arch: Arch, names: Names<'_>) -> String {
        match self {
            Reason::None => String::new(),
            Reason::Call(call) => arch.show(call),
            Reason::Ran(name) if name == Comm::default() => "on its way to a free cpu".to_owned(),
            Reason::Ran(name) => format!("{} ran", name.to_text()),
            Reason::RanUnseen => String::new(),
            Reason::NoWake => "no wake-up seen".to_owned(),
            Reason::Wait(call, on) => {
                let on = on.show(names);
                let on = match on.name {
                    Seen::Value(name) => format!("{} {name}", on.kind),
                    _ => on.kind,
                };
                match call {
                    Some(call) => format!("{}, {on}", arch.show(call)),
                    None => format!("fault, {on}"),
                }
            }
        }
    }
}

/// What kind of wait it was, and on what: from the call and its object, and from who ended it where these leave
/// it open. `about`: the file or swap that it is about, if it is about one.
pub(crate) fn classify(wait: &Wait, waker: &Waker, arch: Arch, about: On) -> (State, Reason) {
    let (state, on) = kind_of(wait, waker, arch, about);
    (state, Reason::Wait(wait.call, on))
}

fn kind_of(wait: &Wait, waker: &Waker, arch: Arch, about: On) -> (State, On) {
    // Whoever polls with a limit, or sleeps on a futex with one, and is woken by the limit, has slept.
    let timed_out = matches!(waker, Waker::Timer) && !wait.io && !wait.uninterruptible;
    if timed_out {
        let limit = wait.call.and_then(|call| arch.name(call)).map_or(Limit::None, limit_of);
        let socket = matches!(wait.on, Object::Net(_) | Object::Unix { .. } | Object::OtherSocket { .. });
        return match limit {
            Limit::Some => (State::Sleep, On::Limit),
            Limit::OfSocket if socket => (State::Sleep, On::Limit),
            Limit::OfSeveral => (State::Sleep, On::LimitOrTimer),
            _ => (State::Sleep, On::Timer),
        };
    }
    let by_waker = |otherwise: State| match waker {
        Waker::Network { ready, .. } => (State::Network, ready.map_or(On::External, on_net)),
        Waker::Device => (State::Disk, On::Device),
        Waker::Task { name: Some(name), .. } => (otherwise, On::Task(*name)),
        _ => (otherwise, On::External),
    };
    match &wait.on {
        Object::Net(ends) => return (State::Network, on_net(*ends)),
        Object::Unix { .. } => return (State::Pipe, On::Unix),
        Object::OtherSocket { .. } => return by_waker(State::OtherWait),
        Object::Futex { address } => return (State::Lock, On::Futex(*address)),
        // Only its path is known: the call and how it sleeps tell more.
        Object::File { dev: 0, .. } => {}
        Object::File { kind, .. } => match kind {
            FileKind::Disk => {
                let name = wait.call.and_then(|call| arch.name(call));
                let locks = matches!(name, Some("flock" | "fcntl" | "fcntl64"));
                return (if locks { State::Lock } else { State::Disk }, about);
            }
            FileKind::Remote => return (State::Network, about),
            FileKind::Pipe => return (State::Pipe, On::Pipe),
            FileKind::Tty => return (State::Pipe, On::Tty),
            FileKind::TimerFd => return (State::Sleep, On::Timer),
            FileKind::Device if wait.io => return (State::Disk, On::Device),
            FileKind::Device => return (State::OtherWait, On::Device),
            FileKind::EventFd if matches!(waker, Waker::Task { .. }) => return (State::Pipe, On::EventFd),
            FileKind::Anonymous if is_ring(&wait.on) && matches!(waker, Waker::Task { .. }) => {
                return (State::OtherWait, On::Ring);
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
        return if wait.uninterruptible { (State::Lock, On::External) } else { by_waker(State::OtherWait) };
    };
    if matches!(name, "wait4" | "waitid" | "waitpid" | "vfork") {
        return (State::OtherWait, On::Child);
    }
    match waits_for(name, wait.uninterruptible) {
        // A thread of the kernel's that works off requests, and has none.
        State::OtherWait if name == "io_uring_enter" && matches!(waker, Waker::Task { name: None, .. }) => {
            (State::OtherWait, On::Ring)
        }
        State::OtherWait => by_waker(State::OtherWait),
        State::Sleep => (State::Sleep, On::Timer),
        State::Disk => (State::Disk, about),
        State::Pipe => (State::Pipe, On::Pipe),
        state => (state, On::Futex(0)),
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
    reason: Reason,
    wait: &Wait,
    waker: &Waker,
    answer: impl Fn(Ends) -> Option<Question>,
) -> Reason {
    let (Reason::Wait(call, On::Udp(..)), Waker::Network { ready, .. }) = (reason, waker) else {
        return reason;
    };
    let socket = match (&wait.on, ready) {
        (_, Some(ready)) => Some(*ready),
        (Object::Net(ends), None) => Some(*ends),
        _ => None,
    };
    match socket.and_then(answer) {
        Some(question) => Reason::Wait(call, On::Answer(question)),
        None => reason,
    }
}

fn on_net(ends: Ends) -> On {
    let (address, port) =
        if ends.remote_port == 0 || (ends.local_port != 0 && ends.local_port < ends.remote_port) {
            (ends.local, ends.local_port)
        } else {
            (ends.remote, ends.remote_port)
        };
    if ends.protocol == 17 { On::Udp(address, port) } else { On::Tcp(address, port) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(call: u16) -> Wait {
        Wait { call: Some(Call(call)), uninterruptible: false, io: false, on: Object::Unknown }
    }

    fn state(wait: &Wait, waker: &Waker) -> State {
        classify(wait, waker, Arch::X86, On::File(File::UNSEEN)).0
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
            On::External,
        )
        .1
        {
            Reason::Wait(_, on) => {
                on.show(Names { files: &Files::new(&[]), lookups: &Lookups::default() }).name
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(named(ends), Seen::Value("127.0.0.1:80".to_owned()));
        assert_eq!(named(ends.reversed()), Seen::Value("127.0.0.1:80".to_owned()));
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
