//! Starting the program: held before its first instruction, then released, then waited for.
//!
//! ```text
//! dwell            child
//! Held::spawn ---> fork; set signals and user of the program
//!         <------- 'R' ready
//! (instruments on) blocked in read(2)
//! release -------> 'G' go
//!         <------- 'E' about to execute
//!                  execve(2)        the status pipe closes with it
//! ```
//!
//! The child is held by a pipe and not by SIGSTOP: if dwell dies, the read ends and the child
//! exits. It stays in dwell's process group, so that signals of the terminal reach it directly.
//! Everything that needs memory is done before the fork.

use crate::origin::origin;
use crate::resolve::{self, NotRunnable};
use crate::signals::{self, Signals};
use child::ChildReport;
use image::ExecImage;
use model::recording::Ending;
use rustix::process::{Pid, PidfdFlags};
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

mod child;
mod command;
pub(crate) mod image;
pub(crate) mod wait;

pub use command::Command;
use wait::Change;
pub use wait::{ProgramEnd, Switches};

/// Why the program did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such program, or it cannot be executed.
    #[error(transparent)]
    NotRunnable(#[from] NotRunnable),
    /// The kernel refused to execute it.
    #[error("cannot execute {path:?}: {}", .why)]
    Exec {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        errno: i32,
        /// The same in words, with its likely cause.
        why: String,
    },
    /// The child could not change to the requested user.
    #[error("cannot run as user {user:?}: {source}")]
    User {
        /// The user.
        user: String,
        /// The system's error.
        source: io::Error,
    },
    /// A signal ended the child while it was still held: Ctrl-C, or the out-of-memory killer.
    #[error("the program was ended before it started, {}", by_what(.0))]
    EndedEarly(Ending),
    /// The child could not be created or observed.
    #[error("cannot start a process: {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    /// The exit status for it: 127 not found, 126 cannot be executed, 128 and the signal, else 125.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::NotRunnable(not_runnable) => not_runnable.exit_code(),
            Error::Exec { .. } => 126,
            Error::EndedEarly(Ending::Signal(signal)) => u8::try_from(128 + signal).unwrap_or(125),
            Error::EndedEarly(_) | Error::User { .. } | Error::System { .. } => 125,
        }
    }
}

fn by_what(ending: &Ending) -> String {
    match ending {
        Ending::Signal(signal) => format!("by signal {signal}"),
        Ending::Code(code) => format!("with status {code}"),
        Ending::Window(_) => "unseen".to_owned(),
    }
}

/// For `map_err`: the system's error with what was tried.
pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::System { what, source }
}

/// A child that is ready to execute the program and waits for [`HeldProgram::release`]. It exits on
/// drop.
#[derive(Debug)]
pub struct HeldProgram(Option<Parts>);

#[derive(Debug)]
struct Parts {
    pid: Pid,
    pidfd: OwnedFd,
    path: PathBuf,
    /// The child is held while this end is open.
    hold: PipeWriter,
    status: PipeReader,
}

impl HeldProgram {
    /// Resolves the program and forks the child for it.
    ///
    /// # Errors
    /// The program cannot be run, the user cannot be used, or there are no more processes or
    /// descriptors.
    pub fn spawn(command: &Command) -> Result<Self, Error> {
        Self::spawn_with(command, &[])
    }

    /// The same with these variables added to the program's environment; they replace existing
    /// ones.
    ///
    /// # Errors
    /// As [`HeldProgram::spawn`].
    pub fn spawn_with(command: &Command, variables: &[(OsString, OsString)]) -> Result<Self, Error> {
        let path = resolve::resolve(&command.program)?;
        let image = ExecImage::new(command, &path, variables).map_err(system("arguments"))?;
        let (hold_reader, hold) = io::pipe().map_err(system("pipe"))?;
        let (status, status_writer) = io::pipe().map_err(system("pipe"))?;
        let ends = child::PipeEnds {
            hold: hold_reader.as_raw_fd(),
            status: status_writer.as_raw_fd(),
            not_its_own: [hold.as_raw_fd(), status.as_raw_fd()],
        };
        let pid = child::fork(&image, origin(), command.user.as_ref(), &ends).map_err(system("fork"))?;
        drop((hold_reader, status_writer));
        let pidfd = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(errno) => {
                drop(hold);
                let _ = wait::ended(pid);
                return Err(system("pidfd_open")(errno.into()));
            }
        };
        let mut parts = Parts { pid, pidfd, path, hold, status };
        match ChildReport::read(&mut parts.status).map_err(system("pipe"))? {
            ChildReport::Ready => Ok(HeldProgram(Some(parts))),
            ChildReport::Refused(errno) => {
                let user = command.user.as_ref().map_or_else(String::new, |user| user.name.clone());
                parts.end()?;
                Err(Error::User { user, source: io::Error::from_raw_os_error(errno) })
            }
            ChildReport::Executing | ChildReport::Nothing => Err(Error::EndedEarly(parts.end()?)),
        }
    }

    /// The process id that the program will have.
    pub fn pid(&self) -> model::Pid {
        self.0.as_ref().map_or(0, |parts| number(parts.pid))
    }

    /// Lets the child execute the program, and returns when the kernel has accepted it.
    ///
    /// # Errors
    /// The kernel refused to execute it, or the child was killed before. No instruction of the
    /// program has run then.
    pub fn release(mut self) -> Result<RunningProgram, Error> {
        let Some(mut parts) = self.0.take() else { unreachable!("only taken here and in drop") };
        // The status pipe shows whether the child is gone.
        let _ = parts.hold.write_all(b"G");
        if ChildReport::read(&mut parts.status).map_err(system("pipe"))? != ChildReport::Executing {
            return Err(Error::EndedEarly(parts.end()?));
        }
        match ChildReport::read(&mut parts.status).map_err(system("pipe"))? {
            ChildReport::Refused(errno) => {
                let path = parts.path.clone();
                parts.end()?;
                Err(Error::Exec { path, errno, why: why_not_executed(errno) })
            }
            _ => Ok(RunningProgram {
                pid: parts.pid,
                pidfd: parts.pidfd,
                ended: None,
                stopped: false,
                stop_asked: false,
            }),
        }
    }
}

impl Drop for HeldProgram {
    fn drop(&mut self) {
        if let Some(parts) = self.0.take() {
            let _ = parts.end();
        }
    }
}

impl Parts {
    /// Ends the held child, and says how it ended.
    fn end(self) -> Result<Ending, Error> {
        drop(self.hold);
        wait::ended(self.pid).map(|ended| ended.ending).map_err(system("wait4"))
    }
}

/// The error of `execve`, with its cause for a file that exists and may be executed.
pub(crate) fn why_not_executed(errno: i32) -> String {
    let words = resolve::text(&io::Error::from_raw_os_error(errno));
    match errno {
        libc::ENOENT => "its interpreter (the `#!` line, or the dynamic loader) does not exist".to_owned(),
        libc::ENOEXEC => format!("{words}: it was made for another kind of machine, or is damaged"),
        _ => words,
    }
}

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
}

impl RunningProgram {
    /// Its process id.
    pub fn pid(&self) -> model::Pid {
        number(self.pid)
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
                _ => self.pass_on(&signal),
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
    fn pass_on(&self, signal: &signals::Signal) {
        if !signal.from_kernel && signal.sender != self.pid() && self.ended.is_none() {
            wait::kill(self.pid, signal.number);
        }
    }

    /// Reads every change of the program's state so far.
    fn catch_up(&mut self) -> io::Result<()> {
        while self.ended.is_none() {
            match wait::change(self.pid)? {
                Some(Change::Ended(ended, _)) => self.ended = Some(ended),
                Some(Change::Stopped) => self.stopped = true,
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

/// In the type that the rest of dwell uses.
fn number(pid: Pid) -> model::Pid {
    pid.as_raw_nonzero().get().unsigned_abs()
}
