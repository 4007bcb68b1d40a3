//! Which threads of the tree live, followed from the events, and what the kernel counted of them so far.

use model::recording::{Counters, Left};
use model::{Event, Pid, Tid};
use rustc_hash::FxHashMap;
use std::fs;
use std::path::Path;

/// The tree's living threads.
#[derive(Debug, Default)]
pub(crate) struct Living {
    threads: FxHashMap<Tid, Pid>,
    root: Pid,
    of_root: u32,
    started: bool,
    /// Whether the last look from outside found any alive; none where there are no looks.
    looked: Option<bool>,
}

impl Living {
    pub(crate) fn new(root: Pid) -> Self {
        Self { root, ..Self::default() }
    }

    /// Takes note of births and deaths.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Start { tid, .. } => self.born(*tid, self.root),
            Event::Fork { child, pid, .. } => self.born(*child, *pid),
            Event::Alive { tid, pid, .. } => self.born(*tid, *pid),
            Event::Switch { out: Some(out), .. }
                if matches!(out.left, Left::Dead(_)) && self.threads.remove(&out.tid) == Some(self.root) =>
            {
                self.of_root -= 1;
            }
            Event::Exec { tid, old_tid, pid, .. }
                if tid != old_tid && self.threads.remove(old_tid).is_some() =>
            {
                self.threads.insert(*tid, *pid);
            }
            Event::Look { threads, .. } => {
                self.looked = Some(threads.iter().any(|thread| !matches!(thread.state, b'Z' | b'X')));
            }
            _ => {}
        }
    }

    fn born(&mut self, tid: Tid, pid: Pid) {
        self.started = true;
        if self.threads.insert(tid, pid).is_none() && pid == self.root {
            self.of_root += 1;
        }
    }

    /// Whether the root's last thread was seen to go.
    pub(crate) fn root_is_gone(&self) -> bool {
        self.started && self.of_root == 0
    }

    /// Whether threads were seen, and all of them were seen to go.
    pub(crate) fn all_are_gone(&self) -> bool {
        self.looked.map_or(self.started && self.threads.is_empty(), |lives| !lives)
    }

    /// What the kernel counted of those that live, from `proc` (the mounted `/proc`).
    pub(crate) fn counters(&self, proc: &Path) -> Vec<(Tid, Counters)> {
        let mut all: Vec<_> = self.threads.iter().map(|(tid, pid)| (*pid, *tid)).collect();
        all.sort_unstable();
        all.into_iter().filter_map(|(pid, tid)| Some((tid, counters(proc, pid, tid)?))).collect()
    }
}

/// proc(5): fields 10 and 12 of `stat` are faults; `schedstat` is time on a CPU and in the run queue.
fn counters(proc: &Path, pid: Pid, tid: Tid) -> Option<Counters> {
    let dir = proc.join(pid.to_string()).join("task").join(tid.to_string());
    let stat = fs::read_to_string(dir.join("stat")).ok()?;
    // The name may contain anything, also parentheses: fields are counted from the last one.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse().ok());
    let schedstat = fs::read_to_string(dir.join("schedstat")).unwrap_or_default();
    let mut schedstat = schedstat.split_whitespace().map(|text| text.parse().unwrap_or(0));
    Some(Counters {
        minor_faults: field(10)?,
        major_faults: field(12)?,
        cpu_ns: schedstat.next().unwrap_or(0),
        runqueue_ns: schedstat.next().unwrap_or(0),
        ..Counters::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::recording::{Calls, Out};

    #[test]
    fn the_root_is_gone_when_its_last_thread_is() {
        let mut living = Living::new(7);
        let dies = |tid| Event::Switch {
            at: 9,
            cpu: 0,
            out: Some(Out { tid, left: Left::Dead(Counters::default()), calls: Calls::new() }),
            into: None,
        };
        assert!(!living.root_is_gone(), "nothing was seen yet");
        living.event(&Event::Start { at: 1, tid: 7 });
        let name = "x".into();
        living.event(&Event::Fork { at: 2, tid: 7, child: 8, pid: 7, name, calls: Calls::new() });
        living.event(&Event::Fork { at: 2, tid: 7, child: 9, pid: 9, name, calls: Calls::new() });
        living.event(&dies(7));
        assert!(!living.root_is_gone());
        living.event(&dies(8));
        assert!(living.root_is_gone(), "9 is another process");
    }

    #[test]
    fn counters_of_a_living_thread_are_read() {
        let me = std::process::id();
        let counters = counters(Path::new("/proc"), me, me).unwrap();
        assert!(counters.minor_faults > 0 && counters.cpu_ns > 0);
    }
}
