//! The line that a program prints: what it did, by its own clocks.
#![allow(unsafe_code)]

use crate::clock::Spent;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a program measured of itself. All times in ns.
#[derive(Debug, Default, Serialize)]
pub struct Truth {
    program: String,
    pid: u32,
    /// Durations by name.
    ns: BTreeMap<String, u64>,
    /// Processes and threads by their role in the program.
    ids: BTreeMap<String, u32>,
    /// Counts by name.
    counts: BTreeMap<String, u64>,
    /// User and system time of this process and the children that it waited for, at the time of
    /// printing.
    cpu_ns: u64,
    /// Run-queue wait of the main thread, from `/proc`, at the time of printing.
    runqueue_ns: u64,
}

impl Truth {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// A duration.
    #[must_use]
    pub fn ns(mut self, what: &str, ns: u64) -> Self {
        self.ns.insert(what.to_owned(), ns);
        self
    }

    /// A duration by both clocks: `what` and `what_cpu`.
    #[must_use]
    pub fn spent(self, what: &str, spent: Spent) -> Self {
        self.ns(what, spent.wall_ns).ns(&format!("{what}_cpu"), spent.cpu_ns)
    }

    /// A process or thread.
    #[must_use]
    pub fn id(mut self, what: &str, id: u64) -> Self {
        self.ids.insert(what.to_owned(), id as u32);
        self
    }

    /// A count.
    #[must_use]
    pub fn count(mut self, what: &str, count: u64) -> Self {
        self.counts.insert(what.to_owned(), count);
        self
    }

    /// The line, with the kernel's counters of the process now.
    pub fn line(mut self, program: &str) -> String {
        self.program = program.to_owned();
        self.pid = std::process::id();
        self.cpu_ns = rusage_ns(libc::RUSAGE_SELF) + rusage_ns(libc::RUSAGE_CHILDREN);
        self.runqueue_ns = runqueue_ns();
        let mut line = serde_json::to_string(&self).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// User and system time, as `getrusage` adds them up.
pub fn rusage_ns(whose: libc::c_int) -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writes, and zeros are a valid value of it.
    let usage = unsafe {
        libc::getrusage(whose, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

/// How long the calling thread has been runnable without a CPU, from its `schedstat`; 0 where there
/// is none.
pub fn runqueue_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0)
}
