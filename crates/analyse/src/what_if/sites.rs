//! What the names of edits are in a recording: which steps of its threads they concern, and what
//! there is instead where they concern none.

use super::edit::{Change, Edit, SiteName};
use super::program::{Kind, KindId, Program, Queued, Step};
use crate::keys::{CallKey, ReasonKey, TargetKey};
use crate::names::Names;
use model::{Call, Ns, State};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// What an edit does with a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Concerns {
    /// Its time changes, unless a thread of the tree ends it.
    Time,
    /// It is a wait for a lock: its time changes whatever ends it.
    Lock,
}

/// Which edits concern which steps.
#[derive(Debug)]
pub(super) struct Sites {
    /// By kind: edits by their number.
    by_kind: Vec<SmallVec<[(u8, Concerns); 2]>>,
    /// By the program that a process executes.
    by_program: Vec<SmallVec<[u8; 1]>>,
}

impl Sites {
    pub(super) fn new(edits: &[Edit], program: &Program, names: &Names) -> Self {
        let numbered = || edits.iter().zip(0_u8..);
        let of_kind = |kind: &Kind| {
            let concerned = numbered().filter_map(|(edit, at)| Some((at, concerns(edit, kind, names)?)));
            concerned.collect()
        };
        let of_program = |name: &model::recording::Comm| {
            let name = name.to_text();
            let is_it = |edit: &Edit| matches!(&edit.change, Change::Time(SiteName::Program(program), _) if *program == name);
            numbered().filter(|(edit, _)| is_it(edit)).map(|(_, at)| at).collect()
        };
        Self {
            by_kind: program.kinds.iter().map(of_kind).collect(),
            by_program: program.programs.iter().map(of_program).collect(),
        }
    }

    /// The edits of a step of this kind in a process that executes this program, in their order.
    pub(super) fn of(&self, kind: KindId, program: u32) -> SmallVec<[(u8, Concerns); 2]> {
        let mut of = self.by_kind[kind as usize].clone();
        let by_program = &self.by_program[program as usize];
        if !by_program.is_empty() {
            of.extend(by_program.iter().map(|edit| (*edit, Concerns::Time)));
            of.sort_by_key(|(edit, _)| *edit);
        }
        of
    }
}

/// What an edit that is not of a program does with steps of a kind.
fn concerns(edit: &Edit, kind: &Kind, names: &Names) -> Option<Concerns> {
    let (call, target) = match kind.reason {
        ReasonKey::Wait(call, target) => (Some(call), Some(target)),
        _ => (None, None),
    };
    let site = match &edit.change {
        Change::Time(site, _) => site,
        Change::NoQuota => return (kind.state == State::Throttled).then_some(Concerns::Time),
        Change::Cpus(_) => return None,
    };
    let is_time = match site {
        SiteName::Call(name) => {
            let called = match (kind.reason, call) {
                (ReasonKey::Syscall(call), _) | (_, Some(CallKey::Syscall(call))) => Some(call),
                _ => None,
            };
            called.is_some_and(|call| is_called(call, name, names))
        }
        SiteName::Locks => return is_lock(kind).then_some(Concerns::Lock),
        SiteName::Lock(address) => return (kind.futex == *address).then_some(Concerns::Lock),
        SiteName::Peer(name) => target.and_then(|target| peer(target, names)).as_ref() == Some(name),
        SiteName::NameLookups => matches!(target, Some(TargetKey::Answer(_))),
        SiteName::File(path) => {
            kind.reason.file().and_then(|file| names.files.path(file).value().cloned()).as_ref() == Some(path)
        }
        SiteName::State(State::Fault) => call == Some(CallKey::Fault),
        // Behind its own threads it waits for as long as the replay says.
        SiteName::State(State::Runqueue) => kind.state == State::Runqueue && kind.queued != Queued::BehindOwn,
        SiteName::State(state) => kind.state == *state && target.is_some(),
        // By samples, or by what its process executes.
        SiteName::Function(_) | SiteName::Program(_) => false,
    };
    is_time.then_some(Concerns::Time)
}

/// Whether a call has this name.
pub(super) fn is_called(call: Call, name: &str, names: &Names) -> bool {
    names.arch.name(call).is_some_and(|known| name.ends_with(known))
        && names.arch.syscall(call).to_string() == name
}

/// Whether a wait is for a lock: not for the end of a thread, nor in a function that is known to
/// wait for something else.
pub(super) fn is_lock(kind: &Kind) -> bool {
    kind.futex != 0 && kind.state == State::Lock && !kind.by_exit && kind.is_lock != Some(false)
}

fn peer(target: TargetKey, names: &Names) -> Option<String> {
    matches!(target, TargetKey::Tcp(_) | TargetKey::Udp(_) | TargetKey::Local(_))
        .then(|| names.target(target).to_string())
}

/// The sites that an edit could have named, by name, with the time of all threads.
pub(super) fn all_of(like: &SiteName, program: &Program, names: &Names) -> Vec<(String, Ns)> {
    // By kind, whether a thread of the tree ended it, and what the process executed.
    let mut by_kind = FxHashMap::<(KindId, bool, u32), Ns>::default();
    let by_program = matches!(like, SiteName::Program(_));
    for thread in &program.threads {
        for (step, at) in thread.steps.iter().zip(0..) {
            let Some((kind, ns)) = step.time() else { continue };
            let executes = if by_program { thread.executes(at) } else { 0 };
            *by_kind.entry((kind, matches!(step, Step::Await { .. }), executes)).or_default() += ns;
        }
    }
    let mut sums = BTreeMap::<String, Ns>::new();
    for ((kind, by_tree, executes), ns) in by_kind {
        let name = match like {
            SiteName::Program(_) if by_tree => None,
            SiteName::Program(_) => {
                let name = program.programs[executes as usize].to_text();
                // Before its first `execve` a process has none, and no edit can name it.
                (!name.is_empty()).then(|| format!("program:{name}"))
            }
            _ => name_like(like, program.kind(kind), by_tree, names),
        };
        if let Some(name) = name {
            *sums.entry(name).or_default() += ns;
        }
    }
    sums.into_iter().filter(|(_, ns)| *ns > 0).collect()
}

/// What steps of this kind are called by edits like this one. `by_tree`: a thread of the tree ended
/// it, so that it is a lock's time only.
fn name_like(like: &SiteName, kind: &Kind, by_tree: bool, names: &Names) -> Option<String> {
    let (call, target) = match kind.reason {
        ReasonKey::Syscall(call) => (Some(call), None),
        ReasonKey::Wait(CallKey::Syscall(call), target) if !by_tree => (Some(call), Some(target)),
        ReasonKey::Wait(_, target) if !by_tree => (None, Some(target)),
        _ => (None, None),
    };
    match like {
        SiteName::Call(_) => call.map(|call| names.arch.syscall(call).to_string()),
        SiteName::Locks | SiteName::Lock(_) => (kind.futex != 0).then(|| format!("lock:{:#x}", kind.futex)),
        SiteName::Peer(_) => target.and_then(|target| peer(target, names)),
        SiteName::NameLookups => {
            matches!(target, Some(TargetKey::Answer(_))).then(|| "name-lookups".to_owned())
        }
        SiteName::File(_) => {
            let path = names.files.path(kind.reason.file().filter(|_| !by_tree)?);
            path.value().map(|path| format!("file:{path}"))
        }
        SiteName::State(_) => {
            let named =
                super::edit::STATES.contains(&kind.state) && !by_tree && kind.queued != Queued::BehindOwn;
            named.then(|| kind.state.name().to_owned())
        }
        SiteName::Function(_) | SiteName::Program(_) => None,
    }
}

/// Of these the ones that are most like a name, and then those with most time.
pub(super) fn nearest(name: &str, mut sites: Vec<(String, Ns)>, most: usize) -> Vec<(String, Ns)> {
    let far = |of: &str| {
        let distance = distance(name, of);
        // More than a slip of the keyboard is another name.
        if distance <= 2.max(name.chars().count() / 3) || of.contains(name) { distance } else { usize::MAX }
    };
    sites.sort_by_cached_key(|(of, ns)| (far(of), std::cmp::Reverse(*ns), of.clone()));
    sites.truncate(most);
    sites
}

/// Characters to insert, remove or replace to come from one name to the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, char) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (place, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(char != *other);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first_and_then_those_with_most_time() {
        let sites = [("read", 50), ("fdatasync", 9), ("fsync", 3), ("futex", 70)];
        let sites: Vec<_> = sites.map(|(name, ns)| (name.to_owned(), ns)).into();
        let names = |name: &str, most| -> Vec<String> {
            nearest(name, sites.clone(), most).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("fsink", 3), ["fsync", "futex", "read"]);
        assert_eq!(names("sync", 2), ["fsync", "fdatasync"]);
        assert_eq!([distance("", "abc"), distance("kitten", "sitting"), distance("a", "a")], [3, 3, 0]);
    }
}
