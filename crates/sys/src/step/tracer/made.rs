//! Threads and processes that the program creates: threads are counted, processes detached without
//! breakpoints.

use super::super::ptrace::{self, CloneKind, Tid};
use super::{TracedThread, Tracer};
use std::fs;
use std::io;

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

    /// A new thread or process is stopped at its start.
    pub(super) fn adopt(&mut self, tid: Tid, made: CloneKind) -> io::Result<()> {
        let own = fs::metadata(format!("/proc/{}/task/{tid}", self.pid)).is_ok();
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
