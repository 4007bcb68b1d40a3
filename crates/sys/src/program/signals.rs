//! Signals that dwell gets while it runs a program.
//!
//! Signals of the terminal (Ctrl-C, Ctrl-\, Ctrl-Z) go to the whole foreground process group: the
//! program has them already, and dwell only notes them. A signal sent to dwell alone is forwarded
//! to the program. `si_code` tells them apart; `spawn::RunningProgram::attend` acts on it. A signal
//! that a process sends to the whole group (`kill -TERM -PGID`) looks like one sent to dwell alone:
//! the program gets it twice.
#![allow(unsafe_code)]

use crate::origin::{empty_set, is_ignored, origin, set_ignored};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// The signals that are taken: SIGHUP unless it is ignored, and those of real time. The others keep
/// their effect on dwell.
const WATCHED: [i32; 16] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGCONT,
    libc::SIGCHLD,
    // What a program has sent to its group, as for input from a terminal, is not meant for dwell.
    libc::SIGIO,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGPWR,
];

/// The signals that end programs.
const ENDING: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// The signals that are taken. The C library keeps the first ones of real time to itself.
fn watched() -> impl Iterator<Item = i32> {
    WATCHED.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
}

/// Whether [`Signals::take`] gave one of those, or one was passed over.
static ASKED: AtomicBool = AtomicBool::new(false);

/// One signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    /// Its number.
    pub number: i32,
    /// Whether the kernel sent it: for a terminal, to the whole foreground group.
    pub from_kernel: bool,
    /// The process that sent it; 0 when it is not known, or not visible from dwell's pid namespace.
    pub sender: u32,
}

/// Blocks these signals for its lifetime: they no longer act on dwell but can be read here.
///
/// Made on the main thread before any other thread (threads inherit the mask) and before the
/// program is spawned.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
    before: SignalMask,
}

/// A thread's signal mask.
#[derive(Clone, Copy)]
struct SignalMask(libc::sigset_t);

impl std::fmt::Debug for SignalMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignalMask")
    }
}

impl Signals {
    /// Blocks the signals and opens a signalfd.
    ///
    /// # Errors
    /// The error of `signalfd`: no descriptors left, or no memory.
    pub fn take_over() -> io::Result<Self> {
        // A parent that ignores SIGCHLD makes the kernel reap our children before we can wait for
        // them.
        set_ignored(libc::SIGCHLD, false);
        // nohup(1) ignores it, so that dwell outlasts its terminal.
        let set = set_of(
            &watched().filter(|signal| *signal != libc::SIGHUP || !is_ignored(*signal)).collect::<Vec<_>>(),
        );
        let before = SignalMask(change_mask(libc::SIG_BLOCK, &set));
        match descriptor_of(&set) {
            Ok(fd) => Ok(Self { fd, before }),
            Err(error) => {
                change_mask(libc::SIG_SETMASK, &before.0);
                Err(error)
            }
        }
    }

    /// The next pending signal, if any.
    ///
    /// # Errors
    /// The error of `read`.
    pub fn take(&mut self) -> io::Result<Option<Signal>> {
        let next = next_of(&self.fd)?;
        if next.is_some_and(|signal| ENDING.contains(&signal.number)) {
            ASKED.store(true, Ordering::Relaxed);
        }
        Ok(next)
    }
}

impl Signals {
    /// Lets signals act on this process again, but for the first of each kind by which people end
    /// programs: what was measured is still to be written. The second one acts.
    pub fn outlast_one(self) {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
            pass_over_one(signal);
        }
        drop(self);
    }
}

impl AsFd for Signals {
    /// Readable when a signal is pending.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // Pending signals were meant for the program, which is gone: they must not kill dwell
        // before the report is written.
        while let Ok(Some(_)) = self.take() {}
        change_mask(libc::SIG_SETMASK, &self.before.0);
    }
}

/// Has the next such signal noted only, where it would end this process.
fn pass_over_one(signal: i32) {
    extern "C" fn note(_: i32) {
        ASKED.store(true, Ordering::Relaxed);
    }
    if is_ignored(signal) {
        return;
    }
    // SAFETY: zeros are a valid `sigaction`; the handler only stores to an atomic, and the kernel
    // restores the default action as it calls it. Calls that it interrupts begin again.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(i32) as usize;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}

/// Whether one of the signals that end programs was taken since this process began, or waits to be.
pub fn asked_to_end() -> bool {
    let mut pending = empty_set();
    // SAFETY: the set is initialised, and valid for writes.
    unsafe { libc::sigpending(&mut pending) };
    // SAFETY: the set is initialised.
    let waits = |signal: &i32| unsafe { libc::sigismember(&pending, *signal) == 1 };
    ASKED.load(Ordering::Relaxed) || ENDING.iter().any(waits)
}

/// While it lives, the signals that end programs wait.
pub(crate) struct SavedMask(libc::sigset_t);

/// Lets the signals that end programs wait, in the calling thread.
pub(crate) fn hold() -> SavedMask {
    SavedMask(change_mask(libc::SIG_BLOCK, &set_of(&ENDING)))
}

impl Drop for SavedMask {
    fn drop(&mut self) {
        change_mask(libc::SIG_SETMASK, &self.0);
    }
}

/// Stops this process as Ctrl-Z would, and returns when it has been continued. Returns at once
/// where the kernel does not stop it: SIGTSTP is ignored, or no shell could continue it (an
/// orphaned process group).
pub fn stop_self() {
    let set = set_of(&[libc::SIGTSTP]);
    let before = change_mask(libc::SIG_UNBLOCK, &set);
    // SAFETY: raises a signal in this thread; its effect, stopping all of them, is what is wanted.
    unsafe { libc::raise(libc::SIGTSTP) };
    change_mask(libc::SIG_SETMASK, &before);
}

/// Asks a process to end, as Ctrl-C does: SIGINT.
pub fn interrupt(pid: u32) {
    send(pid, libc::SIGINT);
}

/// Asks a process to end: SIGTERM.
pub fn terminate(pid: u32) {
    send(pid, libc::SIGTERM);
}

/// Ends a process at once: SIGKILL.
pub fn kill(pid: u32) {
    send(pid, libc::SIGKILL);
}

fn send(pid: u32, signal: i32) {
    let Some(pid) = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0) else { return };
    // SAFETY: kill touches no memory of this process. One that has ended is no matter.
    unsafe { libc::kill(pid, signal) };
}

/// Lets these signals act on this process again, which a dwell that had taken them over started.
pub fn unblock() {
    change_mask(libc::SIG_UNBLOCK, &set_of(&watched().collect::<Vec<_>>()));
}

/// Has a command begin with the signals as this process began with them, not with those that it
/// has taken over: what it starts would inherit that.
pub fn as_before(command: &mut Command) -> &mut Command {
    let restore = || {
        origin().restore();
        Ok(())
    };
    // SAFETY: it makes system calls only, and reads what was kept before `main`.
    unsafe { command.pre_exec(restore) }
}

/// Unblocks Ctrl-Z in a forked child, which inherits its parent's mask.
pub(crate) fn unblock_stop() {
    change_mask(libc::SIG_UNBLOCK, &set_of(&[libc::SIGTSTP]));
}

/// Blocks all signals that can be blocked in the calling thread.
pub(crate) fn block_all() {
    let mut set = empty_set();
    // SAFETY: the set is initialised.
    unsafe { libc::sigfillset(&mut set) };
    change_mask(libc::SIG_BLOCK, &set);
}

/// A descriptor that is readable while one of these signals, which are blocked, is pending.
pub(crate) fn descriptor_of(set: &libc::sigset_t) -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised; -1 asks for a new descriptor.
    let fd = unsafe { libc::signalfd(-1, set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `signalfd` returned this descriptor; it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The next pending signal of such a descriptor, if any.
pub(crate) fn next_of(fd: &OwnedFd) -> io::Result<Option<Signal>> {
    const SIZE: usize = size_of::<libc::signalfd_siginfo>();
    let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
    // SAFETY: the buffer is valid for writes of its own size.
    let read = unsafe { libc::read(fd.as_raw_fd(), info.as_mut_ptr().cast(), SIZE) };
    if read == SIZE as isize {
        // SAFETY: the kernel filled the whole of it, and every bit pattern is valid.
        let info = unsafe { info.assume_init() };
        return Ok(Some(Signal {
            number: info.ssi_signo as i32,
            from_kernel: info.ssi_code > 0,
            sender: info.ssi_pid,
        }));
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock => Ok(None),
        io::ErrorKind::Interrupted => next_of(fd),
        _ => Err(error),
    }
}

/// A set of these signals.
pub(crate) fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = empty_set();
    for signal in signals {
        // SAFETY: the set is initialised.
        unsafe { libc::sigaddset(&mut set, *signal) };
    }
    set
}

/// Changes the calling thread's mask and returns what it was.
pub(crate) fn change_mask(how: i32, set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = empty_set();
    // SAFETY: both sets are initialised; with a valid `how` it cannot fail.
    unsafe { libc::pthread_sigmask(how, set, &mut before) };
    before
}
