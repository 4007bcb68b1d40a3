//! Ending at once while there is nothing to lose: instruments are set up, loads are started.
//!
//! Such a stage is long where others have the CPU, and much of it is single system calls (the BPF
//! verifier, the kernel's grace periods) between which nobody can look for signals. So a thread
//! waits for them.
#![allow(unsafe_code)]

use crate::origin::{is_ignored, set_ignored};
use crate::poll;
use crate::signals::{change_mask, descriptor_of, next_of, set_of};
use std::io::{self, PipeReader, PipeWriter, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::{Builder, JoinHandle};

/// The signals that end a measurement. One that is ignored is not pending.
const ENDING: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// The name of the thread. It opens no file.
pub const THREAD: &str = "dwell-signals";

/// Enough to wait, to remove files, and to end.
const STACK_BYTES: usize = 128 << 10;

/// While it lives, a signal that [`Signals`](crate::signals::Signals) took over ends this process
/// as if it had not: by the signal, at once. What is the kernel's goes with the process, and so do
/// children that are to end with it.
#[derive(Debug)]
pub struct EndAtOnce {
    /// Closed to end the thread.
    end: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl EndAtOnce {
    /// Begins to wait for signals; `first` is called before one ends the process. SIGHUP is
    /// left out where it is ignored.
    ///
    /// # Errors
    /// No descriptors are left, or the thread cannot be started: signals are then looked for
    /// between stages only.
    pub fn begin(first: fn()) -> io::Result<Self> {
        let ending = ENDING.into_iter().filter(|signal| *signal != libc::SIGHUP || !is_ignored(*signal));
        let signals = descriptor_of(&set_of(&ending.collect::<Vec<i32>>()))?;
        let (ended, end) = pipe()?;
        make_room(&signals);
        let thread = Builder::new().name(THREAD.into()).stack_size(STACK_BYTES);
        let thread = thread.spawn(move || wait(&signals, &ended, first))?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

/// The process has room for descriptors from here on, if it may have this many. A table that
/// threads share waits for the kernel's grace period each time it grows (`expand_fdtable` in
/// `fs/file.c`).
fn make_room(any: &OwnedFd) {
    const DESCRIPTORS: i32 = 1000;
    drop(rustix::io::fcntl_dupfd_cloexec(any, DESCRIPTORS));
}

impl Drop for EndAtOnce {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

fn wait(signals: &OwnedFd, ended: &PipeReader, first: fn()) {
    loop {
        let Ok(ready) = poll::wait(&[ended.as_fd(), signals.as_fd()], None) else { return };
        if ready[0] {
            return;
        }
        if ready[1]
            && let Ok(Some(signal)) = next_of(signals)
        {
            first();
            set_ignored(signal.number, false);
            change_mask(libc::SIG_UNBLOCK, &set_of(&[signal.number]));
            // SAFETY: raises a signal in this thread, whose effect is to end the process.
            unsafe { libc::raise(signal.number) };
        }
    }
}
