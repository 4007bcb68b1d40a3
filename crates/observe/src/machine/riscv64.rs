//! riscv64. It has no calls of 32-bit programs, and no BPF programs of dwell: what they would keep
//! is not recorded.

use super::{INSTRUCTION, Machine};
use model::Arch;
use syscalls::riscv64;

pub(super) static MACHINE: Machine = Machine {
    arch: Arch::Riscv64,
    // The instruction, then x1 to x31.
    perf: &{
        let mut all = [(0, INSTRUCTION); 32];
        let mut number = 1;
        while number < 32 {
            all[number] = (number as u8, number as u16);
            number += 1;
        }
        all
    },
    kept: [2, 8, 1, 9, 18, 19, 20],
    scratch: &[],
    native: |number| riscv64::Sysno::new(number).map(|call| call.name()),
    compat: |_| None,
    execve: riscv64::Sysno::execve as u32,
    receives: [
        riscv64::Sysno::read as u32,
        riscv64::Sysno::recvfrom as u32,
        riscv64::Sysno::readv as u32,
        riscv64::Sysno::recvmsg as u32,
    ],
    rt_sigreturn: [riscv64::Sysno::rt_sigreturn as u32; 2],
    libraries: &[
        "/lib/riscv64-linux-gnu/libc.so.6",
        "/lib64/lp64d/libc.so.6",
        "/usr/lib/libc.so.6",
        "/lib/ld-musl-riscv64.so.1",
    ],
};
