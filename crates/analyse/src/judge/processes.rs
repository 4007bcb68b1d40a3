//! The processes of a run by program, from the ledgers of the threads that lead them.

use super::Evidence;
use model::{Ns, Pid, State};
use rustc_hash::FxHashMap;

/// What lives for this part of the wall clock or longer is what starts the others.
const STARTER_PART: f64 = 0.95;

/// The processes of one program.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    /// Those that rows of the table of threads are of.
    pub(super) pids: Vec<Pid>,
    /// Those of rows that stand for several.
    together: usize,
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
        self.pids.len() + self.together
    }
}

/// All processes but those that start the others, by the name of the program that they ended with.
pub(super) fn by_program(evidence: &Evidence<'_>) -> FxHashMap<String, Group> {
    let mut computes: FxHashMap<Pid, Ns> = FxHashMap::default();
    let of = |(state, ns): &(State, Ns)| if state.wants_cpu() { *ns } else { 0 };
    for thread in evidence.threads {
        *computes.entry(thread.pid).or_default() += thread.states.iter().map(of).sum::<Ns>();
    }
    let mut groups: FxHashMap<String, Group> = FxHashMap::default();
    for (row, leader) in evidence.threads.iter().enumerate().filter(|(_, thread)| thread.processes() > 0) {
        if leader.together.is_none() && leader.life_ns as f64 >= evidence.wall_ns as f64 * STARTER_PART {
            continue;
        }
        let group = groups.entry(leader.name.clone()).or_default();
        match leader.together {
            Some(together) => group.together += together.processes as usize,
            None => group.pids.push(leader.pid),
        }
        group.life_ns += leader.life_ns;
        // Processes of rows that stand for several are known by those that lead them only.
        group.computes_ns += match leader.together {
            Some(_) => leader.states.iter().map(of).sum(),
            None => computes.get(&leader.pid).copied().unwrap_or(0),
        };
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
