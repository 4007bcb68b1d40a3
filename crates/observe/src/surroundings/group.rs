//! The control group of the program: its limits, those of the groups above it, and their counters.
//!
//! Which of several limits counts is decided here, since only that one's counters are read each
//! time: the tightest. What a group's files say is up to [`controllers`]; whether a limit was a
//! cause of anything, to `analyse`.
//!
//! The program's group is that of its first process. Where another one is in a group with less
//! memory ([`others`]), that limit counts: what does not fit is read again, whoever started it. A
//! CPU quota of other processes does not: it would be taken for what all of the program may use.

mod controllers;
mod others;

use controllers::{Hierarchy, Limited, is_of_a_dead_one};
use host::Roots;
use model::limits::ControlGroup;
use model::{CpuList, Event, Ns, Pid, Seen};
use others::Others;
use std::path::PathBuf;

/// Limits are searched for anew once in this many looks: they are seldom changed.
const ANEW: u32 = 10;

/// The directory of the outermost control group above this process that has a CPU quota, and that
/// has a group above it.
///
/// # Errors
/// There is none, or it is the outermost that can be seen: a sentence without a full stop.
pub(super) fn outermost_quota(roots: Roots<'_>) -> Result<PathBuf, String> {
    let groups = host::text(&roots.proc.join("self/cgroup")).map_err(|error| error.to_string())?;
    let hierarchy = Hierarchy::of(roots.sys, &groups, "cpu")?;
    match hierarchy.outermost_quota()? {
        Some(directory) if hierarchy.is_top(&directory) => {
            Err("the group with the quota is the outermost that can be seen from here".to_owned())
        }
        Some(directory) => Ok(directory),
        None => {
            Err("no group that dwell itself is in has a quota: the program entered one by itself".to_owned())
        }
    }
}

/// The group that is looked at.
#[derive(Debug)]
pub(super) struct Group {
    process: PathBuf,
    sys: PathBuf,
    /// `/proc/PID/cgroup` at the last look.
    groups: Result<String, String>,
    looks: u32,
    cpu: Seen<Limited>,
    memory: Seen<Limited>,
    others: Others,
    told: Option<ControlGroup>,
    refaulted_bytes: Option<u64>,
}

impl Group {
    pub(super) fn new(roots: Roots<'_>, pid: Pid) -> Self {
        Self {
            process: roots.proc.join(pid.to_string()),
            sys: roots.sys.to_owned(),
            groups: Err(String::new()),
            looks: 0,
            cpu: Seen::Absent,
            memory: Seen::Absent,
            others: Others::new(roots, pid),
            told: None,
            refaulted_bytes: None,
        }
    }

    /// The group and its counters, unless they are as they were told before. `living` are the
    /// processes of the program, in order.
    pub(super) fn look(&mut self, at: Ns, living: &[Pid]) -> Option<Event> {
        let (moved, alive) = self.find();
        // The group of a program that has ended may be removed, and those above it are not its own.
        if moved || alive && self.looks.is_multiple_of(ANEW) {
            self.cpu = self.limited("cpu");
            self.memory = self.limited("memory");
        }
        let other = self.others.look(living, self.memory.value(), self.looks.is_multiple_of(ANEW));
        if moved || other {
            self.refaulted_bytes = None;
        }
        self.looks += 1;
        let before = self.told.as_ref();
        let memory = self.others.tightest().map_or_else(|| self.memory.as_ref(), Seen::Value);
        let group = ControlGroup {
            path: self.path(),
            cpu: self.cpu.as_ref().and_then(|of| host::seen(of.quota())),
            memory: memory.and_then(|of| host::seen(of.memory())),
            cpus_allowed: self.cpus_allowed(),
        };
        // A group that is removed with its last process keeps what it had.
        let group = match before {
            Some(before) if !moved => ControlGroup {
                cpu: or_before(group.cpu, &before.cpu),
                memory: if other { group.memory } else { or_before(group.memory, &before.memory) },
                cpus_allowed: or_before(group.cpus_allowed, &before.cpus_allowed),
                path: group.path,
            },
            _ => group,
        };
        (before != Some(&group)).then(|| {
            self.told = Some(group.clone());
            Event::Group { at, group: Box::new(group) }
        })
    }

    /// Refaults of the group with the memory limit, unless they are as they were told before. After
    /// [`Self::look`]. None where the kernel does not count them.
    pub(super) fn refaults(&mut self, at: Ns) -> Option<Event> {
        let limited = self.others.tightest().or_else(|| self.memory.value())?;
        let bytes = limited.refaulted_bytes().ok()?;
        (self.refaulted_bytes.replace(bytes) != Some(bytes)).then_some(Event::Refaults { at, bytes })
    }

    /// Reads in which groups the program is; gives whether they are others than before, and whether
    /// it is still there.
    fn find(&mut self) -> (bool, bool) {
        let now = host::text(&self.process.join("cgroup")).map_err(|error| error.to_string());
        let gone = now.as_ref().map_or(true, |text| is_of_a_dead_one(text));
        let changed = now != self.groups && (self.looks == 0 || !gone);
        if changed {
            self.groups = now;
        }
        (changed, !gone)
    }

    fn hierarchy(&self, controller: &str) -> Result<Hierarchy, String> {
        Hierarchy::of(&self.sys, self.groups.as_ref().map_err(Clone::clone)?, controller)
    }

    fn path(&self) -> Seen<String> {
        host::seen(self.hierarchy("cpu").map(|of| of.path().to_owned()))
    }

    fn limited(&self, controller: &str) -> Seen<Limited> {
        match self.hierarchy(controller).and_then(|of| of.tightest(controller)) {
            Ok(Some(limited)) => Seen::Value(limited),
            Ok(None) => Seen::Absent,
            Err(why) => Seen::Unseen(why),
        }
    }

    fn cpus_allowed(&self) -> Seen<u32> {
        let path = self.process.join("status");
        let read = || {
            let status = host::text(&path).map_err(|error| error.to_string())?;
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            let line = line.ok_or_else(|| format!("{} does not state Cpus_allowed_list", path.display()))?;
            let list: CpuList = line.parse().map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<_, String>(list.len() as u32)
        };
        host::seen(read())
    }
}

fn or_before<T: Clone>(now: Seen<T>, before: &Seen<T>) -> Seen<T> {
    match (&now, before) {
        (Seen::Unseen(_), Seen::Value(_)) => before.clone(),
        _ => now,
    }
}

#[cfg(test)]
mod tests;
