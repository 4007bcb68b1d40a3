//! Constant settings of a measurement: kernel, CPUs, limits.

use super::roots::{self, KernelRoots, text};
use host::{optional, seen, under_hypervisor};
use model::Seen;
use model::cpus::{CpuList, CpuListError};
use model::wake::environment::{CpuSettings, Environment, IdleState};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// All settings; counters are filled in after the measurement.
pub(super) fn read(places: KernelRoots<'_>, cpus: &[u32]) -> Environment {
    let (proc, sys) = (places.roots.proc, places.roots.sys);
    let processors = sys.join("devices/system/cpu");
    let command_line = seen(text(&proc.join("cmdline")));
    let names = interrupt_names(proc);
    let later = || "the measurement has not ended".to_owned();
    let cpu = |cpu: &u32| CpuSettings {
        cpu: *cpu,
        governor: optional(&processors.join(format!("cpu{cpu}/cpufreq/scaling_governor"))),
        idle_states: idle_states(&processors.join(format!("cpu{cpu}/cpuidle"))),
        interrupts: seen(
            names.as_ref().map_err(Clone::clone).and_then(|names| interrupts(proc, *cpu, names)),
        ),
        interrupted: Seen::Unseen(later()),
        steal_ns: Seen::Unseen(later()),
        smi: Seen::Unseen(later()),
    };
    Environment {
        preemption: preemption(proc, sys, command_line.value()),
        clocksource: seen(text(&sys.join("devices/system/clocksource/clocksource0/current_clocksource"))),
        hypervisor: hypervisor(proc, sys),
        isolated: isolated(sys),
        nohz_full: list(optional(&processors.join("nohz_full"))),
        dma_latency_us: Seen::Unseen(later()),
        rt_runtime_us: rt_runtime(proc),
        cgroup_rt_runtime_us: cgroup_rt_runtime(proc, sys),
        smt: match optional(&processors.join("smt/active")) {
            Seen::Value(active) => Seen::Value(active == "1"),
            Seen::Absent => Seen::Absent,
            Seen::Unseen(why) => Seen::Unseen(why),
        },
        rt_priority_max: 0,
        housekeeping: None,
        cpus: cpus.iter().map(cpu).collect(),
        command_line,
    }
}

/// `isolcpus` of the command line, or of a cpuset partition.
pub(super) fn isolated(sys: &Path) -> Seen<Vec<u32>> {
    list(optional(&sys.join("devices/system/cpu/isolated")))
}

/// Lists of CPUs; the kernel writes `(null)` where none was ever set.
fn list(text: Seen<String>) -> Seen<Vec<u32>> {
    match text {
        Seen::Value(text) if text == "(null)" => Seen::Absent,
        Seen::Value(text) => seen(text.parse::<CpuList>().map(CpuList::into_vec)),
        Seen::Absent => Seen::Absent,
        Seen::Unseen(why) => Seen::Unseen(why),
    }
}

/// The preemption model in effect; for a kernel that can change it, only debugfs has it.
fn preemption(proc: &Path, sys: &Path, command_line: Option<&String>) -> Seen<String> {
    if text(&sys.join("kernel/realtime")).is_ok_and(|text| text == "1") {
        return Seen::Value("rt".into());
    }
    let chosen = text(&sys.join("kernel/debug/sched/preempt"));
    if let Some(chosen) = chosen.as_ref().ok().and_then(|text| between(text, '(', ')')) {
        return Seen::Value(chosen.to_owned());
    }
    // From `uname -v`.
    let version = match text(&proc.join("sys/kernel/version")) {
        Ok(version) => version,
        Err(why) => return Seen::Unseen(why),
    };
    let has = |name: &str| version.split_whitespace().any(|word| word == name);
    if has("PREEMPT_RT") {
        return Seen::Value("rt".into());
    }
    if has("PREEMPT_DYNAMIC") {
        let words = command_line.map(|line| line.split_whitespace());
        return match words.and_then(|words| words.rev().find_map(|word| word.strip_prefix("preempt="))) {
            Some(chosen) => Seen::Value(chosen.to_owned()),
            None => Seen::Unseen(untold(&sys.join("kernel/debug/sched"), chosen)),
        };
    }
    if has("PREEMPT_LAZY") {
        return Seen::Value("lazy".into());
    }
    if has("PREEMPT") {
        return Seen::Value("full".into());
    }
    Seen::unseen("none or voluntary: this kernel does not report which")
}

/// Whether this kernel can change its preemption model at its start.
pub(super) fn can_change_preemption(proc: &Path) -> bool {
    text(&proc.join("sys/kernel/version"))
        .is_ok_and(|version| version.split_whitespace().any(|word| word == "PREEMPT_DYNAMIC"))
}

/// Why the preemption model of a kernel that can change it is unknown.
fn untold(directory: &Path, chosen: Result<String, String>) -> String {
    let remedy = match (chosen, fs::read_dir(directory)) {
        // A locked-down kernel, for one: then not even root may.
        (Err(why), Ok(_)) => why,
        (_, Err(error)) if error.kind() == ErrorKind::PermissionDenied => "try: sudo".to_owned(),
        _ => "try: sudo mount -t debugfs none /sys/kernel/debug".to_owned(),
    };
    format!(
        "this kernel can change its preemption model and reports it only in /sys/kernel/debug/sched/preempt; {remedy}"
    )
}

fn between(text: &str, from: char, to: char) -> Option<&str> {
    Some(text.split_once(from)?.1.split_once(to)?.0)
}

/// By its own name, else by the `hypervisor` bit of the guest's CPU.
fn hypervisor(proc: &Path, sys: &Path) -> Seen<String> {
    if let Ok(kind) = text(&sys.join("hypervisor/type")) {
        return Seen::Value(kind);
    }
    let guest = match under_hypervisor(proc) {
        Ok(guest) => guest,
        Err(error) => {
            return Seen::unseen(error.to_string());
        }
    };
    let named = |name: &str| text(&sys.join("class/dmi/id").join(name)).ok().filter(|name| !name.is_empty());
    let product = || [named("sys_vendor"), named("product_name")].into_iter().flatten().collect::<Vec<_>>();
    match guest {
        Some(true) if product().is_empty() => Seen::Value("a hypervisor without a name".into()),
        Some(true) => Seen::Value(product().join(" ")),
        Some(false) => Seen::Absent,
        // Other architectures have no such bit; some hypervisors name their machine.
        None => match product().into_iter().find(|name| is_virtual(name)) {
            Some(name) => Seen::Value(name),
            None => Seen::unseen("this architecture's cpuinfo does not report it"),
        },
    }
}

fn is_virtual(product: &str) -> bool {
    let product = product.to_ascii_lowercase();
    ["kvm", "qemu", "vmware", "virtual", "xen", "amazon ec2", "google compute"]
        .iter()
        .any(|name| product.contains(name))
}

fn idle_states(cpuidle: &Path) -> Seen<Vec<IdleState>> {
    let state = |number: usize| {
        let state = cpuidle.join(format!("state{number}"));
        Some(IdleState {
            name: text(&state.join("name")).ok()?,
            exit_latency_ns: text(&state.join("latency")).ok()?.parse::<u64>().ok()? * 1_000,
            disabled: text(&state.join("disable")).is_ok_and(|text| text != "0"),
        })
    };
    let states: Vec<IdleState> = (0..).map_while(state).collect();
    if states.is_empty() { Seen::Absent } else { Seen::Value(states) }
}

/// The names of interrupts by number: the end of their lines in `/proc/interrupts`.
fn interrupt_names(proc: &Path) -> Result<Vec<(u32, String)>, String> {
    let told = roots::interrupts(proc)?;
    let named = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        Some((number, super::counters::name(number, rest)))
    };
    Ok(told.lines().filter_map(named).collect())
}

/// Interrupts that have a handler and may be delivered to `cpu`; unseen if the affinity of any is
/// unknown.
fn interrupts(proc: &Path, cpu: u32, names: &[(u32, String)]) -> Result<Vec<String>, String> {
    let mut striking = Vec::new();
    for (number, name) in names {
        let read = |file: &str| text(&proc.join(format!("irq/{number}/{file}")));
        // Older kernels report only the allowed affinity, not the effective one.
        let list = read("effective_affinity_list").or_else(|_| read("smp_affinity_list"))?;
        let list: CpuList = list.parse().map_err(|error: CpuListError| error.to_string())?;
        if list.contains(cpu) {
            striking.push(name.clone());
        }
    }
    Ok(striking)
}

fn rt_runtime(proc: &Path) -> Seen<(i64, i64)> {
    let number = |name: &str| {
        let path = proc.join("sys/kernel").join(name);
        text(&path)?.parse::<i64>().map_err(|_| format!("{} has no number", path.display()))
    };
    match (number("sched_rt_runtime_us"), number("sched_rt_period_us")) {
        (Ok(runtime), Ok(period)) => Seen::Value((runtime, period)),
        (Err(why), _) | (_, Err(why)) => Seen::Unseen(why),
    }
}

/// Only cgroup version 1 has real-time group scheduling, and only where the kernel was built with
/// it.
fn cgroup_rt_runtime(proc: &Path, sys: &Path) -> Seen<i64> {
    let groups = text(&proc.join("self/cgroup")).unwrap_or_default();
    let path = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        controllers.split(',').any(|controller| controller == "cpu").then_some(path)
    });
    let Some(path) = path else { return Seen::Absent };
    // A container sees its own group as the root: then the path does not exist, and the root has
    // the limit.
    let told = ["cpu", "cpu,cpuacct"].iter().find_map(|mount| {
        let top = sys.join("fs/cgroup").join(mount);
        let group = top.join(path.trim_start_matches('/'));
        [group, top].iter().find_map(|group| text(&group.join("cpu.rt_runtime_us")).ok())
    });
    match told {
        Some(told) => {
            told.parse().map_or_else(|_| Seen::unseen("cpu.rt_runtime_us has no number"), Seen::Value)
        }
        None => Seen::Absent,
    }
}
