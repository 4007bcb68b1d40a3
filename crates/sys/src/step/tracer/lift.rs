//! Stepping over a breakpoint, which other threads may reach at the same time.

use super::super::machine::{BREAKPOINT, InstructionKind};
use super::super::memory::exchange;
use super::super::ptrace::{self, Report, Tid};
use super::{CountingPhase, Lifted, TracedThread, Tracer};
use std::io;

impl Tracer<'_> {
    /// Removes a breakpoint for one step of one thread. The others must not run in the meantime:
    /// they would miss it.
    pub(super) fn lift(&mut self, tid: Tid, address: u64, kind: InstructionKind) -> io::Result<()> {
        // A system call may wait for another thread, which would be stopped: this breakpoint is
        // removed for good.
        if kind == InstructionKind::Syscall {
            if let Some(before) = self.breakpoints.remove(&address) {
                exchange(tid, address, &before)?;
            }
            return Ok(());
        }
        let may_run = |(other, thread): (&Tid, &TracedThread)| {
            (*other != tid && !thread.stopped && !thread.parked).then_some(*other)
        };
        let running: Vec<Tid> = self.threads.iter().filter_map(may_run).collect();
        for other in running {
            // It may have stopped by itself while another one was held.
            if self.threads.get(&other).is_some_and(|thread| !thread.stopped) && self.hold(other)? {
                self.deferred.push_back((other, 0));
            }
        }
        // Whoever has that number now, the breakpoint was in memory that is gone.
        if self.waiting.iter().any(|(from, report)| self.is_new_program(*from, *report)) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        if let Some(before) = self.breakpoints.get(&address) {
            exchange(tid, address, before)?;
        }
        self.lifted = Some(Lifted { tid, address });
        Ok(())
    }

    /// Stops a running thread; true when it is to be resumed, false when it stopped for another
    /// reason.
    pub(super) fn hold(&mut self, tid: Tid) -> io::Result<bool> {
        match ptrace::interrupt(tid) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(false),
            Err(error) => return Err(error),
        }
        let Some(report) = self.report_of(tid)? else { return Ok(false) };
        if report == Report::Interrupted {
            self.thread(tid).stopped = true;
            return Ok(true);
        }
        if matches!(report, Report::Ended { .. }) {
            // Kept for the loop if it is the end of the program.
            if tid != self.pid {
                self.threads.remove(&tid);
                return Ok(false);
            }
        } else if report != Report::Executed {
            // Through one that has executed a program no breakpoint is put back: its memory is new.
            self.thread(tid).stopped = true;
        }
        self.waiting.push_back((tid, report));
        Ok(false)
    }

    /// The next report of a thread; none if it is of a program that was executed over. What others
    /// report meanwhile is kept, and must be taken: the end of the first thread is not reported
    /// before that of all others is.
    fn report_of(&mut self, tid: Tid) -> io::Result<Option<Report>> {
        loop {
            let Some((from, report)) = ptrace::wait_for_any()? else { continue };
            if from == tid {
                return Ok(Some(report));
            }
            self.waiting.push_back((from, report));
            if self.is_new_program(from, report) {
                // It has the number of the first thread now, or is gone.
                self.threads.remove(&tid);
                return Ok(None);
            }
            if !matches!(report, Report::Ended { .. })
                && let Some(thread) = self.threads.get_mut(&from)
            {
                thread.stopped = true;
            }
        }
    }

    /// Whether a report says that the program executed another one, and has lost its other threads.
    fn is_new_program(&self, from: Tid, report: Report) -> bool {
        report == Report::Executed && self.threads.get(&from).is_none_or(|thread| !thread.borrowed)
    }

    /// The thread that stepped over a breakpoint has stopped or ended: the others may resume.
    pub(super) fn put_back(&mut self, tid: Tid) -> io::Result<()> {
        let Some(lifted) = self.lifted.filter(|lifted| lifted.tid == tid) else { return Ok(()) };
        self.lifted = None;
        if self.phase != CountingPhase::LettingGo {
            // The thread itself may have ended; any other stopped thread will do.
            let stands = |(tid, thread): (&Tid, &TracedThread)| thread.stopped.then_some(*tid);
            let able: Vec<Tid> = self.threads.iter().filter_map(stands).collect();
            let _ = able.iter().any(|tid| exchange(*tid, lifted.address, BREAKPOINT).is_ok());
        }
        // Resuming one of them may remove a breakpoint again: the rest then keeps waiting.
        while self.lifted.is_none()
            && let Some((other, signal)) = self.deferred.pop_front()
        {
            if !self.threads.contains_key(&other) {
                continue;
            }
            match self.go_on(other, signal) {
                Err(error) if error.raw_os_error() != Some(libc::ESRCH) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}
