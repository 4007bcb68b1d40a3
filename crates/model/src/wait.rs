//! What threads waited for, in which system call, and what woke them.
//!
//! The types that analysis, judgement, page and JSON share. `wait/notation.rs` writes them to JSON
//! and reads a stored result back; the `Display` of each type is that notation. `analyse` decides
//! which evidence gives which of them.

mod notation;

use crate::code_location::{Language, Runtime};
use crate::network::{Endpoint, Question};
use crate::task::TaskWait;
use crate::{JsonSchema, Seen};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use strum::{IntoStaticStr, VariantArray};

/// A system call by name: `read`, `32:read` through the 32-bit table, `call 999` where the table
/// has no name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct SyscallName {
    /// Its name in its own table.
    pub name: Cow<'static, str>,
    /// Whether it went through the 32-bit table of a 64-bit host.
    pub compat: bool,
}

impl SyscallName {
    /// Whether it writes to a file, or syncs one to the disk.
    pub fn writes(&self) -> bool {
        matches!(
            &*self.name,
            "write"
                | "writev"
                | "pwrite64"
                | "pwritev"
                | "pwritev2"
                | "fsync"
                | "fdatasync"
                | "sync"
                | "syncfs"
                | "sync_file_range"
                | "sync_file_range2"
                | "msync"
        )
    }
}

/// Where in the kernel a thread blocked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(with = "String")]
pub enum WaitCall {
    /// In this system call.
    Syscall(SyscallName),
    /// In a page fault.
    Fault,
    /// Not observed.
    Unseen,
}

impl WaitCall {
    /// The system call, where it was one.
    pub fn syscall(&self) -> Option<&SyscallName> {
        match self {
            WaitCall::Syscall(name) => Some(name),
            WaitCall::Fault | WaitCall::Unseen => None,
        }
    }
}

/// Why a step of the path was where it was.
#[derive(Debug, Clone, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(with = "String")]
pub enum Reason {
    /// No more is known.
    None,
    /// On a CPU in this system call.
    Syscall(SyscallName),
    /// In syscall entry and exit.
    SyscallEntry,
    /// In system calls while they were not traced: sampled.
    SyscallsSampled,
    /// Runnable, while a thread of another program had the CPU: one of this name.
    Preempted(String),
    /// Runnable, while a thread of the tree had the CPU: one of this name.
    PreemptedByOwn(String),
    /// Runnable; the CPU was idle.
    IdleCpu,
    /// Runnable; what ran on the CPU was not observed.
    PreemptedUnseen,
    /// Blocked.
    Wait(WaitCall, WaitTarget),
    /// Blocked, and no wake-up was observed.
    NoWakeUp,
    /// Nothing was observed.
    NotObserved,
    /// The text of a stored result that is none of these.
    Text(String),
}

/// Kinds of wait targets, as JSON names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum TargetKind {
    /// A file of a filesystem.
    File,
    /// A TCP connection or listening socket.
    Tcp,
    /// A UDP socket.
    Udp,
    /// A local socket.
    Unix,
    /// A pipe or named pipe.
    Pipe,
    /// A terminal.
    Tty,
    /// A futex: a lock in memory.
    Futex,
    /// A timer or a timeout.
    Timer,
    /// The end of a child process, or its `execve`.
    Child,
    /// A device.
    Device,
    /// An eventfd.
    #[strum(serialize = "eventfd")]
    EventFd,
    /// Requests of an io_uring.
    #[serde(rename = "io_uring")]
    #[strum(serialize = "io_uring")]
    IoUring,
    /// Something else outside the tree.
    External,
    /// A lock that is no futex.
    Lock,
    /// A signal.
    Signal,
    /// Another thread of the tree; what it was for is not known.
    Thread,
    /// Something of the program's own scheduler: a channel, a condition, a group of tasks.
    Task,
}

impl TargetKind {
    /// The name used in every output.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// All of them.
    pub const ALL: [TargetKind; 17] = *Self::VARIANTS.as_array().unwrap();
}

/// What was waited for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(into = "notation::Named", from = "notation::Named")]
pub enum WaitTarget {
    /// A file, by its path.
    File(Seen<String>),
    /// Memory that is read back from swap.
    Swap,
    /// Another device, by name.
    Device(Seen<String>),
    /// A pipe; a named one by its name.
    Pipe(Seen<String>),
    /// A terminal.
    Tty(Seen<String>),
    /// A local socket.
    Unix(Seen<String>),
    /// A futex, by its address in the process.
    Futex(Seen<u64>),
    /// The lock that a thread takes to run code of this language.
    InterpreterLock(Language),
    /// Another lock, by the function that takes it.
    Lock(Seen<String>),
    /// The lock of the process's address space, which the kernel takes to change it.
    AddressSpace,
    /// A timer.
    Timer(Seen<String>),
    /// The timeout of the call: what it waited for did not come in time.
    TimeLimit,
    /// The time limit, or a timer among the polled descriptors.
    TimeLimitOrTimer,
    /// One of a kind that has no names: an eventfd, requests of an io_uring, a signal.
    Nameless(TargetKind),
    /// A child process.
    Child(Seen<String>),
    /// TCP: the server's end of the connection, or its listening address.
    Tcp(Endpoint),
    /// UDP, likewise.
    Udp(Endpoint),
    /// The answer to a DNS query, over UDP.
    Answer(Question),
    /// A thread outside the tree, by name.
    Task(String),
    /// What a task of the program's own scheduler waits for, where it is no lock and no timer.
    OfTask(TaskWait),
    /// Something of this kind; only the kernel function in which the thread slept is known.
    KernelFunction(TargetKind, String),
    /// Something else outside the tree, by name.
    External(Seen<String>),
    /// A target of a stored result that is none of these.
    Other(TargetKind, Seen<String>),
}

impl WaitTarget {
    /// The target with this kind and name.
    pub fn new(kind: TargetKind, name: Seen<String>) -> Self {
        notation::Named::new(kind, name).into()
    }

    /// Its kind.
    pub fn kind(&self) -> TargetKind {
        match self {
            WaitTarget::File(_) => TargetKind::File,
            WaitTarget::Swap | WaitTarget::Device(_) => TargetKind::Device,
            WaitTarget::Pipe(_) => TargetKind::Pipe,
            WaitTarget::Tty(_) => TargetKind::Tty,
            WaitTarget::Unix(_) => TargetKind::Unix,
            WaitTarget::Futex(_) | WaitTarget::InterpreterLock(_) => TargetKind::Futex,
            WaitTarget::Lock(_) | WaitTarget::AddressSpace => TargetKind::Lock,
            WaitTarget::Timer(_) | WaitTarget::TimeLimit | WaitTarget::TimeLimitOrTimer => TargetKind::Timer,
            WaitTarget::Child(_) => TargetKind::Child,
            WaitTarget::Tcp(_) => TargetKind::Tcp,
            WaitTarget::Udp(_) | WaitTarget::Answer(_) => TargetKind::Udp,
            WaitTarget::Task(_) | WaitTarget::External(_) => TargetKind::External,
            WaitTarget::OfTask(_) => TargetKind::Task,
            WaitTarget::Nameless(kind) | WaitTarget::KernelFunction(kind, _) | WaitTarget::Other(kind, _) => {
                *kind
            }
        }
    }

    /// The query that was answered.
    pub fn question(&self) -> Option<&Question> {
        match self {
            WaitTarget::Answer(question) => Some(question),
            _ => None,
        }
    }
}

/// Kinds of wakers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum WakerKind {
    /// A thread of the tree.
    Thread,
    /// A thread of another program, or of the kernel.
    Outside,
    /// A timer that expired.
    Timer,
    /// A device's interrupt.
    Device,
    /// A network softirq (`NET_RX`).
    Network,
    /// Another softirq.
    Interrupt,
    /// Unknown.
    Unknown,
}

impl WakerKind {
    /// The name used in every output.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A frame of a stack in a result: `function (file:line)`, as far as it is known. ` [python]` or `
/// [native]` follows where the name of the file does not show the language. `[jit:RUNTIME]` and
/// `[jit]` stand for code of a JIT without a name, `(cut: why)` for the end of a stack that could
/// not be unwound further.
#[derive(Debug, Clone, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(with = "String")]
pub struct StackFrame {
    /// The function: its name, or `module+0x1f0` where there is no symbol. Where the stack is cut:
    /// why.
    pub function: String,
    /// Source file, without its directories, and line.
    pub source: Option<(String, u32)>,
    /// What it is written in.
    pub language: Language,
    /// What the frame is, where it is no function with a name.
    pub kind: FrameKind,
}

/// Whether a frame is a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FrameKind {
    /// It is.
    #[default]
    Function,
    /// It is code of a JIT without a name.
    Unnamed(Runtime),
    /// The stack could not be unwound further.
    Cut,
}

impl StackFrame {
    /// Whether an interpreter runs it.
    pub fn is_script(&self) -> bool {
        match self.language {
            Language::Python => true,
            Language::Native | Language::Kernel | Language::Jit => false,
        }
    }

    /// Whether a thread of the JVM waits there until all of them have stopped, and for what is done
    /// then (`waitBarrier_linux.cpp`, `safepoint.cpp` of OpenJDK).
    pub fn is_safepoint(&self) -> bool {
        ["LinuxWaitBarrier::", "SafepointSynchronize::"].iter().any(|of| self.function.starts_with(of))
    }
}

#[cfg(test)]
mod tests;
