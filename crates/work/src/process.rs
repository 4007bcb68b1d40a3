//! Processes, pipes and placement, as the programs need them: thin and raw, so that a program makes
//! exactly the system calls that it is meant to.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A process id, as the calls have it.
pub type Pid = libc::pid_t;

/// Has the kernel kill this process after this many seconds. Not inherited by children.
pub fn end_after(seconds: u32) {
    // SAFETY: takes and keeps no memory.
    unsafe { libc::alarm(seconds) };
}

/// Runs `child` in a new process, which then ends. Only for programs that have one thread at that
/// time.
///
/// # Errors
/// When the system makes no process.
pub fn fork(child: impl FnOnce()) -> io::Result<Pid> {
    // SAFETY: this process has one thread, so no lock is held by another and the child may do
    // anything.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            end_after(120);
            let status = if catch_unwind(AssertUnwindSafe(child)).is_ok() { 0 } else { 101 };
            exit_now(status)
        }
        pid => Ok(pid),
    }
}

/// Ends the process without flushing or unwinding.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(status) }
}

/// Waits for a child to end and gives its wait status.
///
/// # Errors
/// When there is no such child.
pub fn wait(pid: Pid) -> io::Result<i32> {
    let mut status = 0;
    // SAFETY: `status` is valid for writes.
    while unsafe { libc::waitpid(pid, &raw mut status, 0) } != pid {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(status)
}

/// Sends a signal.
///
/// # Errors
/// When there is no such process, or it is another's.
pub fn kill(pid: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: takes and keeps no memory.
    check(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// The calling thread's TID.
pub fn tid() -> u64 {
    // SAFETY: takes and keeps no memory; cannot fail.
    (unsafe { libc::gettid() }) as u64
}

/// This process's PID.
pub fn pid() -> u64 {
    u64::from(std::process::id())
}

/// The parent's PID.
pub fn parent() -> Pid {
    // SAFETY: takes and keeps no memory; cannot fail.
    unsafe { libc::getppid() }
}

/// The CPU that the calling thread is on.
pub fn cpu() -> usize {
    // SAFETY: takes and keeps no memory.
    (unsafe { libc::sched_getcpu() }).max(0) as usize
}

/// Pins the calling thread, and the threads and processes that it creates from now on, to one CPU.
///
/// # Errors
/// When the CPU is not one that the thread may use.
pub fn pin(cpu: usize) -> io::Result<()> {
    // SAFETY: zeros are the empty set; `CPU_SET` stays within it, the call reads it.
    check(unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    })
    .map(drop)
}

/// Names the calling thread: any bytes; the kernel keeps 15 of them.
///
/// # Errors
/// Never, on a Linux of this century.
pub fn name_thread(name: &std::ffi::CStr) -> io::Result<()> {
    // SAFETY: the kernel copies at most 16 bytes of a string that ends in zero.
    check(unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) }).map(drop)
}

/// Gives up the CPU: one `sched_yield`.
pub fn give_way() {
    // SAFETY: takes and keeps no memory; cannot fail.
    unsafe { libc::sched_yield() };
}

/// A pipe: its reading end and its writing end.
///
/// # Errors
/// When the process has no descriptors left.
pub fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` is valid for two descriptors.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both were just made and have no other owner.
    Ok(unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}

/// A descriptor that a call returned, or the error that it left.
///
/// # Errors
/// When the number is negative.
pub fn descriptor(result: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: a call that makes a descriptor has just returned it; it has no other owner.
    check(result).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A call's result, or the error that it left.
///
/// # Errors
/// When the number is negative.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Redirects the three standard streams of this process to `/dev/null`.
pub fn silence() {
    if let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") {
        for fd in 0..3 {
            // SAFETY: both are descriptors; the standard streams are of no further use to this
            // process.
            unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&nothing), fd) };
        }
    }
}

/// Prints a line at once: a number that the test waits for.
///
/// # Errors
/// When standard output is closed.
pub fn say(line: &str) -> io::Result<()> {
    use io::Write;
    let mut out = io::stdout();
    writeln!(out, "{line}")?;
    out.flush()
}
