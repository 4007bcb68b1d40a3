//! A filter on the system calls of a program and its descendants: seccomp(2). It is made before the
//! fork, and the child puts it in force before it executes the program.
//!
//! Which filter a run gets, and what follows, is left to others.
#![allow(unsafe_code)]

use crate::program::errno::errno;
use libc::{c_int, sock_filter, sock_fprog};
use std::mem::offset_of;

/// What becomes of calls that have the disk confirm what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flushes {
    /// They are done, and pass through as many instructions of the filter.
    Done,
    /// They return 0, and nothing is done.
    Skipped,
}

/// The filter's instructions.
#[derive(Debug, Clone)]
pub(crate) struct CallFilter(Vec<sock_filter>);

/// Calls that are flushes whatever their arguments.
const FLUSHES: [libc::c_long; 5] =
    [libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_sync_file_range, libc::SYS_sync, libc::SYS_syncfs];

/// linux/audit.h: the machine, 64 bits, little end first.
#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const ARCH: u32 = 0xc000_00f3;

/// linux/seccomp.h: returns the lower half as the error of the call; 0 is none.
const ANSWER_0: u32 = libc::SECCOMP_RET_ERRNO;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_SET: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

impl CallFilter {
    /// Calls of this machine's own kind only: those of a 32-bit program pass.
    pub(crate) fn flushes(flushes: Flushes) -> Self {
        let answer = match flushes {
            Flushes::Done => libc::SECCOMP_RET_ALLOW,
            Flushes::Skipped => ANSWER_0,
        };
        let pass = libc::SECCOMP_RET_ALLOW;
        let third_argument = offset_of!(libc::seccomp_data, args) + 2 * size_of::<u64>();
        let mut program = vec![
            load(offset_of!(libc::seccomp_data, arch)),
            jump(IF_EQUAL, ARCH, 1, 0),
            instruction(RETURN, pass),
            load(offset_of!(libc::seccomp_data, nr)),
        ];
        let last = [
            jump(IF_EQUAL, libc::SYS_msync as u32, 0, 2),
            load(third_argument),
            jump(IF_SET, libc::MS_SYNC as u32, 1, 0),
            instruction(RETURN, pass),
            instruction(RETURN, answer),
        ];
        for (call, at) in FLUSHES.into_iter().zip(1..) {
            let to_answer = FLUSHES.len() - at + last.len() - 1;
            program.push(jump(IF_EQUAL, call as u32, to_answer as u8, 0));
        }
        program.extend(last);
        Self(program)
    }

    /// Puts it in force for this process, for good. Where that needs it, the process and its
    /// descendants get no rights by executing set-user-ID programs any more.
    ///
    /// Allocates nothing. Gives the error number of the failure.
    pub(super) fn put_in_force(&self) -> Result<(), c_int> {
        match self.install() {
            // Neither CAP_SYS_ADMIN nor the promise.
            Err(libc::EACCES) => {
                // SAFETY: takes numbers only.
                if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
                    return Err(errno());
                }
                self.install()
            }
            installed => installed,
        }
    }

    fn install(&self) -> Result<(), c_int> {
        let program = sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        // Without this flag older kernels make the program slower than it is.
        let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
        // SAFETY: the program is as long as it says; the kernel copies it.
        let installed = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
        };
        if installed == 0 { Ok(()) } else { Err(errno()) }
    }
}

fn load(offset: usize) -> sock_filter {
    instruction(LOAD, offset as u32)
}

fn instruction(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// Skips this many instructions if it is so, or that many if not.
fn jump(code: u32, k: u32, if_so: u8, if_not: u8) -> sock_filter {
    sock_filter { code: code as u16, jt: if_so, jf: if_not, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would do with a call, step by step.
    fn answer(filter: &CallFilter, arch: u32, call: libc::c_long, third: u64) -> u32 {
        let mut data = [0_u8; size_of::<libc::seccomp_data>()];
        let mut put = |at: usize, bytes: &[u8]| data[at..at + bytes.len()].copy_from_slice(bytes);
        put(offset_of!(libc::seccomp_data, nr), &(call as u32).to_le_bytes());
        put(offset_of!(libc::seccomp_data, arch), &arch.to_le_bytes());
        put(offset_of!(libc::seccomp_data, args) + 16, &third.to_le_bytes());
        let (mut at, mut loaded) = (0, 0_u32);
        loop {
            let now = filter.0[at];
            at += 1;
            let so = match u32::from(now.code) {
                LOAD => {
                    let word = data[now.k as usize..][..4].try_into().expect("four bytes");
                    loaded = u32::from_le_bytes(word);
                    continue;
                }
                RETURN => return now.k,
                IF_EQUAL => loaded == now.k,
                IF_SET => loaded & now.k != 0,
                other => panic!("{other}"),
            };
            at += usize::from(if so { now.jt } else { now.jf });
        }
    }

    #[test]
    fn flushes_are_answered_and_all_else_passes() {
        let (skips, passes) = (CallFilter::flushes(Flushes::Skipped), CallFilter::flushes(Flushes::Done));
        for call in FLUSHES {
            assert_eq!(answer(&skips, ARCH, call, 0), ANSWER_0, "{call}");
            assert_eq!(answer(&passes, ARCH, call, 0), libc::SECCOMP_RET_ALLOW, "{call}");
            assert_eq!(answer(&skips, 0x4000_0003, call, 0), libc::SECCOMP_RET_ALLOW, "of 32 bits: {call}");
        }
        let msync = |flags: libc::c_int| answer(&skips, ARCH, libc::SYS_msync, flags as u64);
        assert_eq!(msync(libc::MS_SYNC | libc::MS_INVALIDATE), ANSWER_0);
        assert_eq!(msync(libc::MS_ASYNC), libc::SECCOMP_RET_ALLOW);
        for call in [libc::SYS_write, libc::SYS_read, libc::SYS_exit_group] {
            assert_eq!(answer(&skips, ARCH, call, 4), libc::SECCOMP_RET_ALLOW, "{call}");
        }
        assert_eq!(skips.0.len(), passes.0.len(), "one is as long as the other");
    }
}
