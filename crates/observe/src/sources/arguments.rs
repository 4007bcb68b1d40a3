//! Which system calls have a wait target among their arguments: a descriptor, a futex, or a path;
//! which give a number of bytes; and which have less than three arguments.
//!
//! The argument is read when a thread blocks (by the kernel half) or is found blocked (in `/proc`).
//! For calls not listed nothing is read: a PID or a flag read as a descriptor would give a wrong
//! file.

use crate::machine;
use model::Call;
use syscalls::x86_64;

/// Values of `arg_kind` in the kernel half.
const FD: u8 = 1;
/// Several descriptors: such a call may make any of them ready.
const FDS: u8 = 2;
const PATH: u8 = 3;
const PATH_AT: u8 = 4;
const FUTEX: u8 = 5;
const POLL: u8 = 6;
const EPOLL: u8 = 7;
const SELECT: u8 = 8;
const RING: u8 = 9;

const FD_CALLS: &[&str] = &[
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "pwrite64",
    "preadv",
    "pwritev",
    "preadv2",
    "pwritev2",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "syncfs",
    "ftruncate",
    "fallocate",
    "getdents",
    "getdents64",
    "flock",
    "fcntl",
    "fcntl64",
    "ioctl",
    "fstat",
    "recvfrom",
    "sendto",
    "recvmsg",
    "sendmsg",
    "recvmmsg",
    "sendmmsg",
    "recv",
    "send",
    "accept",
    "accept4",
    "connect",
    "shutdown",
    "vmsplice",
    "copy_file_range",
    "close",
    "sendfile",
    "sendfile64",
    "lseek",
    "readahead",
    "fadvise64",
];

/// Calls whose first argument is a path; the lookup may read directories and inodes.
const PATH_CALLS: &[&str] = &[
    "open",
    "creat",
    "stat",
    "lstat",
    "stat64",
    "lstat64",
    "oldstat",
    "oldlstat",
    "statfs",
    "statfs64",
    "access",
    "execve",
    "chdir",
    "chroot",
    "rename",
    "mkdir",
    "rmdir",
    "link",
    "unlink",
    "readlink",
    "chmod",
    "chown",
    "chown32",
    "lchown",
    "lchown32",
    "truncate",
    "truncate64",
    "mknod",
    "utime",
    "utimes",
    "getxattr",
    "lgetxattr",
    "setxattr",
    "lsetxattr",
    "listxattr",
    "llistxattr",
    "removexattr",
    "lremovexattr",
];

/// Calls with a directory's descriptor first and a path second.
const PATH_AT_CALLS: &[&str] = &[
    "openat",
    "openat2",
    "newfstatat",
    "fstatat64",
    "statx",
    "faccessat",
    "faccessat2",
    "execveat",
    "mkdirat",
    "mknodat",
    "unlinkat",
    "renameat",
    "renameat2",
    "linkat",
    "readlinkat",
    "fchmodat",
    "fchmodat2",
    "fchownat",
    "futimesat",
    "utimensat",
    "utimensat_time64",
    "name_to_handle_at",
];

/// In the kernel half's `result_kind`.
const MOVES_BYTES: u8 = 4;
const READS_FILE: u8 = 8;
const WRITES_FILE: u8 = 16;
const ASKS_FOR_PATH: u8 = 32;
const MAKES_THREAD: u8 = 64;

/// Calls that read from the descriptor that is their first argument, and those that write to it:
/// what is counted by file.
const FILE_READS: &[&str] = &["read", "readv", "pread64", "preadv", "preadv2"];
const FILE_WRITES: &[&str] = &["write", "writev", "pwrite64", "pwritev", "pwritev2"];

/// Calls that open a file by its path, or ask for one: of these paths are counted that were asked
/// for before.
const PATH_ASKS: &[&str] = &[
    "open",
    "openat",
    "openat2",
    "creat",
    "stat",
    "lstat",
    "stat64",
    "lstat64",
    "newfstatat",
    "fstatat64",
    "statx",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
    "getxattr",
    "lgetxattr",
    "listxattr",
    "llistxattr",
];

/// Other calls that move data, and whose result is how much.
const MOVING_CALLS: &[&str] = &[
    "recvfrom",
    "sendto",
    "recvmsg",
    "sendmsg",
    "recv",
    "send",
    "sendfile",
    "sendfile64",
    "copy_file_range",
    "splice",
    "tee",
    "vmsplice",
    "getdents",
    "getdents64",
    "getrandom",
    "process_vm_readv",
    "process_vm_writev",
    "msgrcv",
    "mq_timedreceive",
    "mq_timedreceive_time64",
];

/// Calls without arguments that programs may repeat.
const CALLS_OF_NONE: &[&str] = &[
    "sched_yield",
    "getpid",
    "gettid",
    "getppid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getuid32",
    "geteuid32",
    "getgid32",
    "getegid32",
    "getpgrp",
    "pause",
    "sync",
];

/// The same with one argument.
const CALLS_OF_ONE: &[&str] = &[
    "close",
    "times",
    "time",
    "sysinfo",
    "uname",
    "brk",
    "umask",
    "alarm",
    "dup",
    "fsync",
    "fdatasync",
    "syncfs",
    "getpgid",
    "getsid",
    "fchdir",
    "pipe",
    "eventfd",
    "timer_getoverrun",
];

/// The same with two.
const CALLS_OF_TWO: &[&str] = &[
    "nanosleep",
    "gettimeofday",
    "clock_gettime",
    "clock_gettime64",
    "clock_getres",
    "fstat",
    "fstat64",
    "fstatfs",
    "dup2",
    "kill",
    "tkill",
    "getrlimit",
    "getrusage",
    "munmap",
    "shutdown",
    "listen",
    "ftruncate",
    "flock",
    "getitimer",
    "getpriority",
    "timer_gettime",
    "timerfd_gettime",
    "rt_sigpending",
    "rt_sigsuspend",
    "sched_getparam",
    "fchmod",
    "sigaltstack",
];

/// Entries of a table: the native one, then the 32-bit one.
pub(crate) const TABLE: usize = 1024;

/// For each call of both tables of this architecture: the kind of its first argument.
pub(crate) fn kinds() -> Vec<u8> {
    (0..TABLE).map(native).chain((0..TABLE).map(compat)).map(kind).collect()
}

/// For each call of both tables: how many of its first three arguments it has, and [`MOVES_BYTES`]
/// where a result above 0 is a number of bytes that it moved, with [`READS_FILE`] or
/// [`WRITES_FILE`] where they are of the file of its first argument; or [`ASKS_FOR_PATH`]; or
/// [`MAKES_THREAD`], where a result of 0 is the new thread's, which made no call.
pub(crate) fn result_kinds() -> Vec<u8> {
    (0..TABLE).map(native).chain((0..TABLE).map(compat)).map(result_kind).collect()
}

fn result_kind(name: Option<&str>) -> u8 {
    match name {
        Some(name) if CALLS_OF_NONE.contains(&name) => 0,
        Some(name) if CALLS_OF_ONE.contains(&name) => 1,
        Some(name) if CALLS_OF_TWO.contains(&name) => 2,
        Some("fork" | "vfork") => MAKES_THREAD,
        Some("clone" | "clone3") => 3 | MAKES_THREAD,
        Some(name) if FILE_READS.contains(&name) => 3 | MOVES_BYTES | READS_FILE,
        Some(name) if FILE_WRITES.contains(&name) => 3 | MOVES_BYTES | WRITES_FILE,
        Some(name) if MOVING_CALLS.contains(&name) => 3 | MOVES_BYTES,
        Some(name) if PATH_ASKS.contains(&name) => 3 | ASKS_FOR_PATH,
        _ => 3,
    }
}

/// Whether a result above 0 of this call is a number of bytes that it moved.
pub(crate) fn moves_bytes(call: Call) -> bool {
    result_kind(name(call)) & MOVES_BYTES != 0
}

/// Whether one of the first arguments of a call is a path, in memory that may be used again.
pub(crate) fn has_path(call: Call) -> bool {
    matches!(kind(name(call)), PATH | PATH_AT)
}

/// Whether it opens a file by its path, or asks for one.
pub(crate) fn asks_for_path(call: Call) -> bool {
    result_kind(name(call)) & ASKS_FOR_PATH != 0
}

fn name(call: Call) -> Option<&'static str> {
    let number = usize::from(call.number());
    if call.is_compat() { compat(number) } else { native(number) }
}

/// Whether the first argument of a call of the native table is a descriptor that it may wait on.
pub(crate) fn is_descriptor(number: usize) -> bool {
    matches!(kind(native(number)), FD | FDS | EPOLL | RING)
}

fn native(number: usize) -> Option<&'static str> {
    machine::here().native(number)
}

fn compat(number: usize) -> Option<&'static str> {
    machine::here().compat(number)
}

fn kind(name: Option<&str>) -> u8 {
    match name {
        Some("futex" | "futex_wait" | "futex_wake" | "futex_time64") => FUTEX,
        Some("poll" | "ppoll" | "ppoll_time64") => POLL,
        Some("epoll_wait" | "epoll_pwait" | "epoll_pwait2") => EPOLL,
        Some("select" | "_newselect" | "pselect6" | "pselect6_time64") => SELECT,
        Some("io_uring_enter") => RING,
        Some("splice" | "tee") => FDS,
        Some(name) if FD_CALLS.contains(&name) => FD,
        Some(name) if PATH_CALLS.contains(&name) => PATH,
        Some(name) if PATH_AT_CALLS.contains(&name) => PATH_AT,
        _ => 0,
    }
}

/// The number of `execve` in the native table.
pub(crate) fn execve() -> u32 {
    machine::here().execve
}

/// The numbers of `rt_sigreturn`: in the native table and in that of 32 bits.
pub(crate) fn rt_sigreturn() -> [u32; 2] {
    machine::here().rt_sigreturn
}

/// That of `io_uring_enter`, whose number is the same in all tables.
pub(crate) fn io_uring_enter() -> u32 {
    x86_64::Sysno::io_uring_enter.id().cast_unsigned()
}

/// Those of calls that receive into a buffer, or into buffers: `read`, `recvfrom`, `readv`,
/// `recvmsg`.
pub(crate) fn receives() -> [u32; 4] {
    machine::here().receives
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_tables_stand_side_by_side() {
        let kinds = kinds();
        assert_eq!(kinds.len(), 2 * TABLE);
        assert_eq!(kinds[0], FD, "read is 0 on x86_64");
        assert_eq!(kinds[TABLE + 3], FD, "read is 3 on i386");
        assert_eq!(kinds[TABLE + 240], FUTEX, "futex is 240 on i386");
        assert_eq!((kinds[232], kinds[23]), (EPOLL, SELECT), "epoll_wait and select");
        assert_eq!(kinds[61], 0, "wait4 takes a process id");
        assert_eq!((kinds[2], kinds[257]), (PATH, PATH_AT), "open and openat");
        assert_eq!(kinds[execve() as usize], PATH);
        assert_eq!(execve(), 59);
        assert_eq!((kinds[426], kinds[TABLE + 426]), (RING, RING), "io_uring_enter");
        assert_eq!(io_uring_enter(), syscalls::aarch64::Sysno::io_uring_enter.id().cast_unsigned());
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn results_are_bytes_by_the_table_of_the_call() {
        let kinds = result_kinds();
        assert_eq!(
            (kinds[0], kinds[1], kinds[3]),
            (3 | MOVES_BYTES | READS_FILE, 3 | MOVES_BYTES | WRITES_FILE, 1),
            "read, write, close"
        );
        assert_eq!((kinds[24], kinds[35], kinds[7]), (0, 2, 3), "sched_yield, nanosleep, poll");
        let of_i386 = (3 | MOVES_BYTES | READS_FILE, 1);
        assert_eq!((kinds[TABLE + 3], kinds[TABLE + 6]), of_i386, "read and close of i386");
        assert_eq!((kinds[44], kinds[217]), (3 | MOVES_BYTES, 3 | MOVES_BYTES), "sendto, getdents64");
        assert!(moves_bytes(Call(0)) && moves_bytes(Call(3 | Call::COMPAT)) && !moves_bytes(Call(3)));
        assert_eq!((kinds[58], kinds[56]), (MAKES_THREAD, 3 | MAKES_THREAD), "vfork, clone");
        assert!(asks_for_path(Call(257)) && asks_for_path(Call(5 | Call::COMPAT)), "openat, open of i386");
        assert!(!asks_for_path(Call(87)) && !asks_for_path(Call(0)), "unlink, read");
        assert!(PATH_ASKS.iter().all(|name| matches!(kind(Some(name)), PATH | PATH_AT)));
        assert!(has_path(Call(257)) && !has_path(Call(0)) && !has_path(Call::OTHER), "openat, read");
    }
}
