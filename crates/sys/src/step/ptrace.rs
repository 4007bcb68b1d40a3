//! ptrace(2), one function per request. A thread must be stopped for all of them but [`seize`] and
//! [`interrupt`]; if it has been killed, they fail with `ESRCH`.
#![allow(unsafe_code)]

use crate::program::usage::in_our_units;
use model::recording::{Ending, Rusage};
use std::ffi::{c_int, c_long, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

pub(super) type Tid = libc::pid_t;

/// Constants of ptrace(2) that the C library's bindings lack for some targets; from the kernel's
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
    pub(super) const PEEKSIGINFO: c_long = 0x4209;
}

/// Set bit 7 in the signal of syscall stops, to distinguish them from SIGTRAP.
pub(super) const SYSCALLS_MARKED: c_long = 1;
/// Attach to children of fork.
pub(super) const FORKS: c_long = 1 << 1;
/// Attach to children of vfork, and report when the parent resumes.
pub(super) const VFORKS: c_long = (1 << 2) | (1 << 5);
/// Attach to new threads.
pub(super) const CLONES: c_long = 1 << 3;
/// Stop at a successful `execve`.
pub(super) const EXECS: c_long = 1 << 4;
/// Kill the program when its tracer dies: its breakpoints could not be removed.
pub(super) const DIE_WITH_TRACER: c_long = 1 << 20;

/// A ptrace report of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// It has ended.
    Ended { ending: Ending, rusage: Rusage },
    /// It is about to get a signal: SIGTRAP also for steps and breakpoints.
    Signal(c_int),
    /// Syscall entry or exit.
    Syscall,
    /// It created a process or a thread.
    Made(CloneKind),
    /// The parent of a vfork resumes.
    VforkDone,
    /// It has executed another program.
    Executed,
    /// It stopped on request, or is new.
    Interrupted,
    /// Job control stopped it.
    JobStopped,
}

/// How a new process or thread was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloneKind {
    /// A process with a copy of the memory.
    Fork,
    /// A process in the memory of its parent, until it executes something.
    Vfork,
    /// By `clone`, most often a thread.
    Clone,
}

fn request(request: c_long, tid: Tid, address: u64, data: u64) -> io::Result<()> {
    // SAFETY: for the requests made here, only `data` is an address of ours, and callers pass
    // buffers of the size that the request writes.
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

/// Executes one instruction, or enters the handler of `signal`.
pub(super) fn step(tid: Tid, signal: c_int) -> io::Result<()> {
    request(number::SINGLESTEP, tid, 0, signal as u64)
}

/// Resumes it.
pub(super) fn run(tid: Tid, signal: c_int) -> io::Result<()> {
    request(number::CONT, tid, 0, signal as u64)
}

/// Resumes it up to its next syscall entry or exit.
pub(super) fn run_to_syscall(tid: Tid, signal: c_int) -> io::Result<()> {
    request(number::SYSCALL, tid, 0, signal as u64)
}

/// Leaves it stopped by job control, to be notified when it is continued.
pub(super) fn listen(tid: Tid) -> io::Result<()> {
    request(number::LISTEN, tid, 0, 0)
}

/// Detaches from it.
pub(super) fn detach(tid: Tid, signal: c_int) -> io::Result<()> {
    request(number::DETACH, tid, 0, signal as u64)
}

/// The new thread or process of a [`Report::Made`].
pub(super) fn made(tid: Tid) -> io::Result<Tid> {
    let mut message: libc::c_ulong = 0;
    request(number::GETEVENTMSG, tid, 0, (&raw mut message) as u64)?;
    Ok(message as Tid)
}

/// Signals of a thread that are looked through for a trap; there is hardly ever more than one.
const PENDING_MOST: usize = 32;

/// Whether a stopped thread has a SIGTRAP before it that an instruction of its own caused: it
/// stopped for something else after that instruction, and before the signal.
pub(super) fn trap_is_pending(tid: Tid) -> io::Result<bool> {
    // `struct ptrace_peeksiginfo_args`: the first to read, flags (none: of the thread itself), how
    // many.
    #[repr(C)]
    struct Which {
        from: u64,
        flags: u32,
        most: i32,
    }
    let which = Which { from: 0, flags: 0, most: PENDING_MOST as i32 };
    let mut pending = [const { MaybeUninit::<libc::siginfo_t>::zeroed() }; PENDING_MOST];
    let (address, data) = ((&raw const which) as u64, pending.as_mut_ptr() as u64);
    // SAFETY: the kernel reads one `Which` and writes at most `most` entries, which there are.
    let count =
        unsafe { libc::syscall(libc::SYS_ptrace, number::PEEKSIGINFO, c_long::from(tid), address, data) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: zeros are a valid `siginfo_t`, and the kernel filled these.
    let mut pending = pending.iter().take(count).map(|info| unsafe { info.assume_init_ref() });
    Ok(pending.any(|info| info.si_signo == libc::SIGTRAP && info.si_code > 0))
}

/// The origin of a signal: its code, and the sending process where the code implies one.
pub(super) fn signal_origin(tid: Tid) -> io::Result<(c_int, libc::pid_t)> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    request(number::GETSIGINFO, tid, 0, info.as_mut_ptr() as u64)?;
    // SAFETY: zeros are a valid `siginfo_t`, and the kernel filled it; the field is only
    // meaningful, not only valid, for signals that were sent.
    unsafe {
        let info = info.assume_init();
        Ok((info.si_code, info.si_pid()))
    }
}

/// Reads a word of its memory.
pub(super) fn peek(tid: Tid, address: u64) -> io::Result<[u8; 8]> {
    let mut word: libc::c_long = 0;
    request(number::PEEKTEXT, tid, address, (&raw mut word) as u64)?;
    Ok(word.to_ne_bytes())
}

/// Overwrites a word of its memory, even if it is read-only. Only its private copy changes.
pub(super) fn poke(tid: Tid, address: u64, word: [u8; 8]) -> io::Result<()> {
    request(number::POKETEXT, tid, address, u64::from_ne_bytes(word))
}

/// Registers of x86_64, by their offsets in `struct user`.
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

    /// The address of the next instruction.
    pub(crate) fn ip(tid: Tid) -> io::Result<u64> {
        read(tid, offset_of!(Regs, rip))
    }

    pub(crate) fn set_ip(tid: Tid, ip: u64) -> io::Result<()> {
        request(POKEUSER, tid, offset_of!(Regs, rip) as u64, ip)
    }

    pub(crate) fn sp(tid: Tid) -> io::Result<u64> {
        read(tid, offset_of!(Regs, rsp))
    }

    /// Its current system call.
    pub(crate) fn syscall(tid: Tid) -> io::Result<i64> {
        read(tid, offset_of!(Regs, orig_rax)).map(|number| number as i64)
    }
}

/// Registers of other architectures, all at once: the kernel offers no other way.
#[cfg(not(target_arch = "x86_64"))]
pub(super) mod registers {
    use super::{Tid, io, request};

    const GETREGSET: std::ffi::c_long = 0x4204;
    const SETREGSET: std::ffi::c_long = 0x4205;
    /// `NT_PRSTATUS`: the general registers.
    const GENERAL: u64 = 1;

    /// How many words they are, and which is the address of the next instruction, that to which a
    /// call returns, and the number of a system call: `struct user_pt_regs` of the kernel's
    /// `asm/ptrace.h`.
    #[cfg(target_arch = "aarch64")]
    mod place {
        pub(super) const WORDS: usize = 34;
        pub(super) const IP: usize = 32;
        pub(super) const LINK: usize = 30;
        pub(super) const CALL: usize = 8;
    }
    /// The same of `struct user_regs_struct`.
    #[cfg(target_arch = "riscv64")]
    mod place {
        pub(super) const WORDS: usize = 32;
        pub(super) const IP: usize = 0;
        pub(super) const LINK: usize = 1;
        pub(super) const CALL: usize = 17;
    }

    type Regs = [u64; place::WORDS];

    fn transfer(way: std::ffi::c_long, tid: Tid, regs: *mut Regs) -> io::Result<()> {
        let mut place = libc::iovec { iov_base: regs.cast(), iov_len: size_of::<Regs>() };
        request(way, tid, GENERAL, (&raw mut place) as u64)
    }

    fn read(tid: Tid) -> io::Result<Regs> {
        let mut regs = [0; place::WORDS];
        transfer(GETREGSET, tid, &raw mut regs)?;
        Ok(regs)
    }

    /// The address of the next instruction.
    pub(crate) fn ip(tid: Tid) -> io::Result<u64> {
        read(tid).map(|regs| regs[place::IP])
    }

    pub(crate) fn set_ip(tid: Tid, ip: u64) -> io::Result<()> {
        let mut regs = read(tid)?;
        regs[place::IP] = ip;
        transfer(SETREGSET, tid, &raw mut regs)
    }

    /// The return address of a call.
    pub(crate) fn link(tid: Tid) -> io::Result<u64> {
        read(tid).map(|regs| regs[place::LINK])
    }

    /// Its current system call.
    pub(crate) fn syscall(tid: Tid) -> io::Result<i64> {
        read(tid).map(|regs| regs[place::CALL] as i64)
    }
}

/// Waits for the next report of `tid`. Reaps it if it has ended.
pub(super) fn wait(tid: Tid) -> io::Result<(Tid, Report)> {
    loop {
        match wait4(tid, 0) {
            Ok(Some(report)) => return Ok(report),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Waits for the next report of any thread that the calling thread traces or forked; none if it was
/// interrupted. Reaps those that have ended.
pub(super) fn wait_for_any() -> io::Result<Option<(Tid, Report)>> {
    match wait4(-1, 0) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        other => other,
    }
}

/// Kills a process and takes the end of all its threads: that of the first is not reported before.
pub(super) fn kill_and_reap(pid: Tid) {
    kill(pid, libc::SIGKILL);
    loop {
        match wait_for_any() {
            Ok(Some((tid, Report::Ended { .. }))) if tid == pid => return,
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

/// What is reported already, of any such thread.
pub(super) fn take_of_any() -> io::Result<Option<(Tid, Report)>> {
    match wait4(-1, libc::WNOHANG) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        other => other,
    }
}

fn wait4(tid: Tid, options: c_int) -> io::Result<Option<(Tid, Report)>> {
    let mut status = 0;
    let mut rusage = MaybeUninit::<libc::rusage>::zeroed();
    let options = options | libc::__WALL | libc::__WNOTHREAD;
    // SAFETY: both places are valid for writes.
    match unsafe { libc::wait4(tid, &mut status, options, rusage.as_mut_ptr()) } {
        0 => Ok(None),
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: zeros are a valid `rusage` in case none is written.
        waited => Ok(Some((waited, meaning(status, &unsafe { rusage.assume_init() })))),
    }
}

/// Waits until `pid` has a report, without consuming it; true when it has ended.
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
        1 => Report::Made(CloneKind::Fork),
        2 => Report::Made(CloneKind::Vfork),
        3 => Report::Made(CloneKind::Clone),
        4 => Report::Executed,
        5 => Report::VforkDone,
        128 if JOB.contains(&signal) => Report::JobStopped,
        128 => Report::Interrupted,
        _ if signal == libc::SIGTRAP | 0x80 => Report::Syscall,
        _ => Report::Signal(signal),
    }
}

/// Whether `mask` (of /proc) has `signal`.
pub(super) fn in_mask(mask: u64, signal: c_int) -> bool {
    (1..=64).contains(&signal) && mask >> (signal - 1) & 1 == 1
}

const _: () = assert!(size_of::<*const c_void>() == 8, "ptrace words are assumed to have 8 bytes");
