//! Stepping over a place where a breakpoint stands, while other threads may come by.

use super::super::machine::{BREAKPOINT, Kind};
use super::super::memory::exchange;
use super::super::ptrace::{self, Report, Tid};
use super::{Lifted, Phase, Thread, Tracer};
use std::io;

impl Tracer<'_> {
    /// Takes a breakpoint out for one step of one thread. The others must not run meanwhile: they would miss it.
    pub(super) fn lift(&mut self, tid: Tid, address: u64, kind: Kind) -> io::Result<()> {
        // A system call may wait for another thread, and that one would wait for it: this breakpoint goes.
        if kind == Kind::Syscall {
            if let Some(before) = self.breakpoints.remove(&address) {
                exchange(tid, address, &before)?;
            }
            return Ok(());
        }
        let may_run = |(other, thread): (&Tid, &Thread)| {
            (*other != tid && !thread.stopped && !thread.parked).then_some(*other)
        };
        let running: Vec<Tid> = self.threads.iter().filter_map(may_run).collect();
        for other in running {
            if self.hold(other)? {
                self.deferred.push_back((other, 0));
            }
        }
        if let Some(before) = self.breakpoints.get(&address) {
            exchange(tid, address, before)?;
        }
        self.lifted = Some(Lifted { tid, address });
        Ok(())
    }

    /// Stops a running thread; true when it is to be told to go on, false when it stopped for a reason of its own.
    pub(super) fn hold(&mut self, tid: Tid) -> io::Result<bool> {
        match ptrace::interrupt(tid) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(false),
            Err(error) => return Err(error),
        }
        let (_, report) = ptrace::wait(tid)?;
        if report == Report::Interrupted {
            self.thread(tid).stopped = true;
            return Ok(true);
        }
        if matches!(report, Report::Ended { .. }) {
            // Kept for the loop if it is the program's own end.
            if tid != self.pid {
                self.threads.remove(&tid);
                return Ok(false);
            }
        } else {
            self.thread(tid).stopped = true;
        }
        self.waiting.push_back((tid, report));
        Ok(false)
    }

    /// The thread that a breakpoint was taken out for has stopped, or is gone: the others may go on.
    pub(super) fn put_back(&mut self, tid: Tid) -> io::Result<()> {
        let Some(lifted) = self.lifted.filter(|lifted| lifted.tid == tid) else { return Ok(()) };
        self.lifted = None;
        if self.phase != Phase::LettingGo {
            // The thread itself may be gone; any other that stands will do.
            let stands = |(tid, thread): (&Tid, &Thread)| thread.stopped.then_some(*tid);
            let able: Vec<Tid> = self.threads.iter().filter_map(stands).collect();
            let _ = able.iter().any(|tid| exchange(*tid, lifted.address, BREAKPOINT).is_ok());
        }
        // Letting one of them go on may take a breakpoint out again: the rest then waits further.
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
