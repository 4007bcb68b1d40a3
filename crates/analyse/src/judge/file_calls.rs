//! System calls that work on files and streams, by what they do; and what a run spent in them.

use super::Evidence;
use super::predict::{Kind, Part, Parts};
use model::coverage::Interval;
use model::prediction::Site;
use model::run::WaitRow;
use model::syscall_rows::CallRow;
use model::wait::{SyscallName, WaitCall};
use model::{Ns, Reason, State, Step};

/// Take bytes in, of a file or a stream.
pub(super) const READS: &[&str] = &["read", "pread64", "readv", "preadv", "preadv2"];
/// Give bytes out.
pub(super) const WRITES: &[&str] = &["write", "pwrite64", "writev", "pwritev", "pwritev2"];
/// Both, of files, pipes and sockets.
pub(super) const TRANSFERS: &[&str] =
    &["read", "pread64", "readv", "write", "pwrite64", "writev", "recvfrom", "recvmsg", "sendto", "sendmsg"];
/// Make what was written durable.
pub(super) const SYNCS: &[&str] = &["fsync", "fdatasync", "msync", "sync", "syncfs", "sync_file_range"];
/// Open a file by its path.
pub(super) const OPENS: &[&str] = &["open", "openat", "openat2", "creat"];
/// Ask for a file by its path.
pub(super) const ASKS: &[&str] = &[
    "stat",
    "lstat",
    "stat64",
    "lstat64",
    "newfstatat",
    "fstatat64",
    "statx",
    "access",
    "faccessat",
    "faccessat2",
];

/// Ask for a file by its path, or open it.
pub(super) const LOOKUPS: &[&str] = &[
    "stat",
    "lstat",
    "newfstatat",
    "statx",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "open",
    "openat",
];

/// Made for each file that is opened. A wrapper may set its flags with another call.
pub(super) const OF_EACH: &[&str] = &[
    "close",
    "fstat",
    "fstat64",
    "newfstatat",
    "statx",
    "fcntl",
    "lseek",
    "fadvise64",
    "ftruncate",
    "ftruncate64",
];

/// List directories.
pub(super) const LISTS: &[&str] = &["getdents", "getdents64"];

/// With this part of a row nearly all of it goes.
const NEARLY_ALL: f64 = 0.95;

/// Some calls of a row that go.
#[derive(Debug, Clone, Copy)]
pub(super) struct RemovedCalls<'a> {
    pub(super) row: &'a CallRow,
    /// How many.
    pub(super) calls: u64,
    /// What they have of the row's time.
    pub(super) part: Part,
}

impl<'a> RemovedCalls<'a> {
    /// What goes with some calls of a row, each with the time of the median, or the mean where that
    /// is less. At most with twice that, unless nearly all of them go: then with all that the row
    /// has. Where no call was timed, the median is anything up to the mean.
    pub(super) fn of(row: &'a CallRow, calls: u64) -> Self {
        let calls = calls.min(row.calls);
        let number = calls as f64 / row.calls.max(1) as f64;
        let mean_ns = row.total_ns as f64 / row.calls.max(1) as f64;
        let usual = |ns: Ns| (ns as f64 / mean_ns.max(1.0)).min(1.0);
        let (least, most) = row.p50_ns.value().map_or((0.0, 1.0), |ns| (usual(*ns), usual(*ns)));
        let most = if number >= NEARLY_ALL { 1.0 } else { (2.0 * most).min(1.0) };
        Self { row, calls, part: (number * least, number * most) }
    }

    /// Bounds on the number of removed calls; what is removed with them is that of the higher one.
    pub(super) fn between(row: &'a CallRow, least: u64, most: u64) -> Self {
        let (least, most) = (Self::of(row, least), Self::of(row, most.max(least)));
        Self { part: (least.part.0, most.part.1), ..most }
    }
}

impl Evidence<'_> {
    /// Time of the path in a call, on a CPU or not. Who waits for work in it has no less of that by
    /// fewer calls.
    pub(super) fn path_ns_in(&self, call: &SyscallName) -> Ns {
        let is_in = |reason: &Reason| match reason {
            Reason::Syscall(name) | Reason::Wait(WaitCall::Syscall(name), _) => name == call,
            _ => false,
        };
        let counts = |step: &&Step| step.state != State::Idle && is_in(&step.reason);
        self.run.path.iter().filter(counts).map(|step| step.ns).sum()
    }

    /// What these calls have of the path: by their clocks, which know of calls that were not
    /// traced, else by the account.
    pub(super) fn has(&self, calls: &[&SyscallName]) -> Interval {
        let of_one = |call: &SyscallName| {
            let path_ns = self.path_ns_in(call);
            let site = self.site(&Site::Call(call.clone()));
            let clock = site.and_then(|times| times.path_ns.value().copied());
            clock.unwrap_or(Interval { lo: path_ns, hi: path_ns })
        };
        let all = calls.iter().map(|call| of_one(call));
        let sum = all
            .fold(Interval::default(), |sum, more| Interval { lo: sum.lo + more.lo, hi: sum.hi + more.hi });
        Interval { hi: sum.hi.min(self.run.whole_ns()).max(sum.lo), ..sum }
    }

    /// What goes with these calls.
    pub(super) fn without(&self, gone: &[RemovedCalls<'_>], kind: Kind) -> Parts {
        let parts: Vec<_> = gone.iter().map(|gone| (&gone.row.name, gone.part)).collect();
        self.parts_of(&parts, kind)
    }

    /// Such a part of each of these calls: on a CPU in them, and what they wait for.
    pub(super) fn parts_of(&self, calls: &[(&SyscallName, Part)], kind: Kind) -> Parts {
        let rows = self.run.tables.syscalls.value().map_or(&[][..], Vec::as_slice);
        let cpu_ns = |call: &SyscallName| {
            rows.iter().filter(|row| row.name == *call).map(|row| row.cpu_ns).sum::<Ns>()
        };
        let account_ns = Interval { lo: 0, hi: 0 };
        let mut parts = Parts { cpu_ns: 0, account_ns, kind };
        for (call, part) in calls {
            let of = |part: f64, ns: Ns| (part * ns as f64) as Ns;
            let path_ns = self.path_ns_in(call);
            parts.cpu_ns += of(part.1, cpu_ns(call));
            parts.account_ns.lo += of(part.0, path_ns);
            parts.account_ns.hi += of(part.1, path_ns);
        }
        parts
    }

    /// Waits in a state in these calls, by their places in the table.
    pub(super) fn waits_in(&self, state: State, calls: &[&str]) -> Vec<(usize, &WaitRow)> {
        let is_in = |wait: &WaitRow| wait.call.syscall().is_some_and(|call| calls.contains(&&*call.name));
        let waits = self.run.waits.iter().enumerate();
        waits.filter(|(_, wait)| wait.reason == state && is_in(wait)).collect()
    }
}

/// The part of all time in some calls that these have: least and most.
pub(super) fn part_of_all(gone: &[RemovedCalls<'_>]) -> Part {
    let all_ns = gone.iter().map(|gone| gone.row.total_ns).sum::<Ns>().max(1) as f64;
    let part = |end: fn(Part) -> f64| {
        gone.iter().map(|gone| end(gone.part) * gone.row.total_ns as f64).sum::<f64>() / all_ns
    };
    (part(|part| part.0), part(|part| part.1))
}

#[cfg(test)]
mod tests {
    use super::super::file_samples::{call, step};
    use super::super::samples::run;
    use super::*;
    use model::recording::Tier;
    use model::wait::WaitTarget;
    use model::{Profile, Seen};

    #[test]
    fn who_waits_for_work_in_a_call_has_none_less_by_fewer_calls() {
        let mut run = run(&[(State::Kernel, 300), (State::Idle, 700)]);
        let waits = Reason::Wait(WaitCall::Syscall("read".into()), WaitTarget::Pipe(Seen::Absent));
        run.path =
            vec![step(State::Kernel, Reason::Syscall("read".into()), 300), step(State::Idle, waits, 700)];
        let profile = Profile::default();
        let evidence = Evidence::of(Tier::Bpf, &run, &profile);
        assert_eq!(evidence.path_ns_in(&"read".into()), 300);
    }

    #[test]
    fn calls_of_unknown_length_have_anything_up_to_the_mean() {
        let row = call("read", 100, 0, 100_000);
        assert_eq!(RemovedCalls::of(&row, 50).part, (0.5, 0.5));
        let row = CallRow { p50_ns: Seen::unseen("none of these calls was timed"), ..row };
        assert_eq!(RemovedCalls::of(&row, 50).part, (0.0, 0.5));
        assert_eq!(RemovedCalls::of(&row, 100).part, (0.0, 1.0));
    }
}
