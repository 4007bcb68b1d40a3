//! The threads of a window: what each was seen to do, and how its time divides.

use super::closed::Counted;
use super::division::{part, share};
use super::mix::UserShare;
use super::run::UNCOUNTED;
use super::thread::Thread;
use crate::account::{
    self, Activity, Divide, Ledgers, Life, Passed, Portion, Portions, Slot, ThreadTotals, Times, Total,
    by_activity,
};
use crate::keys::{ReasonKey, WaitKey};
use model::recording::{ThreadSnapshot as Snapshot, Tier};
use model::run::{Faults, ThreadLedger as ThreadRow};
use model::{Ns, Seen, State};
use rustc_hash::{FxHashMap, FxHashSet};

/// All threads of a window, in order of birth.
pub(super) struct Members<'a> {
    pub(super) all: Vec<Member<'a>>,
    by_slot: FxHashMap<Slot, usize>,
    pub(super) user: UserShare<'a>,
    pub(super) tier: Tier,
}

/// One thread of the window.
pub(super) struct Member<'a> {
    pub(super) thread: &'a Thread,
    pub(super) totals: Vec<(Activity, Total)>,
    shares: Shares,
    /// Time on a CPU and in the run queue, as the kernel counted them.
    pub(super) counted: Option<(Ns, Ns)>,
    idle: bool,
}

/// How what a thread was seen to do divides by states.
#[derive(Debug, Clone, Copy)]
struct Shares {
    /// Of time on a CPU: in the program's own code.
    user: f64,
    /// Of time that looked runnable: on a CPU or in the run queue. The rest was its longest wait.
    busy: f64,
    longest: Option<WaitKey>,
    /// Of that busy time: in the run queue.
    queued: f64,
    /// Of time that looked like waiting: on a CPU or in the run queue.
    moved: f64,
    /// Of that: in the run queue.
    moved_queued: f64,
}

impl<'a> Members<'a> {
    pub(super) fn new(
        threads: &'a [Thread],
        order: &[Slot],
        ledgers: &Ledgers,
        tier: Tier,
        mut user: UserShare<'a>,
    ) -> Self {
        let seen = |slot: &Slot| {
            let thread = &threads[*slot as usize];
            (thread, by_activity(thread.ledger.entries(ledgers.slicing).into_iter(), &ledgers.activities))
        };
        let seen: Vec<_> = order.iter().map(seen).collect();
        user.on_cpu_ns = seen.iter().map(|(thread, totals)| on_cpu(thread, totals, tier)).sum();
        let (mut members, lives): (Vec<_>, Vec<_>) =
            seen.into_iter().map(|(thread, totals)| Member::new(thread, totals, tier, &user)).unzip();
        members.iter_mut().zip(account::idle(&lives)).for_each(|(member, idle)| member.idle = idle);
        let by_slot = order.iter().enumerate().map(|(index, slot)| (*slot, index)).collect();
        Self { all: members, by_slot, user, tier }
    }

    /// The members that the account is about: all that did something, or all where none did.
    pub(super) fn accounted(&self) -> Vec<&Member<'a>> {
        let (idle, active): (Vec<_>, Vec<_>) = self.all.iter().partition(|member| member.idle);
        if active.is_empty() { idle } else { active }
    }

    /// Time on a CPU by the switches, and the scheduler's own sum, where both are known.
    pub(super) fn counted(&self) -> Option<Counted> {
        let theirs_ns = self.all.iter().map(|member| Some(member.counted?.0)).sum::<Option<Ns>>();
        let on_cpu = self.all.iter().flat_map(|member| &member.totals);
        let on_cpu = on_cpu.filter(|(activity, _)| activity.state == State::User);
        theirs_ns.filter(|_| self.tier == Tier::Perf).map(|theirs_ns| Counted {
            ours_ns: self.user.on_cpu_ns,
            theirs_ns,
            switches: on_cpu.map(|(_, total)| total.count).sum(),
        })
    }
}

impl Divide for Members<'_> {
    fn divide(&self, activity: Activity, total: &Total) -> Portions {
        match self.by_slot.get(&activity.thread) {
            Some(index) => self.all[*index].shares.divide(activity, total.ns),
            None => Portion::whole(activity, total.ns),
        }
    }
}

impl<'a> Member<'a> {
    /// And its life; whether it is idle depends on all.
    fn new(
        thread: &'a Thread,
        totals: Vec<(Activity, Total)>,
        tier: Tier,
        user: &UserShare<'_>,
    ) -> (Self, Life) {
        let counted = counted(thread);
        let on_cpu_ns = on_cpu(thread, &totals, tier);
        let user = user.of(thread.mix, on_cpu_ns);
        let shares = Shares::of(&totals, tier, counted, user);
        let member = Self { thread, totals, shares, counted, idle: false };
        let life = member.life(on_cpu_ns);
        (member, life)
    }

    fn life(&self, on_cpu_ns: Ns) -> Life {
        let active_ns = spent(&self.totals, State::User) + spent(&self.totals, State::Runqueue);
        let waits = self.totals.iter().filter(|(activity, _)| activity.state.blocked());
        let kinds: FxHashSet<WaitKey> =
            waits.map(|(activity, _)| (activity.state, activity.reason)).collect();
        let counted_ns = self.counted.map_or(0, |(cpu, queue)| cpu + queue);
        Life {
            life_ns: self.life_ns(),
            on_cpu_ns,
            queued_ns: self.counted.map_or(0, |(_, queue)| queue),
            for_work_ns: self.thread.for_work_ns,
            one_wait: active_ns + counted_ns + on_cpu_ns == 0 && kinds.len() <= 1,
        }
    }

    fn life_ns(&self) -> Ns {
        self.totals.iter().map(|(_, total)| total.ns).sum()
    }

    /// As the window counts it.
    pub(super) fn in_window(&self) -> account::Member {
        account::Member { pid: self.thread.pid, life_ns: self.life_ns(), idle: self.idle }
    }

    /// Page faults in the window.
    pub(super) fn faults(&self) -> Option<Faults> {
        let now = self.thread.looked.as_ref()?;
        let since =
            |of: fn(&Snapshot) -> u64| of(now).saturating_sub(self.thread.before.as_ref().map_or(0, of));
        Some(Faults { minor: since(|sight| sight.minor_faults), major: since(|sight| sight.major_faults) })
    }

    pub(super) fn row(&self, divide: &dyn Divide) -> ThreadRow {
        let mut states = Times::default();
        states.add_divided(&self.totals, divide);
        let row = ThreadTotals {
            passed: Passed::default(),
            pid: self.thread.pid,
            tid: self.thread.tid,
            name: self.thread.name,
            command: None,
            life_ns: self.life_ns(),
            outlived: self.thread.died.is_none(),
            idle: self.idle,
            states,
            faults: self.faults().map_or_else(|| Seen::unseen(UNCOUNTED), Seen::Value),
        };
        row.row()
    }
}

impl Shares {
    fn of(totals: &[(Activity, Total)], tier: Tier, counted: Option<(Ns, Ns)>, user: f64) -> Self {
        let waits = || totals.iter().filter(|(activity, _)| activity.state.blocked());
        let waiting: Ns = waits().map(|(_, total)| total.ns).sum();
        let longest = waits().max_by_key(|(_, total)| total.ns);
        let longest = longest.map(|(activity, _)| (activity.state, activity.reason));
        let mut shares = Self { user, busy: 1.0, longest, queued: 0.0, moved: 0.0, moved_queued: 0.0 };
        let Some((cpu, queue)) = counted else { return shares };
        let runnable = spent(totals, State::User);
        // Of what no snapshot fell into the counters tell too.
        let rest = waiting + spent(totals, State::Unexplained);
        if tier == Tier::Perf {
            let late = queue.saturating_sub(spent(totals, State::Runqueue));
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
    fn divide(&self, activity: Activity, ns: Ns) -> Portions {
        let divided = match activity.state {
            State::User => {
                let ran = if self.longest.is_some() { part(ns, self.busy) } else { ns };
                let waited = self.longest.map(|(state, reason)| Portion { state, reason, ns: ns - ran });
                self.busy(ran, self.queued).into_iter().chain(waited).collect()
            }
            state if state.blocked() || state == State::Unexplained => {
                let moved = part(ns, self.moved);
                let rest = Portion { state, reason: activity.reason, ns: ns - moved };
                self.busy(moved, self.moved_queued).into_iter().chain([rest]).collect()
            }
            _ => Portion::whole(activity, ns),
        };
        divided.into_iter().filter(|portion| portion.ns > 0).collect()
    }

    /// On a CPU and in the run queue.
    fn busy(&self, ns: Ns, queued: f64) -> [Portion; 3] {
        let queue = part(ns, queued);
        let user = part(ns - queue, self.user);
        let portion = |state, reason, ns| Portion { state, reason, ns };
        [
            portion(State::User, ReasonKey::None, user),
            portion(State::Kernel, ReasonKey::None, ns - queue - user),
            portion(State::Runqueue, ReasonKey::PreemptedUnseen, queue),
        ]
    }
}

/// Time in activities of this state.
fn spent(totals: &[(Activity, Total)], state: State) -> Ns {
    totals.iter().filter(|(activity, _)| activity.state == state).map(|(_, total)| total.ns).sum()
}

/// Time on a CPU: by the switches, else by the kernel's count, else by the snapshots.
fn on_cpu(thread: &Thread, totals: &[(Activity, Total)], tier: Tier) -> Ns {
    let seen = spent(totals, State::User);
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
