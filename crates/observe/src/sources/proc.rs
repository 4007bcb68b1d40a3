//! Polls all threads of the tree through `/proc`: the source where events are not available, and
//! the source of wait reasons where events lack them.
//!
//! A snapshot is a sample: what happens between two is not observed. Snapshots are taken every
//! millisecond at first and then less often, so that after the first second they take at most a
//! fiftieth of one CPU; they are at most about 60 ms apart. The interval varies at random by a
//! quarter, so that a periodic program is not always observed in the same phase.
//!
//! It needs no privileges for the user's own programs; `/proc/PID/syscall` may be refused where the
//! rest is not.

mod files;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod objects;
mod pace;
mod parse;

use super::arguments;
use crate::access::more;
use files::{TaskFile, TaskFiles};
use model::coverage::Source;
use model::recording::{FileKind, Object, ThreadSnapshot};
use model::{Call, Event, Ns, Pid, Seen, Tid};
use objects::Objects;
use pace::Pace;
use parse::InCall;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use sys::clock::{monotonic_ns, thread_cpu_ns};

/// The unit of times in `stat`: `USER_HZ` is 100 on all supported architectures.
const TICK_NS: Ns = 10_000_000;
/// The time after which a process's pipes are read again.
const PIPES_EVERY_NS: Ns = 20_000_000;
/// The limit of processes whose pipes are read in one snapshot.
const PIPES_PER_LOOK: usize = 32;
/// Without `children` files the whole of `/proc` must be read to find new processes: at most at
/// this interval.
const SCAN_EVERY_NS: Ns = 20_000_000;

/// Takes snapshots of the trees of some roots.
#[derive(Debug)]
pub(crate) struct Poller {
    proc_root: PathBuf,
    roots: Vec<Pid>,
    own: Pid,
    processes: HashMap<Pid, KnownProcess>,
    files: TaskFiles,
    objects: Objects,
    refused: Refusals,
    scanned_at: Option<Ns>,
    pace: Pace,
}

/// A known process of the tree.
#[derive(Debug, Default)]
struct KnownProcess {
    /// Distinguishes it from a later one with the same PID.
    started: u64,
    pipes: Vec<(u64, bool)>,
    pipes_at: Option<Ns>,
}

/// Files that could not be read, with the system's errors.
#[derive(Debug, Default)]
struct Refusals {
    syscall: Option<String>,
    wchan: Option<String>,
    schedstat: Option<String>,
    no_children_files: bool,
}

impl Poller {
    /// For the trees of `roots`. Reads nothing yet.
    pub(crate) fn start(roots: &[Pid]) -> Self {
        Self::with_root(Path::new("/proc"), roots)
    }

    /// The same with another `/proc`.
    pub(crate) fn with_root(proc_root: &Path, roots: &[Pid]) -> Self {
        Self {
            proc_root: proc_root.to_owned(),
            roots: roots.to_vec(),
            own: std::process::id(),
            processes: HashMap::new(),
            files: TaskFiles::new(proc_root),
            objects: Objects::default(),
            refused: Refusals::default(),
            scanned_at: None,
            pace: Pace::new(u64::from(roots.first().copied().unwrap_or_default())),
        }
    }

    /// The current nominal interval between snapshots.
    pub(crate) fn period(&self) -> Ns {
        self.pace.period()
    }

    /// When the next snapshot is due, `CLOCK_MONOTONIC`.
    pub(crate) fn due(&self) -> Ns {
        self.pace.due()
    }

    /// A snapshot of all threads of the tree; none when the roots have exited.
    pub(crate) fn look(&mut self) -> Option<Event> {
        let look = self.look_at_living();
        let lives = matches!(&look, Event::Look { threads, .. }
            if threads.iter().any(|thread| self.roots.contains(&thread.pid)));
        lives.then_some(look)
    }

    /// A snapshot of all threads of the trees, even if their roots have exited. A root that has
    /// exited is dropped: its PID may be reused.
    pub(crate) fn look_on(&mut self) -> Event {
        let look = self.look_at_living();
        self.roots.retain(|pid| self.processes.contains_key(pid));
        look
    }

    fn look_at_living(&mut self) -> Event {
        let at = monotonic_ns();
        let cpu_before = thread_cpu_ns();
        let mut threads = Vec::new();
        self.tree(at, &mut threads);
        self.add_pipes(at, &mut threads);
        let took = thread_cpu_ns().saturating_sub(cpu_before);
        self.pace.adapt(at, took);
        Event::Look { at, threads }
    }

    /// What the last snapshots told of objects beside: it goes before them.
    pub(crate) fn take_news(&mut self) -> Vec<Event> {
        self.objects.take_news()
    }

    /// What snapshots observe, and what would give more.
    pub(crate) fn sources(&self) -> Vec<Source> {
        let mut calls = "calls are not counted or timed from outside; the call of a thread that is seen to wait is read from \
                         /proc/PID/syscall"
            .to_owned();
        for (what, said) in [("syscall", &self.refused.syscall), ("wchan", &self.refused.wchan)] {
            if let Some(said) = said {
                calls += &format!("; reading /proc/PID/{what}: {said}");
            }
        }
        let mut faults = "each thread's own counters as of its last snapshot".to_owned();
        if let Some(said) = &self.refused.schedstat {
            faults += &format!("; time spent runnable is not known: reading /proc/PID/schedstat: {said}");
        }
        let objects =
            "a wait's file, pipe or peer is the first argument of the call, if a snapshot has it; polls and \
                       local sockets' other ends are not told apart"
                .to_owned();
        [("calls", calls), ("faults", faults), ("objects", objects)]
            .map(|(name, why)| Source::partial(name, why, more()))
            .into()
    }

    /// Walks from the roots to their descendants, and to known processes that have been reparented
    /// since.
    fn tree(&mut self, at: Ns, threads: &mut Vec<ThreadSnapshot>) {
        let mut visited = HashSet::new();
        let mut queue = self.roots.clone();
        self.walk(&mut queue, &mut visited, threads, at);
        if self.refused.no_children_files && self.scanned_at.is_none_or(|last| at - last >= SCAN_EVERY_NS) {
            self.scanned_at = Some(at);
            queue = self.descendants();
            self.walk(&mut queue, &mut visited, threads, at);
        }
        queue = self.processes.keys().filter(|pid| !visited.contains(pid)).copied().collect();
        self.walk(&mut queue, &mut visited, threads, at);
        let seen: HashSet<Tid> = threads.iter().map(|thread| thread.tid).collect();
        self.files.retain(&seen);
        self.processes.retain(|pid, _| seen.contains(pid));
    }

    fn walk(
        &mut self,
        queue: &mut Vec<Pid>,
        visited: &mut HashSet<Pid>,
        threads: &mut Vec<ThreadSnapshot>,
        at: Ns,
    ) {
        while let Some(pid) = queue.pop() {
            if visited.insert(pid) {
                self.process(pid, at, queue, threads);
            }
        }
    }

    /// One process: its threads into `threads`, its children onto `queue`.
    fn process(&mut self, pid: Pid, at: Ns, queue: &mut Vec<Pid>, threads: &mut Vec<ThreadSnapshot>) {
        // dwell itself, for example as a child of an observed shell.
        if pid == self.own {
            return;
        }
        let Some(leader) = self.stat(pid, pid) else { return };
        let known = self.processes.entry(pid).or_default();
        if known.started == 0 {
            known.started = leader.started;
        } else if known.started != leader.started {
            // Another process by now, not of the tree unless the next snapshot finds it through a
            // parent.
            self.processes.remove(&pid);
            return;
        }
        let several = leader.threads > 1;
        threads.push(self.thread(pid, pid, leader, at));
        self.children(pid, pid, queue);
        if !several {
            return;
        }
        for tid in self.others(pid) {
            if let Some(stat) = self.stat(pid, tid) {
                threads.push(self.thread(pid, tid, stat, at));
                self.children(pid, tid, queue);
            }
        }
    }

    /// The threads of a process without the group leader.
    fn others(&self, pid: Pid) -> Vec<Tid> {
        numbers_in(&self.proc_root.join(format!("{pid}/task")))
            .into_iter()
            .filter(|tid| *tid != pid)
            .collect()
    }

    fn thread(&mut self, pid: Pid, tid: Tid, stat: parse::Stat, at: Ns) -> ThreadSnapshot {
        let mut buffer = [0; 256];
        let waits = matches!(stat.state, b'S' | b'D');
        let times = match self.files.read(pid, tid, TaskFile::Schedstat, &mut buffer) {
            Ok(text) => parse::schedstat(text).ok_or_else(|| "unreadable".to_owned()),
            Err(error) => Err(refuse(&mut self.refused.schedstat, &error)),
        };
        let (cpu_ns, runqueue_ns) = match times {
            Ok((cpu, runqueue)) => (Seen::Value(cpu), Seen::Value(runqueue)),
            Err(why) => (Seen::Unseen(why.clone()), Seen::Unseen(why)),
        };
        let (call, on) = if waits { self.call(pid, tid, at) } else { (Seen::Absent, Object::Unknown) };
        let wchan = match waits.then(|| self.files.read(pid, tid, TaskFile::Wchan, &mut buffer)) {
            None | Some(Ok(b"0" | b"")) => Seen::Absent,
            Some(Ok(text)) => Seen::Value(String::from_utf8_lossy(text).trim_end().to_owned()),
            Some(Err(error)) => Seen::Unseen(refuse(&mut self.refused.wchan, &error)),
        };
        ThreadSnapshot {
            tid,
            pid,
            parent: stat.parent,
            name: stat.name,
            state: stat.state,
            call,
            on,
            wchan,
            cpu_ns,
            runqueue_ns,
            user_ns: stat.user_ticks * TICK_NS,
            kernel_ns: stat.kernel_ticks * TICK_NS,
            minor_faults: stat.minor_faults,
            major_faults: stat.major_faults,
            pipes: Vec::new(),
        }
    }

    /// The call in which a thread waits, and the kind of its first argument.
    fn call(&mut self, pid: Pid, tid: Tid, at: Ns) -> (Seen<Call>, Object) {
        let mut buffer = [0; 256];
        let text = match self.files.read(pid, tid, TaskFile::Syscall, &mut buffer) {
            Ok(text) => text,
            Err(error) => return (Seen::Unseen(refuse(&mut self.refused.syscall, &error)), Object::Unknown),
        };
        let (number, first, compat) = match parse::syscall(text) {
            Some(InCall::Call { number, first, compat }) => (number, first, compat),
            Some(InCall::OfKernel) => {
                return (Seen::unseen("threads of the kernel make no calls"), Object::Unknown);
            }
            Some(InCall::Running | InCall::None) | None => return (Seen::Absent, Object::Unknown),
        };
        if compat {
            return (Seen::Value(Call(number | Call::COMPAT)), Object::Unknown);
        }
        let on = match i64::from(number) {
            libc::SYS_futex => Object::Futex { address: first },
            _ if arguments::is_descriptor(usize::from(number)) => {
                self.objects.of(&self.proc_root, pid, first, at)
            }
            _ => Object::Unknown,
        };
        (Seen::Value(Call(number)), on)
    }

    fn stat(&mut self, pid: Pid, tid: Tid) -> Option<parse::Stat> {
        let mut buffer = [0; 1024];
        self.files.read(pid, tid, TaskFile::Stat, &mut buffer).ok().and_then(parse::stat)
    }

    fn children(&mut self, pid: Pid, tid: Tid, queue: &mut Vec<Pid>) {
        // Room for some 600 children; for more, reading continues.
        let mut buffer = [0; 4096];
        match self.files.read(pid, tid, TaskFile::Children, &mut buffer) {
            Ok(text) if text.len() == 4096 => {
                let path = self.proc_root.join(format!("{pid}/task/{tid}/children"));
                queue.extend(parse::ids(&fs::read(path).unwrap_or_default()));
            }
            Ok(text) => queue.extend(parse::ids(text)),
            // The thread's other files exist, this one does not: a kernel without
            // CONFIG_PROC_CHILDREN. (For one that has just exited, the error is ESRCH, or it is
            // missing the next time.)
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let still_there = self.proc_root.join(format!("{pid}/task/{tid}/stat")).exists();
                self.refused.no_children_files |= still_there;
            }
            Err(_) => {}
        }
    }

    /// Descendants of the roots by their parents' PIDs, from all of `/proc`.
    fn descendants(&self) -> Vec<Pid> {
        let parents: Vec<(Pid, Pid)> = numbers_in(&self.proc_root)
            .into_iter()
            .filter_map(|pid| {
                let text = fs::read(self.proc_root.join(format!("{pid}/stat"))).ok()?;
                Some((pid, parse::stat(&text)?.parent))
            })
            .collect();
        let mut found = self.roots.clone();
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            found.extend(parents.iter().filter(|(_, its)| *its == parent).map(|(pid, _)| *pid));
            next += 1;
        }
        found
    }

    /// While a thread waits on a pipe, lists which processes have which pipes.
    fn add_pipes(&mut self, at: Ns, threads: &mut [ThreadSnapshot]) {
        let on_pipe =
            |thread: &ThreadSnapshot| matches!(thread.on, Object::File { kind: FileKind::Pipe, .. });
        if !threads.iter().any(on_pipe) {
            return;
        }
        let mut left = PIPES_PER_LOOK;
        for leader in threads.iter_mut().filter(|thread| thread.tid == thread.pid && thread.state != b'Z') {
            let Some(process) = self.processes.get_mut(&leader.pid) else { continue };
            let stale = process.pipes_at.is_none_or(|last| at.saturating_sub(last) >= PIPES_EVERY_NS);
            if stale && left > 0 {
                left -= 1;
                process.pipes_at = Some(at);
                process.pipes = objects::pipes(&self.proc_root, leader.pid);
            }
            leader.pipes.clone_from(&process.pipes);
        }
    }
}

/// Stores the first error of the system, and returns it.
fn refuse(said: &mut Option<String>, error: &io::Error) -> String {
    let text = error.to_string();
    // A thread that has just exited is not a refusal.
    if error.raw_os_error() != Some(libc::ESRCH) {
        said.get_or_insert_with(|| text.clone());
    }
    text
}

fn numbers_in(dir: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    /// A program that is killed and reaped at the end of the test.
    struct Running(Child);

    impl Running {
        fn shell(script: &str) -> Self {
            let mut command = Command::new("sh");
            Self(command.args(["-c", script]).stdin(Stdio::null()).process_group(0).spawn().unwrap())
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            let group = rustix::process::Pid::from_child(&self.0);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = self.0.wait();
        }
    }

    /// Takes snapshots until `found` returns true, for two seconds at most.
    fn look_until(looker: &mut Poller, found: impl Fn(&[ThreadSnapshot]) -> bool) -> Vec<ThreadSnapshot> {
        let mut last = Vec::new();
        for _ in 0..400 {
            if let Some(Event::Look { threads, .. }) = looker.look() {
                if found(&threads) {
                    return threads;
                }
                last = threads;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        panic!("not seen in two seconds; last: {last:#?}");
    }

    fn named<'a>(threads: &'a [ThreadSnapshot], name: &str) -> Option<&'a ThreadSnapshot> {
        threads.iter().find(|thread| thread.name.to_text() == name)
    }

    #[test]
    fn a_pipeline_is_seen_with_its_waits_and_who_has_the_pipe() {
        let program = Running::shell("sleep 30 | cat; true");
        let mut looker = Poller::start(&[program.0.id()]);
        let threads = look_until(&mut looker, |threads| {
            let waits = |name| named(threads, name).is_some_and(|thread| thread.call.value().is_some());
            waits("sleep") && waits("cat") && waits("sh")
        });
        let (sh, sleep, cat) = (named(&threads, "sh"), named(&threads, "sleep"), named(&threads, "cat"));
        let (sh, sleep, cat) = (sh.unwrap(), sleep.unwrap(), cat.unwrap());
        assert_eq!((sleep.parent, cat.parent), (sh.pid, sh.pid));
        assert_eq!(sleep.call, Seen::Value(Call(libc::SYS_clock_nanosleep as u16)));
        assert_eq!(sh.call, Seen::Value(Call(libc::SYS_wait4 as u16)));
        let Object::File { kind: FileKind::Pipe, ino, .. } = cat.on else {
            panic!("cat waits on {:?}", cat.on)
        };
        assert!(sleep.pipes.contains(&(ino, true)), "{:?}", sleep.pipes);
        assert!(cat.pipes.contains(&(ino, false)), "{:?}", cat.pipes);
    }

    #[test]
    fn a_child_whose_parent_died_is_followed_on() {
        let program = Running::shell("(sleep 30 & exec sleep 0.1); sleep 29");
        let mut looker = Poller::start(&[program.0.id()]);
        let asleep =
            |threads: &[ThreadSnapshot]| threads.iter().filter(|t| t.name.to_text() == "sleep").count();
        look_until(&mut looker, |threads| asleep(threads) == 2 && threads.len() == 3);
        let root = program.0.id();
        // The short sleep has ended; of the two left, one has been reparented.
        let orphaned = |threads: &[ThreadSnapshot], t: &ThreadSnapshot| {
            t.pid != root && threads.iter().all(|p| p.pid != t.parent)
        };
        look_until(&mut looker, |threads| {
            asleep(threads) == 2 && threads.iter().any(|t| orphaned(threads, t))
        });
    }

    #[test]
    fn without_children_files_the_tree_is_found_by_parents() {
        let program = Running::shell("sleep 30; true");
        let mut looker = Poller::start(&[program.0.id()]);
        looker.refused.no_children_files = true;
        let mut seen = look_until(&mut looker, |threads| named(threads, "sleep").is_some());
        seen.sort_by_key(|thread| thread.parent != program.0.id());
        assert_eq!(looker.descendants().len(), 2);
        assert_eq!(seen[0].name.to_text(), "sleep");
    }

    #[test]
    fn a_root_that_is_gone_gives_no_look() {
        let mut program = Running::shell("exit 0");
        program.0.wait().unwrap();
        assert_eq!(Poller::start(&[program.0.id()]).look(), None);
    }

    #[test]
    fn several_roots_are_looked_at_and_one_that_is_gone_is_none_any_more() {
        let (one, mut other) = (Running::shell("sleep 30; true"), Running::shell("sleep 29; true"));
        let mut looker = Poller::start(&[one.0.id(), other.0.id()]);
        let asleep =
            |threads: &[ThreadSnapshot]| threads.iter().filter(|t| t.name.to_text() == "sleep").count();
        look_until(&mut looker, |threads| asleep(threads) == 2 && threads.len() == 4);
        let group = rustix::process::Pid::from_child(&other.0);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        other.0.wait().unwrap();
        let Event::Look { threads, .. } = looker.look_on() else { unreachable!() };
        assert!(threads.iter().any(|thread| thread.pid == one.0.id()));
        assert_eq!(looker.roots, [one.0.id()]);
    }

    #[test]
    fn a_kept_proc_is_read_like_a_live_one() {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/proc-futex");
        let mut looker = Poller::with_root(&kept, &[900]);
        let Some(Event::Look { threads, .. }) = looker.look() else { panic!("nothing seen") };
        assert_eq!(threads.len(), 3, "{threads:#?}");
        let find = |tid| threads.iter().find(|thread| thread.tid == tid).unwrap();
        assert_eq!((find(900).state, find(901).state, find(950).state), (b'S', b'R', b'D'));
        assert_eq!(find(900).wchan, Seen::Value("futex_do_wait".to_owned()));
        assert_eq!(find(901).cpu_ns, Seen::Value(123_456_789));
        assert_eq!(find(901).user_ns, 1_200_000_000);
        assert_eq!((find(950).parent, find(950).call.clone()), (900, Seen::Absent));
        #[cfg(target_arch = "x86_64")]
        assert_eq!(find(900).on, Object::Futex { address: 0x7f00_1234 });
    }
}
