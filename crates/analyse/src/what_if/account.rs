//! The time of a replayed path by place and state, and what bounds it.
//!
//! As in the account of a run, a sleep on the path is what others did meanwhile: on a CPU, else
//! ready, else waiting for a device or a peer. Here that is in proportion within each sleep.

use super::lengths::Lengths;
use super::own::Own;
use super::path::Piece;
use super::program::{Program, Queued, Step, ThreadId, behind_own};
use super::times::{NEVER, Times};
use crate::judge::bound::bound;
use crate::judge::starved::Contention;
use crate::keys::ReasonKey;
use crate::names::Names;
use model::account::DoesNotClose;
use model::run::measured;
use model::what_if::{ReplayedPath, ReplayedPlace, StateTime};
use model::{Account, Ns, Run, RunQueue, State};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Places that are listed.
const PLACES: usize = 100;

/// Time of a thread in a state, for a reason.
type Sums = FxHashMap<(ThreadId, State, ReasonKey), Ns>;

/// A replay and its path.
#[derive(Clone, Copy)]
pub(super) struct Replayed<'a> {
    pub(super) program: &'a Program,
    pub(super) names: &'a Names,
    pub(super) lengths: &'a Lengths,
    pub(super) own: &'a Own<'a>,
    /// Whether samples count as edited.
    pub(super) edited: bool,
    pub(super) times: &'a Times,
    pub(super) path: &'a [Piece],
    pub(super) cpus: u32,
}

/// In which way a thread is under way while another one sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    OnCpu,
    Ready,
    Outside,
}

impl Replayed<'_> {
    /// What bounds it, with its time by state and by place. `run`: as it was recorded.
    pub(super) fn account(&self, run: &Run) -> Result<ReplayedPath, DoesNotClose> {
        let sums = self.sums();
        let mut states = BTreeMap::<State, Ns>::new();
        let mut places = BTreeMap::<(String, State, String), (Ns, model::Reason)>::new();
        for ((thread, state, reason), ns) in sums.iter().filter(|(_, ns)| **ns > 0) {
            *states.entry(*state).or_default() += ns;
            let (process, reason) = (self.program.thread(*thread).process, self.names.reason(*reason));
            let key = (process.to_text(), *state, reason.to_string());
            places.entry(key).or_insert((0, reason)).0 += ns;
        }
        let place = |((process, state, _), (ns, reason))| ReplayedPlace { process, state, reason, ns };
        let mut places: Vec<ReplayedPlace> = places.into_iter().map(place).collect();
        places.sort_by_key(|place| Reverse(place.ns));
        let rest_ns = places.iter().skip(PLACES).map(|place| place.ns).sum();
        places.truncate(PLACES);
        let wall_ns = self.times.end;
        let queue = self.queue(&sums, run);
        let parts = states.iter().map(|(state, ns)| measured(*state, *ns)).collect();
        let account = Account::new(wall_ns, parts, states.clone())?;
        let contention = Contention { queue: &queue, coverage: &run.coverage, cpus: self.cpus, wall_ns };
        Ok(ReplayedPath {
            bound: bound(&account, contention),
            account: states.into_iter().map(|(state, ns)| StateTime { state, ns }).collect(),
            places,
            rest_ns,
        })
    }

    /// Who had the CPUs while the path waited for one.
    fn queue(&self, sums: &Sums, run: &Run) -> RunQueue {
        let of = |is: &dyn Fn(&ReasonKey) -> bool| -> Ns {
            let queued =
                sums.iter().filter(|((_, state, reason), _)| *state == State::Runqueue && is(reason));
            queued.map(|(_, ns)| ns).sum()
        };
        let recorded = run.run_queue.value();
        RunQueue {
            behind_own_ns: of(&|reason| matches!(reason, ReasonKey::PreemptedByOwn(_))),
            behind_others_ns: of(&|reason| matches!(reason, ReasonKey::Preempted(_))),
            idle_cpu_ns: of(&|reason| matches!(reason, ReasonKey::IdleCpu)),
            unseen_ns: of(&|reason| matches!(reason, ReasonKey::PreemptedUnseen)),
            others: Vec::new(),
            cpus_used: recorded.map_or(0.0, |queue| queue.cpus_used),
            cpus_wanted: recorded.map_or(0.0, |queue| queue.cpus_wanted),
            of_all: model::Seen::unseen("a replay is of the path only"),
        }
    }

    fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        let mut sleeps = Vec::new();
        for piece in self.path.iter().rev() {
            let step = self.program.thread(piece.thread).steps[piece.step as usize];
            match step {
                // Its own time comes after that behind its own threads.
                Step::Run { .. } | Step::Queue { .. } => {
                    let mut own_ns = self.lengths.of(piece.thread, piece.step, step).min(piece.ns());
                    if step
                        .time()
                        .is_some_and(|(kind, _)| self.program.kind(kind).queued == Queued::BehindOwn)
                    {
                        own_ns = 0;
                    }
                    self.runs(&mut sums, piece.thread, piece.step, own_ns);
                    *sums.entry((piece.thread, State::Runqueue, behind_own())).or_default() +=
                        piece.ns() - own_ns;
                }
                _ => {
                    let Some((kind, _)) = step.time() else { continue };
                    let kind = self.program.kind(kind);
                    *sums.entry((piece.thread, kind.state, kind.reason)).or_default() += piece.ns();
                    if kind.lets_pass || matches!(kind.state, State::Sleep | State::Idle) {
                        sleeps.push(*piece);
                    }
                }
            }
        }
        // Before a thread of which nobody knows who created it.
        let missing_ns = self.times.end - self.path.iter().map(|piece| piece.ns()).sum::<Ns>();
        *sums.entry((self.times.last, State::Unexplained, ReasonKey::NotObserved)).or_default() += missing_ns;
        if !sleeps.is_empty() {
            self.pass_over(&sleeps, &mut sums);
        }
        sums
    }

    /// Adds time of a step on a CPU.
    fn runs(&self, sums: &mut Sums, thread: ThreadId, at: u32, ns: Ns) {
        let Some((kind, _)) = self.program.thread(thread).steps[at as usize].time() else { return };
        let kind = self.program.kind(kind);
        if !kind.is_own() {
            *sums.entry((thread, kind.state, kind.reason)).or_default() += ns;
            return;
        }
        let mut left = ns;
        let portions = self.own.divides(thread, at, self.edited);
        for (state, reason, part) in &portions[1..] {
            let ns = ((ns as f64 * part) as Ns).min(left);
            left -= ns;
            *sums.entry((thread, *state, *reason)).or_default() += ns;
        }
        *sums.entry((thread, portions[0].0, portions[0].1)).or_default() += left;
    }

    /// Puts what others did in place of sleeps.
    fn pass_over(&self, sleeps: &[Piece], sums: &mut Sums) {
        let mut ways = vec![[0; 3]; sleeps.len()];
        self.meanwhile(sleeps, |sleep, _, _, way, ns| ways[sleep][way as usize] += ns);
        // What of each kind counts: no more than there is time.
        let parts: Vec<[f64; 3]> = ways
            .iter()
            .zip(sleeps)
            .map(|(ways, sleep)| {
                let mut left = sleep.ns();
                ways.map(|ns: Ns| {
                    let counts = ns.min(left);
                    left -= counts;
                    if ns > 0 { counts as f64 / ns as f64 } else { 0.0 }
                })
            })
            .collect();
        let mut taken = vec![0; sleeps.len()];
        let mut others = Sums::default();
        self.meanwhile(sleeps, |sleep, thread, at, way, ns| {
            let ns = (ns as f64 * parts[sleep][way as usize]) as Ns;
            taken[sleep] += ns;
            match (way, self.program.thread(thread).steps[at as usize].time()) {
                (Way::OnCpu, _) => self.runs(&mut others, thread, at, ns),
                (Way::Outside, Some((kind, _))) => {
                    let kind = self.program.kind(kind);
                    *others.entry((thread, kind.state, kind.reason)).or_default() += ns;
                }
                (_, queued) => {
                    let reason = queued.map(|(kind, _)| *self.program.kind(kind));
                    let reason = reason.filter(|kind| kind.state == State::Runqueue).map(|kind| kind.reason);
                    let reason = reason.unwrap_or_else(behind_own);
                    *others.entry((thread, State::Runqueue, reason)).or_default() += ns;
                }
            }
        });
        for (sleep, taken) in sleeps.iter().zip(taken) {
            let step = self.program.thread(sleep.thread).steps[sleep.step as usize];
            let Some((kind, _)) = step.time() else { continue };
            let kind = self.program.kind(kind);
            if let Some(sum) = sums.get_mut(&(sleep.thread, kind.state, kind.reason)) {
                *sum -= taken;
            }
        }
        others.into_iter().for_each(|(key, ns)| *sums.entry(key).or_default() += ns);
    }

    /// Tells what other threads did during sleeps: the sleep, the thread, its step, how, and for
    /// how long.
    fn meanwhile(&self, sleeps: &[Piece], mut tell: impl FnMut(usize, ThreadId, u32, Way, Ns)) {
        for (thread, done) in (0..).zip(&self.times.done) {
            let mut from = self.program.thread(thread).creator.map_or(0, |place| self.times.at(place));
            for ((step, to), at) in self.program.thread(thread).steps.iter().zip(done).zip(0..) {
                if *to == NEVER {
                    break;
                }
                let begin = std::mem::replace(&mut from, *to);
                let mut tell = |from: Ns, to: Ns, way: Way| {
                    let first = sleeps.partition_point(|sleep| sleep.to <= from);
                    let during = (first..).zip(&sleeps[first..]).take_while(|(_, sleep)| sleep.from < to);
                    for (at_sleep, sleep) in during.filter(|(_, sleep)| sleep.thread != thread) {
                        let ns = to.min(sleep.to) - from.max(sleep.from);
                        tell(at_sleep, thread, at, way, ns);
                    }
                };
                match step {
                    Step::Run { .. } => {
                        // It has its CPU at the end of the step, as far as is kept.
                        let ns = self.lengths.of(thread, at, *step).min(to - begin);
                        tell(begin, to - ns, Way::Ready);
                        tell(to - ns, *to, Way::OnCpu);
                    }
                    Step::Queue { .. } => tell(begin, *to, Way::Ready),
                    Step::Wait { kind, .. } | Step::Await { kind, .. }
                        if self.program.kind(*kind).under_way =>
                    {
                        tell(begin, *to, Way::Outside);
                    }
                    _ => {}
                }
            }
        }
    }
}
