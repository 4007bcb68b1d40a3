//! Caveats that come from the machine: its hypervisor, firmware, kernel and settings.

use super::grouped;
use crate::wake::words::{count, cpus_named, duration, list};
use model::wake::environment::{CpuSettings, IdleState};
use model::wake::{WakeMeasurements, WakeMode};
use model::{Ns, Seen};

/// Idle states with this exit latency or more are deep: it doubles the latency of a good machine.
const DEEP_NS: Ns = 2_000;
/// Clock sources that are read without a system call.
const FAST: [&str; 5] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource"];
/// Interrupts of the CPU's own timer: each cycle causes one.
const TIMERS: [&str; 2] = ["Local timer interrupts", "arch_timer"];
/// Interrupts listed by name.
const NAMED: usize = 3;

pub(super) fn limits(measured: &WakeMeasurements) -> Vec<String> {
    let mut limits = Vec::new();
    limits.extend(hypervisor(measured));
    limits.extend(steal(measured));
    limits.extend(system_management(measured));
    limits.extend(preemption(measured));
    limits.extend(governor(measured));
    limits.extend(idle_states(measured));
    limits.extend(clocksource(measured));
    limits.extend(threads_of_a_core(measured));
    limits.extend(isolation(measured));
    limits.extend(tick(measured));
    limits.extend(interrupts(measured));
    limits
}

fn cpus_by(
    measured: &WakeMeasurements,
    of: impl Fn(&CpuSettings) -> Option<String>,
) -> Vec<(Vec<u32>, String)> {
    grouped(measured.environment.cpus.iter().filter_map(|cpu| Some((cpu.cpu, of(cpu)?))))
}

fn hypervisor(measured: &WakeMeasurements) -> Option<String> {
    let name = measured.environment.hypervisor.value()?;
    Some(format!(
        "a virtual machine ({name}): the host schedules its CPUs, so the figures hold for this guest \
         and its neighbours of today only"
    ))
}

fn steal(measured: &WakeMeasurements) -> Option<String> {
    let stolen =
        measured.environment.cpus.iter().filter(|cpu| cpu.steal_ns.value().is_some_and(|ns| *ns > 0));
    let (mut cpus, mut sum): (Vec<u32>, Ns) = (Vec::new(), 0);
    for cpu in stolen {
        cpus.push(cpu.cpu);
        sum += cpu.steal_ns.value().copied().unwrap_or(0);
    }
    (sum > 0)
        .then(|| format!("the hypervisor gave {} of {} to others (steal)", duration(sum), cpus_named(&cpus)))
}

fn system_management(measured: &WakeMeasurements) -> Option<String> {
    // One SMI stops all CPUs, and each counts it.
    let most = measured.environment.cpus.iter().filter_map(|cpu| cpu.smi.value()).max().copied()?;
    (most > 0).then(|| {
        format!(
            "the firmware interrupted the CPUs {} times (SMI), which the kernel can neither prevent nor \
             trace\ntry: the firmware's settings for legacy USB, thermal and power management",
            count(most)
        )
    })
}

fn preemption(measured: &WakeMeasurements) -> Option<String> {
    let model = measured.environment.preemption.value()?;
    (model != "rt").then(|| {
        let why = match model.as_str() {
            "none" | "voluntary" => "a system call of another task runs until it yields",
            _ => "sections with locks held or interrupts off have no bound",
        };
        format!("the kernel's preemption model is {model}, not rt: {why}")
    })
}

fn governor(measured: &WakeMeasurements) -> Vec<String> {
    let other = cpus_by(measured, |cpu| cpu.governor.value().filter(|name| *name != "performance").cloned());
    let sentence = |(cpus, governor): (Vec<u32>, String)| {
        format!(
            "the frequency of {} is set by the governor {governor}: it may be low at a wake-up\n\
             try: cpupower -c {} frequency-set -g performance",
            cpus_named(&cpus),
            list(&cpus)
        )
    };
    other.into_iter().map(sentence).collect()
}

fn idle_states(measured: &WakeMeasurements) -> Vec<String> {
    let limit = match measured.environment.dma_latency_us {
        Seen::Value(us) => Ns::from(us) * 1_000,
        _ => Ns::MAX,
    };
    let deep = |state: &&IdleState| {
        !state.disabled && state.exit_latency_ns >= DEEP_NS && state.exit_latency_ns <= limit
    };
    let remedy = match measured.environment.dma_latency_us {
        // --idle-states was given.
        Seen::Absent => "leave out --idle-states",
        _ => "sudo: as root, dwell holds /dev/cpu_dma_latency at 0",
    };
    let allowed = cpus_by(measured, |cpu| {
        let deepest =
            cpu.idle_states.value()?.iter().filter(deep).max_by_key(|state| state.exit_latency_ns)?;
        Some(format!("{}, with an exit latency of {}", deepest.name, duration(deepest.exit_latency_ns)))
    });
    let sentence = |(cpus, state): (Vec<u32>, String)| {
        format!("{} may enter idle state {state}\ntry: {remedy}", cpus_named(&cpus))
    };
    allowed.into_iter().map(sentence).collect()
}

fn clocksource(measured: &WakeMeasurements) -> Option<String> {
    let source = measured.environment.clocksource.value()?;
    (!FAST.contains(&source.as_str())).then(|| {
        format!(
            "the clock source {source} is read by a system call, which adds to each cycle\n\
             try: cat /sys/devices/system/clocksource/clocksource0/available_clocksource"
        )
    })
}

fn threads_of_a_core(measured: &WakeMeasurements) -> Option<String> {
    (measured.environment.smt.value() == Some(&true)).then(|| {
        "CPUs share cores (SMT): each of two siblings delays the other\n\
         try: echo off > /sys/devices/system/cpu/smt/control"
            .to_owned()
    })
}

fn isolation(measured: &WakeMeasurements) -> Option<String> {
    let isolated = measured.environment.isolated.value();
    let shared: Vec<u32> = measured
        .asked
        .cpus
        .iter()
        .copied()
        .filter(|cpu| !isolated.is_some_and(|isolated| isolated.contains(cpu)))
        .collect();
    (!shared.is_empty() && !matches!(measured.environment.isolated, Seen::Unseen(_)))
        .then(|| format!("the scheduler runs other tasks on {} too: not in isolcpus", cpus_named(&shared)))
}

/// CPUs isolated for a busy loop need `nohz_full` as well.
fn tick(measured: &WakeMeasurements) -> Option<String> {
    if measured.asked.mode != WakeMode::Gap || matches!(measured.environment.nohz_full, Seen::Unseen(_)) {
        return None;
    }
    let without = measured.environment.nohz_full.value();
    let ticking = |cpu: &&u32| !without.is_some_and(|cpus| cpus.contains(cpu));
    let cpus: Vec<u32> = measured.asked.cpus.iter().filter(ticking).copied().collect();
    (!cpus.is_empty())
        .then(|| format!("the scheduler's tick interrupts {}: not in nohz_full", cpus_named(&cpus)))
}

/// Interrupts that a CPU took; where they were not counted, those it may take.
fn interrupts(measured: &WakeMeasurements) -> Vec<String> {
    let found = cpus_by(measured, |cpu| match (&cpu.interrupted, &cpu.interrupts) {
        (Seen::Value(counts), _) => {
            let others = |(name, times): &&(String, u64)| *times > 0 && !TIMERS.contains(&name.as_str());
            let counts: Vec<_> = counts.iter().filter(others).collect();
            let named: Vec<String> = counts
                .iter()
                .take(NAMED)
                .map(|(name, times)| format!("{name} ({})", count(*times)))
                .collect();
            let more = counts.len().saturating_sub(NAMED);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            (!named.is_empty()).then(|| format!("interrupted by {}{rest}", named.join(", ")))
        }
        (_, Seen::Value(names)) if !names.is_empty() => {
            let named = names[..names.len().min(NAMED)].join(", ");
            let more = names.len().saturating_sub(NAMED);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            Some(format!("open to interrupts of {named}{rest}"))
        }
        _ => None,
    });
    let sentence = |(cpus, what): (Vec<u32>, String)| {
        let verb = if cpus.len() == 1 { "was" } else { "were" };
        format!("{} {verb} {what}", cpus_named(&cpus))
    };
    found.into_iter().map(sentence).collect()
}
