//! How long threads of the tree waited behind whom: sums over all of their waits for a CPU.

use crate::keys::ReasonKey;
use model::recording::Comm;
use model::{Ns, OccupantRow, Pid, QueueOfAll, Seen};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Who is kept apart by process.
const DISTINCT: usize = 4096;
/// Processes of one name that have rows of their own.
const NAMESAKES: usize = 8;
/// Rows in the end.
const ROWS: usize = 32;

/// What had a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    /// A thread of the tree, and its process.
    Own(Comm, Pid),
    /// Another one; 0 where its process is not of dwell's PID namespace.
    Other(Comm, Pid),
    /// The same in older recordings, which name it only.
    Last(Comm),
    Nobody,
}

/// Sums of time by who had the CPU.
#[derive(Debug, Default)]
pub(crate) struct Rivals {
    sums: FxHashMap<Who, Ns>,
    other_ns: Ns,
}

impl Rivals {
    /// A wait was behind these, for this time in all: each has its part, and the first what is left
    /// by rounding.
    pub(crate) fn divide(&mut self, ns: Ns, ran: impl Iterator<Item = (Who, Ns)> + Clone) {
        let sum: Ns = ran.clone().map(|(_, had)| had).sum();
        if sum == 0 {
            return;
        }
        let part = |had: Ns| (u128::from(had) * u128::from(ns) / u128::from(sum)) as Ns;
        let mut left = ns - ran.clone().map(|(_, had)| part(had)).sum::<Ns>();
        for (who, had) in ran {
            self.add(who, part(had) + std::mem::take(&mut left));
        }
    }

    fn add(&mut self, who: Who, ns: Ns) {
        if self.sums.len() < DISTINCT || self.sums.contains_key(&who) {
            *self.sums.entry(who).or_default() += ns;
        } else {
            self.other_ns += ns;
        }
    }

    /// The process behind which threads of the tree waited longest, of those with this name.
    pub(crate) fn pid_of(&self, name: &str) -> Seen<Pid> {
        let of_name = self.sums.iter().filter_map(|(who, ns)| match who {
            Who::Other(other, pid) if other.to_text() == name => Some((*ns, *pid)),
            _ => None,
        });
        of_name.max().map_or_else(|| Seen::unseen(NAME_ONLY), |(_, pid)| of_others(pid))
    }

    /// How long idle CPUs were waited for.
    pub(crate) fn idle_ns(&self) -> Ns {
        self.sums.get(&Who::Nobody).copied().unwrap_or(0)
    }

    /// All of it, which is `total_ns`. `command`: of a process of the tree.
    pub(crate) fn of_all(&self, total_ns: Ns, command: impl Fn(Pid) -> Option<String>) -> QueueOfAll {
        let mut many = FxHashMap::<(bool, Comm), usize>::default();
        self.sums.keys().filter_map(|who| who.name()).for_each(|name| *many.entry(name).or_default() += 1);
        let mut rows = FxHashMap::<(bool, Comm, Option<Who>), Ns>::default();
        for (who, ns) in &self.sums {
            let Some((of_tree, name)) = who.name() else { continue };
            let one = Some(*who).filter(|_| many[&(of_tree, name)] <= NAMESAKES);
            *rows.entry((of_tree, name, one)).or_default() += ns;
        }
        let row = |((of_tree, name, who), ns): ((bool, Comm, Option<Who>), Ns)| {
            let (pid, command) = match who {
                Some(Who::Own(_, pid)) => (Seen::Value(pid), command(pid)),
                Some(Who::Other(_, pid)) => (of_others(pid), None),
                Some(_) => (Seen::unseen(NAME_ONLY), None),
                None => (Seen::Absent, None),
            };
            OccupantRow { name: name.to_text(), pid, command, of_tree, ns }
        };
        let mut rows: Vec<OccupantRow> = rows.into_iter().filter(|(_, ns)| *ns > 0).map(row).collect();
        rows.sort_by_key(|row| (Reverse(row.ns), row.name.clone(), row.pid.value().copied()));
        let rest = rows.split_off(rows.len().min(ROWS));
        let idle_cpu_ns = self.idle_ns();
        let other_ns = self.other_ns + rest.iter().map(|row| row.ns).sum::<Ns>();
        let seen_ns = rows.iter().map(|row| row.ns).sum::<Ns>() + idle_cpu_ns + other_ns;
        let unseen_ns = total_ns.saturating_sub(seen_ns);
        QueueOfAll { total_ns, rows, other_ns, idle_cpu_ns, unseen_ns }
    }
}

impl Who {
    pub(crate) fn reason(self) -> ReasonKey {
        match self {
            Who::Own(name, _) => ReasonKey::PreemptedByOwn(name),
            Who::Other(name, _) | Who::Last(name) => ReasonKey::Preempted(name),
            Who::Nobody => ReasonKey::IdleCpu,
        }
    }

    /// Who had what is left of a wait, where that is somebody.
    pub(crate) fn last(rest: ReasonKey) -> Option<Self> {
        match rest {
            ReasonKey::Preempted(name) => Some(Who::Last(name)),
            ReasonKey::IdleCpu => Some(Who::Nobody),
            _ => None,
        }
    }

    /// Whether it is of the tree, and what it is called.
    fn name(self) -> Option<(bool, Comm)> {
        match self {
            Who::Own(name, _) => Some((true, name)),
            Who::Other(name, _) | Who::Last(name) => Some((false, name)),
            Who::Nobody => None,
        }
    }
}

const NAME_ONLY: &str = "this recording names it only";

/// The number of a process that is not of the tree.
fn of_others(pid: Pid) -> Seen<Pid> {
    if pid == 0 { Seen::unseen("it is not of dwell's PID namespace") } else { Seen::Value(pid) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(name: &str, pid: Pid) -> Who {
        Who::Other(Comm::from(name), pid)
    }

    #[test]
    fn each_has_its_part_and_together_they_have_all() {
        let mut rivals = Rivals::default();
        rivals.divide(100, [(other("hog", 7), 1), (other("hog", 8), 2)].into_iter());
        let told = rivals.of_all(110, |_| None);
        assert_eq!(told.rows.iter().map(|row| row.ns).collect::<Vec<_>>(), [66, 34]);
        assert_eq!((told.other_ns, told.unseen_ns), (0, 10));
        assert_eq!(rivals.pid_of("hog"), Seen::Value(8));
        assert!(matches!(rivals.pid_of("elsewhere"), Seen::Unseen(_)));
    }

    #[test]
    fn many_processes_of_a_name_share_a_row_and_nobody_has_none() {
        let of = |processes: Pid| {
            let mut rivals = Rivals::default();
            (1..=processes).for_each(|pid| rivals.add(other("cc", pid), 3));
            rivals.add(Who::Nobody, 5);
            let told = rivals.of_all(u64::from(processes) * 3 + 5, |_| None);
            assert_eq!((told.idle_cpu_ns, told.unseen_ns), (5, 0));
            (told.rows.len(), told.rows[0].pid.clone())
        };
        assert_eq!(of(8), (8, Seen::Value(1)));
        assert_eq!(of(9), (1, Seen::Absent));
    }

    #[test]
    fn what_has_no_row_is_together() {
        let mut rivals = Rivals::default();
        (0..5000).for_each(|one| rivals.add(other(&format!("p{one}"), one + 1), 1));
        let told = rivals.of_all(5000, |_| None);
        assert_eq!((told.rows.len(), told.other_ns, told.unseen_ns), (ROWS, 5000 - ROWS as Ns, 0));
    }
}
