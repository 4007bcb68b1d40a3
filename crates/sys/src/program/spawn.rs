//! Starting the program: held before its first instruction, then let go, then waited for.
//!
//! ```text
//! dwell            child
//! Held::spawn ---> fork; signals and user as the program shall have them
//!         <------- 'R' ready
//! (instruments on) blocked in read(2)
//! release -------> 'G' go
//!         <------- 'E' about to execute
//!                  execve(2)        the status pipe closes with it
//! ```
//!
//! The child is held by a pipe and not by SIGSTOP: should dwell die, the read ends and so does the child. It
//! stays in dwell's process group, so that what the terminal sends reaches it directly. Everything that needs
//! memory is done before the fork.

use crate::origin::origin;
use crate::resolve::{self, NotRunnable};
use crate::signals::{self, Signals};
use crate::user::User;
use child::Told;
use image::Image;
use model::recording::{Ending, Rusage};
use rustix::process::{Pid, PidfdFlags};
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

mod child;
mod image;
mod wait;

use wait::Change;

/// What to run, and as whom. Everything else (directory, environment, open files) the program has from dwell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// A path, or a name to look for along `PATH`.
    pub program: OsString,
    /// Its arguments, without its name.
    pub args: Vec<OsString>,
    /// Somebody else to run it as.
    pub user: Option<User>,
}

impl Command {
    /// The program and its arguments as text, with what is not UTF-8 replaced.
    pub fn words(&self) -> Vec<String> {
        std::iter::once(&self.program)
            .chain(&self.args)
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }
}

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
        /// What the kernel said.
        errno: i32,
        /// The same in words, with what it means here.
        why: String,
    },
    /// The child could not become the user asked for.
    #[error("cannot run as user {user:?}: {source}")]
    User {
        /// Who.
        user: String,
        /// What the system said.
        source: io::Error,
    },
    /// A signal ended the child while it was still held: Ctrl-C, or the out-of-memory killer.
    #[error("the program was ended before it started, {}", by_what(.0))]
    EndedEarly(Ending),
    /// The child could not be made or watched.
    #[error("cannot start a process: {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
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

/// For `map_err`: the system's word on what was tried.
fn system(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::System { what, source }
}

/// A child that is ready to become the program and waits for [`Held::release`]. Dropped, it ends.
#[derive(Debug)]
pub struct Held(Option<Parts>);

#[derive(Debug)]
struct Parts {
    pid: Pid,
    pidfd: OwnedFd,
    path: PathBuf,
    /// While this end is open the child is held.
    hold: PipeWriter,
    status: PipeReader,
}

impl Held {
    /// Looks the program up and makes the child for it.
    ///
    /// # Errors
    /// The program cannot be run, the user cannot be had, or there are no more processes or descriptors.
    pub fn spawn(command: &Command) -> Result<Self, Error> {
        Self::spawn_with(command, &[])
    }

    /// The same with these variables added to the program's environment, or in place of those that it would have.
    ///
    /// # Errors
    /// As [`Held::spawn`].
    pub fn spawn_with(command: &Command, variables: &[(OsString, OsString)]) -> Result<Self, Error> {
        let path = resolve::resolve(&command.program)?;
        let image = Image::new(command, &path, variables).map_err(system("arguments"))?;
        let (hold_reader, hold) = io::pipe().map_err(system("pipe"))?;
        let (status, status_writer) = io::pipe().map_err(system("pipe"))?;
        let ends = child::Ends {
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
        match Told::read(&mut parts.status).map_err(system("pipe"))? {
            Told::Ready => Ok(Held(Some(parts))),
            Told::Refused(errno) => {
                let user = command.user.as_ref().map_or_else(String::new, |user| user.name.clone());
                parts.end()?;
                Err(Error::User { user, source: io::Error::from_raw_os_error(errno) })
            }
            Told::Executing | Told::Nothing => Err(Error::EndedEarly(parts.end()?)),
        }
    }

    /// The process id that the program will have.
    pub fn pid(&self) -> model::Pid {
        self.0.as_ref().map_or(0, |parts| number(parts.pid))
    }

    /// Lets the child execute the program, and returns when the kernel has accepted it.
    ///
    /// # Errors
    /// The kernel refused to execute it, or the child was killed meanwhile. Nothing of the program ran then.
    pub fn release(mut self) -> Result<Running, Error> {
        let Some(mut parts) = self.0.take() else { unreachable!("only taken here and in drop") };
        // A child that is gone shows in what it told.
        let _ = parts.hold.write_all(b"G");
        if Told::read(&mut parts.status).map_err(system("pipe"))? != Told::Executing {
            return Err(Error::EndedEarly(parts.end()?));
        }
        match Told::read(&mut parts.status).map_err(system("pipe"))? {
            Told::Refused(errno) => {
                let path = parts.path.clone();
                parts.end()?;
                Err(Error::Exec { path, errno, why: why_not_executed(errno) })
            }
            _ => Ok(Running {
                pid: parts.pid,
                pidfd: parts.pidfd,
                ended: None,
                stopped: false,
                stop_asked: false,
            }),
        }
    }
}

impl Drop for Held {
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

/// What `execve` said, with what it means for a file that is there and may be executed.
fn why_not_executed(errno: i32) -> String {
    let words = resolve::text(&io::Error::from_raw_os_error(errno));
    match errno {
        libc::ENOENT => "its interpreter (the `#!` line, or the dynamic loader) does not exist".to_owned(),
        libc::ENOEXEC => format!("{words}: it was made for another kind of machine, or is damaged"),
        _ => words,
    }
}

/// How the program ended, and what it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code or signal.
    pub ending: Ending,
    /// What it and the children it waited for used.
    pub rusage: Rusage,
}

/// The program, executed and not yet waited for. Dropped, it runs on.
#[derive(Debug)]
pub struct Running {
    pid: Pid,
    pidfd: OwnedFd,
    ended: Option<Ended>,
    /// It is stopped, as far as we were told.
    stopped: bool,
    /// The terminal, or somebody, asked dwell to stop too.
    stop_asked: bool,
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> model::Pid {
        number(self.pid)
    }

    /// Does what is due when [`Signals`] is readable: passes on what was meant for the program, stops with it
    /// upon Ctrl-Z, and says so when it has ended. Never waits but while stopped.
    ///
    /// # Errors
    /// What `read` or `wait4` say.
    pub fn attend(&mut self, signals: &mut Signals) -> io::Result<Option<Ended>> {
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
        // Both of them: a program that is stopped alone (SIGSTOP from elsewhere, a debugger) is continued alone,
        // and nobody would think of continuing dwell.
        if self.ended.is_none() && self.stopped && self.stop_asked {
            self.stop_asked = false;
            signals::stop_self();
        }
        Ok(self.ended)
    }

    /// Waits until the program has ended, however long it takes.
    ///
    /// # Errors
    /// What `wait4` says.
    pub fn reap(mut self) -> io::Result<Ended> {
        match self.ended {
            Some(ended) => Ok(ended),
            None => Ok(*self.ended.insert(wait::ended(self.pid)?)),
        }
    }

    /// Sends a signal on to the program, unless it has it already (the terminal's) or sent it itself.
    fn pass_on(&self, signal: &signals::Signal) {
        if !signal.from_kernel && signal.sender != self.pid() && self.ended.is_none() {
            wait::kill(self.pid, signal.number);
        }
    }

    /// Takes note of every change of the program's condition so far.
    fn catch_up(&mut self) -> io::Result<()> {
        while self.ended.is_none() {
            match wait::change(self.pid)? {
                Some(Change::Ended(ended)) => self.ended = Some(ended),
                Some(Change::Stopped) => self.stopped = true,
                Some(Change::Continued) => self.stopped = false,
                None => break,
            }
        }
        Ok(())
    }

    /// dwell was continued. `fg` and `bg` continue the whole group, and the program with it. A SIGCONT to dwell
    /// alone is passed on to the program's group: Ctrl-Z stopped all of it.
    fn continue_too(&mut self) -> io::Result<()> {
        self.stop_asked = false;
        // The group's other members get theirs within the same system call, but perhaps after us.
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

impl AsFd for Running {
    /// Its pidfd: readable when the program has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// As the rest of dwell numbers processes.
fn number(pid: Pid) -> model::Pid {
    pid.as_raw_nonzero().get().unsigned_abs()
}
