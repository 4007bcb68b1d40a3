//! Waiting for one child, and decoding its wait status.
#![allow(unsafe_code)]

use crate::program::usage::{count, in_our_units};
use model::recording::{Ending, Rusage};
use rustix::process::Pid;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// In the type that the rest of dwell uses.
pub(super) fn number(pid: Pid) -> model::Pid {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// How the program ended, and its resource usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramEnd {
    /// Its exit code or signal.
    pub ending: Ending,
    /// Resource usage of it and of the children it waited for.
    pub rusage: Rusage,
}

/// Switches of a program, and of the children it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    /// As a thread waited.
    pub voluntary: u64,
    /// As another thread got its CPU.
    pub involuntary: u64,
}

/// A change of a child's state.
pub(crate) enum Change {
    /// It has ended.
    Ended(ProgramEnd, Switches),
    /// A signal stopped it.
    Stopped,
    /// It was continued.
    Continued,
}

/// Waits until the child has ended.
pub(crate) fn ended(pid: Pid) -> io::Result<ProgramEnd> {
    loop {
        if let Some(Change::Ended(ended, _)) = wait4(pid, 0)? {
            return Ok(ended);
        }
    }
}

/// Waits until the child has ended or is stopped by a signal.
pub(crate) fn ended_or_stopped(pid: Pid) -> io::Result<Option<Change>> {
    wait4(pid, libc::WUNTRACED)
}

/// The next change of the child's state, if there is one.
pub(super) fn change(pid: Pid) -> io::Result<Option<Change>> {
    wait4(pid, libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED)
}

fn wait4(pid: Pid, options: i32) -> io::Result<Option<Change>> {
    let mut status = 0;
    let mut rusage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both places are valid for writes; zeros are a valid `rusage` in case none is
        // written.
        let waited =
            unsafe { libc::wait4(pid.as_raw_nonzero().get(), &mut status, options, rusage.as_mut_ptr()) };
        match waited {
            0 => return Ok(None),
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            // SAFETY: see above.
            _ => return Ok(Some(meaning(status, &unsafe { rusage.assume_init() }))),
        }
    }
}

fn meaning(status: i32, rusage: &libc::rusage) -> Change {
    let status = ExitStatus::from_raw(status);
    if status.continued() {
        Change::Continued
    } else if status.stopped_signal().is_some() {
        Change::Stopped
    } else {
        let ending = match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Code(code),
            (None, signal) => Ending::Signal(signal.unwrap_or(0)),
        };
        let switches = Switches { voluntary: count(rusage.ru_nvcsw), involuntary: count(rusage.ru_nivcsw) };
        Change::Ended(ProgramEnd { ending, rusage: in_our_units(rusage) }, switches)
    }
}

/// Sends `signal` to the group that a child leads.
pub(super) fn kill_group(pid: Pid, signal: i32) {
    // SAFETY: takes two numbers. A child that has just ended is no error.
    unsafe { libc::kill(-pid.as_raw_nonzero().get(), signal) };
}

/// Sends `signal` to a child. It is ours and not waited for, so its PID cannot have been reused.
pub(super) fn kill(pid: Pid, signal: i32) {
    // SAFETY: takes two numbers. A child that has just ended is no error.
    unsafe { libc::kill(pid.as_raw_nonzero().get(), signal) };
}
