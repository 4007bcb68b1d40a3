//! Samples of measured wake-ups, made in code: distributions of known shape, so that no figure is
//! chance.

// Each test uses a part of it.
#![allow(dead_code)]

use model::compare::wake::{
    CaseDiff, CaseName, FigureInterval, Maxima, MeasurementOrigin, Quantile, SCHEMA_WAKE_DIFF, UnmatchedCase,
    WakeComparison,
};
use model::compare::{Change, Difference, Side};
use model::recording::Host;
use model::wake::environment::{CpuSettings, Environment, IdleState};
use model::wake::load::{Load, LoadDone, Mismatch, Transport, Workers};
use model::wake::sheet::{Case, SCHEMA_SHEET, Sheet};
use model::wake::spike::{Cause, LatencyShare, Spike};
use model::wake::verdict::{Answer, CpuVerdict, Deadline, Extreme, Verdict};
use model::wake::{
    Bin, InForce, LatencyBlock, Policy, SCHEMA_WAKE, Settings, Sleeper, WakeMode, WakeRequest, Wakes, Wakeups,
};
use model::{Ns, Seen};
use stats::fine;
use std::collections::BTreeMap;

const US: Ns = 1_000;
const MS: Ns = 1_000_000;
const S: Ns = 1_000_000_000;

/// What a host could put there to spoil a terminal.
pub(crate) const HOSTILE: &str = "a\x1b[2J\u{202e}b\nc";

/// A distribution: this number of cycles, lognormal about a median, with late ones at given places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub(crate) cycles: u64,
    pub(crate) median_ns: f64,
    /// The spread of the logarithm.
    pub(crate) spread: f64,
    /// Value and how many.
    pub(crate) late: &'a [(Ns, u64)],
}

impl Shape<'_> {
    /// How many there are in each fine bin. What rounding leaves goes to the next one.
    fn bins(&self) -> Vec<Bin> {
        let below = |ns: u64| {
            let z = ((ns.max(1) as f64).ln() - self.median_ns.ln()) / self.spread;
            // The logistic curve that is nearest to the normal one.
            1.0 / (1.0 + (-1.702 * z).exp())
        };
        let mut counts = BTreeMap::new();
        let (mut given, mut due) = (0_u64, 0.0);
        for at in 0..fine::BINS {
            let (lo, hi) = fine::bounds(at);
            due += (below(hi) - below(lo)) * self.cycles as f64;
            // A body has an end: what is later is given by hand.
            let count = (due - given as f64).max(0.0) as u64;
            if count > 0 && (lo as f64) < self.median_ns * (5.0 * self.spread).exp() {
                given += count;
                counts.insert(at, count);
            }
        }
        for (ns, count) in self.late {
            *counts.entry(fine::index(*ns)).or_default() += count;
        }
        let bin = |(at, count): (usize, u64)| {
            let (from_ns, to_ns) = fine::bounds(at);
            Bin { from_ns, to_ns, count }
        };
        counts.into_iter().map(bin).collect()
    }
}

fn quantile(bins: &[Bin], cycles: u64, one_in: u64) -> Seen<Ns> {
    if cycles < one_in {
        return Seen::unseen(format!("it wants {one_in} wake-ups, and there were {cycles}"));
    }
    let beyond = cycles / one_in;
    let mut seen = 0;
    for bin in bins.iter().rev() {
        seen += bin.count;
        if seen > beyond {
            return Seen::Value(u64::midpoint(bin.from_ns, bin.to_ns));
        }
    }
    Seen::Absent
}

/// Figures of bins and a timeline.
pub(crate) fn figures(
    cpu: Option<u32>,
    histogram: Vec<Bin>,
    timeline: Vec<LatencyBlock>,
    missed: u64,
) -> Wakes {
    let cycles: u64 = histogram.iter().map(|bin| bin.count).sum();
    let middle = |bin: &Bin| u64::midpoint(bin.from_ns, bin.to_ns);
    let first = histogram.first().map_or(Seen::Absent, |bin| Seen::Value(bin.from_ns));
    let sum: u128 = histogram.iter().map(|bin| u128::from(middle(bin)) * u128::from(bin.count)).sum();
    let latest = timeline.iter().max_by_key(|block| block.max_ns);
    let part = |one_in| quantile(&histogram, cycles, one_in);
    Wakes {
        cpu,
        cycles,
        missed: Seen::Value(missed),
        elsewhere: None,
        min_ns: first,
        avg_ns: if cycles == 0 { Seen::Absent } else { Seen::Value((sum / u128::from(cycles)) as Ns) },
        p50_ns: part(2),
        p99_ns: part(100),
        p999_ns: part(1_000),
        p9999_ns: part(10_000),
        p99999_ns: part(100_000),
        p999999_ns: part(1_000_000),
        max_ns: latest.map_or(Seen::Absent, |block| Seen::Value(block.max_ns)),
        max_at_ns: latest.map_or(Seen::Absent, |block| Seen::Value(block.at_ns + 412 * MS)),
        histogram,
        timeline,
        cpu_per_cycle_ns: if cycles == 0 { Seen::Absent } else { Seen::Value(2_340) },
    }
}

/// Maxima between the body's end and the maximum, with the maximum somewhere in the middle.
fn timeline(blocks: u64, each_ns: Ns, cycles: u64, low: Ns, high: Ns, seed: u64) -> Vec<LatencyBlock> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let latest = (blocks as f64 * (0.2 + 0.6 * random())) as u64;
    let block = |at: u64| {
        let max_ns =
            if at == latest { high } else { low + (random().powi(6) * (high - low) as f64 * 0.8) as Ns };
        LatencyBlock { at_ns: at * each_ns, cycles: cycles / blocks.max(1), max_ns }
    };
    (0..blocks).map(block).collect()
}

/// All threads' bins together.
fn merged(threads: &[Wakes]) -> Vec<Bin> {
    let mut bins = BTreeMap::<(Ns, Ns), u64>::new();
    for bin in threads.iter().flat_map(|thread| &thread.histogram) {
        *bins.entry((bin.from_ns, bin.to_ns)).or_default() += bin.count;
    }
    bins.into_iter().map(|((from_ns, to_ns), count)| Bin { from_ns, to_ns, count }).collect()
}

/// The maximum latency of all threads in each block.
fn latest(threads: &[Wakes]) -> Vec<LatencyBlock> {
    let mut blocks = BTreeMap::<Ns, LatencyBlock>::new();
    for block in threads.iter().flat_map(|thread| &thread.timeline) {
        let all = blocks.entry(block.at_ns).or_insert(LatencyBlock { cycles: 0, max_ns: 0, ..*block });
        all.cycles += block.cycles;
        all.max_ns = all.max_ns.max(block.max_ns);
    }
    blocks.into_values().collect()
}

fn host(name: &str, kernel: &str, cpus: u32) -> Host {
    Host {
        name: name.into(),
        kernel: kernel.into(),
        arch: "aarch64".into(),
        cpus,
        memory_bytes: Seen::Value(4 << 30),
        virtualisation: Seen::Absent,
    }
}

fn cpu_settings(cpu: u32) -> CpuSettings {
    let state =
        |name: &str, exit_latency_ns, disabled| IdleState { name: name.into(), exit_latency_ns, disabled };
    CpuSettings {
        cpu,
        governor: Seen::Value("performance".into()),
        idle_states: Seen::Value(vec![state("WFI", US, false), state("cpu-sleep", 1_200 * US, true)]),
        interrupts: Seen::Value(vec!["eth0".into(), "mmc0".into()]),
        interrupted: Seen::Value(vec![("eth0".into(), 41_233), ("arch_timer".into(), 2_500_120)]),
        steal_ns: Seen::Value(0),
        smi: Seen::Absent,
    }
}

fn environment(cpus: u32) -> Environment {
    Environment {
        preemption: Seen::Value("rt".into()),
        command_line: Seen::Value("console=ttymxc1 root=/dev/mmcblk2p2 isolcpus=2,3".into()),
        clocksource: Seen::Value("arch_sys_counter".into()),
        hypervisor: Seen::Absent,
        isolated: Seen::Value(vec![2, 3]),
        nohz_full: Seen::Absent,
        dma_latency_us: Seen::Value(0),
        rt_runtime_us: Seen::Value((950_000, 1_000_000)),
        cgroup_rt_runtime_us: Seen::Absent,
        smt: Seen::Value(false),
        rt_priority_max: 99,
        housekeeping: None,
        cpus: (0..cpus).map(cpu_settings).collect(),
    }
}

fn asked(cpus: u32, policy: Policy, for_ns: Ns) -> WakeRequest {
    WakeRequest {
        mode: WakeMode::Timer,
        sleeper: Sleeper::ClockNanosleep,
        cpus: (0..cpus).collect(),
        interval_ns: 200 * US,
        for_ns,
        policy,
        loads: Vec::new(),
        deadline: None,
        spike_ns: None,
    }
}

fn in_force(asked: &WakeRequest) -> Vec<InForce> {
    let thread = |cpu: &u32| InForce {
        policy: asked.policy,
        cpus: Seen::Value(vec![*cpu]),
        locked_bytes: Seen::Value(12 << 20),
        locked_all: Seen::Value(true),
        refused: Vec::new(),
    };
    asked.cpus.iter().map(thread).collect()
}

/// Everything of one measuring, from its threads.
fn wakeups(host: Host, environment: Environment, asked: WakeRequest, threads: Vec<Wakes>) -> Wakeups {
    let missed = threads.iter().filter_map(|thread| thread.missed.value()).sum();
    let took_ns = asked.for_ns;
    Wakeups {
        schema: SCHEMA_WAKE.into(),
        host,
        environment,
        started_at: "2026-11-21T20:20:22Z".into(),
        origin: model::Origin::default(),
        dwell: None,
        took_ns,
        settings: Settings { in_force: in_force(&asked), asked },
        all: figures(None, merged(&threads), latest(&threads), missed),
        threads,
        loads: Vec::new(),
        verdict: Seen::Absent,
        spikes: Seen::Value(Vec::new()),
        limits: Vec::new(),
        interrupted: false,
    }
}

fn deadline() -> Deadline {
    Deadline { deadline_ns: 125 * US, margin: 0.2, confidence: 0.95, one_in_ns: Deadline::ONE_IN_NS }
}

/// Verdict of each CPU; all late ones are the last's.
fn of_processor(threads: &[Wakes], beyond: u64, one_in_ns: Ns) -> Vec<CpuVerdict> {
    let last = threads.len().saturating_sub(1);
    let one = |(at, wakes): (usize, &Wakes)| {
        let beyond = if at == last { beyond } else { 0 };
        CpuVerdict {
            cpu: wakes.cpu,
            answer: if beyond > 0 { Answer::Fail } else { Answer::Pass },
            cycles: wakes.cycles,
            beyond,
            max_ns: wakes.max_ns.clone(),
            exceedance_bound: (beyond + 3) as f64 / wakes.cycles.max(1) as f64,
            one_in_ns,
        }
    };
    threads.iter().enumerate().map(one).collect()
}

fn share(cause: Cause, who: Option<&str>, ns: Ns) -> LatencyShare {
    LatencyShare { cause, who: who.map(str::to_owned), ns }
}

fn spike(cpu: u32, at_ns: Ns, shares: Vec<LatencyShare>, stack: &[&str]) -> Spike {
    let largest = shares.iter().max_by_key(|share| share.ns).expect("a spike has shares").clone();
    Spike {
        at_ns,
        cpu,
        ns: shares.iter().map(|share| share.ns).sum(),
        cause: largest.cause,
        who: largest.who,
        shares,
        stack: if stack.is_empty() {
            Seen::unseen("no stack was taken: the CPU was idle")
        } else {
            Seen::Value(stack.iter().map(|name| (*name).to_owned()).collect())
        },
        lost: None,
    }
}

/// A board with a real-time kernel and four CPUs that meets its deadline.
pub(crate) fn board() -> Wakeups {
    let mut asked = asked(4, Policy::Fifo(80), 2_000 * S);
    asked.deadline = Some(deadline());
    let thread = |(cpu, median_ns, high): (u32, f64, Ns)| {
        let late = [(high, 1), (high - 9 * US, 2), (high - 15 * US, 14), (high / 2, 210)];
        let shape = Shape { cycles: 9_999_773, median_ns, spread: 0.16, late: &late };
        figures(
            Some(cpu),
            shape.bins(),
            timeline(200, 10 * S, 10_000_000, 24 * US, high, 7 + u64::from(cpu)),
            0,
        )
    };
    let threads =
        [(0, 7_800.0, 71 * US), (1, 6_300.0, 58 * US), (2, 5_200.0, 84 * US), (3, 5_100.0, 49 * US)];
    let mut wakeups = wakeups(
        host("imx8", "6.12.20-rt9", 4),
        environment(4),
        asked,
        threads.into_iter().map(thread).collect(),
    );
    let sched = Load::Sched {
        groups: 10,
        pairs: 20,
        message_bytes: 128,
        transport: Transport::Sockets,
        workers: Workers::Processes,
    };
    wakeups.settings.asked.loads = vec![sched.clone()];
    wakeups.loads = vec![LoadDone {
        load: sched,
        ran_ns: 2_001 * S,
        done: 618_340_112,
        unit: "messages".into(),
        cpu_ns: 7_600 * S,
        mismatches: Vec::new(),
        mismatches_total: 0,
        failures: Vec::new(),
        limits: Vec::new(),
    }];
    wakeups.verdict = Seen::Value(Verdict {
        deadline: deadline(),
        limit_ns: 100 * US,
        answer: Answer::Pass,
        why: "none of 39,992,188 wake-ups exceeded 100 us (the deadline of 125 us less 20 %): with 95 % confidence fewer than one in 44.5 min per CPU".into(),
        cycles: wakeups.all.cycles,
        beyond: 0,
        exceedance_bound: 7.5e-8,
        one_in_ns: 2_670 * S,
        extreme: Seen::Value(Extreme {
            for_ns: 20_000 * S,
            max_ns: 88_200,
            lo_ns: 82 * US,
            hi_ns: Some(97 * US),
        }),
        run_more_ns: Seen::Absent,
        of_processor: of_processor(&wakeups.threads, 0, 1_000 * S),
    });
    let at = |cpu: usize| *wakeups.threads[cpu].max_at_ns.value().expect("there is a maximum");
    wakeups.spikes = Seen::Value(vec![
        spike(
            2,
            at(2),
            vec![
                share(Cause::TimerInterrupt, None, 2 * US),
                share(Cause::Interrupt, Some("eth0"), 9 * US),
                share(Cause::Softirq, Some("net_rx"), 61 * US),
                share(Cause::Switching, None, 8 * US),
                share(Cause::ReturnToUser, None, 4 * US),
            ],
            &["napi_poll", "net_rx_action", "handle_softirqs", "irq_thread_fn"],
        ),
        spike(
            0,
            at(0),
            vec![
                share(Cause::InterruptsOff, Some("kworker/0:2"), 66 * US),
                share(Cause::Switching, None, 5 * US),
            ],
            &["mmc_request_done", "sdhci_irq"],
        ),
        spike(
            1,
            at(1),
            vec![share(Cause::IdleExit, Some("WFI"), 41 * US), share(Cause::Switching, None, 17 * US)],
            &[],
        ),
    ]);
    wakeups
}

/// A virtual machine with a stock kernel, as an ordinary user: little of what was asked for is in
/// force.
pub(crate) fn vm() -> Wakeups {
    let mut asked = asked(2, Policy::Fifo(80), 60 * S);
    asked.interval_ns = MS;
    asked.deadline = Some(deadline());
    let thread = |(cpu, high): (u32, Ns)| {
        let late = [(high, 1), (high / 2, 3), (high / 4, 12), (2 * MS, 40), (900 * US, 90), (400 * US, 400)];
        let shape = Shape { cycles: 59_000, median_ns: 62_000.0, spread: 0.35, late: &late };
        figures(Some(cpu), shape.bins(), timeline(60, S, 59_546, 160 * US, high, 31 + u64::from(cpu)), 214)
    };
    let threads = vec![thread((0, 48 * MS)), thread((1, 201 * MS))];
    let mut environment = environment(2);
    environment.preemption = Seen::Value("none".into());
    environment.clocksource = Seen::Value("tsc".into());
    environment.hypervisor = Seen::Value("kvm".into());
    environment.isolated = Seen::Absent;
    environment.dma_latency_us = Seen::unseen("/dev/cpu_dma_latency: Permission denied");
    environment.rt_priority_max = 0;
    for cpu in &mut environment.cpus {
        cpu.governor = Seen::unseen("the kernel does not state a governor");
        cpu.idle_states = Seen::Absent;
        cpu.steal_ns = Seen::Value(812 * MS);
    }
    let mut wakeups = wakeups(host("vm", "6.18.44", 2), environment, asked, threads);
    for thread in &mut wakeups.settings.in_force {
        thread.policy = Policy::Other(50 * US);
        (thread.locked_bytes, thread.locked_all) = (Seen::Value(0), Seen::Value(false));
        thread.refused = vec![
            "SCHED_FIFO 80: Operation not permitted".into(),
            "memory could not be locked: Cannot allocate memory".into(),
        ];
    }
    wakeups.verdict = Seen::Value(Verdict {
        deadline: deadline(),
        limit_ns: 100 * US,
        answer: Answer::Fail,
        why: "1,092 of 119,068 wake-ups exceeded 100 us (the deadline of 125 us less 20 %), on CPU 1: maximum latency 201 ms".into(),
        cycles: wakeups.all.cycles,
        beyond: 1_092,
        exceedance_bound: 0.009_7,
        one_in_ns: 103 * MS,
        extreme: Seen::unseen("high block maxima come in bursts: the next burst may be worse"),
        run_more_ns: Seen::Absent,
        of_processor: of_processor(&wakeups.threads, 1_092, 52 * MS),
    });
    wakeups.spikes = Seen::Value(vec![
        spike(
            1,
            37 * S,
            vec![
                share(Cause::Stopped, None, 199 * MS),
                share(Cause::Task, Some("stress"), 1_900 * US),
                share(Cause::ReturnToUser, None, 20 * US),
            ],
            &["do_signal_stop", "get_signal"],
        ),
        spike(0, 12 * S, vec![share(Cause::Steal, None, 47 * MS), share(Cause::Unexplained, None, MS)], &[]),
        spike(
            0,
            13 * S,
            vec![
                share(Cause::PreemptionOff, Some("kworker/0:2"), 23 * MS),
                share(Cause::Switching, None, MS),
            ],
            &["memset_erms", "clear_huge_page"],
        ),
        spike(1, 52 * S, vec![share(Cause::Migration, Some("cpu 0"), 2 * MS)], &[]),
    ]);
    wakeups.limits = vec![
        "not SCHED_FIFO 80 but SCHED_OTHER: the user may not ask for priorities\ntry: sudo dwell wake, or ulimit -r 99".into(),
        "the hypervisor gave 1.62 s to others: figures are of the virtual machine, not of the hardware".into(),
    ];
    wakeups
}

/// Busy loops instead of sleeps, without anything judged, ended early.
pub(crate) fn gap() -> Wakeups {
    let mut asked = asked(1, Policy::Rr(10), 60 * S);
    asked.mode = WakeMode::Gap;
    asked.cpus = vec![3];
    let late = [(31 * US, 1), (9 * US, 400), (4 * US, 12_002)];
    let shape = Shape { cycles: 300_000_000, median_ns: 34.0, spread: 0.07, late: &late };
    let thread = figures(Some(3), shape.bins(), timeline(12, S, 300_012_403, 9 * US, 31 * US, 3), 0);
    let mut wakeups = wakeups(host("imx8", "6.12.20-rt9", 4), environment(4), asked, vec![thread]);
    wakeups.took_ns = 12 * S;
    wakeups.environment.housekeeping = Some(0);
    wakeups.environment.nohz_full = Seen::Value(vec![3]);
    wakeups.interrupted = true;
    wakeups.spikes = Seen::unseen("a gap wakes nobody up");
    wakeups
}

/// Nothing was measured at all.
pub(crate) fn empty() -> Wakeups {
    let mut wakeups = wakeups(
        host("imx8", "6.12.20-rt9", 4),
        environment(4),
        asked(1, Policy::Fifo(80), 60 * S),
        vec![figures(Some(0), Vec::new(), Vec::new(), 0)],
    );
    wakeups.took_ns = 0;
    wakeups.interrupted = true;
    wakeups.verdict = Seen::unseen("there was no wake-up");
    wakeups.spikes = Seen::unseen("there is no BPF on this host\ntry: sudo dwell wake");
    wakeups
}

/// Many CPUs, untrusted names, every load and policy.
pub(crate) fn odd() -> Wakeups {
    let runtime = Policy::Deadline { runtime_ns: 50 * US, deadline_ns: 200 * US, period_ns: 200 * US };
    let asked = asked(70, runtime, 10 * S);
    let thread = |cpu: u32| {
        let late = [(20 * US + 700 * u64::from(cpu), 1), (u64::from(cpu) + 1, 7)];
        let shape = Shape { cycles: 49_992, median_ns: 900.0, spread: 0.3, late: &late };
        figures(
            Some(cpu),
            shape.bins(),
            timeline(10, S, 50_000, 5 * US, 20 * US + 700 * u64::from(cpu), 5),
            u64::from(cpu % 3),
        )
    };
    let mut wakeups =
        wakeups(host(HOSTILE, HOSTILE, 70), environment(70), asked, (0..70).map(thread).collect());
    wakeups.environment.clocksource = Seen::Value(HOSTILE.into());
    wakeups.environment.cpus[4].governor = Seen::Value(HOSTILE.into());
    wakeups.environment.command_line = Seen::Value(HOSTILE.into());
    wakeups.settings.in_force[3].policy = Policy::Fifo(2);
    wakeups.settings.in_force[3].cpus = Seen::Value(vec![3, 4]);
    wakeups.settings.in_force[3].refused = vec![HOSTILE.into()];
    let done = |load, done, unit: &str| LoadDone {
        load,
        ran_ns: 10 * S,
        done,
        unit: unit.into(),
        cpu_ns: 9 * S,
        mismatches: Vec::new(),
        mismatches_total: 0,
        failures: Vec::new(),
        limits: Vec::new(),
    };
    let mut memory = done(Load::Memory { threads: 2, bytes: 256 << 20 }, 81 << 30, "bytes");
    memory.mismatches =
        vec![Mismatch { at: 0x7f12_3456_7890, expected: 0xffff_ffff, actual: 0xffff_fffe, cpu: 3 }];
    memory.mismatches_total = 12;
    memory.failures = vec![format!("a worker ended early: {HOSTILE}")];
    memory.limits = vec!["256 MiB instead of 1 GiB: the control group has no more".into()];
    wakeups.loads = vec![
        memory,
        done(Load::Disk { threads: 4, bytes: 16 << 20, dir: Some(HOSTILE.into()) }, 2 << 30, "bytes"),
        done(Load::Network { threads: 4, message_bytes: 19_996 }, 212_345, "round trips"),
        done(Load::Cpu { threads: 1 }, 912_345_678, "loops"),
        done(Load::Irq { threads: 2, rate_hz: 10_000 }, 199_998, "timers"),
        done(
            Load::Sched {
                groups: 1,
                pairs: 20,
                message_bytes: 100,
                transport: Transport::Pipes,
                workers: Workers::Threads,
            },
            0,
            "messages",
        ),
    ];
    let deadline = Deadline { deadline_ns: 90 * US, margin: 0.0, confidence: 0.999, one_in_ns: S };
    wakeups.settings.asked.deadline = Some(deadline);
    wakeups.verdict = Seen::Value(Verdict {
        deadline,
        limit_ns: 90 * US,
        answer: Answer::Undecided,
        why: format!("too few wake-ups were seen for {HOSTILE}"),
        cycles: wakeups.all.cycles,
        beyond: 0,
        exceedance_bound: 1.97e-6,
        one_in_ns: 101 * S,
        extreme: Seen::Value(Extreme { for_ns: 100 * S, max_ns: 75 * US, lo_ns: 68 * US, hi_ns: None }),
        run_more_ns: Seen::Value(3 * 3600 * S),
        of_processor: of_processor(&wakeups.threads, 0, 1_000 * S),
    });
    let hostile = |cpu: u32| {
        spike(
            cpu,
            3 * S,
            vec![share(Cause::Task, Some(HOSTILE), (20 + u64::from(cpu)) * US)],
            &[HOSTILE, "vfs_write"],
        )
    };
    wakeups.spikes = Seen::Value((0..40).rev().map(hostile).collect());
    wakeups.limits = vec![format!("{HOSTILE} did it\ntry: {HOSTILE}")];
    wakeups
}

pub(crate) fn all() -> [(&'static str, Wakeups); 5] {
    [("board", board()), ("vm", vm()), ("gap", gap()), ("odd", odd()), ("empty", empty())]
}

/// The cases of the writing's sheet.
fn cases() -> Vec<Case> {
    let sched = Load::Sched {
        groups: 10,
        pairs: 20,
        message_bytes: 128,
        transport: Transport::Sockets,
        workers: Workers::Processes,
    };
    let memory = |threads| Load::Memory { threads, bytes: 256 << 20 };
    let disk = Load::Disk { threads: 4, bytes: 16 << 20, dir: None };
    let network = Load::Network { threads: 4, message_bytes: 19_996 };
    let case = |name: &str, loads| Case { name: name.into(), loads };
    vec![
        case("idle", Vec::new()),
        case("sched", vec![sched]),
        case("memory-2", vec![memory(2)]),
        case("memory-4", vec![memory(4)]),
        case("memory-8", vec![memory(8), disk, network]),
    ]
}

/// A sheet with this number of measured cases; the later, the worse.
pub(crate) fn sheet(measured: usize) -> Sheet {
    let result = |(at, case): (usize, &Case)| {
        let mut asked = asked(2, Policy::Fifo(80), 3_600 * S);
        asked.loads.clone_from(&case.loads);
        asked.deadline = Some(deadline());
        let worse = 1 + at as u64;
        let high = [31 * US, 62 * US, 84 * US, 97 * US, 141 * US][at.min(4)];
        let thread = |cpu: u32| {
            let high = high - u64::from(cpu) * 6 * US;
            let late = [(high, 1), (high - 4 * US, 3), (high - 9 * US, 22)];
            let median_ns = 4_000.0 + 900.0 * at as f64;
            let shape = Shape { cycles: 17_999_000, median_ns, spread: 0.12 + 0.02 * at as f64, late: &late };
            let blocks = timeline(360, 10 * S, 18_000_000, high / 3, high, 40 + worse);
            figures(Some(cpu), shape.bins(), blocks, worse / 5)
        };
        let mut wakeups =
            wakeups(host("imx8", "6.12.20-rt9", 4), environment(2), asked, vec![thread(0), thread(1)]);
        wakeups.limits = vec![
            "the scheduler runs other tasks on CPUs 0-1 too: not in isolcpus".into(),
            format!("CPU 0 was interrupted by eth0 ({})", 1_000 * worse),
        ];
        let done = |load: &Load| LoadDone {
            load: load.clone(),
            ran_ns: 3_600 * S,
            done: 3_600 << 20,
            unit: "bytes".into(),
            cpu_ns: 1_800 * S,
            mismatches: Vec::new(),
            mismatches_total: u64::from(at == 3),
            failures: Vec::new(),
            limits: Vec::new(),
        };
        wakeups.loads = case.loads.iter().map(done).collect();
        let failed = high > 100 * US;
        wakeups.verdict = Seen::Value(Verdict {
            deadline: deadline(),
            limit_ns: 100 * US,
            answer: match at {
                _ if failed => Answer::Fail,
                3 => Answer::Undecided,
                _ => Answer::Pass,
            },
            why: "it is a sample".into(),
            cycles: wakeups.all.cycles,
            beyond: u64::from(failed) * 14,
            exceedance_bound: 8.3e-8,
            one_in_ns: 2_400 * S,
            extreme: Seen::unseen("it is a sample"),
            run_more_ns: if at == 3 { Seen::Value(3 * 3600 * S) } else { Seen::Absent },
            of_processor: of_processor(&wakeups.threads, 0, 1_000 * S),
        });
        wakeups
    };
    let cases = cases();
    let results = cases.iter().enumerate().take(measured).map(result).collect();
    Sheet { schema: SCHEMA_SHEET.into(), name: "default".into(), for_ns: 3_600 * S, cases, results }
}

/// A percentile of two with intervals of a tenth about each.
fn quantile_of(name: &str, share: f64, a: Seen<Ns>, b: Seen<Ns>) -> Quantile {
    let within = |ns: &Seen<Ns>| match ns {
        Seen::Value(ns) => Seen::Value(FigureInterval { ns: *ns, lo_ns: ns - ns / 20, hi_ns: ns + ns / 20 }),
        Seen::Absent => Seen::Absent,
        Seen::Unseen(why) => Seen::Unseen(why.clone()),
    };
    let (a, b) = (within(&a), within(&b));
    let less = |part: fn(&FigureInterval, &FigureInterval) -> i64| match (&a, &b) {
        (Seen::Value(a), Seen::Value(b)) => Seen::Value(part(a, b)),
        _ => Seen::unseen("one of them has too few wake-ups"),
    };
    let later_lo_ns = less(|a, b| b.lo_ns as i64 - a.hi_ns as i64);
    let later_hi_ns = less(|a, b| b.hi_ns as i64 - a.lo_ns as i64);
    let change = match (&later_lo_ns, &later_hi_ns) {
        (Seen::Value(1_001..), _) => Change::More,
        (_, Seen::Value(..=-1_001)) => Change::Less,
        (Seen::Value(-1_000..), Seen::Value(..=1_000)) => Change::Same,
        _ => Change::Undecided,
    };
    Quantile {
        name: name.into(),
        share,
        later_ns: less(|a, b| b.ns as i64 - a.ns as i64),
        later_lo_ns,
        later_hi_ns,
        change,
        a,
        b,
    }
}

fn case_diff(name: CaseName, a: &Wakes, b: &Wakes, change: Change) -> CaseDiff {
    let of = |name: &str, share, which: fn(&Wakes) -> &Seen<Ns>| {
        quantile_of(name, share, which(a).clone(), which(b).clone())
    };
    CaseDiff {
        name,
        differences: Vec::new(),
        quantiles: vec![
            of("p50", 0.5, |wakes| &wakes.p50_ns),
            of("p99", 0.99, |wakes| &wakes.p99_ns),
            of("p99.99", 0.9999, |wakes| &wakes.p9999_ns),
            of("p99.9999", 0.999_999, |wakes| &wakes.p999999_ns),
        ],
        maxima: Maxima {
            a_ns: a.max_ns.clone(),
            b_ns: b.max_ns.clone(),
            beyond: 7,
            chance: Seen::Value(0.007_8),
            change,
        },
        a: a.clone(),
        b: b.clone(),
        notes: Vec::new(),
    }
}

/// A stock kernel against a real-time one, with another tool's result and a hostile host.
pub(crate) fn diff() -> WakeComparison {
    let (stock, board) = (vm().all, board().all);
    // What another tool leaves: 1 us bins, no timeline, no missed periods.
    let linear = |wakes: &Wakes| {
        let mut bins = BTreeMap::<Ns, u64>::new();
        for bin in &wakes.histogram {
            *bins.entry(bin.from_ns / US).or_default() += bin.count;
        }
        let bin = |(us, count): (Ns, u64)| Bin { from_ns: us * US, to_ns: (us + 1) * US, count };
        bins.into_iter().map(bin).collect::<Vec<Bin>>()
    };
    let mut imported = stock.clone();
    imported.histogram = linear(&stock);
    imported.timeline = Vec::new();
    imported.missed = Seen::unseen("cyclictest does not count them");
    let mut case = case_diff(CaseName::Plain, &imported, &board, Change::Less);
    case.differences = vec![Difference { what: "interval".into(), a: "1 ms".into(), b: "200 us".into() }];
    case.notes = vec![format!("A has values up to 1 us together; {HOSTILE}")];
    let origin = |host: &str, kernel: &str, started_at: &str, tool: &str| MeasurementOrigin {
        host: host.into(),
        kernel: kernel.into(),
        started_at: started_at.into(),
        tool: tool.into(),
    };
    WakeComparison {
        names: ["before.json".into(), "after.json".into()],
        schema: SCHEMA_WAKE_DIFF.into(),
        a: origin("", "", "", "cyclictest"),
        b: origin(HOSTILE, "6.12.20-rt9", "2026-11-21T20:20:22Z", "dwell"),
        margin: 0.05,
        margin_ns: US,
        differences: vec![Difference { what: "host".into(), a: "vm".into(), b: HOSTILE.into() }],
        cases: vec![case],
        uncompared: Vec::new(),
    }
}

/// Two sheets that have two cases in common.
pub(crate) fn sheet_diff() -> WakeComparison {
    let sheet = sheet(5);
    let of = |at: usize| &sheet.results[at].all;
    let origin = |kernel: &str| MeasurementOrigin {
        host: "imx8".into(),
        kernel: kernel.into(),
        started_at: "2026-11-21T20:20:22Z".into(),
        tool: "dwell".into(),
    };
    let named = |name: &str| CaseName::OfSheet(name.into());
    let mut idle = case_diff(named("idle"), of(0), of(0), Change::Same);
    idle.maxima.beyond = 0;
    idle.maxima.chance = Seen::unseen("nothing of either is later than all of the other");
    let lone = |name: &str, only| UnmatchedCase { name: named(name), only };
    WakeComparison {
        a: origin("6.12.20-rt9"),
        b: origin("6.18.2-rt1"),
        differences: vec![Difference {
            what: "kernel".into(),
            a: "6.12.20-rt9".into(),
            b: "6.18.2-rt1".into(),
        }],
        cases: vec![idle, case_diff(named("sched"), of(1), of(3), Change::More)],
        uncompared: vec![lone("memory-2", Side::A), lone(HOSTILE, Side::B)],
        ..diff()
    }
}

/// Two sheets with nothing in common.
pub(crate) fn nothing_compared() -> WakeComparison {
    WakeComparison { cases: Vec::new(), differences: Vec::new(), ..sheet_diff() }
}

pub(crate) fn diffs() -> [(&'static str, WakeComparison); 3] {
    [("diff", diff()), ("diff-sheet", sheet_diff()), ("diff-empty", nothing_compared())]
}
