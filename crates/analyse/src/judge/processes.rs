//! The processes of a run by program, from the ledgers of the threads that lead them.

use super::Evidence;
use super::callers::InCalls;
use model::run::ThreadLedger;
use model::wait::SyscallName;
use model::{Ns, Pid, State};
use rustc_hash::{FxHashMap, FxHashSet};

/// What lives for this part of the wall clock or longer is what starts the others.
const STARTER_PART: f64 = 0.95;

/// The processes of one program.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    /// The processes that rows of the table of threads belong to.
    pub(super) pids: Vec<Pid>,
    /// Those of rows that stand for several.
    together: usize,
    /// Their lives, summed.
    pub(super) life_ns: Ns,
    /// How long those that lead them slept as long as they had asked for, summed.
    pub(super) asleep_ns: Ns,
    /// How long threads of them were on a CPU, or ready to.
    pub(super) computes_ns: Ns,
    /// How long threads of them executed their own code, and how long the kernel's.
    pub(super) own_ns: Ns,
    pub(super) kernel_ns: Ns,
    /// The longest life, and its row in the table of threads.
    pub(super) longest: (Ns, usize),
}

impl Group {
    /// How many.
    pub(super) fn processes(&self) -> usize {
        self.pids.len() + self.together
    }
}

/// What a process did, summed over its threads.
#[derive(Debug, Clone, Copy, Default)]
struct Did {
    computes_ns: Ns,
    own_ns: Ns,
    kernel_ns: Ns,
}

impl Did {
    fn add(&mut self, thread: &ThreadLedger) {
        self.computes_ns += thread.ns_in(State::wants_cpu);
        self.own_ns += thread.ns_in(|state| state == State::User);
        self.kernel_ns += thread.ns_in(|state| state.on_cpu() && state != State::User);
    }
}

/// All processes but those that start the others, by the name of the program that they ended with.
pub(super) fn by_program(evidence: &Evidence<'_>) -> FxHashMap<String, Group> {
    let mut all: FxHashMap<Pid, Did> = FxHashMap::default();
    for thread in &evidence.run.threads {
        all.entry(thread.pid).or_default().add(thread);
    }
    let mut groups: FxHashMap<String, Group> = FxHashMap::default();
    for (row, leader) in evidence.run.threads.iter().enumerate().filter(|(_, thread)| thread.processes() > 0)
    {
        if leader.together.is_none() && leader.life_ns as f64 >= evidence.run.wall_ns as f64 * STARTER_PART {
            continue;
        }
        let group = groups.entry(leader.name.clone()).or_default();
        match leader.together {
            Some(together) => group.together += together.processes as usize,
            None => group.pids.push(leader.pid),
        }
        group.life_ns += leader.life_ns;
        group.asleep_ns += leader.ns_in(|state| state == State::Sleep);
        // Processes of rows that stand for several are known by those that lead them only.
        let mut did = Did::default();
        match leader.together {
            Some(_) => did.add(leader),
            None => did = all.get(&leader.pid).copied().unwrap_or_default(),
        }
        group.computes_ns += did.computes_ns;
        group.own_ns += did.own_ns;
        group.kernel_ns += did.kernel_ns;
        if leader.together.is_some() {
            if group.pids.is_empty() {
                group.longest = (leader.life_ns / leader.processes(), row);
            }
            continue;
        }
        if group.processes() == 1 || leader.life_ns > group.longest.0 {
            group.longest = (leader.life_ns, row);
        }
    }
    groups
}

/// Time in the code of programs of which a sample or a wait is in these calls, summed over their
/// threads. None where there is no such sample, or not known of which program one is.
pub(super) fn user_ns_of_callers(evidence: &Evidence<'_>, calls: &[&SyscallName]) -> Option<Ns> {
    let in_calls = InCalls::new(evidence.profile, calls);
    let weights = evidence.profile.weights.iter().filter(|weight| in_calls.holds(weight));
    let owners = weights.filter_map(|weight| evidence.profile.threads.get(weight.thread as usize));
    let pids: FxHashSet<Pid> = owners.map(|owner| owner.pid).collect();
    let leaders = evidence.run.threads.iter().filter(|thread| thread.tid == thread.pid && thread.pid > 0);
    let programs: FxHashMap<Pid, &str> = leaders.map(|leader| (leader.pid, &*leader.name)).collect();
    // By name, since others of the same program may have been too short for a sample.
    let callers: FxHashSet<&str> =
        pids.iter().map(|pid| programs.get(pid).copied()).collect::<Option<_>>()?;
    // Rows that stand for threads of several programs have no name.
    let threads = evidence.run.threads.iter().filter(|thread| {
        let program = programs.get(&thread.pid).copied().unwrap_or(&thread.name);
        program.is_empty() || callers.contains(program)
    });
    let user = |(state, ns): &(State, Ns)| if *state == State::User { *ns } else { 0 };
    (!callers.is_empty()).then(|| threads.flat_map(|thread| &thread.states).map(user).sum())
}
