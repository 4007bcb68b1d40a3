//! What was seen, one event at a time.
//!
//! Events are kept in a compact encoding without names, so a variant never changes: what needs another field becomes
//! a new variant at the end.

use crate::because::Because;
use crate::call::Call;
use crate::code_location::{Function, Place};
use crate::network::{Connection, Lookup};
use crate::object::Ends;
use crate::snapshot::Looked;
use crate::surroundings::Surroundings;
use crate::switch::{Calls, In, Mode, Out, WakeReasons, Waker};
use crate::thread::{Comm, Counters};
use crate::window::AliveState;
use crate::{Ns, Pid, Tid};
use serde::{Deserialize, Serialize};

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
    /// [`Event::Woken`] of recordings before it, without its reasons.
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
    /// [`Event::Sampled`] of recordings before it, without its stack.
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
    /// The stack of a sample of the same time and thread, by itself: the sample was lost, or the
    /// stack was not there in time. Recordings before [`Event::Sampled`] have all stacks so.
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
    /// Why a thread is woken, of recordings before [`Event::Woken`]: told just before its
    /// [`Event::Wake`], or later (where the waker was).
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
    /// A fault reads a page of this file from its disk, of recordings before [`Object::Page`]: told
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
        mode: Mode,
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
            | Event::Woken { at, .. }
            | Event::Sampled { at, .. }
            | Event::WakerStack { at, .. }
            | Event::Start { at, .. } => Some(*at),
            Event::Lookup(lookup) => Some(lookup.answered_at.unwrap_or(lookup.asked_at)),
            Event::Connection(connection) => Some(connection.span.1),
            Event::Place { .. } | Event::Node { .. } | Event::Named { .. } | Event::Path { .. } => None,
        }
    }
}
