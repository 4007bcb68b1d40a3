//! Measurements for tests, and their results.

use super::*;
use model::recording::Host;
use model::wake::environment::{CpuSettings, Environment};
use model::wake::{InForce, Policy, Sleeper, WakeRequest};
use proptest::prelude::*;

/// A machine without caveats.
pub(crate) fn environment(cpus: &[u32]) -> Environment {
    let cpu = |cpu: &u32| CpuSettings {
        cpu: *cpu,
        governor: Seen::Value("performance".into()),
        idle_states: Seen::Value(Vec::new()),
        interrupts: Seen::Value(Vec::new()),
        interrupted: Seen::Value(Vec::new()),
        steal_ns: Seen::Value(0),
        smi: Seen::Value(0),
    };
    Environment {
        preemption: Seen::Value("rt".into()),
        command_line: Seen::Value("isolcpus=1-3".into()),
        clocksource: Seen::Value("tsc".into()),
        hypervisor: Seen::Absent,
        isolated: Seen::Value(cpus.to_vec()),
        nohz_full: Seen::Value(cpus.to_vec()),
        dma_latency_us: Seen::Value(0),
        rt_runtime_us: Seen::Value((950_000, 1_000_000)),
        cgroup_rt_runtime_us: Seen::Absent,
        smt: Seen::Value(false),
        rt_priority_max: 99,
        housekeeping: Some(0),
        cpus: cpus.iter().map(cpu).collect(),
    }
}

/// The record of a thread with these latencies in order; a block has 1,000 of them.
pub(crate) fn thread(cpu: u32, late_ns: &[Ns]) -> ThreadMeasured {
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for ns in late_ns {
        *counts.entry(stats::fine::index(*ns)).or_default() += 1;
    }
    let bin = |(index, count): (usize, u64)| {
        let (from_ns, to_ns) = stats::fine::bounds(index);
        Bin { from_ns, to_ns, count }
    };
    let max_ns = late_ns.iter().copied().max().unwrap_or(0);
    let max_at = late_ns.iter().position(|ns| *ns == max_ns).unwrap_or(0) as u64;
    let block = |(at, late): (usize, &[Ns])| LatencyBlock {
        at_ns: at as u64 * 1_000_000_000,
        cycles: late.len() as u64,
        max_ns: *late.iter().max().expect("no block is empty"),
    };
    ThreadMeasured {
        elsewhere: 0,
        cpu,
        in_force: InForce {
            policy: Policy::Fifo(80),
            cpus: Seen::Value(vec![cpu]),
            locked_bytes: Seen::Value(1 << 22),
            locked_all: Seen::Value(true),
            refused: Vec::new(),
        },
        cycles: late_ns.len() as u64,
        missed: 0,
        histogram: counts.into_iter().map(bin).collect(),
        min_ns: late_ns.iter().copied().min().unwrap_or(0),
        sum_ns: late_ns.iter().sum(),
        max_ns,
        max_at_ns: max_at * 1_000_000,
        blocks: late_ns.chunks(1_000).enumerate().map(block).collect(),
        cpu_ns: late_ns.len() as u64 * 2_000,
    }
}

/// Measurements on a machine that is as it should be, at 1 kHz.
pub(crate) fn measured(threads: Vec<ThreadMeasured>) -> WakeMeasurements {
    let cpus: Vec<u32> = threads.iter().map(|thread| thread.cpu).collect();
    let took_ns = threads.iter().map(|thread| thread.cycles).max().unwrap_or(0) * 1_000_000;
    WakeMeasurements {
        host: Host {
            name: "board".into(),
            kernel: "6.18.1-rt".into(),
            arch: "aarch64".into(),
            cpus: 4,
            memory_bytes: Seen::Value(4 << 30),
            virtualisation: Seen::Absent,
        },
        environment: environment(&cpus),
        started_at: "2026-11-21T22:50:00Z".into(),
        machine_number: None,
        dwell: None,
        asked: WakeRequest {
            mode: WakeMode::Timer,
            sleeper: Sleeper::ClockNanosleep,
            cpus,
            interval_ns: 1_000_000,
            for_ns: took_ns,
            policy: Policy::Fifo(80),
            loads: Vec::new(),
            deadline: None,
            spike_ns: None,
        },
        took_ns,
        resolution_ns: 1,
        threads,
        loads: Vec::new(),
        spikes: Seen::Value(Vec::new()),
        limits: Vec::new(),
        interrupted: false,
    }
}

#[test]
fn percentiles_are_those_of_the_values_and_unseen_if_there_are_too_few() {
    let late: Vec<Ns> = (1..=100).collect();
    let found = wakeups(&measured(vec![thread(1, &late)]));
    let wakes = &found.threads[0];
    let seen = [&wakes.min_ns, &wakes.avg_ns, &wakes.p50_ns, &wakes.p99_ns, &wakes.max_ns, &wakes.max_at_ns];
    assert_eq!(seen.map(|seen| seen.value().copied()), [1, 50, 50, 99, 100, 99_000_000].map(Some));
    assert_eq!(wakes.p999_ns, Seen::unseen("100 wake-ups measured, at least 1,000 needed"));
    assert_eq!((wakes.cycles, wakes.cpu, found.all.cpu), (100, Some(1), None));
    assert_eq!(wakes.cpu_per_cycle_ns, Seen::Value(2_000));
}

#[test]
fn a_thread_without_a_wake_up_has_no_figures_and_does_not_affect_others() {
    let found = wakeups(&measured(vec![thread(1, &[]), thread(2, &[7, 9])]));
    assert_eq!(found.threads[0].min_ns, Seen::unseen("no wake-up was measured"));
    assert_eq!(found.threads[0].max_at_ns, Seen::unseen("no wake-up was measured"));
    assert_eq!((found.all.min_ns, found.all.avg_ns), (Seen::Value(7), Seen::Value(8)));
}

#[test]
fn all_together_has_the_maximum_of_each_block() {
    let mut late = vec![10; 2_000];
    late[1_500] = 90;
    let mut early = vec![20; 2_000];
    early[3] = 80;
    let found = wakeups(&measured(vec![thread(1, &late), thread(2, &early)]));
    let blocks: Vec<_> = found.all.timeline.iter().map(|block| (block.cycles, block.max_ns)).collect();
    assert_eq!(blocks, [(2_000, 80), (2_000, 90)]);
    assert_eq!((found.all.max_ns, found.all.max_at_ns), (Seen::Value(90), Seen::Value(1_500_000_000)));
    assert_eq!(found.all.cycles, 4_000);
    assert!(found.all.histogram.is_sorted_by_key(|bin| bin.from_ns), "{:?}", found.all.histogram);
}

#[test]
fn busy_loops_have_no_cost_for_a_wake_up() {
    let mut busy = measured(vec![thread(1, &[5, 6, 7])]);
    busy.asked.mode = WakeMode::Gap;
    assert_eq!(wakeups(&busy).all.cpu_per_cycle_ns, Seen::Absent);
}

proptest! {
    #[test]
    fn a_percentile_is_within_a_hundredth_of_the_exact_one(mut late in prop::collection::vec(0_u64..10_000_000, 1_000..3_000)) {
        let found = wakeups(&measured(vec![thread(1, &late)])).all;
        late.sort_unstable();
        for (seen, one_in) in [(&found.p50_ns, 2), (&found.p99_ns, 100), (&found.p999_ns, 1_000)] {
            let exact = late[late.len() - late.len() / one_in - 1];
            let value = *seen.value().unwrap();
            prop_assert!(value.abs_diff(exact) <= exact / 128 + 1, "{value} is not {exact}");
        }
    }
}
