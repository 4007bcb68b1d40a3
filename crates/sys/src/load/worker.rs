//! Workers: children forked from a process of one thread, which end with it.
//!
//! Such a child has all of its parent's state and may do anything that a program may; the caller
//! decides what it does.
#![allow(unsafe_code)]

use crate::signals::unblock_stop;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_parent_process_death_signal, waitpid,
};
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The status of a child whose work panicked: Rust's own.
const PANICKED: i32 = 101;
/// The status of a child whose parent exited before it started.
const ORPHANED: i32 = 102;

/// Has the kernel kill this process when the thread that started it ends, in case that thread
/// cannot.
///
/// # Errors
/// The error of `prctl`; none is known.
pub fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Has the kernel send SIGINT to this process when the thread that started it ends.
///
/// # Errors
/// The error of `prctl`; none is known.
pub fn interrupted_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::INT))?)
}

/// A child. It is killed and waited for when this is dropped, and killed by the kernel when the
/// parent's main thread ends.
#[derive(Debug)]
pub struct Worker {
    pid: Pid,
    /// How it ended, when known.
    ended: Option<WorkerEnd>,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerEnd {
    /// Exited, with the status of its work.
    Status(u8),
    /// Killed by a signal.
    Signal(i32),
}

impl Worker {
    /// Forks a child that runs `what` and exits with the status that it returns.
    ///
    /// # Errors
    /// The error of `fork`: too many processes, no memory. Refused where this process has other
    /// threads: one of them could hold a lock, which no thread of the child would ever release.
    pub fn start(what: impl FnOnce() -> u8) -> io::Result<Self> {
        if fs::read_dir("/proc/self/task")?.count() != 1 {
            return Err(io::Error::other("a process with several threads cannot be forked safely"));
        }
        let parent = getpid();
        // SAFETY: there is no other thread that could hold a lock, so the child may do anything
        // that this process may.
        match unsafe { libc::fork() } {
            0 => {
                // The parent may handle Ctrl-Z itself; a worker stops on it, as any process of the
                // terminal.
                unblock_stop();
                // The parent may have exited before the call above took effect.
                let told = set_parent_process_death_signal(Some(Signal::KILL));
                let status = if told.is_err() || getppid() != Some(parent) {
                    ORPHANED
                } else {
                    // Outer stack frames belong to the parent and must not be unwound here.
                    catch_unwind(AssertUnwindSafe(what)).map_or(PANICKED, i32::from)
                };
                // SAFETY: ends the process without the parent's handlers and buffers.
                unsafe { libc::_exit(status) }
            }
            child => match Pid::from_raw(child).filter(|_| child > 0) {
                Some(pid) => Ok(Self { pid, ended: None }),
                None => Err(io::Error::last_os_error()),
            },
        }
    }

    /// Its process id.
    pub fn pid(&self) -> model::Pid {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// How it ended; none while it runs.
    ///
    /// # Errors
    /// The error of `waitpid`.
    pub fn ended(&mut self) -> io::Result<Option<WorkerEnd>> {
        self.look(WaitOptions::NOHANG)
    }

    /// Kills it and waits for its end.
    ///
    /// # Errors
    /// The error of `kill` or `waitpid`.
    pub fn kill(&mut self) -> io::Result<()> {
        if self.ended.is_none() {
            kill_process(self.pid, Signal::KILL)?;
            self.look(WaitOptions::empty())?;
        }
        Ok(())
    }

    fn look(&mut self, options: WaitOptions) -> io::Result<Option<WorkerEnd>> {
        while self.ended.is_none() {
            match waitpid(Some(self.pid), options) {
                Ok(None) => break,
                Ok(Some((_, status))) => {
                    self.ended = match (status.exit_status(), status.terminating_signal()) {
                        (Some(code), _) => Some(WorkerEnd::Status(code as u8)),
                        (None, Some(signal)) => Some(WorkerEnd::Signal(signal)),
                        // Stopped or continued: not requested.
                        (None, None) => None,
                    };
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.ended)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // When it cannot be killed it has ended.
        let _ = self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_is_not_forked() {
        // Tests run in threads.
        let error = Worker::start(|| 0).unwrap_err();
        assert!(error.to_string().contains("several threads"), "{error}");
    }
}
