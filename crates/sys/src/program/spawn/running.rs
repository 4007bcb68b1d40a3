//! The program while it runs: signals that are meant for it, and its end.

use super::patience::{AskedToEnd, ENDING};
use super::wait::{self, Change, ProgramEnd, number};
use crate::clock::monotonic_ns;
use crate::signals::{self, Signals};
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::Duration;

/// The program, executed and not yet waited for. It keeps running on drop.
#[derive(Debug)]
pub struct RunningProgram {
    pid: Pid,
    pidfd: OwnedFd,
    ended: Option<ProgramEnd>,
    /// It is stopped, according to the last report.
    stopped: bool,
    /// The terminal, or a process, asked dwell to stop too.
    stop_asked: bool,
    /// It was stopped at some time.
    was_stopped: bool,
    /// The last signal that ends programs.
    asked: Option<AskedToEnd>,
    /// It is in a session of its own: signals of dwell's terminal do not reach it.
    apart: bool,
}

impl RunningProgram {
    /// A child that executes the program.
    pub(super) fn new(pid: Pid, pidfd: OwnedFd, apart: bool) -> Self {
        Self {
            pid,
            pidfd,
            ended: None,
            stopped: false,
            stop_asked: false,
            was_stopped: false,
            asked: None,
            apart,
        }
    }

    /// Its process id.
    pub fn pid(&self) -> model::Pid {
        number(self.pid)
    }

    /// Whether a signal stopped it for a while.
    pub fn was_stopped(&self) -> bool {
        self.was_stopped
    }

    /// Whether dwell got a signal that asks for the end: Ctrl-C, or SIGTERM.
    pub fn was_asked_to_end(&self) -> bool {
        self.asked.is_some()
    }

    /// The last such signal.
    pub fn asked_to_end(&self) -> Option<AskedToEnd> {
        self.asked
    }

    /// Handles signals when [`Signals`] is readable: forwards those meant for the program, stops
    /// with it on Ctrl-Z, and reports its end. Blocks only while stopped.
    ///
    /// # Errors
    /// The error of `read` or `wait4`.
    pub fn attend(&mut self, signals: &mut Signals) -> io::Result<Option<ProgramEnd>> {
        let mut continued = false;
        while let Some(signal) = signals.take()? {
            match signal.number {
                libc::SIGCHLD => {}
                libc::SIGCONT => continued = true,
                libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => {
                    self.stop_asked = true;
                    self.pass_on(&signal);
                }
                number => {
                    if ENDING.contains(&number) {
                        self.asked = Some(AskedToEnd::after(self.asked, &signal, monotonic_ns()));
                    }
                    self.pass_on(&signal);
                }
            }
        }
        self.catch_up()?;
        if continued {
            self.continue_too()?;
        }
        // Only if both are to stop: a program that is stopped alone (SIGSTOP from elsewhere, a
        // debugger) is continued alone, and the user would not think of continuing dwell.
        if self.ended.is_none() && self.stopped && self.stop_asked {
            self.stop_asked = false;
            signals::stop_self();
        }
        Ok(self.ended)
    }

    /// Continues the whole group of a program in a session of its own: what dwell stopped there, no
    /// shell continues.
    pub(crate) fn pass_on_continuing(&self) {
        if self.apart && self.ended.is_none() {
            wait::kill_group(self.pid, libc::SIGCONT);
        }
    }

    /// Waits until the program has ended.
    ///
    /// # Errors
    /// The error of `wait4`.
    pub fn reap(mut self) -> io::Result<ProgramEnd> {
        match self.ended {
            Some(ended) => Ok(ended),
            None => Ok(*self.ended.insert(wait::ended(self.pid)?)),
        }
    }

    /// Forwards a signal to the program, unless it has it already (from the terminal) or sent it
    /// itself.
    pub(crate) fn pass_on(&self, signal: &signals::Signal) {
        if self.apart && signal.from_kernel && self.ended.is_none() {
            // To its whole group, as the terminal does. No shell could continue that group, so the
            // kernel would not stop it for Ctrl-Z.
            let stop = matches!(signal.number, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU);
            wait::kill_group(self.pid, if stop { libc::SIGSTOP } else { signal.number });
        } else if !signal.from_kernel && signal.sender != self.pid() && self.ended.is_none() {
            wait::kill(self.pid, signal.number);
        }
    }

    /// Reads every change of the program's state so far.
    fn catch_up(&mut self) -> io::Result<()> {
        while self.ended.is_none() {
            match wait::change(self.pid)? {
                Some(Change::Ended(ended, _)) => self.ended = Some(ended),
                Some(Change::Stopped) => (self.stopped, self.was_stopped) = (true, true),
                Some(Change::Continued) => self.stopped = false,
                None => break,
            }
        }
        Ok(())
    }

    /// dwell was continued. `fg` and `bg` continue the whole group, and the program with it. A
    /// SIGCONT to dwell alone is forwarded to the program's group: Ctrl-Z stopped all of it.
    fn continue_too(&mut self) -> io::Result<()> {
        self.stop_asked = false;
        // The other members of the group get it in the same system call, but perhaps after us.
        for _ in 0..20 {
            if !self.stopped || self.ended.is_some() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
            self.catch_up()?;
        }
        let group = rustix::process::getpgid(Some(self.pid))?;
        Ok(rustix::process::kill_process_group(group, rustix::process::Signal::CONT)?)
    }
}

impl AsFd for RunningProgram {
    /// Its pidfd: readable when the program has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}
