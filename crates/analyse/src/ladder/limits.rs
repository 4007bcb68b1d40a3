//! What qualifies a ladder's figures: what the host did meanwhile, and what kind of machine it is.

use model::Seen;
use model::ladder::{Group, Machine, Measured, Measurements, Rung, Samples, Unmeasured};

/// Steal beyond this share of a rung's time is said.
const STEAL: f64 = 0.01;
/// The kernel counts steal in ticks: one of them says nothing of a short rung.
const TICKS_NS: u64 = 20_000_000;
/// A frequency that differs by more is another one.
const CHANGED: f64 = 0.03;
/// The clock's cost, beyond this share of a sample, is said although it is taken off.
const CLOCK: f64 = 0.1;
/// A last cache of more than this for each processor is rarely one machine's own.
const SHARE_BYTES: u64 = 4 << 20;
/// Clock sources that are read without a system call.
const FAST: [&str; 5] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource"];

/// Rungs that wait for a disk, or for what stands in for one.
const ON_DISK: [&str; 5] = ["fsync", "direct-read", "direct-read-32", "sequential-read", "sequential-write"];

/// What qualifies one rung.
pub(super) fn of_rung(one: &Measured, samples: &Samples, all: &Measurements) -> Vec<String> {
    let mut limits = Vec::new();
    let conditions = &one.conditions;
    let share = conditions.steal_ns as f64 / conditions.took_ns.max(1) as f64;
    if conditions.steal_ns >= TICKS_NS && share > STEAL {
        limits.push(format!("the hypervisor gave {:.0} % of a processor to others meanwhile", share * 100.0));
    }
    if let [before, after] = conditions.cycle_ns[..]
        && (after / before - 1.0).abs() > CHANGED
    {
        let ghz = |cycle_ns: f64| 1.0 / cycle_ns;
        limits.push(format!("the frequency went from {:.2} to {:.2} GHz meanwhile", ghz(before), ghz(after)));
    }
    let sample_ns =
        samples.ops_per_sample as f64 * samples.per_op_ns.iter().copied().fold(f64::INFINITY, f64::min);
    if samples.baseline_ns.is_empty() && samples.clock_cost_ns > sample_ns * CLOCK {
        limits.push("the clock's own cost, which is taken off, was a tenth of a sample or more".to_owned());
    }
    if one.about.id == "l3" && is_virtual(all) {
        limits.extend(shared_with_others(&all.machine));
    }
    if ON_DISK.contains(&one.about.id.as_str()) && is_virtual(all) {
        limits.push("a virtual machine's disk: the memory of its host may have answered".to_owned());
    }
    limits
}

/// A third cache that is larger than its processors' share of one has other users.
fn shared_with_others(machine: &Machine) -> Option<String> {
    let cache = machine.caches.iter().find(|cache| cache.level == 3)?;
    let share = cache.bytes / u64::from(cache.shared_by.max(1));
    (share > SHARE_BYTES).then(|| {
        format!(
            "{} MiB for {} processors is more than processors have: other machines on this host probably use it too",
            cache.bytes >> 20,
            cache.shared_by
        )
    })
}

fn is_virtual(all: &Measurements) -> bool {
    matches!(&all.host.virtualisation, Seen::Value(kind) if kind.contains("virtual"))
}

/// What qualifies all of them.
pub(super) fn of_all(all: &Measurements, rungs: &[Rung]) -> Vec<String> {
    let mut limits = Vec::new();
    let is_memory = |rung: &Rung| rung.about.group == Group::Memory && rung.ns.value().is_some();
    if is_virtual(all) && rungs.iter().any(is_memory) {
        limits.push(
            "a virtual machine: a miss of the TLB walks two page tables, and processors, caches and memory may be shared"
                .to_owned(),
        );
    }
    if let Seen::Value(source) = &all.machine.clocksource
        && !FAST.contains(&source.as_str())
    {
        limits.push(format!(
            "the clock source {source} is read by a system call: short samples have that in them\n\
             try: cat /sys/devices/system/clocksource/clocksource0/available_clocksource"
        ));
    }
    limits.extend(stated_frequency(all, rungs));
    if all.interrupted {
        let missing =
            all.rungs.iter().filter(|rung| matches!(rung.outcome, Err(Unmeasured::Unseen(_)))).count();
        limits.push(format!("it was ended early; {missing} rungs are missing"));
    }
    limits
}

/// The frequency that was found, beside the one that is stated.
fn stated_frequency(all: &Measurements, rungs: &[Rung]) -> Option<String> {
    let cycle = rungs.iter().find(|rung| rung.about.id == "cycle")?.ns.value()?.median;
    let found = 1e3 / cycle;
    let (stated, by) = match (&all.machine.stated_mhz, &all.machine.max_mhz) {
        (Seen::Value(stated), _) => (*stated, "now"),
        (_, Seen::Value(max)) => (*max, "at most"),
        _ => return None,
    };
    ((found / stated - 1.0).abs() > CHANGED).then(|| {
        format!(
            "the core runs at {:.2} GHz by its cycles; the kernel states {:.2} GHz {by}, which is not that of this core",
            found / 1e3,
            stated / 1e3
        )
    })
}
