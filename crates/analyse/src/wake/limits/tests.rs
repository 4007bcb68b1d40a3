//! Each caveat by itself: a machine without caveats, with one fault.

use super::limits;
use crate::wake::tests::{measured, thread};
use crate::wake::wakeups;
use model::Seen;
use model::wake::environment::IdleState;
use model::wake::load::{Load, LoadDone};
use model::wake::{Policy, WakeMeasurements, WakeMode};

const ALWAYS: &str = "this is the latency of timer wake-ups";

fn good() -> WakeMeasurements {
    measured(vec![thread(1, &[5_000; 100]), thread(2, &[6_000; 100])])
}

/// The caveats of the good machine after `spoil`, without the one that always holds.
fn caveats(spoil: impl FnOnce(&mut WakeMeasurements)) -> Vec<String> {
    let mut one = good();
    spoil(&mut one);
    let mut caveats = wakeups(&one).limits;
    let last = caveats.pop().expect("one caveat always holds");
    assert!(last.starts_with(ALWAYS), "{last}");
    caveats
}

#[test]
fn a_good_machine_has_only_the_caveat_that_always_holds() {
    assert_eq!(caveats(|_| {}), [""; 0]);
    let none = measured(Vec::new());
    assert_eq!(limits(&none, &wakeups(&none).all).len(), 1);
}

#[test]
fn each_fault_is_one_caveat() {
    type Fault = fn(&mut WakeMeasurements);
    let cases: [(&str, Fault); 28] = [
        ("CPU 1: no", |m| m.threads[0].in_force.refused.push("no".into())),
        ("no", |m| m.threads.iter_mut().for_each(|one| one.in_force.refused.push("no".into()))),
        ("CPU 2 measured under SCHED_RR priority 80, not SCHED_FIFO priority 80", |m| {
            m.threads[1].in_force.policy = Policy::Rr(80);
        }),
        ("CPUs 1-2 measured under SCHED_FIFO priority 2, not", |m| {
            m.threads.iter_mut().for_each(|one| one.in_force.policy = Policy::Fifo(2));
        }),
        ("the threads of CPU 1 were not bound to their CPU", |m| {
            m.threads[0].in_force.cpus = Seen::Value(vec![0, 1])
        }),
        ("whether the threads of CPU 1 were bound to their CPU is unknown: no such process", |m| {
            m.threads[0].in_force.cpus = Seen::unseen("no such process");
        }),
        ("CPU 2 was offline or taken from dwell (cpuset) for 300 of 400 wake-ups", |m| {
            m.threads[1].elsewhere = 300;
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
        ("may run for 950 ms in 1.00 s, and the measurement itself uses nearly all of CPU 2", |m| {
            m.threads[1].cpu_ns = m.took_ns;
        }),
        ("uses nearly all of CPUs 1-2", |m| m.asked.mode = WakeMode::Gap),
        ("the cgroup may not run real-time threads", |m| {
            m.environment.cgroup_rt_runtime_us = Seen::Value(0);
        }),
        ("real-time threads of the cgroup may run for 10.0 ms per period in all", |m| {
            m.environment.cgroup_rt_runtime_us = Seen::Value(10_000);
        }),
        ("dwell itself runs on one of them", |m| m.environment.housekeeping = None),
        ("the resolution of the clock is 4.00 ms", |m| m.resolution_ns = 4_000_000),
        ("3 periods were missed while a thread was late", |m| m.threads[0].missed = 3),
        ("differed from what was written, 2 times", |m| {
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
        ("ended early, after 100 ms of 60.0 s", |m| {
            m.interrupted = true;
            m.asked.for_ns = 60_000_000_000;
            assert_eq!(m.took_ns, 100_000_000);
        }),
        ("a virtual machine (KVM)", |m| m.environment.hypervisor = Seen::Value("KVM".into())),
        ("gave 20.0 ms of CPU 2 to others", |m| {
            m.environment.cpus[1].steal_ns = Seen::Value(20_000_000);
        }),
        ("interrupted the CPUs 7 times (SMI)", |m| {
            m.environment.cpus.iter_mut().for_each(|cpu| cpu.smi = Seen::Value(7));
        }),
        ("the kernel's preemption model is voluntary, not rt", |m| {
            m.environment.preemption = Seen::Value("voluntary".into());
        }),
        ("set by the governor powersave", |m| {
            m.environment.cpus[0].governor = Seen::Value("powersave".into());
        }),
        ("CPU 1 may enter idle state C6, with an exit latency of 133 us", |m| {
            m.environment.dma_latency_us = Seen::unseen("not permitted");
            m.environment.cpus[0].idle_states = Seen::Value(states());
        }),
        ("the clock source hpet", |m| m.environment.clocksource = Seen::Value("hpet".into())),
        ("CPUs share cores (SMT)", |m| m.environment.smt = Seen::Value(true)),
        ("on CPU 1 too: not in isolcpus", |m| m.environment.isolated = Seen::Value(vec![2])),
        ("CPU 1 was interrupted by eth0 (12,000), i8042 (1), a (1) and 1 more", |m| {
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
        let found = caveats(spoil);
        assert!(found.len() == 1 && found[0].contains(sentence), "{sentence}: {found:#?}");
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
    let deep = |m: &mut WakeMeasurements, held| {
        m.environment.dma_latency_us = held;
        m.environment.cpus[0].idle_states = Seen::Value(states());
    };
    assert!(caveats(|m| deep(m, Seen::Absent))[0].ends_with("try: leave out --idle-states"));
    assert!(caveats(|m| deep(m, Seen::unseen("not permitted")))[0].contains("try: sudo: as root"));
    let alone = caveats(|m| {
        m.environment.housekeeping = None;
        m.threads.truncate(1);
        m.asked.cpus.truncate(1);
    });
    assert!(alone.len() == 1 && !alone[0].contains("try:"), "{alone:#?}");
}

#[test]
fn idle_states_beyond_the_held_latency_are_no_caveat() {
    let found = caveats(|m| m.environment.cpus[0].idle_states = Seen::Value(states()));
    assert_eq!(found, [""; 0]);
}

#[test]
fn unknown_settings_are_no_caveat() {
    let found = caveats(|m| {
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
    assert_eq!(found, [""; 0]);
}

#[test]
fn without_counts_the_possible_interrupts_are_listed() {
    let found = caveats(|m| {
        m.environment.cpus[1].interrupted = Seen::unseen("not there");
        m.environment.cpus[1].interrupts = Seen::Value(vec!["eth0".into()]);
    });
    assert_eq!(found, ["CPU 2 was open to interrupts of eth0"]);
}

#[test]
fn the_tick_is_a_caveat_of_busy_loops_only() {
    let gap = caveats(|m| {
        m.asked.mode = WakeMode::Gap;
        m.environment.rt_runtime_us = Seen::Value((-1, 1_000_000));
        m.environment.nohz_full = Seen::Value(vec![1]);
    });
    assert_eq!(gap, ["the scheduler's tick interrupts CPU 2: not in nohz_full"]);
    assert_eq!(caveats(|m| m.environment.nohz_full = Seen::Absent), [""; 0]);
}
