//! Where the path has been, and how that becomes parts, steps and phases that sum to the wall exactly.

use super::TICK_NS;
use super::tree::{Doing, Mix, Place, Thread, Tree, WaitId};
use crate::names::Names;
use model::account::{Basis, Part, Step};
use model::recording::Rusage;
use model::run::Phases;
use model::wait::Reason;
use model::{Ns, Pid, State, Tid};
use rustc_hash::FxHashMap;
use stats::{Proportion, wilson};
use std::collections::BTreeMap;

/// With fewer samples than this a thread's mix of user and kernel time is taken from all threads'.
const SAMPLES_MIN: u64 = 20;
/// At most so many slices of the wall are kept as phases; half of it at least, in a run of more than a few ms.
const SLICES_MAX: usize = 128;
/// The first length of a slice: one millisecond, about.
const SLICE_NS_MIN: Ns = 1 << 20;

/// Time and visits of a place.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Amount {
    pub(super) ns: Ns,
    pub(super) count: u64,
}

/// The path so far.
#[derive(Debug)]
pub(super) struct Ledger {
    start: Ns,
    now: Ns,
    places: BTreeMap<Option<Place>, Amount>,
    last: Option<Option<Place>>,
    slices: Slices,
}

/// Who did what over time, in slices that double in length when they become too many.
#[derive(Debug)]
pub(super) struct Slices {
    start: Ns,
    slice_ns: Ns,
    slices: Vec<Slice>,
}

/// A thread and what it did; none where there is no evidence.
type Key = Option<(Tid, Doing)>;

#[derive(Debug, Default, Clone)]
struct Slice {
    times: FxHashMap<Key, Ns>,
}

impl Ledger {
    /// From the start of the wall.
    pub(super) fn new(start: Ns) -> Self {
        Self { start, now: start, places: BTreeMap::new(), last: None, slices: Slices::new(start) }
    }

    pub(super) fn start(&self) -> Ns {
        self.start
    }

    /// Up to where the wall is accounted for.
    pub(super) fn now(&self) -> Ns {
        self.now
    }

    /// The time until `at` belongs to `place`; none where there is no evidence.
    pub(super) fn charge(&mut self, at: Ns, place: Option<Place>) {
        if at <= self.now {
            return;
        }
        let amount = self.places.entry(place).or_default();
        amount.ns += at - self.now;
        amount.count += u64::from(self.last != Some(place));
        self.last = Some(place);
        self.slices.charge(self.now, at, place.map(|place| (place.tid, place.doing)));
        self.now = at;
    }

    /// Time on the path in each wait.
    pub(super) fn waits(&self) -> impl Iterator<Item = (WaitId, Ns)> {
        self.places.iter().filter_map(|(place, amount)| match place {
            Some(Place { doing: Doing::Wait(id, _), .. }) => Some((*id, amount.ns)),
            _ => None,
        })
    }
}

impl Slices {
    pub(super) fn new(start: Ns) -> Self {
        Self { start, slice_ns: SLICE_NS_MIN, slices: Vec::new() }
    }

    /// Somebody did something from `from` until `at`.
    pub(super) fn charge(&mut self, mut from: Ns, at: Ns, key: Key) {
        while (at - self.start).div_ceil(self.slice_ns) > SLICES_MAX as u64 {
            self.slice_ns *= 2;
            self.slices = self.slices.chunks(2).map(Slice::merged).collect();
        }
        while from < at {
            let index = (from - self.start) / self.slice_ns;
            let until = at.min(self.start + (index + 1) * self.slice_ns);
            if self.slices.len() <= index as usize {
                self.slices.resize_with(index as usize + 1, Slice::default);
            }
            *self.slices[index as usize].times.entry(key).or_default() += until - from;
            from = until;
        }
    }

    /// The slices by state; `divide` says what is known of one key's time.
    pub(super) fn phases(&self, divide: impl Fn(Key, Ns) -> Vec<(State, Ns)>) -> Phases {
        let slices = self.slices.iter().map(|slice| {
            let mut states: BTreeMap<State, Ns> = BTreeMap::new();
            for (key, ns) in &slice.times {
                for (state, ns) in divide(*key, *ns).into_iter().filter(|(_, ns)| *ns > 0) {
                    *states.entry(state).or_default() += ns;
                }
            }
            states.into_iter().collect()
        });
        Phases { slice_ns: self.slice_ns, slices: slices.collect() }
    }
}

impl Slice {
    fn merged(several: &[Slice]) -> Slice {
        let mut sum = Slice::default();
        for (key, ns) in several.iter().flat_map(|slice| &slice.times) {
            *sum.times.entry(*key).or_default() += ns;
        }
        sum
    }
}

/// What else is known of how time on and off a CPU divides.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    pub(super) tree: &'a Tree,
    pub(super) names: &'a Names,
    pub(super) threads: FxHashMap<Tid, &'a Thread>,
    /// Period of the clock samples where every on-CPU period has one, but those in the kernel go unseen.
    pub(super) only_user_each_ns: Option<Ns>,
    pub(super) rusage: Option<&'a Rusage>,
    /// Runnable and on-CPU time of each thread, by `schedstat`, in those distances between looks in which it was
    /// seen to be either, where looks cannot tell them apart.
    pub(super) runnable: FxHashMap<Tid, (Ns, Ns)>,
    /// Looks, where there is nothing but looks.
    pub(super) looks: Option<u64>,
    /// Samples on the path, of all threads.
    pub(super) pooled: Mix,
    /// Time on a CPU on the path.
    pub(super) on_cpu_ns: Ns,
}

impl Evidence<'_> {
    /// What was waited for.
    pub(super) fn reason(&self, id: WaitId) -> Reason {
        self.names.reason(self.tree.waits[id as usize].reason())
    }

    /// Share of user time, by samples; trials may be more than were seen where the kernel's go unseen.
    fn user(&self, mix: Mix, on_cpu_ns: Ns) -> (u64, u64) {
        match self.only_user_each_ns {
            Some(period) => (mix.user, (on_cpu_ns / period.max(1)).max(mix.user)),
            None => (mix.user, mix.user + mix.kernel),
        }
    }

    pub(super) fn pooled_share(&self) -> Proportion {
        let (user, all) = self.user(self.pooled, self.on_cpu_ns);
        let sampled = wilson(user, all);
        if all >= SAMPLES_MIN {
            return sampled;
        }
        // Too few samples to say. The kernel's own division rests on its ticks: a better one, if there were many.
        match self.rusage {
            Some(used) if used.user_ns + used.kernel_ns >= SAMPLES_MIN * TICK_NS => Proportion {
                value: used.user_ns as f64 / (used.user_ns + used.kernel_ns) as f64,
                ..wilson(0, 0)
            },
            // The middle of what is possible, lest one sample decide what bounds a short program.
            _ => Proportion { value: (sampled.lo + sampled.hi) / 2.0, ..sampled },
        }
    }

    pub(super) fn user_share(&self, mix: Mix, on_cpu_ns: Ns) -> f64 {
        let (user, all) = self.user(mix, on_cpu_ns);
        if all >= SAMPLES_MIN { user as f64 / all as f64 } else { self.pooled_share().value }
    }

    /// Share of run queue in a thread's time that looks saw as state R.
    fn waiting_for_cpu(&self, tid: Tid) -> f64 {
        match self.runnable.get(&tid) {
            Some((runnable, on_cpu)) if runnable + on_cpu > 0 => {
                *runnable as f64 / (runnable + on_cpu) as f64
            }
            _ => 0.0,
        }
    }

    /// Share of run queue in a thread's time that switches saw as blocked: between its wake-up and its CPU.
    fn woken_late(&self, thread: &Thread) -> f64 {
        let Some(looked) = &thread.looked else { return 0.0 };
        if self.looks.is_some() || thread.by_looks || thread.blocked_ns == 0 {
            return 0.0;
        }
        let waited = looked.runqueue_ns.value().copied().unwrap_or(0).saturating_sub(thread.ready_ns);
        (waited as f64 / thread.blocked_ns as f64).min(1.0)
    }

    /// Divides time by states; the sum is `ns` exactly.
    fn divide(
        &self,
        tid: Tid,
        doing: Doing,
        ns: Ns,
        mix: impl Fn(&Thread) -> Mix,
        on_cpu_ns: Ns,
    ) -> Vec<(State, Ns)> {
        let Some(thread) = self.threads.get(&tid) else { return vec![(State::Unexplained, ns)] };
        let share = |of: Ns, share: f64| ((of as f64 * share) as Ns).min(of);
        match doing {
            Doing::Cpu => {
                let late = share(ns, self.waiting_for_cpu(tid));
                let user = share(ns - late, self.user_share(mix(thread), on_cpu_ns));
                vec![(State::User, user), (State::Kernel, ns - late - user), (State::Runqueue, late)]
            }
            Doing::Ready => vec![(State::Runqueue, ns)],
            Doing::Wait(id, _) => {
                let late = share(ns, self.woken_late(thread));
                vec![(self.tree.waits[id as usize].state, ns - late), (State::Runqueue, late)]
            }
            Doing::Stopped => vec![(State::Stopped, ns)],
            Doing::Unseen => vec![(State::Unexplained, ns)],
        }
    }

    /// A thread's own ledger.
    pub(super) fn states(&self, thread: &Thread) -> Vec<(State, Ns)> {
        let on_cpu_ns = thread.spent(Doing::Cpu);
        let mut states: BTreeMap<State, Ns> = BTreeMap::new();
        for (doing, Amount { ns, .. }) in &thread.ledger {
            for (state, ns) in self.divide(thread.tid, *doing, *ns, |thread| thread.mix, on_cpu_ns) {
                *states.entry(state).or_default() += ns;
            }
        }
        states.into_iter().filter(|(_, ns)| *ns > 0).collect()
    }
}

impl Ledger {
    /// On a CPU, on the path: all threads' and each one's.
    pub(super) fn on_cpu(&self) -> FxHashMap<Tid, Ns> {
        let mut sums = FxHashMap::default();
        for (place, amount) in &self.places {
            if let Some(Place { tid, doing: Doing::Cpu, .. }) = place {
                *sums.entry(*tid).or_default() += amount.ns;
            }
        }
        sums
    }

    /// The account's two ledgers.
    pub(super) fn parts_and_steps(&self, evidence: &Evidence<'_>) -> (Vec<Part>, Vec<Step>) {
        let on_cpu = self.on_cpu();
        let mut steps = Steps::default();
        let mut sums: BTreeMap<State, Sum> = BTreeMap::new();
        for (place, amount) in &self.places {
            let Some(place) = place else {
                steps.add(0, 0, State::Unexplained, Reason::NotObserved, *amount);
                sums.entry(State::Unexplained).or_default().add(amount.ns, true, false);
                continue;
            };
            let own = on_cpu.get(&place.tid).copied().unwrap_or(0);
            for (state, ns) in
                evidence.divide(place.tid, place.doing, amount.ns, |thread| thread.path_mix, own)
            {
                if ns == 0 {
                    continue;
                }
                let reason = match place.doing {
                    Doing::Wait(id, _) if state != State::Runqueue => evidence.reason(id),
                    _ if state == State::Runqueue => Reason::PreemptedUnseen,
                    _ => Reason::None,
                };
                let moved = state == State::Runqueue && place.doing != Doing::Ready;
                steps.add(place.pid, place.tid, state, reason, Amount { ns, ..*amount });
                sums.entry(state).or_default().add(ns, place.sure, moved);
            }
        }
        let name = |tid| evidence.threads.get(&tid).map(|thread| thread.name.to_text()).unwrap_or_default();
        let steps = steps.longest_first(name);
        (self.parts(&sums, evidence), steps)
    }

    fn parts(&self, sums: &BTreeMap<State, Sum>, evidence: &Evidence<'_>) -> Vec<Part> {
        let wall_ns = self.now - self.start;
        let unsure: Ns = sums.values().map(|sum| sum.unsure).sum();
        let user = evidence.pooled_share();
        let of_state = |state| sums.get(&state).map_or(0, |sum: &Sum| sum.sure + sum.unsure);
        let on_cpu = of_state(State::User) + of_state(State::Kernel);
        let part = |(state, sum): (&State, &Sum)| {
            let ns = sum.sure + sum.unsure;
            let scaled = |share: f64, of: Ns| (of as f64 * share) as Ns;
            let of_cpu = |state| match state {
                State::User => Some((user.lo, user.hi)),
                State::Kernel => Some((1.0 - user.hi, 1.0 - user.lo)),
                _ => None,
            };
            let sampled_cpu = of_cpu(*state);
            let (basis, lo, hi) = match (evidence.looks, state) {
                (_, State::Unexplained) => (Basis::Derived, ns, ns),
                // Nothing but looks: each says of one moment which state it was.
                (Some(looks), _) => {
                    let of =
                        |ns: Ns| wilson((ns as f64 / wall_ns as f64 * looks as f64).round() as u64, looks);
                    let (lo, hi) = match sampled_cpu {
                        Some((lo, hi)) => {
                            let on_cpu = of(on_cpu);
                            (on_cpu.lo * lo, on_cpu.hi * hi)
                        }
                        None => (of(ns).lo, of(ns).hi),
                    };
                    (Basis::Sampled, scaled(lo, wall_ns), scaled(hi, wall_ns))
                }
                // Switches bound it; what is unsure is which of the states it was.
                (None, _) => match sampled_cpu {
                    Some((lo, hi)) => {
                        let guessed = on_cpu.min(unsure);
                        (Basis::Sampled, scaled(lo, on_cpu - guessed), scaled(hi, on_cpu) + unsure)
                    }
                    None if *state == State::Runqueue && !sum.moved && unsure == 0 => {
                        (Basis::Measured, ns, ns)
                    }
                    None => (Basis::Derived, sum.sure, sum.sure + unsure),
                },
            };
            Part { state: *state, ns, basis, lo_ns: lo.min(ns), hi_ns: hi.clamp(ns, wall_ns) }
        };
        sums.iter().filter(|(_, sum)| sum.sure + sum.unsure > 0).map(part).collect()
    }

    /// The path over time.
    pub(super) fn phases(&self, evidence: &Evidence<'_>) -> Phases {
        let on_cpu = self.on_cpu();
        self.slices.phases(|key, ns| match key {
            None => vec![(State::Unexplained, ns)],
            Some((tid, doing)) => {
                let own = on_cpu.get(&tid).copied().unwrap_or(0);
                evidence.divide(tid, doing, ns, |thread| thread.path_mix, own)
            }
        })
    }
}

/// Steps of the path, those that read alike as one.
#[derive(Debug, Default)]
pub(super) struct Steps(BTreeMap<(Pid, Tid, State, String), (Reason, Amount)>);

impl Steps {
    pub(super) fn add(&mut self, pid: Pid, tid: Tid, state: State, reason: Reason, amount: Amount) {
        let key = (pid, tid, state, reason.to_string());
        self.0.entry(key).or_insert_with(|| (reason, Amount::default())).1.add(amount);
    }

    /// All of them; `name` tells a thread's.
    pub(super) fn longest_first(self, name: impl Fn(Tid) -> String) -> Vec<Step> {
        let step = |((pid, tid, state, _), (reason, amount)): (_, (_, Amount))| Step {
            pid,
            tid,
            process: name(tid),
            state,
            reason,
            ns: amount.ns,
            count: amount.count,
        };
        let mut steps: Vec<Step> = self.0.into_iter().map(step).collect();
        steps.sort_by_key(|step| std::cmp::Reverse(step.ns));
        steps
    }
}

impl Amount {
    pub(super) fn add(&mut self, other: Amount) {
        self.ns += other.ns;
        self.count += other.count;
    }
}

/// One state's time.
#[derive(Debug, Default)]
struct Sum {
    sure: Ns,
    unsure: Ns,
    /// Some of it was taken out of waits by the kernel's own counters.
    moved: bool,
}

impl Sum {
    fn add(&mut self, ns: Ns, sure: bool, moved: bool) {
        if sure {
            self.sure += ns;
        } else {
            self.unsure += ns;
        }
        self.moved |= moved;
    }
}
