//! The run queue of an account: who had the CPUs while the program was ready to run.

use super::steps::StepRef;
use crate::rivals::Rivals;
use model::run::ThreadLedger;
use model::{Ns, QueueOfAll, Reason, Rival, RunQueue, Seen, State};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Other programs that are listed.
const OTHERS: usize = 8;

/// From the steps of the account and the ledgers of all threads; with those that had the CPUs,
/// where that was seen.
pub(crate) fn run_queue<'a>(
    steps: impl Iterator<Item = StepRef<'a>>,
    threads: &[ThreadLedger],
    wall_ns: Ns,
    rivals: Option<&Rivals>,
) -> RunQueue {
    let mut queue = RunQueue {
        behind_own_ns: 0,
        behind_others_ns: 0,
        idle_cpu_ns: 0,
        unseen_ns: 0,
        others: Vec::new(),
        cpus_used: mean_threads(threads, wall_ns, State::on_cpu),
        cpus_wanted: mean_threads(threads, wall_ns, State::wants_cpu),
        of_all: match rivals {
            Some(rivals) => Seen::Value(of_all(rivals, threads)),
            None => Seen::unseen("who has a CPU needs BPF"),
        },
    };
    let mut others = BTreeMap::<&str, Ns>::new();
    for step in steps.filter(|step| step.state == State::Runqueue) {
        let sum = match &step.reason.reason {
            Reason::PreemptedByOwn(_) => &mut queue.behind_own_ns,
            Reason::Preempted(name) => {
                *others.entry(name).or_default() += step.ns;
                &mut queue.behind_others_ns
            }
            Reason::IdleCpu => &mut queue.idle_cpu_ns,
            _ => &mut queue.unseen_ns,
        };
        *sum += step.ns;
    }
    let mut others: Vec<(&str, Ns)> = others.into_iter().collect();
    others.sort_by_key(|(_, ns)| Reverse(*ns));
    let pid_of = |name: &str| rivals.map_or_else(|| Rivals::default().pid_of(name), |all| all.pid_of(name));
    let rival = |(name, ns): (&str, Ns)| Rival { name: name.to_owned(), pid: pid_of(name), ns };
    queue.others = others.into_iter().take(OTHERS).map(rival).collect();
    queue
}

/// Who had the CPUs while any thread was ready to run.
fn of_all(rivals: &Rivals, threads: &[ThreadLedger]) -> QueueOfAll {
    let states = threads.iter().flat_map(|thread| &thread.states);
    let total_ns = states.filter(|(state, _)| *state == State::Runqueue).map(|(_, ns)| ns).sum();
    let leads = |pid| threads.iter().find(move |thread| thread.pid == pid && thread.tid == pid);
    rivals.of_all(total_ns, |pid| leads(pid)?.command.clone())
}

/// How many threads were in such a state, on average; to a hundredth.
fn mean_threads(threads: &[ThreadLedger], wall_ns: Ns, of: impl Fn(State) -> bool) -> f64 {
    let states = threads.iter().flat_map(|thread| &thread.states);
    let sum: Ns = states.filter(|(state, _)| of(*state)).map(|(_, ns)| ns).sum();
    crate::grid::rounded(sum as f64 / wall_ns.max(1) as f64, 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::StepReason;

    fn step(state: State, reason: Reason, ns: Ns) -> (State, StepReason, Ns) {
        (state, StepReason::new(reason), ns)
    }

    fn step_of((state, reason, ns): &(State, StepReason, Ns)) -> StepRef<'_> {
        let (state, ns) = (*state, *ns);
        StepRef { pid: 1, tid: 1, process: "a", state, reason, ns, count: 1, together: None }
    }

    #[test]
    fn each_kind_is_summed_and_the_longest_others_are_listed() {
        let mut steps = vec![
            step(State::User, Reason::None, 1000),
            step(State::Runqueue, Reason::PreemptedByOwn("a".into()), 5),
            step(State::Runqueue, Reason::IdleCpu, 7),
            step(State::Runqueue, Reason::PreemptedUnseen, 9),
            step(State::Runqueue, Reason::Preempted("b".into()), 20),
        ];
        steps.extend((0..9).map(|one| step(State::Runqueue, Reason::Preempted(format!("p{one}")), 10 + one)));
        let queue = run_queue(steps.iter().map(step_of), &[], 100, None);
        let figures = (queue.behind_own_ns, queue.idle_cpu_ns, queue.unseen_ns, queue.behind_others_ns);
        assert_eq!(figures, (5, 7, 9, 20 + (10..19).sum::<u64>()));
        assert_eq!(queue.others.len(), OTHERS);
        assert_eq!(queue.others[0], Rival { name: "b".into(), pid: queue.others[1].pid.clone(), ns: 20 });
        assert_eq!(queue.others[1].name, "p8");
    }

    #[test]
    fn threads_that_ran_or_were_ready_wanted_a_cpu() {
        let thread = |states: &[(State, Ns)]| ThreadLedger {
            together: None,
            pid: 1,
            tid: 1,
            name: String::new(),
            life_ns: states.iter().map(|(_, ns)| ns).sum(),
            outlived: false,
            idle: false,
            timed_waits: None,
            command: None,
            states: states.to_vec(),
            minor_faults: Seen::Absent,
            major_faults: Seen::Absent,
        };
        let threads = [
            thread(&[(State::User, 60), (State::Runqueue, 40)]),
            thread(&[(State::Kernel, 40), (State::Throttled, 10), (State::Disk, 50)]),
        ];
        let queue = run_queue(std::iter::empty(), &threads, 100, Some(&Rivals::default()));
        assert_eq!((queue.cpus_used, queue.cpus_wanted), (1.0, 1.5));
        let of_all = queue.of_all.value().map(|all| (all.total_ns, all.unseen_ns));
        assert_eq!(of_all, Some((40, 40)));
    }
}
