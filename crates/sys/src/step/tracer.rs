//! The stepping loop: takes a report of a thread, counts its location, and resumes it.

use super::identity::FileIdentity;
use super::limits::StopReason;
use super::machine::{BREAKPOINT, BREAKPOINT_MOVES, InstructionKind};
use super::memory::{exchange, has_rights_of_its_own, hide_trap_flag, is_handled, read_code, return_address};
use super::ptrace::{self, CloneKind, Report, Tid, registers};
use super::scope::{FunctionRanges, Scope};
use super::tally::{self, Tally};
use super::watch::Asked;
use crate::spawn::ProgramEnd;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

mod leave;
mod lift;
mod made;

/// How long to wait before looking again whether all have been let go.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// One thread.
#[derive(Debug, Clone, Copy, Default)]
struct TracedThread {
    /// It is stopped, and has to be resumed.
    stopped: bool,
    /// It is in counted code, and is stepped.
    inside: bool,
    /// Job control stopped it, or it waits for its vfork child: it can neither run nor be
    /// interrupted.
    parked: bool,
    /// The last instruction that it was resumed for.
    last: Option<(u64, InstructionKind)>,
    /// A signal handler interrupted it here: this instruction will be repeated and is already
    /// counted.
    comes_again: Option<u64>,
    /// It is not a thread of the program but a vfork child in its memory, until that calls
    /// `execve`.
    borrowed: bool,
}

/// A single step over a breakpoint: it is removed, and no other thread runs.
#[derive(Debug, Clone, Copy)]
struct Lifted {
    tid: Tid,
    address: u64,
}

/// The phase of counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountingPhase {
    /// The function's file is not mapped yet.
    Seeking,
    Counting,
    /// A limit was reached: each thread is detached when it stops.
    LettingGo,
}

pub(super) struct Tracer<'a> {
    pid: Tid,
    code: Option<&'a FunctionRanges>,
    /// The function's file; none where it cannot be read.
    file: Option<FileIdentity>,
    steps_max: u64,
    asked: &'a Asked,
    pub(super) tally: Tally,
    phase: CountingPhase,
    threads: HashMap<Tid, TracedThread>,
    /// Created, and not yet stopped for the first time.
    expected: HashMap<Tid, CloneKind>,
    /// Stopped for the first time before their creator reported them.
    early: Vec<Tid>,
    /// Reports that arrived while another one was awaited.
    waiting: VecDeque<(Tid, Report)>,
    /// Stopped threads to resume once all breakpoints are in place, each with a signal.
    deferred: VecDeque<(Tid, i32)>,
    /// The address of the function's file, to be added to its offsets.
    slide: Option<u64>,
    /// Breakpoints, with the bytes that they replaced.
    breakpoints: BTreeMap<u64, Vec<u8>>,
    lifted: Option<Lifted>,
    stopped: StopReason,
    let_go_at: Option<Instant>,
    /// The breakpoints are out of the program's memory, after counting.
    cleared: bool,
    children: u64,
    found: bool,
}

impl<'a> Tracer<'a> {
    pub(super) fn new(pid: Tid, scope: &'a Scope, steps_max: Option<u64>, asked: &'a Asked) -> Self {
        let code = match scope {
            Scope::Program => None,
            Scope::Function(code) => Some(code),
        };
        Tracer {
            pid,
            code,
            file: code.and_then(|code| FileIdentity::of(&code.file)),
            steps_max: steps_max.unwrap_or(u64::MAX),
            asked,
            tally: Tally::default(),
            phase: CountingPhase::Counting,
            threads: HashMap::new(),
            expected: HashMap::new(),
            early: Vec::new(),
            waiting: VecDeque::new(),
            deferred: VecDeque::new(),
            slide: None,
            breakpoints: BTreeMap::new(),
            lifted: None,
            stopped: StopReason::Ended,
            let_go_at: None,
            cleared: false,
            children: 0,
            found: code.is_none(),
        }
    }

    pub(super) fn stopped(&self) -> StopReason {
        self.stopped
    }

    pub(super) fn let_go_at(&self) -> Option<Instant> {
        self.let_go_at
    }

    pub(super) fn found(&self) -> bool {
        self.found
    }

    pub(super) fn children(&self) -> u64 {
        self.children
    }

    /// From the program's stop at its `execve` to its end; none if it goes on and is to be left.
    pub(super) fn trace(&mut self) -> io::Result<Option<ProgramEnd>> {
        self.begin(self.pid)?;
        loop {
            if self.asked.hear() {
                self.attend();
            }
            let Some((tid, report)) = self.next()? else {
                if self.asked.leave().is_some() && self.has_let_go() {
                    return Ok(None);
                }
                continue;
            };
            match self.take(tid, report) {
                Ok(None) => {}
                Ok(Some(ended)) => return Ok(Some(ended)),
                // Killed after its report: its end is reported next.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                    if let Some(thread) = self.threads.get_mut(&tid) {
                        thread.stopped = false;
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The next report; none if there is something to attend to.
    fn next(&mut self) -> io::Result<Option<(Tid, Report)>> {
        // While a breakpoint is removed, only the thread that steps over it may run.
        if let Some(report) = self.waiting.pop_front_if(|_| self.lifted.is_none()) {
            return Ok(Some(report));
        }
        if self.asked.leave().is_none() {
            return ptrace::wait_for_any();
        }
        // The last to be let go gives no report.
        let report = ptrace::take_of_any()?;
        if report.is_none() && !self.has_let_go() {
            sleep(LOOK_AGAIN);
        }
        Ok(report)
    }

    /// Does what the watching thread asked for.
    fn attend(&mut self) {
        if self.asked.time_is_over() {
            self.let_go(StopReason::Time);
        }
        if self.asked.leave().is_some() {
            self.let_go(StopReason::Signal);
        }
    }

    fn take(&mut self, tid: Tid, report: Report) -> io::Result<Option<ProgramEnd>> {
        if let Report::Ended { ending, rusage } = report {
            self.threads.remove(&tid);
            self.expected.remove(&tid);
            self.put_back(tid)?;
            return Ok((tid == self.pid).then_some(ProgramEnd { ending, rusage }));
        }
        if !self.threads.contains_key(&tid) && report != Report::Executed {
            match self.expected.remove(&tid) {
                Some(made) => self.adopt(tid, made)?,
                None if self.phase == CountingPhase::LettingGo => {
                    self.clear_breakpoints(tid);
                    ptrace::detach(tid, 0)?;
                }
                None => self.early.push(tid),
            }
            return Ok(None);
        }
        let thread = self.thread(tid);
        thread.stopped = true;
        if report == Report::Executed && !thread.borrowed {
            // The memory is new: what was lifted from the old one does not belong there.
            self.lifted = None;
        } else {
            self.put_back(tid)?;
        }
        if self.phase == CountingPhase::LettingGo {
            if report == Report::Executed && !self.thread(tid).borrowed {
                self.forget_old_program(tid)?;
            }
            self.leave(tid, report)?;
            return Ok(None);
        }
        match report {
            Report::Signal(libc::SIGTRAP) => self.trapped(tid)?,
            Report::Signal(signal) => self.signal(tid, signal)?,
            Report::Syscall => {
                if self.phase == CountingPhase::Seeking && registers::syscall(tid)? == libc::SYS_mmap {
                    self.seek(tid)?;
                }
                self.go_on(tid, 0)?;
            }
            Report::Made(made) => self.made(tid, made)?,
            Report::VforkDone => {
                self.thread(tid).parked = false;
                self.go_on(tid, 0)?;
            }
            Report::Executed if self.threads.get(&tid).is_some_and(|thread| thread.borrowed) => {
                self.threads.remove(&tid);
                ptrace::detach(tid, 0)?;
            }
            Report::Executed => self.begin(tid)?,
            Report::JobStopped => {
                let thread = self.thread(tid);
                (thread.parked, thread.stopped) = (true, false);
                ptrace::listen(tid)?;
            }
            Report::Interrupted => {
                self.thread(tid).parked = false;
                self.go_on(tid, 0)?;
            }
            Report::Ended { .. } => {}
        }
        Ok(None)
    }

    fn thread(&mut self, tid: Tid) -> &mut TracedThread {
        self.threads.entry(tid).or_default()
    }

    /// A new program in the process: one thread, new memory.
    fn begin(&mut self, tid: Tid) -> io::Result<()> {
        self.forget_old_program(tid)?;
        if has_rights_of_its_own(self.pid) {
            // Whoever chose the program must not choose where such a one stops.
            self.let_go(StopReason::Entrusted);
        } else if self.code.is_some() {
            self.phase = CountingPhase::Seeking;
            self.seek(tid)?;
        }
        self.go_on(tid, 0)
    }

    /// Forgets the program that was executed over: one thread is left of it.
    fn forget_old_program(&mut self, tid: Tid) -> io::Result<()> {
        self.release_strays()?;
        self.threads.clear();
        self.waiting.clear();
        self.deferred.clear();
        self.breakpoints.clear();
        self.lifted = None;
        self.slide = None;
        self.tally.new_memory();
        *self.thread(tid) =
            TracedThread { stopped: true, inside: self.code.is_none(), ..TracedThread::default() };
        Ok(())
    }

    /// Searches the maps for the function's file, and inserts the first breakpoint.
    fn seek(&mut self, tid: Tid) -> io::Result<()> {
        let (Some(code), Some(file)) = (self.code, &self.file) else { return Ok(()) };
        let maps = tally::maps(self.pid);
        let map = maps.iter().filter(|map| map.executable && file.is_of(map));
        let Some(entry) = map.filter_map(|map| map.address_of(code.entry)).next() else { return Ok(()) };
        self.slide = Some(entry.wrapping_sub(code.entry));
        self.phase = CountingPhase::Counting;
        self.found = true;
        self.set_breakpoint(tid, entry)
    }

    /// Whether an address is counted.
    fn counts(&self, ip: u64) -> bool {
        match (self.code, self.slide) {
            (None, _) => true,
            (Some(code), Some(slide)) => code.has(ip.wrapping_sub(slide)),
            (Some(_), None) => false,
        }
    }

    /// A step is done, a breakpoint was hit, or a process sent a SIGTRAP.
    fn trapped(&mut self, tid: Tid) -> io::Result<()> {
        let ip = registers::ip(tid)?;
        let thread = *self.thread(tid);
        if !thread.inside {
            let place = ip.wrapping_sub(BREAKPOINT_MOVES);
            // SI_KERNEL or TRAP_BRKPT; a signal that a process sent has a code of 0 or below.
            if !self.breakpoints.contains_key(&place) || ptrace::signal_origin(tid)?.0 <= 0 {
                return self.signal(tid, libc::SIGTRAP);
            }
            registers::set_ip(tid, place)?;
            // Breakpoints are only in the function, or at returns to it.
            self.thread(tid).inside = true;
            self.arrive(tid, place)?;
            return self.go_on(tid, 0);
        }
        if let Some((last, kind)) = thread.last {
            let own_breakpoint =
                kind == InstructionKind::Breakpoint && ip == last.wrapping_add(BREAKPOINT_MOVES);
            if (ip == last || own_breakpoint) && ptrace::signal_origin(tid)?.0 <= 0
                || own_breakpoint && !self.breakpoints.contains_key(&last)
            {
                return self.signal(tid, libc::SIGTRAP);
            }
            if kind == InstructionKind::SavesFlags && ip != last {
                // Where its stack cannot be accessed, it could not have pushed either.
                let _ = hide_trap_flag(tid);
            }
            // A SIGTRAP that the call sent to its own thread replaced that of the step.
            if kind == InstructionKind::Syscall && ip != last && ptrace::signal_origin(tid)?.0 <= 0 {
                if self.counts(ip) {
                    self.arrive(tid, ip)?;
                }
                return self.signal(tid, libc::SIGTRAP);
            }
            // Another round of the same instruction, or a restarted system call.
            if ip == last && matches!(kind, InstructionKind::Repeated | InstructionKind::Syscall) {
                return self.go_on(tid, 0);
            }
        }
        if self.counts(ip) {
            self.arrive(tid, ip)?;
        } else {
            self.outside(tid)?;
        }
        self.go_on(tid, 0)
    }

    /// A thread is about to execute the instruction at `ip`.
    fn arrive(&mut self, tid: Tid, ip: u64) -> io::Result<()> {
        let pid = self.pid;
        let breakpoints = &self.breakpoints;
        let kind = self.tally.count(ip, || read_code(tid, ip, breakpoints), || tally::maps(pid));
        let thread = self.thread(tid);
        thread.last = Some((ip, kind));
        if thread.comes_again == Some(ip) {
            thread.comes_again = None;
            self.tally.take_back(ip);
        }
        if kind == InstructionKind::Exclusive {
            self.let_go(StopReason::Unsteppable);
        } else if self.tally.steps >= self.steps_max {
            self.let_go(StopReason::Steps);
        }
        Ok(())
    }

    /// A thread has left the function: after a call, a breakpoint at the return address awaits it.
    fn outside(&mut self, tid: Tid) -> io::Result<()> {
        let thread = self.thread(tid);
        thread.inside = false;
        let last = thread.last.take();
        if matches!(last, Some((_, InstructionKind::Call))) {
            match return_address(tid) {
                Ok(back) if self.counts(back) => self.set_breakpoint(tid, back)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Delivers a signal. When a handler takes it, the interrupted instruction is repeated.
    fn signal(&mut self, tid: Tid, signal: i32) -> io::Result<()> {
        let thread = *self.thread(tid);
        if thread.inside
            && let Some((last, _)) = thread.last
            && is_handled(self.pid, signal)
        {
            // After a system call, the interrupted instruction is the next one, which is not
            // counted yet.
            let ip = registers::ip(tid)?;
            self.thread(tid).last = None;
            if ip == last {
                self.thread(tid).comes_again = Some(ip);
            }
            if self.code.is_some() {
                self.set_breakpoint(tid, ip)?;
            }
        }
        self.go_on(tid, signal)
    }

    /// Resumes a stopped thread, in the way that is due.
    fn go_on(&mut self, tid: Tid, signal: i32) -> io::Result<()> {
        let thread = *self.thread(tid);
        if self.phase == CountingPhase::LettingGo {
            self.clear_once(tid);
            self.threads.remove(&tid);
            return ptrace::detach(tid, signal);
        }
        if self.lifted.is_some() {
            self.deferred.push_back((tid, signal));
            return Ok(());
        }
        if thread.inside
            && let Some((last, kind)) = thread.last
            && self.breakpoints.contains_key(&last)
        {
            self.lift(tid, last, kind)?;
        }
        self.thread(tid).stopped = false;
        match self.phase {
            CountingPhase::Seeking => ptrace::run_to_syscall(tid, signal),
            _ if thread.inside => ptrace::step(tid, signal),
            _ => ptrace::run(tid, signal),
        }
    }

    fn set_breakpoint(&mut self, tid: Tid, address: u64) -> io::Result<()> {
        if let Entry::Vacant(place) = self.breakpoints.entry(address) {
            place.insert(exchange(tid, address, BREAKPOINT)?);
        }
        Ok(())
    }
}
