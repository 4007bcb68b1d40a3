//! The events of a recording.
//!
//! Events are kept in a compact encoding without names, so a variant never changes: what needs
//! another field becomes a new variant at the end.

use crate::call::Call;
use crate::code_location::{CodeLocation, Function};
use crate::counters::Counter;
use crate::fault_places::FaultMapping;
use crate::limits::ControlGroup;
use crate::loads::SampledLoad;
use crate::network::{Connection, Lookup};
use crate::object::SocketEnds;
use crate::snapshot::ThreadSnapshot;
use crate::surroundings::HostMetrics;
use crate::switch::{Calls, SampleMode, SwitchIn, SwitchOut, WakeReasons, Waker};
use crate::task::TaskDid;
use crate::thread::{Comm, Counters};
use crate::wake_reason::LegacyWakeReason;
use crate::window::AliveState;
use crate::{Ns, Pid, Tid};
use serde::{Deserialize, Serialize};

/// One observed event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A program was executed: `tid` is now the only thread of `pid`. For the root's first one the
    /// wall begins at `entered`.
    Exec {
        /// When the old image was gone.
        at: Ns,
        /// When `execve` was entered.
        entered: Ns,
        /// The thread, by its ID from now on.
        tid: Tid,
        /// Its process.
        pid: Pid,
        /// Its thread ID before: another one when a thread other than the group leader calls
        /// `execve`.
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
        /// The creator's calls since its last event.
        calls: Calls,
    },
    /// A thread began to end. It still runs in the kernel until it is switched out with
    /// [`Left::Dead`].
    Exit {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// Its wait status, as `waitpid` gives it.
        status: i32,
        /// Whether it is the last of its process.
        last: bool,
        /// Its calls since its last event.
        calls: Calls,
    },
    /// A CPU switched from one thread to another; at least one of them is of the tree.
    Switch {
        /// When.
        at: Ns,
        /// Which CPU.
        cpu: u32,
        /// The thread that was switched out, when it is of the tree.
        out: Option<SwitchOut>,
        /// The thread that was switched in, when it is of the tree.
        into: Option<SwitchIn>,
    },
    /// [`Event::Woken`] of recordings before it, without its reasons.
    Wake {
        /// When.
        at: Ns,
        /// The CPU on which the waker runs.
        cpu: u32,
        /// The thread that is woken.
        tid: Tid,
        /// What wakes it.
        waker: Waker,
        /// The waker's calls since its last event, where it is a thread of the tree.
        calls: Calls,
    },
    /// A thread's calls since its last event, while it keeps running.
    Flush {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// Its calls.
        calls: Calls,
    },
    /// A thread sent on a network socket whose other end may be a thread of the tree.
    Send {
        /// When the call was in the socket layer.
        at: Ns,
        /// The sender.
        tid: Tid,
        /// The addresses.
        ends: SocketEnds,
        /// Its calls since its last event.
        calls: Calls,
    },
    /// [`Event::Sampled`] of recordings before it, without its stack.
    Sample {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// In which mode.
        mode: SampleMode,
        /// Address of the interrupted instruction; 0 when unknown.
        ip: u64,
        /// CPU time that the sample stands for: the sampling rate may be higher at first.
        period_ns: u32,
    },
    /// A thread changed its name.
    Rename {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// Its name from now on.
        name: Comm,
    },
    /// A snapshot of all threads of the tree, from `/proc`, where events are not available.
    Look {
        /// When.
        at: Ns,
        /// The threads.
        threads: Vec<ThreadSnapshot>,
    },
    /// Events were lost before this one.
    Lost {
        /// When the loss was noticed.
        at: Ns,
        /// How many events.
        events: u64,
    },
    /// The root entered its `execve`: the first event of the tree. (Tier `bpf` only.)
    Start {
        /// When.
        at: Ns,
        /// The root's first thread.
        tid: Tid,
    },
    /// A code location of stacks, recorded once, before the first node that refers to it.
    Place {
        /// Its index from now on, from 0.
        id: u32,
        /// What it is.
        place: CodeLocation,
    },
    /// A node of the call tree: a code location, called from another node. Recorded once, after its
    /// caller.
    Node {
        /// Its index from now on, from 1.
        id: u32,
        /// The node that called it; 0 for the outermost frame of a stack.
        caller: u32,
        /// Its code location: an [`Event::Place`].
        place: u32,
    },
    /// The stack of a sample of the same time and thread, as a separate event: the sample was lost,
    /// or the stack was late. In recordings before [`Event::Sampled`] all stacks are separate.
    SampleStack {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// The innermost frame: an [`Event::Node`].
        node: u32,
        /// What the thread did.
        mode: SampleMode,
        /// CPU time that the sample stands for.
        period_ns: u32,
    },
    /// The stack of a wait, recorded between the end of that wait and the next one. Not every wait
    /// has one: they are sampled by length, so that each stands for `weight_ns` of blocked time,
    /// and their sum is the thread's blocked time.
    WaitStack {
        /// When it was taken: at the exit of the call that had blocked.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// The innermost frame: an [`Event::Node`].
        node: u32,
        /// Blocked time that it stands for.
        weight_ns: Ns,
        /// The call.
        call: Option<Call>,
    },
    /// The names of a code location, recorded after the program has ended, when symbols were
    /// resolved.
    Named {
        /// An [`Event::Place`].
        place: u32,
        /// The function and those inlined into it, the innermost first; never empty.
        functions: Vec<Function>,
    },
    /// Why a thread is woken, of recordings before [`Event::Woken`]: recorded just before its
    /// [`Event::Wake`], or after it (the location of the waker).
    Because {
        /// When.
        at: Ns,
        /// The thread that is about to be woken.
        tid: Tid,
        /// What ends its wait.
        because: LegacyWakeReason,
    },
    /// The path of a file, recorded before the first wait on it or on a page of it, or when some of
    /// its bytes are counted first.
    Path {
        /// Device number, as in [`Object::File`].
        dev: u32,
        /// Inode.
        ino: u64,
        /// Its path from the root of the mount namespace, as far as it could be resolved.
        path: String,
    },
    /// A page fault reads this file from its disk, of recordings before [`Object::Page`]: recorded
    /// just before the [`Event::Switch`] in which the fault blocks.
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
    /// A connection of the tree.
    Connection(Box<Connection>),
    /// A name lookup, recorded when it is answered or has timed out.
    Lookup(Box<Lookup>),
    /// Host metrics up to now.
    Surroundings {
        /// When.
        at: Ns,
        /// The counters.
        surroundings: Box<HostMetrics>,
    },
    /// From here on, until the next such event, system calls are traced or not: they are traced in
    /// windows to bound the overhead.
    Tracing {
        /// When.
        at: Ns,
        /// Whether calls are traced from now on.
        calls: bool,
    },
    /// A thread that existed when the recording began, recorded before its other events.
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
        /// The kernel's counters of it by then. The counters at its exit, or at the end of the
        /// recording, count time from here on, but faults and switches since its creation.
        before: Counters,
    },
    /// A thread of the tree is being woken, with all that is known of why. Absent for new threads.
    Woken {
        /// When.
        at: Ns,
        /// Where the waker runs.
        cpu: u32,
        /// Who is woken.
        tid: Tid,
        /// Who wakes.
        waker: Waker,
        /// What the waker was working on, where the kernel knows.
        reasons: WakeReasons,
        /// The waker's calls since it was last heard of, where it is a thread of the tree.
        calls: Calls,
    },
    /// What a thread was doing when the sampling clock struck, with its stack.
    Sampled {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// In which mode.
        mode: SampleMode,
        /// Address of the interrupted instruction; 0 when unseen.
        ip: u64,
        /// How much time on a CPU the sample stands for: the clock may strike faster at first.
        period_ns: u32,
        /// The innermost place of its stack: an [`Event::Node`]. None where no stack was taken, or
        /// where it was not there in time: then an [`Event::SampleStack`] may follow.
        node: Option<u32>,
    },
    /// Where the waker of a thread was, told when it left the call in which it woke it: of locks,
    /// where they were released.
    WakerStack {
        /// When it was taken.
        at: Ns,
        /// Who was woken.
        tid: Tid,
        /// When it was woken: the time of its [`Event::Woken`].
        woken_at: Ns,
        /// The innermost place: an [`Event::Node`].
        node: u32,
    },
    /// What had a CPU that is not of the tree, while a thread of the tree waited for a CPU that
    /// it then got there. Recorded before the [`Event::Switch`] in which that thread comes, oldest
    /// first; the oldest of very many are left out.
    Ran {
        /// When it left the CPU.
        at: Ns,
        /// When it came.
        from: Ns,
        /// Which CPU.
        cpu: u32,
        /// The thread; 0 is the idle task.
        tid: Tid,
        /// Its process; 0 where that is not known in dwell's PID namespace.
        pid: Pid,
        /// Its name.
        name: Comm,
    },
    /// The control group of the program: at first, and whenever its limits or counters differ from
    /// those recorded before.
    Group {
        /// When.
        at: Ns,
        /// The group, its limits and counters.
        group: Box<ControlGroup>,
    },
    /// A process's command line, read just after it executed a program, or when it was found
    /// alive. A process that ended before has none.
    Command {
        /// The process.
        pid: Pid,
        /// Its arguments, with a space between them; the first 256 bytes.
        line: String,
    },
    /// Which end of its connection a local socket is, recorded before the first wait on it. A
    /// socket of a pair, and one of which both ends have names, has none.
    LocalSocket {
        /// Its inode, as in [`Object::Unix`].
        ///
        /// [`Object::Unix`]: crate::recording::Object::Unix
        ino: u64,
        /// Whether it is the server's: it listens, or was accepted. Otherwise it was connected.
        serves: bool,
        /// The address that the server is bound to, as `/proc/net/unix` writes it.
        name: String,
    },
    /// The stack of the wait that a thread was in when it was found ([`Event::Alive`]). Recorded
    /// after that event; not of every such wait. Where the thread has been woken since, it is of no
    /// wait.
    AliveStack {
        /// When it was taken.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// The innermost frame: an [`Event::Node`].
        node: u32,
    },
    /// The largest resident set that a process had, recorded when its last thread exits.
    MemoryPeak {
        /// When.
        at: Ns,
        /// The process.
        pid: Pid,
        /// The kernel's count, over all programs that it executed. A process begins at the size of
        /// the one that created it.
        bytes: u64,
    },
    /// A TCP connection of the tree, of which the end with the higher port serves, is established
    /// or found. In older recordings all between two high ports. Recorded before the first wait on
    /// it.
    Established {
        /// When.
        at: Ns,
        /// The tree's end, and the other one.
        ends: SocketEnds,
        /// Whether the tree's end is the service.
        serves: bool,
    },
    /// The load that a sample of a thread's own code was at. Recorded just before that sample,
    /// where its code could be read.
    Load {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// The innermost place of its stack: an [`Event::Node`].
        node: u32,
        /// The load.
        load: SampledLoad,
    },
    /// What came back into the memory of the group of the last [`Event::Group`], after it had been
    /// taken away for want of memory (refaults): at first, and whenever it differs. Where that
    /// group has a memory limit.
    Refaults {
        /// When.
        at: Ns,
        /// The kernel's count, from the beginning of the group.
        bytes: u64,
    },
    /// A page fault of a sample of them.
    FaultSampled {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// How many page faults it stands for.
        faults: u32,
        /// What it is in.
        mapping: FaultMapping,
        /// The innermost place of its stack: an [`Event::Node`]. None where no stack was taken, or
        /// where it was not there in time.
        node: Option<u32>,
    },
    /// A counter of the processor has counted so much since its last sample on the CPU, or of the
    /// thread.
    Counted {
        /// When.
        at: Ns,
        /// The thread that ran when it overflowed.
        tid: Tid,
        /// Which.
        counter: Counter,
        /// How much it stands for.
        count: u64,
        /// Whether it was in the kernel.
        kernel: bool,
        /// Where: an [`Event::Node`] without callers. None where the place is not known.
        node: Option<u32>,
    },
    /// A thread received on a TCP connection. When it receives there again and nobody has sent in
    /// between, that is not recorded.
    Received {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// The addresses.
        ends: SocketEnds,
        /// When the first byte of it came in. None: that was not seen.
        arrived: Option<Ns>,
        /// How much was received; 0: the other end sends no more.
        bytes: u32,
        /// Its calls since its last event.
        calls: Calls,
    },
    /// What the request asks for that a thread receives with its next [`Event::Received`], at the
    /// same time: `GET /orders/{n}`. Nothing else of it is kept.
    RequestKind {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// In few words, of printable characters.
        kind: Box<str>,
    },
    /// A thread works for a request that is counted only, until it receives for another. Recorded
    /// where the connection's last request was followed, and where the thread's was.
    LeftOut {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// The connection.
        ends: SocketEnds,
        /// Its calls since its last event.
        calls: Calls,
    },
    /// The request that a thread receives with its next [`Event::Received`], at the same time, was
    /// drawn at random and stands for several. Without it, it stands for itself alone.
    Drawn {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// One of this many was drawn: a power of two.
        one_in: u32,
    },
    /// A thread begins or ends a piece of work that was asked for by name: the call of a function,
    /// or what is between two probes.
    Unit {
        /// When.
        at: Ns,
        /// The thread.
        tid: Tid,
        /// It begins.
        begins: bool,
    },
    /// A task of the program's own scheduler (a goroutine) goes on, waits or is ready: for tasks of
    /// processes that serve requests.
    Task {
        /// When.
        at: Ns,
        /// The thread that did it; 0 of none.
        tid: Tid,
        /// The task, by its address in the process.
        task: u64,
        /// What became of it.
        did: TaskDid,
    },
}

impl Event {
    /// When it happened; none for events about code and paths, which have no time.
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
            | Event::Woken { at, .. }
            | Event::Sampled { at, .. }
            | Event::WakerStack { at, .. }
            | Event::Ran { at, .. }
            | Event::Group { at, .. }
            | Event::AliveStack { at, .. }
            | Event::MemoryPeak { at, .. }
            | Event::Established { at, .. }
            | Event::Load { at, .. }
            | Event::Refaults { at, .. }
            | Event::FaultSampled { at, .. }
            | Event::Counted { at, .. }
            | Event::Received { at, .. }
            | Event::RequestKind { at, .. }
            | Event::LeftOut { at, .. }
            | Event::Drawn { at, .. }
            | Event::Unit { at, .. }
            | Event::Task { at, .. }
            | Event::Start { at, .. } => Some(*at),
            Event::Lookup(lookup) => Some(lookup.answered_at.unwrap_or(lookup.asked_at)),
            Event::Connection(connection) => Some(connection.span.1),
            Event::Place { .. }
            | Event::Node { .. }
            | Event::Named { .. }
            | Event::Path { .. }
            | Event::Command { .. }
            | Event::LocalSocket { .. } => None,
        }
    }
}
