//! One small system call, made for each item: it asks or sets little, and is made very often.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::file_calls::{OPENS, RemovedCalls, part_of_all};
use crate::judge::predict::{Kind, Removal};
use crate::judge::results::{hedge, hedge_time};
use crate::judge::signs::{By, Sign};
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::recording::Tier;
use model::sentence::Piece::{Count, Name, Ns as Time, Number};
use model::syscall_rows::CallRow;
use model::{Ns, RuledOut, Sentence, say};
use std::cmp::Reverse;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("syscall-overhead", "a small system call for each item"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "The program makes one system call very often that does little each time: it asks \
               for the time, for random bytes or for an ID, changes the protection of memory, \
               blocks signals, moves a file's position, or closes a descriptor that is not open.",
        why: "Entering the kernel and leaving it takes from 0.1 to 1 us, and some of these calls \
              do more: `mprotect` makes other CPUs forget addresses. What is asked for item by \
              item can mostly be asked once, or be known without the kernel.",
        rule: "A call that moves no data, makes or removes nothing and waits for nothing was made \
               1,000 times or more. Calls that belong to files (`close`, `fcntl`, `lseek`, \
               `fstat`, `ioctl`) count from the third of each file that was opened on, or all of \
               them where half or more failed. Fewer than 1,000 calls are the start of an ordinary \
               program. What saves less than a twentieth of the wall clock is not reported.",
        else_it_could_be: "The call may be needed each time: a program that measures needs the \
                           time, one that makes keys needs fresh random bytes.",
        change: "Take the time from the C library, which needs no system call (vdso(7)), or once \
                 for many items. Ask for random bytes in blocks. Keep what does not change (IDs, \
                 limits, positions; `pread` needs no `lseek`). Change the protection of memory, \
                 or the blocked signals, once around many items. Close inherited descriptors with \
                 `close_range`.",
        part: "Counted: the calls are saved, each for at least as long as the median call.",
        assumes: "The answer is known without the call, or one call serves many items.",
    },
    explains: &[],
    signs: &[Sign {
        by: By::Calls(SMALL_CALLS, &[]),
        although: false,
        change: "make the call once for many items",
    }],
    probe: None,
    check,
};

/// Calls that move no data, make or remove nothing, and wait for nothing.
const SMALL_CALLS: &[&str] = &[
    "alarm",
    "arch_prctl",
    "capget",
    "chdir",
    "clock_getres",
    "clock_gettime",
    "close",
    "dup",
    "dup2",
    "dup3",
    "epoll_ctl",
    "fchdir",
    "fcntl",
    "fstat",
    "getcpu",
    "getcwd",
    "getegid",
    "geteuid",
    "getgid",
    "getitimer",
    "getpgid",
    "getpgrp",
    "getpid",
    "getppid",
    "getpriority",
    "getrandom",
    "getresgid",
    "getresuid",
    "getrlimit",
    "getrusage",
    "getsid",
    "gettid",
    "gettimeofday",
    "getuid",
    "ioctl",
    "lseek",
    "membarrier",
    "mincore",
    "mlock",
    "mprotect",
    "munlock",
    "pkey_mprotect",
    "prctl",
    "prlimit64",
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "sched_getaffinity",
    "sched_getparam",
    "sched_getscheduler",
    "sched_setaffinity",
    "sched_setscheduler",
    "setegid",
    "seteuid",
    "setfsgid",
    "setfsuid",
    "setgid",
    "setitimer",
    "setpriority",
    "setresgid",
    "setresuid",
    "setreuid",
    "setuid",
    "sigaltstack",
    "sysinfo",
    "time",
    "timer_gettime",
    "timer_settime",
    "timerfd_gettime",
    "timerfd_settime",
    "times",
    "umask",
    "uname",
];
/// Those of them that are made for each file that is opened, and how many of each are.
const OF_FILES: &[&str] = &["close", "fcntl", "fstat", "ioctl", "lseek"];
const OF_EACH_FILE: u64 = 2;
/// Fewer are an ordinary start.
const CALLS_MIN: u64 = 1000;

fn check(evidence: &Evidence<'_>) -> Outcome {
    Outcome::of_table(&evidence.run.tables.syscalls, |_| {
        let opened: u64 =
            evidence.calls_named(OPENS).iter().map(|(_, row)| row.calls.saturating_sub(row.errors)).sum();
        let mut gone: Vec<(usize, RemovedCalls<'_>)> = Vec::new();
        let mut most_calls = 0;
        for (place, row) in evidence.calls_named(SMALL_CALLS) {
            let calls = more_than_needed(row, opened);
            most_calls = most_calls.max(calls);
            if calls >= CALLS_MIN {
                gone.push((place, RemovedCalls::of(row, calls)));
            }
        }
        gone.sort_by_key(|(place, gone)| (Reverse(gone.row.cpu_ns), *place));
        let what = say!("of one kind that do little each");
        let why_not = RuledOut::below(Count(most_calls, "call".into()), what, Number(CALLS_MIN));
        Outcome::of(finding(evidence, &gone), why_not)
    })
}

/// How many calls of a row belong to no file that was opened.
fn more_than_needed(row: &CallRow, opened: u64) -> u64 {
    let failed = row.errors * 2 >= row.calls;
    if failed || !OF_FILES.contains(&&*row.name.name) {
        return row.calls;
    }
    row.calls.saturating_sub(opened * OF_EACH_FILE)
}

fn finding(evidence: &Evidence<'_>, gone: &[(usize, RemovedCalls<'_>)]) -> Option<Finding> {
    let (place, most) = gone.first()?;
    let all: Vec<RemovedCalls<'_>> = gone.iter().map(|(_, gone)| *gone).collect();
    let part = part_of_all(&all);
    let goes = evidence.without(&all, Kind::Cpu);
    let names: Vec<_> = all.iter().map(|gone| &gone.row.name).collect();
    let row = most.row;
    Some(Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Call(*place),
        what: say!(Name(row.name.to_string()))
            .and(evidence.caller(&[&row.name]))
            .and(say!(" is called ", hedge(row), Count(row.calls, "time".into())))
            .and(failures(row))
            .and(say!("; this takes ", hedge_time(row), Time(row.total_ns))),
        change: if row.errors * 2 >= row.calls {
            say!("leave out calls that fail")
        } else {
            say!("make the call once for many items, or keep its answer")
        },
        share_ns: evidence.has(&names),
        saving: evidence.saving(&Removal::Parts(goes), part, SavingBasis::Counted),
        evidence: all.iter().map(|gone| of_row(gone.row)).collect(),
        assumes: vec![say!("the answer is known without the call, or serves many items")],
        verify: vec![say!("measure both versions: dwell compare --predicted ID BEFORE AFTER")],
        explains: Vec::new(),
        belief: None,
    })
}

fn failures(row: &CallRow) -> Sentence {
    if row.errors == 0 { say!() } else { say!(" and fails ", Count(row.errors, "time".into())) }
}

fn of_row(row: &CallRow) -> Sentence {
    let each = |ns: &Ns| say!(", each ", Time(*ns));
    say!(Name(row.name.to_string()), ": ", hedge(row), Count(row.calls, "call".into()))
        .and(row.p50_ns.value().map(each).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::file_samples::{call, step};
    use crate::judge::samples::{found, judged, run, saves, sites};
    use model::prediction::Site;
    use model::{Diagnosis, Reason, Run, Seen, State};

    const MS: Ns = 1_000_000;

    /// A second, half of it in these calls.
    fn of(name: &'static str, calls: u64, errors: u64, opened: u64) -> Run {
        let mut run = run(&[(State::User, 500 * MS), (State::Kernel, 500 * MS)]);
        run.tables.syscalls =
            Seen::Value(vec![call(name, calls, errors, 500 * MS), call("openat", opened, 0, MS)]);
        run.path = vec![step(State::Kernel, Reason::Syscall(name.into()), 500 * MS)];
        run
    }

    fn diagnosis(name: &'static str, calls: u64, errors: u64, opened: u64) -> Diagnosis {
        let run = of(name, calls, errors, opened);
        judged(&run, &sites(&run, &[(Site::Call(name.into()), [500 * MS; 3])]))
    }

    fn is_found(name: &'static str, calls: u64, errors: u64, opened: u64) -> bool {
        found(&diagnosis(name, calls, errors, opened), "syscall-overhead").is_some()
    }

    #[test]
    fn a_thousand_calls_are_a_habit_and_all_of_them_go() {
        let diagnosis = diagnosis("getrandom", 1000, 0, 3);
        let finding = found(&diagnosis, "syscall-overhead").expect("it is there");
        let (lo, hi) = saves(finding);
        assert!(lo == 500 * MS && hi >= 500 * MS, "{lo} to {hi}");
        assert!(!is_found("getrandom", 999, 0, 3));
    }

    #[test]
    fn calls_that_do_something_are_no_overhead() {
        for name in ["write", "newfstatat", "mkdir", "futex", "fork", "munmap", "connect"] {
            assert!(!is_found(name, 100_000, 0, 3), "{name}");
        }
    }

    #[test]
    fn what_each_file_needs_is_not_too_much() {
        assert!(!is_found("close", 3000, 0, 1001));
        assert!(is_found("lseek", 3000, 0, 1000));
        assert!(is_found("close", 3000, 1500, 5000), "most of them fail");
    }
}
