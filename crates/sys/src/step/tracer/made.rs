//! Threads and processes that the program makes: threads are counted, processes let go without breakpoints.

use super::super::ptrace::{self, Made, Tid};
use super::{Thread, Tracer};
use std::fs;
use std::io;

impl Tracer<'_> {
    /// A thread made a thread or a process.
    pub(super) fn made(&mut self, tid: Tid, made: Made) -> io::Result<()> {
        let new = ptrace::made(tid)?;
        if made == Made::Vfork {
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

    /// A new thread or process stands at its beginning.
    pub(super) fn adopt(&mut self, tid: Tid, made: Made) -> io::Result<()> {
        let own = fs::metadata(format!("/proc/{}/task/{tid}", self.pid)).is_ok();
        self.children += u64::from(!own);
        if !own && (made == Made::Fork || self.code.is_none()) {
            // It has a copy of the breakpoints, or there are none.
            self.clear_breakpoints(tid);
            return ptrace::detach(tid, 0);
        }
        let inside = self.code.is_none();
        *self.thread(tid) = Thread { stopped: true, inside, borrowed: !own, ..Thread::default() };
        self.go_on(tid, 0)
    }
}
