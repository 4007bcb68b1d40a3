//! What was seen, in order, with no conclusions: the hand-over from the machine to the analysis.
//!
//! A recording is a [`Header`], a stream of [`Event`]s and a [`Trailer`]. Live or kept, the same stream feeds
//! the same analysis. Within a thread events are in order of time; across threads they are in causal order (a
//! wake-up stands before the switch it leads to), and time stamps may differ from that by the few hundred
//! nanoseconds between a clock read and its event.
//!
//! The kept form is promised to stay readable. Events are kept in a compact encoding without names, so a variant
//! never changes: what needs another field becomes a new variant at the end. Header and trailer are kept with
//! names; there fields may be added with a default. `Header::format` counts the changes that a reader must know.

use crate::because::Because;
use crate::call::{Call, CallStats, CallTime};
pub use crate::call::{Sliced, SlicedCall};
use crate::coverage::Source;
use crate::network::{Connection, Lookup};
use crate::surroundings::Surroundings;
pub use crate::window::{AliveState, Attached, WindowEnd};
use crate::{Ns, Pid, Seen, Tid};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The calls of one stretch; most stretches have one or two.
pub type Calls = SmallVec<[CallTime; 2]>;

/// A thread's name as the kernel has it: up to 15 bytes of the program's choosing, then zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Comm(pub [u8; 16]);

impl Comm {
    /// The bytes before the first zero, with what is not UTF-8 replaced. Still hostile: escape before showing.
    pub fn to_text(self) -> String {
        let len = self.0.iter().position(|byte| *byte == 0).unwrap_or(16);
        String::from_utf8_lossy(&self.0[..len]).into_owned()
    }
}

impl From<&str> for Comm {
    fn from(text: &str) -> Self {
        let mut bytes = [0; 16];
        let len = text.len().min(15);
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Comm(bytes)
    }
}

impl std::fmt::Debug for Comm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.to_text())
    }
}

/// Where events come from, best first. It says what the analysis may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Every switch, wake-up and call, seen in the kernel.
    Bpf,
    /// Every switch of the tree without its reason, from perf events, and [`Event::Look`]s.
    Perf,
    /// [`Event::Look`]s only.
    Proc,
}

/// The machine the recording was made on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// `uname -n`.
    pub name: String,
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`: `x86_64`, `aarch64`. Decides what a call's number means.
    pub arch: String,
    /// Processors online.
    pub cpus: u32,
    /// Physical memory.
    pub memory_bytes: u64,
    /// The hypervisor or container runtime, where one shows.
    pub virtualisation: Seen<String>,
}

/// What is known before the program starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Raised when a reader must know of a change: 1.
    pub format: u32,
    /// The version of dwell that recorded.
    pub recorder: String,
    /// The program and its arguments, with what is not UTF-8 replaced.
    pub command: Vec<String>,
    /// Wall-clock time of the start, seconds since 1970.
    pub started_at_unix_s: u64,
    /// The root's process id; 0 where there is none, since it was attached to what lived.
    pub root: Pid,
    /// Where events come from.
    pub tier: Tier,
    /// Shortest period of the clock samples, per CPU; of the looks where there are no samples.
    pub sample_period_ns: Ns,
    /// The machine.
    pub host: Host,
    /// What can be seen, and why not more.
    pub sources: Vec<Source>,
    /// What lived already: then this is a recording of a window, without a start and a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<Attached>,
    /// Disks, partitions and mounted filesystems.
    #[serde(default)]
    pub devices: Vec<Device>,
}

/// A disk, a partition, or a mounted filesystem that has a device number of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its number as the kernel counts: the major one above 20 bits of the minor one.
    pub dev: u32,
    /// `nvme0n1p2`; of a filesystem without a disk what it is mounted from (`server:/export`), or its type (`tmpfs`).
    pub name: String,
}

/// How the root ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It exited with this code.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// The window of `dwell attach` was over, for this reason; how the program ends is not known.
    Window(WindowEnd),
}

/// What a kernel counted of a thread or of a finished tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// On a CPU (`se.sum_exec_runtime`).
    pub cpu_ns: Ns,
    /// Runnable and waiting for one (`sched_info.run_delay`).
    pub runqueue_ns: Ns,
    /// Page faults served without IO.
    pub minor_faults: u64,
    /// Page faults that needed IO.
    pub major_faults: u64,
    /// Switches that the thread asked for.
    pub voluntary_switches: u64,
    /// Switches forced on it.
    pub involuntary_switches: u64,
}

/// `getrusage(RUSAGE_CHILDREN)` for the root: the root and its descendants as far as they were waited for.
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
    /// In interrupts and soft interrupts.
    pub interrupt_ns: Ns,
    /// From the first to the last reading.
    pub span_ns: Ns,
    /// dwell's own, so that it can be told from other programs'.
    pub dwell_ns: Ns,
}

/// What is known when it is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trailer {
    /// How the root ended.
    pub ending: Ending,
    /// When the root was seen to have ended: later than its last switch by a wake-up of dwell.
    pub reaped_at: Ns,
    /// Per call, summed over the tree.
    pub calls: Seen<Vec<CallStats>>,
    /// What the kernel says the tree used.
    pub rusage: Seen<Rusage>,
    /// What the host did meanwhile.
    pub host_cpu: Seen<HostCpu>,
    /// Counters of threads of the tree that still lived at the end.
    pub living: Vec<(Tid, Counters)>,
    /// Events that the kernel could not hand over.
    pub lost_events: Seen<u64>,
    /// How often each instrument ran for the tree, and what one run of it costs: the overhead estimate.
    pub cost: Vec<Cost>,
    /// Sources that turned out worse than the header says.
    pub sources: Vec<Source>,
    /// Events after this time were counted but not kept.
    pub kept_until: Option<Ns>,
    /// Calls were traced in slices of time from some point on: then `calls` holds only those that were seen.
    #[serde(default)]
    pub sliced: Option<Sliced>,
    /// What operations cost on this host, by a ladder of it. Kept with the recording, so that it is shown the same elsewhere.
    #[serde(default = "crate::run::unrecorded")]
    pub costs: Seen<crate::Costs>,
}

/// What one kind of instrument cost the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Which.
    pub what: String,
    /// How often it ran in the tree's time.
    pub times: u64,
    /// Estimated cost of one, low and high.
    pub each_ns: (Ns, Ns),
}

/// A kept recording, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Known before.
    pub header: Header,
    /// Seen in between.
    pub events: Vec<Event>,
    /// Known after.
    pub trailer: Trailer,
}

/// One thing seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A program was executed: `tid` is now the only thread of `pid`. For the root's first one the wall begins
    /// at `entered`.
    Exec {
        /// When the old image was gone.
        at: Ns,
        /// When `execve` was entered.
        entered: Ns,
        /// The thread, by its number from now on.
        tid: Tid,
        /// Its process.
        pid: Pid,
        /// The number it had: another when a thread that does not lead its group executes.
        old_tid: Tid,
        /// The new name.
        name: Comm,
    },
    /// A thread or process was made. It inherits its creator's path.
    Fork {
        /// When.
        at: Ns,
        /// The creator.
        tid: Tid,
        /// The new thread.
        child: Tid,
        /// The process it belongs to; equal to `child` for a new process.
        pid: Pid,
        /// Its name, which it has from its creator.
        name: Comm,
        /// The creator's calls since it was last heard of.
        calls: Calls,
    },
    /// A thread began to end. It still runs in the kernel until it is switched out with [`Left::Dead`].
    Exit {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// Its wait status, as `waitpid` gives it.
        status: i32,
        /// Whether it is the last of its process.
        last: bool,
        /// Its calls since it was last heard of.
        calls: Calls,
    },
    /// A CPU went from one thread to another, at least one of which is of the tree.
    Switch {
        /// When.
        at: Ns,
        /// Where.
        cpu: u32,
        /// The one that left, when it is of the tree.
        out: Option<Out>,
        /// The one that came, when it is of the tree.
        into: Option<In>,
    },
    /// A thread of the tree is being woken. Absent for new threads.
    Wake {
        /// When.
        at: Ns,
        /// Where the waker runs.
        cpu: u32,
        /// Who is woken.
        tid: Tid,
        /// Who wakes.
        waker: Waker,
        /// The waker's calls since it was last heard of, where it is a thread of the tree.
        calls: Calls,
    },
    /// A thread's calls since it was last heard of, while it runs on.
    Flush {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// Its calls.
        calls: Calls,
    },
    /// A thread sent on a network socket that may lead to another thread of the tree.
    Send {
        /// When the call was in the socket layer.
        at: Ns,
        /// The sender.
        tid: Tid,
        /// From where to where.
        ends: Ends,
        /// Its calls since it was last heard of.
        calls: Calls,
    },
    /// What a thread was doing when the sampling clock struck.
    Sample {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// In which mode.
        mode: Mode,
        /// Address of the interrupted instruction; 0 when unseen.
        ip: u64,
        /// How much time on a CPU the sample stands for: the clock may strike faster at first.
        period_ns: u32,
    },
    /// A thread took a name.
    Rename {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// Its name from now on.
        name: Comm,
    },
    /// All threads of the tree, looked at from outside (`/proc`), where events cannot be had.
    Look {
        /// When.
        at: Ns,
        /// The threads.
        threads: Vec<Looked>,
    },
    /// This many events were lost before this one.
    Lost {
        /// When that was noticed.
        at: Ns,
        /// How many.
        events: u64,
    },
    /// The root entered its `execve`: nothing of the tree was seen before. (Tier `bpf` only.)
    Start {
        /// When.
        at: Ns,
        /// The root's first thread.
        tid: Tid,
    },
    /// A place in code that stacks lead through, told once before the first node that needs it.
    Place {
        /// Its number from now on: counted from 0.
        id: u32,
        /// What it is.
        place: Place,
    },
    /// A node of the tree of calls: a place, called from another node. Told once, after its caller.
    Node {
        /// Its number from now on: counted from 1.
        id: u32,
        /// The node that called it; 0 for the outermost place of a stack.
        caller: u32,
        /// Where it is: an [`Event::Place`].
        place: u32,
    },
    /// The stack of an [`Event::Sample`] of the same time and thread, by itself: either may be lost.
    SampleStack {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// The innermost place: an [`Event::Node`].
        node: u32,
        /// What the thread did.
        mode: Mode,
        /// How much time on a CPU the sample stands for.
        period_ns: u32,
    },
    /// The stack from which a thread waited, told between its coming back from that wait and its next. Not each
    /// wait has one: they are thinned by their length, so that each stands for `weight_ns` of blocked time, and
    /// the sum of all is the thread's blocked time.
    WaitStack {
        /// When it was taken: at the end of the call that it had blocked in.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// The innermost place: an [`Event::Node`].
        node: u32,
        /// Blocked time that it stands for.
        weight_ns: Ns,
        /// The call.
        call: Option<Call>,
    },
    /// What a place is called, told when the program has ended and its names have been looked up.
    Named {
        /// An [`Event::Place`].
        place: u32,
        /// The function there and those inlined into it, the innermost first; never empty.
        functions: Vec<Function>,
    },
    /// What the next [`Event::Wake`] of this thread is about, told just before it, where the kernel knows; or where that
    /// wake-up came from, told after it.
    Because {
        /// When.
        at: Ns,
        /// Who is about to be woken.
        tid: Tid,
        /// What ends its wait.
        because: Because,
    },
    /// What a file is called, told before the first wait on it, or on a page of it.
    Path {
        /// Device number, as in [`Object::File`].
        dev: u32,
        /// Inode.
        ino: u64,
        /// Its path from the root of the mount namespace, as far as that could be followed.
        path: String,
    },
    /// A fault read a page of this file from its disk: told before the fault blocks.
    Page {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// Device number of the filesystem.
        dev: u32,
        /// Inode; 0 for swap.
        ino: u64,
    },
    /// What is known of a connection of the tree.
    Connection(Box<Connection>),
    /// A question for a name, told when it is answered or no answer is waited for any more.
    Lookup(Box<Lookup>),
    /// What the host did up to now.
    Surroundings {
        /// When.
        at: Ns,
        /// What.
        surroundings: Box<Surroundings>,
    },
    /// From here on (until the next of these) system calls are not seen, or are seen again: their tracing is sliced in
    /// time to bound what it costs.
    Tracing {
        /// When.
        at: Ns,
        /// Whether calls are seen from now on.
        calls: bool,
    },
    /// A thread that lived already when the recording began, told before anything else of it.
    Alive {
        /// When it was found.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// Its process.
        pid: Pid,
        /// Its name.
        name: Comm,
        /// What it was doing.
        state: AliveState,
        /// What the kernel had counted of it by then. What is told of its end or at the end of the recording counts time from
        /// here on, and faults and switches from its birth.
        before: Counters,
    },
}

/// A place in code.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Place {
    /// Machine code of a mapped file.
    Native {
        /// The file, as the kernel named it when it was mapped: a path, `[vdso]`, `[jit]`.
        module: String,
        /// The address as the file itself counts (as `nm` and `objdump` print it); in code that is in no file, the
        /// address in the process. Of a caller: of the last byte of its call.
        address: u64,
    },
    /// Machine code of the kernel or one of its modules.
    Kernel {
        /// The address.
        address: u64,
    },
    /// A line of a program that an interpreter runs. It has its names already.
    Script {
        /// The language.
        language: Language,
        /// The function.
        function: String,
        /// Its file.
        file: String,
        /// The line, from 1; 0 when unknown.
        line: u32,
        /// The line on which the function begins.
        first_line: u32,
    },
    /// The stack goes on, but could not be followed further out.
    Broke {
        /// Why and where, in words.
        why: String,
    },
}

/// What code is written in, as far as it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Compiled to machine code.
    Native,
    /// The kernel.
    Kernel,
    /// Python.
    Python,
    /// Machine code that the program made itself and named in a perf map.
    Jit,
}

/// A function at a place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Function {
    /// Its name, demangled; none where there is no symbol.
    pub name: Option<String>,
    /// Source file and line of the place in it, where there is debug information.
    pub source: Option<(String, u32)>,
    /// It is inlined into the next of the list.
    pub inlined: bool,
}

impl Event {
    /// When it happened; none for what is told of code, which has no time of its own.
    pub fn at(&self) -> Option<Ns> {
        match self {
            Event::Exec { at, .. }
            | Event::Fork { at, .. }
            | Event::Exit { at, .. }
            | Event::Switch { at, .. }
            | Event::Wake { at, .. }
            | Event::Flush { at, .. }
            | Event::Send { at, .. }
            | Event::Sample { at, .. }
            | Event::Rename { at, .. }
            | Event::Look { at, .. }
            | Event::Lost { at, .. }
            | Event::SampleStack { at, .. }
            | Event::WaitStack { at, .. }
            | Event::Because { at, .. }
            | Event::Page { at, .. }
            | Event::Surroundings { at, .. }
            | Event::Tracing { at, .. }
            | Event::Alive { at, .. }
            | Event::Start { at, .. } => Some(*at),
            Event::Lookup(lookup) => Some(lookup.answered_at.unwrap_or(lookup.asked_at)),
            Event::Connection(connection) => Some(connection.span.1),
            Event::Place { .. } | Event::Node { .. } | Event::Named { .. } | Event::Path { .. } => None,
        }
    }
}

/// A thread of the tree that left a CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Out {
    /// Which.
    pub tid: Tid,
    /// In what condition.
    pub left: Left,
    /// Its calls since it was last heard of.
    pub calls: Calls,
}

/// In what condition a thread left its CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Left {
    /// Still runnable: preempted, or it yielded.
    Runnable,
    /// Blocked.
    Blocked(Wait),
    /// Stopped by job control or a tracer.
    Stopped,
    /// Dead; this was its last.
    Dead(Counters),
}

/// What a thread was in when it blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The call; none when it blocked in a fault.
    pub call: Option<Call>,
    /// It cannot be woken by signals (state D).
    pub uninterruptible: bool,
    /// The kernel says it waits for IO (`in_iowait`).
    pub io: bool,
    /// What the call was about, read from its arguments.
    pub on: Object,
}

/// What a blocked call was about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Object {
    /// Nothing that could be read from the call.
    Unknown,
    /// A file of a filesystem or a device.
    File {
        /// What kind.
        kind: FileKind,
        /// Device number of the filesystem (of the device itself for device nodes); 0 when only the path is known that
        /// was given to the call.
        dev: u32,
        /// Inode; where `dev` is 0, a number that stands for the path.
        ino: u64,
        /// Last part of its path.
        name: Comm,
    },
    /// A socket of an internet family.
    Net(Ends),
    /// A local socket; `ino` tells it from others, `peer` is the inode of its other end (0: unknown).
    Unix {
        /// This end.
        ino: u64,
        /// The other end.
        peer: u64,
    },
    /// A socket of another family.
    OtherSocket {
        /// `AF_…`.
        family: u16,
    },
    /// A futex.
    Futex {
        /// Its address in the caller.
        address: u64,
    },
}

/// Kinds of file that differ in what waiting on them means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileKind {
    /// A regular file, directory or block device.
    Disk,
    /// The same on a network filesystem.
    Remote,
    /// A pipe or named pipe.
    Pipe,
    /// A terminal.
    Tty,
    /// Another character device.
    Device,
    /// An epoll instance.
    Epoll,
    /// An eventfd.
    EventFd,
    /// A timerfd.
    TimerFd,
    /// Any other anonymous inode; its name tells (`inotify`, `[signalfd]`, `[io_uring]`, `[pidfd]`).
    Anonymous,
}

/// Both ends of an internet socket, as its owner sees them. IPv4 addresses are mapped (`::ffff:a.b.c.d`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ends {
    /// `IPPROTO_TCP` (6), `IPPROTO_UDP` (17), ….
    pub protocol: u8,
    /// This end's address.
    pub local: [u8; 16],
    /// This end's port.
    pub local_port: u16,
    /// The other end's address; zeros when not connected.
    pub remote: [u8; 16],
    /// The other end's port.
    pub remote_port: u16,
}

impl Ends {
    /// The same connection as its other end sees it.
    pub fn reversed(self) -> Self {
        Ends {
            protocol: self.protocol,
            local: self.remote,
            local_port: self.remote_port,
            remote: self.local,
            remote_port: self.local_port,
        }
    }
}

/// A thread of the tree that came onto a CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct In {
    /// Which.
    pub tid: Tid,
    /// Who had the CPU until now, where this thread waited long enough for it to matter: 0 is the idle loop.
    pub ran: Option<(Tid, Comm)>,
    /// How long its control group was out of CPU quota since it was last on a CPU, where that was asked.
    pub throttled_ns: Ns,
}

/// Who wakes, in what context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waker {
    /// A thread, in its own time.
    Task {
        /// Which.
        tid: Tid,
        /// Its name, where it is not of the tree.
        name: Option<Comm>,
    },
    /// A timer that ran out.
    Timer,
    /// A device's interrupt, or the soft interrupt of block devices.
    Device,
    /// The network's soft interrupt.
    Network {
        /// The thread it interrupted: innocent, or the sender itself on loopback.
        over: Tid,
        /// The socket that became ready, where the kernel tells.
        ready: Option<Ends>,
    },
    /// Another soft interrupt.
    Interrupt,
    /// It cannot be told.
    Unknown,
}

/// What a sampled thread was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Its own code.
    User,
    /// Kernel code in a call.
    Call(Call),
    /// Kernel code outside a call: a fault.
    Fault,
    /// An interrupt that came in its time.
    Interrupt,
    /// Kernel code; whether in a call or a fault cannot be told.
    Kernel,
    /// Kernel code on the way into a call or out of it, where no call is being timed.
    Entry,
}

/// A thread as `/proc` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// The thread.
    pub tid: Tid,
    /// Its process.
    pub pid: Pid,
    /// The process's parent.
    pub parent: Pid,
    /// Its name.
    pub name: Comm,
    /// `R S D T t Z X I`, as in `/proc/PID/stat`.
    pub state: u8,
    /// The call it is in, from `/proc/PID/syscall`; `Absent` when it is in none.
    pub call: Seen<Call>,
    /// What kind of descriptor the call's first argument is, where it is one and could be read.
    pub on: Object,
    /// The kernel function it sleeps in, from `/proc/PID/wchan`.
    pub wchan: Seen<String>,
    /// Time on a CPU so far, from `schedstat`.
    pub cpu_ns: Seen<Ns>,
    /// Time runnable so far, from `schedstat`.
    pub runqueue_ns: Seen<Ns>,
    /// User time so far, in units of the kernel's tick.
    pub user_ns: Ns,
    /// Kernel time so far, likewise.
    pub kernel_ns: Ns,
    /// Minor faults so far.
    pub minor_faults: u64,
    /// Major faults so far.
    pub major_faults: u64,
    /// Pipes that the process has open, by inode, and whether for writing. Given with the thread that leads the
    /// process, and only while a thread of the tree waits on a pipe.
    pub pipes: Vec<(u64, bool)>,
}
