//! Waits that turn out to be for a lock, or for work: a lock is a lock however its wait ends.
//!
//! A wait is booked when it ends, by its call and by what ended it, and stacks of waits come
//! later. One that a time limit or a signal ended was booked as that: a sleep, or a wait for
//! another thread. Where most of its time was spent in a function that takes a lock, all of it is
//! moved. In a window the same tells a thread that has no work from one that waits for a lock: both
//! sleep on a futex. What threads sleep that only keep time is not waited for, either.

use super::activity::{Activity, NOBODY, Slot};
use super::pools::{Pools, Workers, futex_of_lock};
use super::waits::{Wait, Waits};
use crate::code::Code;
use crate::keys::{CallKey, ReasonKey, TargetKey, WaitKey, Who};
use crate::names::Names;
use crate::purpose::{
    Taken, interpreter_lock, is_on_condition, lock_function, taken_otherwise, waits_for_work,
};
use model::recording::Language;
use model::wait::TargetKind;
use model::{Ns, State};
use rustc_hash::{FxHashMap, FxHashSet};

/// What waits turned out to be, by what they were booked as.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    /// By thread too, where it is known by the thread's own stacks.
    of: FxHashMap<(WaitKey, Slot), WaitKey>,
    /// Threads of a window that only keep time: their sleep is idle.
    keep_time: FxHashSet<Slot>,
    /// Futexes of which stacks were taken, and whether these are in a function that takes a lock.
    futexes: FxHashMap<u64, bool>,
}

/// What a stack says of a wait.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Says {
    Interpreter(Language),
    /// It takes a lock in this function.
    Lock(String),
    /// It takes what may as well be a notice.
    Taken(Taken),
    /// It has no work.
    Work,
    /// It waits until another thread has made something true.
    Condition,
    Else,
}

/// Time by what stacks say.
#[derive(Debug, Default)]
struct Tally(FxHashMap<Says, Ns>);

/// Reads stacks, each once.
struct Reader<'a> {
    code: &'a Code,
    read: FxHashMap<u32, Says>,
}

/// Whether stacks may tell that such a wait was for a lock, or for which.
fn may_be_for_a_lock((state, reason): WaitKey) -> bool {
    let ReasonKey::Wait(_, target) = reason else { return false };
    match state {
        State::Lock => matches!(target, TargetKey::Futex(_)),
        // Whoever calls a sleep sleeps, also while it has a lock.
        State::Sleep => !matches!(target, TargetKey::Nameless(TargetKind::Timer)),
        // Slept on through all of a window.
        State::Idle if matches!(target, TargetKey::Futex(_)) => true,
        State::OtherWait | State::Idle => matches!(
            target,
            TargetKey::Nameless(TargetKind::Thread | TargetKind::Signal)
                | TargetKey::Task(_)
                | TargetKey::External
                | TargetKey::Unseen(TargetKind::External, _)
        ),
        _ => false,
    }
}

/// Whether stacks may tell that such a wait was something else than it was booked as: in a window
/// also that a pool had no work, whose workers read it from a pipe.
pub(crate) fn stacks_may_tell(kind: WaitKey, in_window: bool) -> bool {
    may_be_for_a_lock(kind) || (in_window && is_on_pipe(kind))
}

fn is_on_pipe((state, reason): WaitKey) -> bool {
    let ReasonKey::Wait(_, target) = reason else { return false };
    let is = matches!(
        target,
        TargetKey::Named(TargetKind::Pipe, _)
            | TargetKey::Nameless(TargetKind::Pipe)
            | TargetKey::Unseen(TargetKind::Pipe, _)
    );
    state == State::Pipe && is
}

impl Verdicts {
    /// By the stacks of all waits, and by which threads only keep time. `in_window`: there it is
    /// known which thread has a place.
    pub(crate) fn new(
        waits: &Waits,
        code: &Code,
        in_window: Option<&dyn Fn(Slot) -> Who>,
        keep_time: FxHashSet<Slot>,
        names: &mut Names,
    ) -> Self {
        let pools = in_window.map(|who| Pools::new(waits, who)).unwrap_or_default();
        let mut reader = Reader { code, read: FxHashMap::default() };
        let is = |kind, says: &Says, given, names: &mut Names| {
            let notice = futex(kind).is_some_and(|address| pools.is_notice(address));
            revised(kind, says, WaitContext { given, notice, in_window: in_window.is_some() }, names)
        };
        let mut all = Self { keep_time, ..Self::default() };
        let mut by_address: FxHashMap<u64, Tally> = FxHashMap::default();
        let mut by_call: FxHashMap<(CallKey, Slot), Tally> = FxHashMap::default();
        for (kind, threads) in waits.kinds().filter(|(kind, _)| stacks_may_tell(*kind, in_window.is_some())) {
            for (thread, wait) in threads {
                let (tally, given) = (reader.tally(wait), wait.was_given());
                if let Some(says) = tally.most().or(given.then_some(&Says::Else)) {
                    all.of.insert((kind, *thread), is(kind, says, given, names));
                }
                if let Some(rather) = wait.is_rather() {
                    all.of.insert((kind, *thread), rather);
                }
                if let Some(address) = futex(kind) {
                    by_address.entry(address).or_default().add(&tally);
                }
                if let ReasonKey::Wait(call, _) = kind.1 {
                    by_call.entry((call, *thread)).or_default().add(&tally);
                }
            }
        }
        // One that the end of the window cuts has no stack: it is what the thread's others in this
        // call were.
        let may_be_cut =
            |(state, _): &WaitKey| in_window.is_some() && matches!(state, State::OtherWait | State::Idle);
        for (kind, threads) in waits.kinds().filter(|(kind, _)| may_be_cut(kind) && may_be_for_a_lock(*kind))
        {
            let ReasonKey::Wait(call, _) = kind.1 else { continue };
            for thread in threads.keys() {
                if let Some(says) = by_call.get(&(call, *thread)).and_then(Tally::most) {
                    all.of.entry((kind, *thread)).or_insert_with(|| is(kind, says, false, names));
                }
            }
        }
        // A futex is the same for those of whom no stack was taken.
        for (kind, _) in waits.kinds().filter(|(kind, _)| may_be_for_a_lock(*kind)) {
            if let Some(says) = futex(kind).and_then(|address| by_address.get(&address)?.most()) {
                all.of.entry((kind, NOBODY)).or_insert_with(|| is(kind, says, false, names));
            }
        }
        if let Some(who) = in_window {
            all.locks_of_pools(waits, who);
        }
        let is_lock = |says: &Says| matches!(says, Says::Lock(_) | Says::Interpreter(_));
        let of_futex = |(address, tally): (&u64, &Tally)| Some((*address, is_lock(tally.most()?)));
        all.futexes = by_address.iter().filter_map(of_futex).collect();
        all
    }

    /// Locks with which threads of a pool wait for work: who waits for those waits for work, too.
    fn locks_of_pools(&mut self, waits: &Waits, who: &dyn Fn(Slot) -> Who) {
        let workers = Workers::new(waits, who, |wait, thread| self.of(wait, thread));
        for (kind, threads) in waits.kinds() {
            let Some(address) = futex_of_lock(kind) else { continue };
            for (thread, wait) in threads {
                if workers.hold_without_work(address, wait) {
                    self.of.insert((kind, *thread), (State::Idle, kind.1));
                }
            }
        }
    }

    /// Whether this futex is a lock, where the stacks of waits for it tell.
    pub(crate) fn is_lock(&self, futex: u64) -> Option<bool> {
        self.futexes.get(&futex).copied()
    }

    /// What such a wait of this thread was.
    pub(crate) fn of(&self, wait: WaitKey, thread: Slot) -> WaitKey {
        let known = self.of.get(&(wait, thread));
        let of_many = || self.of.get(&(wait, NOBODY)).filter(|_| futex(wait).is_some());
        match known.or_else(of_many).copied().unwrap_or(wait) {
            (State::Sleep, reason) if self.keeps_time(thread) => (State::Idle, reason),
            wait => wait,
        }
    }

    /// Whether a thread only keeps time.
    pub(crate) fn keeps_time(&self, thread: Slot) -> bool {
        self.keep_time.contains(&thread)
    }

    /// The activity as it turned out.
    pub(crate) fn revise(&self, activity: &mut Activity) {
        (activity.state, activity.reason) = self.of((activity.state, activity.reason), activity.thread);
    }

    /// The waits with each where it belongs.
    pub(crate) fn sort(&self, waits: Waits) -> Waits {
        waits.moved(|wait, thread| self.of(wait, thread))
    }
}

/// The futex of such a wait, where it is known which.
fn futex((_, reason): WaitKey) -> Option<u64> {
    match reason {
        ReasonKey::Wait(_, TargetKey::Futex(address) | TargetKey::TimedFutex(address)) => {
            (address != 0).then_some(address)
        }
        _ => None,
    }
}

/// What is known of a wait besides its stacks.
#[derive(Debug, Clone, Copy)]
struct WaitContext {
    /// Time ended it, and then another thread gave what it was for.
    given: bool,
    /// Its futex is how threads are told of work.
    notice: bool,
    in_window: bool,
}

/// The kind that such a wait is of, as its stacks have it.
fn revised(kind: WaitKey, says: &Says, known: WaitContext, names: &mut Names) -> WaitKey {
    let WaitContext { given, notice, in_window } = known;
    let (_, ReasonKey::Wait(call, target)) = kind else { return kind };
    let lock = |target| (State::Lock, ReasonKey::Wait(call, target));
    match (says, target) {
        (Says::Work, TargetKey::TimedFutex(_)) if in_window => (State::Idle, kind.1),
        (Says::Taken(_) | Says::Else, TargetKey::Futex(_)) if in_window && notice => (State::Idle, kind.1),
        (Says::Condition | Says::Taken(_) | Says::Else, TargetKey::TimedFutex(address))
            if in_window && given && (notice || *says == Says::Condition) =>
        {
            (State::Idle, ReasonKey::Wait(call, TargetKey::Futex(address)))
        }
        // A pipe is no lock, whatever else the function does that reads it.
        (Says::Work, _) if is_on_pipe(kind) && in_window => (State::Idle, kind.1),
        _ if is_on_pipe(kind) => kind,
        // Threads of a runtime that keep time are told when it ends: that is not what they wait
        // for.
        (Says::Work, TargetKey::TimedFutex(_)) => kind,
        (Says::Taken(Taken::OfScript), TargetKey::TimedFutex(address)) => lock(TargetKey::Futex(address)),
        (Says::Condition | Says::Taken(_) | Says::Else, TargetKey::TimedFutex(address)) if given => {
            lock(TargetKey::Futex(address))
        }
        // One that time ended, and nobody else ever ends, is a sleep.
        (Says::Work | Says::Condition, _) if in_window && kind.0 != State::Sleep => (State::Idle, kind.1),
        (Says::Work | Says::Condition | Says::Taken(_) | Says::Else, _) => kind,
        (Says::Interpreter(language), _) => lock(TargetKey::InterpreterLock(*language)),
        (Says::Lock(_), TargetKey::Futex(address) | TargetKey::TimedFutex(address)) => {
            lock(TargetKey::Futex(address))
        }
        (Says::Lock(function), _) => {
            let call = if matches!(call, CallKey::Fault) { CallKey::Unseen } else { call };
            (State::Lock, ReasonKey::Wait(call, TargetKey::LockIn(names.function(function))))
        }
    }
}

impl Tally {
    fn add(&mut self, more: &Tally) {
        more.0.iter().for_each(|(says, ns)| *self.0.entry(says.clone()).or_default() += ns);
    }

    /// What at least half of the time says.
    fn most(&self) -> Option<&Says> {
        let all: Ns = self.0.values().sum();
        let is_lock = |says: &Says| matches!(says, Says::Lock(_));
        let locks: Ns = self.0.iter().filter(|(says, _)| is_lock(says)).map(|(_, ns)| ns).sum();
        let most = |which: &dyn Fn(&Says) -> bool| {
            let some = self.0.iter().filter(|(says, _)| which(says));
            some.max_by(|(a, a_ns), (b, b_ns)| (a_ns, a.name()).cmp(&(b_ns, b.name()))).map(|(says, _)| says)
        };
        if locks > 0 && locks >= all - locks { most(&is_lock) } else { most(&|_| true) }
    }
}

impl Says {
    fn name(&self) -> &str {
        match self {
            Says::Lock(function) => function,
            Says::Interpreter(_) | Says::Taken(_) | Says::Work | Says::Condition | Says::Else => "",
        }
    }
}

impl Reader<'_> {
    fn tally(&mut self, wait: &Wait) -> Tally {
        let mut tally = Tally::default();
        for (node, ns) in &wait.stacks {
            *tally.0.entry(self.says(*node).clone()).or_default() += ns;
        }
        tally
    }

    fn says(&mut self, node: u32) -> &Says {
        self.read.entry(node).or_insert_with(|| {
            let stack = self.code.stack(node);
            match (interpreter_lock(&stack), lock_function(&stack)) {
                (Some(language), _) => Says::Interpreter(language),
                (None, Some(function)) => Says::Lock(function.to_owned()),
                (None, None) if waits_for_work(&stack) => Says::Work,
                (None, None) if is_on_condition(&stack) => Says::Condition,
                (None, None) => taken_otherwise(&stack).map_or(Says::Else, Says::Taken),
            }
        })
    }
}
