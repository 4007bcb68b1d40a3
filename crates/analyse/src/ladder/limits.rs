//! The caveats of a ladder: what the host did meanwhile, and what kind of machine it is.

use model::ladder::{
    Conditions, LadderMeasurements, Machine, MeasuredRung, Rung, RungGroup, Samples, Unmeasured, cycle_ns,
};
use model::{Ns, Seen};

/// The kernel counts steal in ticks: less than this means nothing for a short rung.
const TICKS_NS: u64 = 20_000_000;
/// Steal or run-queue time beyond this share of a rung's time is a caveat. The median suffers less,
/// since samples are short.
const TAKEN: f64 = 0.1;
/// A change of frequency beyond this is a caveat.
const CHANGED: f64 = 0.03;
/// The clock's cost beyond this share of a sample is a caveat, although it is subtracted.
const CLOCK: f64 = 0.1;
/// A last-level cache of more than this per CPU is rarely one machine's own.
const SHARE_BYTES: u64 = 4 << 20;
/// Clock sources that are read without a system call.
const FAST: [&str; 5] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource"];

/// Rungs that wait for a disk, real or virtual.
const ON_DISK: [&str; 5] = ["fsync", "direct-read", "direct-read-32", "sequential-read", "sequential-write"];

/// The caveats of one rung.
pub(super) fn of_rung(one: &MeasuredRung, samples: &Samples, all: &LadderMeasurements) -> Vec<String> {
    let mut limits = Vec::new();
    let conditions = &one.conditions;
    if let Some(most) = stolen(conditions) {
        limits.push(format!("the hypervisor gave {most} of a CPU to others (steal)"));
    }
    if let Some(most) = waited(conditions) {
        limits.push(format!("other tasks had its CPU for {most} of the time"));
    }
    if let [before, after] = conditions.cycle_ns[..]
        && (after / before - 1.0).abs() > CHANGED
    {
        let ghz = |cycle_ns: f64| 1.0 / cycle_ns;
        limits.push(format!("the frequency changed from {:.2} to {:.2} GHz", ghz(before), ghz(after)));
    }
    let sample_ns =
        samples.ops_per_sample as f64 * samples.per_op_ns.iter().copied().fold(f64::INFINITY, f64::min);
    if samples.baseline_ns.is_empty() && samples.clock_cost_ns > sample_ns * CLOCK {
        limits.push("the clock's own cost, which is subtracted, was a tenth of a sample or more".to_owned());
    }
    if one.about.id == "l3" && all.host.is_virtual() {
        limits.extend(shared_with_others(&all.machine));
    }
    if ON_DISK.contains(&one.about.id.as_str()) && all.host.is_virtual() {
        limits.push("a virtual disk: the host may have answered from its memory".to_owned());
    }
    limits
}

/// Whether others had the CPU for much of a rung's time.
pub(super) fn is_disturbed(one: &MeasuredRung) -> bool {
    stolen(&one.conditions).or(waited(&one.conditions)).is_some()
}

/// How much of a CPU the hypervisor gave to others, if much.
fn stolen(conditions: &Conditions) -> Option<&'static str> {
    let steal_ns = conditions.steal_ns.value().filter(|steal_ns| **steal_ns >= TICKS_NS)?;
    taken(*steal_ns as f64 / conditions.took_ns.max(1) as f64)
}

/// For how much of the time other tasks had the CPU, if for much.
fn waited(conditions: &Conditions) -> Option<&'static str> {
    taken(*conditions.waited_ns.value()? as f64 / conditions.took_ns.max(1) as f64)
}

/// A share of the time in two coarse steps, so that several rungs share one caveat.
fn taken(share: f64) -> Option<&'static str> {
    match share {
        _ if share > 0.5 => Some("more than half"),
        _ if share > TAKEN => Some("more than 10 %"),
        _ => None,
    }
}

/// A third-level cache that is larger than its CPUs usually have is shared with other machines.
fn shared_with_others(machine: &Machine) -> Option<String> {
    let cache = machine.caches.iter().find(|cache| cache.level == 3)?;
    let share = cache.bytes / u64::from(cache.shared_by.max(1));
    (share > SHARE_BYTES).then(|| {
        format!(
            "{} MiB of L3 for {} CPUs: other machines on this host probably share it",
            cache.bytes >> 20,
            cache.shared_by
        )
    })
}

/// The caveats of the whole ladder.
pub(super) fn of_all(all: &LadderMeasurements, rungs: &[Rung]) -> Vec<String> {
    let mut limits = Vec::new();
    if let Some(kind) = all.host.emulator() {
        limits.push(format!(
            "{kind}: it runs other instructions than these, so no figure is the machine's\n\
             try: the dwell for the machine's architecture"
        ));
    }
    let is_memory = |rung: &Rung| rung.about.group == RungGroup::Memory && rung.ns.value().is_some();
    if all.host.is_virtual() && rungs.iter().any(is_memory) {
        limits.push(
            "a virtual machine: a TLB miss walks two page tables, and CPUs, caches and memory may be \
             shared"
                .to_owned(),
        );
    }
    if let Seen::Value(source) = &all.machine.clocksource
        && !FAST.contains(&source.as_str())
    {
        limits.push(format!(
            "the clock source {source} is read by a system call, which short samples include\n\
             try: cat /sys/devices/system/clocksource/clocksource0/available_clocksource"
        ));
    }
    limits.extend(unknown(all, "steal is", |conditions| &conditions.steal_ns));
    limits.extend(unknown(all, "time that other tasks had the CPU is", |conditions| &conditions.waited_ns));
    limits.extend(stated_frequency(all, rungs));
    if let Seen::Value(bytes) = all.memory_peak_bytes {
        limits.push(format!("dwell used up to {} MiB of memory", bytes.div_ceil(1 << 20)));
    }
    if all.interrupted {
        let missing =
            all.rungs.iter().filter(|rung| matches!(rung.outcome, Err(Unmeasured::Unseen(_)))).count();
        limits.push(format!("ended early: {missing} rungs are missing"));
    }
    limits
}

/// A disturbance that could not be observed: once, since what cannot be read for one rung cannot be
/// read for the others.
fn unknown(all: &LadderMeasurements, what: &str, which: fn(&Conditions) -> &Seen<Ns>) -> Option<String> {
    all.rungs.iter().find_map(|one| match which(&one.conditions) {
        Seen::Unseen(why) => Some(format!("{what} not known: {why}")),
        Seen::Value(_) | Seen::Absent => None,
    })
}

/// The measured frequency against the one that the kernel states.
fn stated_frequency(all: &LadderMeasurements, rungs: &[Rung]) -> Option<String> {
    let found = 1e3 / cycle_ns(rungs)?;
    let (stated, by) = match (&all.machine.stated_mhz, &all.machine.max_mhz) {
        (Seen::Value(stated), _) => (*stated, "now"),
        (_, Seen::Value(max)) => (*max, "at most"),
        _ => return None,
    };
    ((found / stated - 1.0).abs() > CHANGED).then(|| {
        format!(
            "the core runs at {:.2} GHz by its cycles; the kernel states {:.2} GHz {by}, which is not the \
             frequency of this core",
            found / 1e3,
            stated / 1e3
        )
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use model::ladder::{Cache, LadderRequest, RungDescription};
    use model::recording::Host;

    pub(crate) fn about(id: &str) -> RungDescription {
        let text = String::new;
        RungDescription {
            id: id.to_owned(),
            group: RungGroup::Memory,
            what: text(),
            excludes: text(),
            method: text(),
            method_version: 1,
            source: text(),
            needs: text(),
        }
    }

    /// Nothing else happened.
    pub(crate) fn undisturbed() -> Conditions {
        Conditions { took_ns: 1, waited_ns: Seen::Value(0), steal_ns: Seen::Value(0), cycle_ns: Vec::new() }
    }

    fn one(id: &str, conditions: Conditions) -> MeasuredRung {
        MeasuredRung { about: about(id), outcome: Ok(samples()), conditions }
    }

    fn samples() -> Samples {
        Samples { per_op_ns: vec![1.0; 9], ops_per_sample: 20_000, clock_cost_ns: 20.0, ..Samples::default() }
    }

    pub(crate) fn measured(virtualisation: Seen<String>) -> LadderMeasurements {
        let unseen = || Seen::unseen("not stated");
        LadderMeasurements {
            host: Host {
                name: "h".into(),
                kernel: "6".into(),
                arch: "x86_64".into(),
                cpus: 2,
                memory_bytes: Seen::Value(1 << 30),
                virtualisation,
            },
            machine: Machine {
                cpu: Seen::Absent,
                caches: vec![Cache { level: 3, bytes: 260 << 20, line_bytes: 64, shared_by: 2 }],
                page_bytes: 4096,
                nodes: 1,
                cpus_allowed: vec![0, 1],
                stated_mhz: Seen::unseen("not stated"),
                max_mhz: Seen::unseen("not stated"),
                governor: unseen(),
                clocksource: Seen::Value("hpet".into()),
                memory_free_bytes: Seen::Value(1 << 30),
            },
            started_at: "2026-11-21T00:00:00Z".into(),
            machine_number: None,
            dwell: None,
            asked: LadderRequest::default(),
            clock_cost_ns: 20.0,
            rungs: Vec::new(),
            curve: Seen::Absent,
            took_ns: 1,
            memory_peak_bytes: Seen::unseen("not stated"),
            interrupted: false,
        }
    }

    #[test]
    fn disturbances_are_caveats_and_nothing_else() {
        let quiet = Conditions {
            took_ns: 500_000_000,
            waited_ns: Seen::Value(45_000_000),
            steal_ns: Seen::Value(45_000_000),
            cycle_ns: vec![0.3, 0.301],
        };
        assert_eq!(of_rung(&one("l1", quiet.clone()), &samples(), &measured(Seen::Absent)), [""; 0]);
        let with_steal = |ns| Conditions { steal_ns: Seen::Value(ns), ..quiet.clone() };
        let with_waiting = |ns| Conditions { waited_ns: Seen::Value(ns), ..quiet.clone() };
        for (conditions, said) in [
            (with_steal(100_000_000), "more than 10 % of a CPU"),
            (with_waiting(240_000_000), "more than 10 % of the time"),
            (with_waiting(260_000_000), "more than half of the time"),
            (Conditions { cycle_ns: vec![0.5, 0.25], ..quiet.clone() }, "from 2.00 to 4.00 GHz"),
        ] {
            let limits = of_rung(&one("l1", conditions), &samples(), &measured(Seen::Absent));
            assert!(limits.len() == 1 && limits[0].contains(said), "{limits:?}");
        }
        let short = Samples { ops_per_sample: 10, ..samples() };
        assert!(
            of_rung(&one("l1", quiet), &short, &measured(Seen::Absent))[0]
                .starts_with("the clock's own cost")
        );
    }

    #[test]
    fn a_third_cache_that_is_too_large_is_shared_with_other_machines_but_only_in_a_virtual_one() {
        let l3 = || one("l3", undisturbed());
        let said = of_rung(&l3(), &samples(), &measured(Seen::Value("a virtual machine".into())));
        assert!(said.len() == 1 && said[0].contains("260 MiB of L3 for 2"), "{said:?}");
        assert_eq!(of_rung(&l3(), &samples(), &measured(Seen::Absent)), [""; 0]);
    }

    #[test]
    fn a_slow_clock_source_and_an_early_end_qualify_all() {
        let mut host = measured(Seen::Absent);
        assert!(of_all(&host, &[])[0].contains("hpet is read by a system call"));
        host.machine.clocksource = Seen::Value("tsc".into());
        assert_eq!(of_all(&host, &[]), [""; 0]);
        host.host.virtualisation = Seen::Value("an emulator of aarch64 on x86_64".into());
        assert!(of_all(&host, &[])[0].contains("no figure is the machine's"));
        host.host.virtualisation = Seen::Absent;
        host.interrupted = true;
        assert!(of_all(&host, &[])[0].contains("ended early"));
    }

    #[test]
    fn disturbances_that_could_not_be_observed_are_a_caveat_of_all() {
        let mut host = measured(Seen::Absent);
        host.machine.clocksource = Seen::Value("tsc".into());
        host.rungs = vec![one("l1", undisturbed()), one("l2", undisturbed())];
        assert_eq!(of_all(&host, &[]), [""; 0]);
        for rung in &mut host.rungs {
            rung.conditions.steal_ns = Seen::unseen("cannot read /proc/stat");
            rung.conditions.waited_ns = Seen::unseen("cannot read schedstat");
        }
        assert_eq!(
            of_all(&host, &[]),
            [
                "steal is not known: cannot read /proc/stat",
                "time that other tasks had the CPU is not known: cannot read schedstat"
            ]
        );
        assert_eq!(of_rung(&host.rungs[0], &samples(), &host), [""; 0]);
    }

    #[test]
    fn the_memory_peak_is_a_caveat_if_it_is_known() {
        let mut host = measured(Seen::Absent);
        host.machine.clocksource = Seen::Value("tsc".into());
        host.memory_peak_bytes = Seen::Value(300 << 20);
        assert_eq!(of_all(&host, &[]), ["dwell used up to 300 MiB of memory"]);
    }
}
