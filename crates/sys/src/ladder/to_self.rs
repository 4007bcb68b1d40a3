//! A signal that a thread sends to itself, and its handler.
//!
//! SIGURG, since it is ignored without a handler and rarely used: one that arrives late does no
//! harm.
#![allow(unsafe_code)]

use crate::origin::empty_set;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static HANDLED: AtomicU64 = AtomicU64::new(0);
/// Signal dispositions belong to the process: one handler at a time.
static TAKEN: Mutex<()> = Mutex::new(());

extern "C" fn handle(_: i32) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// The handler, installed for the lifetime of this value. Made and used in one thread.
pub struct Handler {
    before: libc::sigaction,
    process: libc::pid_t,
    thread: libc::c_long,
    _taken: MutexGuard<'static, ()>,
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handler")
    }
}

impl Handler {
    /// Installs it.
    ///
    /// # Errors
    /// The error of `sigaction`.
    pub fn install() -> io::Result<Self> {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: all fields of the C struct may be zero.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = handle as extern "C" fn(i32) as usize;
        action.sa_mask = empty_set();
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the handler only adds to an atomic; both structs are valid.
        if unsafe { libc::sigaction(libc::SIGURG, &action, before.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `sigaction` filled `before`; the two calls have no arguments and cannot fail.
        let (before, process, thread) =
            unsafe { (before.assume_init(), libc::getpid(), libc::syscall(libc::SYS_gettid)) };
        Ok(Self { before, process, thread, _taken: taken })
    }

    /// Sends `count` signals to this thread, one after another; each is handled before the next.
    /// Returns how many were handled.
    pub fn deliver(&self, count: u64) -> u64 {
        let before = HANDLED.load(Ordering::Relaxed);
        for _ in 0..count {
            // SAFETY: a system call that touches no memory; the signal has a handler.
            unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, libc::SIGURG) };
        }
        HANDLED.load(Ordering::Relaxed) - before
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        // SAFETY: what `install` found.
        unsafe { libc::sigaction(libc::SIGURG, &self.before, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_is_handled_once_and_the_handler_goes() {
        {
            let handler = Handler::install().unwrap();
            assert_eq!(handler.deliver(0), 0);
            assert_eq!(handler.deliver(1000), 1000);
        }
        let handler = Handler::install().unwrap();
        assert_eq!(handler.before.sa_sigaction, libc::SIG_DFL);
    }
}
