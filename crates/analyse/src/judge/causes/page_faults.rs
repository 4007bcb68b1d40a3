//! Memory that is given back to the kernel and touched again.

use super::{Cause, Imposed, Manual, Outcome};
use crate::judge::Evidence;
use crate::judge::fault_places;
use crate::judge::imposed;
use crate::judge::predict::{Kind, Removal};
use crate::judge::results::{hedge, hedge_time};
use crate::judge::signs::{By, Sign};
use model::coverage::Interval;
use model::finding::{CauseName, Finding, RowRef, SavingBasis};
use model::processes::MemoryPeak;
use model::recording::Tier;
use model::run::ThreadLedger;
use model::sentence::Piece::{Bytes, Count, Name, Ns as Time, Number, Times};
use model::syscall_rows::CallRow;
use model::wait::SyscallName;
use model::{Ns, Pid, Probe, RuledOut, Seen, State, say};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(super) static CAUSE: Cause = Cause {
    name: CauseName::new("page-faults", "memory given back to the kernel and taken again"),
    tiers: &[Tier::Bpf],
    manual: Manual {
        what: "A process gives memory back to the kernel (`munmap`, `brk`, `madvise`) and touches new memory soon after.",
        why: "The first touch of each page is a page fault: the kernel finds a free page, clears \
              it and maps it, which takes 0.5 to 2 us. Giving it back takes half as long again. \
              Memory that the process keeps costs nothing.",
        rule: "A process had at least twice as many faults without I/O as it had pages at its \
               largest size, so each page was touched twice or more on average. And memory was \
               given back ten times or more. One fault for each page is what memory costs.",
        else_it_could_be: "The process may keep writing after each `fork`: its pages are copied \
                           one by one.",
        change: "Keep buffers and reuse them. glibc gives large blocks back at once: raise its \
                 thresholds \
                 (`GLIBC_TUNABLES=glibc.malloc.mmap_threshold=…:glibc.malloc.trim_threshold=…`, \
                 `mallopt`). With jemalloc and Go, give memory back later (`dirty_decay_ms`, \
                 `GOGC`, `GOMEMLIMIT`). Larger pages make fewer faults.",
        part: "Counted: of N faults of a process that never had more than M pages, N - M are for \
               pages that it had before. They are saved, with the calls that give memory back and \
               take it. The interval is that of the samples of time in faults. The high end takes \
               all faults of the process, as if it could do without the memory.",
        assumes: "The memory can be kept: the process then has its largest size all the time.",
    },
    explains: &["allocation"],
    signs: &[Sign {
        by: By::Functions(
            &["exc_page_fault", "asm_exc_page_fault", "do_user_addr_fault", "do_page_fault", "do_mem_abort"],
            "page faults",
        ),
        although: false,
        change: "touch less new memory: keep and reuse blocks, larger pages",
    }],
    probe: Some(Imposed { probe: Probe::KeepMemory, fits: imposed::always }),
    check,
};

/// Faults for each page, from which on pages are touched again.
const TIMES_MIN: u64 = 2;
/// With fewer calls that give memory back, faults have another reason.
const GIVEN_BACK_MIN: u64 = 10;
/// The smallest page there is: with larger ones fewer are touched again than it seems.
const PAGE_BYTES: u64 = 4096;

/// Calls that give memory back, and that take it.
const GIVE_BACK: &[&str] = &["munmap", "brk", "madvise", "mremap", "process_madvise"];
const TAKE: &[&str] = &["mmap"];

/// The process with most faults.
#[derive(Debug, Clone, Copy)]
struct Most<'a> {
    faults: u64,
    /// The row of its thread with most of them.
    row: usize,
    thread: &'a ThreadLedger,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let peak = match &evidence.run.tables.memory_peak {
        Seen::Value(peak) => peak,
        Seen::Absent => return Outcome::Unavailable("no process was seen".to_owned()),
        Seen::Unseen(why) => return Outcome::Unavailable(why.clone()),
    };
    let Some(most) = most(&evidence.run.threads) else {
        return Outcome::Unavailable("page faults of single processes are unknown".to_owned());
    };
    let pages = peak.bytes / PAGE_BYTES;
    if most.faults < pages.max(1) * TIMES_MIN {
        let faults = Count(most.faults, "fault".into());
        let what =
            say!("as many faults as pages in one process: ", faults, ", ", Count(pages, "page".into()));
        let times = Times(most.faults as f64 / pages.max(1) as f64);
        return Outcome::RuledOut(RuledOut::below(times, what, Times(TIMES_MIN as f64)));
    }
    let calls = evidence.calls_named(GIVE_BACK);
    let times: u64 = calls.iter().map(|(_, row)| row.calls).sum();
    if times < GIVEN_BACK_MIN {
        let what = say!("that gave memory back");
        return Outcome::RuledOut(RuledOut::below(Count(times, "call".into()), what, Number(GIVEN_BACK_MIN)));
    }
    Outcome::Found(vec![finding(evidence, peak, most, &calls)])
}

/// By the faults of all of its threads.
fn most(threads: &[ThreadLedger]) -> Option<Most<'_>> {
    let mut processes: BTreeMap<Pid, Most<'_>> = BTreeMap::new();
    for (row, thread) in threads.iter().enumerate() {
        let Seen::Value(faults) = thread.minor_faults else { continue };
        // What stands for processes is none of them.
        if thread.pid == 0 {
            continue;
        }
        let one = processes.entry(thread.pid).or_insert(Most { faults: 0, row, thread });
        one.faults += faults;
        if faults > one.thread.minor_faults.value().copied().unwrap_or(0) {
            (one.row, one.thread) = (row, thread);
        }
    }
    processes.into_values().max_by_key(|one| (one.faults, Reverse(one.row)))
}

fn finding(
    evidence: &Evidence<'_>,
    peak: &MemoryPeak,
    most: Most<'_>,
    calls: &[(usize, &CallRow)],
) -> Finding {
    let again = most.faults - peak.bytes / PAGE_BYTES;
    let all = evidence.run.tables.faults.value().map_or(most.faults, |faults| faults.minor).max(most.faults);
    let fault_ns = evidence.account_ns(|state| state == State::Fault);
    let calls_ns: Ns = evidence
        .run
        .path
        .iter()
        .filter(|step| {
            let of = |name: &SyscallName| GIVE_BACK.contains(&&*name.name) || TAKE.contains(&&*name.name);
            matches!(&step.reason, model::Reason::Syscall(name) if of(name))
        })
        .map(|step| step.ns)
        .sum();
    let share_ns = Interval { lo: fault_ns, hi: (fault_ns + calls_ns).min(evidence.run.whole_ns()) };
    let part = (again as f64 / all as f64, most.faults as f64 / all as f64);
    let (_, call) =
        calls.iter().max_by_key(|(row, call)| (call.calls, Reverse(*row))).expect("there are some");
    Finding {
        cause: CAUSE.name.clone(),
        place: RowRef::Thread(most.row),
        what: say!(
            Name(most.thread.name.clone()),
            " touches ",
            Count(most.faults, "page".into()),
            ", but has no more than ",
            Number(peak.bytes / PAGE_BYTES),
            " (",
            Bytes(peak.bytes),
            ") at a time; it gives memory back ",
            hedge(call),
            Count(call.calls, "time".into()),
            " with ",
            Name(call.name.to_string()),
            " and takes it again; page faults take ",
            Time(fault_ns)
        ),
        change: match &*call.name.name {
            "brk" => say!(
                "keep the blocks, or have malloc keep them: M_TRIM_THRESHOLD, glibc.malloc.trim_threshold"
            ),
            "madvise" => say!("keep the memory, or have the allocator give it back later"),
            _ => say!("keep the memory and reuse it, or have malloc keep it: M_MMAP_THRESHOLD"),
        },
        share_ns,
        saving: evidence.saving(&Removal::Account(share_ns, Kind::Cpu), part, SavingBasis::Counted),
        evidence: calls
            .iter()
            .filter(|(_, row)| row.calls > 0)
            .map(|(_, row)| {
                say!(
                    Name(row.name.to_string()),
                    ": ",
                    hedge(row),
                    Count(row.calls, "call".into()),
                    ", ",
                    hedge_time(row),
                    Time(row.total_ns)
                )
            })
            .chain(fault_places::leading(evidence, most.thread.pid))
            .collect(),
        assumes: vec![say!("the memory can be kept")],
        verify: vec![say!("the next run has fewer page faults")],
        explains: Vec::new(),
        belief: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::samples::{call, found, judged, run, saves, sites};
    use model::Run;
    use model::prediction::Site;

    const MS: Ns = 1_000_000;
    const MIB: u64 = 1 << 20;

    /// A second, half of it in faults: this many, of a process of 1 MiB.
    fn faults(minor: u64, given_back: u64) -> Run {
        let mut run = run(&[(State::User, 500 * MS), (State::Fault, 500 * MS)]);
        run.threads[0].minor_faults = Seen::Value(minor);
        run.tables.faults = Seen::Value(model::run::Faults { minor, major: 0 });
        run.tables.memory_peak =
            Seen::Value(MemoryPeak { bytes: MIB, at_most: false, pid: Seen::Value(100), name: Seen::Absent });
        run.tables.syscalls = Seen::Value(vec![call("munmap", given_back, 0)]);
        run
    }

    fn judge(run: &Run) -> model::Diagnosis {
        judged(run, &sites(run, &[(Site::State(State::Fault), [500 * MS; 3])]))
    }

    #[test]
    fn faults_beyond_the_pages_that_it_ever_had_go() {
        let diagnosis = judge(&faults(2560, 100));
        let (lo, hi) = saves(found(&diagnosis, "page-faults").expect("it is there"));
        assert_eq!((lo, hi), (450 * MS, 500 * MS));
    }

    #[test]
    fn clocks_know_how_well_samples_know_faults() {
        let mut run = faults(2560, 100);
        (run.account[1].lo_ns, run.account[1].hi_ns) = (400 * MS, 600 * MS);
        let diagnosis = judge(&run);
        let (lo, hi) = saves(found(&diagnosis, "page-faults").expect("it is there"));
        assert_eq!((lo, hi), (450 * MS, 500 * MS));
    }

    #[test]
    fn pages_that_are_touched_once_are_no_cause() {
        assert!(found(&judge(&faults(512, 10)), "page-faults").is_some());
        assert!(found(&judge(&faults(511, 10)), "page-faults").is_none());
        assert!(found(&judge(&faults(2560, 9)), "page-faults").is_none(), "after a fork, not after a munmap");
    }

    #[test]
    fn without_the_largest_size_it_is_not_known() {
        let mut run = faults(2560, 100);
        run.tables.memory_peak = Seen::unseen("not in this recording");
        let diagnosis = judge(&run);
        assert!(diagnosis.unavailable.iter().any(|(cause, _)| cause.id == "page-faults"));
    }
}
