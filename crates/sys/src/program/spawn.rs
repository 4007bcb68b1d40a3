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
//! exits. It stays in dwell's process group, so that signals of the terminal reach it directly;
//! another user's has a session of its own, and gets them from dwell.
//! Everything that needs memory is done before the fork.

use crate::origin::origin;
use crate::resolve::{self, NotRunnable};
use crate::user::User;
use child::ChildReport;
use filter::CallFilter;
use image::ExecImage;
use model::recording::Ending;
use rustix::process::{Pid, PidfdFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

mod child;
mod command;
mod filter;
pub(crate) mod image;
pub(crate) mod patience;
mod running;
pub(crate) mod wait;

pub use command::Command;
pub use filter::Flushes;
pub use patience::{AskedToEnd, ENDING, Patience};
pub use running::RunningProgram;
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
    #[error("cannot run as user {user:?}: {error}")]
    User {
        /// The user.
        user: String,
        /// The system's error; the text has it already.
        error: io::Error,
    },
    /// A signal ended the child while it was still held: Ctrl-C, or the out-of-memory killer.
    #[error("the program was ended before it started, {}", by_what(.0))]
    EndedEarly(Ending),
    /// What was to be imposed on the program was refused.
    #[error("cannot run it with that imposed: {0}")]
    Imposing(io::Error),
    /// The child could not be created or observed.
    #[error("cannot start a process: {what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's error; the text has it already.
        error: io::Error,
    },
}

impl Error {
    /// The exit status for it: 127 not found, 126 cannot be executed, 128 and the signal, else 125.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::NotRunnable(not_runnable) => not_runnable.exit_code(),
            Error::Exec { .. } => 126,
            Error::EndedEarly(Ending::Signal(signal)) => u8::try_from(128 + signal).unwrap_or(125),
            Error::EndedEarly(_) | Error::User { .. } | Error::Imposing(_) | Error::System { .. } => 125,
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
    move |error| Error::System { what, error }
}

/// What a program gets that differs from dwell's own, besides its user.
#[derive(Debug, Clone, Default)]
pub struct Imposed {
    /// Variables in its environment, in place of existing ones.
    pub variables: Vec<(OsString, OsString)>,
    /// Whether `/dev/null` is its standard output and standard error.
    pub silent: bool,
    /// A filter on its calls that flush, and on those of its descendants.
    pub flushes: Option<Flushes>,
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
    /// It has a session of its own.
    apart: bool,
}

impl HeldProgram {
    /// Resolves the program and forks the child for it.
    ///
    /// # Errors
    /// The program cannot be run, the user cannot be used, or there are no more processes or
    /// descriptors.
    pub fn spawn(command: &Command) -> Result<Self, Error> {
        Self::spawn_imposed(command, &Imposed::default())
    }

    /// The same with these variables added to the program's environment; they replace existing
    /// ones.
    ///
    /// # Errors
    /// As [`HeldProgram::spawn`].
    pub fn spawn_with(command: &Command, variables: &[(OsString, OsString)]) -> Result<Self, Error> {
        Self::spawn_imposed(command, &Imposed { variables: variables.to_vec(), ..Imposed::default() })
    }

    /// The same with all that is imposed on the program.
    ///
    /// # Errors
    /// As [`HeldProgram::spawn`], or that was refused.
    pub fn spawn_imposed(command: &Command, imposed: &Imposed) -> Result<Self, Error> {
        let path = resolve::resolve_as(&command.program, command.user.as_ref())?;
        let image = ExecImage::new(command, &path, &imposed.variables).map_err(system("arguments"))?;
        let changes = child::Changes {
            output: if imposed.silent { Some(null().map_err(Error::Imposing)?) } else { None },
            filter: imposed.flushes.map(CallFilter::flushes),
        };
        let (hold_reader, hold) = io::pipe().map_err(system("pipe"))?;
        let (status, status_writer) = io::pipe().map_err(system("pipe"))?;
        let ends = child::PipeEnds {
            hold: hold_reader.as_raw_fd(),
            status: status_writer.as_raw_fd(),
            not_its_own: [hold.as_raw_fd(), status.as_raw_fd()],
        };
        let forked = child::fork(&image, origin(), command.user.as_ref(), &changes, &ends);
        let pid = forked.map_err(system("fork"))?;
        drop((hold_reader, status_writer));
        let pidfd = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(errno) => {
                drop(hold);
                let _ = wait::ended(pid);
                return Err(system("pidfd_open")(errno.into()));
            }
        };
        let apart = command.user.as_ref().is_some_and(User::is_another);
        let mut parts = Parts { pid, pidfd, path, hold, status, apart };
        match ChildReport::read(&mut parts.status).map_err(system("pipe"))? {
            ChildReport::Ready => Ok(HeldProgram(Some(parts))),
            ChildReport::Refused(errno) => {
                let user = command.user.as_ref().map_or_else(String::new, |user| user.name.clone());
                parts.end()?;
                Err(Error::User { user, error: io::Error::from_raw_os_error(errno) })
            }
            ChildReport::Unimposed(errno) => {
                parts.end()?;
                Err(Error::Imposing(io::Error::from_raw_os_error(errno)))
            }
            ChildReport::Executing | ChildReport::Nothing => Err(Error::EndedEarly(parts.end()?)),
        }
    }

    /// The process id that the program will have.
    pub fn pid(&self) -> model::Pid {
        self.0.as_ref().map_or(0, |parts| wait::number(parts.pid))
    }

    /// The file that it will execute first.
    pub fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), |parts| &parts.path)
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
            _ => Ok(RunningProgram::new(parts.pid, parts.pidfd, parts.apart)),
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

fn null() -> io::Result<OwnedFd> {
    Ok(File::options().write(true).open("/dev/null")?.into())
}
