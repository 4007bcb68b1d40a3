//! A POSIX timer that signals the thread that created it: timer_create(2) with `SIGEV_THREAD_ID`,
//! and sigwaitinfo(2).
#![allow(unsafe_code)]

use crate::origin::empty_set;
use model::Ns;
use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

/// A periodic timer on the monotonic clock. It belongs to the thread that created it.
#[derive(Debug)]
pub struct PosixTimer {
    id: libc::c_int,
    signals: Set,
    /// The signal goes to this thread.
    _stays: PhantomData<*mut ()>,
}

struct Set(libc::sigset_t);

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Set")
    }
}

impl PosixTimer {
    /// Expires at `first_ns` and each `interval_ns` from then on. The signal that it uses stays
    /// blocked in this thread.
    ///
    /// # Errors
    /// The error of `timer_create` or `timer_settime`: `EAGAIN` when no more signals may be queued.
    pub fn start(first_ns: Ns, interval_ns: Ns) -> io::Result<Self> {
        // Real-time signals are unused unless a program uses them; dwell uses no other.
        let signal = libc::SIGRTMIN() + 1;
        let mut set = empty_set();
        // SAFETY: the set is initialised and the signal exists.
        unsafe {
            libc::sigaddset(&mut set, signal);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, ptr::null_mut());
        }
        // SAFETY: all fields of the C struct may be zero.
        let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        // SAFETY: it has no arguments and cannot fail.
        event.sigev_notify_thread_id = unsafe { libc::syscall(libc::SYS_gettid) } as libc::c_int;
        let mut id: libc::c_int = 0;
        // The system call itself: C libraries differ in the notifications that they support.
        // SAFETY: both structs are valid, and the kernel's timer number is an int.
        let made = unsafe {
            libc::syscall(libc::SYS_timer_create, libc::CLOCK_MONOTONIC, &raw mut event, &raw mut id)
        };
        if made != 0 {
            return Err(io::Error::last_os_error());
        }
        let timer = Self { id, signals: Set(set), _stays: PhantomData };
        let when = libc::itimerspec { it_value: timespec(first_ns), it_interval: timespec(interval_ns) };
        let no_old = ptr::null_mut::<libc::itimerspec>();
        // SAFETY: the timer is ours, the struct is valid, and the old value is not requested.
        let set = unsafe {
            libc::syscall(libc::SYS_timer_settime, timer.id, libc::TIMER_ABSTIME, &raw const when, no_old)
        };
        if set != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(timer)
    }

    /// Waits until it has expired since the last wait; returns at once if it has.
    ///
    /// # Errors
    /// The error of `sigwaitinfo`.
    pub fn wait(&self) -> io::Result<()> {
        loop {
            // SAFETY: the set is initialised, and no `siginfo` is requested.
            if unsafe { libc::sigwaitinfo(&self.signals.0, ptr::null_mut()) } > 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

impl Drop for PosixTimer {
    fn drop(&mut self) {
        // SAFETY: the timer is ours and is deleted once.
        unsafe { libc::syscall(libc::SYS_timer_delete, self.id) };
    }
}

fn timespec(ns: Ns) -> libc::timespec {
    // SAFETY: all fields of the C struct may be zero; some C libraries have padding in it.
    let mut time: libc::timespec = unsafe { MaybeUninit::zeroed().assume_init() };
    time.tv_sec = (ns / 1_000_000_000) as _;
    time.tv_nsec = (ns % 1_000_000_000) as _;
    time
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;

    #[test]
    fn it_expires_when_it_was_asked_to() {
        let begun = monotonic_ns();
        let timer = PosixTimer::start(begun + 5_000_000, 2_000_000).unwrap();
        for wake in 0..5 {
            timer.wait().unwrap();
            assert!(monotonic_ns() >= begun + 5_000_000 + wake * 2_000_000);
        }
    }
}
