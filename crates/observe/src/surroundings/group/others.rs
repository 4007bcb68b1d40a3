//! Groups of other processes of the program than its first: a child may be in one with less memory,
//! as what a runner or a shell starts.
//!
//! A few processes are looked at each time, one after the other, so that a program with thousands
//! costs no more.

use super::controllers::{Hierarchy, Limited, is_of_a_dead_one};
use host::Roots;
use model::Pid;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Processes that are looked at each time: a look takes some 10 us.
const AT_A_TIME: usize = 8;
/// Texts of groups that are remembered, at most.
const KNOWN_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct Others {
    proc: PathBuf,
    sys: PathBuf,
    first: Pid,
    /// The one that was looked at last.
    last: Pid,
    /// What `/proc/PID/cgroup` said of the processes looked at: most processes are in the same
    /// groups.
    known: BTreeSet<String>,
    tightest: Option<Limited>,
}

impl Others {
    pub(super) fn new(roots: Roots<'_>, first: Pid) -> Self {
        Self {
            proc: roots.proc.to_owned(),
            sys: roots.sys.to_owned(),
            first,
            last: 0,
            known: BTreeSet::new(),
            tightest: None,
        }
    }

    /// The group with the least memory that a process was found in, if that is less than the first
    /// one has. It stays when it is removed, until there is another.
    pub(super) fn tightest(&self) -> Option<&Limited> {
        self.tightest.as_ref()
    }

    /// Looks at a few of the living processes. `first` is where the first one has its limit; with
    /// `anew`, groups that are known are read again, since limits change. Whether it is another
    /// group than before.
    pub(super) fn look(&mut self, living: &[Pid], first: Option<&Limited>, anew: bool) -> bool {
        if anew || self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        let mut least = limit(self.tightest.as_ref()).min(limit(first));
        let mut is_other = false;
        for pid in self.next(living) {
            let Ok(groups) = host::text(&self.proc.join(pid.to_string()).join("cgroup")) else { continue };
            if is_of_a_dead_one(&groups) || self.known.contains(&groups) {
                continue;
            }
            let found = Hierarchy::of(&self.sys, &groups, "memory").and_then(|of| of.tightest("memory"));
            self.known.insert(groups);
            let Ok(Some(found)) = found else { continue };
            let bytes = limit(Some(&found));
            if bytes < least {
                least = bytes;
                is_other |= self.tightest.as_ref().is_none_or(|before| !before.is_same(&found));
                self.tightest = Some(found);
            }
        }
        is_other
    }

    /// The processes that come after the last one, and then from the beginning; each once.
    fn next(&mut self, living: &[Pid]) -> Vec<Pid> {
        let at = living.partition_point(|pid| *pid <= self.last);
        let (before, after) = living.split_at(at);
        let others = after.iter().chain(before).copied().filter(|pid| *pid != self.first);
        let next: Vec<Pid> = others.take(AT_A_TIME).collect();
        self.last = next.last().copied().unwrap_or(0);
        next
    }
}

/// In bytes; none is more than any, and so has a group that was removed.
fn limit(of: Option<&Limited>) -> u64 {
    of.and_then(|of| of.memory_limit().ok()?).unwrap_or(u64::MAX)
}
