//! What the machine's settings do to wake-ups.

use super::by_sentence;
use crate::wake::words::{count, duration, list, processors};
use model::wake::environment::{CpuSettings, IdleState};
use model::wake::{Measurements, Mode};
use model::{Ns, Seen};

/// States that take longer to leave are deep: at this size a wake-up is twice as late as on a good machine.
const DEEP_NS: Ns = 2_000;
/// Clock sources that are read without a system call.
const FAST: [&str; 5] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource"];
/// Interrupts of the processor's own timer: each cycle makes one.
const TIMERS: [&str; 2] = ["Local timer interrupts", "arch_timer"];
/// Interrupts that are named.
const NAMED: usize = 3;

pub(super) fn limits(measured: &Measurements) -> Vec<String> {
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

fn said_by(measured: &Measurements, of: impl Fn(&CpuSettings) -> Option<String>) -> Vec<(Vec<u32>, String)> {
    by_sentence(measured.environment.cpus.iter().filter_map(|cpu| Some((cpu.cpu, of(cpu)?))))
}

fn hypervisor(measured: &Measurements) -> Option<String> {
    let name = measured.environment.hypervisor.value()?;
    Some(format!(
        "a virtual machine ({name}): its processors wait for those of the host, so the figures are of this guest, \
         with its neighbours, today"
    ))
}

fn steal(measured: &Measurements) -> Option<String> {
    let stolen =
        measured.environment.cpus.iter().filter(|cpu| cpu.steal_ns.value().is_some_and(|ns| *ns > 0));
    let (mut cpus, mut sum): (Vec<u32>, Ns) = (Vec::new(), 0);
    for cpu in stolen {
        cpus.push(cpu.cpu);
        sum += cpu.steal_ns.value().copied().unwrap_or(0);
    }
    (sum > 0).then(|| {
        format!("the hypervisor gave {} of {} to others meanwhile (steal)", duration(sum), processors(&cpus))
    })
}

fn system_management(measured: &Measurements) -> Option<String> {
    // One interrupt stops all processors, and each counts it.
    let most = measured.environment.cpus.iter().filter_map(|cpu| cpu.smi.value()).max().copied()?;
    (most > 0).then(|| {
        format!(
            "the firmware interrupted the processors {} times (SMI): no kernel can prevent or see that\ntry: look in the firmware's settings for \
             legacy USB, thermal and power management",
            count(most)
        )
    })
}

fn preemption(measured: &Measurements) -> Option<String> {
    let model = measured.environment.preemption.value()?;
    (model != "rt").then(|| {
        let why = match model.as_str() {
            "none" | "voluntary" => "a system call of another task goes on until it gives way",
            _ => "sections with locks or interrupts off are as long as they are",
        };
        format!("the kernel's preemption is {model}, not real-time: {why}")
    })
}

fn governor(measured: &Measurements) -> Vec<String> {
    let other = said_by(measured, |cpu| cpu.governor.value().filter(|name| *name != "performance").cloned());
    let sentence = |(cpus, governor): (Vec<u32>, String)| {
        format!(
            "the frequency of {} is chosen by the governor {governor}: it may be low when a thread wakes up\n\
             try: cpupower -c {} frequency-set -g performance",
            processors(&cpus),
            list(&cpus)
        )
    };
    other.into_iter().map(sentence).collect()
}

fn idle_states(measured: &Measurements) -> Vec<String> {
    let limit = match measured.environment.dma_latency_us {
        Seen::Value(us) => Ns::from(us) * 1_000,
        _ => Ns::MAX,
    };
    let deep = |state: &&IdleState| {
        !state.disabled && state.exit_latency_ns >= DEEP_NS && state.exit_latency_ns <= limit
    };
    let remedy = match measured.environment.dma_latency_us {
        // Nobody wanted it held.
        Seen::Absent => "without --idle-states",
        _ => "as root, dwell holds /dev/cpu_dma_latency at 0",
    };
    let allowed = said_by(measured, |cpu| {
        let deepest =
            cpu.idle_states.value()?.iter().filter(deep).max_by_key(|state| state.exit_latency_ns)?;
        Some(format!("{}, which takes {} to leave", deepest.name, duration(deepest.exit_latency_ns)))
    });
    let sentence = |(cpus, state): (Vec<u32>, String)| {
        format!("{} may idle as deep as {state}\ntry: {remedy}", processors(&cpus))
    };
    allowed.into_iter().map(sentence).collect()
}

fn clocksource(measured: &Measurements) -> Option<String> {
    let source = measured.environment.clocksource.value()?;
    (!FAST.contains(&source.as_str())).then(|| {
        format!(
            "the clock source {source} is read by a system call, which each cycle pays for\n\
             try: cat /sys/devices/system/clocksource/clocksource0/available_clocksource"
        )
    })
}

fn threads_of_a_core(measured: &Measurements) -> Option<String> {
    (measured.environment.smt.value() == Some(&true)).then(|| {
        "two processors share a core (SMT): what one does delays the other\ntry: echo off > /sys/devices/system/cpu/smt/control"
            .to_owned()
    })
}

fn isolation(measured: &Measurements) -> Option<String> {
    let isolated = measured.environment.isolated.value();
    let shared: Vec<u32> = measured
        .asked
        .cpus
        .iter()
        .copied()
        .filter(|cpu| !isolated.is_some_and(|isolated| isolated.contains(cpu)))
        .collect();
    (!shared.is_empty() && !matches!(measured.environment.isolated, Seen::Unseen(_)))
        .then(|| format!("the scheduler puts other tasks on {} too: not in isolcpus", processors(&shared)))
}

/// Whoever isolates processors for a busy loop wants the tick off as well.
fn tick(measured: &Measurements) -> Option<String> {
    if measured.asked.mode != Mode::Gap || matches!(measured.environment.nohz_full, Seen::Unseen(_)) {
        return None;
    }
    let without = measured.environment.nohz_full.value();
    let ticking = |cpu: &&u32| !without.is_some_and(|cpus| cpus.contains(cpu));
    let cpus: Vec<u32> = measured.asked.cpus.iter().filter(ticking).copied().collect();
    (!cpus.is_empty())
        .then(|| format!("the scheduler's tick strikes {}: not in nohz_full", processors(&cpus)))
}

/// What struck a processor; where nobody counted, what may strike it.
fn interrupts(measured: &Measurements) -> Vec<String> {
    let struck = said_by(measured, |cpu| match (&cpu.interrupted, &cpu.interrupts) {
        (Seen::Value(struck), _) => {
            let others = |(name, times): &&(String, u64)| *times > 0 && !TIMERS.contains(&name.as_str());
            let struck: Vec<_> = struck.iter().filter(others).collect();
            let named: Vec<String> = struck
                .iter()
                .take(NAMED)
                .map(|(name, times)| format!("{name} ({})", count(*times)))
                .collect();
            let more = struck.len().saturating_sub(NAMED);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            (!named.is_empty()).then(|| format!("interrupted by {}{rest}", named.join(", ")))
        }
        (_, Seen::Value(names)) if !names.is_empty() => {
            let named = names[..names.len().min(NAMED)].join(", ");
            let more = names.len().saturating_sub(NAMED);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            Some(format!("open to the interrupts of {named}{rest}"))
        }
        _ => None,
    });
    let sentence = |(cpus, what): (Vec<u32>, String)| {
        let verb = if cpus.len() == 1 { "was" } else { "were" };
        format!("{} {verb} {what}", processors(&cpus))
    };
    struck.into_iter().map(sentence).collect()
}
