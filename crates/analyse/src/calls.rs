//! System calls by name, and what waiting in one means.

use model::wait::SyscallName;
use model::{Call, State};
use syscalls::{aarch64, arm, riscv64, x86, x86_64};

/// The tables of the architecture that a recording was made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// x86_64, and the i386 table.
    X86,
    /// aarch64, and the arm table.
    Arm,
    /// riscv64.
    Riscv,
    /// Another: calls are shown by number.
    Other,
}

impl Arch {
    /// From `uname -m`.
    pub fn from_machine(machine: &str) -> Self {
        match machine {
            "x86_64" => Arch::X86,
            "aarch64" => Arch::Arm,
            "riscv64" => Arch::Riscv,
            _ => Arch::Other,
        }
    }

    /// The call's name in its own table, where it has one.
    pub fn name(self, call: Call) -> Option<&'static str> {
        let number = usize::from(call.number());
        match (self, call, call.is_compat()) {
            (_, Call::DYING, _) => Some("exit"),
            (Arch::X86, _, false) => x86_64::Sysno::new(number).map(|call| call.name()),
            (Arch::X86, _, true) => x86::Sysno::new(number).map(|call| call.name()),
            (Arch::Arm, _, false) => aarch64::Sysno::new(number).map(|call| call.name()),
            (Arch::Arm, _, true) => arm::Sysno::new(number).map(|call| call.name()),
            (Arch::Riscv, _, false) => riscv64::Sysno::new(number).map(|call| call.name()),
            (Arch::Riscv, _, true) | (Arch::Other, ..) => None,
        }
    }

    /// The call as every output names it: `call 999` without a name.
    pub fn syscall(self, call: Call) -> SyscallName {
        let name = match (call, self.name(call)) {
            (Call::OTHER, _) => "other calls".into(),
            (_, Some(name)) => name.into(),
            (_, None) => format!("call {}", call.number()).into(),
        };
        SyscallName { name, compat: call.is_compat() }
    }
}

/// What a wait in this call is about when its object does not tell.
///
/// `uninterruptible` is state D: calls on paths sleep that way for the filesystem, calls on memory
/// for a lock of the address space. What tells a lock of the filesystem from its disk is up to
/// `classify`.
pub fn waits_for(name: &str, uninterruptible: bool) -> State {
    match name {
        "nanosleep" | "clock_nanosleep" | "clock_nanosleep_time64" => State::Sleep,
        "futex" | "futex_time64" | "futex_wait" | "futex_waitv" | "semop" | "semtimedop"
        | "semtimedop_time64" | "flock" => State::Lock,
        "msgrcv" | "msgsnd" | "mq_timedreceive" | "mq_timedsend" => State::Pipe,
        name if syncs(name) => State::Disk,
        name if uninterruptible && changes_memory(name) => State::Lock,
        "open" | "openat" | "openat2" | "creat" if !uninterruptible => State::Pipe,
        name if uninterruptible && is_about_files(name) => State::Disk,
        _ => State::OtherWait,
    }
}

/// Whether a call waits for what was written to be on a disk, or for IO that was begun: there
/// others of the tree may end the wait for all.
pub(crate) fn syncs(name: &str) -> bool {
    matches!(
        name,
        "io_getevents"
            | "io_pgetevents"
            | "sync"
            | "syncfs"
            | "fsync"
            | "fdatasync"
            | "msync"
            | "sync_file_range"
    )
}

/// Whether a call changes the address space of its process.
pub(crate) fn changes_memory(name: &str) -> bool {
    matches!(
        name,
        "mmap"
            | "mmap2"
            | "munmap"
            | "mprotect"
            | "mremap"
            | "brk"
            | "madvise"
            | "mlock"
            | "mlockall"
            | "munlock"
    )
}

/// Whether a call sends a signal.
pub(crate) fn sends_a_signal(name: &str) -> bool {
    matches!(
        name,
        "kill" | "tkill" | "tgkill" | "rt_sigqueueinfo" | "rt_tgsigqueueinfo" | "pidfd_send_signal"
    )
}

/// Whether a call that blocks on a connection waits until there is room for what it sends.
pub(crate) fn waits_for_room(name: &str) -> bool {
    matches!(
        name,
        "write" | "writev" | "sendto" | "sendmsg" | "sendmmsg" | "sendfile" | "sendfile64" | "splice"
    )
}

/// Whether a call can end since time is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Not by a limit: it sleeps, or a timer's signal ends it.
    None,
    /// By one that it may be given.
    Some,
    /// As `Of`, and a timer may be among what it waits for.
    OfSeveral,
    /// By one that its socket may have.
    OfSocket,
}

/// What limit a call can have.
pub(crate) fn limit_of(name: &str) -> Limit {
    match name {
        "futex"
        | "futex_time64"
        | "futex_wait"
        | "futex_waitv"
        | "semtimedop"
        | "semtimedop_time64"
        | "mq_timedreceive"
        | "mq_timedreceive_time64"
        | "mq_timedsend"
        | "mq_timedsend_time64"
        | "rt_sigtimedwait"
        | "rt_sigtimedwait_time64"
        | "io_getevents"
        | "io_pgetevents"
        | "io_pgetevents_time64" => Limit::Some,
        "poll" | "ppoll" | "ppoll_time64" | "select" | "_newselect" | "pselect6" | "pselect6_time64"
        | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "io_uring_enter" => Limit::OfSeveral,
        "read" | "readv" | "recvfrom" | "recvmsg" | "recv" | "write" | "writev" | "sendto" | "sendmsg"
        | "send" | "accept" | "accept4" | "connect" | "socketcall" => Limit::OfSocket,
        "recvmmsg" | "recvmmsg_time64" => Limit::Some,
        _ => Limit::None,
    }
}

/// Whether time alone may end a wait in a call that was not given to a socket.
pub(crate) fn may_be_timed(name: &str) -> bool {
    matches!(limit_of(name), Limit::Some | Limit::OfSeveral) || waits_for(name, false) == State::Sleep
}

/// Whether a call works on paths or on files of a filesystem.
fn is_about_files(name: &str) -> bool {
    const STARTS: &[&str] = &[
        "open",
        "stat",
        "lstat",
        "fstat",
        "newfstat",
        "unlink",
        "rename",
        "mkdir",
        "rmdir",
        "link",
        "symlink",
        "readlink",
        "chmod",
        "fchmod",
        "chown",
        "fchown",
        "lchown",
        "access",
        "faccess",
        "truncate",
        "ftruncate",
        "getdents",
        "utime",
        "futimes",
        "mknod",
        "chdir",
        "fchdir",
        "execve",
        "read",
        "write",
        "pread",
        "pwrite",
        "close",
        "creat",
        "getxattr",
        "setxattr",
        "lgetxattr",
        "listxattr",
        "fallocate",
        "copy_file_range",
        "sendfile",
        "splice",
        "mount",
        "umount",
    ];
    STARTS.iter().any(|start| name.starts_with(start))
}

/// Calls in which a thread waits for work: those of event loops, and those that wait for a notice,
/// a signal or a child. Reading from a connection is none: that may be what the work waits for.
pub(crate) fn waits_for_work(name: &str) -> bool {
    waits_for_events(name)
        || matches!(
            name,
            "futex"
                | "futex_time64"
                | "futex_waitv"
                | "futex_wait"
                | "rt_sigtimedwait"
                | "rt_sigtimedwait_time64"
                | "rt_sigsuspend"
                | "pause"
                | "wait4"
                | "waitid"
                | "waitpid"
                | "io_getevents"
        )
}

/// Calls that wait for whichever event comes first, or for a connection: those of event loops.
pub(crate) fn waits_for_events(name: &str) -> bool {
    matches!(
        name,
        "accept"
            | "accept4"
            | "epoll_wait"
            | "epoll_pwait"
            | "epoll_pwait2"
            | "poll"
            | "ppoll"
            | "ppoll_time64"
            | "select"
            | "_newselect"
            | "pselect6"
            | "pselect6_time64"
            | "io_uring_enter"
    )
}

/// Calls that take data in.
pub(crate) fn receives(name: &str) -> bool {
    matches!(
        name,
        "read"
            | "readv"
            | "preadv2"
            | "recv"
            | "recvfrom"
            | "recvmsg"
            | "recvmmsg"
            | "recvmmsg_time64"
            | "splice"
    )
}

/// Whether a call can be what made a socket of another thread ready.
pub fn touches_a_peer(name: &str) -> bool {
    matches!(
        name,
        "write" | "writev" | "pwritev2" | "sendto" | "sendmsg" | "sendmmsg" | "send" | "sendfile" | "sendfile64" | "splice"
            | "connect" | "shutdown" | "close" | "socketcall" | "io_uring_enter" | "exit_group" | "accept" | "accept4"
            // Taking data in opens the window for the sender, and acknowledges it.
            | "read" | "readv" | "recvfrom" | "recvmsg" | "recvmmsg" | "recv"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_table_the_call_went_through() {
        assert_eq!(Arch::X86.syscall(Call(0)).to_string(), "read");
        assert_eq!(Arch::X86.syscall(Call(3 | Call::COMPAT)).to_string(), "32:read");
        assert_eq!(Arch::Arm.syscall(Call(63)).to_string(), "read");
        assert_eq!(Arch::from_machine("riscv64").syscall(Call(258)).to_string(), "riscv_hwprobe");
        assert_eq!(Arch::X86.syscall(Call(1023)).to_string(), "call 1023");
        assert_eq!(Arch::Other.syscall(Call(0)).to_string(), "call 0");
    }

    #[test]
    fn calls_of_event_loops_wait_for_work_whatever_the_width_of_their_time() {
        let calls = ["accept", "ppoll", "ppoll_time64", "pselect6", "pselect6_time64", "io_uring_enter"];
        assert!(calls.into_iter().all(|call| waits_for_events(call) && waits_for_work(call)));
        assert!(["futex", "futex_time64", "wait4"].into_iter().all(waits_for_work));
        assert!(!["futex", "wait4", "read"].into_iter().any(waits_for_events));
        assert!(!waits_for_work("read"), "it may be what the work waits for");
    }

    #[test]
    fn what_a_wait_is_about_depends_on_how_it_sleeps() {
        assert_eq!(waits_for("openat", true), State::Disk);
        assert_eq!(waits_for("openat", false), State::Pipe, "the other end of a named pipe");
        assert_eq!(waits_for("mmap", true), State::Lock);
        assert_eq!(waits_for("wait4", false), State::OtherWait);
    }
}
