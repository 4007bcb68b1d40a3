//! Threads and processes that the program creates: threads are counted, processes detached without
//! breakpoints.

use super::super::ptrace::{self, CloneKind, Report, Tid};
use super::{TracedThread, Tracer};
use std::fs;
use std::io;

/// The processes that this thread traces.
fn traced() -> io::Result<Vec<Tid>> {
    let own = rustix::thread::gettid().as_raw_nonzero().get();
    let pids = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let by_us = |pid: &Tid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        tracer.and_then(|tracer| tracer.trim().parse().ok()) == Some(own)
    };
    Ok(pids.filter(by_us).collect())
}

/// Whether a thread is of a process.
fn is_of(tid: Tid, pid: Tid) -> bool {
    fs::metadata(format!("/proc/{pid}/task/{tid}")).is_ok()
}

impl Tracer<'_> {
    /// A thread created a thread or a process.
    pub(super) fn made(&mut self, tid: Tid, made: CloneKind) -> io::Result<()> {
        let new = ptrace::made(tid)?;
        if made == CloneKind::Vfork {
            self.thread(tid).parked = true;
        }
        match self.early.iter().position(|early| *early == new) {
            Some(index) => {
                self.early.swap_remove(index);
                self.adopt(new, made)?;
            }
            None => {
                self.expected.insert(new, made);
            }
        }
        self.go_on(tid, 0)
    }

    /// Lets go of children of the program that was executed over. One thread's `execve` kills the
    /// others, and what they made is not reported any more: their children would stop at their
    /// start for ever, with copies of breakpoints that are about to be forgotten.
    pub(super) fn release_strays(&mut self) -> io::Result<()> {
        self.expected.clear();
        for tid in traced()? {
            if is_of(tid, self.pid) {
                continue;
            }
            self.children += u64::from(!self.threads.contains_key(&tid));
            match self.release(tid) {
                // It has been killed.
                Err(error) if !matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ECHILD)) => {
                    return Err(error);
                }
                _ => {}
            }
        }
        self.early.clear();
        Ok(())
    }

    fn release(&mut self, tid: Tid) -> io::Result<()> {
        let queued = self.waiting.iter().position(|(queued, _)| *queued == tid);
        let mut report = queued.and_then(|at| self.waiting.remove(at)).map(|(_, report)| report);
        if report.is_none() && self.early.contains(&tid) {
            report = Some(Report::Interrupted);
        }
        if report.is_none() && self.threads.get(&tid).is_some_and(|thread| thread.stopped) {
            let signal =
                self.deferred.iter().find(|(deferred, _)| *deferred == tid).map_or(0, |found| found.1);
            report = Some(if signal == 0 { Report::Interrupted } else { Report::Signal(signal) });
        }
        if report.is_none() {
            ptrace::interrupt(tid)?;
        }
        loop {
            let stopped = match report.take() {
                Some(report) => report,
                None => ptrace::wait(tid)?.1,
            };
            if matches!(stopped, Report::Ended { .. }) {
                return Ok(());
            }
            self.clear_breakpoints(tid);
            self.thread(tid);
            self.leave(tid, stopped)?;
            // Otherwise a trap was pending, and is reported next.
            if !self.threads.contains_key(&tid) {
                return Ok(());
            }
        }
    }

    /// A new thread or process is stopped at its start.
    pub(super) fn adopt(&mut self, tid: Tid, made: CloneKind) -> io::Result<()> {
        let own = is_of(tid, self.pid);
        self.children += u64::from(!own);
        if !own && (made == CloneKind::Fork || self.code.is_none()) {
            // It has a copy of the breakpoints, or there are none.
            self.clear_breakpoints(tid);
            return ptrace::detach(tid, 0);
        }
        let inside = self.code.is_none();
        *self.thread(tid) = TracedThread { stopped: true, inside, borrowed: !own, ..TracedThread::default() };
        self.go_on(tid, 0)
    }
}
