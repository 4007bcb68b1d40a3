//! x86_64, and the calls of i386.

use super::{INSTRUCTION, Machine};
use model::Arch;
use syscalls::{x86, x86_64};

pub(super) static MACHINE: Machine = Machine {
    arch: Arch::X86_64,
    perf: &[
        (0, 0),
        (1, 3),
        (2, 2),
        (3, 1),
        (4, 4),
        (5, 5),
        (6, 6),
        (7, 7),
        (8, INSTRUCTION),
        (16, 8),
        (17, 9),
        (18, 10),
        (19, 11),
        (20, 12),
        (21, 13),
        (22, 14),
        (23, 15),
    ],
    // Stack pointer, rbp, rbx, r12 to r15.
    kept: [7, 6, 3, 12, 13, 14, 15],
    scratch: &[0, 1, 2, 4, 5, 8, 9, 10, 11],
    native: |number| x86_64::Sysno::new(number).map(|call| call.name()),
    compat: |number| x86::Sysno::new(number).map(|call| call.name()),
    execve: x86_64::Sysno::execve as u32,
    receives: [
        x86_64::Sysno::read as u32,
        x86_64::Sysno::recvfrom as u32,
        x86_64::Sysno::readv as u32,
        x86_64::Sysno::recvmsg as u32,
    ],
    rt_sigreturn: [x86_64::Sysno::rt_sigreturn as u32, x86::Sysno::rt_sigreturn as u32],
    libraries: &[
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/libc.so.6",
        "/usr/lib/libc.so.6",
        "/lib/ld-musl-x86_64.so.1",
    ],
};
