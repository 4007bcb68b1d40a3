//! A recording: what was observed, in order, with no conclusions. The interface between `observe`
//! and `analyse`.
//!
//! A recording is a [`Header`], a stream of [`Event`]s and a [`Trailer`]. Live or kept, the same
//! stream feeds the same analysis. Within a thread events are in order of time; across threads they
//! are in causal order (a wake-up stands before the switch it leads to), and time stamps may differ
//! from that by the few hundred nanoseconds between a clock read and its event.
//!
//! The stored form stays readable. Events are stored in a compact encoding without names, so a
//! variant never changes: what needs another field becomes a new variant at the end. Header and
//! trailer are stored with field names; fields may be added with a default. `Header::format` counts
//! the changes that a reader must know.

use crate::call::CallStats;
pub use crate::call::{Sliced, SlicedCall};
pub use crate::code_location::{CodeLocation, Function, JIT_MODULE, Language, Runtime, UnnamedCode};
use crate::coverage::Source;
use crate::disk_requests::DiskUses;
pub use crate::event::Event;
use crate::files::FileUses;
pub use crate::object::{FileKind, Object, SocketEnds};
use crate::requests::Units;
pub use crate::snapshot::ThreadSnapshot;
pub use crate::switch::{
    Calls, SampleMode, SwitchIn, SwitchOut, SwitchOutState, WaitContext, WakeReason, WakeReasons, Waker,
};
pub use crate::thread::{Comm, Counters};
pub use crate::window::{AliveState, AttachWindow, WindowEnd};
use crate::{JsonSchema, Ns, Pid, Seen, Tid};
use serde::{Deserialize, Serialize};

/// Where events come from, best first. It decides what the analysis may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Every switch, wake-up and system call, traced in the kernel.
    Bpf,
    /// Every switch of the tree without its reason, from perf events, and looks at `/proc`.
    Perf,
    /// Looks at `/proc` only.
    Proc,
}

impl Tier {
    /// The name used in every output.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Bpf => "bpf",
            Tier::Perf => "perf",
            Tier::Proc => "proc",
        }
    }
}

/// The machine the recording was made on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host name (`uname -n`).
    pub name: String,
    /// Kernel release (`uname -r`).
    pub kernel: String,
    /// `uname -m`: `x86_64`, `aarch64`. Decides the meaning of syscall numbers.
    pub arch: String,
    /// CPUs online.
    #[schemars(range(min = 1))]
    pub cpus: u32,
    /// Physical memory.
    pub memory_bytes: Seen<u64>,
    /// The emulator, hypervisor or container runtime, where one is detected.
    pub virtualisation: Seen<String>,
}

impl Host {
    /// What [`Host::virtualisation`] says of a machine under a hypervisor, with or without a name.
    pub const VIRTUAL: &str = "a virtual machine";
    /// What it begins with where another machine's instructions are translated.
    pub const EMULATOR: &str = "an emulator";

    /// Whether a hypervisor is below, also below a container.
    pub fn is_virtual(&self) -> bool {
        self.virtualisation.value().is_some_and(|kind| kind.contains(Self::VIRTUAL))
    }

    /// Which emulator it is on, if any.
    pub fn emulator(&self) -> Option<&str> {
        self.virtualisation.value().map(String::as_str).filter(|kind| kind.starts_with(Self::EMULATOR))
    }
}

/// The header of a recording: what is known before the program starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format, raised when a reader must know of a change: 1.
    pub format: u32,
    /// The version of dwell that recorded.
    pub recorder: String,
    /// The program and its arguments, with what is not UTF-8 replaced.
    pub command: Vec<String>,
    /// Wall-clock time of the start, seconds since 1970.
    pub started_at_unix_s: u64,
    /// The nanoseconds since that second. None in recordings that do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ns: Option<u32>,
    /// The number of the machine: [`crate::Origin::machine_number`]. None in recordings that do not
    /// have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The root's PID; 0 for `dwell attach`, which has no root.
    pub root: Pid,
    /// Where events come from.
    pub tier: Tier,
    /// Shortest sampling period per CPU; of the snapshots where there are no samples.
    pub sample_period_ns: Ns,
    /// The machine.
    pub host: Host,
    /// What can be observed, and why not more.
    pub sources: Vec<Source>,
    /// The processes attached to: then this is a recording of a window, without a start and a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<AttachWindow>,
    /// Disks, partitions and mounted filesystems.
    #[serde(default)]
    pub devices: Vec<Device>,
    /// What is accounted for as one piece of work, and how long none of them should take.
    #[serde(default, skip_serializing_if = "Units::are_requests")]
    pub units: Units,
}

/// A disk, a partition, or a mounted filesystem that has a device number of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its device number in the kernel's form: the major number above 20 bits of minor number.
    pub dev: u32,
    /// `nvme0n1p2`; of a filesystem without a disk what it is mounted from (`server:/export`), or
    /// its type (`tmpfs`).
    pub name: String,
}

/// How the root ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It exited with this code.
    Code(#[schemars(range(min = 0, max = 255))] i32),
    /// It was killed by this signal.
    Signal(#[schemars(range(min = 1))] i32),
    /// The window of `dwell attach` ended, for this reason; the program's exit status is not known.
    Window(WindowEnd),
}

/// `getrusage(RUSAGE_CHILDREN)` for the root: the root and its descendants as far as they were
/// waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rusage {
    /// User time.
    pub user_ns: Ns,
    /// System time.
    pub kernel_ns: Ns,
    /// Largest resident set of one process.
    pub max_rss_bytes: u64,
    /// Page faults served without IO.
    pub minor_faults: u64,
    /// Page faults that needed IO.
    pub major_faults: u64,
    /// Bytes read from storage for the tree, as the kernel counts blocks.
    pub read_bytes: u64,
    /// Bytes it caused to be written.
    pub written_bytes: u64,
}

/// CPU time of the whole host while the program ran, from `/proc/stat`, summed over CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCpu {
    /// All modes but idle and IO wait.
    pub busy_ns: Ns,
    /// Taken by the hypervisor.
    pub steal_ns: Ns,
    /// In interrupts and softirqs.
    pub interrupt_ns: Ns,
    /// From the first to the last reading.
    pub span_ns: Ns,
    /// dwell's own part.
    pub dwell_ns: Ns,
}

/// The trailer of a recording: what is known at its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trailer {
    /// How the root ended.
    pub ending: Ending,
    /// When dwell noticed that the root had ended: after its last switch, by one wake-up of dwell.
    pub reaped_at: Ns,
    /// Per call, summed over the tree.
    pub calls: Seen<Vec<CallStats>>,
    /// The kernel's resource usage of the tree.
    pub rusage: Seen<Rusage>,
    /// What the host did in that time.
    pub host_cpu: Seen<HostCpu>,
    /// Counters of threads of the tree that still lived at the end.
    pub living: Vec<(Tid, Counters)>,
    /// When the last of them was read. None in recordings that do not have it.
    #[serde(default)]
    pub living_until: Option<Ns>,
    /// The largest resident set so far of each process of the tree that still lived at the end.
    /// Empty in recordings that do not have it.
    #[serde(default)]
    pub peaks: Vec<(Pid, u64)>,
    /// The root began at no more than this, when dwell had created it: a larger peak is the
    /// program's own. None for a window, and in recordings that do not have it.
    #[serde(default)]
    pub began_at_bytes: Option<u64>,
    /// What processes read and wrote of files.
    #[serde(default)]
    pub files: Seen<FileUses>,
    /// What processes asked of disks.
    #[serde(default)]
    pub disk_requests: Seen<DiskUses>,
    /// Events that the kernel could not deliver.
    pub lost_events: Seen<u64>,
    /// How often each instrument ran for the tree, and the cost of one run: the overhead estimate.
    pub cost: Vec<Cost>,
    /// Sources that turned out worse than the header says.
    pub sources: Vec<Source>,
    /// Events after this time were counted but not kept.
    pub kept_until: Option<Ns>,
    /// Calls were traced in windows from some point on: then `calls` holds only those that were
    /// traced.
    #[serde(default)]
    pub sliced: Option<Sliced>,
    /// What operations cost on this host, from its ladder. Stored with the recording, so that other
    /// machines show the same.
    #[serde(default)]
    pub costs: Seen<crate::Costs>,
    /// The users of the processes and of the files that their code is from: all of them could have
    /// named the sources. Absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Vec<u32>>,
    /// Which counters of the processor were sampled.
    #[serde(default)]
    pub counters: Seen<crate::counters::CountersObserved>,
    /// Whether loads were told with the samples.
    #[serde(default)]
    pub loads: Seen<crate::loads::LoadsObserved>,
    /// The processes of this host that serve the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peer_processes: Vec<crate::network::PeerProcess>,
    /// Requests that were counted and not followed, since the bound of overhead did not allow it.
    /// Absent where that is not known, and in older recordings, which followed all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_left_out: Option<u64>,
    /// How calls or operations were followed, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units_followed: Option<UnitsFollowed>,
}

/// What it took to follow calls or operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitsFollowed {
    /// Until when; absent: to the end.
    pub until: Option<Ns>,
    /// What it took to come past a probe, as measured before.
    pub each_ns: Ns,
    /// How often threads of the tree did.
    pub times: u64,
    /// How often threads of other processes did, which map the same file.
    pub others: u64,
}

impl Trailer {
    /// The trailer of a recording that was cut off at `last_at`: what it would tell is unseen, and
    /// `why`.
    pub fn unwritten(ending: Ending, last_at: Ns, why: &str) -> Self {
        Self {
            ending,
            reaped_at: last_at,
            calls: Seen::unseen(why),
            rusage: Seen::unseen(why),
            host_cpu: Seen::unseen(why),
            living: Vec::new(),
            living_until: None,
            loads: Seen::unseen(why),
            counters: Seen::unseen(why),
            peer_processes: Vec::new(),
            peaks: Vec::new(),
            began_at_bytes: None,
            files: Seen::unseen(why),
            disk_requests: Seen::unseen(why),
            requests_left_out: None,
            units_followed: None,
            lost_events: Seen::unseen(why),
            cost: Vec::new(),
            sources: Vec::new(),
            kept_until: None,
            sliced: None,
            costs: Seen::unseen(why),
            users: None,
        }
    }
}

/// What [`Cost`] calls the counting of calls that are not traced.
pub const COUNTING: &str = "counting calls";

/// The overhead of one kind of instrument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Which.
    pub what: String,
    /// How often it ran in the context of the tree.
    pub times: u64,
    /// Estimated cost of one, low and high.
    pub each_ns: (Ns, Ns),
}

/// A whole recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// What was known before.
    pub header: Header,
    /// What was observed.
    pub events: Vec<Event>,
    /// What was known after.
    pub trailer: Trailer,
}
