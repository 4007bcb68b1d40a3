//! Threads that wait for the lock of their language's interpreter, which
//! [`purpose`](crate::purpose) knows by functions.

use super::{Cause, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::predict::{ALL, Goes, Kind};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, Known, Place};
use model::recording::Tier;
use model::run::WaitRow;
use model::sentence::Piece::{Count, Ns as Time, Number};
use model::wait::WaitTarget;
use model::{Ns, say};

pub(super) static CAUSE: Cause = Cause {
    name: CauseName { id: "interpreter-lock", title: "waits for the interpreter's lock" },
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "Threads of a Python program wait for the global interpreter lock (GIL).",
        why: "Only the thread that has it runs Python code, so threads that compute take turns on one CPU.",
        rule: "A function that takes the lock is among the 8 innermost frames of the wait, and such waits have a hundredth \
               of the account or more.",
        else_it_could_be: "One thread that keeps the lock in an extension without releasing it: the table of waits names \
                           the holder.",
        change: "Compute in processes (`multiprocessing`, `concurrent.futures.ProcessPoolExecutor`), in code that releases \
                 the lock (NumPy and the like), or with a free-threaded build.",
        part: "Bounded: without the lock the CPU time of all threads can be divided among the CPUs, and no further. \
               The low end is nothing, since threads may need each other's results.",
        assumes: "The threads' work is independent, and their number is that of the CPUs or more.",
    },
    explains: &["lock-contention", "single-thread", "context-switching"],
    check,
};

/// Less than this part of the account is no cause.
const PART: Ns = 100;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let waits = evidence.waits.iter().enumerate();
    let counts = |wait: &WaitRow| {
        matches!(wait.on, WaitTarget::InterpreterLock(_)) && wait.total_ns >= evidence.whole_ns / PART
    };
    let findings = waits.filter(|(_, wait)| counts(wait)).map(|(row, wait)| finding(evidence, row, wait));
    Outcome::of(findings, say!("no waits for an interpreter's lock"))
}

fn finding(evidence: &Evidence<'_>, row: usize, wait: &WaitRow) -> Finding {
    let cpu_ns = evidence.cpu_ns();
    // Threads that wait, and one that has it.
    let wanted = wait.threads.len().max(2) as f64;
    let divided_ns = (cpu_ns as f64 / evidence.cpus_allowed().min(wanted)) as Ns;
    let goes = Interval { lo: 0, hi: cpu_ns.min(evidence.wall_ns).saturating_sub(divided_ns) };
    Finding {
        cause: CAUSE.name,
        place: Place::Wait(row),
        what: say!(
            Number(wait.threads.len().max(1) as u64),
            " threads wait ",
            Time(wait.total_ns),
            " for the interpreter's lock"
        ),
        change: say!("compute in processes, or in code that releases the lock"),
        share_ns: Interval { lo: wait.path_ns, hi: wait.path_ns },
        saving: evidence.saving(&Goes::Account(goes, Kind::Waiting), ALL, Known::Bounded),
        evidence: vec![say!(Count(wait.calls, "wait"), ", ", Time(wait.total_ns), " in total")],
        assumes: vec![say!("the threads' work is independent")],
        verify: Vec::new(),
        explains: Vec::new(),
    }
}
