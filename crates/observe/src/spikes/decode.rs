//! Decodes records of a ring (`wire.rs`) into the events of `model`.

use super::wire::{EventKind, F_OWN, F_PREEMPTED, Interrupt, OwnSwitch, RingRecord, Switched};
use model::wake::spike::{KernelAction, KernelEvent, Task};
use model::{Ns, Tid};
use rustc_hash::FxHashMap;
use zerocopy::transmute_ref;

/// The names of softirqs by number (include/linux/interrupt.h), as in `/proc/softirqs`.
const SOFTIRQS: [&str; 10] =
    ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];

/// The names of `enum other`, from arch/x86/include/asm/trace/irq_vectors.h.
const OTHERS: [&str; 4] = ["reschedule", "call_function", "call_function_single", "irq_work"];

/// The names that drivers of per-CPU timers give their interrupts:
/// drivers/clocksource/arm_arch_timer.c.
const TIMERS: [&str; 1] = ["arch_timer"];

/// The measuring thread of the events.
#[derive(Debug, Clone)]
pub(super) struct Measuring {
    pub(super) tid: Tid,
    /// The same in the initial PID namespace.
    pub(super) pid: Tid,
    pub(super) name: String,
}

/// Where records are missing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Holes {
    /// Before the first.
    pub(super) cut: bool,
    /// Before the one with this index.
    pub(super) before: Option<usize>,
}

/// The events of these records, in order of time. `begun`: the origin of times. `name_of`: the name
/// of a thread that no record names.
pub(super) fn events(
    records: &[RingRecord],
    holes: Holes,
    measuring: &Measuring,
    begun: Ns,
    name_of: impl Fn(Tid) -> Option<String>,
) -> Vec<KernelEvent> {
    let idle_since = (!holes.cut).then_some(begun);
    let mut decoder =
        Decoder { measuring, names: FxHashMap::default(), name_of, idle_since, events: Vec::new() };
    for (place, record) in records.iter().enumerate() {
        if holes.before == Some(place) {
            decoder.hole(place.checked_sub(1).map_or(begun, |last| records[last].at));
        }
        decoder.record(record);
    }
    let mut events = decoder.events;
    for event in &mut events {
        event.at_ns = event.at_ns.saturating_sub(begun);
    }
    events.sort_by_key(|event| event.at_ns);
    events
}

struct Decoder<'a, N> {
    measuring: &'a Measuring,
    /// A switch names the task switched in; the one switched out was named before.
    names: FxHashMap<Tid, String>,
    name_of: N,
    /// The last switch: the CPU may have idled since. None where it was lost.
    idle_since: Option<Ns>,
    events: Vec<KernelEvent>,
}

impl<N: Fn(Tid) -> Option<String>> Decoder<'_, N> {
    fn record(&mut self, record: &RingRecord) {
        let Some(kind) = EventKind::from_wire(record.kind) else {
            // Nothing writes another one.
            return;
        };
        let Interrupt { at, arg, began, name, .. } = *transmute_ref!(record);
        let (begin, end) = match kind {
            EventKind::Switch => return self.switch(record),
            EventKind::Irq => match text(&name) {
                name if TIMERS.contains(&name.as_str()) => (KernelAction::TimerBegin, KernelAction::TimerEnd),
                name if name.is_empty() => {
                    (KernelAction::IrqBegin(format!("interrupt {arg}")), KernelAction::IrqEnd)
                }
                name => (KernelAction::IrqBegin(name), KernelAction::IrqEnd),
            },
            EventKind::Softirq => {
                (KernelAction::SoftirqBegin(named(&SOFTIRQS, arg, "softirq")), KernelAction::SoftirqEnd)
            }
            EventKind::Timer => (KernelAction::TimerBegin, KernelAction::TimerEnd),
            EventKind::Other => {
                (KernelAction::OtherBegin(named(&OTHERS, arg, "interrupt")), KernelAction::OtherEnd)
            }
            EventKind::Nmi => (KernelAction::OtherBegin("NMI".to_owned()), KernelAction::OtherEnd),
        };
        self.push(began, begin);
        self.push(at, end);
    }

    fn hole(&mut self, at: Ns) {
        self.push(at, KernelAction::Lost);
        self.idle_since = None;
    }

    fn switch(&mut self, record: &RingRecord) {
        let Switched { at, flags, idle, from, to, from_priority, to_priority, to_name, .. } =
            *transmute_ref!(record);
        let own = flags & F_OWN != 0;
        if !own {
            self.names.insert(to, text(&to_name));
        }
        let (from, to) = (self.task(from, from_priority), self.task(to, to_priority));
        if let (Some(state), Some(since)) = (idle.checked_sub(1), self.idle_since) {
            self.push(since, KernelAction::IdleBegin(u32::from(state)));
        }
        self.idle_since = Some(at);
        if own {
            self.own(transmute_ref!(record), &to);
        }
        let preempted = flags & F_PREEMPTED != 0;
        self.push(at, KernelAction::Switch { from, to, preempted });
    }

    /// The events before the measuring thread got the CPU.
    fn own(&mut self, own: &OwnSwitch, to: &Task) {
        let OwnSwitch { woken, due, stopped, arg: moved_from, .. } = *own;
        if stopped != 0 {
            self.push(stopped, KernelAction::Stopped);
        }
        if due != 0 {
            self.push(due, KernelAction::Due);
            // It wakes the thread at once.
            self.push(woken, KernelAction::Expired);
        }
        if woken != 0 {
            self.push(woken, KernelAction::Woken(to.clone()));
            if let Some(cpu) = moved_from.checked_sub(1) {
                self.push(woken, KernelAction::Migrated(cpu));
            }
        }
    }

    fn push(&mut self, at_ns: Ns, happened: KernelAction) {
        self.events.push(KernelEvent { at_ns, happened });
    }

    fn task(&mut self, pid: Tid, priority: i32) -> Task {
        if pid == self.measuring.pid {
            return Task { tid: self.measuring.tid, name: self.measuring.name.clone(), priority };
        }
        let name = self.names.entry(pid).or_insert_with(|| (self.name_of)(pid).unwrap_or_default());
        Task { tid: pid, name: name.clone(), priority }
    }
}

fn named(names: &[&str], number: u32, what: &str) -> String {
    names.get(number as usize).map_or_else(|| format!("{what} {number}"), ToString::to_string)
}

/// Text that is terminated by a zero, or cut.
fn text(bytes: &[u8]) -> String {
    let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(at: Ns, kind: EventKind, arg: u32, words: [u64; 5]) -> RingRecord {
        RingRecord { seq: 1, at, kind: kind as u8, flags: 0, idle: 0, arg, words }
    }

    /// An interrupt with a driver's handler.
    fn irq(began: Ns, ended: Ns, text: &str) -> RingRecord {
        let [first, second] = name(text);
        record(ended, EventKind::Irq, 24, [began, 0, first, second, 0])
    }

    fn name(text: &str) -> [u64; 2] {
        let mut bytes = [0; 16];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        [0, 8].map(|at| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap()))
    }

    fn switch(at: Ns, from: u64, to: u64, to_name: &str) -> RingRecord {
        let [first, second] = name(to_name);
        record(at, EventKind::Switch, 0, [from | to << 32, 120 | 19 << 32, first, second, 0])
    }

    /// A switch to the measuring thread.
    fn own(at: Ns, from: u64, woken: Ns, due: Ns, stopped: Ns) -> RingRecord {
        RingRecord {
            flags: F_OWN,
            words: [from | 1007 << 32, 120 | 19 << 32, woken, due, stopped],
            ..record(at, EventKind::Switch, 0, [0; 5])
        }
    }

    fn decoded(records: &[RingRecord]) -> Vec<(Ns, KernelAction)> {
        decoded_with(records, Holes::default())
    }

    fn decoded_with(records: &[RingRecord], holes: Holes) -> Vec<(Ns, KernelAction)> {
        let measuring = Measuring { tid: 7, pid: 1007, name: "wake".into() };
        let name_of = |pid| (pid == 50).then(|| "known".to_owned());
        let events = events(records, holes, &measuring, 100, name_of);
        events.into_iter().map(|event| (event.at_ns, event.happened)).collect()
    }

    fn task(tid: Tid, name: &str, priority: i32) -> Task {
        Task { tid, name: name.into(), priority }
    }

    /// The tasks of switches.
    fn switched(records: &[RingRecord]) -> Vec<(Task, Task)> {
        let tasks = |(_, happened)| match happened {
            KernelAction::Switch { from, to, .. } => Some((from, to)),
            _ => None,
        };
        decoded(records).into_iter().filter_map(tasks).collect()
    }

    #[test]
    fn who_leaves_has_the_name_that_they_came_with_or_that_the_system_knows() {
        let records =
            [switch(110, 50, 60, "abcdefghijklmnop"), own(120, 60, 0, 0, 0), switch(130, 1007, 9, "")];
        let tasks = switched(&records);
        assert_eq!(tasks[0], (task(50, "known", 120), task(60, "abcdefghijklmnop", 19)));
        assert_eq!(tasks[1], (task(60, "abcdefghijklmnop", 120), task(7, "wake", 19)));
        assert_eq!(tasks[2], (task(7, "wake", 120), task(9, "", 19)));
    }

    #[test]
    fn the_switch_to_the_measuring_thread_tells_what_led_to_it() {
        let moved = RingRecord { arg: 4, ..own(160, 0, 150, 130, 0) };
        let told = decoded(&[switch(105, 50, 0, ""), RingRecord { idle: 3, ..moved }]);
        let before = [
            (5, KernelAction::IdleBegin(2)),
            (30, KernelAction::Due),
            (50, KernelAction::Expired),
            (50, KernelAction::Woken(task(7, "wake", 19))),
            (50, KernelAction::Migrated(3)),
        ];
        assert_eq!(told[1..6], before);
        let told = decoded(&[own(160, 50, 150, 0, 120)]);
        assert_eq!(told[..2], [(20, KernelAction::Stopped), (50, KernelAction::Woken(task(7, "wake", 19)))]);
    }

    #[test]
    fn what_is_missing_is_no_idling() {
        let idled = RingRecord { idle: 1, ..switch(150, 0, 60, "make") };
        let begins = |told: &[(Ns, KernelAction)]| {
            told.iter().filter(|(_, happened)| matches!(happened, KernelAction::IdleBegin(_))).count()
        };
        assert_eq!(begins(&decoded(&[idled])), 1);
        assert_eq!(begins(&decoded_with(&[idled], Holes { cut: true, before: None })), 0);
        let records = [switch(110, 60, 0, ""), idled];
        assert_eq!(decoded(&records)[1], (10, KernelAction::IdleBegin(0)));
        let told = decoded_with(&records, Holes { cut: false, before: Some(1) });
        assert_eq!((begins(&told), &told[1]), (0, &(10, KernelAction::Lost)));
    }

    #[test]
    fn interrupts_have_names_or_at_least_numbers() {
        let of = |kind, arg| record(110, kind, arg, [105, 0, 0, 0, 0]);
        let records = [
            irq(101, 110, "eth0"),
            irq(102, 110, ""),
            of(EventKind::Softirq, 3),
            of(EventKind::Softirq, 11),
            of(EventKind::Other, 2),
            RingRecord { kind: 99, ..of(EventKind::Other, 0) },
        ];
        let names = ["eth0", "interrupt 24", "net_rx", "softirq 11", "call_function_single"];
        let name = |(_, happened)| match happened {
            KernelAction::IrqBegin(name)
            | KernelAction::SoftirqBegin(name)
            | KernelAction::OtherBegin(name) => Some(name),
            _ => None,
        };
        let told: Vec<_> = decoded(&records).into_iter().filter_map(name).collect();
        assert_eq!(told, names);
        let timer = [(1, KernelAction::TimerBegin), (10, KernelAction::TimerEnd)];
        assert_eq!(decoded(&[irq(101, 110, "arch_timer")]), timer);
    }

    #[test]
    fn interrupts_within_others_stand_where_they_began() {
        let softirq = record(150, EventKind::Softirq, 1, [110, 0, 0, 0, 0]);
        let nmi = record(125, EventKind::Nmi, 0, [121, 0, 0, 0, 0]);
        let expected = [
            (10, KernelAction::SoftirqBegin("timer".into())),
            (20, KernelAction::TimerBegin),
            (21, KernelAction::OtherBegin("NMI".into())),
            (25, KernelAction::OtherEnd),
            (30, KernelAction::TimerEnd),
            (50, KernelAction::SoftirqEnd),
        ];
        assert_eq!(decoded(&[nmi, record(130, EventKind::Timer, 0, [120, 0, 0, 0, 0]), softirq]), expected);
    }
}
