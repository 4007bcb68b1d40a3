//! The table of the threads of the tree, with their processes and CPU time.
//!
//! Each source adds each event to its table once, before it emits the event. Others look up threads
//! here. `stacks/faults.rs` and `analyse` know what threads wait for.

use model::recording::{Counters, SwitchOutState};
use model::{Event, Ns, Pid, Tid};
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Threads that one CPU reads one after another.
const BATCH: usize = 512;

/// The tree's threads.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    threads: FxHashMap<Tid, ThreadEntry>,
    /// Processes that have not exited.
    processes: FxHashSet<Pid>,
    /// CPUs on which a thread of the tree runs, and since when.
    running: FxHashMap<u32, Ns>,
    /// CPU time of the intervals that have ended.
    busy_ns: Ns,
    root: Pid,
    of_root: u32,
    started: bool,
    /// Whether the last snapshot found any alive; none where there are no snapshots.
    polled: Option<bool>,
    /// The processes that it found.
    looked: Vec<Pid>,
}

#[derive(Debug, Clone, Copy)]
struct ThreadEntry {
    pid: Pid,
    /// An event has reported it.
    reported: bool,
}

impl Threads {
    /// A table for the tree of this process; 0 where no process is its root.
    pub(crate) fn new(root: Pid) -> Self {
        Self { root, ..Self::default() }
    }

    /// A running process, with threads that no event will report.
    pub(crate) fn lives(&mut self, pid: Pid, threads: &[Tid]) {
        self.processes.insert(pid);
        self.threads.extend(threads.iter().map(|tid| (*tid, ThreadEntry { pid, reported: false })));
    }

    /// Adds one event.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Switch { at, cpu, out, into } => {
                if let Some(since) = self.running.remove(cpu).filter(|_| out.is_some()) {
                    self.busy_ns += at.saturating_sub(since);
                }
                if into.is_some() {
                    self.running.insert(*cpu, *at);
                }
                if let Some(out) = out.as_ref().filter(|out| matches!(out.left, SwitchOutState::Dead(_))) {
                    self.remove(out.tid);
                }
            }
            Event::Start { tid, .. } => {
                self.processes.insert(*tid);
                self.add_thread(*tid, self.root);
            }
            Event::Fork { child, pid, .. } => {
                if child == pid {
                    self.processes.insert(*pid);
                }
                self.add_thread(*child, *pid);
            }
            Event::Alive { tid, pid, .. } => {
                self.processes.insert(*pid);
                self.add_thread(*tid, *pid);
            }
            Event::Exec { tid, old_tid, pid, .. } => {
                self.processes.insert(*pid);
                if tid != old_tid && self.threads.remove(old_tid).is_some() {
                    self.threads.insert(*tid, ThreadEntry { pid: *pid, reported: true });
                }
            }
            Event::Exit { tid, last: true, .. } => {
                self.processes.remove(&self.pid_of(*tid));
            }
            Event::Look { threads, .. } => {
                self.polled = Some(threads.iter().any(|thread| !matches!(thread.state, b'Z' | b'X')));
                self.looked.clear();
                self.looked.extend(threads.iter().map(|thread| thread.pid));
            }
            _ => {}
        }
    }

    fn add_thread(&mut self, tid: Tid, pid: Pid) {
        self.started = true;
        if self.threads.insert(tid, ThreadEntry { pid, reported: true }).is_none() && pid == self.root {
            self.of_root += 1;
        }
    }

    fn remove(&mut self, tid: Tid) {
        if self.threads.remove(&tid).is_some_and(|thread| thread.pid == self.root) {
            self.of_root -= 1;
        }
    }

    /// The process of a thread. An unknown one is assumed to be a group leader.
    pub(crate) fn pid_of(&self, tid: Tid) -> Pid {
        self.threads.get(&tid).map_or(tid, |thread| thread.pid)
    }

    /// Whether a process is of the tree and has not exited.
    pub(crate) fn has_process(&self, pid: Pid) -> bool {
        self.processes.contains(&pid)
    }

    /// As [`Self::has_process`], and the root also before its first event.
    pub(crate) fn expects_process(&self, pid: Pid) -> bool {
        self.has_process(pid) || !self.started && pid == self.root
    }

    /// The tree's CPU time up to a moment that the events have reached.
    pub(crate) fn busy_until(&self, at: Ns) -> Ns {
        self.busy_ns + self.running.values().map(|since| at.saturating_sub(*since)).sum::<Ns>()
    }

    /// Whether the root's last thread has been switched out for good.
    pub(crate) fn root_is_gone(&self) -> bool {
        self.started && self.of_root == 0
    }

    /// Whether there were threads and all have exited.
    pub(crate) fn all_are_gone(&self) -> bool {
        self.polled.map_or(self.started && self.threads.is_empty(), |lives| !lives)
    }

    /// The kernel's counters of living threads, from `proc` (the mounted `/proc`).
    pub(crate) fn counters(&self, proc: &Path) -> Vec<(Tid, Counters)> {
        let reported = self.threads.iter().filter(|(_, thread)| thread.reported);
        let mut all: Vec<_> = reported.map(|(tid, thread)| (thread.pid, *tid)).collect();
        all.sort_unstable();
        let batches: Vec<&[(Pid, Tid)]> = all.chunks(BATCH).collect();
        code::parallel::map(&batches, |batch| counters_of(proc, batch)).into_iter().flatten().collect()
    }

    /// The processes that live, as far as is known.
    pub(crate) fn living(&self) -> Vec<Pid> {
        let mut all: Vec<Pid> = self.processes.iter().chain(&self.looked).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The largest resident set so far of each living process, from `proc`.
    pub(crate) fn peaks(&self, proc: &Path) -> Vec<(Pid, u64)> {
        self.living()
            .into_iter()
            .filter_map(|pid| Some((pid, host::own::memory_peak_of(proc, pid)?)))
            .collect()
    }
}

/// The counters of some threads. Processes are opened once each, and files read at once: of ten
/// thousand threads the way to each file takes longer than the file.
fn counters_of(proc: &Path, threads: &[(Pid, Tid)]) -> Vec<(Tid, Counters)> {
    let mut buffer = [0; LONGEST];
    let mut all = Vec::new();
    for process in threads.chunk_by(|(a, _), (b, _)| a == b) {
        let tasks = proc.join(process[0].0.to_string()).join("task");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(tasks) = openat(CWD, &tasks, flags, Mode::empty()) else { continue };
        all.extend(process.iter().filter_map(|(_, tid)| Some((*tid, counters(&tasks, *tid, &mut buffer)?))));
    }
    all
}

/// Longer than any line of `stat`.
const LONGEST: usize = 4096;

/// proc(5): fields 10 and 12 of `stat` are faults; `schedstat` has the time on a CPU and in the run
/// queue. `tasks`: the directory of the process's threads.
fn counters(tasks: &OwnedFd, tid: Tid, buffer: &mut [u8; LONGEST]) -> Option<Counters> {
    // The name may contain anything, also parentheses: fields are counted from the last one.
    let stat = content(tasks, &format!("{tid}/stat"), buffer)?;
    let fields = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    let fields: Vec<&str> = str::from_utf8(fields).ok()?.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse().ok());
    let (minor_faults, major_faults) = (field(10)?, field(12)?);
    let schedstat = content(tasks, &format!("{tid}/schedstat"), buffer).unwrap_or_default();
    let mut schedstat = str::from_utf8(schedstat).unwrap_or_default().split_whitespace();
    let mut next = || schedstat.next().and_then(|text| text.parse().ok()).unwrap_or(0);
    Some(Counters { minor_faults, major_faults, cpu_ns: next(), runqueue_ns: next(), ..Counters::default() })
}

/// What a small file of the kernel says.
fn content<'a>(directory: &OwnedFd, name: &str, buffer: &'a mut [u8; LONGEST]) -> Option<&'a [u8]> {
    let file = openat(directory, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let length = rustix::io::read(&file, &mut buffer[..]).ok()?;
    Some(&buffer[..length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::recording::{Calls, SwitchIn, SwitchOut};

    fn leaves(at: Ns, cpu: u32, tid: Tid, left: SwitchOutState) -> Event {
        Event::Switch { at, cpu, out: Some(SwitchOut { tid, left, calls: Calls::new() }), into: None }
    }

    fn comes(at: Ns, cpu: u32, tid: Tid) -> Event {
        Event::Switch { at, cpu, out: None, into: Some(SwitchIn { tid, ran: None, throttled_ns: 0 }) }
    }

    fn fork(tid: Tid, child: Tid, pid: Pid) -> Event {
        Event::Fork { at: 2, tid, child, pid, name: "x".into(), calls: Calls::new() }
    }

    #[test]
    fn the_root_is_gone_when_its_last_thread_is() {
        let mut threads = Threads::new(7);
        let dies = |tid| leaves(9, 0, tid, SwitchOutState::Dead(Counters::default()));
        assert!(!threads.root_is_gone(), "nothing was seen yet");
        threads.event(&Event::Start { at: 1, tid: 7 });
        threads.event(&fork(7, 8, 7));
        threads.event(&fork(7, 9, 9));
        threads.event(&dies(7));
        assert!(!threads.root_is_gone());
        threads.event(&dies(8));
        assert!(threads.root_is_gone(), "9 is another process");
        assert!(!threads.all_are_gone());
        threads.event(&dies(9));
        assert!(threads.all_are_gone());
    }

    #[test]
    fn a_thread_is_of_its_process_until_that_exits() {
        let mut threads = Threads::new(7);
        threads.event(&Event::Start { at: 1, tid: 7 });
        threads.event(&fork(7, 8, 7));
        threads.lives(20, &[20, 21]);
        assert_eq!([7, 8, 20, 21, 99].map(|tid| threads.pid_of(tid)), [7, 7, 20, 20, 99]);
        assert!(threads.has_process(7) && threads.has_process(20) && !threads.has_process(8));
        let exit = |tid, last| Event::Exit { at: 3, tid, status: 0, last, calls: Calls::new() };
        threads.event(&exit(7, false));
        assert!(threads.has_process(7));
        threads.event(&exit(8, true));
        assert!(!threads.has_process(7));
    }

    #[test]
    fn time_between_coming_and_leaving_adds_up_and_what_runs_counts_up_to_now() {
        let mut threads = Threads::default();
        for event in [comes(10, 0, 2), comes(15, 1, 2), leaves(30, 0, 1, SwitchOutState::Runnable)] {
            threads.event(&event);
        }
        assert_eq!((threads.busy_until(30), threads.busy_until(40)), (35, 45));
        let out = Some(SwitchOut { tid: 1, left: SwitchOutState::Runnable, calls: Calls::new() });
        let into = Some(SwitchIn { tid: 2, ran: None, throttled_ns: 0 });
        threads.event(&Event::Switch { at: 50, cpu: 1, out, into });
        assert_eq!(threads.busy_until(60), 65);
    }

    #[test]
    fn counters_of_a_living_thread_are_read() {
        let me = std::process::id();
        let mut threads = Threads::new(me);
        threads.lives(me, &[me]);
        assert_eq!(threads.counters(Path::new("/proc")), []);
        threads.event(&Event::Start { at: 1, tid: me });
        let counters = threads.counters(Path::new("/proc"));
        let [(tid, counters)] = counters[..] else { panic!("{counters:?}") };
        assert!(tid == me && counters.minor_faults > 0 && counters.cpu_ns > 0);
    }
}
