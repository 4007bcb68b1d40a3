//! Running commands that are timed: a small process of its own starts them and waits for them.
//!
//! ```text
//! dwell                 starter                       child
//! Starter::begin -----> fork
//! start ---- order ---> fork -----------------------> set streams and signals
//!                       wait4(2)                      read the clock
//!                                                     execve(2)
//!                       read the clock <------------- (its end)
//! finish <-- a byte --- figures in shared memory
//! ```
//!
//! Why not dwell itself: the kernel begins a program's `ru_maxrss` at the size of the process that
//! became it, so with a large parent every program is large; and a large process is slow to fork.
//! dwell sleeps in poll(2) meanwhile, and is told once: when the command has ended.
//!
//! The starter is killed when dwell dies; a command in hand is not, as the starter only waits for
//! it. It gets dwell's directory and process group, so that signals of the terminal reach it, and
//! the signal dispositions that dwell got ([`crate::origin`]). The starter blocks all signals.
//!
//! Left to others: what is run and how often, and what the figures mean (`timings`).

use crate::counters::SharedCounters;
use crate::spawn::{Error, system, why_not_executed};
use crate::worker::Worker;
use figures::{Figures, Step};
use model::Pid;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

mod child;
mod family;
mod figures;
mod order;
mod request;
mod serve;

pub use figures::CommandEnd;
pub use order::Order;

/// The process that starts commands, one at a time. It ends when this is dropped; a command in hand
/// does not.
#[derive(Debug)]
pub struct Starter {
    socket: UnixStream,
    figures: SharedCounters,
    worker: Worker,
    /// The file of the command in hand, for messages.
    path: PathBuf,
}

impl Starter {
    /// Forks it. To be called while this process is still small.
    ///
    /// # Errors
    /// Too many processes or descriptors, no memory, or this process has several threads: one of
    /// them could hold a lock, which no thread of the starter would ever release.
    pub fn begin() -> Result<Self, Error> {
        let (socket, other) = UnixStream::pair().map_err(system("socketpair"))?;
        let figures = SharedCounters::new(figures::COUNT).map_err(system("mmap"))?;
        let worker = Worker::start(|| serve::serve(other, &figures)).map_err(system("fork"))?;
        Ok(Self { socket, figures, worker, path: PathBuf::new() })
    }

    /// Its process id.
    pub fn pid(&self) -> Pid {
        self.worker.pid()
    }

    /// Lets it start a command with this environment, of entries `NAME=value`, and these standard
    /// streams. [`Starter::finish`] must follow.
    ///
    /// # Errors
    /// The starter has ended.
    pub fn start(
        &mut self,
        order: &Order,
        environment: &[OsString],
        streams: [BorrowedFd<'_>; 3],
    ) -> Result<(), Error> {
        self.path.clone_from(&order.path);
        let sent = request::send_run(&self.socket, order, environment, streams);
        sent.map_err(system("the process that starts commands has ended"))
    }

    /// Waits for the end of the command in hand. It is there when this is readable (as a
    /// descriptor).
    ///
    /// # Errors
    /// The kernel refused to execute it, no process could be made, or the starter has ended.
    pub fn finish(&mut self) -> Result<CommandEnd, Error> {
        self.answer()?;
        let figures = Figures(&self.figures);
        match figures.failed() {
            None => Ok(figures.end()),
            Some((Step::Execute, errno)) => {
                Err(Error::Exec { path: self.path.clone(), errno, why: why_not_executed(errno) })
            }
            Some((step, errno)) => Err(system(step.words())(io::Error::from_raw_os_error(errno))),
        }
    }

    /// Sends a signal to the command in hand. False when there is none, not yet or any more.
    pub fn signal(&self, signal: i32) -> bool {
        let Some(signal) = Signal::from_named_raw(signal) else { return false };
        let pid = Figures(&self.figures).pid();
        let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
            return false;
        };
        // The starter may have waited for it by now, and its number be another process's: that one
        // is not the starter's child. The descriptor keeps the number from changing hands.
        pidfd_open(pid, PidfdFlags::empty()).is_ok_and(|pidfd| {
            parent(pid.as_raw_nonzero().get().unsigned_abs()) == Some(self.pid())
                && pidfd_send_signal(pidfd, signal).is_ok()
        })
    }

    /// How many processes that commands left behind still live.
    ///
    /// # Errors
    /// The starter has ended.
    pub fn left_behind(&mut self) -> Result<u32, Error> {
        let sent = request::send_count(&self.socket);
        sent.map_err(system("the process that starts commands has ended"))?;
        self.answer()?;
        Ok(Figures(&self.figures).left())
    }

    fn answer(&self) -> Result<(), Error> {
        let read = (&self.socket).read_exact(&mut [0]);
        read.map_err(system("the process that starts commands has ended"))
    }
}

impl AsFd for Starter {
    /// Readable when the command in hand has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The parent of a process: proc_pid_stat(5).
fn parent(pid: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may itself have spaces and parentheses.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}
