//! The end of counting before that of the program: every thread is detached, and no breakpoint
//! stays.

use super::super::limits::StopReason;
use super::super::machine::{BREAKPOINT, BREAKPOINT_MOVES, InstructionKind};
use super::super::memory::{exchange, hide_trap_flag, read};
use super::super::ptrace::{self, Report, Tid, registers};
use super::{CountingPhase, Tracer};
use std::fs;
use std::io;
use std::time::Instant;

impl Tracer<'_> {
    /// Ends counting: every thread is detached as soon as it stops, the current one at once.
    pub(super) fn let_go(&mut self, why: StopReason) {
        if self.phase == CountingPhase::LettingGo {
            return;
        }
        self.phase = CountingPhase::LettingGo;
        self.stopped = why;
        self.let_go_at = Some(Instant::now());
        for (tid, thread) in &self.threads {
            if !thread.stopped {
                // One that has ended reports it itself.
                let _ = ptrace::interrupt(*tid);
            }
        }
    }

    /// Whether nothing of the program is traced any more. A first thread that has ended is reported
    /// with the last of the others only.
    pub(super) fn has_let_go(&self) -> bool {
        let is_there = |tid: &Tid| {
            let status = fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
            status.lines().find_map(|line| line.strip_prefix("State:")).is_some_and(|state| {
                let state = state.trim_start();
                !state.starts_with(['Z', 'X'])
            })
        };
        self.phase == CountingPhase::LettingGo
            && self.waiting.is_empty()
            && self.early.is_empty()
            && !self.expected.keys().any(is_there)
            && !self.threads.keys().any(is_there)
    }

    /// Detaches a thread that stopped after counting.
    pub(super) fn leave(&mut self, tid: Tid, report: Report) -> io::Result<()> {
        self.clear_once(tid);
        // A breakpoint that it hit, or its last step, is yet to be reported: detached now, it would
        // die of that. An interrupt comes first where both are due.
        if !matches!(report, Report::Signal(_)) && ptrace::trap_is_pending(tid)? {
            self.thread(tid).stopped = false;
            return ptrace::run(tid, 0);
        }
        let mut signal = 0;
        match report {
            Report::Signal(libc::SIGTRAP) => {
                let ip = registers::ip(tid)?;
                let place = ip.wrapping_sub(BREAKPOINT_MOVES);
                let thread = *self.thread(tid);
                if ptrace::signal_origin(tid)?.0 <= 0 {
                    signal = libc::SIGTRAP;
                } else if !thread.inside && self.breakpoints.contains_key(&place) {
                    registers::set_ip(tid, place)?;
                } else if thread
                    .last
                    .is_some_and(|(last, kind)| kind == InstructionKind::SavesFlags && ip != last)
                {
                    // As after each step over one.
                    let _ = hide_trap_flag(tid);
                }
            }
            Report::Signal(other) => signal = other,
            Report::Made(made) => {
                let new = ptrace::made(tid)?;
                match self.early.iter().position(|early| *early == new) {
                    Some(index) => {
                        self.early.swap_remove(index);
                        self.clear_breakpoints(new);
                        ptrace::detach(new, 0)?;
                    }
                    // It is detached when it stops for the first time.
                    None => {
                        self.expected.insert(new, made);
                    }
                }
            }
            _ => {}
        }
        self.threads.remove(&tid);
        ptrace::detach(tid, signal)
    }

    /// Removes all breakpoints from the memory of the program, by any stopped thread of it.
    pub(super) fn clear_once(&mut self, tid: Tid) {
        if !self.cleared {
            self.cleared = true;
            self.clear_breakpoints(tid);
        }
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
