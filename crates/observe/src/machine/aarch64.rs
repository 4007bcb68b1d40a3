//! aarch64, and the calls of arm.

use super::{INSTRUCTION, Machine};
use model::Arch;
use syscalls::{aarch64, arm};

pub(super) static MACHINE: Machine = Machine {
    arch: Arch::Aarch64,
    perf: &{
        let mut all = [(0, 0); 33];
        let mut number = 0;
        while number < 32 {
            all[number] = (number as u8, number as u16);
            number += 1;
        }
        all[32] = (32, INSTRUCTION);
        all
    },
    // Stack pointer, x29, x30, x19 to x22.
    kept: [31, 29, 30, 19, 20, 21, 22],
    scratch: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18],
    native: |number| aarch64::Sysno::new(number).map(|call| call.name()),
    compat: |number| arm::Sysno::new(number).map(|call| call.name()),
    execve: aarch64::Sysno::execve as u32,
    receives: [
        aarch64::Sysno::read as u32,
        aarch64::Sysno::recvfrom as u32,
        aarch64::Sysno::readv as u32,
        aarch64::Sysno::recvmsg as u32,
    ],
    rt_sigreturn: [aarch64::Sysno::rt_sigreturn as u32, arm::Sysno::rt_sigreturn as u32],
    libraries: &[
        "/lib/aarch64-linux-gnu/libc.so.6",
        "/lib64/libc.so.6",
        "/usr/lib/libc.so.6",
        "/lib/ld-musl-aarch64.so.1",
    ],
};
