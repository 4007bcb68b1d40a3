//! Interrupting the thread that steps while it waits for the program, which may sleep for ever.
#![allow(unsafe_code)]

use super::ptrace::Tid;
use crate::origin::empty_set;
use crate::signals::{change_mask, set_of};
use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;

/// By default it is ignored, so one that comes late does nothing.
const SIGNAL: c_int = libc::SIGURG;

/// While it lives, a kick interrupts the system call in which the thread that made it waits.
pub(super) struct Interruptible {
    tid: Tid,
    action: libc::sigaction,
    mask: libc::sigset_t,
}

extern "C" fn nothing(_: c_int) {}

impl Interruptible {
    /// Begins for the calling thread.
    pub(super) fn begin() -> io::Result<Self> {
        let handler: extern "C" fn(c_int) = nothing;
        // Without SA_RESTART: the call is not to go on.
        let action = libc::sigaction {
            sa_sigaction: handler as libc::sighandler_t,
            sa_mask: empty_set(),
            sa_flags: 0,
            sa_restorer: None,
        };
        let mut before = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: both places are valid, and the handler does nothing.
        if unsafe { libc::sigaction(SIGNAL, &action, before.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let mask = change_mask(libc::SIG_UNBLOCK, &set_of(&[SIGNAL]));
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        // SAFETY: the call succeeded, and has filled it.
        Ok(Self { tid, action: unsafe { before.assume_init() }, mask })
    }

    /// Whom to kick.
    pub(super) fn thread(&self) -> Tid {
        self.tid
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        change_mask(libc::SIG_SETMASK, &self.mask);
        // SAFETY: what was there before.
        unsafe { libc::sigaction(SIGNAL, &self.action, std::ptr::null_mut()) };
    }
}

/// Interrupts what a thread of this process waits for. One that is about to wait misses it.
pub(super) fn kick(tid: Tid) {
    let own = std::process::id();
    // SAFETY: takes numbers; the signal does nothing but interrupt.
    unsafe { libc::syscall(libc::SYS_tgkill, own, tid, SIGNAL) };
}
