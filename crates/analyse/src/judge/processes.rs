//! The processes of a run by program, from the ledgers of the threads that lead them.

use super::Evidence;
use model::{Ns, Pid, State};
use rustc_hash::FxHashMap;

/// What lives for this part of the wall clock or longer is what starts the others.
const STARTER_PART: f64 = 0.95;

/// The processes of one program.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    pub(super) pids: Vec<Pid>,
    /// Their lives, summed.
    pub(super) life_ns: Ns,
    /// How long threads of them were on a CPU, or ready to.
    pub(super) computes_ns: Ns,
    /// The longest life, and its row in the table of threads.
    pub(super) longest: (Ns, usize),
}

impl Group {
    /// How many.
    pub(super) fn processes(&self) -> usize {
        self.pids.len()
    }
}

/// All processes but those that start the others, by the name of the program that they ended with.
pub(super) fn by_program(evidence: &Evidence<'_>) -> FxHashMap<String, Group> {
    let mut computes: FxHashMap<Pid, Ns> = FxHashMap::default();
    for thread in evidence.threads {
        let of = |(state, ns): &(State, Ns)| if wants_cpu(*state) { *ns } else { 0 };
        *computes.entry(thread.pid).or_default() += thread.states.iter().map(of).sum::<Ns>();
    }
    let mut groups: FxHashMap<String, Group> = FxHashMap::default();
    for (row, leader) in evidence.threads.iter().enumerate().filter(|(_, thread)| thread.tid == thread.pid) {
        if leader.life_ns as f64 >= evidence.wall_ns as f64 * STARTER_PART {
            continue;
        }
        let group = groups.entry(leader.name.clone()).or_default();
        group.pids.push(leader.pid);
        group.life_ns += leader.life_ns;
        group.computes_ns += computes.get(&leader.pid).copied().unwrap_or(0);
        if group.processes() == 1 || leader.life_ns > group.longest.0 {
            group.longest = (leader.life_ns, row);
        }
    }
    groups
}

fn wants_cpu(state: State) -> bool {
    state.on_cpu() || matches!(state, State::Runqueue | State::Throttled)
}
