//! What holds for every recording, tried on random ones: a small machine with random threads that
//! fork, block, wake each other, are preempted and die; whole, and with events missing.

use crate::story::*;
use model::prediction::SiteTimes;
use model::recording::{Event, FileKind, Object, SampleMode, SwitchOutState, Waker};
use model::{RunResult, State, Tid};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What happens next: to which thread, how, after how many microseconds.
type Step = (u8, u8, u64);

#[derive(Clone, Copy, PartialEq)]
enum Doing {
    Running,
    Runnable,
    Blocked,
    Stopped,
}

/// The machine's own knowledge of each thread: what it does, since when, and its time by kind.
struct Machine {
    story: Story,
    threads: BTreeMap<Tid, (Doing, u64)>,
    /// For threads that are gone or not: time on a CPU, in the run queue, blocked or stopped.
    truth: BTreeMap<Tid, [u64; 3]>,
    /// Threads that belong to the root's process.
    of_root: BTreeSet<Tid>,
    now: u64,
    next: Tid,
}

impl Machine {
    fn new() -> Self {
        Machine {
            story: Story::begins(),
            threads: BTreeMap::from([(ROOT, (Doing::Running, 0))]),
            truth: BTreeMap::new(),
            of_root: BTreeSet::new(),
            now: 1,
            next: 200,
        }
    }

    fn turn(&mut self, tid: Tid, doing: Doing) {
        let (was, since) = self.threads[&tid];
        let kind = match was {
            Doing::Running => 0,
            Doing::Runnable => 1,
            Doing::Blocked | Doing::Stopped => 2,
        };
        self.truth.entry(tid).or_default()[kind] += self.now - since;
        self.threads.insert(tid, (doing, self.now));
    }

    fn step(&mut self, (who, what, us): Step) {
        self.now += us;
        self.story.after(us);
        let tids: Vec<Tid> = self.threads.keys().copied().collect();
        let tid = tids[usize::from(who) % tids.len()];
        let other = tids[usize::from(what / 8) % tids.len()];
        let pipe = Object::File { kind: FileKind::Pipe, dev: 1, ino: 1, name: "".into() };
        let on = [Object::Unknown, pipe, Object::Net(ends(40_000, 80)), Object::Futex { address: 16 }];
        match (self.threads[&tid].0, what % 8) {
            (Doing::Running, 0) => {
                self.story.leaves(tid, SwitchOutState::Runnable, call(READ, us / 2));
                self.turn(tid, Doing::Runnable);
            }
            (Doing::Running, 1 | 2) => {
                let on = on[usize::from(who) % on.len()].clone();
                self.story.leaves(tid, waiting_in(READ, on), inside(READ, us / 3));
                self.turn(tid, Doing::Blocked);
            }
            (Doing::Running, 3) if self.threads.len() < 12 => {
                let pid = if what & 16 == 0 { self.next } else { ROOT };
                if pid == ROOT {
                    self.of_root.insert(self.next);
                }
                self.story.forks(tid, self.next, pid);
                self.threads.insert(self.next, (Doing::Runnable, self.now));
                self.next += 1;
            }
            (Doing::Running, 4) if tid != ROOT => {
                self.dies(tid);
            }
            (Doing::Running, 5) => {
                let mode = [
                    SampleMode::User,
                    SampleMode::Fault,
                    SampleMode::Entry,
                    SampleMode::Call(model::Call(0)),
                ][usize::from(who) % 4];
                let period_ns = 500_000 << (who % 2);
                self.story.push(|at| Event::Sampled { at, tid, mode, ip: 1, period_ns, node: None });
            }
            (Doing::Running, 6) if matches!(self.threads[&other].0, Doing::Blocked | Doing::Stopped) => {
                self.story.wakes(other, by_task(tid), call(READ, us / 4));
                self.turn(other, Doing::Runnable);
            }
            (Doing::Running, 7) if what & 32 == 0 => {
                self.story.leaves(tid, SwitchOutState::Stopped, none());
                self.turn(tid, Doing::Stopped);
            }
            (Doing::Running, 7) => {
                self.story.push(|at| Event::Send {
                    at,
                    tid,
                    ends: ends(80, 40_000),
                    calls: call(SENDTO, us / 2),
                });
            }
            (Doing::Runnable, _) => {
                self.story.comes_after(tid, Some((9000, "other")), u64::from(what) % 3);
                self.turn(tid, Doing::Running);
            }
            (Doing::Blocked | Doing::Stopped, 0) => self.wakes(tid, Waker::Timer),
            (Doing::Blocked | Doing::Stopped, 1) => self.wakes(tid, Waker::Device),
            (Doing::Blocked | Doing::Stopped, 2) => {
                // An interrupt hits the running thread, of the tree or another.
                let over = if self.threads[&other].0 == Doing::Running { other } else { 9000 };
                self.wakes(tid, Waker::Network { over, ready: Some(ends(40_000, 80)) });
            }
            _ => {}
        }
    }

    fn wakes(&mut self, tid: Tid, waker: Waker) {
        self.story.wakes(tid, waker, none());
        self.turn(tid, Doing::Runnable);
    }

    fn dies(&mut self, tid: Tid) {
        self.story.exits(tid, inside(60, 0)).dies(tid);
        self.turn(tid, Doing::Running);
        self.threads.remove(&tid);
    }

    /// Gets a thread onto a CPU, whatever it does.
    fn made_to_run(&mut self, tid: Tid) {
        if matches!(self.threads[&tid].0, Doing::Blocked | Doing::Stopped) {
            self.wakes(tid, Waker::Timer);
        }
        if self.threads[&tid].0 == Doing::Runnable {
            self.story.comes(tid);
            self.turn(tid, Doing::Running);
        }
    }

    /// The root's threads end, its first one last.
    fn ends(&mut self) -> RunResult {
        for tid in self.of_root.clone() {
            if self.threads.contains_key(&tid) {
                self.made_to_run(tid);
                self.dies(tid);
            }
        }
        self.made_to_run(ROOT);
        self.story.ended()
    }
}

/// What must hold of every run, whatever was seen.
fn holds(analysis: &RunResult, tree: &BTreeSet<Tid>) -> Result<(), TestCaseError> {
    let run = &analysis.run;
    prop_assert_eq!(run.account.iter().map(|part| part.ns).sum::<u64>(), run.wall_ns);
    prop_assert_eq!(run.path.iter().map(|step| step.ns).sum::<u64>(), run.wall_ns);
    // Once, and in order: each slice of the wall is filled, and none is filled twice.
    let mut at = 0;
    for slice in &run.phases.slices {
        let filled: u64 = slice.iter().map(|(_, ns)| ns).sum();
        prop_assert_eq!(filled, run.phases.slice_ns.min(run.wall_ns - at));
        at += run.phases.slice_ns;
    }
    prop_assert!(at >= run.wall_ns);
    // The path has the same by place, but for what the division of a slice alone finds: estimates
    // of system call entries are limited by the time that there is, of a slice and of the whole.
    let mut filled = vec![0; run.phases.slices.len()];
    for (slice, ns) in analysis.path_over_time.iter().flatten() {
        filled[*slice as usize] += ns;
    }
    for (filled, slice) in filled.into_iter().zip(&run.phases.slices) {
        let all: u64 = slice.iter().map(|(_, ns)| ns).sum();
        prop_assert!(filled <= all, "{filled} of {all}");
    }
    prop_assert_eq!(analysis.path_over_time.len(), run.path.len());
    for part in &run.account {
        prop_assert!(part.lo_ns <= part.ns && part.ns <= part.hi_ns, "{part:?}");
    }
    for step in &run.path {
        prop_assert!(tree.contains(&step.tid), "{step:?} is not of the tree");
        let is_wait = step.state.blocked();
        prop_assert!(
            !is_wait || !matches!(step.reason, model::Reason::None),
            "{step:?} waits without a reason"
        );
    }
    for thread in &run.threads {
        prop_assert_eq!(thread.states.iter().map(|(_, ns)| ns).sum::<u64>(), thread.life_ns);
    }
    let prediction = analysis.prediction.value().expect("it was started");
    prop_assert_eq!(prediction.unedited_ns, run.wall_ns);
    prediction.sites.iter().try_for_each(|times| saves_no_more_than_it_has(times, run.wall_ns))
}

/// No site saves more than it has of the path, nor has more of it than there is.
fn saves_no_more_than_it_has(times: &SiteTimes, wall_ns: u64) -> Result<(), TestCaseError> {
    let known = [&times.path_ns, &times.saved_ns, &times.alone_ns].map(|seen| seen.value().copied());
    let [Some(path), Some(saved), Some(alone)] = known else { return Err(TestCaseError::fail("unwatched")) };
    prop_assert!(saved.lo <= path.lo && saved.hi <= path.hi, "{times:?}");
    prop_assert!(alone.lo <= path.lo && alone.hi <= path.hi, "{times:?}");
    prop_assert!(path.hi <= wall_ns, "{times:?} of {wall_ns}");
    for (known, estimate) in [path, saved, alone].iter().zip(times.estimates.unwrap_or([path, saved, alone]))
    {
        prop_assert!(known.lo <= estimate.lo && estimate.lo <= estimate.hi, "{times:?}");
        prop_assert!(estimate.hi <= known.hi, "{times:?}");
    }
    Ok(())
}

fn tree(machine: &Machine) -> BTreeSet<Tid> {
    (200..machine.next).chain([ROOT]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_account_closes_and_each_ledger_is_the_threads_own(
        steps in prop::collection::vec((any::<u8>(), any::<u8>(), 0_u64..400), 0..300),
    ) {
        let mut machine = Machine::new();
        steps.into_iter().for_each(|step| machine.step(step));
        let analysis = machine.ends();
        holds(&analysis, &tree(&machine))?;
        let run = analysis.run;
        prop_assert_eq!(run.coverage.unexplained_ns, 0);
        for thread in run.threads.iter().filter(|thread| !thread.outlived && thread.tid != ROOT) {
            let of = |states: &[State]| {
                thread.states.iter().filter(|(state, _)| states.contains(state)).map(|(_, ns)| ns / 1000).sum::<u64>()
            };
            let on_cpu: u64 = thread.states.iter().filter(|(state, _)| state.on_cpu()).map(|(_, ns)| ns).sum::<u64>() / 1000;
            let waited = thread.life_ns / 1000 - on_cpu - of(&[State::Runqueue, State::Throttled]);
            let ours = [on_cpu, of(&[State::Runqueue, State::Throttled]), waited];
            prop_assert_eq!(Some(&ours), machine.truth.get(&thread.tid), "{:?}", thread);
        }
    }

    #[test]
    fn with_events_missing_the_account_still_closes(
        steps in prop::collection::vec((any::<u8>(), any::<u8>(), 0_u64..400), 0..200),
        missing in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let mut machine = Machine::new();
        steps.into_iter().for_each(|step| machine.step(step));
        machine.ends();
        for index in missing {
            // All but the first: without a start there is no wall.
            if machine.story.events.len() > 1 {
                let index = 1 + index.index(machine.story.events.len() - 1);
                machine.story.events.remove(index);
            }
        }
        holds(&machine.story.analysed(), &tree(&machine))?;
    }
}
