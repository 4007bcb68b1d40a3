//! The time limit, and signals for the program or for both, in a separate thread: stepping waits
//! for the program only. It ends with the stepping.

use super::ptrace;
use crate::poll;
use crate::signals::{self, Signals};
use std::io::PipeReader;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// The SIGSTOP that ends counting at the time limit: sent once at most.
#[derive(Debug, Default)]
pub(super) struct Nudge(AtomicU8);

impl Nudge {
    const SENT: u8 = 1;
    const PREVENTED: u8 = 2;

    fn become_first(&self, state: u8) -> bool {
        self.0.compare_exchange(0, state, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Whether it was sent.
    pub(super) fn sent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Self::SENT
    }

    /// Prevents it from being sent; false when it was sent already.
    pub(super) fn prevent(&self) -> bool {
        self.become_first(Self::PREVENTED)
    }
}

/// Runs until `over` is hung up. After `time` it stops the program by a SIGSTOP that its tracer
/// recognizes by its sender and does not deliver.
pub(super) fn watch(
    pid: libc::pid_t,
    over: &PipeReader,
    mut signals: Option<&mut Signals>,
    time: Option<Duration>,
    nudge: &Nudge,
) {
    let until = time.and_then(|time| Instant::now().checked_add(time));
    let mut due = until.is_some();
    loop {
        let left = until.filter(|_| due).map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            due = false;
            if nudge.become_first(Nudge::SENT) {
                ptrace::kill(pid, libc::SIGSTOP);
            }
            continue;
        }
        let mut fds = vec![over.as_fd()];
        fds.extend(signals.as_deref().map(AsFd::as_fd));
        match poll::wait(&fds, left) {
            Ok(ready) if ready.first() == Some(&true) => return,
            Ok(_) => {}
            Err(_) => return,
        }
        if let Some(signals) = signals.as_deref_mut() {
            pass_on(pid, signals);
        }
    }
}

/// As in `spawn::RunningProgram::attend`.
fn pass_on(pid: libc::pid_t, signals: &mut Signals) {
    while let Ok(Some(signal)) = signals.take() {
        if matches!(signal.number, libc::SIGCHLD | libc::SIGCONT) {
            continue;
        }
        if !signal.from_kernel && signal.sender != pid.unsigned_abs() {
            ptrace::kill(pid, signal.number);
        }
        if matches!(signal.number, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) {
            signals::stop_self();
        }
    }
}
