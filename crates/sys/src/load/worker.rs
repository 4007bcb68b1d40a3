//! Children forked from a process of one thread, which end with it.
//!
//! Such a child has everything of its parent and may do whatever a program may; what it does is up to whoever asks.
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
/// The status of a child whose parent was gone before it began.
const ORPHANED: i32 = 102;

/// Has the kernel kill this process when the thread that started it ends, in case nobody is left to ask it to.
///
/// # Errors
/// What `prctl` says: nothing that is known.
pub fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// A child. It is killed and waited for when this is dropped, and killed by the kernel when the parent's main thread ends.
#[derive(Debug)]
pub struct Worker {
    pid: Pid,
    /// How it ended, when that is known.
    ended: Option<Ended>,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With the status that its work gave.
    Status(u8),
    /// By a signal.
    Signal(i32),
}

impl Worker {
    /// Forks a child that does `what` and ends with the status that it gives.
    ///
    /// # Errors
    /// What `fork` says: too many processes, no memory. Refused where this process has other threads: one of them could
    /// hold a lock, which nobody in the child would ever release.
    pub fn start(what: impl FnOnce() -> u8) -> io::Result<Self> {
        if fs::read_dir("/proc/self/task")?.count() != 1 {
            return Err(io::Error::other("a process with several threads cannot be forked safely"));
        }
        let parent = getpid();
        // SAFETY: there is no other thread that could hold a lock, so the child may do whatever this process may.
        match unsafe { libc::fork() } {
            0 => {
                // The parent may take Ctrl-Z in its own way; a worker stops with it, as any process of the terminal's.
                unblock_stop();
                // The parent may have ended before the kernel was told to kill us with it.
                let told = set_parent_process_death_signal(Some(Signal::KILL));
                let status = if told.is_err() || getppid() != Some(parent) {
                    ORPHANED
                } else {
                    // What stands above on the stack is the parent's business and must not be unwound here.
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

    /// How it ended; none while it runs.
    ///
    /// # Errors
    /// What `waitpid` says.
    pub fn ended(&mut self) -> io::Result<Option<Ended>> {
        self.look(WaitOptions::NOHANG)
    }

    /// Ends it at once, and waits for that.
    ///
    /// # Errors
    /// What `kill` or `waitpid` says.
    pub fn kill(&mut self) -> io::Result<()> {
        if self.ended.is_none() {
            kill_process(self.pid, Signal::KILL)?;
            self.look(WaitOptions::empty())?;
        }
        Ok(())
    }

    fn look(&mut self, options: WaitOptions) -> io::Result<Option<Ended>> {
        while self.ended.is_none() {
            match waitpid(Some(self.pid), options) {
                Ok(None) => break,
                Ok(Some((_, status))) => {
                    self.ended = match (status.exit_status(), status.terminating_signal()) {
                        (Some(code), _) => Some(Ended::Status(code as u8)),
                        (None, Some(signal)) => Some(Ended::Signal(signal)),
                        // Stopped or continued: not asked for.
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
