//! What kind of wait it was, what for, and where the path may go on: from whatever evidence there
//! is.
//!
//! Traced waits come with the waker and the kernel's IO flag, polled ones with the kernel function
//! that the thread slept in. Either may lack the call. The first of these that says something
//! decides: the object of the call, a time limit that ran out, the IO flag, the call, the kernel
//! function, the waker. A wait that its limit ended was for its object all the same; only who waits
//! for nothing else has slept.

use crate::calls::{Arch, Limit, changes_memory, limit_of, syncs, waits_for};
use crate::keys::{CallKey, FunctionId, QuestionId, ReasonKey, TargetKey, WaitKey};
use crate::local_sockets::LocalEnd;
use crate::roles::{Roles, serves_by_ports};
use model::State;
use model::network::Endpoint;
use model::recording::{Comm, FileKind, Object, SocketEnds, WaitContext, Waker};
use model::wait::TargetKind;

/// What is known of a wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    pub(crate) call: CallKey,
    /// What the call was about.
    pub(crate) object: &'a Object,
    /// State D.
    pub(crate) uninterruptible: bool,
    /// Whether the kernel says that it is for IO; none where that was not seen.
    pub(crate) io: Option<bool>,
    /// Unknown while the wait lasts, and where wake-ups are not seen.
    pub(crate) waker: &'a Waker,
    /// The kernel function in which the thread sleeps.
    pub(crate) function: Option<(FunctionId, &'a str)>,
    /// The file or swap that it is about, if it is about one.
    pub(crate) file: TargetKey,
    /// The end that a local socket is, where that is known.
    pub(crate) local: Option<LocalEnd>,
    /// Which end of a connection serves, where more than its ports is known.
    pub(crate) roles: Option<&'a Roles>,
    /// Whether terminals, devices and named pipes are kept apart by name.
    pub(crate) by_name: bool,
    /// The waker sent a signal.
    pub(crate) signalled: bool,
}

/// A kind of wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Classified {
    pub(crate) state: State,
    pub(crate) call: CallKey,
    pub(crate) target: TargetKey,
    pub(crate) next: Next,
}

/// Where the path may go on from a wait whose waker is not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Next {
    /// Nowhere: the time is a wait.
    Nowhere,
    /// Into a child process.
    Children,
    /// Into a child process, or else another thread of the process, if one is busy: what a poll
    /// waits for cannot be read from outside.
    BusyNearby,
    /// Into any thread of the tree, if one is busy: a sleep holds nothing up.
    Busy,
    /// Into another thread of the process.
    Siblings,
    /// Into a process that has the other end of this pipe.
    Pipe { ino: u64, writes: bool },
}

type Kind = (State, TargetKey);

/// It waits for whichever of several things is ready first.
const POLLED: TargetKey = TargetKey::Unseen(TargetKind::External, "which of the polled objects is unknown");

/// Why a target has no name.
const MANY: &str = "too many different ones to track";

impl Classified {
    /// A wait without evidence.
    pub(crate) const UNSEEN: Classified = Classified {
        state: State::OtherWait,
        call: CallKey::Unseen,
        target: TargetKey::Unseen(TargetKind::External, "no snapshot was taken during it"),
        next: Next::Nowhere,
    };

    /// The kind of wait that it is counted with.
    pub(crate) fn key(self) -> WaitKey {
        (self.state, self.reason())
    }

    /// The same without what tells it from others of its kind.
    pub(crate) fn of_many(self) -> Self {
        let target = match self.target {
            TargetKey::Futex(_) => TargetKey::Futex(0),
            TargetKey::TimedFutex(_) => TargetKey::TimedFutex(0),
            TargetKey::Tcp(_) => TargetKey::Unseen(TargetKind::Tcp, MANY),
            TargetKey::Udp(_) => TargetKey::Unseen(TargetKind::Udp, MANY),
            TargetKey::Named(kind, _) => TargetKey::Unseen(kind, MANY),
            TargetKey::Local(_) => TargetKey::Unseen(TargetKind::Unix, MANY),
            other => other,
        };
        let next = if matches!(self.next, Next::Pipe { .. }) { Next::Nowhere } else { self.next };
        Self { target, next, ..self }
    }

    /// For a place on the path: the call and what it was about.
    pub(crate) fn reason(self) -> ReasonKey {
        ReasonKey::Wait(self.call, self.target)
    }
}

impl<'a> Evidence<'a> {
    /// A traced wait; `file`: what it is about, if it is about a file or swap.
    pub(crate) fn traced(wait: &'a WaitContext, waker: &'a Waker, file: TargetKey) -> Self {
        let object = match &wait.on {
            // Only its path is known: the call and how it sleeps tell more.
            Object::File { dev: 0, .. } => &Object::Unknown,
            // For a lock of its address space, or for the disk: the flag tells.
            Object::Page { .. } | Object::SwapPage => &Object::Unknown,
            object => object,
        };
        Self {
            call: CallKey::traced(wait.call),
            object,
            uninterruptible: wait.uninterruptible,
            io: Some(wait.io),
            waker,
            function: None,
            file,
            local: None,
            roles: None,
            by_name: false,
            signalled: false,
        }
    }

    /// Whether the tree's end of a connection is the service.
    pub(crate) fn serves(self, ends: SocketEnds) -> bool {
        self.roles.map_or_else(|| serves_by_ports(ends), |roles| roles.serves(ends))
    }

    /// Time ended it: its limit, or a timer's signal.
    pub(crate) fn timed_out(self) -> bool {
        matches!(self.waker, Waker::Timer) && self.io != Some(true) && !self.uninterruptible
    }

    /// The same without what ended it, where that was time: it says nothing of what it was for.
    pub(crate) fn however_it_ended(self) -> Self {
        if self.timed_out() { Self { waker: &Waker::Unknown, ..self } } else { self }
    }

    fn named(self, kind: TargetKind, name: Comm, unnamed: TargetKey) -> TargetKey {
        if self.by_name { TargetKey::Named(kind, name) } else { unnamed }
    }

    /// Whether a thread may have ended it, as far as is known.
    fn by_task(self) -> bool {
        matches!(self.waker, Waker::Task { .. } | Waker::Unknown)
    }

    /// Whether a thread of the tree may have ended it, as far as is known.
    pub(crate) fn by_tree(self) -> bool {
        matches!(self.waker, Waker::Task { name: None, .. } | Waker::Unknown)
    }
}

/// What kind of wait it was, and on what.
pub(crate) fn classify(evidence: Evidence<'_>, arch: Arch) -> Classified {
    let call = evidence.call.syscall().and_then(|call| arch.name(call));
    let (state, target) = by_limit(evidence, call)
        .or_else(|| by_kernel_lock(evidence, call))
        .or_else(|| by_object(evidence.however_it_ended(), call))
        .or_else(|| (evidence.io == Some(true)).then_some((State::Disk, evidence.file)))
        .or_else(|| by_call(evidence, call))
        .or_else(|| by_function(evidence))
        .unwrap_or_else(|| by_waker(evidence, call));
    Classified { state, call: evidence.call, target, next: next(evidence, call, (state, target)) }
}

/// What a wait was that time ended, where its object does not say.
fn by_limit(evidence: Evidence<'_>, call: Option<&str>) -> Option<Kind> {
    let of_one_kind = |call: &str| {
        !call.starts_with("futex") && matches!(waits_for(call, false), State::Lock | State::Pipe)
    };
    if !evidence.timed_out() || is_named(evidence.object, call) || call.is_some_and(of_one_kind) {
        return None;
    }
    let socket = matches!(evidence.object, Object::OtherSocket { .. });
    let target = match (call.map_or(Limit::None, limit_of), evidence.object) {
        // Its stack may tell that it is a lock, or others that they end such waits.
        (Limit::Some, Object::Futex { address }) => TargetKey::TimedFutex(*address),
        (Limit::Some, _) => TargetKey::TimeLimit,
        (Limit::OfSocket, _) if socket => TargetKey::TimeLimit,
        (Limit::OfSeveral, _) => TargetKey::TimeLimitOrTimer,
        (Limit::OfSocket | Limit::None, _) => TargetKey::Nameless(TargetKind::Timer),
    };
    Some((State::Sleep, target))
}

/// Whether such an object says what a wait was for that time ended. A futex does not: as many are
/// waited on to let time pass.
fn is_named(object: &Object, call: Option<&str>) -> bool {
    match object {
        Object::Net(_) | Object::Unix { .. } => true,
        Object::File { kind, .. } => match kind {
            FileKind::Pipe | FileKind::Tty | FileKind::EventFd => true,
            // A lock that is taken until an alarm rings.
            FileKind::Disk => call.is_some_and(locks_files),
            _ => false,
        },
        Object::OtherSocket { .. }
        | Object::Futex { .. }
        | Object::Page { .. }
        | Object::SwapPage
        | Object::Unknown => false,
    }
}

/// Whether a call takes locks of files.
fn locks_files(call: &str) -> bool {
    matches!(call, "flock" | "fcntl" | "fcntl64")
}

/// Who sleeps in the kernel for a lock of a file, of a directory or of the address space: in a way
/// that no signal ends, not for IO, and a thread of the tree ends it, which had the lock; or the
/// kernel function tells. There need not be a disk.
fn by_kernel_lock(evidence: Evidence<'_>, call: Option<&str>) -> Option<Kind> {
    let call = call.filter(|_| evidence.uninterruptible)?;
    let released = evidence.io == Some(false) && matches!(evidence.waker, Waker::Task { name: None, .. });
    let sleeps_for_one = || matches!(by_function(evidence), Some((State::Lock, _)));
    let of_file = waits_for(call, true) == State::Disk && !syncs(call);
    let local = !matches!(evidence.object, Object::File { kind, .. } if *kind != FileKind::Disk);
    (of_file && local && (released || sleeps_for_one())).then_some((State::Lock, evidence.file))
}

fn by_object(evidence: Evidence<'_>, call: Option<&str>) -> Option<Kind> {
    Some(match evidence.object {
        Object::Unknown | Object::Page { .. } | Object::SwapPage => return None,
        Object::Net(ends) => (State::Network, service(*ends, evidence.serves(*ends))),
        Object::Unix { .. } => {
            let unnamed = TargetKey::Nameless(TargetKind::Unix);
            (State::Pipe, evidence.local.map_or(unnamed, |end| TargetKey::Local(end.server)))
        }
        Object::OtherSocket { .. } => {
            woken(evidence, TargetKey::Named(TargetKind::External, Comm::from("socket")))
        }
        Object::Futex { address } => (State::Lock, TargetKey::Futex(*address)),
        Object::File { kind, name, .. } => by_file(evidence, call, *kind, *name),
    })
}

fn by_file(evidence: Evidence<'_>, call: Option<&str>, kind: FileKind, name: Comm) -> Kind {
    match kind {
        // A named pipe looks like any file from outside; the kernel function tells.
        FileKind::Disk if evidence.function.is_some_and(|(_, function)| is_of_pipes(function)) => {
            (State::Pipe, evidence.named(TargetKind::Pipe, name, TargetKey::Nameless(TargetKind::Pipe)))
        }
        FileKind::Disk if call.is_some_and(locks_files) => (State::Lock, evidence.file),
        FileKind::Disk => (State::Disk, evidence.file),
        FileKind::Remote => (State::Network, evidence.file),
        // For whatever the kernel does meanwhile: no disk is involved.
        FileKind::Kernel => (State::OtherWait, evidence.file),
        FileKind::Pipe => (State::Pipe, TargetKey::Nameless(TargetKind::Pipe)),
        FileKind::Tty => {
            (State::Pipe, evidence.named(TargetKind::Tty, name, TargetKey::Nameless(TargetKind::Tty)))
        }
        FileKind::TimerFd => (State::Sleep, TargetKey::Nameless(TargetKind::Timer)),
        FileKind::Device => {
            let state = if evidence.io == Some(true) { State::Disk } else { State::OtherWait };
            (state, evidence.named(TargetKind::Device, name, TargetKey::Nameless(TargetKind::Device)))
        }
        FileKind::EventFd if evidence.by_task() => (State::Pipe, TargetKey::Nameless(TargetKind::EventFd)),
        FileKind::Anonymous if is_ring(evidence.object) && evidence.by_task() => {
            (State::OtherWait, TargetKey::Nameless(TargetKind::IoUring))
        }
        FileKind::Epoll => woken(evidence, POLLED),
        FileKind::EventFd | FileKind::Anonymous => {
            woken(evidence, TargetKey::Named(TargetKind::External, name))
        }
    }
}

/// None where the call says too little, or is not known.
fn by_call(evidence: Evidence<'_>, call: Option<&str>) -> Option<Kind> {
    let Some(call) = call else {
        // A fault that is not for IO sleeps for the lock of its address space.
        let locked = evidence.call == CallKey::Fault && evidence.uninterruptible && evidence.io.is_some();
        return locked.then_some((State::Lock, TargetKey::AddressSpace));
    };
    let child = (State::OtherWait, TargetKey::Nameless(TargetKind::Child));
    match call {
        "wait4" | "waitid" | "waitpid" | "vfork" => return Some(child),
        // As vfork does, it may sleep until the child executes or ends.
        "clone" | "clone3" if evidence.by_tree() => return Some(child),
        // A shell waits for a child's signal.
        "rt_sigsuspend" if matches!(evidence.waker, Waker::Unknown) => return Some(child),
        // A thread of the kernel's that works off requests, and has none.
        "io_uring_enter" if matches!(evidence.waker, Waker::Task { name: None, .. }) => {
            return Some((State::OtherWait, TargetKey::Nameless(TargetKind::IoUring)));
        }
        _ => {}
    }
    Some(match waits_for(call, evidence.uninterruptible) {
        State::Sleep => (State::Sleep, TargetKey::Nameless(TargetKind::Timer)),
        State::Disk => (State::Disk, evidence.file),
        State::Pipe => (State::Pipe, TargetKey::Nameless(TargetKind::Pipe)),
        State::Lock if call.starts_with("futex") => (State::Lock, TargetKey::Futex(0)),
        State::Lock if changes_memory(call) => (State::Lock, TargetKey::AddressSpace),
        State::Lock => (State::Lock, TargetKey::Nameless(TargetKind::Lock)),
        _ => return None,
    })
}

/// What a kernel function says of who sleeps in it.
enum Sleeps {
    On(TargetKey),
    /// On something of this kind.
    Inside(TargetKind),
}

/// By prefixes, since names gain and lose suffixes between kernels and compilers. The first that
/// fits decides.
const FUNCTIONS: &[(State, Sleeps, &[&str])] = &[
    (
        State::OtherWait,
        Sleeps::On(TargetKey::Nameless(TargetKind::Child)),
        &["do_wait", "kernel_wait", "wait_for_vfork", "sigsuspend"],
    ),
    (State::Lock, Sleeps::On(TargetKey::Futex(0)), &["futex"]),
    (
        State::Sleep,
        Sleeps::On(TargetKey::Nameless(TargetKind::Timer)),
        &["hrtimer_nanosleep", "do_nanosleep", "common_nsleep"],
    ),
    (
        State::Pipe,
        Sleeps::Inside(TargetKind::Pipe),
        &["pipe_", "anon_pipe", "fifo_", "wait_for_partner", "unix_", "n_tty", "tty_"],
    ),
    (
        State::OtherWait,
        Sleeps::On(POLLED),
        &[
            "do_epoll_wait",
            "ep_poll",
            "do_sys_poll",
            "do_poll",
            "poll_schedule",
            "do_select",
            "core_sys_select",
        ],
    ),
    (
        State::Disk,
        Sleeps::Inside(TargetKind::File),
        &[
            "io_schedule",
            "folio_wait",
            "wait_on_page",
            "wait_on_buffer",
            "__wait_on_buffer",
            "bit_wait_io",
            "blk_",
            "submit_bio",
            "rq_qos_wait",
            "balance_dirty",
            "jbd2_",
            "ext4_",
            "xfs_",
            "btrfs_",
            "f2fs_",
            "__filemap",
            "filemap_",
            "iomap_",
            "do_blockdev_direct",
        ],
    ),
    (
        State::Network,
        Sleeps::Inside(TargetKind::External),
        &[
            "inet_",
            "sk_wait",
            "sk_stream_wait",
            "tcp_",
            "udp_",
            "__skb_wait",
            "wait_woken",
            "nfs",
            "rpc_",
            "wait_on_commit",
            "cifs",
            "smb",
            "fuse_",
            "request_wait_answer",
            "p9_",
        ],
    ),
    (
        State::Lock,
        Sleeps::Inside(TargetKind::External),
        &["rwsem_", "mutex_", "__mutex", "flock_", "posix_lock", "down_", "fcntl_setlk", "locks_lock"],
    ),
];

fn by_function(evidence: Evidence<'_>) -> Option<Kind> {
    let (id, name) = evidence.function?;
    let fits = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let (state, sleeps, _) = FUNCTIONS.iter().find(|(_, _, prefixes)| fits(prefixes))?;
    Some(match sleeps {
        Sleeps::On(target) => (*state, *target),
        Sleeps::Inside(kind) => (*state, TargetKey::KernelFunction(*kind, id)),
    })
}

fn is_of_pipes(function: &str) -> bool {
    function.contains("pipe") || function.contains("fifo")
}

/// Where nothing else says what it was.
fn by_waker(evidence: Evidence<'_>, call: Option<&str>) -> Kind {
    let polls = call.is_some_and(|call| limit_of(call) == Limit::OfSeveral);
    match (polls, evidence.io, evidence.call) {
        (true, ..) => woken(evidence, POLLED),
        // Asleep in a way that no signal ends, which is for a disk as a rule.
        (_, None, CallKey::Fault) if evidence.uninterruptible => {
            (State::Disk, TargetKey::Unseen(TargetKind::File, "in a page fault"))
        }
        (_, None, _) if evidence.uninterruptible => {
            (State::Disk, TargetKey::Unseen(TargetKind::File, "in uninterruptible sleep"))
        }
        (_, None, _) => woken(evidence, TargetKey::Unseen(TargetKind::External, "not visible without BPF")),
        _ => woken(evidence, TargetKey::External),
    }
}

/// What the waker says; `unknown` is what it is on where there is none.
fn woken(evidence: Evidence<'_>, unknown: TargetKey) -> Kind {
    match evidence.waker {
        Waker::Network { ready, .. } => {
            (State::Network, ready.map_or(TargetKey::External, |ends| service(ends, evidence.serves(ends))))
        }
        Waker::Device => (State::Disk, TargetKey::Nameless(TargetKind::Device)),
        Waker::Task { name: Some(name), .. } => (State::OtherWait, TargetKey::Task(*name)),
        Waker::Unknown => (State::OtherWait, unknown),
        Waker::Task { name: None, .. } if evidence.signalled => {
            (State::OtherWait, TargetKey::Nameless(TargetKind::Signal))
        }
        Waker::Task { name: None, .. } => (State::OtherWait, TargetKey::Nameless(TargetKind::Thread)),
        Waker::Timer | Waker::Interrupt => (State::OtherWait, TargetKey::External),
    }
}

fn next(evidence: Evidence<'_>, call: Option<&str>, (state, target): Kind) -> Next {
    match (target, evidence.object) {
        _ if state == State::Sleep => Next::Busy,
        (TargetKey::Nameless(TargetKind::Child), _) => Next::Children,
        (TargetKey::Futex(_), _) => Next::Siblings,
        (TargetKey::Nameless(TargetKind::Pipe), Object::File { kind: FileKind::Pipe, ino, .. }) => {
            let writes = |call: &str| call.contains("write") || matches!(call, "vmsplice" | "tee");
            Next::Pipe { ino: *ino, writes: call.is_some_and(writes) }
        }
        (target, _) if target == POLLED => Next::BusyNearby,
        _ => Next::Nowhere,
    }
}

/// The end that serves. `serves`: it is the tree's own.
fn service(ends: SocketEnds, serves: bool) -> TargetKey {
    let (address, port) = if ends.remote_port == 0 || serves {
        (ends.local, ends.local_port)
    } else {
        (ends.remote, ends.remote_port)
    };
    let end = Endpoint::new(address, port);
    if ends.protocol == 17 { TargetKey::Udp(end) } else { TargetKey::Tcp(end) }
}

/// Whether it waits for whichever of several things is ready first.
pub(crate) fn is_for_several(wait: &WaitContext) -> bool {
    matches!(wait.on, Object::Unknown | Object::File { kind: FileKind::Epoll, .. }) || is_ring(&wait.on)
}

fn is_ring(object: &Object) -> bool {
    matches!(object, Object::File { kind: FileKind::Anonymous, name, .. } if *name == Comm::from("[io_uring]"))
}

/// Whether a thread can be woken from a poll since another worked on this. Who writes to a file may
/// as well wake another by the way, as those that watch for changes of files.
pub(crate) fn becomes_ready(object: &Object) -> bool {
    match object {
        Object::Net(_) | Object::Unix { .. } | Object::OtherSocket { .. } => true,
        Object::File { kind, .. } => {
            matches!(kind, FileKind::Pipe | FileKind::Tty | FileKind::EventFd | FileKind::TimerFd)
        }
        Object::Futex { .. } | Object::Page { .. } | Object::SwapPage | Object::Unknown => false,
    }
}

/// Such a wait with what it asked for in place of its socket, where the answer to a question ended
/// it: `answer` finds that by socket.
pub(crate) fn for_a_name(
    target: TargetKey,
    wait: &WaitContext,
    waker: &Waker,
    answer: impl Fn(SocketEnds) -> Option<QuestionId>,
) -> TargetKey {
    let (TargetKey::Udp(..), Waker::Network { ready, .. }) = (target, waker) else {
        return target;
    };
    let socket = match (&wait.on, ready) {
        (_, Some(ready)) => Some(*ready),
        (Object::Net(ends), None) => Some(*ends),
        _ => None,
    };
    socket.and_then(answer).map_or(target, TargetKey::Answer)
}

#[cfg(test)]
mod tests;
