//! Each cause from events made by hand, and properties of any sequence of events.

use super::*;
use KernelAction::*;
use model::wake::environment::{CpuSettings, IdleState};
use model::wake::spike::KernelEvent;
use proptest::prelude::*;

const OWN: u32 = 7;
const FIFO_80: i32 = 19;

fn task(tid: u32, name: &str, priority: i32) -> Task {
    Task { tid, name: name.into(), priority }
}

fn own() -> Task {
    task(OWN, "wake", FIFO_80)
}

fn idle() -> Task {
    task(0, "swapper/1", 120)
}

fn hog() -> Task {
    task(50, "hog", 9)
}

fn make() -> Task {
    task(60, "make", 120)
}

fn switch(from: Task, to: Task) -> KernelAction {
    Switch { from, to, preempted: false }
}

fn preempt(from: Task, to: Task) -> KernelAction {
    Switch { from, to, preempted: true }
}

fn environment() -> Environment {
    let unseen = || "not looked at".to_owned();
    let state = |name: &str| IdleState { name: name.into(), exit_latency_ns: 0, disabled: false };
    Environment {
        preemption: Seen::Unseen(unseen()),
        command_line: Seen::Unseen(unseen()),
        clocksource: Seen::Unseen(unseen()),
        hypervisor: Seen::Unseen(unseen()),
        isolated: Seen::Unseen(unseen()),
        nohz_full: Seen::Unseen(unseen()),
        dma_latency_us: Seen::Unseen(unseen()),
        rt_runtime_us: Seen::Unseen(unseen()),
        cgroup_rt_runtime_us: Seen::Unseen(unseen()),
        smt: Seen::Unseen(unseen()),
        rt_priority_max: 99,
        housekeeping: None,
        cpus: vec![CpuSettings {
            cpu: 1,
            governor: Seen::Unseen(unseen()),
            idle_states: Seen::Value(vec![state("POLL"), state("C1")]),
            interrupts: Seen::Unseen(unseen()),
            interrupted: Seen::Unseen(unseen()),
            steal_ns: Seen::Unseen(unseen()),
            smi: Seen::Unseen(unseen()),
        }],
    }
}

/// A spike due at 1,000 and awake at `awake_ns`.
fn of(awake_ns: Ns, events: Vec<(Ns, KernelAction)>) -> Spike {
    let events = events.into_iter().map(|(at_ns, happened)| KernelEvent { at_ns, happened }).collect();
    let seen =
        SpikeSeen { cpu: 1, tid: OWN, expected_ns: 1_000, awake_ns, events, stack: Seen::Absent, lost: None };
    let spike = spike(&seen, &environment());
    assert_eq!(spike.shares.iter().map(|share| share.ns).sum::<Ns>(), spike.ns);
    spike
}

/// The shares in order: cause, name (or empty) and length.
fn shares(spike: &Spike) -> Vec<(Cause, &str, Ns)> {
    spike.shares.iter().map(|share| (share.cause, share.who.as_deref().unwrap_or(""), share.ns)).collect()
}

#[test]
fn a_late_timer_on_an_idle_cpu_is_idle_exit() {
    let spike = of(
        1_200,
        vec![
            (500, switch(own(), idle())),
            (510, IdleBegin(1)),
            (1_000, Due),
            (1_100, TimerBegin),
            (1_105, Expired),
            (1_110, Woken(own())),
            (1_130, TimerEnd),
            (1_150, switch(idle(), own())),
        ],
    );
    let expected = [
        (Cause::IdleExit, "C1", 100),
        (Cause::TimerInterrupt, "", 30),
        (Cause::Switching, "", 20),
        (Cause::ReturnToUser, "", 50),
    ];
    assert_eq!(shares(&spike), expected);
    assert_eq!(
        (spike.cause, spike.who.as_deref(), spike.at_ns, spike.ns),
        (Cause::IdleExit, Some("C1"), 1_000, 200)
    );
}

#[test]
fn a_late_timer_while_a_task_runs_is_interrupts_off() {
    let spike = of(
        1_500,
        vec![
            (500, switch(own(), make())),
            (1_400, TimerBegin),
            (1_410, Woken(own())),
            (1_420, TimerEnd),
            (1_430, preempt(make(), own())),
        ],
    );
    let expected = [
        (Cause::InterruptsOff, "make", 400),
        (Cause::TimerInterrupt, "", 20),
        (Cause::PreemptionOff, "make", 10),
        (Cause::ReturnToUser, "", 70),
    ];
    assert_eq!(shares(&spike), expected);
}

#[test]
fn interrupts_within_a_tasks_time_are_their_own_and_the_task_has_one_share() {
    let spike = of(
        2_000,
        vec![
            (500, switch(own(), hog())),
            (1_000, TimerBegin),
            (1_010, Woken(own())),
            (1_020, TimerEnd),
            (1_200, IrqBegin("eth0".into())),
            (1_220, OtherBegin("NMI".into())),
            (1_225, OtherEnd),
            (1_250, IrqEnd),
            (1_250, SoftirqBegin("net_rx".into())),
            (1_260, IrqBegin("nvme0q1".into())),
            (1_270, IrqEnd),
            (1_350, SoftirqEnd),
            (1_950, switch(hog(), own())),
        ],
    );
    let expected = [
        (Cause::TimerInterrupt, "", 20),
        (Cause::Task, "hog", 780),
        (Cause::Interrupt, "eth0", 45),
        (Cause::Interrupt, "NMI", 5),
        (Cause::Softirq, "net_rx", 90),
        (Cause::Interrupt, "nvme0q1", 10),
        (Cause::ReturnToUser, "", 50),
    ];
    assert_eq!(shares(&spike), expected);
    assert_eq!((spike.cause, spike.who.as_deref()), (Cause::Task, Some("hog")));
}

/// The cause if `holder` runs when the thread is woken.
fn held_by(holder: &Task, own_priority: i32) -> Cause {
    let own = || task(OWN, "wake", own_priority);
    let events = vec![
        (500, switch(own(), holder.clone())),
        (1_000, Woken(own())),
        (1_900, switch(holder.clone(), own())),
    ];
    of(2_000, events).cause
}

#[test]
fn priorities_decide_between_task_and_preemption_off() {
    assert_eq!(held_by(&hog(), FIFO_80), Cause::Task);
    assert_eq!(held_by(&task(50, "equal", FIFO_80), FIFO_80), Cause::Task);
    assert_eq!(held_by(&task(50, "deadline", -1), 0), Cause::Task);
    assert_eq!(held_by(&make(), FIFO_80), Cause::PreemptionOff);
    assert_eq!(held_by(&task(50, "lower", FIFO_80 + 1), FIFO_80), Cause::PreemptionOff);
    // Between fair tasks the scheduler decides, not the nice value.
    assert_eq!(held_by(&task(50, "nice", 139), 120), Cause::Task);
}

#[test]
fn a_task_that_the_scheduler_chose_first_is_the_cause_at_any_priority() {
    let spike = of(
        2_000,
        vec![
            (500, switch(own(), hog())),
            (1_000, Woken(own())),
            (1_100, switch(hog(), make())),
            (1_800, switch(make(), idle())),
            (1_900, switch(idle(), own())),
        ],
    );
    let expected = [
        (Cause::Task, "hog", 100),
        (Cause::Task, "make", 700),
        (Cause::Unexplained, "", 100),
        (Cause::ReturnToUser, "", 100),
    ];
    assert_eq!(shares(&spike), expected);
}

#[test]
fn a_thread_that_is_preempted_waits_for_the_task_that_preempts_it() {
    let spike = of(
        2_000,
        vec![
            (1_000, Woken(own())),
            (1_010, switch(idle(), own())),
            (1_100, preempt(own(), hog())),
            (1_700, switch(hog(), own())),
        ],
    );
    let expected = [(Cause::Unexplained, "", 10), (Cause::ReturnToUser, "", 390), (Cause::Task, "hog", 600)];
    assert_eq!(shares(&spike), expected);
}

#[test]
fn a_stopped_thread_is_stopped_until_it_is_woken_even_if_it_was_before() {
    let stop = vec![
        (600, switch(own(), idle())),
        (600, Stopped),
        (1_300, IrqBegin("eth0".into())),
        (1_350, IrqEnd),
        (1_900, Woken(own())),
        (1_950, switch(idle(), own())),
    ];
    let expected = [(Cause::Stopped, "", 900), (Cause::Switching, "", 50), (Cause::ReturnToUser, "", 50)];
    assert_eq!(shares(&of(2_000, stop)), expected);
    // The same when it was woken in time, by the stop itself.
    let stop = vec![
        (500, switch(own(), idle())),
        (1_100, Woken(own())),
        (1_110, switch(idle(), own())),
        (1_120, switch(own(), idle())),
        (1_120, Stopped),
        (1_900, Woken(own())),
        (1_950, switch(idle(), own())),
    ];
    let spike = of(2_000, stop);
    assert_eq!((spike.cause, spike.shares.len()), (Cause::Stopped, 4), "{spike:?}");
}

#[test]
fn a_timer_with_slack_is_not_late_before_it_is_due() {
    let spike = of(
        1_100,
        vec![
            (500, switch(own(), idle())),
            (1_020, TimerBegin),
            (1_030, TimerEnd),
            (1_050, Due),
            (1_060, TimerBegin),
            (1_061, Expired),
            (1_062, Woken(own())),
            (1_070, TimerEnd),
            (1_080, switch(idle(), own())),
        ],
    );
    assert_eq!(shares(&spike)[..2], [(Cause::TimerSlack, "", 50), (Cause::IdleExit, "", 10)]);
}

#[test]
fn the_interrupt_in_which_the_timer_expires_is_the_timers() {
    let spike = of(
        1_100,
        vec![
            (500, switch(own(), idle())),
            (1_050, IrqBegin("arch_timer".into())),
            (1_060, Expired),
            (1_060, Woken(own())),
            (1_090, IrqEnd),
            (1_100, switch(idle(), own())),
        ],
    );
    let expected = [
        (Cause::IdleExit, "", 50),
        (Cause::Interrupt, "arch_timer", 10),
        (Cause::TimerInterrupt, "", 30),
        (Cause::Switching, "", 10),
    ];
    assert_eq!(shares(&spike), expected);
}

#[test]
fn lost_events_are_unexplained() {
    let spike = of(
        2_000,
        vec![
            (500, switch(own(), make())),
            (1_010, Woken(own())),
            (1_100, Lost),
            (1_700, preempt(hog(), make())),
            (1_900, preempt(make(), own())),
        ],
    );
    let unexplained = spike.shares.iter().find(|share| share.cause == Cause::Unexplained);
    assert_eq!(unexplained.map(|share| share.ns), Some(600));
}

#[test]
fn the_move_from_another_cpu_is_migration() {
    let spike = of(
        1_200,
        vec![
            (500, switch(make(), idle())),
            (1_000, Woken(own())),
            (1_010, Migrated(0)),
            (1_150, switch(idle(), own())),
        ],
    );
    let expected = [(Cause::Switching, "", 10), (Cause::Migration, "", 140), (Cause::ReturnToUser, "", 50)];
    assert_eq!(shares(&spike), expected);
}

#[test]
fn steal_needs_a_count_and_a_part_that_is_long_enough() {
    let events = |late_ns: Ns, stolen| {
        let mut events = vec![
            (500, switch(own(), idle())),
            (1_000 + late_ns, Woken(own())),
            (1_000 + late_ns, switch(idle(), own())),
        ];
        events.extend(stolen);
        events
    };
    let spike = of(20_001_000, events(20_000_000, Some((30_000_000, Stolen(10_000_000)))));
    assert_eq!(shares(&spike), [(Cause::Steal, "", 10_000_000), (Cause::IdleExit, "", 10_000_000)]);
    let spike = of(6_001_000, events(6_000_000, Some((30_000_000, Stolen(10_000_000)))));
    assert_eq!(shares(&spike), [(Cause::Steal, "", 6_000_000)]);
    let spike = of(4_001_000, events(4_000_000, Some((30_000_000, Stolen(10_000_000)))));
    assert_eq!(spike.cause, Cause::IdleExit);
    let spike = of(20_001_000, events(20_000_000, None));
    assert_eq!(spike.cause, Cause::IdleExit);
}

#[test]
fn without_events_nothing_is_explained() {
    let spike = of(1_500, vec![]);
    assert_eq!(shares(&spike), [(Cause::Unexplained, "", 500)]);
    assert_eq!((spike.cause, spike.who), (Cause::Unexplained, None));
    assert_eq!(of(1_000, vec![]).shares, []);
    // A thread in a busy loop has the CPU all the time.
    let spike =
        of(1_500, vec![(900, preempt(hog(), own())), (1_100, IrqBegin("eth0".into())), (1_200, IrqEnd)]);
    assert_eq!(shares(&spike), [(Cause::Unexplained, "", 400), (Cause::Interrupt, "eth0", 100)]);
}

fn any_task() -> impl Strategy<Value = Task> {
    (prop_oneof![Just(0_u32), Just(OWN), 50_u32..53], -1..140_i32)
        .prop_map(|(tid, priority)| task(tid, &format!("task {tid}"), priority))
}

fn any_happened() -> impl Strategy<Value = KernelAction> {
    prop_oneof![
        (any_task(), any_task(), any::<bool>()).prop_map(|(from, to, preempted)| Switch {
            from,
            to,
            preempted
        }),
        any_task().prop_map(Woken),
        (0..3_u32).prop_map(|irq| IrqBegin(irq.to_string())),
        Just(IrqEnd),
        (0..3_u32).prop_map(|vector| SoftirqBegin(vector.to_string())),
        Just(SoftirqEnd),
        Just(TimerBegin),
        Just(TimerEnd),
        Just(Expired),
        (0..3_u32).prop_map(|other| OtherBegin(other.to_string())),
        Just(OtherEnd),
        (0..3_u32).prop_map(IdleBegin),
        Just(Lost),
        (0..3_u32).prop_map(Migrated),
        Just(Stopped),
        Just(Due),
        (0..20_000_000_u64).prop_map(Stolen),
    ]
}

proptest! {
    /// Any events in any order, even after the wake-up.
    #[test]
    fn shares_sum_to_the_latency_and_none_is_there_twice(
        late_ns in prop_oneof![0_u64..3_000, 0_u64..20_000_000],
        events in prop::collection::vec((0_u64..5_000, any_happened()), 0..40),
        sorted in any::<bool>(),
    ) {
        let mut events = events;
        if sorted {
            events.sort_by_key(|(at, _)| *at);
        }
        let spike = of(1_000 + late_ns, events);
        prop_assert_eq!(spike.ns, late_ns);
        prop_assert!(spike.shares.iter().all(|share| share.ns > 0));
        let mut names: Vec<_> = spike.shares.iter().map(|share| (share.cause, share.who.clone())).collect();
        names.sort();
        names.dedup();
        prop_assert_eq!(names.len(), spike.shares.len());
        let largest = spike.shares.iter().map(|share| share.ns).max();
        let own = spike.shares.iter().find(|share| (share.cause, &share.who) == (spike.cause, &spike.who));
        prop_assert_eq!(own.map(|share| share.ns), largest);
    }
}
