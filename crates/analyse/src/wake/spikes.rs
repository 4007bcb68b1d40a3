//! Why a wake-up was late: the time from when the thread should have been awake to when it was, cut where the kernel did
//! something else, each part with its cause.
//!
//! At each moment one cause holds, the first of these that fits; docs/method/latency-spikes.md says what each can and cannot tell.
//!
//! 1. the thread is stopped (kernel/signal.c, `do_signal_stop`) -> `stopped`
//! 2. its timer may still take its time (kernel/time/hrtimer.c, `hrtimer_set_expires_range_ns`) -> `timer-slack`
//! 3. an interrupt is being handled -> `timer-interrupt` or `interrupt`; a soft interrupt (kernel/softirq.c) -> `softirq`
//! 4. it has the processor: since it was woken late -> `return-to-user`, else -> `unexplained`
//! 5. it was woken and waits: for a task that the scheduler chose or may not take the processor from -> `task`, for another one
//!    -> `preemption-off` (kernel/sched/core.c, `wakeup_preempt`), else -> `migration` or `switching`
//! 6. it was not woken: the processor idles -> `idle-exit`, a task runs -> `interrupts-off`, nobody knows -> `unexplained`
//!
//! So an interrupt within a task's time is the interrupt's, and each nanosecond is in one part.

use model::wake::Measurements;
use model::wake::environment::Environment;
use model::wake::spike::{Cause, Happened, Share, Spike, SpikeSeen, Task};
use model::{Ns, Seen};

/// Steal is counted in steps of 10 ms, so whether it was in a part shorter than half a step cannot be told.
const STEAL_NS_MIN: Ns = 5_000_000;

/// Kernel priorities from here on are of the fair class, where no task simply goes before another:
/// include/linux/sched/prio.h, `MAX_RT_PRIO`.
const FAIR: i32 = 100;

/// All that were seen, latest first.
pub(super) fn spikes(measured: &Measurements) -> Seen<Vec<Spike>> {
    measured.spikes.as_ref().map(|seen| {
        let mut spikes: Vec<_> = seen.iter().map(|seen| spike(seen, &measured.environment)).collect();
        spikes.sort_by_key(|spike| std::cmp::Reverse(spike.ns));
        spikes
    })
}

/// What made this wake-up late.
pub fn spike(seen: &SpikeSeen, environment: &Environment) -> Spike {
    let mut walk = Walk::new(seen, environment);
    for event in &seen.events {
        walk.until(event.at_ns);
        walk.event(&event.happened, event.at_ns);
    }
    walk.until(seen.awake_ns);
    let mut shares = walk.shares;
    for event in &seen.events {
        if let Happened::Stolen(stolen_ns) = event.happened {
            steal(&mut shares, stolen_ns);
        }
    }
    // Of two equal ones the first.
    let largest = shares.iter().rev().max_by_key(|share| share.ns);
    Spike {
        at_ns: seen.expected_ns,
        cpu: seen.cpu,
        ns: seen.awake_ns.saturating_sub(seen.expected_ns),
        cause: largest.map_or(Cause::Unexplained, |share| share.cause),
        who: largest.and_then(|share| share.who.clone()),
        shares,
        stack: seen.stack.clone(),
        lost: seen.lost.clone(),
    }
}

/// What the thread is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It waits for its time.
    Asleep,
    /// Runnable, and somebody else has the processor.
    Woken {
        /// Whoever has it was chosen by the scheduler while the thread was runnable.
        passed_over: bool,
        /// It is on its way from another processor.
        moved: bool,
    },
    /// It has the processor since then.
    Running(Ns),
    /// It was awake, and waits for something else.
    Blocked,
    Stopped,
}

type Part = (Cause, Option<String>);

struct Walk<'a> {
    seen: &'a SpikeSeen,
    environment: &'a Environment,
    /// How far the latency is shared out.
    now: Ns,
    /// Until then the thread's timer may wait.
    slack_until: Ns,
    priority: Option<i32>,
    phase: Phase,
    /// Who has the processor, as far as that is known.
    current: Option<Task>,
    /// The state that the processor idled in last.
    idle_state: Option<u32>,
    /// Handlers of interrupts, each within the one before; by what ends them.
    handlers: Vec<(Ends, Part)>,
    softirq: Option<String>,
    /// Nothing is known until the next switch.
    lost: bool,
    /// A cause with a name has one, at its first place.
    shares: Vec<Share>,
}

/// What ends the handler of an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Irq,
    Timer,
    Other,
}

impl<'a> Walk<'a> {
    fn new(seen: &'a SpikeSeen, environment: &'a Environment) -> Self {
        let due = seen.events.iter().filter(|event| event.happened == Happened::Due).map(|event| event.at_ns);
        Self {
            seen,
            environment,
            now: seen.expected_ns,
            slack_until: due.max().unwrap_or(0),
            priority: priority(seen),
            phase: Phase::Asleep,
            current: None,
            idle_state: None,
            handlers: Vec::new(),
            softirq: None,
            lost: false,
            shares: Vec::new(),
        }
    }

    /// What is not shared out before `at` is of the cause that holds.
    fn until(&mut self, at: Ns) {
        let at = at.min(self.seen.awake_ns);
        let Some(ns) = at.checked_sub(self.now).filter(|ns| *ns > 0) else { return };
        let (cause, who) = self.part();
        match self.shares.iter_mut().find(|share| share.cause == cause && share.who == who) {
            Some(share) => share.ns += ns,
            None => self.shares.push(Share { cause, who, ns }),
        }
        self.now = at;
    }

    /// The cause that holds now.
    fn part(&self) -> Part {
        if self.phase == Phase::Stopped {
            return (Cause::Stopped, None);
        }
        if self.phase == Phase::Asleep && self.now < self.slack_until {
            return (Cause::TimerSlack, None);
        }
        if let Some((_, part)) = self.handlers.last() {
            return part.clone();
        }
        if let Some(name) = &self.softirq {
            return (Cause::Softirq, Some(name.clone()));
        }
        if self.lost {
            return (Cause::Unexplained, None);
        }
        match (self.phase, &self.current) {
            (Phase::Running(since), _) if since > self.seen.expected_ns => (Cause::ReturnToUser, None),
            (Phase::Running(_) | Phase::Blocked, _) => (Cause::Unexplained, None),
            (Phase::Woken { passed_over, moved }, current) => match current {
                Some(task) if task.tid != 0 => {
                    let cause = if passed_over || !self.may_preempt(task) {
                        Cause::Task
                    } else {
                        Cause::PreemptionOff
                    };
                    (cause, Some(task.name.clone()))
                }
                _ if moved => (Cause::Migration, None),
                // The idle task was chosen before a runnable one: it may not run, and nothing tells why.
                Some(_) if passed_over => (Cause::Unexplained, None),
                Some(_) => (Cause::Switching, None),
                None => (Cause::Unexplained, None),
            },
            (_, Some(task)) if task.tid == 0 => {
                (Cause::IdleExit, self.idle_state.map(|state| self.name(state)))
            }
            (_, Some(task)) => (Cause::InterruptsOff, Some(task.name.clone())),
            (_, None) if self.idle_state.is_some() => {
                (Cause::IdleExit, self.idle_state.map(|state| self.name(state)))
            }
            (_, None) => (Cause::Unexplained, None),
        }
    }

    fn name(&self, state: u32) -> String {
        let cpu = self.environment.cpus.iter().find(|cpu| cpu.cpu == self.seen.cpu);
        let states = cpu.and_then(|cpu| cpu.idle_states.value());
        let known = states.and_then(|states| states.get(state as usize)).map(|state| state.name.clone());
        known.unwrap_or_else(|| format!("idle state {state}"))
    }

    fn may_preempt(&self, task: &Task) -> bool {
        self.priority.is_some_and(|own| own < task.priority && own < FAIR)
    }

    fn event(&mut self, happened: &Happened, at: Ns) {
        match happened {
            Happened::Switch { from, to, preempted } => self.switch(from, to, *preempted, at),
            Happened::Woken(task) if task.tid == self.seen.tid => {
                // One that has not left the processor yet does not leave it.
                if !matches!(self.phase, Phase::Running(_)) {
                    self.phase = Phase::Woken { passed_over: false, moved: false };
                }
            }
            Happened::Woken(_) | Happened::Due | Happened::Stolen(_) => {}
            Happened::IrqBegin(name) => self.begin(Ends::Irq, (Cause::Interrupt, Some(name.clone()))),
            Happened::IrqEnd => self.end(Ends::Irq),
            Happened::OtherBegin(name) => self.begin(Ends::Other, (Cause::Interrupt, Some(name.clone()))),
            Happened::OtherEnd => self.end(Ends::Other),
            Happened::TimerBegin => self.begin(Ends::Timer, (Cause::TimerInterrupt, None)),
            Happened::TimerEnd => self.end(Ends::Timer),
            // Where the timer's interrupt has a driver (arm64), this is how it shows which one it is.
            Happened::Expired => {
                if let Some((_, part)) = self.handlers.last_mut() {
                    *part = (Cause::TimerInterrupt, None);
                }
            }
            Happened::SoftirqBegin(name) => self.softirq = Some(name.clone()),
            Happened::SoftirqEnd => self.softirq = None,
            Happened::IdleBegin(state) => self.idle_state = Some(*state),
            Happened::Migrated(_) => {
                if let Phase::Woken { moved, .. } = &mut self.phase {
                    *moved = true;
                }
            }
            Happened::Stopped => self.phase = Phase::Stopped,
            Happened::Lost => {
                self.handlers.clear();
                self.softirq = None;
                self.lost = true;
            }
        }
    }

    fn begin(&mut self, ends: Ends, part: Part) {
        self.handlers.push((ends, part));
    }

    /// One whose begin was not seen is over, too.
    fn end(&mut self, ends: Ends) {
        if let Some(last) = self.handlers.iter().rposition(|(of, _)| *of == ends) {
            self.handlers.truncate(last);
        }
    }

    fn switch(&mut self, from: &Task, to: &Task, preempted: bool, at: Ns) {
        // Nothing is switched within an interrupt; what seems to go on has lost its end.
        self.handlers.clear();
        self.softirq = None;
        self.lost = false;
        if to.tid == self.seen.tid {
            self.phase = Phase::Running(at);
        } else if from.tid == self.seen.tid {
            self.phase = match self.phase {
                _ if preempted => Phase::Woken { passed_over: true, moved: false },
                Phase::Running(since) if since > self.seen.expected_ns => Phase::Blocked,
                _ => Phase::Asleep,
            };
        } else if let Phase::Woken { passed_over, .. } = &mut self.phase {
            *passed_over = true;
        } else if matches!(self.phase, Phase::Running(_)) {
            // It has lost the processor, unseen.
            self.phase = Phase::Asleep;
        }
        self.current = Some(to.clone());
        if to.tid != 0 {
            self.idle_state = None;
        }
    }
}

/// The thread's own, from the first event that tells.
fn priority(seen: &SpikeSeen) -> Option<i32> {
    let of = |task: &Task| (task.tid == seen.tid).then_some(task.priority);
    seen.events.iter().find_map(|event| match &event.happened {
        Happened::Switch { from, to, .. } => of(to).or_else(|| of(from)),
        Happened::Woken(task) => of(task),
        _ => None,
    })
}

/// Time that the hypervisor gave to others is in parts in which nothing happened here: the longest one.
fn steal(shares: &mut Vec<Share>, stolen_ns: Ns) {
    let quiet = |share: &&mut Share| {
        matches!(share.cause, Cause::IdleExit | Cause::InterruptsOff | Cause::Unexplained)
            && share.ns >= STEAL_NS_MIN
    };
    let Some(share) = shares.iter_mut().filter(quiet).max_by_key(|share| share.ns) else { return };
    let ns = share.ns.min(stolen_ns);
    share.ns -= ns;
    let (cause, who) = (share.cause, share.who.clone());
    let at = shares.iter().position(|share| (share.cause, &share.who) == (cause, &who)).unwrap_or(0);
    match shares.iter_mut().find(|share| share.cause == Cause::Steal) {
        Some(before) => before.ns += ns,
        None => shares.insert(at, Share { cause: Cause::Steal, who: None, ns }),
    }
    shares.retain(|share| share.ns > 0);
}

#[cfg(test)]
mod tests;
