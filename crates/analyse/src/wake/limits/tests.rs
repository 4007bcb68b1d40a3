//! Each limit by itself: a machine that is as it should be, with one thing wrong.

use super::limits;
use crate::wake::tests::{measured, thread};
use crate::wake::wakeups;
use model::Seen;
use model::wake::environment::IdleState;
use model::wake::load::{Load, LoadDone};
use model::wake::{Measurements, Mode, Policy};

const ALWAYS: &str = "this is how late a thread wakes up by a timer";

fn good() -> Measurements {
    measured(vec![thread(1, &[5_000; 100]), thread(2, &[6_000; 100])])
}

/// What is said of the good machine after `spoil`, but what is always said.
fn said(spoil: impl FnOnce(&mut Measurements)) -> Vec<String> {
    let mut one = good();
    spoil(&mut one);
    let mut said = wakeups(&one).limits;
    let last = said.pop().expect("something is always said");
    assert!(last.starts_with(ALWAYS), "{last}");
    said
}

#[test]
fn a_good_machine_gets_what_always_holds_and_no_more() {
    assert_eq!(said(|_| {}), [""; 0]);
    let none = measured(Vec::new());
    assert_eq!(limits(&none, &wakeups(&none).all).len(), 1);
}

#[test]
fn each_wrong_thing_is_said_once_and_alone() {
    type Spoil = fn(&mut Measurements);
    let cases: [(&str, Spoil); 27] = [
        ("processor 1: no", |m| m.threads[0].in_force.refused.push("no".into())),
        ("no", |m| m.threads.iter_mut().for_each(|one| one.in_force.refused.push("no".into()))),
        ("processor 2 measured under SCHED_RR at priority 80, not under SCHED_FIFO at priority 80", |m| {
            m.threads[1].in_force.policy = Policy::Rr(80);
        }),
        ("processors 1-2 measured under SCHED_FIFO at priority 2, not under", |m| {
            m.threads.iter_mut().for_each(|one| one.in_force.policy = Policy::Fifo(2));
        }),
        ("the threads of processor 1 were free to move", |m| {
            m.threads[0].in_force.cpus = Seen::Value(vec![0, 1])
        }),
        ("whether the threads of processor 1 were free to move is not known: no such process", |m| {
            m.threads[0].in_force.cpus = Seen::unseen("no such process");
        }),
        ("memory was not locked", |m| {
            m.threads.iter_mut().for_each(|one| one.in_force.locked_bytes = Seen::Value(0));
        }),
        ("with a timer slack of 50.0 us", |m| {
            m.asked.policy = Policy::Other(1);
            m.threads[0].in_force.policy = Policy::Other(50_000);
            m.threads[1].in_force.policy = m.asked.policy;
            m.threads.truncate(1);
        }),
        ("may run for 950 ms in 1.00 s, and the measurement itself takes nearly all of processor 2", |m| {
            m.threads[1].cpu_ns = m.took_ns;
        }),
        ("takes nearly all of processors 1-2", |m| m.asked.mode = Mode::Gap),
        ("the control group may not run real-time threads", |m| {
            m.environment.cgroup_rt_runtime_us = Seen::Value(0);
        }),
        ("real-time threads may run for 10.0 ms a period together", |m| {
            m.environment.cgroup_rt_runtime_us = Seen::Value(10_000);
        }),
        ("the rest of dwell runs on one of them", |m| m.environment.housekeeping = None),
        ("the clock can tell apart 4.00 ms and no less", |m| m.resolution_ns = 4_000_000),
        ("3 periods went by while a thread was late", |m| m.threads[0].missed = 3),
        ("not what had been written, 2 times", |m| {
            m.loads.push(LoadDone {
                load: Load::Cpu { threads: 1 },
                ran_ns: 1,
                done: 1,
                unit: "loops".into(),
                cpu_ns: 1,
                mismatches: Vec::new(),
                mismatches_total: 2,
                failures: Vec::new(),
                limits: Vec::new(),
            });
        }),
        ("it was ended after 100 ms of 60.0 s", |m| {
            m.interrupted = true;
            m.asked.for_ns = 60_000_000_000;
            assert_eq!(m.took_ns, 100_000_000);
        }),
        ("a virtual machine (KVM)", |m| m.environment.hypervisor = Seen::Value("KVM".into())),
        ("gave 20.0 ms of processor 2 to others", |m| {
            m.environment.cpus[1].steal_ns = Seen::Value(20_000_000);
        }),
        ("interrupted the processors 7 times (SMI)", |m| {
            m.environment.cpus.iter_mut().for_each(|cpu| cpu.smi = Seen::Value(7));
        }),
        ("the kernel's preemption is voluntary", |m| {
            m.environment.preemption = Seen::Value("voluntary".into());
        }),
        ("chosen by the governor powersave", |m| {
            m.environment.cpus[0].governor = Seen::Value("powersave".into());
        }),
        ("processor 1 may idle as deep as C6, which takes 133 us to leave", |m| {
            m.environment.dma_latency_us = Seen::unseen("not permitted");
            m.environment.cpus[0].idle_states = Seen::Value(states());
        }),
        ("the clock source hpet", |m| m.environment.clocksource = Seen::Value("hpet".into())),
        ("share a core (SMT)", |m| m.environment.smt = Seen::Value(true)),
        ("on processor 1 too: not in isolcpus", |m| m.environment.isolated = Seen::Value(vec![2])),
        ("processor 1 was interrupted by eth0 (12,000), i8042 (1), a (1) and 1 more", |m| {
            let names = [
                ("eth0", 12_000),
                ("i8042", 1),
                ("Local timer interrupts", 9_999),
                ("a", 1),
                ("b", 1),
                ("c", 0),
            ];
            m.environment.cpus[0].interrupted =
                Seen::Value(names.map(|(name, n)| (name.to_owned(), n)).to_vec());
        }),
    ];
    for (sentence, spoil) in cases {
        let said = said(spoil);
        assert!(said.len() == 1 && said[0].contains(sentence), "{sentence}: {said:#?}");
    }
}

fn states() -> Vec<IdleState> {
    let state = |name: &str, us: u64, disabled| IdleState {
        name: name.into(),
        exit_latency_ns: us * 1_000,
        disabled,
    };
    vec![state("POLL", 0, false), state("C1", 2, false), state("C6", 133, false), state("C10", 890, true)]
}

#[test]
fn remedies_are_those_that_can_help() {
    let deep = |m: &mut Measurements, held| {
        m.environment.dma_latency_us = held;
        m.environment.cpus[0].idle_states = Seen::Value(states());
    };
    assert!(said(|m| deep(m, Seen::Absent))[0].ends_with("try: without --idle-states"));
    assert!(said(|m| deep(m, Seen::unseen("not permitted")))[0].contains("try: as root"));
    let alone = said(|m| {
        m.environment.housekeeping = None;
        m.threads.truncate(1);
        m.asked.cpus.truncate(1);
    });
    assert!(alone.len() == 1 && !alone[0].contains("try:"), "{alone:#?}");
}

#[test]
fn idle_states_that_the_held_latency_forbids_are_not_said() {
    let said = said(|m| m.environment.cpus[0].idle_states = Seen::Value(states()));
    assert_eq!(said, [""; 0]);
}

#[test]
fn what_could_not_be_read_is_not_said_to_be_wrong() {
    let said = said(|m| {
        let environment = &mut m.environment;
        let why = || "not permitted".to_owned();
        environment.preemption = Seen::Unseen(why());
        environment.clocksource = Seen::Unseen(why());
        environment.hypervisor = Seen::Unseen(why());
        environment.isolated = Seen::Unseen(why());
        environment.smt = Seen::Unseen(why());
        environment.rt_runtime_us = Seen::Unseen(why());
        environment.cgroup_rt_runtime_us = Seen::Unseen(why());
        m.threads.iter_mut().for_each(|one| one.in_force.locked_bytes = Seen::Unseen(why()));
        for cpu in &mut environment.cpus {
            cpu.governor = Seen::Unseen(why());
            cpu.idle_states = Seen::Unseen(why());
            cpu.steal_ns = Seen::Unseen(why());
            cpu.smi = Seen::Unseen(why());
            cpu.interrupted = Seen::Unseen(why());
            cpu.interrupts = Seen::Unseen(why());
        }
    });
    assert_eq!(said, [""; 0]);
}

#[test]
fn where_nobody_counted_interrupts_those_that_may_strike_are_said() {
    let said = said(|m| {
        m.environment.cpus[1].interrupted = Seen::unseen("not there");
        m.environment.cpus[1].interrupts = Seen::Value(vec!["eth0".into()]);
    });
    assert_eq!(said, ["processor 2 was open to the interrupts of eth0"]);
}

#[test]
fn a_ticking_processor_is_said_for_busy_loops_only() {
    let gap = said(|m| {
        m.asked.mode = Mode::Gap;
        m.environment.rt_runtime_us = Seen::Value((-1, 1_000_000));
        m.environment.nohz_full = Seen::Value(vec![1]);
    });
    assert_eq!(gap, ["the scheduler's tick strikes processor 2: not in nohz_full"]);
    assert_eq!(said(|m| m.environment.nohz_full = Seen::Absent), [""; 0]);
}
