//! A window on what lived already, from looks: the account is the threads' own time.
//!
//! In tier `proc` the kernel's counters decide how long a thread was on a CPU and in the run queue, and the looks only
//! what it did with the rest; in tier `perf` the switches decide, and the counters tell how long a thread had been woken
//! before its CPU came.

use super::ledger::{Amount, Evidence, Slices, Steps};
use super::tree::{Doing, Thread, WaitId};
use super::{Closed, Counted, Poll, wait_rows};
use crate::calls::waits_for_work;
use crate::classify::{Classified, Next};
use crate::names::Names;
use crate::pieces::Pieces;
use model::account::{Basis, Part, Step};
use model::recording::{Attached, Looked as Snapshot, Tier, Trailer};
use model::run::{Faults, Thread as ThreadRow, Window};
use model::{Ns, Pid, Reason, Seen, State, Tid};
use rustc_hash::FxHashMap;
use stats::wilson;
use std::collections::{BTreeMap, BTreeSet};

/// One part in this many of its life on a CPU is what a thread that only waits for work may take.
const IDLE_SHARE: Ns = 1000;

/// A thread's time in one state, and in which wait.
type Divided = (State, Option<WaitId>, Ns);

/// How what a thread was seen to do divides by states.
#[derive(Debug, Clone, Copy)]
struct Shares {
    /// Of time on a CPU: in the program's own code.
    user: f64,
    /// Of time that looked runnable: on a CPU or in the run queue. The rest was the wait that is given here.
    busy: f64,
    longest: Option<WaitId>,
    /// Of that busy time: in the run queue.
    queued: f64,
    /// Of time that looked like waiting: on a CPU or in the run queue.
    moved: f64,
    /// Of that: in the run queue.
    moved_queued: f64,
}

/// One thread of the window.
struct Member<'a> {
    thread: &'a Thread,
    shares: Shares,
    /// Time on a CPU and in the run queue, as the kernel counted them.
    counted: Option<(Ns, Ns)>,
    idle: bool,
}

impl Poll {
    /// Takes note of what the kernel had counted of a thread when the window began, at the first look at it.
    pub(super) fn lived_before(&mut self, at: Ns, looked: &Snapshot) {
        if self.window.is_none() {
            return;
        }
        let first_look = self.last_look.is_none();
        let Some(thread) = self.tree.get_mut(looked.tid) else { return };
        thread.looks += 1;
        thread.looks_waiting += u64::from(matches!(looked.state, b'S' | b'D'));
        if thread.looked.is_some() {
            return;
        }
        // One that comes later was born in the window, unless it had more than there was time for: it came from elsewhere.
        let used = looked.cpu_ns.value().copied().unwrap_or(looked.user_ns + looked.kernel_ns);
        let young = at.saturating_sub(thread.born) + 2 * super::REACH_NS;
        if first_look || used > young {
            thread.before = Some(looked.clone());
            thread.looked = Some(looked.clone());
        }
    }

    /// The account of a window, when all is over.
    pub(super) fn close_window(mut self, attached: Attached, trailer: &Trailer) -> Closed {
        let end = trailer.reaped_at.max(attached.at);
        let threads = self.tree.close(end);
        let slices = self.tree.slices.take().unwrap_or_else(|| Slices::new(attached.at));
        let hides_kernel = self.tier == Tier::Perf && self.kernel_samples == 0;
        let evidence = Evidence {
            tree: &self.tree,
            names: &self.names,
            threads: FxHashMap::default(),
            only_user_each_ns: hides_kernel.then_some(self.period_ns),
            rusage: None,
            runnable: FxHashMap::default(),
            looks: None,
            pooled: self.pooled,
            on_cpu_ns: threads.iter().map(|thread| on_cpu(thread, self.tier)).sum(),
        };
        let members: Vec<Member<'_>> =
            threads.iter().map(|thread| Member::new(thread, self.tier, &evidence)).collect();
        let (idle, active): (Vec<_>, Vec<_>) = members.iter().partition(|member| member.idle);
        let told: &[&Member<'_>] = if active.is_empty() { &idle } else { &active };
        let life = |members: &[&Member<'_>]| members.iter().map(|member| member.life_ns()).sum();
        let processes: BTreeSet<Pid> = threads.iter().map(|thread| thread.pid).collect();
        let window = Window {
            target: attached.target,
            processes: processes.len() as u64,
            threads_active: active.len() as u64,
            threads_idle: idle.len() as u64,
            thread_ns: life(told),
            idle_ns: life(&idle),
        };
        let waits_of = |members: &mut dyn Iterator<Item = &Member<'_>>| -> Vec<(WaitId, Ns)> {
            let divided = members.flat_map(|member| member.divided(&evidence));
            divided.filter_map(|((_, wait, ns), _)| Some((wait?, ns))).collect()
        };
        let path = waits_of(&mut told.iter().copied());
        let all = waits_of(&mut members.iter());
        let by_tid: FxHashMap<Tid, &Member<'_>> =
            told.iter().map(|member| (member.thread.tid, *member)).collect();
        let phases = slices.phases(|key, ns| {
            let known = key.and_then(|(tid, doing)| Some((by_tid.get(&tid)?, doing)));
            let divided = known.map(|(member, doing)| member.shares.divide(doing, ns, &evidence));
            divided.unwrap_or_default().into_iter().map(|(state, _, ns)| (state, ns)).collect()
        });
        let pieces = Pieces {
            start: attached.at,
            wall_ns: end - attached.at,
            parts: parts(told, self.tier, &evidence),
            steps: steps(told, &evidence),
            phases,
            threads: members.iter().map(|member| member.row(&evidence)).collect(),
            waits: wait_rows(&self.tree, &self.names, path.into_iter(), Some(&all)),
            window: Some(window),
        };
        let faults = Faults {
            minor: members.iter().filter_map(|member| member.count(|sight| sight.minor_faults)).sum(),
            major: members.iter().filter_map(|member| member.count(|sight| sight.major_faults)).sum(),
        };
        let counted = members.iter().map(|member| Some(member.counted?.0)).sum::<Option<Ns>>();
        let came = threads.iter().filter_map(|thread| Some(thread.ledger.get(&Doing::Cpu)?.count));
        let cpu = counted.filter(|_| self.tier == Tier::Perf).map(|theirs_ns| Counted {
            ours_ns: evidence.on_cpu_ns,
            theirs_ns,
            switches: came.sum(),
        });
        Closed { pieces, faults, cpu, notes: notes(self.tier, self.looks_within, end - attached.at) }
    }
}

/// Time on a CPU: by the switches, else by the kernel's count, else by the looks.
fn on_cpu(thread: &Thread, tier: Tier) -> Ns {
    let seen = thread.spent(Doing::Cpu);
    if tier == Tier::Perf { seen } else { counted(thread).map_or(seen, |(cpu, _)| cpu) }
}

/// What the kernel counted in the window: on a CPU, in the run queue.
fn counted(thread: &Thread) -> Option<(Ns, Ns)> {
    let now = thread.looked.as_ref()?;
    let before = |of: fn(&Snapshot) -> &Seen<Ns>| match &thread.before {
        Some(before) => of(before).value().copied(),
        None => Some(0),
    };
    let since = |of: fn(&Snapshot) -> &Seen<Ns>| Some(of(now).value()?.saturating_sub(before(of)?));
    Some((since(|sight| &sight.cpu_ns)?, since(|sight| &sight.runqueue_ns)?))
}

impl Shares {
    fn of(thread: &Thread, tier: Tier, counted: Option<(Ns, Ns)>, evidence: &Evidence<'_>) -> Self {
        let user = evidence.user_share(thread.mix, on_cpu(thread, tier));
        let mut waits: Vec<(Ns, WaitId)> = Vec::new();
        for (doing, amount) in &thread.ledger {
            if let Doing::Wait(id, _) = doing {
                waits.push((amount.ns, *id));
            }
        }
        let waiting: Ns = waits.iter().map(|(ns, _)| ns).sum();
        let longest = waits.into_iter().max().map(|(_, id)| id);
        let mut shares = Self { user, busy: 1.0, longest, queued: 0.0, moved: 0.0, moved_queued: 0.0 };
        let Some((cpu, queue)) = counted else { return shares };
        let runnable = thread.spent(Doing::Cpu);
        // Of what no look fell into the counters tell too.
        let rest = waiting + thread.spent(Doing::Unseen);
        if tier == Tier::Perf {
            let late = queue.saturating_sub(thread.spent(Doing::Ready));
            shares.moved = share(late, rest);
            shares.moved_queued = 1.0;
            return shares;
        }
        let busy = (cpu + queue).min(runnable + rest);
        shares.queued = share(queue, cpu + queue);
        shares.moved_queued = shares.queued;
        shares.moved = share(busy.saturating_sub(runnable), rest);
        if longest.is_some() && busy < runnable {
            shares.busy = share(busy, runnable);
        }
        shares
    }

    /// Divides time by states; the sum is `ns` exactly.
    fn divide(&self, doing: Doing, ns: Ns, evidence: &Evidence<'_>) -> Vec<Divided> {
        let part = |of: Ns, share: f64| ((of as f64 * share) as Ns).min(of);
        let state_of = |id: WaitId| evidence.tree.waits[id as usize].state;
        let busy = |ns: Ns, queued: f64| {
            let queue = part(ns, queued);
            let user = part(ns - queue, self.user);
            [
                (State::User, None, user),
                (State::Kernel, None, ns - queue - user),
                (State::Runqueue, None, queue),
            ]
        };
        let divided = match doing {
            Doing::Cpu => {
                let ran = if self.longest.is_some() { part(ns, self.busy) } else { ns };
                let waited = self.longest.map(|id| (state_of(id), Some(id), ns - ran));
                busy(ran, self.queued).into_iter().chain(waited).collect()
            }
            Doing::Ready => vec![(State::Runqueue, None, ns)],
            Doing::Stopped => vec![(State::Stopped, None, ns)],
            Doing::Wait(..) | Doing::Unseen => {
                let moved = part(ns, self.moved);
                let rest = match doing {
                    Doing::Wait(id, _) => (state_of(id), Some(id), ns - moved),
                    _ => (State::Unexplained, None, ns - moved),
                };
                busy(moved, self.moved_queued).into_iter().chain([rest]).collect::<Vec<_>>()
            }
        };
        divided.into_iter().filter(|(_, _, ns)| *ns > 0).collect()
    }
}

fn share(part: Ns, whole: Ns) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
}

impl<'a> Member<'a> {
    fn new(thread: &'a Thread, tier: Tier, evidence: &Evidence<'_>) -> Self {
        let counted = counted(thread);
        let shares = Shares::of(thread, tier, counted, evidence);
        let mut member = Self { thread, shares, counted, idle: false };
        member.idle = member.is_idle(tier, evidence);
        member
    }

    fn life_ns(&self) -> Ns {
        self.thread.ledger.values().map(|amount| amount.ns).sum()
    }

    /// Whether a thread did nothing in the window but wait for work: it was on no CPU and in one wait, or next to never on
    /// a CPU and otherwise in calls that wait for work.
    fn is_idle(&self, tier: Tier, evidence: &Evidence<'_>) -> bool {
        let (life, ran) = (self.life_ns(), on_cpu(self.thread, tier));
        let runnable = self.thread.spent(Doing::Cpu) + self.thread.spent(Doing::Ready);
        let kinds: BTreeSet<usize> = self.waits().map(|(id, _)| evidence.tree.kinds[id as usize]).collect();
        let stirred = self.counted.map_or(runnable > 0, |(cpu, queue)| cpu + queue > 0) || ran > 0;
        let one_wait = !stirred && runnable == 0 && kinds.len() <= 1;
        let for_work: Ns = self
            .waits()
            .filter(|(id, _)| is_for_work(evidence.tree.waits[*id as usize], evidence.names))
            .map(|(_, ns)| ns)
            .sum();
        let queued = self.counted.map_or(0, |(_, queue)| queue);
        let rest = life.saturating_sub(for_work + queued + ran);
        let only_for_work = for_work > 0 && ran * IDLE_SHARE < life && rest * IDLE_SHARE < life;
        life > 0 && (one_wait || only_for_work)
    }

    fn waits(&self) -> impl Iterator<Item = (WaitId, Ns)> {
        self.thread.ledger.iter().filter_map(|(doing, amount)| match doing {
            Doing::Wait(id, _) => Some((*id, amount.ns)),
            _ => None,
        })
    }

    /// What it did by states, each with how often it was seen, and whether a look fell into it.
    fn divided(&self, evidence: &Evidence<'_>) -> Vec<(Divided, (u64, bool))> {
        let each = self.thread.ledger.iter().flat_map(|(doing, amount)| {
            let sure = !matches!(doing, Doing::Wait(_, false));
            let divided = self.shares.divide(*doing, amount.ns, evidence);
            divided.into_iter().map(move |one| (one, (amount.count, sure)))
        });
        each.collect()
    }

    /// What was counted in the window.
    fn count(&self, of: fn(&Snapshot) -> u64) -> Option<u64> {
        let now = of(self.thread.looked.as_ref()?);
        Some(now.saturating_sub(self.thread.before.as_ref().map_or(0, of)))
    }

    fn row(&self, evidence: &Evidence<'_>) -> ThreadRow {
        let mut states: BTreeMap<State, Ns> = BTreeMap::new();
        for ((state, _, ns), _) in self.divided(evidence) {
            *states.entry(state).or_default() += ns;
        }
        let faults = |of| match self.count(of) {
            Some(faults) => Seen::Value(faults),
            None => Seen::unseen("it ended before it was looked at"),
        };
        ThreadRow {
            pid: self.thread.pid,
            tid: self.thread.tid,
            name: self.thread.name.to_text(),
            life_ns: self.life_ns(),
            outlived: self.thread.died.is_none(),
            idle: self.idle,
            states: states.into_iter().collect(),
            minor_faults: faults(|sight| sight.minor_faults),
            major_faults: faults(|sight| sight.major_faults),
        }
    }
}

/// Whether a thread waits until somebody wants something of it; where the call could not be read, by where it sleeps.
fn is_for_work(wait: Classified, names: &Names) -> bool {
    match wait.call.syscall() {
        Some(call) => names.arch.name(call).is_some_and(waits_for_work),
        None => !matches!(wait.next, Next::Nowhere | Next::Pipe { .. }),
    }
}

/// The account by place.
fn steps(told: &[&Member<'_>], evidence: &Evidence<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    for member in told {
        let Thread { pid, tid, name, .. } = member.thread;
        let mut own = Steps::default();
        for ((state, wait, ns), (count, _)) in member.divided(evidence) {
            let reason = match wait {
                Some(id) => evidence.reason(id),
                None if state == State::Runqueue => Reason::PreemptedUnseen,
                None => Reason::None,
            };
            own.add(*pid, *tid, state, reason, Amount { ns, count });
        }
        steps.extend(own.longest_first(|_| name.to_text()));
    }
    steps.sort_by_key(|step| std::cmp::Reverse(step.ns));
    steps
}

/// What is known of one state's time.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    ns: Ns,
    /// A look fell into it.
    sure_ns: Ns,
}

/// The account by state, each part with what it rests on.
fn parts(told: &[&Member<'_>], tier: Tier, evidence: &Evidence<'_>) -> Vec<Part> {
    let mut sums: BTreeMap<State, Sum> = BTreeMap::new();
    let mut ready_ns = 0;
    for member in told {
        ready_ns += member.thread.spent(Doing::Ready);
        for ((state, _, ns), (_, sure)) in member.divided(evidence) {
            let sum = sums.entry(state).or_default();
            sum.ns += ns;
            sum.sure_ns += if sure { ns } else { 0 };
        }
    }
    let sum_of = |which: &dyn Fn(State) -> bool| -> Ns {
        sums.iter().filter(|(state, _)| which(**state)).map(|(_, sum)| sum.ns).sum()
    };
    let (all, on_cpu, blocked) = (sum_of(&|_| true), sum_of(&State::on_cpu), sum_of(&State::blocked));
    let looks: u64 = told.iter().map(|member| member.thread.looks).sum();
    let looks_waiting: u64 = told.iter().map(|member| member.thread.looks_waiting).sum();
    // Where the kernel counts neither, looks alone say how long it was on a CPU.
    let is_counted = tier == Tier::Perf || told.iter().all(|member| member.counted.is_some());
    let user = evidence.pooled_share();
    let scaled = |share: f64, of: Ns| (of as f64 * share) as Ns;
    // Of `whole`, which that many looks were about, the part that so much of them was.
    let looked = |ns: Ns, whole: Ns, looks: u64| {
        let of = wilson((ns as f64 / whole.max(1) as f64 * looks as f64).round() as u64, looks);
        (scaled(of.lo, whole), scaled(of.hi, whole))
    };
    let part = |(state, sum): (&State, &Sum)| {
        let ns = sum.ns;
        let (least, most) = if is_counted { (on_cpu, on_cpu) } else { looked(on_cpu, all, looks) };
        let (basis, (lo, hi)) = match state {
            State::User => (Basis::Sampled, (scaled(user.lo, least), scaled(user.hi, most))),
            State::Kernel => (Basis::Sampled, (scaled(1.0 - user.hi, least), scaled(1.0 - user.lo, most))),
            State::Stopped | State::Unexplained => (Basis::Derived, (ns, ns)),
            State::Runqueue if tier == Tier::Proc && is_counted => (Basis::Measured, (ns, ns)),
            State::Runqueue if tier == Tier::Perf && ready_ns == ns => (Basis::Measured, (ns, ns)),
            State::Runqueue if tier == Tier::Perf => (Basis::Derived, (ready_ns, ns)),
            _ if tier == Tier::Perf => (Basis::Derived, (sum.sure_ns, ns)),
            state if is_counted && state.blocked() => (Basis::Sampled, looked(ns, blocked, looks_waiting)),
            _ => (Basis::Sampled, looked(ns, all, looks)),
        };
        Part { state: *state, ns, basis, lo_ns: lo.min(ns), hi_ns: hi.clamp(ns, all) }
    };
    sums.iter().map(part).collect()
}

/// What a window's account rests on, in words.
fn notes(tier: Tier, looks: u64, wall_ns: Ns) -> Vec<String> {
    let every_ms = wall_ns as f64 / 1e6 / looks.max(1) as f64;
    let rests = match tier {
        Tier::Proc => {
            "time on a CPU and in the run queue is the kernel's own count of each thread; what was waited for rests on"
        }
        _ => "switches were seen; what was waited for rests on",
    };
    let mut notes = vec![format!("{rests} {looks} looks at /proc, one each {every_ms:.1} ms")];
    if tier == Tier::Proc {
        notes.push("threads that lived between two looks only were not seen".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests;
