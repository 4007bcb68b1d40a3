//! Other machines' files, and this machine's.

use super::*;
use host::Roots;
use model::wake::environment::IdleState;
use std::fs;
use std::path::PathBuf;

/// A machine's files in a temporary directory.
struct Machine {
    _directory: tempfile::TempDir,
    top: PathBuf,
}

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let machine = Self { top: directory.path().to_owned(), _directory: directory };
        machine.write(files);
        machine
    }

    fn write(&self, files: &[(&str, &str)]) {
        for (name, content) in files {
            let path = self.top.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    fn look<T>(&self, of: impl FnOnce(KernelRoots<'_>) -> T) -> T {
        let (proc, sys, dev) = (self.top.join("proc"), self.top.join("sys"), self.top.join("dev"));
        of(KernelRoots { roots: Roots { proc: &proc, sys: &sys }, dev: &dev })
    }

    fn settings(&self, cpus: &[u32]) -> Environment {
        self.look(|places| settings::read(places, cpus))
    }
}

/// CPU 3 of a machine that was set up for real-time.
fn tuned() -> Machine {
    let counts = |loc: u32, eth: u32| {
        format!(
            "           CPU0       CPU3\n  0:         20          0   IO-APIC   2-edge      timer\n 30:        900         {eth}  \
             PCI-MSI 524288-edge      eth0-TxRx-0\n 31:          1          2  PCI-MSI 524289-edge\n LOC:     500000     {loc}   Local \
             timer interrupts\nERR:          0\n"
        )
    };
    let machine = Machine::new(&[
        ("proc/cmdline", "isolcpus=3 nohz_full=3 quiet\n"),
        ("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu tsc\n"),
        ("proc/interrupts", &counts(700, 5)),
        ("proc/stat", "cpu  1 2 3 4 5 6 7 80 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu3 1 2 3 4 5 6 7 72 0 0\n"),
        ("proc/irq/30/effective_affinity_list", "3\n"),
        ("proc/irq/31/smp_affinity_list", "0-3\n"),
        ("proc/irq/0/effective_affinity_list", "0\n"),
        ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
        ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ("proc/sys/kernel/version", "#1 SMP PREEMPT_RT Thu Jan 1\n"),
        ("proc/self/cgroup", "4:cpu,cpuacct:/box\n0::/box\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us", "950000\n"),
        ("sys/devices/system/cpu/isolated", "3\n"),
        ("sys/devices/system/cpu/nohz_full", "3\n"),
        ("sys/devices/system/cpu/smt/active", "0\n"),
        ("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/cpu/cpu3/cpuidle/state0/name", "POLL\n"),
        ("sys/devices/system/cpu/cpu3/cpuidle/state0/latency", "0\n"),
        ("sys/devices/system/cpu/cpu3/cpuidle/state0/disable", "0\n"),
        ("sys/devices/system/cpu/cpu3/cpuidle/state1/name", "C6\n"),
        ("sys/devices/system/cpu/cpu3/cpuidle/state1/latency", "133\n"),
        ("sys/devices/system/cpu/cpu3/cpuidle/state1/disable", "1\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        // Sparse up to the counter's offset.
        ("dev/cpu/3/msr", &format!("{}\u{5}\0\0\0\0\0\0\0", "\0".repeat(0x34))),
    ]);
    // Later readings differ from the first ones.
    machine.write(&[("later/interrupts", &counts(1_700, 8))]);
    machine
}

#[test]
fn a_machine_set_up_for_real_time_says_so() {
    let machine = tuned();
    let settings = machine.settings(&[3]);
    assert_eq!(settings.preemption, Seen::Value("rt".into()));
    assert_eq!(settings.clocksource, Seen::Value("tsc".into()));
    assert_eq!(settings.hypervisor, Seen::Absent);
    assert_eq!((&settings.isolated, &settings.nohz_full), (&Seen::Value(vec![3]), &Seen::Value(vec![3])));
    assert_eq!(settings.rt_runtime_us, Seen::Value((-1, 1_000_000)));
    assert_eq!(settings.cgroup_rt_runtime_us, Seen::Value(950_000));
    assert_eq!(settings.smt, Seen::Value(false));
    let cpu = &settings.cpus[0];
    assert_eq!(cpu.governor, Seen::Value("performance".into()));
    let state =
        |name: &str, exit_latency_ns, disabled| IdleState { name: name.into(), exit_latency_ns, disabled };
    assert_eq!(cpu.idle_states, Seen::Value(vec![state("POLL", 0, false), state("C6", 133_000, true)]));
    assert_eq!(cpu.interrupts, Seen::Value(vec!["eth0-TxRx-0".into(), "irq 31".into()]));
}

#[test]
fn what_is_counted_is_what_came_meanwhile() {
    let machine = tuned();
    let settings = machine.settings(&[3]);
    let before = machine.look(|places| RealtimeCounters::read(places, &[3]));
    machine.write(&[
        ("proc/interrupts", &fs::read_to_string(machine.top.join("later/interrupts")).unwrap()),
        ("proc/stat", "cpu  1 2 3 4 5 6 7 90 0 0\ncpu3 1 2 3 4 5 6 7 75 0 0\n"),
        ("dev/cpu/3/msr", &format!("{}\u{7}\0\0\0\0\0\0\0", "\0".repeat(0x34))),
    ]);
    let after = machine.look(|places| RealtimeCounters::read(places, &[3]));
    let own =
        MeasurementSettings { dma_latency_us: Seen::Value(0), rt_priority_max: 99, housekeeping: Some(0) };
    let environment = finish(settings, &before, &after, own);
    let cpu = &environment.cpus[0];
    let came = vec![("Local timer interrupts".to_owned(), 1_000), ("eth0-TxRx-0".to_owned(), 3)];
    assert_eq!(cpu.interrupted, Seen::Value(came));
    assert_eq!((&cpu.steal_ns, &cpu.smi), (&Seen::Value(30_000_000), &Seen::Value(2)));
    assert_eq!((environment.rt_priority_max, environment.housekeeping), (99, Some(0)));
}

#[test]
fn the_preemption_in_force_is_told_or_how_to_see_it() {
    let preemption = |files: &[(&str, &str)]| Machine::new(files).settings(&[0]).preemption;
    let version = |text| ("proc/sys/kernel/version", text);
    let dynamic = version("#1 SMP PREEMPT_DYNAMIC @0\n");
    assert!(matches!(preemption(&[dynamic]), Seen::Unseen(why) if why.contains("mount -t debugfs")));
    let debug = ("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n");
    assert_eq!(preemption(&[dynamic, debug]), Seen::Value("full".into()));
    let command_line = ("proc/cmdline", "preempt=none quiet preempt=lazy\n");
    assert_eq!(preemption(&[dynamic, command_line]), Seen::Value("lazy".into()));
    assert_eq!(preemption(&[version("#1 SMP PREEMPT Mon\n")]), Seen::Value("full".into()));
    assert_eq!(preemption(&[("sys/kernel/realtime", "1\n")]), Seen::Value("rt".into()));
    assert!(matches!(preemption(&[version("#1 SMP Mon\n")]), Seen::Unseen(_)));
}

#[test]
fn a_guest_knows_its_hypervisor() {
    let hypervisor = |files: &[(&str, &str)]| Machine::new(files).settings(&[0]).hypervisor;
    let guest = ("proc/cpuinfo", "flags\t: fpu hypervisor\n");
    let product = ("sys/class/dmi/id/product_name", "KVM Virtual Machine\n");
    assert_eq!(hypervisor(&[guest]), Seen::Value("a hypervisor without a name".into()));
    assert_eq!(hypervisor(&[guest, product]), Seen::Value("KVM Virtual Machine".into()));
    assert_eq!(hypervisor(&[("sys/hypervisor/type", "xen\n")]), Seen::Value("xen".into()));
    // An aarch64 board has no such bit in its cpuinfo.
    let board = ("proc/cpuinfo", "BogoMIPS\t: 48.00\n");
    assert!(matches!(hypervisor(&[board]), Seen::Unseen(_)));
    assert_eq!(hypervisor(&[board, product]), Seen::Value("KVM Virtual Machine".into()));
}

#[test]
fn nothing_readable_is_unseen_and_never_zero() {
    let machine = Machine::new(&[]);
    let settings = machine.settings(&[0]);
    let before = machine.look(|places| RealtimeCounters::read(places, &[0]));
    let own = MeasurementSettings { dma_latency_us: Seen::Absent, rt_priority_max: 0, housekeeping: None };
    let environment = finish(settings, &before, &before, own);
    let cpu = &environment.cpus[0];
    assert!(matches!(cpu.interrupted, Seen::Unseen(_)) && matches!(cpu.steal_ns, Seen::Unseen(_)), "{cpu:?}");
    assert!(matches!(cpu.smi, Seen::Unseen(_)) && matches!(cpu.interrupts, Seen::Unseen(_)), "{cpu:?}");
    assert!(matches!(environment.clocksource, Seen::Unseen(_)));
    assert!(matches!(environment.rt_runtime_us, Seen::Unseen(_)));
    assert_eq!((environment.isolated, environment.smt), (Seen::Absent, Seen::Absent));
}

#[test]
fn masked_interrupts_are_unseen_and_not_none() {
    let why = |machine: &Machine| {
        let before = machine.look(|places| RealtimeCounters::read(places, &[3]));
        let settings = machine.settings(&[3]);
        let strikes = match &settings.cpus[0].interrupts {
            Seen::Unseen(why) => why.clone(),
            seen => panic!("{seen:?}"),
        };
        (strikes, before.interrupts_since(&before, 3))
    };
    let masked = tuned();
    masked.write(&[("proc/interrupts", "")]);
    let (strikes, struck) = why(&masked);
    assert!(strikes.contains("containers mask it"), "{strikes}");
    assert_eq!(struck, Seen::Unseen(strikes));
    let untold = tuned();
    fs::remove_file(untold.top.join("proc/irq/31/smp_affinity_list")).unwrap();
    let (strikes, struck) = why(&untold);
    assert!(strikes.contains("irq/31/smp_affinity_list") && struck.value().is_some(), "{strikes} {struck:?}");
}

#[test]
fn this_machine_counts_its_timers_interrupts() {
    let realtime = Realtime::begin(&[0]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let own = MeasurementSettings { dma_latency_us: Seen::Absent, rt_priority_max: 0, housekeeping: None };
    let environment = realtime.end(own);
    let cpu = &environment.cpus[0];
    assert!(cpu.steal_ns.value().is_some(), "{cpu:?}");
    // The tests themselves keep the machine busy; every CPU has interrupts in this time.
    assert!(cpu.interrupted.value().is_some_and(|came| !came.is_empty()), "{cpu:?}");
    assert!(environment.clocksource.value().is_some());
}
