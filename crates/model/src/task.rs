//! Tasks of a program's own scheduler, which change threads: goroutines.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// What a task does from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TaskDid {
    /// The thread runs it.
    Runs,
    /// The thread ran it, and it waits.
    Waits {
        /// For what.
        wait: TaskWait,
        /// Where, as an address in the process: the same for all that wait for one thing; 0: for
        /// nothing that has one.
        on: u64,
        /// The innermost place of its stack: an [`Event::Node`](crate::Event::Node). None where
        /// that is not known.
        node: Option<u32>,
    },
    /// The thread has made it ready: a new one, or one that waited. Of one that the thread itself
    /// runs: it makes way for others.
    Ready,
    /// The thread ran it, and it has ended.
    Ends,
    /// No task is followed from then on: it would take too much. Of no thread and no task.
    Unfollowed,
}

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
pub enum TaskWait {
    /// A lock that one task has (`sync.Mutex`).
    Mutex,
    /// A lock that several may read under (`sync.RWMutex`).
    RwMutex,
    /// To receive from a channel, or to send to it.
    Channel,
    /// The first of several channels.
    Select,
    /// A condition variable.
    Condition,
    /// A group of tasks to end (`sync.WaitGroup`).
    Group,
    /// A semaphore; before Go 1.20 this is locks too.
    Semaphore,
    /// A time.
    Sleep,
    /// A descriptor to be ready, as a rule a socket.
    Io,
    /// The collector of garbage.
    Collector,
    /// Something else.
    Other,
}

impl TaskWait {
    /// All of them.
    pub const ALL: [TaskWait; 11] = *Self::VARIANTS.as_array().unwrap();

    /// Its name, as a target of a wait.
    pub fn name(self) -> &'static str {
        match self {
            TaskWait::Mutex => "sync.Mutex",
            TaskWait::RwMutex => "sync.RWMutex",
            TaskWait::Channel => "channel",
            TaskWait::Select => "select",
            TaskWait::Condition => "condition",
            TaskWait::Group => "group of tasks",
            TaskWait::Semaphore => "semaphore",
            TaskWait::Sleep => "timer",
            TaskWait::Io => "descriptor",
            TaskWait::Collector => "garbage collector",
            TaskWait::Other => "runtime",
        }
    }

    /// The one of this name.
    pub(crate) fn read(name: &str) -> Option<Self> {
        TaskWait::ALL.into_iter().find(|wait| wait.name() == name)
    }

    /// Whether it is a lock: who ends the wait hands nothing over.
    pub fn is_lock(self) -> bool {
        matches!(self, TaskWait::Mutex | TaskWait::RwMutex)
    }

    /// Whether it is ended by another task, which may hand something over.
    pub fn is_for_task(self) -> bool {
        use TaskWait::{Channel, Condition, Group, Select, Semaphore};
        matches!(self, Channel | Select | Condition | Group | Semaphore)
    }
}
