//! The end of counting before that of the program: every thread is detached, and no breakpoint
//! stays.

use super::super::limits::StopReason;
use super::super::machine::{BREAKPOINT, BREAKPOINT_MOVES};
use super::super::memory::{exchange, is_ours, read};
use super::super::ptrace::{self, Report, Tid, registers};
use super::{CountingPhase, Tracer};
use std::io;
use std::time::Instant;

impl Tracer<'_> {
    /// Ends counting: every thread is detached as soon as it stops, the current one at once.
    pub(super) fn let_go(&mut self, why: StopReason) {
        // A pending SIGSTOP of ours would stop the program after detaching: it is awaited.
        if self.phase == CountingPhase::LettingGo || (why != StopReason::Time && !self.nudge.prevent()) {
            return;
        }
        self.phase = CountingPhase::LettingGo;
        self.stopped = why;
        self.let_go_at = Some(Instant::now());
        let threads: Vec<(Tid, bool)> =
            self.threads.iter().map(|(tid, thread)| (*tid, thread.stopped)).collect();
        if let Some((tid, _)) = threads.iter().find(|(_, stopped)| *stopped) {
            self.clear_breakpoints(*tid);
        }
        for (tid, stopped) in threads {
            if !stopped {
                // One that has ended reports it itself.
                let _ = ptrace::interrupt(tid);
            }
        }
    }

    /// Detaches a thread that stopped after counting.
    pub(super) fn leave(&mut self, tid: Tid, report: Report) -> io::Result<()> {
        // A breakpoint that it hit, or its last step, is yet to be reported: detached now, it would
        // die of that. An interrupt comes first where both are due.
        if !matches!(report, Report::Signal(_)) && ptrace::trap_is_pending(tid)? {
            self.thread(tid).stopped = false;
            return ptrace::run(tid, 0);
        }
        let mut signal = 0;
        match report {
            Report::Signal(libc::SIGTRAP) => {
                let place = registers::ip(tid)?.wrapping_sub(BREAKPOINT_MOVES);
                let inside = self.thread(tid).inside;
                if ptrace::signal_origin(tid)?.0 <= 0 {
                    signal = libc::SIGTRAP;
                } else if !inside && self.breakpoints.contains_key(&place) {
                    registers::set_ip(tid, place)?;
                }
            }
            Report::Signal(libc::SIGSTOP) if is_ours(tid)? => {}
            Report::Signal(other) => signal = other,
            Report::Made(_) => {
                let new = ptrace::made(tid)?;
                // One that has not stopped yet is detached when it does.
                if let Some(index) = self.early.iter().position(|early| *early == new) {
                    self.early.swap_remove(index);
                    self.clear_breakpoints(new);
                    ptrace::detach(new, 0)?;
                }
            }
            _ => {}
        }
        self.threads.remove(&tid);
        ptrace::detach(tid, signal)
    }

    /// Removes all breakpoints from the memory of a stopped thread. They stay listed: another
    /// thread may have hit one.
    pub(super) fn clear_breakpoints(&self, tid: Tid) {
        for (address, before) in &self.breakpoints {
            let there = read(tid, *address);
            if there.is_ok_and(|bytes| bytes.starts_with(BREAKPOINT)) {
                let _ = exchange(tid, *address, before);
            }
        }
    }
}
