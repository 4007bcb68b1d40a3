//! What dwell can do on a host, each ability tried: the result of `dwell doctor`.
//!
//! [`Attempt`]s and [`Standing`] are what was tried and found; [`Doctor`] has what follows, with
//! the command that would change it. The JSON is a public contract, listed in
//! `docs/schema/dwell.doctor.1.fields.txt`: fields are added, not renamed.

use crate::JsonSchema;
use crate::container::{Container, Wants};
use crate::coverage::Extent;
use crate::recording::{Host, Tier};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// The name of the schema of `dwell doctor --json`.
pub const SCHEMA_DOCTOR: &str = "dwell.doctor/1";

/// One thing that dwell does on a host, where the host lets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(VariantArray)]
pub enum Ability {
    /// BPF programs on the tracepoints without which there is no account.
    Bpf,
    /// Samples of code from a software clock that runs a BPF program.
    BpfClock,
    /// Executable mappings of all processes, from perf's side-band events.
    Mappings,
    /// The tracepoints of sockets.
    Sockets,
    /// The tracepoints of requests to disks.
    Disks,
    /// The tracepoints of the network.
    Network,
    /// The file of a page fault.
    Pages,
    /// Uprobes in the C library.
    Uprobes,
    /// Perf events of one's own processes.
    PerfEvents,
    /// Samples of kernel code by perf events.
    KernelSamples,
    /// Names of kernel functions for them.
    KernelNames,
    /// Protected files in `/proc` of other users' processes.
    OtherUsers,
    /// Pressure stall information.
    Pressure,
    /// The files of dwell's own control group.
    Cgroup,
    /// Cycles of the CPU, from its performance counters.
    HardwareCounters,
    /// A real-time priority.
    RealTime,
    /// Locked memory.
    LockedMemory,
    /// Keeping CPUs out of deep idle states.
    IdleStates,
    /// The preemption model of the kernel.
    Preemption,
    /// Transparent huge pages.
    HugePages,
    /// A network of its own, with a link that delays.
    Links,
}

impl Ability {
    /// All, in the order of the page.
    pub const ALL: [Self; 21] = *Self::VARIANTS.as_array().unwrap();
}

/// One ability, and what came of trying it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Which.
    pub ability: Ability,
    /// Whether it works.
    pub works: Extent,
    /// What was tried and the system's error. Empty where all of it works.
    pub why: String,
    /// What would change it, where the attempt told: of a program that the kernel refused. Else it
    /// follows from [`Standing`].
    pub remedy: String,
}

/// Capabilities in effect: bit n is the one with the number n in capabilities(7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities(pub u64);

impl Capabilities {
    /// Locked memory without a limit.
    pub const IPC_LOCK: u32 = 14;
    /// Inspecting other users' processes.
    pub const SYS_PTRACE: u32 = 19;
    /// Priorities above the usual ones.
    pub const SYS_NICE: u32 = 23;
    /// Nearly all of root.
    pub const SYS_ADMIN: u32 = 21;
    /// Higher limits of resources than the hard ones.
    pub const SYS_RESOURCE: u32 = 24;
    /// Addresses of the kernel.
    pub const SYSLOG: u32 = 34;
    /// Perf events, and what BPF programs read.
    pub const PERFMON: u32 = 38;
    /// BPF programs and maps.
    pub const BPF: u32 = 39;

    /// Whether this one is among them.
    pub fn has(self, number: u32) -> bool {
        self.0 >> number & 1 == 1
    }

    /// Whether these are enough for BPF and perf events.
    pub fn may_trace(self) -> bool {
        self.has(Self::SYS_ADMIN) || self.has(Self::BPF) && self.has(Self::PERFMON)
    }
}

/// The highest `kernel.perf_event_paranoid` at which the capabilities are enough for perf events.
/// Debian's kernels have one above it, at which only `CAP_SYS_ADMIN` is, and begin with that.
pub const ENOUGH: i32 = 2;

/// The kernels on which dwell's BPF programs were tried, from the oldest on.
pub const KERNELS: &str = "Linux 6.1 or newer";

/// Where the counters are that a kernel does not find.
pub const OTHER_PROCESSOR: &str =
    "a machine, or a virtual machine, whose processor has them all, and shows them to its kernel";

/// As many open files as BPF needs, and many more.
pub const FILES_ENOUGH: u32 = 1024;

/// What lets the dwell with this path have this many files open, where its hard limit is lower.
pub fn more_files(
    files: u32,
    capabilities: Capabilities,
    container: Option<Container>,
    binary: &str,
) -> String {
    match container {
        _ if capabilities.has(Capabilities::SYS_RESOURCE) => format!("ulimit -n {files}"),
        Some(container) => container.remedy(Wants { files: Some(files), ..Wants::NOTHING }, binary),
        None => format!("sudo prlimit --pid $$ --nofile={files}"),
    }
}

/// The command that gives an ordinary user BPF, perf events and the memory for both.
pub fn setcap(binary: &str, paranoid: Option<i32>) -> String {
    let capable = format!("sudo setcap cap_bpf,cap_perfmon,cap_ipc_lock+ep {binary}");
    match paranoid {
        Some(level) if level > ENOUGH => {
            format!("{capable}; sudo sysctl kernel.perf_event_paranoid={ENOUGH}")
        }
        _ => capable,
    }
}

/// Who dwell is on the host, for the command that would change something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The absolute path of dwell's file, quoted for a shell.
    pub binary: String,
    /// The user in effect.
    pub uid: u32,
    /// Those in effect.
    pub capabilities: Capabilities,
    /// What keeps it from the host, if anything does.
    pub container: Option<Container>,
    /// Whether a filter of system calls is in force.
    pub filtered: bool,
    /// Whether `/sys` shows nothing of the kernel.
    pub sys_hidden: bool,
    /// Whether so few files may be open that BPF programs do not fit.
    pub few_files: bool,
    /// Whether debugfs is mounted.
    pub debugfs: bool,
    /// Whether the programs are in `PATH` that make a network of its own.
    pub link_programs: bool,
    /// `kernel.perf_event_paranoid`, where the kernel has it.
    pub paranoid: Option<i32>,
    /// Whether the kernel describes its types.
    pub btf: bool,
    /// Whether its BPF lacks what dwell's programs need, whoever asks.
    pub kernel_too_old: bool,
    /// Whether the kernel can change its preemption model at its start (`PREEMPT_DYNAMIC`).
    pub preempt_dynamic: bool,
}

/// What `dwell doctor --json` writes: what works on a host, each thing tried, and what would change
/// the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doctor {
    /// [`SCHEMA_DOCTOR`].
    pub schema: String,
    /// The version of dwell.
    pub version: String,
    /// The absolute path of dwell's file, quoted for a shell.
    pub binary: String,
    /// The host.
    pub host: Host,
    /// The user in effect.
    pub uid: u32,
    /// The source that `run` and `attach` would use.
    pub tier: Tier,
    /// What was tried, always in the same order.
    pub checks: Vec<Check>,
    /// What is known to be wrong in this kernel and makes programs slow, a sentence each.
    #[serde(default)]
    pub kernel_faults: Vec<String>,
}

/// One ability, whether it works, and what would change it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What was tried. New ones may be added.
    pub ability: Ability,
    /// Whether it works.
    pub works: Extent,
    /// What was tried and the system's error. Empty where all of it works.
    pub why: String,
    /// The command, or the sentence, that would change it. Empty where nothing would.
    pub remedy: String,
}
