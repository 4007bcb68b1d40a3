//! ptrace(2), one request a function. A thread must be stopped for all of them but [`seize`] and [`interrupt`];
//! one that was killed meanwhile gives `ESRCH`.
#![allow(unsafe_code)]

use model::recording::{Ending, Rusage};
use std::ffi::{c_int, c_long, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

pub(super) type Tid = libc::pid_t;

/// ptrace(2)'s numbers that the C library's bindings lack for some targets; from the kernel's
/// `include/uapi/linux/ptrace.h`.
mod number {
    use std::ffi::c_long;
    pub(super) const PEEKTEXT: c_long = 1;
    pub(super) const POKETEXT: c_long = 4;
    pub(super) const CONT: c_long = 7;
    pub(super) const SINGLESTEP: c_long = 9;
    pub(super) const DETACH: c_long = 17;
    pub(super) const SYSCALL: c_long = 24;
    pub(super) const GETEVENTMSG: c_long = 0x4201;
    pub(super) const GETSIGINFO: c_long = 0x4202;
    pub(super) const SEIZE: c_long = 0x4206;
    pub(super) const INTERRUPT: c_long = 0x4207;
    pub(super) const LISTEN: c_long = 0x4208;
}

/// Stop at the system calls with bit 7 set in the signal, so that they are not taken for a SIGTRAP.
pub(super) const SYSCALLS_MARKED: c_long = 1;
/// Attach to what fork makes.
pub(super) const FORKS: c_long = 1 << 1;
/// Attach to what vfork makes, and tell when the parent goes on.
pub(super) const VFORKS: c_long = (1 << 2) | (1 << 5);
/// Attach to threads.
pub(super) const CLONES: c_long = 1 << 3;
/// Stop at a successful `execve`.
pub(super) const EXECS: c_long = 1 << 4;
/// Kill the program when its tracer dies: nobody would take the breakpoints out of it.
pub(super) const DIE_WITH_TRACER: c_long = 1 << 20;

/// What a thread reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// It is gone.
    Ended { ending: Ending, rusage: Rusage },
    /// A signal is about to reach it: SIGTRAP also for steps and breakpoints.
    Signal(c_int),
    /// It enters or leaves a system call.
    Syscall,
    /// It made a process or a thread.
    Made(Made),
    /// The parent of a vfork goes on.
    VforkDone,
    /// Another program took its place.
    Executed,
    /// It stopped because we asked, or is new.
    Interrupted,
    /// Job control stopped it.
    JobStopped,
}

/// How a new process or thread came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// A process with a copy of the memory.
    Fork,
    /// A process in the memory of its parent, until it executes something.
    Vfork,
    /// Most often a thread.
    Clone,
}

fn request(request: c_long, tid: Tid, address: u64, data: u64) -> io::Result<()> {
    // SAFETY: for the requests made here, an address of ours is in `data` only, and the callers pass places of the
    // size that the request writes.
    match unsafe { libc::syscall(libc::SYS_ptrace, request, c_long::from(tid), address, data) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Becomes the tracer of a thread without stopping it.
pub(super) fn seize(tid: Tid, options: c_long) -> io::Result<()> {
    request(number::SEIZE, tid, 0, options as u64)
}

/// Asks a running thread to stop.
pub(super) fn interrupt(tid: Tid) -> io::Result<()> {
    request(number::INTERRUPT, tid, 0, 0)
}

/// Lets it execute one instruction, or enter the handler of `signal`.
pub(super) fn step(tid: Tid, signal: c_int) -> io::Result<()> {
    request(number::SINGLESTEP, tid, 0, signal as u64)
}

/// Lets it run.
pub(super) fn run(tid: Tid, signal: c_int) -> io::Result<()> {
    request(number::CONT, tid, 0, signal as u64)
}

/// Lets it run to its next system call, in or out.
pub(super) fn run_to_syscall(tid: Tid, signal: c_int) -> io::Result<()> {
    request(number::SYSCALL, tid, 0, signal as u64)
}

/// Leaves it stopped by job control, to hear when it is continued.
pub(super) fn listen(tid: Tid) -> io::Result<()> {
    request(number::LISTEN, tid, 0, 0)
}

/// Lets it go for good.
pub(super) fn detach(tid: Tid, signal: c_int) -> io::Result<()> {
    request(number::DETACH, tid, 0, signal as u64)
}

/// The thread or process that a [`Report::Made`] is about.
pub(super) fn made(tid: Tid) -> io::Result<Tid> {
    let mut message: libc::c_ulong = 0;
    request(number::GETEVENTMSG, tid, 0, (&raw mut message) as u64)?;
    Ok(message as Tid)
}

/// Where a signal comes from: its code, and the process that sent it where the code is that of a sender.
pub(super) fn signal_origin(tid: Tid) -> io::Result<(c_int, libc::pid_t)> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    request(number::GETSIGINFO, tid, 0, info.as_mut_ptr() as u64)?;
    // SAFETY: zeros are a valid `siginfo_t`, and the kernel filled it; the field is only meaningful, not only
    // valid, for signals that were sent.
    unsafe {
        let info = info.assume_init();
        Ok((info.si_code, info.si_pid()))
    }
}

/// A word of its memory.
pub(super) fn peek(tid: Tid, address: u64) -> io::Result<[u8; 8]> {
    let mut word: libc::c_long = 0;
    request(number::PEEKTEXT, tid, address, (&raw mut word) as u64)?;
    Ok(word.to_ne_bytes())
}

/// Overwrites a word of its memory, protected against writing or not. Only its own copy changes.
pub(super) fn poke(tid: Tid, address: u64, word: [u8; 8]) -> io::Result<()> {
    request(number::POKETEXT, tid, address, u64::from_ne_bytes(word))
}

/// Registers of x86_64, by their places in `struct user`.
#[cfg(target_arch = "x86_64")]
pub(super) mod registers {
    use super::{Tid, io, request};
    use libc::user_regs_struct as Regs;
    use std::mem::offset_of;

    const PEEKUSER: std::ffi::c_long = 3;
    const POKEUSER: std::ffi::c_long = 6;

    fn read(tid: Tid, offset: usize) -> io::Result<u64> {
        let mut value = 0_u64;
        request(PEEKUSER, tid, offset as u64, (&raw mut value) as u64)?;
        Ok(value)
    }

    /// The next instruction's address.
    pub(crate) fn ip(tid: Tid) -> io::Result<u64> {
        read(tid, offset_of!(Regs, rip))
    }

    pub(crate) fn set_ip(tid: Tid, ip: u64) -> io::Result<()> {
        request(POKEUSER, tid, offset_of!(Regs, rip) as u64, ip)
    }

    pub(crate) fn sp(tid: Tid) -> io::Result<u64> {
        read(tid, offset_of!(Regs, rsp))
    }

    /// The system call that it is in.
    pub(crate) fn syscall(tid: Tid) -> io::Result<i64> {
        read(tid, offset_of!(Regs, orig_rax)).map(|number| number as i64)
    }
}

/// Registers of aarch64, all at once: there is no other way.
#[cfg(target_arch = "aarch64")]
pub(super) mod registers {
    use super::{Tid, io, request};
    use libc::user_regs_struct as Regs;
    use std::mem::MaybeUninit;

    const GETREGSET: std::ffi::c_long = 0x4204;
    const SETREGSET: std::ffi::c_long = 0x4205;
    /// `NT_PRSTATUS`: the general registers.
    const GENERAL: u64 = 1;

    fn transfer(way: std::ffi::c_long, tid: Tid, regs: *mut Regs) -> io::Result<()> {
        let mut place = libc::iovec { iov_base: regs.cast(), iov_len: size_of::<Regs>() };
        request(way, tid, GENERAL, (&raw mut place) as u64)
    }

    fn read(tid: Tid) -> io::Result<Regs> {
        let mut regs = MaybeUninit::<Regs>::zeroed();
        transfer(GETREGSET, tid, regs.as_mut_ptr())?;
        // SAFETY: numbers, for which zeros are valid too.
        Ok(unsafe { regs.assume_init() })
    }

    /// The next instruction's address.
    pub(crate) fn ip(tid: Tid) -> io::Result<u64> {
        read(tid).map(|regs| regs.pc)
    }

    pub(crate) fn set_ip(tid: Tid, ip: u64) -> io::Result<()> {
        let mut regs = read(tid)?;
        regs.pc = ip;
        transfer(SETREGSET, tid, &raw mut regs)
    }

    /// The address that a call returns to.
    pub(crate) fn link(tid: Tid) -> io::Result<u64> {
        read(tid).map(|regs| regs.regs[30])
    }

    /// The system call that it is in.
    pub(crate) fn syscall(tid: Tid) -> io::Result<i64> {
        read(tid).map(|regs| regs.regs[8] as i64)
    }
}

/// Waits for the next report of `tid`, or with -1 of any thread that the calling thread traces or forked. Reaps
/// what has ended.
pub(super) fn wait(tid: Tid) -> io::Result<(Tid, Report)> {
    let mut status = 0;
    let mut rusage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        let options = libc::__WALL | libc::__WNOTHREAD;
        // SAFETY: both places are valid for writes.
        let waited = unsafe { libc::wait4(tid, &mut status, options, rusage.as_mut_ptr()) };
        if waited > 0 {
            // SAFETY: zeros are a valid `rusage` should none have been written.
            return Ok((waited, meaning(status, &unsafe { rusage.assume_init() })));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Waits until `pid` has something to report, without taking it; true when it has ended.
pub(super) fn wait_without_taking(pid: Tid) -> io::Result<bool> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL | libc::__WNOTHREAD;
    loop {
        // SAFETY: the place is valid for writes.
        if unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, info.as_mut_ptr(), options) } == 0 {
            // SAFETY: zeros are a valid `siginfo_t`.
            let code = unsafe { info.assume_init() }.si_code;
            return Ok(matches!(code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Sends a signal to a whole process.
pub(super) fn kill(pid: Tid, signal: c_int) {
    // SAFETY: takes two numbers. A process that has just ended is no error.
    unsafe { libc::kill(pid, signal) };
}

fn meaning(status: c_int, rusage: &libc::rusage) -> Report {
    const JOB: [c_int; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    let exit = ExitStatus::from_raw(status);
    let Some(signal) = exit.stopped_signal() else {
        let ending = match (exit.code(), exit.signal()) {
            (Some(code), _) => Ending::Code(code),
            (None, signal) => Ending::Signal(signal.unwrap_or(0)),
        };
        return Report::Ended { ending, rusage: in_our_units(rusage) };
    };
    // The events of `include/uapi/linux/ptrace.h`.
    match status >> 16 {
        1 => Report::Made(Made::Fork),
        2 => Report::Made(Made::Vfork),
        3 => Report::Made(Made::Clone),
        4 => Report::Executed,
        5 => Report::VforkDone,
        128 if JOB.contains(&signal) => Report::JobStopped,
        128 => Report::Interrupted,
        _ if signal == libc::SIGTRAP | 0x80 => Report::Syscall,
        _ => Report::Signal(signal),
    }
}

fn in_our_units(rusage: &libc::rusage) -> Rusage {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    let count = |value: c_long| u64::try_from(value).unwrap_or(0);
    Rusage {
        user_ns: ns(rusage.ru_utime),
        kernel_ns: ns(rusage.ru_stime),
        max_rss_bytes: count(rusage.ru_maxrss) * 1024,
        minor_faults: count(rusage.ru_minflt),
        major_faults: count(rusage.ru_majflt),
        read_bytes: count(rusage.ru_inblock) * 512,
        written_bytes: count(rusage.ru_oublock) * 512,
    }
}

/// Signals' numbers are wider than what a mask's text shows; whether `mask` (of /proc) has `signal`.
pub(super) fn in_mask(mask: u64, signal: c_int) -> bool {
    (1..=64).contains(&signal) && mask >> (signal - 1) & 1 == 1
}

const _: () = assert!(size_of::<*const c_void>() == 8, "ptrace words are taken to be of 8 bytes");
