//! The causes of a spike: its latency cut into parts at the kernel's events, each part with one
//! cause.
//!
//! At each moment the first of these causes that fits holds; docs/method/latency-spikes.md says
//! what each can and cannot tell.
//!
//! 1. the thread is stopped (kernel/signal.c, `do_signal_stop`) -> `stopped`
//! 2. the timer is within its slack (kernel/time/hrtimer.c, `hrtimer_set_expires_range_ns`) ->
//!    `timer-slack`
//! 3. an interrupt handler runs -> `timer-interrupt` or `interrupt`; a softirq (kernel/softirq.c)
//!    -> `softirq`
//! 4. the thread has the CPU: switched in late -> `return-to-user`, else -> `unexplained`
//! 5. the thread is runnable: another task runs that the scheduler chose or that may not be
//!    preempted -> `task`; one that may be preempted -> `preemption-off` (kernel/sched/core.c,
//!    `wakeup_preempt`); none -> `migration` or `switching`
//! 6. the thread is not yet woken: the CPU is idle -> `idle-exit`, a task runs -> `interrupts-off`,
//!    unknown -> `unexplained`
//!
//! So an interrupt during a task is the interrupt's, and each nanosecond is in one part.

use model::wake::WakeMeasurements;
use model::wake::environment::Environment;
use model::wake::spike::{Cause, KernelAction, LatencyShare, Spike, SpikeSeen, Task};
use model::{Ns, Seen};

/// Steal is counted in steps of 10 ms, so it cannot be assigned to a part shorter than half a step.
const STEAL_NS_MIN: Ns = 5_000_000;

/// Kernel priorities from here on are of the fair class, where priority does not decide preemption:
/// include/linux/sched/prio.h, `MAX_RT_PRIO`.
const FAIR: i32 = 100;

/// All spikes that were recorded, the largest first.
pub(super) fn spikes(measured: &WakeMeasurements) -> Seen<Vec<Spike>> {
    measured.spikes.as_ref().map(|seen| {
        let mut spikes: Vec<_> = seen.iter().map(|seen| spike(seen, &measured.environment)).collect();
        spikes.sort_by_key(|spike| std::cmp::Reverse(spike.ns));
        spikes
    })
}

/// The cause of one spike.
pub fn spike(seen: &SpikeSeen, environment: &Environment) -> Spike {
    let mut timeline = Timeline::new(seen, environment);
    for event in &seen.events {
        timeline.until(event.at_ns);
        timeline.event(&event.happened, event.at_ns);
    }
    timeline.until(seen.awake_ns);
    let mut shares = timeline.shares;
    for event in &seen.events {
        if let KernelAction::Stolen(stolen_ns) = event.happened {
            steal(&mut shares, stolen_ns);
        }
    }
    // The first of equal ones.
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

/// The state of the measuring thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Sleeps until its timer expires.
    Asleep,
    /// Runnable, not running.
    Woken {
        /// The scheduler chose another task while the thread was runnable.
        passed_over: bool,
        /// It is being migrated from another CPU.
        moved: bool,
    },
    /// On the CPU since then.
    Running(Ns),
    /// It was awake, and blocks on something else.
    Blocked,
    Stopped,
}

type Part = (Cause, Option<String>);

struct Timeline<'a> {
    seen: &'a SpikeSeen,
    environment: &'a Environment,
    /// The latency up to here is assigned to causes.
    now: Ns,
    /// The end of the timer's slack.
    slack_until: Ns,
    priority: Option<i32>,
    phase: Phase,
    /// The task on the CPU, where known.
    current: Option<Task>,
    /// The CPU's last idle state.
    idle_state: Option<u32>,
    /// Nested interrupt handlers, the innermost last, with the event that ends each.
    handlers: Vec<(HandlerEnd, Part)>,
    softirq: Option<String>,
    /// Events were lost: nothing is known until the next switch.
    lost: bool,
    /// One for each cause and name, in the order of first occurrence.
    shares: Vec<LatencyShare>,
}

/// The event that ends an interrupt handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HandlerEnd {
    Irq,
    Timer,
    Other,
}

impl<'a> Timeline<'a> {
    fn new(seen: &'a SpikeSeen, environment: &'a Environment) -> Self {
        let due =
            seen.events.iter().filter(|event| event.happened == KernelAction::Due).map(|event| event.at_ns);
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

    /// Assigns the time up to `at` to the present cause.
    fn until(&mut self, at: Ns) {
        let at = at.min(self.seen.awake_ns);
        let Some(ns) = at.checked_sub(self.now).filter(|ns| *ns > 0) else { return };
        let (cause, who) = self.part();
        match self.shares.iter_mut().find(|share| share.cause == cause && share.who == who) {
            Some(share) => share.ns += ns,
            None => self.shares.push(LatencyShare { cause, who, ns }),
        }
        self.now = at;
    }

    /// The present cause.
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
                // The idle task was chosen while the thread was runnable: it is throttled, or the
                // reason is not in the events.
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

    fn event(&mut self, happened: &KernelAction, at: Ns) {
        match happened {
            KernelAction::Switch { from, to, preempted } => self.switch(from, to, *preempted, at),
            KernelAction::Woken(task) if task.tid == self.seen.tid => {
                // A thread still on the CPU stays on it.
                if !matches!(self.phase, Phase::Running(_)) {
                    self.phase = Phase::Woken { passed_over: false, moved: false };
                }
            }
            KernelAction::Woken(_) | KernelAction::Due | KernelAction::Stolen(_) => {}
            KernelAction::IrqBegin(name) => {
                self.begin(HandlerEnd::Irq, (Cause::Interrupt, Some(name.clone())))
            }
            KernelAction::IrqEnd => self.end(HandlerEnd::Irq),
            KernelAction::OtherBegin(name) => {
                self.begin(HandlerEnd::Other, (Cause::Interrupt, Some(name.clone())))
            }
            KernelAction::OtherEnd => self.end(HandlerEnd::Other),
            KernelAction::TimerBegin => self.begin(HandlerEnd::Timer, (Cause::TimerInterrupt, None)),
            KernelAction::TimerEnd => self.end(HandlerEnd::Timer),
            // Where a driver handles the timer's interrupt (arm64), this event identifies it.
            KernelAction::Expired => {
                if let Some((_, part)) = self.handlers.last_mut() {
                    *part = (Cause::TimerInterrupt, None);
                }
            }
            KernelAction::SoftirqBegin(name) => self.softirq = Some(name.clone()),
            KernelAction::SoftirqEnd => self.softirq = None,
            KernelAction::IdleBegin(state) => self.idle_state = Some(*state),
            KernelAction::Migrated(_) => {
                if let Phase::Woken { moved, .. } = &mut self.phase {
                    *moved = true;
                }
            }
            KernelAction::Stopped => self.phase = Phase::Stopped,
            KernelAction::Lost => {
                self.handlers.clear();
                self.softirq = None;
                self.lost = true;
            }
        }
    }

    fn begin(&mut self, ends: HandlerEnd, part: Part) {
        self.handlers.push((ends, part));
    }

    /// Also ends handlers nested in it whose end was not seen.
    fn end(&mut self, ends: HandlerEnd) {
        if let Some(last) = self.handlers.iter().rposition(|(of, _)| *of == ends) {
            self.handlers.truncate(last);
        }
    }

    fn switch(&mut self, from: &Task, to: &Task, preempted: bool, at: Ns) {
        // No switch happens within an interrupt: the end of any open handler was lost.
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
            // It was switched out, unseen.
            self.phase = Phase::Asleep;
        }
        self.current = Some(to.clone());
        if to.tid != 0 {
            self.idle_state = None;
        }
    }
}

/// The thread's own priority, from the first event that has it.
fn priority(seen: &SpikeSeen) -> Option<i32> {
    let of = |task: &Task| (task.tid == seen.tid).then_some(task.priority);
    seen.events.iter().find_map(|event| match &event.happened {
        KernelAction::Switch { from, to, .. } => of(to).or_else(|| of(from)),
        KernelAction::Woken(task) => of(task),
        _ => None,
    })
}

/// Assigns steal to the longest part without an event, where the hypervisor may have run others.
fn steal(shares: &mut Vec<LatencyShare>, stolen_ns: Ns) {
    let quiet = |share: &&mut LatencyShare| {
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
        None => shares.insert(at, LatencyShare { cause: Cause::Steal, who: None, ns }),
    }
    shares.retain(|share| share.ns > 0);
}

#[cfg(test)]
mod tests;
