//! Which calls have something to wait on as their first argument.
//!
//! The argument is looked at when a thread blocks (by the kernel half) or is found blocked (in `/proc`). For calls not
//! listed nothing is looked at: a process id or a flag read as a descriptor would name an innocent file.

use syscalls::{aarch64, arm, x86, x86_64};

/// Values of `arg_kind` in the kernel half.
const FD: u8 = 1;
const FUTEX: u8 = 2;
const POLL: u8 = 3;

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
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "io_uring_enter",
    "splice",
    "tee",
    "vmsplice",
    "copy_file_range",
    "close",
    "sendfile",
    "sendfile64",
    "lseek",
    "readahead",
    "fadvise64",
];

/// Entries a table has: the native one, then the 32-bit one.
pub(crate) const TABLE: usize = 1024;

/// For each call of both tables of this architecture: what its first argument is.
pub(crate) fn kinds() -> Vec<u8> {
    (0..TABLE).map(native).chain((0..TABLE).map(compat)).map(kind).collect()
}

/// Whether the first argument of a call of the native table is a descriptor that it may wait on.
pub(crate) fn is_descriptor(number: usize) -> bool {
    kind(native(number)) == FD
}

fn native(number: usize) -> Option<&'static str> {
    if cfg!(target_arch = "aarch64") {
        aarch64::Sysno::new(number).map(|call| call.name())
    } else {
        x86_64::Sysno::new(number).map(|call| call.name())
    }
}

fn compat(number: usize) -> Option<&'static str> {
    if cfg!(target_arch = "aarch64") {
        arm::Sysno::new(number).map(|call| call.name())
    } else {
        x86::Sysno::new(number).map(|call| call.name())
    }
}

fn kind(name: Option<&str>) -> u8 {
    match name {
        Some("futex" | "futex_wait" | "futex_time64") => FUTEX,
        Some("poll" | "ppoll" | "ppoll_time64") => POLL,
        Some(name) if FD_CALLS.contains(&name) => FD,
        _ => 0,
    }
}

/// The number of `execve` in the native table.
pub(crate) fn execve() -> u32 {
    let number =
        if cfg!(target_arch = "aarch64") { aarch64::Sysno::execve.id() } else { x86_64::Sysno::execve.id() };
    number.cast_unsigned()
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
        assert_eq!(kinds[61], 0, "wait4 takes a process id");
        assert_eq!(execve(), 59);
    }
}
