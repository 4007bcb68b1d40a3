//! From records of a ring (`wire.rs`) to the events that everybody else knows.

use super::wire::{F_OWN, F_PREEMPTED, Interrupt, Kind, Own, Record, Switched};
use model::wake::spike::{Happened, KernelEvent, Task};
use model::{Ns, Tid};
use rustc_hash::FxHashMap;
use zerocopy::transmute_ref;

/// By their numbers (include/linux/interrupt.h), as `/proc/softirqs` names them.
const SOFTIRQS: [&str; 10] =
    ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];

/// `enum other`, as arch/x86/include/asm/trace/irq_vectors.h names them.
const OTHERS: [&str; 4] = ["reschedule", "call_function", "call_function_single", "irq_work"];

/// What drivers of CPUs' own timers call their interrupts, where they have one:
/// drivers/clocksource/arm_arch_timer.c.
const TIMERS: [&str; 1] = ["arch_timer"];

/// Whose events they are.
#[derive(Debug, Clone)]
pub(super) struct Measuring {
    pub(super) tid: Tid,
    /// The same as the kernel numbers it.
    pub(super) pid: Tid,
    pub(super) name: String,
}

/// Where records are missing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Holes {
    /// Before the first.
    pub(super) cut: bool,
    /// Before the one at this place.
    pub(super) before: Option<usize>,
}

/// The events of these records, in order of time. `begun`: what times are counted from. `name_of`:
/// what a thread is called whose name no record tells.
pub(super) fn events(
    records: &[Record],
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
    /// A switch names who comes; who leaves came before.
    names: FxHashMap<Tid, String>,
    name_of: N,
    /// The last switch: the CPU may have idled since. None where it was lost.
    idle_since: Option<Ns>,
    events: Vec<KernelEvent>,
}

impl<N: Fn(Tid) -> Option<String>> Decoder<'_, N> {
    fn record(&mut self, record: &Record) {
        let Some(kind) = Kind::from_wire(record.kind) else {
            // Nothing writes another one.
            return;
        };
        let Interrupt { at, arg, began, name, .. } = *transmute_ref!(record);
        let (begin, end) = match kind {
            Kind::Switch => return self.switch(record),
            Kind::Irq => match text(&name) {
                name if TIMERS.contains(&name.as_str()) => (Happened::TimerBegin, Happened::TimerEnd),
                name if name.is_empty() => (Happened::IrqBegin(format!("interrupt {arg}")), Happened::IrqEnd),
                name => (Happened::IrqBegin(name), Happened::IrqEnd),
            },
            Kind::Softirq => (Happened::SoftirqBegin(named(&SOFTIRQS, arg, "softirq")), Happened::SoftirqEnd),
            Kind::Timer => (Happened::TimerBegin, Happened::TimerEnd),
            Kind::Other => (Happened::OtherBegin(named(&OTHERS, arg, "interrupt")), Happened::OtherEnd),
            Kind::Nmi => (Happened::OtherBegin("NMI".to_owned()), Happened::OtherEnd),
        };
        self.push(began, begin);
        self.push(at, end);
    }

    fn hole(&mut self, at: Ns) {
        self.push(at, Happened::Lost);
        self.idle_since = None;
    }

    fn switch(&mut self, record: &Record) {
        let Switched { at, flags, idle, from, to, from_priority, to_priority, to_name, .. } =
            *transmute_ref!(record);
        let own = flags & F_OWN != 0;
        if !own {
            self.names.insert(to, text(&to_name));
        }
        let (from, to) = (self.task(from, from_priority), self.task(to, to_priority));
        if let (Some(state), Some(since)) = (idle.checked_sub(1), self.idle_since) {
            self.push(since, Happened::IdleBegin(u32::from(state)));
        }
        self.idle_since = Some(at);
        if own {
            self.own(transmute_ref!(record), &to);
        }
        let preempted = flags & F_PREEMPTED != 0;
        self.push(at, Happened::Switch { from, to, preempted });
    }

    /// What came before the measuring thread got the CPU.
    fn own(&mut self, own: &Own, to: &Task) {
        let Own { woken, due, stopped, arg: moved_from, .. } = *own;
        if stopped != 0 {
            self.push(stopped, Happened::Stopped);
        }
        if due != 0 {
            self.push(due, Happened::Due);
            // It wakes the thread at once.
            self.push(woken, Happened::Expired);
        }
        if woken != 0 {
            self.push(woken, Happened::Woken(to.clone()));
            if let Some(cpu) = moved_from.checked_sub(1) {
                self.push(woken, Happened::Migrated(cpu));
            }
        }
    }

    fn push(&mut self, at_ns: Ns, happened: Happened) {
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

/// Text that the kernel ended with a zero, or cut.
fn text(bytes: &[u8]) -> String {
    let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(at: Ns, kind: Kind, arg: u32, words: [u64; 5]) -> Record {
        Record { seq: 1, at, kind: kind as u8, flags: 0, idle: 0, arg, words }
    }

    /// An interrupt of a driver.
    fn irq(began: Ns, ended: Ns, text: &str) -> Record {
        let [first, second] = name(text);
        record(ended, Kind::Irq, 24, [began, 0, first, second, 0])
    }

    fn name(text: &str) -> [u64; 2] {
        let mut bytes = [0; 16];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        [0, 8].map(|at| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap()))
    }

    fn switch(at: Ns, from: u64, to: u64, to_name: &str) -> Record {
        let [first, second] = name(to_name);
        record(at, Kind::Switch, 0, [from | to << 32, 120 | 19 << 32, first, second, 0])
    }

    /// A switch to the measuring thread.
    fn own(at: Ns, from: u64, woken: Ns, due: Ns, stopped: Ns) -> Record {
        Record {
            flags: F_OWN,
            words: [from | 1007 << 32, 120 | 19 << 32, woken, due, stopped],
            ..record(at, Kind::Switch, 0, [0; 5])
        }
    }

    fn decoded(records: &[Record]) -> Vec<(Ns, Happened)> {
        decoded_with(records, Holes::default())
    }

    fn decoded_with(records: &[Record], holes: Holes) -> Vec<(Ns, Happened)> {
        let measuring = Measuring { tid: 7, pid: 1007, name: "wake".into() };
        let name_of = |pid| (pid == 50).then(|| "known".to_owned());
        let events = events(records, holes, &measuring, 100, name_of);
        events.into_iter().map(|event| (event.at_ns, event.happened)).collect()
    }

    fn task(tid: Tid, name: &str, priority: i32) -> Task {
        Task { tid, name: name.into(), priority }
    }

    /// The tasks of switches.
    fn switched(records: &[Record]) -> Vec<(Task, Task)> {
        let tasks = |(_, happened)| match happened {
            Happened::Switch { from, to, .. } => Some((from, to)),
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
        let moved = Record { arg: 4, ..own(160, 0, 150, 130, 0) };
        let told = decoded(&[switch(105, 50, 0, ""), Record { idle: 3, ..moved }]);
        let before = [
            (5, Happened::IdleBegin(2)),
            (30, Happened::Due),
            (50, Happened::Expired),
            (50, Happened::Woken(task(7, "wake", 19))),
            (50, Happened::Migrated(3)),
        ];
        assert_eq!(told[1..6], before);
        let told = decoded(&[own(160, 50, 150, 0, 120)]);
        assert_eq!(told[..2], [(20, Happened::Stopped), (50, Happened::Woken(task(7, "wake", 19)))]);
    }

    #[test]
    fn what_is_missing_is_no_idling() {
        let idled = Record { idle: 1, ..switch(150, 0, 60, "make") };
        let begins = |told: &[(Ns, Happened)]| {
            told.iter().filter(|(_, happened)| matches!(happened, Happened::IdleBegin(_))).count()
        };
        assert_eq!(begins(&decoded(&[idled])), 1);
        assert_eq!(begins(&decoded_with(&[idled], Holes { cut: true, before: None })), 0);
        let records = [switch(110, 60, 0, ""), idled];
        assert_eq!(decoded(&records)[1], (10, Happened::IdleBegin(0)));
        let told = decoded_with(&records, Holes { cut: false, before: Some(1) });
        assert_eq!((begins(&told), &told[1]), (0, &(10, Happened::Lost)));
    }

    #[test]
    fn interrupts_have_names_or_at_least_numbers() {
        let of = |kind, arg| record(110, kind, arg, [105, 0, 0, 0, 0]);
        let records = [
            irq(101, 110, "eth0"),
            irq(102, 110, ""),
            of(Kind::Softirq, 3),
            of(Kind::Softirq, 11),
            of(Kind::Other, 2),
            Record { kind: 99, ..of(Kind::Other, 0) },
        ];
        let names = ["eth0", "interrupt 24", "net_rx", "softirq 11", "call_function_single"];
        let name = |(_, happened)| match happened {
            Happened::IrqBegin(name) | Happened::SoftirqBegin(name) | Happened::OtherBegin(name) => {
                Some(name)
            }
            _ => None,
        };
        let told: Vec<_> = decoded(&records).into_iter().filter_map(name).collect();
        assert_eq!(told, names);
        let timer = [(1, Happened::TimerBegin), (10, Happened::TimerEnd)];
        assert_eq!(decoded(&[irq(101, 110, "arch_timer")]), timer);
    }

    #[test]
    fn interrupts_within_others_stand_where_they_began() {
        let softirq = record(150, Kind::Softirq, 1, [110, 0, 0, 0, 0]);
        let nmi = record(125, Kind::Nmi, 0, [121, 0, 0, 0, 0]);
        let expected = [
            (10, Happened::SoftirqBegin("timer".into())),
            (20, Happened::TimerBegin),
            (21, Happened::OtherBegin("NMI".into())),
            (25, Happened::OtherEnd),
            (30, Happened::TimerEnd),
            (50, Happened::SoftirqEnd),
        ];
        assert_eq!(decoded(&[nmi, record(130, Kind::Timer, 0, [120, 0, 0, 0, 0]), softirq]), expected);
    }
}
